"""One target in the standards of several mechanisms.

A mechanism meets targets of its own standard. For another standard the target is turned into the nearest
intensity that a theorem gives: one that implies the target, or where there is none, a weaker one. No Gaussian
noise meets a pure epsilon; it is held to the same epsilon at the small DELTA. The sentence with it says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from scipy.special import log_ndtr

from holdfast.privacy.conversion import gdp_to_zcdp, gdp_within, largest_rho
from holdfast.privacy.intensity import (
    Approximate,
    Functional,
    GaussianDP,
    Intensity,
    Pure,
    Standard,
    ZeroConcentrated,
)
from holdfast.privacy.roots import down, floor_root
from holdfast.system.text import rational, rounded_up

DELTA = Fraction(1, 10**5)
"""Beside which Gaussian noise is held to a pure epsilon."""


@dataclass(frozen=True)
class Terms:
    """An intensity for a target, and how the target was turned into it; None where it is the target."""

    intensity: Intensity
    converted: str | None = None


def terms_for(standards: Sequence[Standard], target: Intensity, *, bounded: bool) -> Terms:
    """Return a target in the first standard of a mechanism; its own where the mechanism meets that.

    Noise that is kept within bounds is pure: no theorem covers the Gaussian there.
    """
    if target.standard in standards and not (bounded and "pure" in standards):
        return Terms(target)
    match standards[0]:
        case "pure":
            return pure_terms(target)
        case "gaussian":
            return gaussian_terms(target)
    return zcdp_terms(target)


def pure_terms(target: Intensity) -> Terms:
    """Return the largest epsilon that implies the target.

    Rho follows from epsilon^2 / 2 <= rho [bun2016, Proposition 1.4]; mu from the corner of the tradeoff
    function, e^epsilon <= Phi(mu / 2) / Phi(-mu / 2) [liu2022].
    """
    match target:
        case Pure():
            return Terms(target)
        case Approximate(epsilon, _):
            found = Pure(epsilon)
        case ZeroConcentrated(rho):
            found = Pure(floor_root(2 * rho))
        case GaussianDP(mu):
            half = float(mu) / 2
            found = Pure(down(float(log_ndtr(half) - log_ndtr(-half))))
        case Functional():
            raise TypeError("a spec has no tradeoff function for a target")
    return Terms(
        found, f"converted: {format_intensity(found)} implies {format_intensity(target)} and is stronger"
    )


def zcdp_terms(target: Intensity) -> Terms:
    """Return the largest rho that implies the target, or the rho that it implies."""
    match target:
        case ZeroConcentrated():
            return Terms(target)
        case Approximate(epsilon, delta):
            found = ZeroConcentrated(largest_rho(epsilon=epsilon, delta=delta))
            return Terms(found, f"converted: {format_intensity(found)} implies {format_intensity(target)}")
        case Pure(epsilon):
            return _instead(target, zcdp_terms(Approximate(epsilon, DELTA)).intensity)
        case GaussianDP(mu):
            found = ZeroConcentrated(gdp_to_zcdp(mu).value)
            weaker = (
                f"converted: {format_intensity(target)} implies {format_intensity(found)}, which is weaker"
            )
            return Terms(found, weaker)
        case Functional():
            raise TypeError("a spec has no tradeoff function for a target")


def gaussian_terms(target: Intensity) -> Terms:
    """Return the largest mu that implies the target, or the epsilon of a pure one at DELTA."""
    match target:
        case GaussianDP():
            return Terms(target)
        case ZeroConcentrated(rho):
            mu = GaussianDP(floor_root(2 * rho))
            return Terms(
                mu, f"converted: {format_intensity(mu)} implies {format_intensity(target)} and is stronger"
            )
        case Approximate(epsilon, delta):
            mu = GaussianDP(down(gdp_within(epsilon=float(epsilon), delta=float(delta)).value))
            return Terms(mu, f"converted: {format_intensity(mu)} implies {format_intensity(target)}")
        case Pure(epsilon):
            return _instead(target, gaussian_terms(Approximate(epsilon, DELTA)).intensity)
        case Functional():
            raise TypeError("a spec has no tradeoff function for a target")


def format_intensity(intensity: Intensity, write: Callable[[Fraction], str] = rational) -> str:
    """Return an intensity in words.

    >>> format_intensity(Pure(Fraction(1))), format_intensity(ZeroConcentrated(Fraction(1, 2)))
    ('pure epsilon 1', 'rho 0.5 (1/2)')
    """
    words = [f"{name} {write(value)}" for name, value in intensity.parameters().items()]
    return ("pure " if isinstance(intensity, Pure) else "") + " and ".join(words)


def rounded_intensity(intensity: Intensity) -> str:
    """Return an intensity in words, long numbers rounded up: no less than what is lost.

    >>> rounded_intensity(Pure(Fraction("4.999999999316")))
    'pure epsilon 5'
    >>> rounded_intensity(ZeroConcentrated(Fraction("0.224249167")))
    'rho 0.2243'
    """
    return format_intensity(intensity, rounded_up)


def beside_pure(target: Intensity) -> str:
    """Say what the rho that stands for a pure epsilon is worth; the rho itself is told elsewhere, in full.

    >>> beside_pure(Pure(Fraction("4.999999999316")))
    'converted: this rho implies epsilon 5 and delta 1e-05, which is weaker than pure epsilon 5'
    """
    if not isinstance(target, Pure):
        raise TypeError("a swap is held to a pure epsilon")
    at = rounded_intensity(Approximate(target.epsilon, DELTA))
    return f"converted: this rho implies {at}, which is weaker than {rounded_intensity(target)}"


def _instead(target: Pure, found: Intensity) -> Terms:
    """Return what stands for a pure epsilon: the same epsilon at a small delta."""
    at = format_intensity(Approximate(target.epsilon, DELTA))
    return Terms(
        found,
        f"converted: {format_intensity(found)} implies {at}, which is weaker than {format_intensity(target)}",
    )
