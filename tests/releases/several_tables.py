"""A small file of records, and specs of several tables of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from holdfast.spec.tables import TablesSpec

Margin = tuple[str, ...]
COLUMNS = ("p", "q", "r")


def frame(*records: str) -> pl.DataFrame:
    """Return records that are written by their levels, as in "010"."""
    return pl.DataFrame({name: [record[at] for record in records] for at, name in enumerate(COLUMNS)})


def several(
    tables: Mapping[str, tuple[str, tuple[Margin, ...]]],
    *,
    division: str = "equal",
    constraints: Any = None,
    **privacy: Any,
) -> TablesSpec:
    """Return a spec of tables over attributes that are written as "pq", each with its kept margins.

    ``constraints`` has those of a table by its name.
    """
    return TablesSpec.of(
        {
            "data": {
                "levels": {name: ["0", "1"] for name in COLUMNS if any(name in c for c, _ in tables.values())}
            },
            "privacy": {"epsilon": "1", **privacy} if not {"rho", "mu"} & set(privacy) else privacy,
            "budget": {"division": division},
            "tables": [
                {
                    "name": name,
                    "cells": list(cells),
                    "invariants": [
                        {"margin": list(margin)} if margin else {"total": True} for margin in margins
                    ],
                    "constraints": dict((constraints or {}).get(name, {})),
                }
                for name, (cells, margins) in tables.items()
            ],
        }
    )


PEOPLE = """county,age,sex
{rows}
"""
SPEC = """
[data]
path = "people.csv"

[privacy]
epsilon = "1"

[budget]
division = "equal"

[[tables]]
name = "age_by_county"
cells = ["county", "age"]

[[tables.invariants]]
margin = ["county"]

[[tables]]
name = "sex_by_county"
cells = ["county", "sex"]

[[tables.invariants]]
margin = ["county"]
"""


def write_people(folder: Path, spec: str = SPEC) -> Path:
    """Write a file of sixty people and a spec of two tables of it."""
    rows = [f"{'ABC'[i % 3]},{('young', 'old')[i * i % 7 % 2]},{'fm'[i * 5 % 11 % 2]}" for i in range(60)]
    (folder / "people.csv").write_text(PEOPLE.format(rows="\n".join(rows)))
    path = folder / "tables.toml"
    path.write_text(spec)
    return path
