from fractions import Fraction

import numpy as np
import pytest

from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice import laplace_total
from holdfast.sampling.lattice.laplace_total import OneTotal
from holdfast.testing.goodness import LEVEL, lattice_law, p_value


@pytest.mark.parametrize("bits", [64, 7, 3])
def test_few_bits_give_the_same_law_through_refinement(bits: int) -> None:
    draws = OneTotal(3, Fraction(3, 4), bits=bits).sample(SeededEntropy(5), 20_000)
    assert p_value(draws, lattice_law(np.ones((1, 3), dtype=np.int64), 0.75, "l1", 40)) > LEVEL


def test_a_wide_law_drawn_by_rejection_agrees_with_compositions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace_total, "MAX_TABLE", 1)
    draws = OneTotal(3, Fraction(3, 4)).sample(SeededEntropy(5), 20_000)
    assert p_value(draws, lattice_law(np.ones((1, 3), dtype=np.int64), 0.75, "l1", 40)) > LEVEL


def test_many_cells_start_far_from_zero_and_sum_to_zero() -> None:
    law = OneTotal(5000, Fraction(1, 4))
    draws = law.sample(SeededEntropy(1), 40)
    assert not draws.sum(axis=1).any()
    # E|z| for a free double geometric at 1/4 is 3.96; one total hardly matters at 5,000 cells.
    assert abs(np.abs(draws).mean() - 3.96) < 0.05
