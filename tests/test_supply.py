"""What is installed: locks hold what pyproject.toml asks for, by hash, and name no place to get it from."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-lowest.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ASKED = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["spark"]]
DIRECT = {canonicalize_name(each.name): each for each in map(Requirement, ASKED)}


def entries(lock: str) -> list[str]:
    """Each pin with its hashes, on one line."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pins(lock: str) -> dict[NormalizedName, Version]:
    """Direct dependencies by name; one version each, for every system and Python."""
    found = [Requirement(entry.partition(" --hash")[0]) for entry in entries(lock)]
    direct = [pin for pin in found if canonicalize_name(pin.name) in DIRECT]
    assert len({pin.name for pin in direct}) == len(direct)
    assert all(pin.marker is None for pin in direct)
    return {canonicalize_name(pin.name): Version(str(pin.specifier).removeprefix("==")) for pin in direct}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_hashes_and_nothing_else(lock: str) -> None:
    pin = re.compile(r"[a-z0-9][a-z0-9._-]*==[a-z0-9.!+]+( ; [^\\#]+?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*")
    assert [entry for entry in entries(lock) if not pin.fullmatch(entry)] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_registry_and_no_machine(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert [
        word for word in ("http:", "https:", "//", "index-url", "find-links", "file:", "@") if word in text
    ] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_dependency_is_in_both_locks_within_its_bounds(lock: str) -> None:
    locked = pins(lock)
    assert locked.keys() == DIRECT.keys()
    assert [name for name, version in locked.items() if version not in DIRECT[name].specifier] == []


def test_the_lowest_lock_is_at_the_lower_bounds() -> None:
    lowest = pins("requirements-lowest.lock")
    for name, requirement in DIRECT.items():
        (bound,) = requirement.specifier
        assert (bound.operator, Version(bound.version)) == (">=", lowest[name]), name


def test_tools_are_those_of_the_other_lock() -> None:
    tools = {
        Requirement(tool).name
        for extra in ("build", "test")
        for tool in PROJECT["optional-dependencies"][extra]
    }
    main, lowest = (
        {entry.split()[0] for entry in entries(lock) if entry.partition("==")[0] in tools} for lock in LOCKS
    )
    assert main == lowest
    assert len(main) == len(tools)
