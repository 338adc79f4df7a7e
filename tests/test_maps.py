"""The map of a room names every module of it, and that of the house every room, and no other."""

import re
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


def layout() -> tuple[set[str], set[str]]:
    """Return what CONTRIBUTING's layout names: in the root, and in the package."""
    text = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Layout")[2].partition("\n## ")[0]
    )
    outer = set(re.findall(r"^    (\w+)/ ", text, re.M))
    lines = re.findall(r"^      ((?:\w+(?:/|\.py)(?:, )?)+) ", text, re.M)
    return outer, {name for line in lines for name in line.split(", ")}


def holding(folder: Path) -> set[str]:
    """Return the folders that hold code or pages, and the modules beside them."""
    inner = {
        f"{path.name}/" for path in folder.iterdir() if any(path.glob("*.*")) and path.name.isidentifier()
    }
    return {name for name in inner if name != "__pycache__/"} | {
        path.name for path in folder.glob("[!_]*.py")
    }


def test_the_layout_names_every_room_and_no_other() -> None:
    outer, rooms = layout()
    assert rooms == holding(PACKAGE)
    assert all((ROOT / name).is_dir() for name in outer)
    configured = re.search(r"only-include = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    assert configured is not None
    handed_out = set(re.findall(r'"(\w+)"', configured[1])) - {"Containerfile", "LICENSE", "Makefile", "src"}
    assert outer == handed_out
