"""Every sampler is calibrated: true numbers have uniform ranks among its draws, at the level of LEVEL.

Each test looks at some numbers; the smallest of their p-values, times their number, must exceed LEVEL. What
is known to be wrong (the naive analysis, another noise) must fail. A sampler that returns the prior would not
be noticed here: enumeration does that [holdfast, tests/inference/posterior/test_samplers.py].
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.inference.posterior.calibration import DRAWS, Floats, numbers_of, p_values, ranks
from tests.inference.posterior.small import AREAS, NOBODY, TOTAL, laplace, problem, proportions, rates

from holdfast.inference.posterior.draws import Draws
from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.infer import naive
from holdfast.inference.posterior.model import CountModel
from holdfast.inference.posterior.model_spec import Believed
from holdfast.inference.posterior.problem import Problem
from holdfast.inference.posterior.swapped import SwappedProblem
from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.inference.posterior.unswapping import Unswapping
from holdfast.inference.posterior.whole_tables import from_noise, importance, rejection
from holdfast.mechanisms.likelihood import NoisySums
from holdfast.mechanisms.swapping.permute import permute
from holdfast.mechanisms.truncation.laws import WithinBounds
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.sampling.numbers.gaussian import DiscreteGaussian
from holdfast.testing.goodness import LEVEL

NOISE = laplace(TOTAL)
REPLICATES = 128
"""Eight expected ranks in each of 16 classes, so that a chi-square holds its level."""
LEARNT = rates(4, mean=Believed(3.0, 2.0), shape=Believed(2.0, 2.0))
SHARES = proportions([0, 0, 1, 1], [6, 9], weight=Believed(1.0, 2.0))
KNOWN = rates(4)
VAGUE = rates(4, mean=Believed(20.0), shape=Believed(0.7))
WIDE = laplace(TOTAL, kappa=Fraction(1, 8))
"""Little is known beforehand, and the noise is wide: what is said of the noise matters."""


def uniform(values: list[float]) -> bool:
    return min(values) * len(values) > LEVEL


def drawn_problem(
    model: CountModel, generator: np.random.Generator, law: LatticeLaplaceLaw
) -> tuple[Floats, Problem]:
    """Draw true numbers from the prior, a table and its release; return them, and what is to be found."""
    numbers, parameters, table = (part[0] for part in model.draw_prior(generator, 1))
    noise = law.sample(SeededEntropy(int(generator.integers(2**63))), 1)[0]
    matrix = law.matrix.toarray()
    of = problem(model, matrix, (table + noise).tolist(), law)
    return np.concatenate([parameters, numbers.ravel(), table]), of


def thinned(of: Problem | SwappedProblem, generator: np.random.Generator, thin: int = 10) -> Draws:
    seed = int(generator.integers(2**63))
    return gibbs(of, draws=DRAWS, chains=1, warmup=20, thin=thin, seed=seed)


@pytest.mark.parametrize(("model", "matrix"), [(LEARNT, TOTAL), (SHARES, AREAS)], ids=["rates", "shares"])
def test_gibbs_is_calibrated(model: CountModel, matrix: np.ndarray) -> None:
    law = laplace(matrix)

    def replicate(generator: np.random.Generator) -> tuple[Floats, Floats]:
        truth, of = drawn_problem(model, generator, law)
        return truth, numbers_of(thinned(of, generator))

    assert uniform(p_values(ranks(replicate, REPLICATES, 1)))


@pytest.mark.parametrize("proposals", ["noise", "prior"])
def test_rejection_is_calibrated(proposals: str) -> None:
    def replicate(generator: np.random.Generator) -> tuple[Floats, Floats]:
        truth, of = drawn_problem(KNOWN, generator, NOISE)
        chosen = "noise" if proposals == "noise" else "prior"
        seed = int(generator.integers(2**63))
        return truth, numbers_of(rejection(of, draws=DRAWS, proposals=chosen, seed=seed))  # type: ignore[arg-type]

    assert uniform(p_values(ranks(replicate, REPLICATES, 2)))


def test_importance_is_calibrated() -> None:
    """Draws are chosen by their weights among many more."""

    def replicate(generator: np.random.Generator) -> tuple[Floats, Floats]:
        truth, of = drawn_problem(VAGUE, generator, NOISE)
        found = importance(of, draws=4000, proposals="noise", seed=int(generator.integers(2**63)))
        assert found.log_weights is not None
        weights = np.exp(found.log_weights[0] - found.log_weights.max())
        chosen = generator.choice(weights.size, size=DRAWS, p=weights / weights.sum())
        return truth, numbers_of(found)[chosen]

    assert uniform(p_values(ranks(replicate, REPLICATES, 3)))


def test_releases_within_bounds_are_calibrated() -> None:
    """The exchange algorithm, for a normaliser that is not known."""
    law = LatticeLaplaceLaw(csr_array(TOTAL), Fraction(1, 2), "l1")
    rows, least = np.zeros((0, 4), dtype=np.int64), np.zeros(0, dtype=np.int64)

    def replicate(generator: np.random.Generator) -> tuple[Floats, Floats]:
        numbers, parameters, table = (part[0] for part in KNOWN.draw_prior(generator, 1))
        likelihood = WithinBounds(law, table, np.arange(4), nonnegative=True, rows=rows, least=least)
        released = likelihood.simulate(table, likelihood.chances(generator))
        likelihood = WithinBounds(law, released, np.arange(4), nonnegative=True, rows=rows, least=least)
        constraints = TableConstraints.of(csr_array(TOTAL), TOTAL @ released)
        of = Problem(KNOWN, constraints, likelihood, released, NOBODY, NOBODY, NOBODY)
        drawn = numbers_of(thinned(of, generator, thin=4))
        return np.concatenate([parameters, numbers.ravel(), table]), drawn

    assert uniform(p_values(ranks(replicate, REPLICATES // 2, 4)))


@pytest.mark.parametrize("norm", ["l1", "squared"])
def test_measured_sums_are_calibrated(norm: str) -> None:
    """Cells, halves and the whole with noise of their own, as top-down algorithms measure them."""
    queries = np.concatenate([np.eye(4, dtype=np.int64), AREAS])
    scales = [Fraction(4)] * 4 + [Fraction(2)] * 2

    def replicate(generator: np.random.Generator) -> tuple[Floats, Floats]:
        numbers, parameters, table = (part[0] for part in LEARNT.draw_prior(generator, 1))
        entropy = SeededEntropy(int(generator.integers(2**63)))
        laws = [DiscreteGaussian(each) if norm == "squared" else DoubleGeometric(1 / each) for each in scales]
        values = queries @ table + np.concatenate([law.sample(entropy, 1) for law in laws])
        rates_of = [1 / float(each * (2 if norm == "squared" else 1)) for each in scales]
        likelihood = NoisySums(csr_array(queries), values, norm, np.array(rates_of))  # type: ignore[arg-type]
        of = Problem(LEARNT, TableConstraints.of(csr_array(TOTAL), TOTAL @ table), likelihood, table)
        return np.concatenate([parameters, numbers.ravel(), table]), numbers_of(thinned(of, generator))

    assert uniform(p_values(ranks(replicate, REPLICATES, 9)))


def test_swapped_records_are_calibrated() -> None:
    records, rate = 40, Fraction(3, 10)
    model = proportions([0] * 4, [records], weight=Believed(1.0, 2.0))

    def replicate(generator: np.random.Generator) -> tuple[Floats, Floats]:
        numbers, parameters, table = (part[0] for part in model.draw_prior(generator, 1))
        cells = generator.permutation(np.repeat(np.arange(4), table))
        starts = np.array([0, 25, records])
        taken = permute(np.diff(starts), rate, SeededEntropy(int(generator.integers(2**63)))).source
        held, swapped = 2 * (cells // 2), (cells % 2)[taken]
        mover = Unswapping(model, starts, held, swapped, np.arange(4), rate)
        released = np.bincount(held + swapped, minlength=4)
        of = SwappedProblem(model, mover, released, NOBODY, NOBODY, NOBODY, "", "", seeded=True)
        truth = np.concatenate([parameters, numbers.ravel(), table])
        return truth, numbers_of(thinned(of, generator, thin=12))

    assert uniform(p_values(ranks(replicate, REPLICATES, 5)))


def wrong(kind: str) -> list[float]:
    """Return the p-values of a sampler that is known to be wrong."""

    def replicate(generator: np.random.Generator) -> tuple[Floats, Floats]:
        truth, of = drawn_problem(VAGUE, generator, WIDE)
        if kind == "naive":
            drawn = naive(VAGUE, of.released, draws=DRAWS, seed=int(generator.integers(2**63)))
        else:
            drawn = thinned(problem(VAGUE, TOTAL, of.released.tolist(), laplace(TOTAL)), generator, thin=5)
        return truth[:4], numbers_of(drawn)[:, :4]

    return p_values(ranks(replicate, REPLICATES, 6))


@pytest.mark.parametrize("kind", ["naive", "other noise"])
def test_what_is_wrong_is_noticed(kind: str) -> None:
    assert min(wrong(kind)) < LEVEL / 100


def test_a_bound_that_depends_on_the_table_is_noticed() -> None:
    """One bound must serve all tables [theory, 7]: a bound for each half of them biases the draws."""

    def replicate(generator: np.random.Generator) -> tuple[Floats, Floats]:
        truth, of = drawn_problem(KNOWN, generator, NOISE)
        proposed = from_noise(of, generator, 8000)
        bound = np.where(proposed.tables[:, 0] > of.released[0], -14.0, -6.0)
        chances = np.exp(np.minimum(proposed.log_weights - bound, 0))
        kept = generator.choice(chances.size, size=DRAWS, p=chances / chances.sum())
        drawn = Draws.of(
            KNOWN, proposed.tables[None, kept], proposed.numbers[None, kept], generator, sampler="rejection"
        )
        return truth, numbers_of(drawn)

    assert min(p_values(ranks(replicate, REPLICATES, 8))) < LEVEL / 100
