"""Top-down releases of all blocks of Rhode Island and of Cook County, and the same estimates by cvxpy.

    python benchmarks/topdown.py [--json] [--short] [--data FOLDER]

Each size has a process of its own, which does one phase after the other on one core: reading and preparing,
measuring, estimating with rounding, certificate, writing, verifying, and the best linear estimates with the
variances of all cells and totals of all nodes (``gls``). Then ``holdfast release`` runs as anybody runs it,
on all cores; its memory is that of all its processes together, looked at ten times a second.
``per_block_ratio`` is the CPU seconds of all phases for a block of Cook County by those for one of Rhode
Island.

Beside them stands, in the same run, what one would write instead: the weighted non-negative least squares of
each parent by cvxpy, on a sample of parents, with each solver at its own tolerances. Theirs are the CPU
seconds to state and solve a problem, ours those to solve it; neither have the rounding to whole counts in
them. ``ratio_cvxpy`` is theirs by ours, with the fastest solver whose objectives agree with ours to 1e-6,
``ratio_cvxpy_default`` the same with the solver that cvxpy takes by itself, and
``ratio_cvxpy_with_rounding`` has our rounding on our side.

Where a file is missing from the folder, invented blocks of the same number stand in for it.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast import Prepared, Release, SeededEntropy, prepare, verify
from holdfast.estimation.hierarchy.family import FamilySolver
from holdfast.estimation.hierarchy.level import Level, LevelQuery
from holdfast.estimation.hierarchy.run import one_thread
from holdfast.estimation.hierarchy.variances import variances
from holdfast.mechanisms.topdown.best_linear import best_linear
from holdfast.mechanisms.topdown.estimate import estimated
from holdfast.mechanisms.topdown.mechanism import TopDown

sys.path.insert(0, str(Path(__file__).parents[1]))  # studies/ is not installed
from studies.command import DATA
from studies.topdown import cook, rhode_island
from studies.topdown.blocks import COOK, MECHANISM, RHODE_ISLAND, SPEC, TOPDOWN, Blocks, Shape, invented

T = TypeVar("T")
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

PARTS: dict[str, Any] = {"rhode_island": rhode_island, "cook": cook}
SHAPES = {"rhode_island": RHODE_ISLAND, "cook": COOK}
TENTH = {"rhode_island": Shape(5, 24, 82, 2_518), "cook": Shape(1, 132, 399, 9_904)}
WARM = Shape(2, 4, 8, 40)
PHASES = ("prepare", "measure", "estimate", "certificate", "write", "verify")
"""What a release and its verification take; ``estimate`` has the rounding in it."""
SAMPLE = {"tract": 2, "block_group": 12, "block": 40}
"""Parents of the comparison, by the level of their children."""
SOLVERS = ("CLARABEL", "OSQP", "HIGHS")
AGREE = 1e-6
TURNS = 3
LOOK = 0.1
"""Seconds between two looks at the memory of a process and those that it started."""
UNIT = 1 if sys.platform == "darwin" else 1024
HOLDFAST = (sys.executable, "-m", "holdfast")


def source(name: str, folder: Path, *, short: bool) -> Blocks:
    """Return the blocks of a file, or invented ones."""
    if short:
        return invented(TENTH[name], "invented, a tenth as many")
    if (folder / PARTS[name].FILE).is_file():
        blocks: Blocks = PARTS[name].read(folder)
        return blocks
    tell(f"there is no {PARTS[name].FILE} in {folder}: invented blocks stand in for it")
    return invented(SHAPES[name], "invented, as many")


def write(blocks: Blocks, folder: Path) -> Path:
    """Write blocks and their spec to a folder."""
    blocks.frame.write_csv(folder / "blocks.csv")
    spec = folder / "blocks.toml"
    spec.write_text(SPEC + MECHANISM[TOPDOWN])
    return spec


def phases(spec: Path) -> dict[str, Any]:
    """Do one phase after the other, and return seconds by the clock and of the CPU, and the memory."""
    seconds: dict[str, float] = {}
    cpu: dict[str, float] = {}

    def timed(phase: str, work: Callable[[], T]) -> T:
        wall, used = time.perf_counter(), time.process_time()
        done = work()
        seconds[phase], cpu[phase] = time.perf_counter() - wall, time.process_time() - used
        return done

    with tempfile.TemporaryDirectory() as place:
        warm = write(invented(WARM), Path(place))
        _once(warm, Path(place) / "warm", lambda _phase, work: work())  # compiled before it is timed
        prepared, values = _once(spec, Path(place) / "release", timed)
    mechanism = topdown(prepared)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT

    def gls() -> None:
        estimates = best_linear(mechanism, values)
        width = mechanism.design.regions.width
        for level in mechanism.design.regions.levels:
            variances(estimates, level, np.vstack([np.eye(width), np.ones(width)]))

    timed("gls", gls)
    return {
        "blocks": mechanism.design.regions.sizes[-1],
        "nodes": sum(mechanism.design.regions.sizes),
        "seconds": {phase: round(took, 3) for phase, took in seconds.items()},
        "cpu_seconds": {phase: round(took, 3) for phase, took in cpu.items()},
        "peak_memory_gb": round(held / 1e9, 3),
    }


def _once(spec: Path, folder: Path, timed: Callable[[str, Callable[[], Any]], Any]) -> tuple[Prepared, Any]:
    prepared: Prepared = timed("prepare", lambda: prepare(spec))
    mechanism = topdown(prepared)
    values = timed("measure", lambda: mechanism.law(prepared.counts).measure(SeededEntropy(0)))
    outputs = timed("estimate", lambda: mechanism.outputs_of(prepared.public, values))
    certificate = timed("certificate", lambda: prepared.certify(secure=False))
    timed("write", lambda: Release(certificate, outputs).write(folder))
    assert timed("verify", lambda: verify(folder)).kept
    return prepared, values


def topdown(prepared: Prepared) -> TopDown:
    assert isinstance(prepared.mechanism, TopDown)
    return prepared.mechanism


class Family(NamedTuple):
    """A parent's counts and its children: their places on a level of which cells and totals were measured."""

    level: Level
    solver: FamilySolver
    parent: Counts
    own: slice

    @property
    def cells(self) -> Floats:
        """What was measured of the children's cells."""
        return self.level.answers[0][self.own].astype(np.float64)

    @property
    def totals(self) -> Floats:
        """What was measured of their totals."""
        return self.level.answers[1][self.own, 0].astype(np.float64)

    @property
    def weights(self) -> tuple[float, float]:
        """Of a cell, and of a total."""
        cells, totals = self.level.queries
        return cells.weight, totals.weight


def families(spec: Path) -> list[Family]:
    """Return some parents of a release, as they come up in it."""
    prepared = prepare(spec)
    mechanism = topdown(prepared)
    design, measurements = mechanism.design, mechanism.measurements
    regions = design.regions
    values = mechanism.law(prepared.counts).measure(SeededEntropy(0))
    counts = estimated(design, measurements, values)
    generator = np.random.default_rng(0)
    found = []
    for name, number in SAMPLE.items():
        place = regions.levels.index(name)
        here = [pair for pair in zip(measurements, values, strict=True) if pair[0].of.level == place]
        queries = [LevelQuery(design.queries[each.of.query].rows, 1 / each.variance) for each, _ in here]
        answers = [answers for _, answers in here]
        level = Level.of(name, regions.sizes[place], regions.width, queries=queries, answers=answers)
        solver, above = FamilySolver(level), counts[place - 1]
        ends = np.searchsorted(regions.spine.parent[place - 1], np.arange(len(above) + 1))
        found += [
            Family(level, solver, above[parent], slice(ends[parent], ends[parent + 1]))
            for parent in np.sort(generator.permutation(len(above))[:number]).tolist()
        ]
    return found


def against_cvxpy(spec: Path) -> dict[str, Any]:
    """Solve a sample of parents by us and by cvxpy, by turns, and compare seconds and objectives."""
    import cvxpy  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - an extra

    some = families(spec)
    solvers = [solver for solver in SOLVERS if solver in cvxpy.installed_solvers()]
    tell(f"{len(some)} parents by cvxpy with {', '.join(solvers)}")
    ways: dict[str, Callable[[Family], float]] = {
        "ours": ours,
        "ours_with_rounding": whole,
        "default": partial(theirs, cvxpy, None),
        **{solver.lower(): partial(theirs, cvxpy, solver) for solver in solvers},
    }
    clock = {who: np.full(len(some), np.inf) for who in ways}
    cpu = {who: np.full(len(some), np.inf) for who in ways}
    found = {who: np.empty(len(some)) for who in ways}
    with one_thread():
        for turn, (who, solve), (k, family) in product(range(TURNS + 1), ways.items(), enumerate(some)):
            started, used = time.perf_counter(), time.process_time()
            found[who][k] = solve(family)
            took, busy = time.perf_counter() - started, time.process_time() - used
            if turn:  # the first one compiles and imports
                clock[who][k], cpu[who][k] = min(clock[who][k], took), min(cpu[who][k], busy)
    off = {who: np.abs(each - found["ours"]) / np.maximum(1.0, found["ours"]) for who, each in found.items()}
    right = [solver.lower() for solver in solvers if (off[solver.lower()] <= AGREE).all()]
    fastest = min(right or ["default"], key=lambda who: cpu[who].sum())
    level = np.array([family.level.name for family in some])

    def ratio(
        their: str, our: str = "ours", seconds: dict[str, Floats] = cpu, rows: Any = slice(None)
    ) -> float:
        return round(float(seconds[their][rows].sum() / seconds[our][rows].sum()), 1)

    return {
        "version": cvxpy.__version__,
        "parents": len(some),
        "cells": sum(family.cells.size for family in some),
        "agreeing": right,
        "fastest": fastest,
        "ratio": ratio(fastest),
        "ratio_wall": ratio(fastest, seconds=clock),
        "ratio_with_rounding": ratio(fastest, "ours_with_rounding"),
        "ratio_default": ratio("default"),
        "ratio_by_level": {name: ratio(fastest, rows=level == name) for name in SAMPLE},
        "milliseconds_per_parent": {who: round(1000 * float(took.mean()), 3) for who, took in cpu.items()},
        "objective_off": {
            who: float(f"{np.nanmax(each):.2g}") if np.isfinite(each).any() else None
            for who, each in off.items()
            if who != "ours"
        },
        "failed": {who: int(np.isnan(each).sum()) for who, each in found.items()},
    }


def whole(family: Family) -> float:
    """Return the objective of our estimate, which is then rounded, as a release does it."""
    solved = family.solver.solve(family.level.part(family.own.start, family.own.stop), family.parent)
    assert solved is not None
    return solved.estimate.objective


def ours(family: Family) -> float:
    """Return the objective of our estimate."""
    own = family.level.part(family.own.start, family.own.stop)
    return family.solver.estimate(own, family.parent).objective


def theirs(cvxpy: Any, solver: str | None, family: Family) -> float:
    """Return the objective that cvxpy finds, stated as one reads it."""
    weight, total_weight = family.weights
    x = cvxpy.Variable(family.cells.shape, nonneg=True)
    objective = weight * cvxpy.sum_squares(x - family.cells)
    objective += total_weight * cvxpy.sum_squares(cvxpy.sum(x, axis=1) - family.totals)
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.sum(x, axis=0) == family.parent])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how far it is off is told with the objectives
            problem.solve(solver=solver)
    except cvxpy.error.SolverError:
        return float("nan")
    return float("nan") if problem.value is None else float(problem.value)


def run(told: str, command: list[str]) -> dict[str, Any]:
    """Return the seconds and the memory of a process and all that it starts."""
    with tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err)  # noqa: S603 - our own
        together, busy = 0, dict[int, float]()
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            alive = list(family_of(process.pid))
            together = max(together, sum(map(resident, alive)))
            busy |= {each: seconds for each in alive if (seconds := cpu_of(each))}
            time.sleep(LOOK)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        said = err.read().decode(errors="replace").strip().splitlines()
    found = {
        "outcome": "done" if process.returncode == 0 else f"failed: {said[-1] if said else 'it was ended'}",
        "seconds": round(wall, 2),
        "cpu_seconds": round(max(used.ru_utime + used.ru_stime, sum(busy.values())), 2),
        "peak_memory_gb": round(max(together, used.ru_maxrss * UNIT) / 1e9, 3),
    }
    tell(f"{told}: {_line(found)}")
    return found


def family_of(pid: int) -> Iterator[int]:
    """Yield a process and all below it, where the system tells them."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family_of(int(child))


def resident(pid: int) -> int:
    """Return the bytes that a process holds, those that it shares with others counted in parts."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("Pss:")).split()[1])
    return 0


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process until now, where they are told: nobody waits for workers."""
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def one_size(name: str, blocks: Blocks, *, cvxpy: bool) -> dict[str, Any]:
    """Return phases and the release of one size, and the comparison with cvxpy where it is asked for."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        spec = write(blocks, folder)
        found = {"data": blocks.name, **child("--phases", spec)}
        tell(f"{name}: " + ", ".join(f"{phase} {took:.2f} s" for phase, took in found["cpu_seconds"].items()))
        command = [*HOLDFAST, "release", str(spec), "--out", str(folder / "release")]
        found["release"] = run(f"{name}, holdfast release", command)
        found["verify"] = run(f"{name}, holdfast verify", [*HOLDFAST, "verify", str(folder / "release")])
        if cvxpy:
            found["cvxpy"] = child("--cvxpy", spec)
    return found


def child(step: str, spec: Path) -> dict[str, Any]:
    """Return what a step says that runs in a process of its own."""
    command = [sys.executable, __file__, step, str(spec)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def has_cvxpy() -> bool:
    return find_spec("cvxpy") is not None


def report_of(folder: Path, *, short: bool) -> dict[str, Any]:
    """Run it all."""
    if not has_cvxpy():
        tell("cvxpy is not installed, so nothing is compared with it: pip install cvxpy.")
    load = os.getloadavg()[0]
    sizes = {
        name: one_size(name, source(name, folder, short=short), cvxpy=name == "rhode_island" and has_cvxpy())
        for name in PARTS
    }
    report: dict[str, Any] = {
        "cores": os.cpu_count(),
        "load": round(load, 2),
        "data": {name: size["data"] for name, size in sizes.items()},
    }
    for name, size in sizes.items():
        report |= {
            f"{name}_blocks": size["blocks"],
            f"{name}_seconds": size["release"]["seconds"],
            f"{name}_cpu_seconds": size["release"]["cpu_seconds"],
            f"{name}_peak_memory_gb": size["release"]["peak_memory_gb"],
            f"{name}_microseconds_per_block": round(1e6 * _each(size), 1),
        }
    report |= {
        "per_block_ratio": round(max(b / a for a, b in pairwise(map(_each, sizes.values()))), 2),
        "gls_seconds": sizes["rhode_island"]["seconds"]["gls"],
        "gls_cpu_seconds": sizes["rhode_island"]["cpu_seconds"]["gls"],
    }
    theirs = sizes["rhode_island"].pop("cvxpy", None)
    report |= {
        "ratio_cvxpy": None if theirs is None else theirs["ratio"],
        "ratio_cvxpy_wall": None if theirs is None else theirs["ratio_wall"],
        "ratio_cvxpy_default": None if theirs is None else theirs["ratio_default"],
        "ratio_cvxpy_with_rounding": None if theirs is None else theirs["ratio_with_rounding"],
        "cvxpy": theirs,
    }
    return {**report, "sizes": sizes}


def _each(size: dict[str, Any]) -> float:
    """Return the CPU seconds of all phases for one block."""
    return float(sum(size["cpu_seconds"][phase] for phase in PHASES) / size["blocks"])


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--short", action="store_true", help="a tenth as many invented blocks, for a quick look"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the files of blocks")
    parser.add_argument("--phases", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--cvxpy", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phases is not None:
        print(json.dumps(phases(options.phases)))
        return
    if options.cvxpy is not None:
        print(json.dumps(against_cvxpy(options.cvxpy)))
        return
    report = report_of(options.data, short=options.short)
    if options.json:
        print(json.dumps(report, indent=2))
        return
    _print(report)


def _print(report: dict[str, Any]) -> None:
    sizes = report["sizes"]
    print(f"{'seconds of the CPU, on one core':<34}" + "".join(f"{name:>16}" for name in sizes))
    for phase in (*PHASES, "gls"):
        told = "estimate and round" if phase == "estimate" else phase
        print(f"  {told:<32}" + "".join(f"{size['cpu_seconds'][phase]:>16.2f}" for size in sizes.values()))
    for what, form in (("blocks", ",d"), ("peak_memory_gb", ".2f")):
        print(
            f"  {what.replace('_', ' '):<32}" + "".join(f"{size[what]:>16{form}}" for size in sizes.values())
        )
    each = [report[f"{name}_microseconds_per_block"] for name in sizes]
    print(f"  {'microseconds for a block':<32}" + "".join(f"{took:>16.0f}" for took in each))
    print(f"for a block of cook as much as for {report['per_block_ratio']} of rhode_island")
    for name, size in sizes.items():
        print(f"{name} ({size['data']}): release {_line(size['release'])}; verify {_line(size['verify'])}")
    if (theirs := report["cvxpy"]) is not None:
        ms = theirs["milliseconds_per_parent"]
        print(f"{theirs['parents']} parents, milliseconds of the CPU each; cvxpy {theirs['version']}")
        for who, took in ms.items():
            off = theirs["objective_off"].get(who)
            told = "" if off is None else f"   objective off by {off:.0e}"
            print(f"  {who.replace('_', ' '):<32}{took:>16.3f}{told}")
        print(
            f"cvxpy with {theirs['fastest']} takes {theirs['ratio']} times as long as ours,"
            f" {theirs['ratio_with_rounding']} times as long as ours with rounding; by itself"
            f" {theirs['ratio_default']} times"
        )


def tell(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _line(row: dict[str, Any]) -> str:
    if row["outcome"] != "done":
        return str(row["outcome"])
    return f"{row['seconds']:.1f} s (CPU {row['cpu_seconds']:.1f}), {row['peak_memory_gb']:.2f} GB"


if __name__ == "__main__":
    main()
