"""How wide an interval must be: the law of a sum of independent discrete noises, each with a coefficient.

Let E = a_1 z_1 + ... + a_n z_n + B, with B the sum of noises that are not listed one by one. All are
symmetric, and none of their characteristic functions is below 0:

    discrete Laplace noise of variance v    1 / (1 + v (1 - cos s)),
    discrete Gaussian noise                 sum over n of exp(-sigma^2 (s - 2 pi n)^2 / 2), by its value at 0.

Wanted is a c with P(|E| <= c) >= level, hardly larger than the least. Where E has few values, they
are listed with their probabilities, one summand after the other, and c is the least; what has a probability
below `NOTHING` is left out and counts as not covered. Else let V be the sum of m independent uniform
variables, so that |V| <= d and |phi_V(t)| <= (m / (d t))^m. Then

    P(|E| <= x + d) >= P(|E + V| <= x) >= G(x) - P(|E + V| > L),
    G(x) = x / L + sum over k >= 1 of phi_E(t_k) phi_V(t_k) 2 sin(t_k x) / (pi k),      t_k = pi k / L,

since G(x) is the probability of [-x, x] for E + V wrapped around to a period of 2 L. Four errors are bounded,
and all of them count as not covered:

    P(|E + V| > L)          is at most 2 E exp(s E) exp(-s (L - d)) for any s > 0; E exp(s z) is at most
                            exp(sigma^2 s^2 / 2) for discrete Gaussian noise [canonne2020] and is
                            1 / (1 - v (cosh s - 1)) for discrete Laplace noise;
    terms beyond k = K      by the bound of phi_V: 2 / (pi m) (m / (d t_K))^m;
    B taken as normal       |phi_B(t) - exp(-v_B t^2 / 2)| <= min(1, t^4 M), M the sum over the noises of B of
                            max(E (b z)^4 / 24, (b^2 v)^2 / 8): both functions differ from 1 - v t^2 / 2 by
                            something between 0 and these, and products of numbers up to 1 by no more than
                            their factors together;
    or B left out           where |B| <= d / 2 but for a small probability, as above.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import ceil, exp, log, log1p, pi, sqrt

import numpy as np

from holdfast.estimation.hierarchy.coefficients import Coefficients
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.topdown.measurements import Measurement

NOTHING = 1e-13
MOST = 1 << 19
"""Atoms that are listed at most."""
ROUNDING = 1e-12
"""How far sums of probabilities may be off."""


def half_width(sums: Sequence[tuple[float, FloatArray]], level: Fraction) -> float | None:
    """Return the least c with P(|E| <= c) >= level for E = sum of a z; None where there are too many atoms.

    Each z has probabilities on -n, ..., n, the same for z and -z.

    >>> half_width([(1.0, np.array([0.25, 0.5, 0.25]))] * 2, Fraction(6, 7))
    1.0
    >>> half_width([(1.0, np.array([0.25, 0.5, 0.25]))] * 2, Fraction(9, 10))
    2.0
    """
    values, chances = np.zeros(1), np.ones(1)
    for size, law in sorted(sums, key=lambda each: -each[0]):
        if values.size * law.size > MOST:
            return None
        reach = len(law) // 2
        values = (values[:, None] + size * np.arange(-reach, reach + 1)).ravel()
        chances = (chances[:, None] * law).ravel()
        some = chances >= NOTHING
        values, chances = values[some], chances[some]
    sizes = np.abs(values)
    order = np.argsort(sizes, kind="stable")
    reached = np.cumsum(chances[order])
    place = int(np.searchsorted(reached, float(level) + ROUNDING))
    return float(sizes[order[place]]) if place < sizes.size else None


SMOOTH = 1 / 64
"""d beside the standard deviation of E: an end is too far by 2 d at most, and about d where E is smooth."""
SPENT = 1 / 100
"""The share of 1 - level that the bounds of errors may take, a quarter each."""
NARROW, TERMS, PERIODS = 0.5, 8, (-2, -1, 1, 2)
"""Sigma^2 below which the characteristic function is summed over noises, and else over periods: both sums
leave out less than 1e-20."""
FIRST, AT_ONCE = 16, 1 << 18
"""Noises that are looked at first, and numbers that are worked on together."""
FAR = 50.0
"""Where hyperbolic cosines are infinite for what they are used for."""
LITTLE = 1e-4
"""A value of the characteristic function that is not told, beside the bound of an error."""
DIGITS = 9
"""Of coefficients: those that differ in later ones are the same."""
MOST_TERMS, MOST_VALUES = 40, 4096
"""Summands, and values of each, whose sum may have few atoms."""


@dataclass(frozen=True, eq=False)
class NoiseSum:
    """A sum of independent noises of some measurements.

    Attributes:
        laws: those of the measurements.
        which: the law of each listed noise.
        size: its coefficient, above 0.
        times: how many noises there are like it.
        rest: the variance of all other noises.
        largest: the largest variance that one of these may have.

    """

    laws: Sequence[Measurement]
    which: IntArray
    size: FloatArray
    times: IntArray
    rest: float = 0.0
    largest: float = 0.0

    @classmethod
    def of(cls, laws: Sequence[Measurement], which: IntArray, found: Coefficients) -> "NoiseSum":
        """Return the sum of noises with some coefficients, those of one law and coefficient together."""
        digits = 10.0 ** (DIGITS - 1 - np.floor(np.log10(found.size)))
        size = np.rint(found.size * digits) / digits
        order = np.lexsort((size, which))
        first = np.ones(size.size, dtype=np.bool_)
        first[1:] = (np.diff(size[order]) != 0) | (np.diff(which[order]) != 0)
        starts = np.flatnonzero(first)
        kept = order[starts]
        times = np.add.reduceat(found.times[order], starts)
        rest, largest = (float(f"{each:.8g}") for each in (found.rest, found.largest))
        return cls(laws, which[kept], size[kept], times, rest, largest)

    @property
    def key(self) -> tuple[bytes, ...]:
        """The same for the same law."""
        parts = self.which, self.size, self.times, np.array([self.rest, self.largest])
        return tuple(part.tobytes() for part in parts)

    @cached_property
    def variance(self) -> float:
        """The variance of the sum."""
        each = np.array([law.variance for law in self.laws])
        return float(self.times @ (self.size**2 * each[self.which])) + self.rest

    def half_width(self, level: Fraction) -> tuple[float, bool] | None:
        """Return a c with P(|E| <= c) >= level, and whether it is the least; None where B is too large."""
        sums = self._few()
        found = None if sums is None else half_width(sums, level)
        if found is not None:
            return found, True
        inverted = self._inverted(level)
        return None if inverted is None else (inverted, False)

    def _few(self) -> list[tuple[float, FloatArray]] | None:
        """Return the law of each summand, None where there are many or not all are listed."""
        if self.rest or self.size.size > MOST_TERMS:
            return None
        found = []
        for size, which, times in zip(self.size, self.which, self.times, strict=True):
            law = self.laws[which].probabilities
            if law.size * times > MOST_VALUES:
                return None
            found.append((float(size), reduce(np.convolve, [law] * int(times))))
        return found

    def _inverted(self, level: Fraction) -> float | None:
        each = float(1 - level) * SPENT / 4
        sigma = sqrt(self.variance)
        d = SMOOTH * sigma
        shift = self._reach(each, only_rest=True) if self.rest else 0.0
        aside = shift <= d / 2  # B is left out, and its size added in the end
        L = self._reach(each, only_rest=False) + d
        m = max(4, round(log(1 / each)))
        K = ceil(m * L / (d * pi) * (2 / (pi * m * each)) ** (1 / m))
        k = np.arange(1, K + 1)
        t = k * (pi / L)
        terms = 2 / (pi * k) * self._transform(t, each * LITTLE) * np.sinc(t * (d / m) / pi) ** m
        spent = 3 * each + 2 * each * LITTLE * (1 + log(K))
        if self.rest and not aside:
            fourth = max(max(law.fourth / (24 * law.variance**2), 1 / 8) for law in self.laws)
            wrong = np.abs(terms) @ np.minimum(1, t**4 * (fourth * self.largest * self.rest))
            if wrong > each:
                return None
            terms = terms * np.exp(-self.rest / 2 * t**2)
        low, high, asked = 0.0, L, float(level) + spent + 1e-12
        for _ in range(60):
            x = (low + high) / 2
            reached = x / L + terms @ np.sin(t * x)
            low, high = (low, x) if reached >= asked else (x, high)
            if high - low <= 1e-6 * sigma:
                break
        return high + d + (shift if self.rest and aside else 0.0)

    def _transform(self, t: FloatArray, least: float) -> FloatArray:
        """Return the characteristic function of the listed noises, or a bound of it that is below ``least``.

        No factor is above 1: once those of the largest parts are small, others are not looked at.
        """
        each = np.array([law.variance for law in self.laws])
        order = np.argsort(-self.times * self.size**2 * each[self.which], kind="stable")
        found, here, begin, some = np.zeros(t.size), np.arange(t.size), 0, FIRST
        while here.size and begin < order.size:
            now = order[begin : begin + some]
            for place in np.unique(self.which[now]):
                mine = now[self.which[now] == place]
                s = np.outer(t[here], self.size[mine])
                found[here] += _log_transform(self.laws[place], s) @ self.times[mine]
            here = here[found[here] > log(least)]
            begin, some = begin + some, max(FIRST, AT_ONCE // max(here.size, 1))
        return np.asarray(np.exp(found))

    def _reach(self, chance: float, *, only_rest: bool) -> float:
        """Return an l with P(|E| > l) <= chance, or the same for B alone."""
        if self.laws[0].noise == "gaussian":  # log E exp(s E) <= w s^2 / 2
            scale = np.array([float(law.scale) for law in self.laws])
            ratio = max(float(law.scale) / law.variance for law in self.laws)
            w = 0.0 if only_rest else float(self.times @ (self.size**2 * scale[self.which]))
            return sqrt(2 * (w + ratio * self.rest) * log(2 / chance))
        s = np.geomspace(0.3, 6, 16) / sqrt(self.rest if only_rest else self.variance)
        total = self._rest_exponent(s) + (0.0 if only_rest else self._exponent(s))
        return float(((total + log(2 / chance)) / s).min())

    def _exponent(self, s: FloatArray) -> FloatArray:
        """Return log E exp(s E) for the listed discrete Laplace noises, infinite where it is."""
        variance = np.array([law.variance for law in self.laws])[self.which]
        u = variance * (np.cosh(np.minimum(np.outer(s, self.size), FAR)) - 1)
        found = -np.log1p(-np.where(u < 1, u, 0)) @ self.times
        return np.where((u < 1).all(axis=1), found, np.inf)

    def _rest_exponent(self, s: FloatArray) -> FloatArray:
        """Return a bound of log E exp(s B): no coefficient b has b^2 v above ``largest``.

        1 - v (cosh s b - 1) >= 1 - v (s b)^2 / 2 cosh(s b), and -log(1 - u) <= u / (1 - u).
        """
        far = sqrt(self.largest / min(law.variance for law in self.laws))
        most = np.cosh(np.minimum(far * s, FAR))
        u = self.largest * s**2 / 2 * most
        left = np.where(u < 1, 1 - u, 1)
        return np.where(u < 1, self.rest * s**2 / 2 * most / left, np.inf)


def _log_transform(law: Measurement, s: FloatArray) -> FloatArray:
    """Return the logarithm of the characteristic function of one noise."""
    if law.noise == "laplace":
        return np.asarray(-np.log1p(law.variance * (1 - np.cos(s))))
    variance = float(law.scale)
    if variance < NARROW:
        weight = [exp(-z * z / (2 * variance)) for z in range(1, TERMS + 1)]
        above = sum(2 * each * np.cos(z * s) for z, each in enumerate(weight, start=1))
        return np.asarray(np.log((1 + above) / (1 + 2 * sum(weight))))
    # the nearest period, and the part of its neighbours beside it
    near = np.abs(np.remainder(s + pi, 2 * pi) - pi)
    beside = sum(np.exp(-variance * 2 * pi * n * (pi * n + near)) for n in PERIODS)
    norm = sum(exp(-variance * 2 * (pi * n) ** 2) for n in PERIODS)
    return np.asarray(-variance / 2 * near**2 + np.log1p(beside) - log1p(norm))
