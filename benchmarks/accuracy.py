"""How near noise in the shape of a workload comes to the least error, and what it costs to draw.

    pip install 'holdfast-dp[bench]'
    python benchmarks/accuracy.py [--json] [--short] [--data FOLDER] [--only PART]

All at one guarantee, rho-zCDP for one record. ``optimum``: workloads of whole margins, the sum of
variances as drawn by the lower bound that no weights beat. ``ratio_isotropic``: 58 x 2 x 23 with counties
kept, variance of noise alike in all cells by that of weights for all margins, each as important as noise
alike makes it bad. ``topdown``: blocks of Rhode Island (or invented ones where the file is missing), the
mean squared error of weighted noise in the shape of the same measurements by that of best linear
estimates from them, and the mean error in empty cells of both tables. ``others``: error by count beside
what others release at the same guarantee (rivals.py), none of which keeps the counties.
``solver``: 30 random workloads, our weights by those of cvxpy, which knows nothing of how they are found; and
all margins without invariants by the closed form of ResidualPlanner.
``speed``: weighted draws by plain ones, and seconds to plan six attributes with all margins up to three.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rivals import others, solver
from whole_margins import RHO, WORKLOADS, asked_of, form_of, law_of, spaces_of

from holdfast import SeededEntropy, SystemEntropy, prepare
from holdfast.estimation.hierarchy.variances import variances
from holdfast.lattice.count_variances import count_variances
from holdfast.mechanisms.topdown.best_linear import best_linear
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.mechanisms.weights.optimum import least_variance

sys.path.insert(0, str(Path(__file__).parents[1]))  # studies/ is not installed
from studies.command import DATA
from studies.topdown import rhode_island
from studies.topdown.blocks import MECHANISM, SPEC, TOPDOWN, invented
from studies.topdown.blocks import RHODE_ISLAND as SHAPE

DRAWS, AT_ONCE = 96, 8
PARTS = ("optimum", "ratio_isotropic", "topdown", "solver", "others", "speed")


def optimum(draws: int) -> dict[str, Any]:
    found = {}
    for name, (shape, kept, most) in WORKLOADS.items():
        spaces = spaces_of(shape, kept)
        wanted = asked_of(spaces, most)
        sums = np.array([spaces.sums(each) for each in wanted])
        program = spaces.program(sums)
        started = perf_counter()
        best = least_variance(program, sums, np.ones(len(sums)))
        took = perf_counter() - started
        noise = law_of(form_of(spaces, best.weights), spaces, 1 / RHO).sample(SeededEntropy(1), draws)
        rows = [spaces.margins.rows(each) for each in wanted]
        drawn = sum(float((np.asarray(each @ noise.T) ** 2).mean()) for each in rows)
        found[name] = {
            "margins": len(wanted),
            "seconds": round(took, 4),
            "gap": float(f"{max(best.gap, 0):.1g}"),
            "ratio": round(drawn * float(RHO) / best.bound, 4),
        }
    return found


def isotropic(draws: int) -> dict[str, Any]:
    spaces = spaces_of((58, 2, 23), [(1, 0, 0)])
    wanted = asked_of(spaces, 3)
    sums = np.array([spaces.sums(each) for each in wanted])
    program = spaces.program(sums)
    alike = np.full(len(spaces.readings), 1 / float(program.moves.sum(axis=1).max()))
    even = sums @ program.variances.at(alike)[0]
    best = least_variance(program, sums, 1 / even)
    noise = law_of(form_of(spaces, best.weights), spaces, 1 / RHO).sample(SeededEntropy(2), draws)
    names = ("county", "sex", "age")
    found = {}
    for reading, planned, before in zip(
        wanted, sums @ program.variances.at(best.weights)[0], even, strict=True
    ):
        drawn = float((np.asarray(spaces.margins.rows(reading) @ noise.T) ** 2).mean()) * float(RHO)
        name = " x ".join(name for name, read in zip(names, reading, strict=True) if read)
        found[name] = {
            "planned": round(float(before / planned), 3),
            "drawn": round(float(before) / drawn, 3),
        }
    return found


def topdown(folder: Path, *, short: bool) -> dict[str, Any]:
    there = (folder / rhode_island.FILE).is_file() and not short
    source = rhode_island.read(folder) if there else rhode_island.invented() if short else invented(SHAPE)
    with tempfile.TemporaryDirectory() as place:
        source.frame.write_csv(Path(place) / "blocks.csv")
        spec = Path(place) / "blocks.toml"
        spec.write_text(SPEC + MECHANISM[TOPDOWN])
        prepared = prepare(spec)
        mechanism = prepared.mechanism
        assert isinstance(mechanism, TopDown)
        design = mechanism.design
        queries = ""
        for each, share in zip(design.measured, mechanism.allocation.shares(design), strict=True):
            level, marginal = design.regions.levels[each.level], design.queries[each.query].marginal
            queries += f'\n[[mechanism.queries]]\nlevel = "{level}"\n'
            queries += f"marginal = {json.dumps(list(marginal))}\n"
            queries += f'weight = "{share}"\n'
        spec.write_text(SPEC + '[mechanism]\nname = "lattice-gaussian"\n' + queries)
        weighted = prepare(spec)
    values = mechanism.law(prepared.counts).measure(SeededEntropy(3))
    estimates = best_linear(mechanism, values)
    table = np.asarray(mechanism.outputs_of(prepared.public, values)["table"].table.counts)
    law: Any = weighted.table.mechanism
    margins = law.form.margins
    sigma_squared = float(law.parameters["sigma_squared"])
    width = design.regions.width
    found: dict[str, Any] = {"blocks": source.name, "ratio": {}}
    asked = (
        ("tract", np.eye(width), (1, 1)),
        ("county", np.eye(width), (1, 1)),
        ("tract", np.tile([0.0, 1.0], width // 2)[None], (0, 1)),
    )
    entropy, squares = SeededEntropy(4), np.zeros(len(asked))
    for _ in range(1 if short else DRAWS // AT_ONCE):
        for noise in law.noise.sample(entropy, AT_ONCE):
            sums = dict(zip(design.regions.levels, design.regions.sums(noise), strict=True))
            squares += [((sums[level] @ cells.T) ** 2).mean() for level, cells, _ in asked]
    made = AT_ONCE if short else DRAWS
    for (level, cells, reads), square in zip(asked, squares, strict=True):
        place_of = design.regions.levels.index(level)
        linear = float(variances(estimates, level, cells).mean())
        tree = margins.trees[0]
        sizes = [1, *(int(part.max()) + 1 for part in margins.axes[tree].parts)]
        read = [0] * len(margins.axes)
        read[tree] = sizes.index(design.regions.sizes[place_of])
        others = [at for at in range(len(margins.axes)) if at != tree]
        for at, one in zip(others, reads, strict=True):
            read[at] = one
        planned = float(count_variances(margins, tuple(read), [None] * len(read)).mean()) * sigma_squared
        drawn = float(square) / made
        name = f"{level}, {'voting age' if len(cells) == 1 else 'cells'}"
        found["ratio"][name] = {"planned": round(planned / linear, 4), "drawn": round(drawn / linear, 3)}
    empty = prepared.counts == 0
    found["draws"] = made
    found["mean_error_of_empty_cells"] = {
        "topdown": round(float((table - prepared.counts)[empty].mean()), 4),
        "weighted": round(float(noise[empty].mean()), 4),
        "off_by_chance": round(float(noise[empty].std() / empty.sum() ** 0.5), 4),
    }
    return found


def speed(*, short: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, shape, kept, draws in (
        ("58 x 46, both margins kept", (58, 46), [(1, 0), (0, 1)], 200),
        ("25,181 x 16, both margins kept", (2_518 if short else 25_181, 16), [(1, 0), (0, 1)], 2),
        ("25,181 x 16, first kept", (2_518 if short else 25_181, 16), [(1, 0)], 2),
    ):
        spaces = spaces_of(shape, kept)
        sums = np.array([spaces.sums(each) for each in asked_of(spaces, 2)])
        best = least_variance(spaces.program(sums), sums, np.ones(len(sums)))
        laws = law_of(None, spaces, Fraction(20)), law_of(form_of(spaces, best.weights), spaces, Fraction(20))
        plain, weighted = (seconds(partial(law.sample, SystemEntropy(), draws)) for law in laws)
        found[name] = {"weighted_by_plain": round(plain / weighted, 3), "seconds": round(weighted, 3)}
    spaces = spaces_of((2, 3, 4, 5, 6, 7), [])
    sums = np.array([spaces.sums(each) for each in asked_of(spaces, 3)])
    found["plan of six attributes"] = {
        "margins": len(sums),
        "seconds": round(seconds(lambda: least_variance(spaces.program(sums), sums, np.ones(len(sums)))), 4),
    }
    return found


def seconds(work: Callable[[], object], turns: int = 7) -> float:
    """Return the least time of the processor: a machine that is busy with others takes none of it."""
    work()
    best = np.inf
    for _ in range(turns):
        started = process_time()
        work()
        best = min(best, process_time() - started)
    return float(best)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--short", action="store_true", help="fewer draws, invented blocks")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the file of blocks")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part of it, or several")
    options = parser.parse_args()
    draws = 2_000 if options.short else 20_000
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "optimum": lambda: optimum(draws),
        "ratio_isotropic": lambda: isotropic(draws // 50),
        "topdown": lambda: topdown(options.data, short=options.short),
        "solver": lambda: solver(6 if options.short else 30),
        "others": lambda: others(draws // 100),
        "speed": lambda: speed(short=options.short),
    }
    results = {}
    for name in options.only or PARTS:
        part = parts[name]
        print(f"{name} ...", file=sys.stderr)
        results[name] = part()
        if not options.json:
            print(json.dumps({name: results[name]}, indent=2), flush=True)
    if options.json:
        print(json.dumps(results, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
