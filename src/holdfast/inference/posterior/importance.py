"""Self-normalised importance sampling: all tables count, each with its weight.

E[a(theta) | y] is estimated by sum w a / sum w [partially-private-data, Algorithm 2]. It is as good as the
effective sample size (sum w)^2 / sum w^2 says, if the weights have a variance: the shape k of a generalised
Pareto law fitted to the largest ones tells. Above 0.7 the estimates are not to be relied on [vehtari2024].
"""

import numpy as np

from holdfast.errors import SamplingError
from holdfast.inference.posterior.asked import Proposals
from holdfast.inference.posterior.diagnostics import pareto_k
from holdfast.inference.posterior.draws import Draws, require_memory
from holdfast.inference.posterior.problem import Problem, tractable
from holdfast.inference.posterior.proposals import Proposed, from_noise, tables_of_prior
from holdfast.inference.posterior.rejection import BATCH, chosen_proposals
from holdfast.lattice.arrays import FloatArray

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
                "the prior hardly ever draws a table that agrees with what is public: set proposals ="
                ' "noise", or name = "gibbs", in [sampler].'
            )
    drawn = Proposed.joined(found, draws)
    if not np.isfinite(drawn.log_weights).any():
        raise SamplingError(
            f"none of {draws:,} tables has a positive weight: ask for more draws, or set name = "
            '"gibbs" in [sampler].'
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
        told=told,
    )


def effective(log_weights: FloatArray) -> float:
    """Return (sum w)^2 / sum w^2."""
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum())
