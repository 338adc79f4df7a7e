"""Independent draws from a posterior, by rejection.

A table is accepted where U <= ratio, U uniform and the ratio of its weight to one bound for all tables
[partially-private-data, Algorithm 1; theory, 7]. What is accepted has the posterior for its law, up to the
rounding of floats. A law with a normaliser that is not known is met by drawing a release of the table: it is
accepted where that is the release that was published.
"""

import numpy as np

from holdfast.errors import SamplingError
from holdfast.inference.posterior.asked import Proposals
from holdfast.inference.posterior.draws import Draws, require_memory
from holdfast.inference.posterior.likelihood import Exchanged
from holdfast.inference.posterior.problem import Problem, tractable
from holdfast.inference.posterior.proposals import Proposed, from_noise, log_bound, tables_of_prior

BATCH = 1 << 14
"""Tables that are proposed at once."""
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
    found, tried, batch = 0, 0, BATCH
    while found < draws:
        if tried >= most or (tried >= FIRST * most and found < 0.5 * draws * tried / most):
            raise SamplingError(
                f"rejection accepted {found:,} of {tried:,} tables, which takes too long for {draws:,} draws:"
                ' set name = "gibbs" in [sampler].'
            )
        proposed = _proposed(problem, chosen, generator, batch)
        accepted = -generator.standard_exponential(len(proposed.tables)) <= proposed.log_weights - bound
        kept.append(proposed.only(accepted))
        found, tried = found + int(accepted.sum()), tried + batch
    tables, numbers, _ = Proposed.joined(kept, draws)
    told = {"acceptance": found / tried, "proposed": float(tried)}
    return Draws.of(model, tables[None], numbers[None], generator, sampler="rejection", told=told)


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
