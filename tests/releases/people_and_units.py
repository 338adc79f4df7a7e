"""A small file of people and one of the units they live in, on one geography."""

from pathlib import Path
from typing import Any

from holdfast.spec.files import FilesSpec

PREFIXES = {"state": 1, "county": 2, "tract": 3, "block": 4}
PLACES = ("house", "dorm", "home")
FACILITIES = ("dorm", "home")


def blocks() -> list[str]:
    return [f"9{county}{tract}{block}" for county in "12" for tract in "12" for block in "1234"]


def facilities(block: str, kind: str) -> int:
    return (int(block) * (3 if kind == "dorm" else 5)) % 7 % 3


def people() -> str:
    """Return people by where they live and age; no row where nobody does."""
    found = ["block,place,age,people"]
    for block in blocks():
        at = int(block)
        counts = {("house", "0"): at % 9, ("house", "18"): at % 13}
        for kind in FACILITIES:
            there = facilities(block, kind)
            counts[kind, "18"] = there and there + at % 4
            counts[kind, "0"] = there and at % 2
        found += [f"{block},{place},{age},{n}" for (place, age), n in counts.items() if n]
    return "\n".join(found) + "\n"


def units() -> str:
    """Return units by kind in every block."""
    found = ["block,kind,units"]
    for block in blocks():
        found += [f"{block},occupied,{int(block) % 6}", f"{block},vacant,{int(block) % 3}"]
        found += [f"{block},{kind},{facilities(block, kind)}" for kind in FACILITIES]
    return "\n".join(found) + "\n"


ACROSS: dict[str, Any] = {
    "name": "people where facilities are",
    "level": "block",
    "left": {"table": "people", "margin": ["place"], "where": {"place": list(FACILITIES)}},
    "sense": ">=",
    "right": {"table": "units", "margin": ["kind"], "where": {"kind": list(FACILITIES)}},
    "zero": True,
}


def asked(**more: Any) -> dict[str, Any]:
    """Return the spec as values; ``people`` and ``units`` have more of each table."""
    tables = (
        {
            "name": "people",
            "cells": ["place", "age"],
            "data": {"path": "people.csv", "count": "people"},
            "privacy": {"unit": "person", "rho": "1"},
            "invariants": [{"total": True, "level": "state"}],
            **more.pop("people", {}),
        },
        {
            "name": "units",
            "cells": ["kind"],
            "data": {"path": "units.csv", "count": "units"},
            "privacy": {"unit": "household", "rho": "1/10"},
            "invariants": [{"margin": ["kind"], "where": {"kind": list(FACILITIES)}, "level": "block"}],
            **more.pop("units", {}),
        },
    )
    return {
        "data": {"geography": {"column": "block", "prefixes": PREFIXES}},
        "privacy": {"standard": "zcdp", "adjacency": "unit"},
        "mechanism": {"name": "topdown"},
        "tables": list(tables),
        "constraints": {"across": [ACROSS]},
        **more,
    }


def spec(folder: Path, **more: Any) -> FilesSpec:
    """Write both files to a folder, and return the spec of them."""
    folder.mkdir(exist_ok=True)
    (folder / "people.csv").write_text(people())
    (folder / "units.csv").write_text(units())
    return FilesSpec.of(asked(**more), folder=folder)
