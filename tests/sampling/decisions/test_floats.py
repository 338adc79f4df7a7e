"""Words as floats: how far off they are, and that nothing is decided by what is not a number."""

from fractions import Fraction

import numpy as np
import pytest

from holdfast.sampling.decisions import blur, compare, uniforms

EDGES = [0, 1, 2, 2**11 - 1, 2**52 + 1, 2**53 - 1, 2**53 + 1, 2**63, 2**63 + 2**10, 2**64 - 2**11, 2**64 - 1]


@pytest.mark.parametrize("bits", [64, 63, 40])
def test_every_number_that_begins_with_a_word_is_within_the_blur(bits: int) -> None:
    words = np.array([word for word in EDGES if word < 2**bits], dtype=np.uint64)
    uniform = uniforms(words, bits)
    assert ((uniform > 0) & (uniform < 1)).all()
    for word, middle, off in zip(words.tolist(), uniform.tolist(), blur(uniform, bits).tolist(), strict=True):
        for end in (Fraction(word, 2**bits), Fraction(word + 1, 2**bits)):
            assert abs(Fraction(middle) - end) <= Fraction(off)


def test_a_zero_word_is_never_clear_of_zero() -> None:
    uniform = uniforms(np.zeros(1, dtype=np.uint64))
    assert compare(uniform, np.array([1e-300]), blur(uniform))[1].all()


def test_what_is_near_is_unsure() -> None:
    below, unsure = compare(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.2, 0.2]), 0.05)
    assert below.tolist() == [True, False, False]
    assert unsure.tolist() == [False, True, False]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_decides_nothing(wrong: float) -> None:
    fine, poisoned = np.array([0.5, 0.5]), np.array([0.5, wrong])
    for arguments in ((poisoned, fine, fine), (fine, poisoned, fine), (fine, fine, poisoned)):
        with pytest.raises(ArithmeticError, match="not finite"):
            compare(*arguments)
