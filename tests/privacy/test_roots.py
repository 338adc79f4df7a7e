from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from holdfast.privacy.roots import ceil_root, floor_root

squares = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9, max_denominator=10**9)


@given(squares)
def test_roots_are_bounds_and_close(square: Fraction) -> None:
    low, high = floor_root(square), ceil_root(square)
    assert low**2 <= square <= high**2
    assert high - low <= high * Fraction(1, 10**11)


@given(squares)
def test_rational_roots_are_exact(root: Fraction) -> None:
    assert floor_root(root**2) == ceil_root(root**2) == root
