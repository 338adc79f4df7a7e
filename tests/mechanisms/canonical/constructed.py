"""Canonical noise for any symmetric tradeoff function [semi-dp, Lemma 36], in floating point: a slow truth.

With c the fixed point f(c) = c, F is linear from c at -1/2 to 1 - c at 1/2, and goes on by

    F(x) = f(1 - F(x + 1))  for x < -1/2,    F(x) = 1 - F(-x)  for x > 1/2.

Upwards the recursion is F(x + 1) = 1 - f(F(x)), as f is its own inverse.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.lattice.arrays import FloatArray
from holdfast.mechanisms.canonical.noise import FARTHEST
from holdfast.privacy.roots import zero
from holdfast.privacy.tradeoff import Tradeoff
from holdfast.sampling.decisions import uniforms
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import GuaranteeError

SYMMETRIC = 1e-9
"""How far f and its inverse may differ by rounding."""


@dataclass(frozen=True)
class Constructed:
    """The canonical noise of [semi-dp, Lemma 36]."""

    f: Tradeoff

    def __post_init__(self) -> None:
        alpha = np.linspace(0.0, 1.0, 257)[1:]
        if np.abs(self.f(alpha) - self.f.inverse()(alpha)).max() > SYMMETRIC:
            raise GuaranteeError(
                "canonical noise is defined for symmetric tradeoff functions only: symmetrise this one first."
            )
        if self.fixed_point >= 0.5 - 1e-15:
            raise GuaranteeError(
                "a budget of zero allows no release at all: no noise is canonical for it, give a larger one."
            )

    @cached_property
    def fixed_point(self) -> float:
        """The c with f(c) = c."""
        if self.f(0.0) == 0:
            return 0.0
        return zero(lambda c: self.f(c) - c, 0.0, 0.5, xtol=1e-16, rtol=1e-15)

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x), from the left half by symmetry."""
        size = np.minimum(np.abs(np.asarray(x, dtype=np.float64)), FARTHEST)
        steps = np.floor(size + 0.5)
        c = self.fixed_point
        lower = c + (1 - 2 * c) * (steps + 0.5 - size)
        upper = c + (1 - 2 * c) * (size + 0.5 - steps)  # 1 - lower, exact near zero
        step, left = 0, steps > 0
        while left.any():
            lower = np.where(left, self.f(upper), lower)
            upper = 1 - lower
            step += 1
            left = (steps > step) & (lower > 0)
        return np.where(x <= 0, lower, 1 - lower)

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return F^-1(u): u is led up to the linear part by the recursion."""
        u = np.asarray(u, dtype=np.float64)
        lower, steps = np.minimum(u, 1 - u), np.zeros(u.shape)
        low = lower < self.fixed_point
        while low.any():
            up = np.where(low, 1 - self.f(lower), lower)
            stuck = low & (up <= lower)  # no mass is left below
            steps = np.where(stuck, np.inf, steps + low)
            lower = up
            low = low & ~stuck & (lower < self.fixed_point)
        size = steps + 0.5 - np.clip((lower - self.fixed_point) / (1 - 2 * self.fixed_point), 0.0, 1.0)
        return np.where(u <= 0.5, -size, size)

    def sample(self, entropy: SeededEntropy, size: int) -> FloatArray:
        """Return draws, which follow F up to rounding."""
        return self.quantile(uniforms(entropy.words(size)))
