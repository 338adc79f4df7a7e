"""Both jumps have the law they should have, and land together as often as is possible."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.sampling.chains.cases import double_geometric

from holdfast.sampling.chains.kernel import Jumps
from holdfast.sampling.entropy import SeededEntropy
from holdfast.testing.goodness import LEVEL, p_value

RATE = Fraction(2, 3)
DRAWS = 40_000
SIDE = np.arange(-60, 61)


@pytest.mark.parametrize("ahead", [0, 1, -1, 3, -8])
def test_the_coupling_is_maximal(ahead: int) -> None:
    shift = np.full((DRAWS, 1), ahead)
    one, other = Jumps(RATE).draw_pairs(shift, SeededEntropy(9))
    law = {(int(k),): float(p) for k, p in zip(SIDE, double_geometric(SIDE, RATE), strict=True)}
    assert p_value(one, law) > LEVEL
    assert p_value(other, law) > LEVEL
    together = float(np.minimum(double_geometric(SIDE, RATE), double_geometric(SIDE + ahead, RATE)).sum())
    met = int((one + ahead == other).sum())
    if ahead == 0:
        assert met == DRAWS
    else:
        assert stats.binomtest(met, DRAWS, together).pvalue > LEVEL
