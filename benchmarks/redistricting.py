"""Rhode Island's blocks as the redistricting data of 2020 have them: persons and units, released together.

    python benchmarks/redistricting.py [--json] [--short] [--data FOLDER]

Two cases, each by `holdfast release` and `holdfast verify` as anybody runs them, on all cores, with CPU
seconds and memory of all their processes together:

* ``persons_and_units`` has 128 cells a block for persons and 9 for units, with the constraints across of
  `holdfast init --topdown small`;
* ``full_detail`` has 2,016 and 9 cells, the shares of rho and the passes of `--topdown pl94`.

The people of each block by race and voting age are real, where the file is in the folder. Their homes and
facilities, which file does not have, and several races are invented: what is released is synthetic.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))  # studies/ is not installed
from benchmarks.topdown import HOLDFAST, run, tell
from studies.command import DATA
from studies.topdown.blocks import RHODE_ISLAND, SMALL, Shape, invented
from studies.topdown.rhode_island import FILE, read

from holdfast.spec.census import FACILITIES, write_topdown

Counts = NDArray[np.int64]
RACES = {"white": "W", "black": "B", "aian": "I", "asian": "A", "nhpi": "P", "other": "O"}
"""The races of the file that are one race each; the others are of Hispanic origin, or of several races."""
KINDS = {"persons_and_units": "small", "full_detail": "pl94"}
WITH_FACILITY = 0.03
"""Blocks of at least so many people that have a facility, and what part of the people lives there at most."""
LARGE = 100
EACH_HOME = 2.4


def source(folder: Path, *, short: bool) -> tuple[str, pl.DataFrame]:
    """Return what the blocks are called, and their people by race and age."""
    if not short and (folder / FILE).is_file():
        found = read(folder)
        return found.name, found.frame
    shape: Shape = SMALL if short else RHODE_ISLAND
    found = invented(shape, "invented blocks")
    return found.name, found.frame


def persons(frame: pl.DataFrame, races: list[str]) -> pl.DataFrame:
    """Return a row for each block and cell with people, and one for each block without."""
    chance = np.random.default_rng(2020)
    several = [race for race in races if len(race) > 1]
    falling = 1 / np.arange(1, len(several) + 1) ** 2
    # those of Hispanic origin by race: most white, some other, some of several
    own = [race for race in ("W", "O", "B") if race in races]
    hispanic = [*own, *several[:3]]
    weights = np.array([0.55, 0.3, 0.05, *[0.1] * 6])[: len(hispanic)]
    rows = []
    some = frame.filter(pl.col("people") > 0)
    for block, race, age, people in some.iter_rows():
        if race == "hisp":
            found = chance.multinomial(people, weights / weights.sum())
            cells = [("yes", name, n) for name, n in zip(hispanic, found.tolist(), strict=True)]
        elif RACES.get(race, "") in races:
            cells = [("no", RACES[race], people)]
        elif several:
            found = chance.multinomial(people, falling / falling.sum())
            cells = [("no", name, n) for name, n in zip(several, found.tolist(), strict=True)]
        else:
            cells = [("no", races[-1], people)]
        rows += [(block, "18+" if age == "adult" else "0-17", *cell) for cell in cells if cell[2]]
    columns = ("block", "votingage", "hispanic", "cenrace", "people")
    every = pl.DataFrame(rows, schema=columns, orient="row").group_by(columns[:-1]).sum().sort(columns[:-1])
    blocks = frame.group_by("block").agg(pl.col("people").sum()).sort("block")
    large = blocks.filter(pl.col("people") >= LARGE)["block"].to_list()
    with_facility = {
        block: str(chance.choice(FACILITIES)) for block in large if chance.random() < WITH_FACILITY
    }
    living = []
    for block, age, origin, race, people in every.iter_rows():
        facility = with_facility.get(block)
        there = 0 if facility is None or age == "0-17" else people - int(chance.integers(0, people))
        living += [(block, facility, age, origin, race, there)] if there else []
        living += [(block, "household", age, origin, race, people - there)] if people > there else []
    empty = blocks.filter(pl.col("people") == 0)["block"].to_list()
    living += [(block, "household", "18+", "no", races[0], 0) for block in empty]
    return pl.DataFrame(
        living, schema=("block", "hhgq", "votingage", "hispanic", "cenrace", "people"), orient="row"
    ).sort("block")


def units(people: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each block and kind of unit: homes for all in households, and one of each facility."""
    chance = np.random.default_rng(2021)
    by_kind = people.group_by("block", "hhgq").agg(pl.col("people").sum()).sort("block", "hhgq")
    rows = []
    for block, kind, living in by_kind.iter_rows():
        if kind == "household":
            homes = int(np.ceil(living / EACH_HOME))
            rows += [(block, "occupied", homes), (block, "vacant", int(chance.integers(0, homes // 8 + 2)))]
        else:
            rows.append((block, kind, 1))
    return pl.DataFrame(rows, schema=("block", "kind", "units"), orient="row")


def write(folder: Path, kind: str, frame: pl.DataFrame) -> Path:
    """Write the spec of a kind and the files of persons and units."""
    spec = next(path for path in write_topdown(folder, kind) if path.suffix == ".toml")
    listed = next(line for line in spec.read_text().splitlines() if line.startswith("cenrace ="))
    people = persons(frame, json.loads(listed.partition("=")[2]))
    people.write_csv(folder / "persons.csv")
    units(people).write_csv(folder / "units.csv")
    return spec


def one_case(kind: str, frame: pl.DataFrame) -> dict[str, Any]:
    """Release and verify a case."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        spec = write(folder, kind, frame)
        out = str(folder / "release")
        command = [*HOLDFAST, "release", str(spec), "--parquet", "--out", out]
        found = {"release": run(f"{kind}, holdfast release", command)}
        if found["release"]["outcome"] == "done":
            found["verify"] = run(f"{kind}, holdfast verify", [*HOLDFAST, "verify", out])
            found["bytes"] = {each.name: each.stat().st_size for each in Path(out).iterdir()}
        return found


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--short", action="store_true", help="a tenth as many invented blocks")
    parser.add_argument("--case", choices=tuple(KINDS), help="one of the cases alone")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the file of blocks")
    options = parser.parse_args()
    name, frame = source(options.data, short=options.short)
    report: dict[str, Any] = {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "data": name,
        "blocks": frame["block"].n_unique(),
    }
    for case, kind in KINDS.items():
        if options.case in (None, case):
            report[case] = one_case(kind, frame)
    if options.json:
        print(json.dumps(report, indent=2))
        return
    for case in KINDS:
        for step, row in report.get(case, {}).items():
            if step != "bytes":
                tell(f"{case}, {step}: {row}")


if __name__ == "__main__":
    main()
