"""Every command on tables of a thousand to a million cells, and margins that cross in the large.

    python benchmarks/scale.py [--json] [--short] [--timeout SECONDS] [--real FOLDER]

Each command is a process of its own: its CPU seconds and its peak memory are those that the system reports.
With one margin kept, ``exponent`` is how the seconds above those of the smallest table grow from the largest
table but one to the largest, and ``exponent_fitted`` that over all sizes. The crossing designs are stand-ins
of the shapes of real tables; with ``--real`` those of a folder are taken, as NAME.csv with the columns of the
design. What a command refuses, or does not end in time, is told as such.

Beside them stand, in the same run, what one could do instead: independent noise that keeps nothing, written
by polars, and the projection by a general solver.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, kron, vstack

from holdfast.estimation.conforming import Conforming
from holdfast.estimation.l2 import real_l2

HOLDFAST = (sys.executable, "-c", "from holdfast.cli import main; main()")
SPEC = """\
[data]
path = "table.csv"
cells = [{cells}]
count = "people"
[privacy]
unit = "record"
adjacency = "semi"
{privacy}
{invariants}
[mechanism]
name = "{mechanism}"
{options}
"""
PURE, ZCDP = 'standard = "pure"\nepsilon = "1"', 'standard = "zcdp"\nrho = "1/2"'
CROSSING = {
    # rows, levels of the two other attributes, mean count
    "california 58 x 46": ("county", 58, ("sex", 2), ("age", 23), 5000),
    "kentucky 120 x 46": ("county", 120, ("sex", 2), ("age", 23), 800),
    "blocks 25,016 x 16": ("block", 25_016, ("race", 8), ("voting", 2), 3),
}
MECHANISMS = {
    "Gaussian": ("lattice-gaussian", ZCDP, ""),
    "l2": ("lattice-laplace", PURE, 'norm = "l2"'),
}
NAIVE = """\
import sys
import numpy as np
import polars as pl
table = pl.read_csv(sys.argv[1])
p = 1 - np.exp(-0.25)
generator = np.random.default_rng()
noise = generator.geometric(p, len(table)) - generator.geometric(p, len(table))
table.with_columns(people=pl.col("people") + pl.Series(noise)).write_csv(sys.argv[2])
"""


def run(command: list[str], timeout: float) -> dict[str, Any]:
    """Return the CPU seconds, megabytes and outcome of a process."""
    with tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err)  # noqa: S603 - our own
        late = threading.Timer(timeout, process.kill)
        late.start()
        started = time.perf_counter()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        late.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        said = err.read().decode(errors="replace").strip().splitlines()
    code = process.returncode
    outcome = "done" if code == 0 else "timeout" if wall >= timeout else "refused" if code == 2 else "failed"
    found: dict[str, Any] = {
        "outcome": outcome,
        "seconds": round(used.ru_utime + used.ru_stime, 2),
        "wall": round(wall, 2),
        "megabytes": round(used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)),
    }
    print(*command[len(HOLDFAST) :], _told(found), file=sys.stderr, flush=True)
    return found if code == 0 else {**found, "said": said[-1][:300] if said else ""}


def holdfast(*words: object) -> list[str]:
    return [*HOLDFAST, *map(str, words)]


def one_margin(cells: int, folder: Path) -> Path:
    """Write a table of counties by ages, the counties kept, and its spec."""
    rows = math.isqrt(cells)
    columns = cells // rows
    counts = np.random.default_rng(1).poisson(20, rows * columns)
    frame = {
        "county": np.repeat([f"c{i:05}" for i in range(rows)], columns),
        "age": np.tile([f"a{i:05}" for i in range(columns)], rows),
        "people": counts,
    }
    pl.DataFrame(frame).write_csv(folder / "table.csv")
    spec = folder / "spec.toml"
    kept = '[[invariants]]\nmargin = ["county"]'
    names = '"county", "age"'
    spec.write_text(
        SPEC.format(cells=names, privacy=PURE, invariants=kept, mechanism="lattice-laplace", options="")
    )
    return spec


def commands(spec: Path, folder: Path) -> dict[str, list[str]]:
    """Return every command, in an order in which each finds what it needs."""
    release = folder / "release"
    return {
        "audit universe": holdfast("audit", "universe", spec),
        "plan": holdfast("plan", spec),
        "release": holdfast("release", spec, "--out", release),
        "verify": holdfast("verify", release),
        "verify --quick": holdfast("verify", release, "--quick"),
        "intervals": holdfast("intervals", release, "--json"),
        "intervals --margin": holdfast("intervals", release, "--margin", "county", "--json"),
        "compare": holdfast("compare", spec),
        **{
            f"postprocess {name}": holdfast(
                "postprocess", release, "--method", name, "--out", folder / f"processed-{name}"
            )
            for name in ("nonnegative-l2", "integers-l1", "rounded-l2")
        },
        "verify processed": holdfast("verify", folder / "processed-rounded-l2"),
    }


def growth(sizes: list[int], seconds: list[float]) -> dict[str, float | None]:
    """Return the exponents of growth of the seconds above those of the smallest table."""
    above = [(n, s - seconds[0]) for n, s in zip(sizes, seconds, strict=True) if s - seconds[0] > 0.05]
    if len(above) < 2:
        return {"exponent": None, "exponent_fitted": None}
    (n, s), (m, t) = above[-2:]
    x, y = np.log([n for n, _ in above]), np.log([s for _, s in above])
    return {
        "exponent": round(math.log(t / s) / math.log(m / n), 2),
        "exponent_fitted": round(float(np.polyfit(x, y, 1)[0]), 2),
    }


def scale(sizes: list[int], timeout: float) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for cells in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            spec = one_margin(cells, folder)
            for name, command in commands(spec, folder).items():
                found.setdefault(name, {})[str(cells)] = run(command, timeout)
            naive = [sys.executable, "-c", NAIVE, str(folder / "table.csv"), str(folder / "naive.csv")]
            other = run(naive, timeout)
            release = found["release"][str(cells)]
            ratio = round(release["seconds"] / max(other["seconds"], 0.01), 1)
            found.setdefault("instead: independent noise", {})[str(cells)] = {**other, "release_times": ratio}
    for rows in found.values():
        done = [(int(cells), row["seconds"]) for cells, row in rows.items() if row["outcome"] == "done"]
        if len(done) > 2:
            rows.update(growth([n for n, _ in done], [s for _, s in done]))
    return found


def crossing(names: list[str], real: Path | None, timeout: float) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for name in names:
        place, rows, (first, a), (second, b), mean = CROSSING[name]
        with tempfile.TemporaryDirectory() as at:
            folder = Path(at)
            given = None if real is None else real / f"{name.split()[0]}.csv"
            if given is not None and given.exists():
                (folder / "table.csv").symlink_to(given.resolve())
            else:
                counts = np.random.default_rng(2).poisson(mean, rows * a * b)
                frame = {
                    place: np.repeat([f"p{i:05}" for i in range(rows)], a * b),
                    first: np.tile(np.repeat([f"f{i}" for i in range(a)], b), rows),
                    second: np.tile([f"s{i:02}" for i in range(b)], rows * a),
                    "people": counts,
                }
                pl.DataFrame(frame).write_csv(folder / "table.csv")
            for law, (mechanism, privacy, options) in MECHANISMS.items():
                spec, release = folder / f"{law}.toml", folder / f"release-{law}"
                kept = (
                    f'[[invariants]]\nmargin = ["{place}"]\n[[invariants]]\nmargin = ["{first}", "{second}"]'
                )
                spec.write_text(
                    SPEC.format(
                        cells=f'"{place}", "{first}", "{second}"',
                        privacy=privacy,
                        invariants=kept,
                        mechanism=mechanism,
                        options=options,
                    )
                )
                own = report.setdefault(name, {})[law] = {
                    "plan": run(holdfast("plan", spec), timeout),
                    "release": run(holdfast("release", spec, "--out", release), timeout),
                }
                if own["release"]["outcome"] != "done":
                    continue
                own["verify"] = run(holdfast("verify", release), timeout)
                own["intervals"] = run(holdfast("intervals", release, "--json"), timeout)
                asked = ("--method", "rounded-l2", "--out", folder / f"processed-{law}")
                own["postprocess"] = run(holdfast("postprocess", release, *asked), timeout)
    return report


def by_highs(target: NDArray[np.float64], block: Conforming) -> NDArray[np.float64]:
    """Return the nearest point of a block as the quadratic solver of HiGHS finds it."""
    program, squares = highspy.HighsLp(), highspy.HighsHessian()
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    program.num_row_, program.num_col_ = block.rows.shape
    program.col_cost_ = -target
    program.col_lower_, program.col_upper_ = (end.astype(np.float64) for end in (block.least, block.most))
    program.row_lower_, program.row_upper_ = (end.astype(np.float64) for end in (block.low, block.high))
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_, program.a_matrix_.index_ = block.rows.indptr, block.rows.indices
    program.a_matrix_.value_ = block.rows.data
    squares.dim_, squares.format_ = target.size, highspy.HessianFormat.kTriangular
    squares.start_, squares.index_ = np.arange(target.size + 1), np.arange(target.size)
    squares.value_ = np.ones(target.size)
    highs.passModel(program)
    highs.passHessian(squares)
    highs.run()
    return np.array(highs.getSolution().col_value)


def projections(shapes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Time one projection in l2 here and by HiGHS, both margins kept, by turns in one process."""
    found = []
    for rows, columns in shapes:
        by_row = kron(eye_array(rows, dtype=np.int64), np.ones((1, columns), dtype=np.int64))
        by_column = kron(np.ones((1, rows), dtype=np.int64), eye_array(columns, dtype=np.int64)).tocsr()[:-1]
        matrix = csr_array(vstack([by_row, by_column], format="csr"))
        generator = np.random.default_rng(0)
        table = generator.poisson(3, rows * columns)
        target = (table + generator.integers(-5, 6, table.size)).astype(np.float64)
        conforming = Conforming.of(matrix, np.asarray(matrix @ table))
        real_l2(target, conforming)  # what it needs is loaded before it is timed
        started = time.process_time()
        here = real_l2(target, conforming)
        own = time.process_time() - started
        ((_, block),) = conforming.blocks()
        started = time.process_time()
        there = by_highs(target, block)
        general = time.process_time() - started
        found.append(
            {
                "shape": f"{rows} x {columns}",
                "seconds": round(own, 4),
                "general_seconds": round(general, 4),
                "ratio": round(general / max(own, 1e-4), 1),
                "apart": float(np.abs(here - there).max()),
            }
        )
    return found


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--short", action="store_true", help="small sizes only, for a quick look")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for each command")
    parser.add_argument("--real", type=Path, help="a folder of real tables for the crossing designs")
    options = parser.parse_args()
    sizes = [1000, 10_000] if options.short else [1000, 10_000, 100_000, 1_000_000]
    report: dict[str, Any] = {
        "cores": os.cpu_count(),
        "one_margin": scale(sizes, options.timeout),
        "crossing": crossing(list(CROSSING)[: 1 if options.short else None], options.real, options.timeout),
        "projection": projections([(8, 10)] if options.short else [(8, 10), (20, 20), (30, 30)]),
        "own_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
    }
    if options.json:
        print(json.dumps(report, indent=2))
        return
    print(f"{'one margin':<30}" + "".join(f"{size:>22,}" for size in sizes) + f"{'exponent':>10}")
    for name, rows in report["one_margin"].items():
        line = "".join(f"{_told(rows[str(size)]):>22}" for size in sizes)
        print(f"{name:<30}{line}{rows.get('exponent') or '':>10}")
    for name, laws in report["crossing"].items():
        for law, rows in laws.items():
            print(f"{name}, {law}: " + "; ".join(f"{word} {_told(row)}" for word, row in rows.items()))
    for row in report["projection"]:
        print(f"projection, {row['shape']}: {row['seconds']} s, a general solver {row['general_seconds']} s")


def _told(row: dict[str, Any]) -> str:
    done = row["outcome"] == "done"
    return (
        f"{row['seconds']:.1f} s {row['megabytes']:,} MB"
        if done
        else f"{row['outcome']} {row['seconds']:.0f} s"
    )


if __name__ == "__main__":
    main()
