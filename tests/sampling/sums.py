"""Independent laws of sums of cells, by Fourier inversion, and what draws say of them.

The sum of n independent cells has the n-th power of a cell's characteristic function. Inverted on a circle of
many more points than the sum reaches, that is its law, whatever n is: no weight is ever formed, so nothing
can overflow as in a table of weights.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq

from holdfast.testing.goodness import LEVEL

Floats = NDArray[np.float64]
CLASSES = 8
WRONG = (0.75, 1.33)
"""Wrong rates, on both sides, that draws must tell from the right one."""


def laplace_sum(cells: int, rate: float) -> Floats:
    """Return P(sum = t) for t = -N/2, ..., N/2 - 1, of cells with P(z) prop. to exp(-rate |z|)."""
    a = np.exp(-rate)
    size = _circle((2 * cells * a) ** 0.5 / (1 - a) + 1 / rate)
    angle = 2 * np.pi * np.arange(size // 2 + 1) / size
    return _power((1 - a) ** 2 / (1 - 2 * a * np.cos(angle) + a * a), cells, size)


def gaussian_sum(cells: int, sigma: float) -> Floats:
    """Return P(sum = t) for t = -N/2, ..., N/2 - 1, of cells with P(z) prop. to exp(-z^2 / (2 sigma^2))."""
    size = _circle(sigma * cells**0.5 + 1)
    z = np.arange(size) - size // 2
    weights = np.exp(-(z**2) / (2 * sigma**2))
    return _power(np.fft.rfft(np.fft.ifftshift(weights / weights.sum())).real, cells, size)


def bounded_halves(lows: NDArray[np.int64], rate: float) -> Floats:
    """Return P(first half of the cells sums to t, all to 0) for cells with weights exp(-rate |z|), z >= low.

    Cells that must not fall low are pushed up, and a sum of 0 would be too rare to be seen in floats. Weights
    times exp(-tilt z) have the same law given that sum, and the tilt is chosen to make 0 the mean.
    """
    reach = 60 / rate
    z = np.arange(-int(reach), int(reach) + 1)

    def cell(low: int, tilt: float) -> Floats:
        exponents = np.where(z >= low, -rate * np.abs(z) - tilt * z, -np.inf)
        weights = np.exp(exponents - exponents.max())
        return np.asarray(weights / weights.sum())

    kinds, counts = np.unique(lows, return_counts=True)

    def mean(tilt: float) -> float:
        return float(sum(n * (cell(low, tilt) @ z) for low, n in zip(kinds, counts, strict=True)))

    tilt = float(brentq(mean, -0.9 * rate, 40.0))
    size = _circle((2 * lows.size) ** 0.5 / rate + 1 / rate)
    size = max(size, 1 << int(np.ceil(np.log2(2 * z.size))))

    def half(part: NDArray[np.int64]) -> Floats:
        transform = np.ones(size // 2 + 1, dtype=np.complex128)
        for low, count in zip(*np.unique(part, return_counts=True), strict=True):
            circle = np.zeros(size)
            circle[z % size] = cell(low, tilt)
            transform *= np.fft.rfft(circle) ** count
        return np.maximum(np.fft.fftshift(np.fft.irfft(transform, size)), 0)

    first, second = (half(part) for part in np.split(lows, [lows.size // 2]))
    return product(first, np.roll(second[::-1], 1))


def _circle(deviation: float) -> int:
    return 1 << int(np.ceil(np.log2(40 * deviation)))


def _power(transform: Floats, cells: int, size: int) -> Floats:
    return np.maximum(np.fft.fftshift(np.fft.irfft(transform**cells, size)), 0)


def product(*laws: Floats) -> Floats:
    """Return the law with the product of the probabilities of all laws, each centred at t = 0."""
    width = min(law.size for law in laws)
    parts = [law[(law.size - width) // 2 : (law.size + width) // 2] for law in laws]
    weights = np.prod([part / part.max() for part in parts], axis=0)
    return np.asarray(weights / weights.sum())


def p_value(sums: NDArray[np.int64], law: Floats) -> float:
    """Return the chi-square p-value of sums under a law centred at t = 0, in classes of like probability."""
    cdf = np.cumsum(law)
    last = np.unique(np.searchsorted(cdf, np.arange(1, CLASSES) / CLASSES))
    expected = np.diff(np.concatenate([[0.0], cdf[last], [1.0]])) * sums.size
    observed = np.bincount(np.searchsorted(last, sums + law.size // 2), minlength=last.size + 1)
    return float(stats.chisquare(observed, expected * (sums.size / expected.sum())).pvalue)


def check_sums(sums: NDArray[np.int64], law: Callable[[float], Floats], tests: int) -> None:
    """Assert that sums follow ``law(1)``, at the level over so many tests, and that wrong scales do not."""
    assert p_value(sums, law(1.0)) > LEVEL / tests
    for wrong in WRONG:
        assert p_value(sums, law(wrong)) < LEVEL / tests


def check_identity(
    draws: NDArray[np.int64],
    moves: NDArray[np.int64],
    log_prob: Callable[[NDArray[np.int64]], Floats],
    tests: int,
) -> None:
    """Assert E[q(z + u) / q(z)] = 1, averaged over moves u, and not so for wrong scales [theory, 6].

    ``log_prob`` is that of the right law; wrong ones have multiples of it. The mean over draws is compared
    with 1 in its own standard errors, at the level over so many tests.
    """
    gain = np.stack([log_prob(draws + move) - log_prob(draws) for move in moves])
    limit = float(stats.norm.isf(LEVEL / tests / 2))
    assert abs(_surplus(gain)) < limit
    for wrong in WRONG:
        assert abs(_surplus(wrong * gain)) > limit


def _surplus(gain: Floats) -> float:
    ratio = np.exp(gain).mean(axis=0)
    return float((ratio.mean() - 1) / (ratio.std() / ratio.size**0.5))
