"""Three samplers draw from one posterior, the one that is enumerated, for every kind of design and noise."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp
from tests.inference.posterior.small import (
    AREAS,
    FREE,
    NOBODY,
    PARTLY,
    SQUARE,
    THREE,
    TOTAL,
    anchored,
    gaussian,
    laplace,
    listed,
    posterior,
    problem,
    proportions,
    rates,
)

from holdfast.inference.posterior import whole_tables
from holdfast.inference.posterior.draws import Draws
from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.model_spec import Believed
from holdfast.inference.posterior.problem import Problem
from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.inference.posterior.whole_tables import importance, rejection, tables_of_prior
from holdfast.mechanisms.likelihood import NoisySums
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, Point, p_value

COMPARED = np.array([[1, 0, -1, 0], [0, 1, 0, -1]])
PROBLEMS: dict[str, tuple[Callable[[], Problem], int]] = {
    "a total": (lambda: problem(rates(4), TOTAL, [3, -1, 2, 4], laplace(TOTAL)), 8),
    "a total, Gaussian": (lambda: problem(rates(4), TOTAL, [3, -1, 2, 4], gaussian(TOTAL)), 8),
    "a total, l2": (lambda: problem(rates(4), TOTAL, [3, -1, 2, 4], laplace(TOTAL, "l2")), 8),
    "shared rates": (lambda: problem(rates(4, [0, 0, 1, 1]), TOTAL, [3, -1, 2, 4], laplace(TOTAL)), 8),
    "proportions by area": (
        lambda: problem(proportions([0, 0, 1, 1], [3, 5]), AREAS, [4, -1, 2, 3], laplace(AREAS)),
        5,
    ),
    "counts": (lambda: problem(proportions([0] * 4, [8]), TOTAL, [3, -1, 2, 4], laplace(TOTAL)), 8),
    "both margins": (
        lambda: problem(proportions([0] * 6, [9]), SQUARE, [3, -1, 2, 1, 3, 1], laplace(SQUARE)),
        5,
    ),
    "a total, anchored": (lambda: problem(rates(4), TOTAL, [3, -1, 2, 4], anchored(TOTAL)), 8),
    "both margins, anchored": (
        lambda: problem(proportions([0] * 6, [9]), SQUARE, [3, -1, 2, 1, 3, 1], anchored(SQUARE)),
        5,
    ),
    "nothing kept": (lambda: problem(rates(3), FREE, [2, -1, 4], laplace(FREE)), 16),
    "one cell free": (lambda: problem(rates(4), PARTLY, [2, -1, 4, 3], laplace(PARTLY)), 16),
    "three features": (
        lambda: problem(proportions([0] * 8, [4]), THREE, [1, 0, 0, 1, 1, -1, 0, 2], laplace(THREE)),
        4,
    ),
    "inequalities": (
        lambda: problem(
            rates(4),
            TOTAL,
            [3, -1, 2, 4],
            laplace(TOTAL),
            np.array([[1, 1, 0, 0], [0, 0, 0, 1]]),
            [3, 1],
        ),
        8,
    ),
    "floors under both margins": (
        lambda: problem(
            proportions([0] * 6, [9]),
            SQUARE,
            [3, -1, 2, 1, 3, 1],
            laplace(SQUARE),
            np.array([[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]),
            [1, 1],
        ),
        5,
    ),
    "comparisons": (
        lambda: problem(rates(4), AREAS, [3, 1, 2, 0], laplace(AREAS), COMPARED, [0, 0]),
        5,
    ),
}
QUICK = ("a total", "proportions by area", "inequalities")


@cache
def made(name: str) -> tuple[Problem, dict[Point, float]]:
    of = PROBLEMS[name][0]()
    return of, posterior(of, PROBLEMS[name][1])


def tables(drawn: Draws) -> NDArray[np.int64]:
    return drawn.tables.reshape(drawn.size, -1)


@pytest.mark.parametrize("name", PROBLEMS)
def test_gibbs_has_the_enumerated_posterior(name: str) -> None:
    of, law = made(name)
    drawn = gibbs(of, draws=4000, thin=8, warmup=50, seed=1)
    assert of.constraints.hold(tables(drawn)).all()
    assert p_value(tables(drawn), law) > LEVEL


@pytest.mark.parametrize("name", PROBLEMS)
def test_rejection_from_the_noise_has_the_enumerated_posterior(name: str) -> None:
    of, law = made(name)
    drawn = rejection(of, draws=1500, proposals="noise", seed=2)
    assert of.constraints.hold(tables(drawn)).all()
    assert p_value(tables(drawn), law) > LEVEL


@pytest.mark.parametrize("name", [*QUICK, "three features"])
def test_rejection_from_the_prior_has_the_enumerated_posterior(name: str) -> None:
    of, law = made(name)
    drawn = rejection(of, draws=1500, proposals="prior", seed=3)
    assert of.constraints.hold(tables(drawn)).all()
    assert p_value(tables(drawn), law) > LEVEL


@pytest.mark.parametrize("proposals", ["noise", "prior"])
@pytest.mark.parametrize("name", QUICK)
def test_importance_weights_give_the_enumerated_means(name: str, proposals: str) -> None:
    of, law = made(name)
    drawn = importance(of, draws=20_000, proposals="noise" if proposals == "noise" else "prior", seed=4)
    assert of.constraints.hold(tables(drawn)).all()
    assert drawn.log_weights is not None
    weights = np.exp(drawn.log_weights[0] - logsumexp(drawn.log_weights[0]))
    found = weights @ tables(drawn)
    points, shares = np.array(list(law)), np.array(list(law.values()))
    mean = shares @ points
    error = np.sqrt(shares @ (points - mean) ** 2 / drawn.statistics["effective_draws"])
    assert (np.abs(found - mean) < 4 * error).all()
    assert drawn.statistics["pareto_k"] < 0.7


def test_another_noise_is_noticed() -> None:
    """The same tests fail for a law that is off by a quarter, for each sampler."""
    of, _ = made("a total")
    other = problem(rates(4), TOTAL, [3, -1, 2, 4], laplace(TOTAL, kappa=Fraction(5, 8)))
    wrong = posterior(other, 8)
    assert p_value(tables(gibbs(of, draws=4000, thin=8, warmup=50, seed=1)), wrong) < LEVEL / 1000
    for proposals in ("noise", "prior"):
        drawn = rejection(of, draws=4000, proposals="noise" if proposals == "noise" else "prior", seed=2)
        assert p_value(tables(drawn), wrong) < LEVEL / 1000


def test_acceptance_as_it_is_printed_is_noticed() -> None:
    """[partially-private-data, Algorithm 1] prints the test the wrong way round [theory, 7]."""
    of, law = made("a total")
    generator = np.random.default_rng(1)
    proposed, _ = tables_of_prior(of, generator, 200_000)
    ratio = of.likelihood.log_prob(proposed)  # type: ignore[union-attr]
    printed = proposed[ratio <= -generator.standard_exponential(len(proposed))][:1500]
    assert len(printed) == 1500
    assert p_value(printed, law) < LEVEL / 1000


@pytest.mark.parametrize("kind", ["rates", "proportions"])
def test_numbers_of_the_prior_are_integrated(kind: str) -> None:
    """With numbers that are learnt, tables have the mixture of their posteriors, by quadrature."""
    believed = Believed(1.0, 2.5)
    if kind == "rates":
        of = problem(rates(4, mean=believed, shape=believed), TOTAL, [3, -1, 2, 4], laplace(TOTAL))
    else:
        model = proportions([0, 0, 1, 1], [3, 5], weight=believed)
        of = problem(model, AREAS, [4, -1, 2, 3], laplace(AREAS))
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    every = listed(of, 8)
    size = of.model.medians().size
    grid = np.stack(np.meshgrid(*[nodes] * size, indexing="ij"), axis=-1).reshape(-1, size)
    share = np.prod(
        np.stack(np.meshgrid(*[weights] * size, indexing="ij"), axis=-1).reshape(-1, size), axis=1
    )
    mixed = np.zeros(len(every))
    for node, weight in zip(grid, share, strict=True):
        numbers = np.log(2.5) * node.reshape(of.model.medians().shape)
        mixed += weight * np.exp(of.model.log_prob(every, np.tile(numbers, (len(every), 1, 1))))
    mixed *= np.exp(of.likelihood.log_prob(every))  # type: ignore[union-attr]
    law = dict(zip(map(tuple, every.tolist()), (mixed / mixed.sum()).tolist(), strict=True))
    assert p_value(tables(gibbs(of, draws=4000, thin=12, warmup=100, seed=1)), law) > LEVEL
    assert p_value(tables(rejection(of, draws=1000, proposals="prior", seed=5)), law) > LEVEL


def test_parameters_given_tables_are_those_of_the_conjugate_laws() -> None:
    of, law = made("a total")
    drawn = gibbs(of, draws=20_000, warmup=50, seed=6)
    points, shares = np.array(list(law)), np.array(list(law.values()))
    rate = (1.5 + shares @ points) / (1.5 / 2.0 + of.model.size)  # the mean of Gamma(a + x) / (b + e)
    assert np.allclose(drawn.parameters.mean(axis=(0, 1)), rate, rtol=0.05)


def test_what_is_hopeless_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_tables, "MOST_WORK", 1e8)
    cells = 40
    matrix = np.ones((1, cells), dtype=np.int64)
    far = problem(rates(cells), matrix, [50] * cells, laplace(matrix))
    with pytest.raises(SamplingError, match="set name"):
        rejection(far, draws=100, seed=1)
    nobody = problem(
        rates(2), np.ones((1, 2), dtype=np.int64), [-900, 900], laplace(np.ones((1, 2), dtype=np.int64))
    )
    with pytest.raises(SamplingError, match="positive weight"):
        importance(nobody, draws=100, proposals="noise", seed=1)
    for sampler in (gibbs, rejection, importance):
        with pytest.raises(SamplingError, match="ask for 1,250,000 or fewer"):
            sampler(far, draws=10_000_000, seed=1)


def test_seeds_repeat_and_chains_differ() -> None:
    of, _ = made("a total")
    one, two, other = (gibbs(of, draws=400, seed=seed) for seed in (1, 1, 2))
    assert (one.tables == two.tables).all()
    assert (one.parameters == two.parameters).all()
    assert (one.tables != other.tables).any()
    assert (one.tables[0] != one.tables[1]).any()


def test_noise_where_the_prior_has_no_records_is_known() -> None:
    """A cell that cannot have records tells its own noise; in l2 that narrows the noise of the others."""
    of = problem(rates(4), TOTAL, [3, -1, 2, 4], laplace(TOTAL, "l2"))
    absent = np.array([False, True, False, False])
    fewer = Problem(
        rates(3),
        of.constraints.without(absent),
        of.likelihood.without(absent),
        of.released[~absent],
        of.cells,
        of.groups,
        of.pools,
    )
    law = posterior(fewer, 8)
    drawn = gibbs(fewer, draws=4000, thin=8, warmup=50, seed=1)
    assert p_value(tables(drawn), law) > LEVEL
    assert csr_array(fewer.constraints.matrix).shape == (1, 3)


@pytest.mark.parametrize("norm", ["l1", "squared"])
@pytest.mark.parametrize("rows", [None, np.array([[1, 1, 0, 0]])])
def test_measured_sums_have_the_enumerated_posterior(norm: str, rows: NDArray[np.int64] | None) -> None:
    """The cells and their sums by halves, each with noise of its own, as top-down algorithms measure them."""
    queries = csr_array(np.concatenate([np.eye(4, dtype=np.int64), AREAS]))
    likelihood = NoisySums(
        queries,
        np.array([3, -1, 2, 5, 4, 6]),
        "l1" if norm == "l1" else "squared",
        np.array([0.4, 0.4, 0.4, 0.4, 1.1, 0.9]),
    )
    bounds = (None, None) if rows is None else (csr_array(rows), np.array([3]))
    constraints = TableConstraints.of(csr_array(TOTAL), np.array([9]), *bounds)
    of = Problem(
        rates(4), constraints, likelihood, constraints.nearest(np.array([3, 0, 2, 4])), NOBODY, NOBODY, NOBODY
    )
    law = posterior(of, 9)
    drawn = gibbs(of, draws=4000, thin=8, warmup=50, seed=1)
    assert of.constraints.hold(tables(drawn)).all()
    assert p_value(tables(drawn), law) > LEVEL
    assert p_value(tables(rejection(of, draws=400, seed=2)), law) > LEVEL
    without = NoisySums(csr_array(queries[:4]), likelihood.values[:4], likelihood.norm, likelihood.rates[:4])
    other = Problem(of.model, of.constraints, without, of.released, NOBODY, NOBODY, NOBODY)
    assert p_value(tables(drawn), posterior(other, 9)) < LEVEL / 100
