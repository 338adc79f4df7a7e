"""Folders that a curator might open: every kind of spec, small and invented."""

from collections.abc import Callable, Mapping
from pathlib import Path

from holdfast.spec.example import EXAMPLE_DATA, EXAMPLE_SPEC

COUNTIES = "county,sex,age,people\n" + "".join(
    f"County {number:03},{sex},{age},{(number * 37 + place * 11) % 90}\n"
    for number in range(1, 103)
    for place, (sex, age) in enumerate((sex, age) for sex in ("f", "m") for age in ("0-17", "18-64", "65+"))
)
BLOCKS = "block,age,people\n" + "".join(
    f"0101{tract:02}{block:02},{age},{(tract * 29 + block * 13 + len(age) * 5) % 40}\n"
    for tract in (1, 2, 3)
    for block in (1, 2, 3, 4)
    for age in ("adult", "minor")
)
GEOGRAPHY = """\
[data]
path = "blocks.csv"
cells = ["age"]
count = "people"

[data.geography]
column = "block"
prefixes = { county = 4, tract = 6, block = 8 }

[[invariants]]
total = true
level = "county"

[privacy]
unit = "person"
standard = "zcdp"
rho = "1/2"
adjacency = "unit"

[mechanism]
name = "topdown"
allocation = { county = "1/5", tract = "2/5", block = "2/5" }
"""
HOUSEHOLDS = "household,state,town,size,tenure\n" + "".join(
    f"{number},{('North', 'South')[number % 2]},{('Alder', 'Birch')[number % 5 % 2]},{1 + number % 3},"
    f"{('own', 'rent')[number % 7 % 2]}\n"
    for number in range(1, 61)
)
SWAPPED = """\
[data]
path = "households.csv"

[privacy]
unit = "household"
standard = "pure"
adjacency = "unit"
epsilon = "2"

[mechanism]
name = "permutation-swapping"
stratify = ["state", "size"]
swap = ["town"]
renumber = ["household"]
"""
SEVERAL = """\
[data]
path = "counties.csv"
count = "people"

[privacy]
unit = "person"
standard = "pure"
epsilon = "2"

[budget]
division = "weights"

[mechanism]
name = "lattice-laplace"

[[tables]]
name = "ages"
cells = ["sex", "age"]
weight = "3"
invariants = [{ margin = ["sex"] }]

[[tables]]
name = "places"
cells = ["county"]
weight = "1"
"""
FILES: Mapping[str, Mapping[str, str]] = {
    "demo": {"children.csv": EXAMPLE_DATA, "holdfast.toml": EXAMPLE_SPEC},
    "counties": {"counties.csv": COUNTIES},
    "geography": {"blocks.csv": BLOCKS, "holdfast.toml": GEOGRAPHY},
    "microdata": {"households.csv": HOUSEHOLDS, "holdfast.toml": SWAPPED},
    "several": {"counties.csv": COUNTIES, "holdfast.toml": SEVERAL},
}


def world(name: str) -> Callable[[Path], Path]:
    """Return what writes such a folder below another, and returns it."""

    def written(folder: Path) -> Path:
        made = folder / name
        made.mkdir()
        for file, text in FILES[name].items():
            (made / file).write_text(text, encoding="utf-8")
        return made

    return written
