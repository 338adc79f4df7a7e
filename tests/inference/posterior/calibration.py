"""Simulation-based calibration [talts2018]: is a sampler's posterior the posterior?

Parameters are drawn from the prior, a release is drawn given them, and draws are made from the posterior
given the release. The rank of each true number among L independent draws is then uniform on 0, ..., L. It is
tested by chi-square. Numbers that may be equal get random places among equals.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from holdfast.inference.posterior.draws import Draws

Floats = NDArray[np.float64]
DRAWS = 15
"""L: ranks fall into L + 1 classes."""

Replicate = Callable[[np.random.Generator], tuple[Floats, Floats]]
"""Returns true numbers, and draws x numbers from their posterior."""


def ranks(replicate: Replicate, replicates: int, seed: int) -> NDArray[np.int64]:
    """Return the rank of each true number, one replicate a row."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(replicates):
        truth, drawn = replicate(generator)
        assert len(drawn) == DRAWS
        below = (drawn < truth).sum(axis=0)
        equal = (drawn == truth).sum(axis=0)
        found.append(below + generator.integers(0, equal + 1))
    return np.array(found)


def p_values(found: NDArray[np.int64]) -> list[float]:
    """Return the p-value of uniform ranks, for each number."""
    return [float(stats.chisquare(np.bincount(each, minlength=DRAWS + 1)).pvalue) for each in found.T]


def numbers_of(drawn: Draws) -> Floats:
    """Return parameters, numbers of the prior and counts of all draws, one draw a row."""
    parts = (drawn.parameters, drawn.numbers, drawn.tables.astype(np.float64))
    size = drawn.size
    return np.concatenate([part.reshape(size, -1) for part in parts], axis=1)
