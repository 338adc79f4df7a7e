"""One angle on a grid of the circle, from a step function above a power of phi.

phi(x) = 1 / (1 + sin^2(pi x / N) / sinh^2(epsilon / 2)) on the grid x = -N/2, ..., N/2 - 1 is even and falls
in |x|. For a power b >= 1 the grid is cut into steps, each the integers |x| of 2^j successive values; a step
i is chosen with an integer weight, by the alias method, then |x| uniformly in it, then a sign (minus zero
and what lies beyond the grid is thrown away). So the probability of x is known exactly,
P(x) = weight_i / (2 total 2^j), and log G = max_i (b log phi(first x of step i) - log P_i), rounded up, gives
phi^b <= G P everywhere.

Steps are told from the leading bits of the float |x| + x0: no search is needed.
"""

from fractions import Fraction
from math import asin, ceil, log2, pi, sinh, sqrt

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.entropy import Entropy
from holdfast.system.errors import SamplingError

GRID = 2.0**46
"""N: sums of 64 angles stay exact in floats."""
STEP_BITS = 11
"""Each octave of |x| + x0 has 2^11 steps."""
COLUMN_BITS = 32
SLACK = 2.0**-30


def log_phi(x: FloatArray, epsilon: float) -> FloatArray:
    """Return log phi(x)."""
    wave = np.sin(x * (pi / GRID)) / sinh(epsilon / 2)
    return -np.log1p(wave * wave)


class Angle:
    """Draws of P for one epsilon and one power b, and lookups of log P."""

    def __init__(self, epsilon: Fraction, power: Fraction) -> None:
        rate = float(epsilon)
        # x0 is an eighth of the width at which phi^b has fallen to one half
        wave = sinh(rate / 2) * sqrt(2 ** (1 / float(power)) - 1)
        width = GRID * asin(min(1.0, wave)) / pi
        if width < 2.0 ** (STEP_BITS + 4):
            raise SamplingError("the noise is too wide for a grid of angles.")
        self.x0 = 2.0 ** int(log2(width / 8))
        self._first_bits = int(_bits(np.array([self.x0]))[0])
        steps = int(_bits(np.array([GRID / 2 + self.x0]))[0]) - self._first_bits + 1
        starts = _start(np.arange(steps) + self._first_bits)
        lengths = _start(np.arange(steps) + self._first_bits + 1) - starts
        self.firsts = starts - self.x0
        self.log_phi = log_phi(self.firsts, rate) + SLACK / 64  # at least log phi on the whole step
        self.lengths = lengths.astype(np.int64)
        self.columns = 1 << ceil(log2(steps))
        self.weights = whole_shares(
            np.exp(float(power) * self.log_phi) * lengths, self.columns << COLUMN_BITS
        )
        self._odds, self._other = _alias(self.weights, self.columns)
        total = float(self.columns << COLUMN_BITS)
        self.log_p = np.log(self.weights) - np.log(2.0 * lengths) - np.log(total)
        self.log_g = float((float(power) * self.log_phi - self.log_p).max()) + SLACK

    def sample(self, entropy: Entropy, size: int) -> FloatArray:
        """Return ``size`` draws, those thrown away as NaN."""
        words = entropy.words(size)
        column = (words >> np.uint64(COLUMN_BITS)).astype(np.int64) & (self.columns - 1)
        keep = (words & np.uint64((1 << COLUMN_BITS) - 1)).astype(np.int64) < self._odds[column]
        step = np.where(keep, column, self._other[column])
        words = entropy.words(size)
        within = (words >> np.uint64(1)).astype(np.int64) & (self.lengths[step] - 1)
        x = self.firsts[step] + within
        minus = (words & np.uint64(1)).astype(np.bool_)
        x = np.where(minus, -x, x)
        x[(minus & (x == 0)) | (x >= GRID / 2) | (x < -GRID / 2)] = np.nan
        return x

    def steps(self, x: FloatArray) -> IntArray:
        """Return the step of each grid point."""
        return _bits(np.abs(x) + self.x0) - self._first_bits

    def probability(self, x: int) -> Fraction:
        """Return P(x)."""
        step = int(self.steps(np.array([float(x)]))[0])
        total = 2 * (self.columns << COLUMN_BITS) * int(self.lengths[step])
        return Fraction(int(self.weights[step]), total)


def _bits(t: FloatArray) -> IntArray:
    """Return the exponent and the leading bits of positive floats."""
    return t.view(np.int64) >> (52 - STEP_BITS)


def _start(bits: IntArray) -> FloatArray:
    return (bits << (52 - STEP_BITS)).view(np.float64)


def whole_shares(shares: FloatArray, total: int) -> IntArray:
    """Return positive integers in proportion to shares, rounded up but for the largest, with a given sum."""
    whole = np.maximum(np.ceil(shares / shares.sum() * total).astype(np.int64), 1)
    whole[whole.argmax()] += total - int(whole.sum())
    exact: IntArray = whole
    return exact


def _alias(weights: IntArray, columns: int) -> tuple[IntArray, IntArray]:
    """Return, for columns of equal size, how much of each is its own step, and which step has the rest."""
    size = 1 << COLUMN_BITS
    left = [int(w) for w in weights] + [0] * (columns - weights.size)
    odds, other = np.full(columns, size, dtype=np.int64), np.arange(columns)
    small = [i for i, w in enumerate(left) if w < size]
    large = [i for i, w in enumerate(left) if w >= size]
    while small and large:
        i, j = small.pop(), large[-1]
        odds[i], other[i] = left[i], j
        left[j] -= size - left[i]
        if left[j] < size:
            small.append(large.pop())
    return odds, other
