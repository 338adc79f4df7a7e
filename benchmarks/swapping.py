"""Permutation swapping of half a million to fifty million records in skewed strata.

    python benchmarks/swapping.py [--json] [--short] [--largest RECORDS]

There are 25 records to a stratum: 200,000 strata of five million records, their sizes heavy-tailed. The swap
step, from the stratum and the value of each record to the swapped values, stands against one stable argsort
of the strata: CPU seconds, by turns in one process, neither uses a second core. Its memory is what that
process comes to hold beyond the data. Releases go from Parquet to Parquet with a certificate, each in a
process of its own, whose peak memory the system reports. ``growth`` is the most by which the CPU seconds for
each record grow from one size to a larger one, and ``growth_wall`` those by the clock; what a release of a
thousand records takes is taken off before.

Beside them stands, in the same run, what one would write instead: the same swap by polars and numpy, whole in
memory, from floating-point numbers of a generator that is not secure, without a certificate.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from holdfast.mechanisms.swapping.permute import by_stratum, permute
from holdfast.sampling.entropy import SystemEntropy

IntArray = NDArray[np.int64]

SIZES = (500_000, 5_000_000, 50_000_000)
SHORT = (100_000, 500_000)
STEP = 5_000_000
"""Records of the swap step."""
START = 1_000
"""Records of a release that takes hardly more than to start."""
EACH = 25
"""Records to a stratum."""
BATCH = 1 << 20
RATES = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 2))
TURNS = 3
QUICK = 1_000_000
"""Fewer records are released so many times, and the quickest counts: the start of a process varies."""
TOLD = 0.5
"""Seconds beyond a start that can be told from how starts vary; sizes that take less show no growth."""
UNIT = 1 if sys.platform == "darwin" else 1024
HOLDFAST = (sys.executable, "-m", "holdfast")
ANYHOW = "--accept-no-protection"
"""What is timed is swapping: so few records stay apart here that its guarantee protects nobody."""
SPEC = """\
[data]
path = "records.parquet"
[privacy]
unit = "record"
standard = "pure"
adjacency = "unit"
[mechanism]
name = "permutation-swapping"
stratify = ["tract", "household_size"]
swap = ["block"]
rate = "1/20"
"""


class Strata:
    """Draws the strata of records, from weights of a heavy tail."""

    def __init__(self, records: int) -> None:
        self.generator = np.random.default_rng(0)
        weights = self.generator.pareto(1.2, max(1, records // EACH)) + 0.05
        self.ends = np.cumsum(weights)

    def draw(self, records: int) -> IntArray:
        drawn: IntArray = np.searchsorted(self.ends, self.generator.random(records) * self.ends[-1])
        return drawn


def write_records(path: Path, records: int) -> None:
    """Write a file of records, batch by batch."""
    strata = Strata(records)
    draw = strata.generator.integers
    tenure = pa.array(["owner", "renter", "other"])
    writer = None
    for first in range(0, records, BATCH):
        size = min(BATCH, records - first)
        stratum = strata.draw(size)
        table = pa.table(
            {
                "id": np.arange(first, first + size),
                "tract": (stratum // 5).astype(np.int32),
                "household_size": (stratum % 5 + 1).astype(np.int8),
                "block": draw(0, 3000, size, np.int32),
                "tenure": tenure.take(pa.array(draw(0, 3, size))),
                "age": draw(0, 100, size, np.int8),
                "income": draw(0, 200_000, size, np.int32),
            }
        )
        writer = writer or pa.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def run(told: str, command: list[str]) -> dict[str, Any]:
    """Return the seconds and the memory of a process, and the last that it said where it failed."""
    with tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err)  # noqa: S603 - our own
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        said = err.read().decode(errors="replace").strip().splitlines()
    found: dict[str, Any] = {
        "outcome": "done" if process.returncode == 0 else f"failed: {said[-1] if said else 'it was ended'}",
        "seconds": round(wall, 2),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "peak_memory_gb": round(used.ru_maxrss * UNIT / 1e9, 3),
    }
    tell(f"{told}: {_line(found)}")
    return found


def releases(records: int) -> dict[str, Any]:
    """Release a file, verify that, and swap it the plain way."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        spec, data = folder / "spec.toml", folder / "records.parquet"
        tell(f"{records:,} records: writing them")
        write_records(data, records)
        spec.write_text(SPEC)
        found: dict[str, Any] = {"records": records, "file_gb": round(data.stat().st_size / 1e9, 3)}
        for turn in range(TURNS if records < QUICK else 1):
            out = folder / f"release-{turn}"
            one = run(f"{records:,}, release", [*HOLDFAST, "release", str(spec), ANYHOW, "--out", str(out)])
            if turn == 0 or one["seconds"] < found["release"]["seconds"]:
                found["release"] = one
        found["verify"] = run(f"{records:,}, verify", [*HOLDFAST, "verify", str(out)])
        plain = [sys.executable, __file__, "--plain", str(data), str(folder / "plain.parquet")]
        return {**found, "plain": run(f"{records:,}, plain", plain)}


def plain_file(source: Path, target: Path) -> None:
    """Swap a file as one would without this library: whole in memory, with no word on what it protects."""
    frame = pl.read_parquet(source)
    strata = frame.select(pl.struct("tract", "household_size").rank("dense")).to_series().to_numpy() - 1
    block = plain_swap(strata, frame["block"].to_numpy(), 1 / 20, np.random.default_rng())
    frame.with_columns(pl.Series("block", block)).sample(fraction=1, shuffle=True).write_parquet(target)


def plain_swap(
    strata: NDArray[Any], values: NDArray[Any], rate: float, generator: np.random.Generator
) -> NDArray[Any]:
    """Swap by passes of vectors: all strata at once, then again those where a draw failed."""
    order = np.argsort(strata, kind="stable")
    sizes = np.bincount(strata)
    stratum = np.repeat(np.arange(sizes.size), sizes)
    again = np.flatnonzero((sizes > 1)[stratum])
    selected = np.zeros(strata.size, dtype=bool)
    while again.size:
        selected[again] = generator.random(again.size) < rate
        number = np.bincount(stratum[again], weights=selected[again], minlength=sizes.size)
        again = again[(number == 1)[stratum[again]]]
    chosen = np.flatnonzero(selected)
    source, again = chosen.copy(), np.arange(chosen.size)
    while again.size:
        drawn = np.lexsort((generator.random(again.size), stratum[chosen[again]]))
        source[again] = chosen[again[drawn]]
        fixed = np.bincount(stratum[chosen[again[drawn == np.arange(again.size)]]], minlength=sizes.size)
        again = again[(fixed > 0)[stratum[chosen[again]]]]
    swapped = values.copy()
    swapped[order[chosen]] = values[order[source]]
    return swapped


def exact_swap(strata: NDArray[Any], values: NDArray[Any], rate: Fraction) -> NDArray[Any]:
    """Swap as a release does, from codes of strata to swapped values."""
    sizes, places = by_stratum(strata, int(strata.max()) + 1)
    drawn = permute(sizes, rate, SystemEntropy())
    swapped = np.empty_like(values)
    swapped[places] = values[places[drawn.source]]
    return swapped


def swap_step(records: int) -> dict[str, Any]:
    """Time the swap step and an argsort by turns; the swaps come first, so that the memory is theirs."""
    strata, values = np.empty(records, dtype=np.int32), np.empty(records, dtype=np.int32)
    source = Strata(records)
    for first in range(0, records, BATCH):
        part = slice(first, min(first + BATCH, records))
        strata[part] = source.draw(part.stop - first)
        values[part] = source.generator.integers(0, 3000, part.stop - first)
    exact_swap(strata[:START], values[:START], RATES[0])  # compiled before it is timed
    before = _held()
    for rate in RATES:
        exact_swap(strata, values, rate)
    memory = _held() - before
    argsort: list[float] = []
    exact: dict[Fraction, list[float]] = {rate: [] for rate in RATES}
    plain: dict[Fraction, list[float]] = {rate: [] for rate in RATES}
    generator = np.random.default_rng()
    for _ in range(TURNS):
        argsort.append(_timed(lambda: np.argsort(strata, kind="stable")))
        for rate in RATES:
            exact[rate].append(_timed(lambda rate=rate: exact_swap(strata, values, rate)))
            plain[rate].append(_timed(lambda rate=rate: plain_swap(strata, values, float(rate), generator)))
    once = min(argsort)
    rows = {
        str(rate): {
            "seconds": round(min(exact[rate]), 3),
            "to_argsort": round(min(exact[rate]) / once, 3),
            "plain_seconds": round(min(plain[rate]), 3),
            "plain_to_ours": round(min(plain[rate]) / min(exact[rate]), 2),
        }
        for rate in RATES
    }
    return {
        "records": records,
        "argsort_seconds": round(once, 3),
        "rates": rows,
        "swap_to_argsort": max(row["to_argsort"] for row in rows.values()),
        "swap_memory_gb": round(memory / 1e9, 3),
    }


def growth(rows: list[dict[str, Any]], start: float, key: str) -> float | None:
    """Return the most by which the seconds for each record grow from a size to a larger one."""
    above = [(row["release"][key] - start, row["records"]) for row in rows if _done(row)]
    each = [seconds / records for seconds, records in above if seconds > TOLD]
    grown = [later / earlier for earlier, later in combinations(each, 2)]
    return round(max(grown), 3) if grown else None


def report_of(sizes: list[int]) -> dict[str, Any]:
    """Run it all."""
    step_size = min(STEP, max(sizes))
    tell(f"the swap step of {step_size:,} records, at rates of {', '.join(map(str, RATES))}")
    step = json.loads(
        subprocess.run(  # noqa: S603 - our own
            [sys.executable, __file__, "--step", str(step_size)], check=True, capture_output=True
        ).stdout
    )
    tell(f"the swap step takes at most {step['swap_to_argsort']} argsorts, {step['swap_memory_gb']} GB")
    start = releases(START)["release"]
    rows = [releases(size) for size in sizes]
    end_to_end = next((row for row in rows if row["records"] == STEP), rows[-1])
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "swap_to_argsort": step["swap_to_argsort"],
        "swap_memory_gb": step["swap_memory_gb"],
        "records_end_to_end": end_to_end["records"],
        "seconds_end_to_end": _seconds(end_to_end["release"]),
        "seconds_verify": _seconds(end_to_end["verify"]),
        "peak_memory_gb": rows[-1]["release"]["peak_memory_gb"],
        "growth": growth(rows, start["cpu_seconds"], "cpu_seconds"),
        "growth_wall": growth(rows, start["seconds"], "seconds"),
        "release_to_plain": _ratio(_seconds(end_to_end["release"]), _seconds(end_to_end["plain"])),
        "start": start,
        "step": step,
        "sizes": rows,
    }


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--short", action="store_true", help="small sizes only, for a quick look")
    parser.add_argument("--largest", type=int, metavar="RECORDS", help="leave out sizes above this")
    parser.add_argument("--step", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--plain", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step is not None:
        print(json.dumps(swap_step(options.step)))
        return
    if options.plain is not None:
        plain_file(*options.plain)
        return
    sizes = [size for size in (SHORT if options.short else SIZES) if size <= (options.largest or size)]
    if not sizes:
        parser.error(f"--largest {options.largest} leaves no size: give {SHORT[0]} with --short, or more.")
    report = report_of(sizes)
    if options.json:
        print(json.dumps(report, indent=2))
        return
    step = report["step"]
    print(f"swap step of {step['records']:,} records; one argsort takes {step['argsort_seconds']} s")
    for rate, row in step["rates"].items():
        print(
            f"  rate {rate:>5}: {row['seconds']:.3f} s, {row['to_argsort']:.2f} argsorts;"
            f" plain {row['plain_seconds']:.3f} s, {row['plain_to_ours']:.1f} times ours"
        )
    print(f"  memory beyond the data: {step['swap_memory_gb']} GB")
    print(f"{'records':>12}  {'release':<34}{'verify':<34}{'plain, whole in memory':<34}")
    for row in report["sizes"]:
        told = "".join(f"{_line(row[name]):<34}" for name in ("release", "verify", "plain"))
        print(f"{row['records']:>12,}  {told}")
    print(
        f"growth of the seconds for each record: CPU {report['growth']}, by the clock {report['growth_wall']}"
    )


def tell(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _timed(step: Any) -> float:
    started = time.process_time()
    step()
    return time.process_time() - started


def _held() -> int:
    """Return the most bytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def _done(row: dict[str, Any]) -> bool:
    return bool(row["release"]["outcome"] == "done")


def _seconds(command: dict[str, Any]) -> float | None:
    """Return how long a command took, if it came to its end."""
    return float(command["seconds"]) if command["outcome"] == "done" else None


def _ratio(ours: float | None, other: float | None) -> float | None:
    return None if ours is None or other is None else round(ours / max(other, 0.01), 2)


def _line(row: dict[str, Any]) -> str:
    if row["outcome"] != "done":
        return str(row["outcome"])
    return f"{row['seconds']:.1f} s (CPU {row['cpu_seconds']:.1f}), {row['peak_memory_gb']:.2f} GB"


if __name__ == "__main__":
    main()
