"""Floats that decide draws where they are clear, and nowhere else.

A word w of b bits is the beginning of a uniform number u: u lies in [w, w + 1) / 2^b. ``uniforms`` gives one
float for all u that begin like that, and ``blur`` how far from it they may be. A float says whether u is
below a threshold only where the two are farther apart than both can be off (``compare``). What is not finite
raises: a comparison with NaN would be silently false, and a draw silently wrong.
"""

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from holdfast.sampling.entropy import Words

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

BELOW_ONE = 1 - 2.0**-53


def uniforms(words: Words, bits: int = 64) -> Floats:
    """Return a float strictly between 0 and 1 for each word: its middle, rounded.

    The word and its middle are rounded once each, by at most 2^-53 relatively.
    """
    middles = words.astype(np.float64)
    middles += 0.5
    middles *= 2.0**-bits
    return np.minimum(middles, BELOW_ONE, out=middles)


def blur(uniform: Floats, bits: int = 64) -> Floats:
    """Return a bound on |u - uniform| for every u that begins with the word: half a word and the roundings.

    It is at most 2^-50, and larger than the float itself where the word is zero.
    """
    return 2.0**-51 * uniform + 2.0**-bits


def compare(left: Floats, right: Floats | float, margin: Floats | float) -> tuple[Flags, Flags]:
    """Return where left < right, and where that is unsure as they are no farther apart than the margin."""
    gap = right - left
    if not isfinite(float(np.sum(gap)) + float(np.sum(margin))):  # a sum with NaN or infinity is neither
        raise ArithmeticError("a float that would decide a draw is not finite")
    return gap > 0, np.abs(gap) <= margin
