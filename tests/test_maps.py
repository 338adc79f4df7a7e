"""The map of a room names every module of it, and no other."""

import re
from pathlib import Path

import pytest

import holdfast

PACKAGE = Path(holdfast.__file__).parent


@pytest.mark.parametrize("name", ["privacy", "sampling"])
def test_the_map_names_every_module_and_no_other(name: str) -> None:
    room = PACKAGE / name
    named = re.findall(r"`([\w/]+\.py)` \|$", (room / "README.md").read_text(encoding="utf-8"), re.M)
    there = {str(path.relative_to(room)) for path in room.rglob("*.py") if path.name != "__init__.py"}
    assert sorted(named) == sorted(there)
