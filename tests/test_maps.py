"""The map of a room names every module of it, and that of the house every folder."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.sources import ROOT

import holdfast

PACKAGE = Path(holdfast.__file__).parent


@pytest.mark.parametrize("name", ["privacy", "sampling"])
def test_the_map_names_every_module_and_no_other(name: str) -> None:
    room = PACKAGE / name
    named = re.findall(r"`([\w/]+\.py)` \|$", (room / "README.md").read_text(encoding="utf-8"), re.M)
    there = {str(path.relative_to(room)) for path in room.rglob("*.py") if path.name != "__init__.py"}
    assert sorted(named) == sorted(there)


def test_the_layout_names_what_stands_beside_the_package() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Layout")[2]
    named = set(re.findall(r"^    (\w+)/ ", page.partition("\n## ")[0], re.M))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    handed_out = project["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    folders = {name for name in handed_out if (ROOT / name).is_dir() and not name.startswith(".")}
    assert named == folders - {"src"}
