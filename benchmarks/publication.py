"""What published tables say, against plain calls of HiGHS cell by cell, side by side in one run.

    python benchmarks/publication.py [--json] [--quick]

Three designs, each at several sizes: linked tables of a state, counties by 46 groups with five margins, two
of them rounded; cells with hierarchies on three sides, their margins, and suppression; nested exact totals.
For each: the CPU seconds of reading the files and of all intervals, and the exponent of their growth. The
same intervals are asked of HiGHS one end after the other, one model kept and its objective changed:
``ratio_plain`` is its CPU time over ours, for a sample of cells whose answers must agree, and from there for
all of them.
"""

import argparse
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from holdfast.publication.intervals import Numbers, SumIntervals, intervals
from holdfast.publication.spec import PublicationSpec
from holdfast.publication.tables import read_publication

SAMPLE = 12
"""Cells that HiGHS is asked about; the time of all is in proportion."""
LIMIT = 60.0
"""Seconds after which one call of HiGHS is stopped: the ratio is then at least what is told."""
Ints = NDArray[np.int64]
Rule = dict[str, Any]


def written(folder: Path, name: str, header: Sequence[str], rows: Iterator[Sequence[object]]) -> str:
    lines = [",".join(header), *(",".join(map(str, row)) for row in rows)]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{name}.csv"


def margin(grid: Ints, keep: Sequence[int]) -> Ints:
    return np.asarray(grid.sum(axis=tuple(axis for axis in range(grid.ndim) if axis not in keep)))


def table(
    folder: Path, name: str, names: Sequence[str], levels: Sequence[Sequence[str]], counts: Ints, rule: Rule
) -> Rule:
    base, below = rule.get("base"), rule.get("below", 0)
    with_them = np.random.default_rng(len(name)).random(counts.size) < rule.pop("share", 0)

    def shown(count: int, hidden: bool) -> str:
        if base:
            return str(base * ((count + base // 2) // base))
        return "*" if 0 < count < below or (hidden and count) else str(count)

    cells = zip(product(*levels), counts.ravel(), with_them, strict=True)
    rows = ([*cell, shown(int(count), bool(hidden))] for cell, count, hidden in cells)
    return {"path": written(folder, name, [*names, "people"], rows), **rule}


def state(folder: Path, counties: int) -> PublicationSpec:
    """Counties by sex and 23 ages: five margins, two of them rounded."""
    rng = np.random.default_rng(1)
    size = np.exp(rng.normal(2.5, 1.2, (counties, 1, 1))) * np.exp(rng.normal(0, 0.3, (counties, 2, 23)))
    grid = rng.poisson(size)
    names = ["county", "sex", "age"]
    levels = [[f"c{k:03}" for k in range(counties)], ["f", "m"], [f"{5 * k}-{5 * k + 4}" for k in range(23)]]
    exact: Rule = {"rule": "exact"}
    five: Rule = {"rule": "rounded", "base": 5}
    ten: Rule = {"rule": "rounded", "base": 10}
    margins = (((0, 1), exact), ((1, 2), exact), ((0, 2), five), ((0,), ten), ((2,), exact))
    listed = [
        table(folder, f"m{at}", [names[k] for k in by], [levels[k] for k in by], margin(grid, by), rule)
        for at, (by, rule) in enumerate(margins)
    ]
    return PublicationSpec.of({"published": listed, "population": {"attributes": names}}, folder=folder)


def hierarchies(folder: Path, regions: int) -> PublicationSpec:
    """Cells by region (in tens), branch (in fours) and size, with all margins; small counts are hidden.

    With them every fourth inner count is hidden, and every tenth of a margin, all by one symbol.
    """
    rng = np.random.default_rng(2)
    shape = (regions, 20, 5)
    grid = rng.poisson(np.exp(rng.normal(1.8, 1.0, shape)))
    codes = [[f"{k // 10}{k % 10}" for k in range(regions)], [f"{k // 4}{k % 4}" for k in range(20)]]
    levels = [*codes, [f"s{k}" for k in range(5)]]
    names = ["region", "branch", "size"]
    rule: Rule = {"rule": "suppressed", "below": 5, "secondary": "*"}
    listed = [table(folder, "inner", names, levels, grid, {**rule, "share": 0.25})]
    upper = [sorted({code[0] for code in one}) for one in codes]
    for at, by in enumerate(product((0, 1, 2), (0, 1, 2), (0, 1))):
        if by == (0, 0, 0):
            continue
        sums, own, called = grid, [], []
        for axis, how in enumerate(by):
            if how == 1 and axis < 2:
                groups = [[k for k, code in enumerate(codes[axis]) if code[0] == one] for one in upper[axis]]
                parts = [np.take(sums, group, axis=axis).sum(axis=axis, keepdims=True) for group in groups]
                sums = np.concatenate(parts, axis=axis)
                own.append(upper[axis])
                called.append(names[axis])
            elif how:
                sums = sums.sum(axis=axis, keepdims=True)
            else:
                own.append(levels[axis])
                called.append(names[axis])
        if called:
            listed.append(table(folder, f"m{at}", called, own, sums, {**rule, "share": 0.1}))
    return PublicationSpec.of({"published": listed, "population": {"attributes": names}}, folder=folder)


def nested(folder: Path, blocks: int) -> PublicationSpec:
    """Blocks in tracts in counties: exact totals of tracts and counties, and rounded blocks."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(30, blocks)
    codes = [f"{k // 10_000:03}{k // 100 % 100:02}{k % 100:02}" for k in range(blocks)]
    rounded = [[code, str(5 * ((int(n) + 2) // 5))] for code, n in zip(codes, counts, strict=True)]
    listed: list[Rule] = [
        {"path": written(folder, "blocks", ["code", "people"], iter(rounded)), "rule": "rounded", "base": 5}
    ]
    for name, digits, per in (("tracts", 5, 100), ("counties", 3, 10_000)):
        firsts = np.arange(0, blocks, per)
        sums = np.add.reduceat(counts, firsts)
        rows = ([codes[int(at)][:digits], str(int(n))] for at, n in zip(firsts, sums, strict=True))
        listed.append({"path": written(folder, name, ["code", "people"], rows), "rule": "exact"})
    return PublicationSpec.of({"published": listed, "population": {"attributes": ["code"]}}, folder=folder)


DESIGNS: dict[str, tuple[Callable[[Path, int], PublicationSpec], tuple[int, ...], int]] = {
    # design, sizes, cells of size one
    "state": (state, (15, 30, 60, 120), 46),
    "hierarchies": (hierarchies, (10, 20, 30, 50), 100),
    "nested": (nested, (30_000, 100_000, 300_000, 1_000_000), 1),
}


def cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.process_time()
    found = work()
    return found, time.process_time() - begun


def plain(numbers: Numbers, known: SumIntervals, cells: Sequence[int]) -> tuple[float, int]:
    """Return the CPU seconds of both ends of some cells, one call each, and how many it did not settle."""
    matrix = csc_array(numbers.matrix)
    rows, columns = matrix.shape
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("time_limit", LIMIT)
    far = 1 << 40
    low, high = numbers.low.astype(float), np.where(numbers.high > far, highspy.kHighsInf, numbers.high)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = columns, rows
    program.col_cost_ = np.zeros(columns)
    program.col_lower_, program.col_upper_ = np.zeros(columns), np.full(columns, highspy.kHighsInf)
    program.row_lower_, program.row_upper_ = low, high.astype(float)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data.astype(float)
    program.integrality_ = [highspy.HighsVarType.kInteger] * columns
    highs.passModel(program)
    begun, open_ = time.process_time(), 0
    for cell in cells:
        for sign, end in ((1.0, known.low), (-1.0, known.high)):
            highs.changeColCost(cell, sign)
            highs.clearSolver()
            highs.setOptionValue("time_limit", highs.getRunTime() + LIMIT)
            highs.run()
            status = highs.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                value = round(sign * highs.getInfo().objective_function_value)
                if value != end[cell]:
                    raise SystemExit(f"the solver finds {value} for cell {cell}, and we {end[cell]}")
            elif not (end[cell] > far and "nbounded" in highs.modelStatusToString(status)):
                open_ += 1
            highs.changeColCost(cell, 0.0)
    return time.process_time() - begun, open_


def measured(name: str, size: int, *, compare: bool) -> dict[str, Any]:
    make, _, per = DESIGNS[name]
    with tempfile.TemporaryDirectory() as folder:
        spec = make(Path(folder), size)
        tables, read = cpu(lambda: read_publication(spec))
        known, took = cpu(lambda: intervals(tables.numbers))
    cells = size * per
    found = {
        "cells": cells,
        "numbers": int(tables.numbers.low.size),
        "read_seconds": read,
        "seconds": took,
        "determined": int((known.low == known.high).sum()),
        "exact": bool(known.exact.all()),
    }
    if compare:
        some = np.random.default_rng(0).choice(cells, min(SAMPLE, cells), replace=False).tolist()
        taken, open_ = plain(tables.numbers, known, some)
        every = taken / len(some) * cells
        found |= {"plain_seconds": every, "sampled": len(some), "plain_unsettled": open_}
        found["ratio_plain"] = every / took
    return found


def exponent(found: Sequence[dict[str, Any]]) -> float:
    """Return the slope of log time by log cells."""
    x = [math.log(one["cells"]) for one in found]
    y = [math.log(max(one["seconds"], 1e-4)) for one in found]
    return float(np.polyfit(x, y, 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="the two smallest sizes of each design")
    parser.add_argument("--only", choices=list(DESIGNS))
    asked = parser.parse_args()
    report: dict[str, Any] = {}
    for name, (_, sizes, _) in DESIGNS.items():
        if asked.only not in (None, name):
            continue
        some = sizes[:2] if asked.quick else sizes
        # the plain calls of the largest nested design alone would take days
        found = [
            measured(name, size, compare=size == (sizes[0] if name == "nested" else some[-1]))
            for size in some
        ]
        report[name] = {"sizes": found, "exponent": exponent(found)}
        if not asked.json:
            for one in found:
                ratio = f", ratio_plain {one['ratio_plain']:,.0f}" if "ratio_plain" in one else ""
                print(
                    f"{name}: {one['cells']:,} cells, {one['numbers']:,} numbers: {one['seconds']:.2f} s"
                    f" (reading {one['read_seconds']:.2f} s), {one['determined']:,} determined{ratio}"
                )
            print(f"{name}: exponent {report[name]['exponent']:.2f}")
    ratios = [one["ratio_plain"] for each in report.values() for one in each["sizes"] if "ratio_plain" in one]
    report["ratio_plain"] = min(ratios)
    if asked.json:
        print(json.dumps(report, indent=2))
    else:
        print(f"ratio_plain {report['ratio_plain']:,.0f}, the least of all designs")


if __name__ == "__main__":
    main()
