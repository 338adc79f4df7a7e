"""A small geography to release from the top down."""

from pathlib import Path
from typing import Any

from holdfast.spec.model import Spec

LEVELS = ("state", "county", "tract", "block")
PREFIXES = {"state": 1, "county": 2, "tract": 3, "block": 4}
TOML = """\
[data]
path = "blocks.csv"
cells = ["age", "sex"]
count = "people"
geography = { column = "block", prefixes = { state = 1, county = 2, tract = 3, block = 4 } }
[[invariants]]
total = true
level = "county"
[privacy]
standard = "zcdp"
rho = "1"
adjacency = "unit"
[mechanism]
name = "topdown"
"""
"""A spec as a file, for a process of its own."""


def rows() -> str:
    """Return counts of 24 blocks by age and sex, some of them zero."""
    found = ["block,age,sex,people"]
    for county in "12":
        for tract in "123":
            for block in "1234":
                for place, (age, sex) in enumerate((("0", "f"), ("0", "m"), ("18", "f"), ("18", "m"))):
                    size = (int(county) * 7 + int(tract) * 5 + int(block) ** 2 * (place + 1)) % 23
                    found.append(f"9{county}{tract}{block},{age},{sex},{max(0, size - 4)}")
    return "\n".join(found) + "\n"


def asked(**more: Any) -> dict[str, Any]:
    """Return a spec as values, with some sections in the place of the usual ones."""
    return {
        "data": {
            "path": "blocks.csv",
            "cells": ["age", "sex"],
            "count": "people",
            "geography": {"column": "block", "prefixes": PREFIXES},
        },
        "invariants": [{"total": True, "level": "county"}],
        "privacy": {"standard": "zcdp", "rho": "1", "adjacency": "unit"},
        "mechanism": {"name": "topdown"},
        **more,
    }


def spec(folder: Path, **more: Any) -> Spec:
    """Write the counts to a folder, and return a spec of them."""
    (folder / "blocks.csv").write_text(rows())
    return Spec.of(asked(**more), folder=folder)
