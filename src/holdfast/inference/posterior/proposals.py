"""Whole tables to choose from, with the logarithm of how many times too rarely each comes up.

**From the noise.** x = y - z for draws z of the noise keeps every invariant, and comes up in proportion to
p(y | x). With numbers of the prior drawn from what is believed of them, the posterior is p(x | numbers) times
that, for tables without negative counts that keep the inequalities.

**From the prior** [partially-private-data, Algorithm 1]. Numbers, parameters and x are drawn from the model
given what is public, and the posterior is p(y | x) times that. Where the invariants are totals of separate
cells of a Poisson model, parameters are kept with probability prod Pois(t; T) / Pois(t; t), T being the
expected total, and counts are then multinomial. Where few tables keep what is public, all are listed:
numbers are kept with the probability of all tables together, and a table is drawn among them. Elsewhere
tables are drawn until they keep what is public.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp

from holdfast.errors import SamplingError
from holdfast.inference.posterior.facts import Facts
from holdfast.inference.posterior.likelihood import AddedNoise
from holdfast.inference.posterior.model import CountModel, Numbers
from holdfast.inference.posterior.problem import Problem
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.entropy import SeededEntropy

MOST_COUNTS = 10_000_000
"""Counts that are looked at for a bound on a prior."""


class Proposed(NamedTuple):
    """Tables, the numbers of the prior that they came with, and their log weights."""

    tables: IntArray
    numbers: Numbers
    log_weights: FloatArray

    def only(self, kept: NDArray[np.bool_]) -> "Proposed":
        """Return some of them."""
        return Proposed(self.tables[kept], self.numbers[kept], self.log_weights[kept])

    @classmethod
    def joined(cls, parts: Sequence["Proposed"], size: int) -> "Proposed":
        """Return the first of all parts together."""
        tables, numbers, weights = zip(*parts, strict=True)
        return cls(*(np.concatenate(each)[:size] for each in (tables, numbers, weights)))


def from_noise(problem: Problem, generator: np.random.Generator, size: int) -> Proposed:
    """Return tables around the release; those that cannot be have a weight of 0."""
    likelihood = problem.likelihood
    if not isinstance(likelihood, AddedNoise) or not problem.around_release:
        raise SamplingError(
            "tables around the release need added noise that keeps the invariants, and records in every cell:"
            ' set proposals = "prior" in [sampler].'
        )
    tables = likelihood.around(SeededEntropy(int(generator.integers(2**63))), size)
    numbers = problem.model.draw_numbers(generator, size)
    weights = np.full(size, -np.inf)
    kept = problem.facts.hold(tables)
    weights[kept] = problem.model.log_prob(tables[kept], numbers[kept])
    return Proposed(tables, numbers, weights)


def tables_of_prior(problem: Problem, generator: np.random.Generator, size: int) -> tuple[IntArray, Numbers]:
    """Draw ``size`` times from the model, and return what keeps all that is public."""
    model, facts = problem.model, problem.facts
    if model.kind == "rates" and _separate(facts.matrix):
        tables, numbers = _given_totals(model, facts, generator, size)
    elif model.kind == "rates" or facts.matrix.shape[0] > model.totals.size:
        every = problem.every_table
        if every is not None:
            return _listed(model, every, generator, size)
        numbers, _, tables = model.draw_prior(generator, size)
    else:
        numbers, _, tables = model.draw_prior(generator, size)
    kept = facts.hold(tables)
    return tables[kept], numbers[kept]


def log_bound(model: CountModel) -> float:
    """Return a number that log p(x | numbers) never exceeds, for any table and any numbers.

    p(x | numbers) is a probability, so 0 always serves. Where the numbers are known, so are the modes of
    negative binomial laws. The sum of concave or convex functions h_g(x_g) with a fixed total n is at most

        l n + sum_g max_x (h_g(x) - l x)   for any l,

    and the l with the least bound is found numerically.
    """
    if not model.settled:
        return 0.0
    shape, _ = model.terms(model.medians())
    if model.kind == "rates":
        mean = np.exp(model.medians()[model.pool, 1])
        rate = shape / mean
        mode = np.floor(np.maximum(shape - 1, 0) * model.size / rate)
        logs = gammaln(shape + mode) - gammaln(shape) - gammaln(mode + 1)
        logs += mode * np.log(model.size) + shape * np.log(rate) - (shape + mode) * np.log(rate + model.size)
        return float(np.minimum(logs, 0).sum())
    return sum(
        _bound_of_stratum(shape[model.stratum == stratum], total)
        for stratum, total in enumerate(model.totals.tolist())
    )


def _bound_of_stratum(alpha: FloatArray, total: int) -> float:
    if (total + 1) * alpha.size > MOST_COUNTS:
        return 0.0
    counts = np.arange(total + 1)
    heights = gammaln(alpha[:, None] + counts) - gammaln(alpha)[:, None] - gammaln(counts + 1.0)

    def bound(slope: float) -> float:
        return slope * total + float((heights - slope * counts).max(axis=1).sum())

    steep = max(1.0, float(np.abs(np.diff(heights, axis=1)).max(initial=0)))
    least = min(float(minimize_scalar(bound, bounds=(-steep, steep), method="bounded").fun), bound(0.0))
    whole = alpha.sum()
    return min(0.0, least + float(gammaln(total + 1.0) + gammaln(whole) - gammaln(whole + total)))


def _separate(matrix: csr_array) -> bool:
    """Whether rows are totals of separate cells."""
    return bool((matrix.data == 1).all() and np.bincount(matrix.indices, minlength=1).max(initial=0) <= 1)


def _given_totals(
    model: CountModel, facts: Facts, generator: np.random.Generator, size: int
) -> tuple[IntArray, Numbers]:
    numbers, parameters, tables = model.draw_prior(generator, size)
    expected = parameters[:, model.group] * np.exp(model.level)
    totals, t = np.asarray(expected @ facts.matrix.T), facts.values
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.where(t > 0, t * (np.log(totals) - np.log(np.maximum(t, 1))), 0.0) - totals + t
    kept = -generator.standard_exponential(size) <= chance.sum(axis=1)
    tables, expected, numbers = tables[kept], expected[kept], numbers[kept]
    for row, total in enumerate(t.tolist()):
        cells = facts.matrix.indices[facts.matrix.indptr[row] : facts.matrix.indptr[row + 1]]
        shares = expected[:, cells] / expected[:, cells].sum(axis=1, keepdims=True)
        tables[:, cells] = generator.multinomial(total, shares)
    return tables, numbers


def _listed(
    model: CountModel, every: IntArray, generator: np.random.Generator, size: int
) -> tuple[IntArray, Numbers]:
    """Draw numbers, and one of all tables that can be."""
    if model.settled:
        numbers = np.tile(model.medians(), (size, 1, 1))
        logs = model.log_prob(every, model.medians()[None])
        shares = np.exp(logs - logs.max())
        return every[generator.choice(len(every), size=size, p=shares / shares.sum())], numbers
    numbers = model.draw_numbers(generator, max(1, min(size, MOST_COUNTS // every.size)))
    logs = np.stack([model.log_prob(every, one[None]) for one in numbers])
    whole = logsumexp(logs, axis=1)
    kept = -generator.standard_exponential(len(numbers)) <= whole
    numbers, sums = numbers[kept], np.cumsum(np.exp(logs[kept] - whole[kept, None]), axis=1)
    chosen = (sums < generator.random((len(sums), 1))).sum(axis=1)
    return every[np.minimum(chosen, len(every) - 1)], numbers
