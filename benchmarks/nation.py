"""A nation of blocks: released from the top down and on the lattice, from Parquet to Parquet.

    python benchmarks/nation.py [--json] [--blocks N ...] [--only topdown lattice] [--data FOLDER]

The nation is *synthetic*: its tracts are drawn with replacement from the real ones of Rhode Island and of
Cook County, each with its block groups, blocks and counts, and put into invented counties and states. So
blocks are as large, as empty and as mixed as real ones, and no state is any state there is. Six levels:
nation, state, county, tract, block group and block; 16 cells each, 8 races by voting age. State totals are
invariant, the budget and its shares by level are those of persons in the redistricting file of 2020.

Each command is a process of its own. Its CPU seconds are those of the process and of all that it started,
and its memory is that of all of them together, looked at ten times a second. ``growth`` is the exponent by
which CPU seconds grow from the smallest size to the largest, and from the last but one. What is refused, or
does not end in ``--timeout``, is told as such.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))  # studies/ is not installed
from studies.command import DATA
from studies.topdown import cook, rhode_island
from studies.topdown.blocks import AGES, RACES
from topdown import HOLDFAST, UNIT, cpu_of, family_of, resident

Counts = NDArray[np.int64]

SIZES = (100_000, 1_000_000, 8_000_000)
STATES = 51
TRACTS = 27
"""Tracts of a county, about: their number falls off as that of real counties does."""
AT_ONCE = 2_000
"""Tracts that are written together."""
LOOK = 0.1
SPEC = """\
[data]
path = "nation.parquet"
cells = ["race", "age"]
count = "people"

[data.levels]
race = [{races}]
age = [{ages}]

[data.geography]
column = "block"
prefixes = {{ nation = 0, state = 2, county = 5, tract = 11, block_group = 12, block = 15 }}

[[invariants]]
total = true
level = "state"

[privacy]
standard = "zcdp"
rho = "64/25"
adjacency = "unit"

[mechanism]
"""
TOPDOWN = """\
name = "topdown"

[mechanism.allocation]
nation = "104/4099"
state = "1440/4099"
county = "447/4099"
tract = "687/4099"
block_group = "1256/4099"
block = "165/4099"

[[mechanism.queries]]
marginal = ["race", "age"]

[[mechanism.queries]]
marginal = []
"""
LATTICE = """\
name = "lattice-gaussian"

[[mechanism.queries]]
marginal = ["county", "race", "age"]
weight = 4

[[mechanism.queries]]
marginal = ["tract", "race", "age"]
weight = 2

[[mechanism.queries]]
marginal = ["block", "race", "age"]
"""
WAYS = {"topdown": TOPDOWN, "lattice": LATTICE}


class Pool(NamedTuple):
    """Real tracts: the blocks of each stand together."""

    starts: Counts
    """Where each tract begins, and where the last one ends."""
    codes: Counts
    """The last four digits of each block: its group, and its number there."""
    counts: Counts
    """Blocks by cells."""

    @classmethod
    def of(cls, folder: Path) -> "Pool":
        """Return the tracts of two files, or of invented blocks where these are missing."""
        parts = [_wide(part, folder) for part in (rhode_island, cook)]
        codes = pl.concat([part[0] for part in parts])
        counts = np.concatenate([part[1] for part in parts])
        tract = codes.str.slice(0, 11)
        begins = np.flatnonzero((tract != tract.shift(1)).fill_null(value=True))
        last = codes.str.slice(11).cast(pl.Int64).to_numpy()
        return cls(np.append(begins, len(codes)), last, counts)


def _wide(part: Any, folder: Path) -> tuple[pl.Series, Counts]:
    found = part.read(folder) if (folder / part.FILE).is_file() else part.invented()
    width = len(RACES) * len(AGES)
    order = found.frame["block"].gather_every(width)
    return order, found.frame["people"].to_numpy().reshape(-1, width).astype(np.int64)


def nation(pool: Pool, number: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of so many blocks, in the order of their codes: a 0 for those where nobody lives."""
    generator = np.random.default_rng(2020)
    sizes = np.diff(pool.starts)
    tracts = np.zeros(0, dtype=np.int64)
    while sizes[tracts].sum() < number:
        tracts = np.append(tracts, generator.integers(0, sizes.size, 1 + 2 * number // int(sizes.mean())))
    tracts = tracts[: int(np.searchsorted(np.cumsum(sizes[tracts]), number)) + 1]
    county, tract = _counties(generator, tracts.size)
    state = _states(generator, int(county[-1]) + 1)
    within = county - np.searchsorted(state, state)[county]
    left = number
    for begin in range(0, tracts.size, AT_ONCE):
        some = slice(begin, begin + AT_ONCE)
        frame, left = _rows(pool, tracts[some], state[county[some]], within[some], tract[some], left)
        yield frame


def _counties(generator: np.random.Generator, tracts: int) -> tuple[Counts, Counts]:
    """Return the county of each tract, and its number there."""
    sizes = np.maximum(1, generator.lognormal(np.log(TRACTS) - 0.98, 1.4, 1 + tracts)).astype(np.int64)
    county = np.repeat(np.arange(sizes.size), sizes)[:tracts]
    return county, np.arange(tracts) - np.searchsorted(county, county) + 1


def _states(generator: np.random.Generator, counties: int) -> Counts:
    """Return the state of each county."""
    states = max(1, min(STATES, counties // 4))
    more = generator.integers(0, states, counties - states)
    return np.sort(np.append(np.arange(states), more))


def _rows(
    pool: Pool, tracts: Counts, state: Counts, county: Counts, tract: Counts, left: int
) -> tuple[pl.DataFrame, int]:
    sizes = np.diff(pool.starts)[tracts]
    total = int(min(sizes.sum(), left))
    of = np.repeat(np.arange(tracts.size), sizes)[:total]
    place = (np.arange(of.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)[:total]) + pool.starts[tracts][
        of
    ]
    numbers = (((state[of] + 1) * 1000 + county[of] + 1) * 1_000_000 + tract[of]) * 10_000 + pool.codes[place]
    counts = pool.counts[place]
    shown = counts > 0
    shown[~shown.any(axis=1), 0] = True
    row, cell = np.nonzero(shown)
    codes = pl.Series(numbers).cast(pl.String).str.zfill(15)
    frame = {
        "block": codes.gather(row),
        "race": pl.Series(RACES).gather(cell // len(AGES)),
        "age": pl.Series(AGES).gather(cell % len(AGES)),
        "people": counts[row, cell],
    }
    return pl.DataFrame(frame), left - total


def write(pool: Pool, number: int, folder: Path) -> dict[str, Any]:
    """Write a nation and its specs to a folder."""
    rows = people = 0
    writer: pq.ParquetWriter | None = None
    for frame in nation(pool, number):
        table = frame.to_arrow()
        writer = writer or pq.ParquetWriter(folder / "nation.parquet", table.schema, compression="zstd")
        writer.write_table(table)
        rows, people = rows + frame.height, people + int(frame["people"].sum())
    assert writer is not None
    writer.close()
    for way, mechanism in WAYS.items():
        lists = {"races": RACES, "ages": AGES}
        told = {name: ", ".join(f'"{level}"' for level in levels) for name, levels in lists.items()}
        (folder / f"{way}.toml").write_text(SPEC.format(**told) + mechanism)
    return {"rows": rows, "people": people}


def run(words: list[str], timeout: float) -> dict[str, Any]:
    """Return the outcome, the CPU seconds and the memory of a command and of all that it starts."""
    with tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen([*HOLDFAST, *words], stdout=subprocess.DEVNULL, stderr=err)  # noqa: S603
        most, busy = 0, dict[int, float]()
        late = False
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            alive = list(family_of(process.pid))
            most = max(most, sum(map(resident, alive)))
            busy |= {each: seconds for each in alive if (seconds := cpu_of(each))}
            if time.perf_counter() - started > timeout:
                late = True
                process.kill()
            time.sleep(LOOK)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        said = err.read().decode(errors="replace").strip().splitlines()
    outcome = {0: "done", 2: "refused"}.get(process.returncode, "timeout" if late else "failed")
    found: dict[str, Any] = {
        "outcome": outcome,
        "seconds": round(wall, 2),
        "cpu_seconds": round(max(used.ru_utime + used.ru_stime, sum(busy.values())), 2),
        "peak_memory_gb": round(most / 1e9, 3),
        "largest_process_gb": round(used.ru_maxrss * UNIT / 1e9, 3),
    }
    if outcome != "done":
        found["said"] = said[-1][:300] if said else ""
    tell(f"{' '.join(words[:2])}: {_line(found)}")
    return found


def one_size(
    pool: Pool, number: int, ways: list[str], more: list[str], timeout: float, keep: Path | None
) -> Any:
    """Release a nation in some ways, and verify each."""
    with tempfile.TemporaryDirectory(dir=keep) as place:
        folder = Path(place)
        started = time.process_time()
        found: dict[str, Any] = {"blocks": number, **write(pool, number, folder)}
        tell(f"{number:,} synthetic blocks, {found['rows']:,} rows, {time.process_time() - started:.0f} s")
        found["input_gb"] = round((folder / "nation.parquet").stat().st_size / 1e9, 3)
        for way in ways:
            release = folder / way
            asked = ["release", str(folder / f"{way}.toml"), "--out", str(release), "--parquet"]
            own = found[way] = {"release": run([*asked, *(more if way == "topdown" else [])], timeout)}
            if own["release"]["outcome"] == "done":
                own["output_gb"] = round(sum(f.stat().st_size for f in release.iterdir()) / 1e9, 3)
                own["verify_quick"] = run(["verify", str(release), "--quick"], timeout)
            shutil.rmtree(release, ignore_errors=True)
        return found


def growth(found: list[Any], way: str, command: str) -> dict[str, float | None]:
    """Return the exponents of growth of the CPU seconds of a command."""
    done = [
        (each["blocks"], each[way][command]["cpu_seconds"])
        for each in found
        if command in each[way] and each[way][command]["outcome"] == "done"
    ]
    if len(done) < 2:
        return {"growth": None, "growth_last": None}
    pairs = {"growth": (done[0], done[-1]), "growth_last": (done[-2], done[-1])}
    return {name: round(float(np.log(t / s) / np.log(m / n)), 2) for name, ((n, s), (m, t)) in pairs.items()}


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--blocks", type=int, nargs="+", default=list(SIZES), help="how many blocks")
    parser.add_argument("--only", choices=sorted(WAYS), nargs="+", default=list(WAYS), help="some releases")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the files of blocks")
    parser.add_argument("--keep", type=Path, help="a folder with room for the files")
    parser.add_argument("--timeout", type=float, default=7200.0, help="seconds for each command")
    parser.add_argument(
        "--options", nargs="+", default=[], help="options of top-down releases, without dashes"
    )
    options = parser.parse_args()
    pool = Pool.of(options.data)
    more = [word if word.lstrip("-").isdecimal() else f"--{word}" for word in options.options]
    found = [
        one_size(pool, number, options.only, more, options.timeout, options.keep) for number in options.blocks
    ]
    report: dict[str, Any] = {
        "data": "synthetic: tracts of Rhode Island and Cook County, 2010, drawn with replacement",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "sizes": found,
    }
    for way in options.only:
        report[way] = {command: growth(found, way, command) for command in ("release", "verify_quick")}
    if options.json:
        print(json.dumps(report, indent=2))
        return
    for each in found:
        for way in options.only:
            for command, row in each[way].items():
                if isinstance(row, dict):
                    print(f"{each['blocks']:>10,} blocks, {way} {command}: {_line(row)}")
    for way in options.only:
        print(f"{way}, growth: {report[way]}")


def tell(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _line(row: dict[str, Any]) -> str:
    if row["outcome"] != "done":
        used = f"{row['seconds']:.0f} s, {row['peak_memory_gb']:.2f} GB"
        return f"{row['outcome']} after {used}: {row.get('said', '')}"
    return f"{row['seconds']:.1f} s (CPU {row['cpu_seconds']:.1f}), {row['peak_memory_gb']:.2f} GB"


if __name__ == "__main__":
    main()
