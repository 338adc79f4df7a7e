"""Standards and intensities: how outputs are compared, and how far apart they may be.

Parameters are exact rationals; where a formula is irrational the result is rounded towards less privacy,
so that it stays true. Each intensity can be weakened to datasets k steps apart, and intensities of one
standard can be added up over releases.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log10
from typing import ClassVar, Literal, TypeVar

import flint

from holdfast.privacy.integer_gaussian import mu_per_record
from holdfast.privacy.roots import ceil_root
from holdfast.privacy.tradeoff import Tradeoff, group, tensor
from holdfast.system.errors import GuaranteeError

Standard = Literal["pure", "approximate", "zcdp", "gaussian", "f"]


@dataclass(frozen=True)
class Pure:
    """No output is more than exp(epsilon) times as likely."""

    epsilon: Fraction

    standard: ClassVar[Standard] = "pure"

    def group(self, k: int) -> "Pure":
        """Return the intensity for datasets k steps apart: k epsilon."""
        return Pure(k * self.epsilon)

    def parameters(self) -> dict[str, Fraction]:
        """Return the numbers by name."""
        return {"epsilon": self.epsilon}


@dataclass(frozen=True)
class Approximate:
    """As pure, but for a probability of delta."""

    epsilon: Fraction
    delta: Fraction

    standard: ClassVar[Standard] = "approximate"

    def group(self, k: int) -> "Approximate":
        """Return (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))), delta rounded up.

        The sum unrolls the definition k times; it is capped at 1, where it says nothing.
        """
        with flint.ctx.workprec(256):
            step = flint.arb(self.epsilon.numerator) / self.epsilon.denominator
            growth = sum(((step * j).exp() for j in range(k)), flint.arb(0))
            delta = growth * self.delta.numerator / self.delta.denominator
            return Approximate(
                k * self.epsilon, Fraction(1) if delta >= 1 else min(_round_up(delta), Fraction(1))
            )

    def parameters(self) -> dict[str, Fraction]:
        """Return the numbers by name."""
        return {"epsilon": self.epsilon, "delta": self.delta}


@dataclass(frozen=True)
class ZeroConcentrated:
    """Renyi divergences of every order alpha are at most rho alpha [bun2016]."""

    rho: Fraction

    standard: ClassVar[Standard] = "zcdp"

    def group(self, k: int) -> "ZeroConcentrated":
        """Return k^2 rho [semi-dp, Lemma 39]."""
        return ZeroConcentrated(k * k * self.rho)

    def parameters(self) -> dict[str, Fraction]:
        """Return the numbers by name."""
        return {"rho": self.rho}


@dataclass(frozen=True)
class GaussianNoise(ZeroConcentrated):
    """What integer Gaussian noise loses, of which more is known than rho: it is mu-GDP, too [theory, 13].

    Rho is what it states; mu is never more than that of all of rho together, and less where the noise is of
    several parts.
    """

    mu: Fraction

    @classmethod
    def of(cls, rho: Fraction, longest: int | None = 1) -> "GaussianNoise":
        """Return the loss of noise of which nothing but rho is known, ``longest`` as for `mu_per_record`."""
        return cls(rho, mu_per_record(rho, longest))

    def group(self, k: int) -> "GaussianNoise":
        """Return k^2 rho and k mu [semi-dp, Lemma 39; dong2022, Theorem 2.14]."""
        return GaussianNoise(k * k * self.rho, k * self.mu)


@dataclass(frozen=True)
class GaussianDP:
    """Telling two outputs apart is no easier than telling N(0, 1) from N(mu, 1) [dong2022]."""

    mu: Fraction

    standard: ClassVar[Standard] = "gaussian"

    def group(self, k: int) -> "GaussianDP":
        """Return k mu [dong2022, Theorem 2.14]."""
        return GaussianDP(k * self.mu)

    def parameters(self) -> dict[str, Fraction]:
        """Return the numbers by name."""
        return {"mu": self.mu}


@dataclass(frozen=True)
class Functional:
    """Any tradeoff function f: telling two outputs apart errs at least as much as f says [dong2022]."""

    f: Tradeoff

    standard: ClassVar[Standard] = "f"

    def group(self, k: int) -> "Functional":
        """Return f composed k times [semi-dp, Proposition 15]."""
        return Functional(group(self.f, k))

    def parameters(self) -> dict[str, Fraction]:
        """Return nothing: a function is no list of numbers."""
        return {}


Intensity = Pure | Approximate | ZeroConcentrated | GaussianDP | Functional


def total(intensities: Sequence[Intensity]) -> Intensity:
    """Return the intensity of several releases together, in the one standard they share.

    Pure and approximate parameters add up; rho adds up [bun2016, Lemma 1.7]; mu adds up in squares
    [dong2022, Corollary 3.3], rounded up where the root is irrational; functions by their tensor product.
    """
    first = intensities[0]
    match first:
        case Pure():
            return Pure(sum((i.epsilon for i in _all(intensities, Pure)), Fraction(0)))
        case Approximate():
            parts = _all(intensities, Approximate)
            delta = sum((i.delta for i in parts), Fraction(0))
            return Approximate(sum((i.epsilon for i in parts), Fraction(0)), min(delta, Fraction(1)))
        case GaussianNoise() if all(isinstance(i, GaussianNoise) for i in intensities):
            noise = _all(intensities, GaussianNoise)
            rho = sum((i.rho for i in noise), Fraction(0))
            return GaussianNoise(rho, ceil_root(sum((i.mu**2 for i in noise), Fraction(0))))
        case ZeroConcentrated():
            return ZeroConcentrated(sum((i.rho for i in _all(intensities, ZeroConcentrated)), Fraction(0)))
        case GaussianDP():
            return GaussianDP(ceil_root(sum((i.mu**2 for i in _all(intensities, GaussianDP)), Fraction(0))))
        case Functional():
            return Functional(tensor(*(i.f for i in _all(intensities, Functional))))


IntensityT = TypeVar("IntensityT", Pure, Approximate, ZeroConcentrated, GaussianNoise, GaussianDP, Functional)


def _all(intensities: Sequence[Intensity], kind: type[IntensityT]) -> list[IntensityT]:
    same = [i for i in intensities if isinstance(i, kind)]
    if len(same) < len(intensities):
        names = ", ".join(sorted({i.standard for i in intensities}))
        raise GuaranteeError(
            f"guarantees of different standards ({names}) do not add up: convert them first."
        )
    return same


def _round_up(ball: flint.arb) -> Fraction:
    """Return a rational just above a ball below 1, to twelve significant digits."""
    scale = 10 ** (12 - int(log10(max(float(ball.upper()), 1e-300))))
    ceiling = (ball * scale).upper().ceil().unique_fmpz()
    if ceiling is None:
        raise ArithmeticError("an intensity is not finite")
    return Fraction(int(ceiling), scale)
