"""Real tables, read from a folder that is not part of the project; its README says what they are.

`classic_tables.csv` has a row for each cell, `name=level;name=level`. `california_2010_p12.csv` has sex by 23
ages for each county.
"""

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.data.two_by_two import TwoByTwo

Counts = NDArray[np.int64]

CLASSIC, CALIFORNIA = "classic_tables.csv", "california_2010_p12.csv"
DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Beside the root of the project."""
TWO_WAY = (
    ("Arthritis: treatment x improvement", "Arthritis", "Treatment", "Improved"),
    ("Titanic: class x survival", "Titanic", "Class", "Survived"),
    ("Berkeley: admission x department", "UCBAdmissions", "Admit", "Dept"),
    ("Job satisfaction x income", "JobSatisfaction_Agresti", "row", "col"),
    ("Hair x eye colour", "HairEyeColor", "Hair", "Eye"),
    ("Caithness: eye x hair colour", "caith", "eye", "hair"),
    ("Occupation: father x son", "occupationalStatus", "origin", "destination"),
)
COUNTIES = ("Alpine", "Modoc", "Los Angeles")
DEPARTMENTS = "ABCDEF"


def missing(folder: Path) -> list[str]:
    """Return the files that the folder lacks."""
    return [name for name in (CLASSIC, CALIFORNIA) if not (folder / name).is_file()]


def two_way_tables(folder: Path) -> dict[str, Counts]:
    """Return the two-way tables of the cost comparison, by name."""
    cells = _classic(folder)
    tables = {title: _cross(cells[name], row, column) for title, name, row, column in TWO_WAY}
    with (folder / CALIFORNIA).open(newline="") as file:
        people = list(csv.DictReader(file))
    for county in COUNTIES:
        of_county = [({**row}, int(row["count"])) for row in people if row["county"] == f"{county} County"]
        tables[f"{county} County: sex x age"] = _cross(of_county, "sex", "age_index")
    return tables


def two_by_two_tables(folder: Path) -> dict[str, tuple[TwoByTwo, ...]]:
    """Return the tables of the tests; the last one has six strata."""
    cells = _classic(folder)
    admissions = cells["UCBAdmissions"]
    departments = {
        letter: _cross([cell for cell in admissions if cell[0]["Dept"] == letter], "Gender", "Admit")
        for letter in DEPARTMENTS
    }
    arthritis = _cross(cells["Arthritis"], "Treatment", "Improved")
    improved = np.column_stack([arthritis[::-1, [0, 2]].sum(axis=1), arthritis[::-1, 1]])
    tables = {
        "Tea tasting": _cross(cells["TeaTasting"], "row", "col"),
        "Convictions of twins": _cross(cells["Convictions"], "row", "col"),
        "Arthritis: any improvement": improved,
        "Titanic: sex x survival": _cross(cells["Titanic"], "Sex", "Survived"),
        "Berkeley: sex x admission": _cross(admissions, "Gender", "Admit"),
        **{f"Berkeley, department {letter}": table for letter, table in departments.items()},
    }
    single = {name: (TwoByTwo.of(table.ravel().tolist()),) for name, table in tables.items()}
    strata = tuple(TwoByTwo.of(table.ravel().tolist()) for table in departments.values())
    return {**single, "Berkeley, six departments as strata": strata}


def _classic(folder: Path) -> dict[str, list[tuple[dict[str, str], int]]]:
    """Return the cells of each table, as levels by attribute with a count."""
    tables: dict[str, list[tuple[dict[str, str], int]]] = {}
    with (folder / CLASSIC).open(newline="") as file:
        for row in csv.DictReader(file):
            levels = dict(part.split("=", 1) for part in row["cell"].split(";"))
            tables.setdefault(row["table"], []).append((levels, int(row["count"])))
    return tables


def _cross(cells: Iterable[tuple[dict[str, str], int]], row: str, column: str) -> Counts:
    """Return the two-way margin, levels in their first order."""
    counts: Counter[tuple[str, str]] = Counter()
    for levels, count in cells:
        counts[levels[row], levels[column]] += count
    rows, columns = (list(dict.fromkeys(pair[i] for pair in counts)) for i in (0, 1))
    return np.array([[counts[i, j] for j in columns] for i in rows], dtype=np.int64)
