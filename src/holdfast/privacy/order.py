"""Comparing intensities, and turning one standard into another where a theorem allows it.

Irrational results are rounded towards less privacy: a positive answer and a converted intensity stay true.
"""

from fractions import Fraction
from math import ceil
from typing import TypeVar

from holdfast.privacy.conversion import (
    approximate_to_tradeoff,
    gdp_to_delta,
    gdp_to_tradeoff,
    gdp_to_zcdp,
    pure_to_gdp,
    pure_to_zcdp,
    zcdp_to_delta,
    zcdp_to_tradeoff,
)
from holdfast.privacy.intensity import (
    Approximate,
    Functional,
    GaussianDP,
    GaussianNoise,
    Intensity,
    Pure,
    Standard,
    ZeroConcentrated,
)
from holdfast.privacy.tradeoff import Tradeoff, at_least
from holdfast.system.errors import GuaranteeError

SLACK = 1 + 1e-9
"""Covers the rounding of a conversion in floats many times over."""


def at_least_as_strong(one: Intensity, other: Intensity) -> bool:
    """Whether one intensity implies the other; raises GuaranteeError where no theorem relates them."""
    match other:
        case Approximate():
            return delta_at(one, other.epsilon) <= other.delta
        case Pure():
            return _same(one, Pure, other).epsilon <= other.epsilon
        case ZeroConcentrated():
            return _same(convert(one, "zcdp"), ZeroConcentrated, other).rho <= other.rho
        case GaussianDP():
            return _same(convert(one, "gaussian"), GaussianDP, other).mu <= other.mu
        case Functional(f):
            return at_least(tradeoff(one), f)


def convert(one: Intensity, standard: Standard) -> Intensity:
    """Return the intensity in another standard; raises GuaranteeError where no theorem gives it."""
    match one, standard:
        case Pure(epsilon), "zcdp":
            return ZeroConcentrated(pure_to_zcdp(epsilon).value)
        case Pure(epsilon), "gaussian":
            return GaussianDP(_up(pure_to_gdp(epsilon=float(epsilon)).value))
        case Pure(epsilon), "approximate":
            return Approximate(epsilon, Fraction(0))
        case GaussianNoise(_, mu), "gaussian":
            return GaussianDP(mu)
        case GaussianDP(mu), "zcdp":
            return ZeroConcentrated(gdp_to_zcdp(mu).value)
    if one.standard == standard:
        return one
    if standard == "f":
        return Functional(tradeoff(one))
    raise GuaranteeError(
        f"no theorem turns the standard {one.standard!r} into {standard!r}: compare both as approximate"
        " guarantees at one epsilon."
    )


def delta_at(one: Intensity, epsilon: Fraction) -> Fraction:
    """Return a delta for which an intensity implies (epsilon, delta)."""
    at = float(epsilon)
    match one:
        case Pure(own) if own <= epsilon:
            return Fraction(0)
        case Approximate(own, delta) if own <= epsilon:
            return delta
        case Pure(own):
            return _up(approximate_to_tradeoff(epsilon=float(own)).delta_at(at))
        case Approximate(own, delta):
            return _up(approximate_to_tradeoff(epsilon=float(own), delta=float(delta)).delta_at(at))
        case GaussianNoise(rho, mu):
            both = zcdp_to_delta(rho=float(rho), epsilon=at), gdp_to_delta(mu=float(mu), epsilon=at)
            return _up(min(bound.value for bound in both))
        case ZeroConcentrated(rho):
            return _up(zcdp_to_delta(rho=float(rho), epsilon=at).value)
        case GaussianDP(mu):
            return _up(gdp_to_delta(mu=float(mu), epsilon=at).value)
        case Functional(f):
            return _up(f.delta_at(at))


def tradeoff(one: Intensity) -> Tradeoff:
    """Return what an intensity says of the tradeoff function: a lower bound."""
    match one:
        case Pure(epsilon):
            return approximate_to_tradeoff(epsilon=float(epsilon))
        case Approximate(epsilon, delta):
            return approximate_to_tradeoff(epsilon=float(epsilon), delta=float(delta))
        case GaussianNoise(_, mu):
            return gdp_to_tradeoff(mu=float(mu))
        case ZeroConcentrated(rho):
            return zcdp_to_tradeoff(rho=float(rho))
        case GaussianDP(mu):
            return gdp_to_tradeoff(mu=float(mu))
        case Functional(f):
            return f


IntensityT = TypeVar("IntensityT", Pure, ZeroConcentrated, GaussianDP)


def _same(one: Intensity, kind: type[IntensityT], other: Intensity) -> IntensityT:
    if isinstance(one, kind):
        return one
    raise GuaranteeError(
        f"no theorem turns the standard {one.standard!r} into {other.standard!r}: compare both as"
        " approximate guarantees at one epsilon."
    )


def _up(value: float) -> Fraction:
    """Return a rational a little above a float."""
    exact = Fraction(value) * Fraction(SLACK)
    return Fraction(ceil(exact * 10**15), 10**15) if exact > Fraction(1, 10**6) else exact
