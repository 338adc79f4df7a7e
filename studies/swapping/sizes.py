"""A law of household sizes with a given mean, for counties whose sizes are not among the data.

One household in 14 is one person. The others have two persons and a negative binomial number of more, of
shape 16/9; its mean makes up for the rest. Both numbers are chosen so that in Massachusetts, 1940, two-person
households are the most frequent ones and 23.6 percent, as in the slides.
"""

from collections.abc import Sequence

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import Entropy
from studies.swapping.microdata import Floats

ALONE = 1 / 14
SHAPE = 16 / 9
MOST = 80
"""Persons of the largest household; more would come once in 10^17 draws or less."""


def probabilities(mean: float) -> Floats:
    """Return the probabilities of 0, ..., 80 persons."""
    more = (mean - ALONE) / (1 - ALONE) - 2
    failing = more / (SHAPE + more)
    terms = [(1 - ALONE) * (1 - failing) ** SHAPE]
    for k in range(1, MOST - 1):
        terms.append(terms[-1] * failing * (SHAPE + k - 1) / k)
    return np.array([0.0, ALONE, *terms])


def draw(means: Sequence[float], households: IntArray, entropy: Entropy) -> IntArray:
    """Draw sizes for households of one county after those of the other."""
    drawn = []
    for mean, count in zip(means, households.tolist(), strict=True):
        bounds = np.cumsum(probabilities(mean))
        uniform = entropy.words(count) / 2.0**64
        drawn.append(np.minimum(np.searchsorted(bounds, uniform, side="right"), MOST))
    return np.concatenate(drawn).astype(np.int64)
