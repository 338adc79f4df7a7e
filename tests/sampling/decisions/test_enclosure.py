from fractions import Fraction

import flint
from hypothesis import given
from hypothesis import strategies as st

from holdfast.sampling.decisions import exp_of_minus, floor_of, is_below, real
from holdfast.sampling.entropy import SeededEntropy

positive = st.fractions(min_value=Fraction(1, 1000), max_value=40)


@given(positive, st.integers(1, 200))
def test_an_enclosure_holds_the_number_and_is_narrow(exponent: Fraction, bits: int) -> None:
    low, high = real(lambda: exp_of_minus(exponent))(bits)
    with flint.ctx.workprec(2000):
        scaled = exp_of_minus(exponent) * flint.arb(2) ** bits
        assert low <= scaled
        assert scaled <= high
    assert high - low <= 2


@given(positive, st.integers(1, 100))
def test_floor_is_the_floor(exponent: Fraction, bits: int) -> None:
    floor = floor_of(real(lambda: exp_of_minus(exponent)), bits)
    with flint.ctx.workprec(2000):
        scaled = exp_of_minus(exponent) * flint.arb(2) ** bits
        assert floor <= scaled
        assert scaled < floor + 1


def test_an_undecided_word_is_refined_to_the_right_share() -> None:
    # p = exp(-1) lies in the cell [floor, floor + 1) / 4 of a two-bit word: inside that cell heads must
    # come up with the rest of p, frac(4 p) = 0.4715. Level: 4.5 standard deviations of 20,000 tosses.
    number = real(lambda: exp_of_minus(Fraction(1)))
    entropy = SeededEntropy(5)
    heads = sum(is_below(1, 2, number, entropy) for _ in range(20_000))
    rest = 4 * 0.36787944117144233 - 1
    assert abs(heads / 20_000 - rest) < 4.5 * (0.25 / 20_000) ** 0.5


def test_a_certain_word_takes_no_further_bits() -> None:
    class Empty:
        secure = False

        def words(self, size: int) -> None:
            raise AssertionError("no bits were needed")

    number = real(lambda: exp_of_minus(Fraction(1)))
    assert is_below(0, 2, number, Empty())  # type: ignore[arg-type]
    assert not is_below(3, 2, number, Empty())  # type: ignore[arg-type]
