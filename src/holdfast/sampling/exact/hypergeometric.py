"""The hypergeometric law, exactly: successes among draws without replacement.

P(k) = C(K, k) C(N - K, n - k) / C(N, n), and the ratio

    P(k + 1) / P(k)  =  (K - k)(n - k) / ((k + 1)(N - K - n + k + 1))

falls with k. From the mode outwards each weight follows from the one before by a division of integers,
rounded down for the lower and up for the upper enclosure, so no binomial coefficient is ever formed and
the work does not grow with the population but with the law's spread.
"""

from collections.abc import Iterator
from functools import partial
from math import isqrt

from holdfast.errors import SamplingError
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.enclosure import Enclosure
from holdfast.sampling.exact.inversion import MAX_TABLE, WORD_BITS, Integers, Inversion
from holdfast.sampling.exact.log_concave import LogConcave

SPARE_BITS = 32
"""Roundings add up along the way; these bits keep what they add up to below one unit."""


class Hypergeometric:
    """How many of ``draws`` out of ``population`` fall on its ``successes``."""

    def __init__(self, population: int, successes: int, draws: int, *, bits: int = WORD_BITS) -> None:
        if not (0 <= successes <= population and 0 <= draws <= population):
            raise SamplingError(
                f"{draws} draws and {successes} successes do not both fit a population of {population}."
            )
        self._population, self._successes, self._draws = population, successes, draws
        deviation = self._deviation()
        if 16 * deviation > MAX_TABLE:  # 32 bits reach some seven deviations on both sides
            raise SamplingError(
                f"a hypergeometric law with a standard deviation of {deviation} is too wide for one table."
            )
        mode = (draws + 1) * (successes + 1) // (population + 2)
        law = LogConcave(mode, above=partial(self._up, mode), below=partial(self._down, mode))
        self._inversion = Inversion(law.cdf, bits=bits, start=mode, lowest=None)

    def draw(self, entropy: Entropy, size: int) -> Integers:
        """Return ``size`` independent draws."""
        return self._inversion.draw(entropy, size)

    def _deviation(self) -> int:
        n, k, m = self._population, self._successes, self._draws
        return isqrt(m * k * (n - k) * (n - m) // max(n * n * (n - 1), 1))

    def _ratio(self, k: int) -> tuple[int, int]:
        """Return P(k + 1) / P(k) as a numerator and a denominator."""
        others = self._population - self._successes - self._draws
        return (self._successes - k) * (self._draws - k), (k + 1) * (others + k + 1)

    def _up(self, k: int, bits: int) -> Iterator[Enclosure]:
        low = high = 1 << (bits + SPARE_BITS)
        while (ratio := self._ratio(k))[0]:
            low, high = _times(low, high, *ratio)
            yield low >> SPARE_BITS, -(-high >> SPARE_BITS)
            k += 1

    def _down(self, k: int, bits: int) -> Iterator[Enclosure]:
        low = high = 1 << (bits + SPARE_BITS)
        while (ratio := self._ratio(k - 1))[1]:
            low, high = _times(low, high, ratio[1], ratio[0])
            yield low >> SPARE_BITS, -(-high >> SPARE_BITS)
            k -= 1


def _times(low: int, high: int, numerator: int, denominator: int) -> Enclosure:
    return low * numerator // denominator, -(-high * numerator // denominator)
