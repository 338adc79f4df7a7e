"""Small posteriors whose tables can all be listed."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp

from holdfast.inference.posterior.model import CountModel
from holdfast.inference.posterior.model_spec import Believed
from holdfast.inference.posterior.problem import ParameterLabels, Problem
from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.lattice.anchors import anchors
from holdfast.mechanisms.likelihood import AddedNoise
from holdfast.mechanisms.mechanism import NoiseLaw
from holdfast.sampling.lattice.anchored import AnchoredLaw
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.testing.goodness import Point, two_way

NOBODY = ParameterLabels((), ())
MEAN, SHAPE, WEIGHT = Believed(2.0), Believed(1.5), Believed(0.7)
TOTAL = np.ones((1, 4), dtype=np.int64)
AREAS = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
SQUARE = two_way(2, 3)
FREE = np.zeros((0, 3), dtype=np.int64)
PARTLY = np.array([[1, 1, 1, 0]])
THREE = np.array([[(cell >> axis) & 1 for cell in range(8)] for axis in range(3)] + [[1] * 8])
"""Three features of two levels, with their margins: its Markov basis has to be listed."""


def laplace(
    matrix: NDArray[np.int64], norm: str = "l1", kappa: Fraction = Fraction(1, 2)
) -> LatticeLaplaceLaw:
    return LatticeLaplaceLaw(csr_array(matrix), kappa, "l1" if norm == "l1" else "l2")


def anchored(matrix: NDArray[np.int64], kappa: Fraction = Fraction(1, 2)) -> AnchoredLaw:
    return AnchoredLaw(anchors(csr_array(matrix), np.zeros(matrix.shape[1])), kappa)


def gaussian(matrix: NDArray[np.int64], variance: Fraction = Fraction(3)) -> LatticeGaussianLaw:
    return LatticeGaussianLaw(csr_array(matrix), variance)


def rates(
    cells: int,
    group: list[int] | None = None,
    mean: Believed = MEAN,
    shape: Believed = SHAPE,
) -> CountModel:
    """Return Poisson counts with unequal exposures; groups of one pool."""
    of = np.arange(cells) if group is None else np.array(group)
    exposure = np.array([0.5 + cell % 3 for cell in range(cells)])
    pool = np.zeros(int(of.max()) + 1, dtype=np.int64)
    return CountModel.rates(of, exposure, pool, mean=mean, shape=shape)


def proportions(strata: list[int], totals: list[int], weight: Believed = WEIGHT) -> CountModel:
    """Return multinomial counts; the first, second, ... cells of strata are of one category."""
    stratum = np.array(strata)
    category = np.array([strata[:at].count(one) for at, one in enumerate(strata)])
    base = np.array([1.0 + cell % 2 for cell in range(stratum.size)])
    return CountModel.proportions(stratum, np.array(totals), base, category, weight=weight)


def problem(
    model: CountModel,
    matrix: NDArray[np.int64],
    released: list[int],
    law: NoiseLaw,
    rows: NDArray[np.int64] | None = None,
    least: list[int] | None = None,
) -> Problem:
    y = np.array(released, dtype=np.int64)
    constraints = TableConstraints.of(
        csr_array(matrix),
        matrix @ y,
        None if rows is None else csr_array(rows),
        None if least is None else np.array(least, dtype=np.int64),
    )
    likelihood = AddedNoise(law, y, np.arange(y.size))
    return Problem(model, constraints, likelihood, y, NOBODY, NOBODY, NOBODY)


def listed(of: Problem, most: int) -> NDArray[np.int64]:
    """Return all tables with counts up to a number that agree with the facts."""
    tables = np.array(list(product(range(most + 1), repeat=of.constraints.cells)), dtype=np.int64)
    return tables[of.constraints.hold(tables)]


def posterior(
    of: Problem, most: int, log_likelihood: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None
) -> dict[Point, float]:
    """Return the posterior probability of every table, for known numbers of the prior."""
    tables = listed(of, most)
    numbers = np.tile(of.model.medians(), (len(tables), 1, 1))
    told = of.likelihood.log_prob if log_likelihood is None else log_likelihood  # type: ignore[union-attr]
    logs = of.model.log_prob(tables, numbers) + told(tables)
    shares = np.exp(logs - logsumexp(logs))
    return dict(zip(map(tuple, tables.tolist()), shares.tolist(), strict=True))
