"""Sampling a posterior by whole tables: proposed from the noise or from the prior, then accepted or weighed.

A proposed table has the logarithm of how many times too rarely it comes up.

**From the noise.** x = y - z for draws z of the noise keeps every invariant, and comes up in proportion to
p(y | x). With numbers of the prior drawn from what is believed of them, the posterior is p(x | numbers) times
that, for tables without negative counts that keep the inequalities.

**From the prior** [partially-private-data, Algorithm 1]. Numbers, parameters and x are drawn from the model
given what is public, and the posterior is p(y | x) times that. Where the invariants are totals of separate
cells of a Poisson model, parameters are kept with probability prod Pois(t; T) / Pois(t; t), T being the
expected total, and counts are then multinomial. Where few tables keep what is public, all are listed:
numbers are kept with the probability of all tables together, and a table is drawn among them. Elsewhere
tables are drawn until they keep what is public.

**Rejection** gives independent draws. A table is accepted where U <= ratio, U uniform and the ratio of its
weight to one bound for all tables [partially-private-data, Algorithm 1; theory, 7]. What is accepted has the
posterior for its law, up to the rounding of floats. A law with a normaliser that is not known is met by
drawing a release of the table: it is accepted where that is the release that was published.

**Importance sampling**, self-normalised, lets all tables count. E[a(theta) | y] is estimated by
sum w a / sum w [partially-private-data, Algorithm 2]. It is as good as the effective sample size
(sum w)^2 / sum w^2 says, if the weights have a variance: the shape k of a generalised Pareto law fitted to
the largest ones tells. Above 0.7 the estimates are not to be relied on [vehtari2024].
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp

from holdfast.inference.posterior.draws import Draws, pareto_k, require_memory
from holdfast.inference.posterior.model import CountModel, PriorNumbers
from holdfast.inference.posterior.model_spec import Proposals
from holdfast.inference.posterior.problem import Problem, tractable
from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.likelihood import AddedNoise
from holdfast.mechanisms.truncation.laws import Exchanged
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SamplingError
from holdfast.system.ways import assigned, setting

MOST_COUNTS = 10_000_000
"""Counts that are looked at for a bound on a prior."""


class Proposed(NamedTuple):
    """Tables, the numbers of the prior that they came with, and their log weights."""

    tables: IntArray
    numbers: PriorNumbers
    log_weights: FloatArray

    def only(self, kept: BoolArray) -> "Proposed":
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
            "tables around the release need added noise that keeps the invariants, and records in every"
            f" cell: set {assigned('proposals', 'prior')} in {setting('sampler')}."
        )
    tables = likelihood.around(SeededEntropy(int(generator.integers(2**63))), size)
    numbers = problem.model.draw_numbers(generator, size)
    weights = np.full(size, -np.inf)
    kept = problem.constraints.hold(tables)
    weights[kept] = problem.model.log_prob(tables[kept], numbers[kept])
    return Proposed(tables, numbers, weights)


def tables_of_prior(
    problem: Problem, generator: np.random.Generator, size: int
) -> tuple[IntArray, PriorNumbers]:
    """Draw ``size`` times from the model, and return what keeps all that is public."""
    model, constraints = problem.model, problem.constraints
    if model.kind == "rates" and _separate(constraints.matrix):
        tables, numbers = _given_totals(model, constraints, generator, size)
    elif model.kind == "rates" or constraints.matrix.shape[0] > model.totals.size:
        every = problem.every_table
        if every is not None:
            return _listed(model, every, generator, size)
        numbers, _, tables = model.draw_prior(generator, size)
    else:
        numbers, _, tables = model.draw_prior(generator, size)
    kept = constraints.hold(tables)
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
    model: CountModel, constraints: TableConstraints, generator: np.random.Generator, size: int
) -> tuple[IntArray, PriorNumbers]:
    numbers, parameters, tables = model.draw_prior(generator, size)
    expected = parameters[:, model.group] * np.exp(model.level)
    totals, t = np.asarray(expected @ constraints.matrix.T), constraints.values
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.where(t > 0, t * (np.log(totals) - np.log(np.maximum(t, 1))), 0.0) - totals + t
    kept = -generator.standard_exponential(size) <= chance.sum(axis=1)
    tables, expected, numbers = tables[kept], expected[kept], numbers[kept]
    for row, total in enumerate(t.tolist()):
        cells = constraints.matrix.indices[
            constraints.matrix.indptr[row] : constraints.matrix.indptr[row + 1]
        ]
        shares = expected[:, cells] / expected[:, cells].sum(axis=1, keepdims=True)
        tables[:, cells] = generator.multinomial(total, shares)
    return tables, numbers


def _listed(
    model: CountModel, every: IntArray, generator: np.random.Generator, size: int
) -> tuple[IntArray, PriorNumbers]:
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


BATCH, A_DRAW = 1 << 14, 64
"""Tables that are proposed at once, and how many for each draw at first, where few draws are asked for."""
MOST_WORK = 1e9
"""Counts that are proposed at most: a few minutes."""
SIMULATED = 2e6
"""Releases that are drawn at most, one by one."""
FIRST = 0.02
"""The part of them after which it is seen whether the draws will come together."""


def rejection(
    problem: Problem, *, draws: int, proposals: Proposals | None = None, seed: int | None = None
) -> Draws:
    """Return independent draws, in one chain; raises SamplingError where too few tables are accepted."""
    require_memory(problem.model, draws)
    generator = np.random.default_rng(seed)
    chosen = chosen_proposals(problem, proposals)
    model = problem.model
    simulated = isinstance(problem.likelihood, Exchanged)
    bound = log_bound(model) if chosen == "noise" else 0.0
    most = SIMULATED if simulated else MOST_WORK / max(model.cells, 1)
    kept: list[Proposed] = []
    found, tried, batch = 0, 0, min(BATCH, A_DRAW * draws)
    while found < draws:
        if tried >= most or (tried >= FIRST * most and found < 0.5 * draws * tried / most):
            raise SamplingError(
                f"rejection accepted {found:,} of {tried:,} tables, which takes too long for {draws:,}"
                f" draws: set {assigned('name', 'gibbs')} in {setting('sampler')}."
            )
        proposed = _proposed(problem, chosen, generator, batch)
        accepted = -generator.standard_exponential(len(proposed.tables)) <= proposed.log_weights - bound
        kept.append(proposed.only(accepted))
        found, tried, batch = found + int(accepted.sum()), tried + batch, min(BATCH, 2 * batch)
    tables, numbers, _ = Proposed.joined(kept, draws)
    told = {"acceptance": found / tried, "proposed": float(tried)}
    return Draws.of(model, tables[None], numbers[None], generator, sampler="rejection", statistics=told)


def chosen_proposals(problem: Problem, asked: Proposals | None) -> Proposals:
    """Return where tables come from: around the release where that can be, unless something else is asked."""
    if asked is not None:
        return asked
    return "noise" if problem.around_release else "prior"


def _proposed(problem: Problem, chosen: Proposals, generator: np.random.Generator, size: int) -> Proposed:
    if chosen == "noise":
        return from_noise(problem, generator, size)
    tables, numbers = tables_of_prior(problem, generator, size)
    likelihood = problem.likelihood
    if not isinstance(likelihood, Exchanged):
        return Proposed(tables, numbers, tractable(likelihood).log_prob(tables))
    chances = likelihood.chances(generator)
    same = [np.array_equal(likelihood.simulate(table, chances), likelihood.released) for table in tables]
    return Proposed(tables, numbers, np.where(np.array(same, dtype=np.bool_), 0.0, -np.inf))


MOST_TRIES = 10_000
"""Batches that may hold no table at all."""


def importance(
    problem: Problem, *, draws: int, proposals: Proposals | None = None, seed: int | None = None
) -> Draws:
    """Return weighted tables, in one chain; raises SamplingError where none has a weight."""
    require_memory(problem.model, draws)
    generator = np.random.default_rng(seed)
    chosen = chosen_proposals(problem, proposals)
    likelihood = tractable(problem.likelihood)
    found: list[Proposed] = []
    held, tries = 0, 0
    while held < draws:
        if chosen == "noise":
            part = from_noise(problem, generator, min(BATCH, draws - held))
        else:
            tables, numbers = tables_of_prior(problem, generator, BATCH)
            part = Proposed(tables, numbers, likelihood.log_prob(tables))
        found.append(part)
        held, tries = held + len(part.tables), tries + 1
        if tries > MOST_TRIES + draws // BATCH:
            raise SamplingError(
                "the prior hardly ever draws a table that agrees with what is public: set"
                f" {assigned('proposals', 'noise')}, or {assigned('name', 'gibbs')}, in"
                f" {setting('sampler')}."
            )
    drawn = Proposed.joined(found, draws)
    if not np.isfinite(drawn.log_weights).any():
        raise SamplingError(
            f"none of {draws:,} tables has a positive weight: ask for more draws, or set"
            f" {assigned('name', 'gibbs')} in {setting('sampler')}."
        )
    # a table with the weight 0 need not agree with what is public
    tables, numbers, weights = drawn.only(np.isfinite(drawn.log_weights))
    told = {"effective_draws": effective(weights), "pareto_k": pareto_k(weights), "proposed": float(draws)}
    return Draws.of(
        problem.model,
        tables[None],
        numbers[None],
        generator,
        sampler="importance",
        log_weights=weights[None],
        statistics=told,
    )


def effective(log_weights: FloatArray) -> float:
    """Return (sum w)^2 / sum w^2."""
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum())
