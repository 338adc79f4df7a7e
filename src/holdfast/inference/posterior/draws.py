"""Draws of a posterior, chains x draws x numbers: tables, rates or proportions, the numbers of the prior.

What they are worth is told by rank-normalised split R-hat, effective sample sizes, and the tail of weights.
Chains are cut in two, so that one that drifts shows as two that differ, and values are replaced by normal
scores of their ranks, so that no moment need exist [vehtari2021].
"""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from holdfast.inference.posterior.model import CountModel, PriorNumbers
from holdfast.inference.posterior.model_spec import SamplerName
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.errors import SamplingError

BATCH = 1 << 22
"""Parameters that are drawn at once."""
BYTES = 40
"""Of memory for each number that is kept, with what is told of them."""
MOST_VALUES = 100_000_000
"""Numbers that are kept at most, over all draws: 4 GB."""


def require_memory(model: CountModel, draws: int) -> None:
    """Raise SamplingError where so many draws are not to be kept."""
    each = model.cells + model.groups
    if draws * each > MOST_VALUES:
        raise SamplingError(
            f"{draws:,} draws of {each:,} numbers do not fit the memory: ask for {MOST_VALUES // each:,} or"
            " fewer."
        )


@dataclass(frozen=True, eq=False)
class Draws:
    """What was drawn, chains x draws x numbers.

    Attributes:
        sampler: which sampler it was.
        tables: the counts of cells; every draw agrees with all that is public.
        parameters: the rates or proportions of groups.
        numbers: the logarithms of the numbers of the prior, by pool.
        log_weights: of importance sampling, chains x draws; None where all draws count alike.
        statistics: what else is to be known of the sampler, by name.

    """

    sampler: SamplerName
    tables: IntArray
    parameters: FloatArray
    numbers: PriorNumbers
    log_weights: FloatArray | None = None
    statistics: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: CountModel,
        tables: IntArray,
        numbers: PriorNumbers,
        generator: np.random.Generator,
        *,
        sampler: SamplerName,
        log_weights: FloatArray | None = None,
        statistics: Mapping[str, float] | None = None,
    ) -> "Draws":
        """Draw the parameters of tables and numbers."""
        parameters = np.empty((*tables.shape[:2], model.groups))
        size = max(1, BATCH // max(model.groups, 1))
        for chain in range(tables.shape[0]):
            for begin in range(0, tables.shape[1], size):
                part = (chain, slice(begin, begin + size))
                parameters[part] = model.draw_parameters(tables[part], numbers[part], generator)
        return cls(sampler, tables, parameters, numbers, log_weights, statistics or {})

    @property
    def size(self) -> int:
        """The number of draws, over all chains."""
        return int(self.tables.shape[0] * self.tables.shape[1])


AT_ONCE = 1 << 20
"""Values that are looked at at once."""
FEWEST = 5
"""Weights in a tail that can be fitted."""


class Diagnostics(NamedTuple):
    """What the draws of each number are worth.

    Attributes:
        r_hat: the rank-normalised split R-hat, the larger of that of values and of distances from their
            median; 1 where chains agree, and it should be below 1.01.
        ess_bulk: how many independent draws the middle is worth.
        ess_tail: how many the two ends of the interval are worth, at least.

    """

    r_hat: FloatArray
    ess_bulk: FloatArray
    ess_tail: FloatArray


def diagnostics(values: FloatArray, level: float = 0.9) -> Diagnostics:
    """Return what draws are worth; the ends are those of the middle ``level``."""
    flat = values.reshape(*values.shape[:2], -1)
    step = max(1, AT_ONCE // max(1, flat.shape[0] * flat.shape[1]))
    begins = range(0, flat.shape[2], step)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # sorting lets others run
        parts = list(pool.map(lambda at: _diagnostics(flat[..., at : at + step], level), begins))
    joined = (np.concatenate([np.zeros(0), *(part[at] for part in parts)]) for at in range(3))
    return Diagnostics(*(each.reshape(values.shape[2:]) for each in joined))


def _diagnostics(part: FloatArray, level: float) -> Diagnostics:
    """Numbers come first from here on: each has its draws side by side."""
    chains = np.ascontiguousarray(np.moveaxis(part.astype(np.float64), -1, 0))
    halves = _split(chains)
    scores = _scores(halves)
    folded = _scores(np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True)))
    ends = np.quantile(chains, [(1 - level) / 2, (1 + level) / 2], axis=(1, 2), keepdims=True)
    tails = [_ess(_split((chains <= end).astype(np.float64))) for end in ends]
    return Diagnostics(np.maximum(_r_hat(scores), _r_hat(folded)), _ess(scores), np.minimum(*tails))


def pareto_k(log_weights: FloatArray) -> float:
    """Return the shape k of the tail of weights; infinite where there are too few of them.

    A generalised Pareto law is fitted to the largest min(0.2 S, 3 sqrt(S)) of S weights, by an average over
    a grid of values, and drawn to 0.5 by the weight of ten observations [vehtari2024].
    """
    size = log_weights.size
    tail = int(np.ceil(min(0.2 * size, 3 * np.sqrt(size))))
    if tail < FEWEST or size <= tail:
        return float("inf")
    weights = np.sort(np.exp(log_weights - log_weights.max()))
    over = weights[-tail:] - weights[-tail - 1]
    over = over[over > 0]
    if over.size == 0 or (over.size >= FEWEST and over[0] == over[-1]):
        return 0.0  # many equal ones are the largest: they are bounded
    if over.size < FEWEST:
        return float("inf")
    return _generalised_pareto(over)


def _generalised_pareto(over: FloatArray) -> float:
    """Return the shape of exceedances in ascending order [zhang2009]."""
    size = over.size
    grid = 30 + int(np.sqrt(size))
    quartile = over[int(size / 4 + 0.5) - 1]
    b = 1 / over[-1] + (1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))) / (3 * quartile)
    k = np.log1p(-b[:, None] * over).mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        likelihood = size * (np.log(-b / k) - k - 1)
    likelihood = np.where(np.isfinite(likelihood), likelihood, -np.inf)
    weight = np.exp(likelihood - likelihood.max())
    mean = float((b * weight).sum() / weight.sum())
    shape = float(np.log1p(-mean * over).mean())
    return shape * size / (size + 10) + 5 / (size + 10)


def _split(values: FloatArray) -> FloatArray:
    half = values.shape[2] // 2
    return np.concatenate([values[..., :half], values[..., values.shape[2] - half :]], axis=1)


def _scores(values: FloatArray) -> FloatArray:
    """Return normal scores of the ranks of each number, over all chains; equal values share their ranks."""
    flat = values.reshape(len(values), -1)
    size = flat.shape[1]
    order = np.argsort(flat, axis=1)
    ordered = np.take_along_axis(flat, order, axis=1)
    fresh = np.ones(ordered.shape, dtype=np.bool_)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    place = np.arange(size)
    first = np.maximum.accumulate(np.where(fresh, place, 0), axis=1)
    ending = np.concatenate([fresh[:, 1:], np.ones((len(flat), 1), dtype=np.bool_)], axis=1)
    last = np.minimum.accumulate(np.where(ending, place, size)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(flat.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return np.asarray(ndtri((ranks - 0.375) / (size + 0.25))).reshape(values.shape)


def _r_hat(values: FloatArray) -> FloatArray:
    draws = values.shape[2]
    within = values.var(axis=2, ddof=1).mean(axis=1)
    between = values.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.sqrt((draws - 1) / draws + between / within)
    return np.where((within == 0) & (between == 0), 1.0, found)


def _ess(values: FloatArray) -> FloatArray:
    """Return the effective sample size of each number, by Geyer's initial monotone sequence [geyer1992]."""
    _, chains, draws = values.shape
    centred = values - values.mean(axis=2, keepdims=True)
    length = next_fast_len(2 * draws, real=True)
    spectrum = rfft(centred, length, axis=2)
    autocovariance = irfft(np.abs(spectrum) ** 2, length, axis=2)[..., :draws] / draws
    within = (autocovariance[..., 0] * draws / (draws - 1)).mean(axis=1)
    plus = within * (draws - 1) / draws
    if chains > 1:
        plus = plus + values.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1 - (within[:, None] - autocovariance.mean(axis=1)) / plus[:, None]
    correlation[:, 0] = 1.0
    pairs = correlation[:, : 2 * (draws // 2)].reshape(len(values), -1, 2).sum(axis=2)
    count = pairs.shape[1]
    cut = np.where((pairs > 0).all(axis=1), count, (pairs <= 0).argmax(axis=1))
    kept = np.arange(count) < cut[:, None]
    monotone = np.minimum.accumulate(np.where(kept, pairs, np.inf), axis=1)
    time = -1 + 2 * np.where(kept, monotone, 0.0).sum(axis=1)
    # a correlation after the last pair may still be positive: it counts once
    after = np.take_along_axis(correlation, np.clip(2 * cut, 0, draws - 1)[:, None], axis=1)[:, 0]
    time = time + np.maximum(np.where(cut < count, after, 0.0), 0.0)
    size = chains * draws
    time = np.maximum(time, 1 / np.log10(size))
    return np.where(plus == 0, float(size), size / time)
