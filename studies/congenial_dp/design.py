"""The table of [congenial-dp, Section 3]: sex by 23 ages, with three totals kept.

The layout is that of census table P12. Cells run over the ages of women, then over those of men, as in the
paper's row-vectorised table. Kept are the population, the number of women and the number of adults; the
number of women and the paper's proportion say the same, as the population is kept.
"""

from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.privacy.guarantee import Adjacency, Scope
from holdfast.privacy.premises import Premises
from holdfast.sampling.bounded.truncated import TruncatedLaw
from holdfast.universe.universe import Universe

AGES = (
    *("< 5", "6-10", "11-15", "16-17", "18-19", "20", "21", "22-24", "25-29", "30-34", "35-39", "40-44"),
    *("45-49", "50-54", "55-59", "60-61", "62-64", "65-66", "67-69", "70-74", "75-79", "80-84", "85+"),
)
"""As the paper labels them. Census P12 has 5-9, 10-14 and 15-17."""
COLUMNS = len(AGES)
CELLS = 2 * COLUMNS
ADULT_FROM = AGES.index("18-19")

WOMEN = np.repeat([1, 0], COLUMNS).astype(np.int64)
ADULTS = np.tile(np.arange(COLUMNS) >= ADULT_FROM, 2).astype(np.int64)
MATRIX = np.stack([np.ones(CELLS, dtype=np.int64), WOMEN, ADULTS])
"""The invariants, of full rank."""

CONFIDENTIAL = np.array(
    [
        *(8, 6, 3, 6, 4, 4, 4, 8, 5, 7, 7, 6, 1, 5, 4, 4, 9, 6, 2, 8, 8, 8, 7),
        *(3, 4, 5, 8, 6, 4, 5, 5, 5, 6, 10, 7, 3, 2, 5, 11, 6, 4, 7, 4, 5, 3, 8),
    ]
)
"""[congenial-dp, Table 1], top."""
PUBLISHED = np.array(
    [
        *(6, 6, 4, 3, 2, 10, 2, 5, 6, 7, 5, 6, 0, 5, 4, 5, 10, 8, 3, 8, 8, 12, 5),
        *(9, 4, 5, 6, 3, 4, 5, 5, 3, 4, 7, 8, 5, 3, 2, 23, 8, 2, 6, 3, 0, 3, 8),
    ]
)
"""[congenial-dp, Table 1], bottom: the paper's release."""
FREE = (*range(1, 22), *range(23, 45))
"""The cells that the paper's sampler proposes, {2..22, 24..45} counted from 1."""


def conditional_law(counts: IntArray, epsilon: Fraction) -> TruncatedLaw:
    """Return the exact law of double geometric noise given the three totals and counts of at least 0."""
    return TruncatedLaw(csr_array(MATRIX), low=-counts, epsilon=epsilon)


def premises(counts: IntArray, adjacency: Adjacency) -> Premises:
    """Return what a guarantee for a table with these three totals rests on."""
    universe = Universe.of(csr_array(MATRIX), MATRIX @ counts)
    scope = Scope.of(universe, invariants=("population", "women", "adults"), constraints=())
    return Premises.of(universe, scope, adjacency)
