"""The hypergeometric law, exactly: successes among draws without replacement.

P(k) = C(K, k) C(N - K, n - k) / C(N, n), and the ratio

    P(k + 1) / P(k)  =  (K - k)(n - k) / ((k + 1)(N - K - n + k + 1))

falls with k: the law is log-concave, and drawn without ever forming a binomial coefficient.
"""

from math import isqrt

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.inversion import MAX_TABLE, WORD_BITS, Inversion
from holdfast.sampling.numbers.log_concave import LogConcave


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
        self._inversion = Inversion(LogConcave.by_ratio(mode, self._ratio).cdf, bits=bits, around=mode)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws."""
        return self._inversion.sample(entropy, size)

    def _deviation(self) -> int:
        n, k, m = self._population, self._successes, self._draws
        return isqrt(m * k * (n - k) * (n - m) // max(n * n * (n - 1), 1))

    def _ratio(self, k: int) -> tuple[int, int]:
        others = self._population - self._successes - self._draws
        return (self._successes - k) * (self._draws - k), (k + 1) * (others + k + 1)
