"""What others do beside weighted noise, each where it is installed: OpenDP, mbi, ResidualPlanner and cvxpy.

None of them is asked for more than it offers: OpenDP and mbi keep no invariants, so their counties are noisy.
"""

import warnings
from fractions import Fraction
from importlib.util import find_spec
from itertools import chain, product
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from whole_margins import Floats, asked_of, form_of, law_of, spaces_of

from holdfast.lattice.forms import Form
from holdfast.lattice.margins import LevelledAxis, MarginStrategy, Reading
from holdfast.lattice.trees import LevelTree
from holdfast.mechanisms.weights.optimum import WeightProgram, least_budget, least_variance
from holdfast.mechanisms.weights.spaces import Spaces
from holdfast.sampling.entropy import SeededEntropy

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPE, NAMES = (58, 2, 23), ("county", "sex", "age")
RHO = Fraction(1, 2)
FEW = 5
"""Draws of what takes seconds each."""


def others(draws: int) -> dict[str, Any]:
    """Root mean squared error by count, 58 x 2 x 23 at rho 1/2 for one record that changes.

    A record that changes moves two cells by one: OpenDP is asked for half of rho, for one that comes or goes.
    """
    spaces = spaces_of(SHAPE, [(1, 0, 0)])
    wanted = asked_of(spaces, 3)
    sums = np.array([spaces.sums(each) for each in wanted])
    program = spaces.program(sums)
    alike = np.full(len(spaces.readings), 1 / float(program.moves.sum(axis=1).max()))
    best = least_variance(program, sums, 1 / (sums @ program.variances.at(alike)[0]))
    margins = MarginStrategy(
        spaces.margins.axes, spaces.margins.kept, tuple((r, Fraction(1)) for r in wanted)
    )
    equal = Form.of(margins)  # a record that changes moves two counts of each
    noises: dict[str, Callable[[], Floats]] = {
        "weighted": lambda: law_of(form_of(spaces, best.weights), spaces, 1 / (2 * RHO)).sample(
            SeededEntropy(5), draws
        ),
        "weighted, equal shares": lambda: law_of(equal, spaces, len(wanted) / RHO).sample(
            SeededEntropy(5), draws
        ),
        "lattice-gaussian": lambda: law_of(None, spaces, 1 / RHO).sample(SeededEntropy(5), draws),
        "real noise in cells": lambda: np.random.default_rng(6).normal(
            0, float(1 / RHO) ** 0.5, (draws, prod(SHAPE))
        ),
    }
    if find_spec("opendp"):
        noises["OpenDP, cells"] = lambda: opendp_cells(FEW)
    if find_spec("mbi"):
        noises["mbi, equal shares"] = lambda: mbi_estimates(FEW)
    found: dict[str, Any] = {}
    rows = {reading: spaces.margins.rows(reading) for reading in [(1, 0, 0), *wanted]}
    for way, draw in noises.items():
        started = perf_counter()
        try:
            noise = draw()
        except Exception as error:  # another project's: OpenDP, say, takes one version of Polars alone
            found[way] = {"failed": " ".join(str(error).split())[:200]}
            continue
        errors = {name_of(reading): np.asarray(each @ noise.T) for reading, each in rows.items()}
        kept = not errors["county"].any()
        found[way] = {
            "keeps": ["counties"] if kept else [],
            "whole": bool((noise == np.rint(noise)).all()),
            "draws": len(noise),
            "seconds_a_draw": round((perf_counter() - started) / len(noise), 4),
            "error": {name: round(float((each**2).mean()) ** 0.5, 2) for name, each in errors.items()},
        }
    return found


def name_of(reading: Reading) -> str:
    return " x ".join(name for name, read in zip(NAMES, reading, strict=True) if read)


def opendp_cells(draws: int) -> Floats:
    """Return the errors of all cells in counts that the Polars context of OpenDP releases."""
    import opendp.prelude as dp  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - an extra
    import polars as pl  # noqa: PLC0415

    dp.enable_features("contrib")
    codes = np.array(list(product(*map(range, SHAPE))))
    keys = pl.DataFrame(codes, schema=dict.fromkeys(NAMES, pl.Int64), orient="row")
    counts = invented()
    people = keys.select(pl.all().repeat_by(pl.Series(counts))).explode(pl.all())
    found = []
    for _ in range(draws):
        context = dp.Context.compositor(
            data=people.lazy(),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=float(RHO) / 2),
            split_evenly_over=1,
        )
        asked = context.query().group_by(*NAMES).agg(dp.len(signed=True)).with_keys(keys.lazy())
        released = asked.release().collect().sort(*NAMES)["len"].to_numpy()
        found.append(released.astype(np.int64) - counts)
    return np.array(found)


def mbi_estimates(draws: int) -> Floats:
    """Return the errors of a table that mbi estimates from noisy margins of equal shares, its total known."""
    warnings.filterwarnings("ignore", module="mbi")
    import mbi  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - an extra

    spaces, counts = spaces_of(SHAPE, []), invented()
    measured = [reading for reading in asked_of(spaces, 3) if any(reading)]
    width = (len(measured) / float(RHO)) ** 0.5  # two counts of each margin move by one
    generator, found = np.random.default_rng(7), []
    for _ in range(draws):
        noisy = []
        for reading in measured:
            values = spaces.margins.rows(reading) @ counts
            clique = tuple(name for name, read in zip(NAMES, reading, strict=True) if read)
            noisy.append(mbi.LinearMeasurement(generator.normal(values, width), clique, width))
        domain = mbi.Domain(NAMES, SHAPE)
        model = mbi.estimation.MirrorDescent().estimate(
            domain, noisy, known_total=int(counts.sum()), iters=2_000
        )
        found.append(np.asarray(model.project(NAMES).datavector()) - counts)
    return np.array(found)


def invented() -> Floats:
    """Return counts of 40 people a cell on the mean, some cells of a few and some of hundreds."""
    generator = np.random.default_rng(8)
    sizes = (generator.lognormal(0, 0.8, size) for size in SHAPE)
    county, sex, age = (each / each.mean() for each in sizes)
    return generator.poisson(40 * np.einsum("c,s,a->csa", county, sex, age)).ravel()


def solver(number: int) -> dict[str, Any]:
    """Our weights by those of cvxpy on random workloads, and by the closed form that ResidualPlanner has."""
    found: dict[str, Any] = {"residual_planner": residual_planner()}
    if not find_spec("cvxpy"):
        return found
    variances, budgets, ours, theirs = [], [], 0.0, 0.0
    for seed in range(number):
        program, sums, rng = workload(seed)
        shares = rng.uniform(0.1, 3, len(sums))
        most = sums @ program.variances.at(program.start)[0] * rng.uniform(0.1, 1, len(sums))
        started = perf_counter()
        least, budget = least_variance(program, sums, shares), least_budget(program, sums, most)
        ours += perf_counter() - started
        started = perf_counter()
        variances.append(least.value / by_cvxpy(program, (shares @ sums)[None]))
        budgets.append(budget.value / by_cvxpy(program, sums / most[:, None]))
        theirs += perf_counter() - started
    for name, ratios in (("variance", variances), ("budget", budgets)):
        found[name] = {"least": round(min(ratios), 7), "most": round(max(ratios), 7)}
    return {**found, "workloads": number, "times_as_fast": round(theirs / ours, 1)}


def workload(seed: int) -> tuple[WeightProgram, Floats, np.random.Generator]:
    """Return the program of a random table, some with a geography of unequal nodes, and margins asked for."""
    rng = np.random.default_rng(seed)
    axes = [LevelledAxis.of(int(d), []) for d in rng.choice([2, 3, 5, 58], 2 + seed % 2)]
    if seed % 4 == 1:
        county = np.repeat(np.arange(6), rng.integers(1, 4, 6))
        axes[-1] = LevelledAxis.of(county.size, [county, county // 3])
    known = tuple(axis for axis in axes if axis is not None)
    every = list(product(*(range(axis.depth + 1) for axis in known)))
    kept = [every[int(rng.integers(len(every) - 1))]] if seed % 3 else []
    spaces = Spaces.of(MarginStrategy(known, tuple(kept), ()))
    able = [each for each in every if not spaces.margins.is_kept(each)]
    wanted = [each for each in able if rng.random() < 0.5] or able[-1:]
    sums = np.array([spaces.sums(each) for each in wanted])
    return spaces.program(sums), sums, rng


def by_cvxpy(program: WeightProgram, rows: Floats) -> float:
    """Return the least of the largest row by a conic solver, variances of a tree by its matrices."""
    import cvxpy as cp  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415 - an extra

    scale = program.start  # weights differ by orders of magnitude
    x = cp.Variable(scale.size, pos=True)
    k = cp.multiply(scale, x)
    variances: dict[int, Any] = {}
    tree = program.variances.tree  # type: ignore[attr-defined]
    if tree is None:
        variances = {s: cp.inv_pos(x[s]) / scale[s] for s in range(scale.size)}
    else:
        for place in chain(*program.variances.places):  # type: ignore[attr-defined]
            variances |= of_tree(tree, k, place.tolist())
    top = cp.Variable()
    size = float((rows @ program.variances.at(program.start)[0]).max())
    limits = [sum(float(row[s]) / size * variances[s] for s in np.flatnonzero(row)) <= top for row in rows]
    problem = cp.Problem(cp.Minimize(top), [*limits, program.moves @ k <= 1, k >= program.floors])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value) * size


def of_tree(tree: LevelTree, k: Any, place: list[int]) -> dict[int, Any]:
    """Return the mean variance of a node's sum on each level that is not kept, as a function of weights."""
    import cvxpy as cp  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415 - an extra

    leaves = tree.order.size
    levels = range(len(tree.starts) - len(place), len(tree.starts))
    nodes = {}
    for level in range(len(tree.starts)):
        ends = np.append(tree.starts[level][1:], leaves)
        nodes[level] = np.array(
            [[a <= i < b for i in range(leaves)] for a, b in zip(tree.starts[level], ends, strict=True)]
        )
    kept = nodes[levels[0] - 1].astype(float) if levels[0] else np.zeros((0, leaves))
    basis = np.linalg.svd(kept)[2][len(kept) :].T  # what is left where sums of a level are kept
    form = sum(
        k[s] * (seen.T @ seen)
        for s, level in zip(place, levels, strict=True)
        for seen in [nodes[level] @ basis]
    )
    found = {}
    for s, level in zip(place, levels, strict=True):
        each = nodes[level] @ basis
        found[s] = sum(cp.matrix_frac(row, form) for row in each) / len(each)
    return found


def residual_planner() -> float:
    """Return our variance by the closed form for all margins of five attributes where records come and go.

    The least sum of v_T / k_T with sum of p_T k_T = 1 is (sum of sqrt(v_T p_T))^2, by Cauchy and Schwarz.
    """
    sizes = (2, 3, 4, 5, 6)
    spaces = Spaces.of(spaces_of(sizes, []).margins, "add-remove")
    wanted = asked_of(spaces, len(sizes))
    sums = np.array([spaces.sums(each) for each in wanted])
    total = 0.0
    for space in product((0, 1), repeat=len(sizes)):
        own = prod((1 - 1 / d) if read else 1 / d for d, read in zip(sizes, space, strict=True))
        inside = [each for each in wanted if all(s <= m for s, m in zip(space, each, strict=True))]
        # one count of margin M: the cells outside of M, and what M says of this space
        variance = sum(
            prod((1 - 1 / d if s else 1 / d) if m else d for d, s, m in zip(sizes, space, each, strict=True))
            for each in inside
        )
        total += (variance * own / 2) ** 0.5
    return round(least_variance(spaces.program(sums), sums, np.ones(len(sums))).value / total**2, 7)
