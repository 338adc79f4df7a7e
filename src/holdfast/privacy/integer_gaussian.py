"""What integer Gaussian noise is worth in Gaussian differential privacy [theory, 13].

Let z be drawn on a lattice with probability proportional to exp(-z'Qz / 2), rho = u'Qu / 2 for a difference
u of tables, and phi the normal density. Telling z from z + u is no easier than telling N(0, 1) from N(mu, 1),
with

    exp(-rho) = int_{mu/2}^{3 mu/2} phi / int_{-mu/2}^{mu/2} phi,

in every dimension and for every lattice: mu is sqrt(2 rho) (1 + rho / 12) or little less. Noise of several
tables is noise on the product of their lattices. Ball arithmetic [johansson2017] decides on which side of the
truth a rational is.

**Per record.** Let tables d records apart lose rho d^2 at most. That they are d mu-GDP for every d does not
follow of mu = mu(rho): mu(rho d^2) is more than d mu(rho), and no tables that are one record apart need lead
from one to the other. Where each difference on the lattice is a sum of some with its signs, of at most D
records each, mu(rho D^2) / D will do; as mu(rho)^2 < 8 rho, sqrt(8 rho) always does [theory, 13].
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, log, log10, sqrt

import flint

from holdfast.privacy.claims import claim
from holdfast.privacy.roots import ceil_root, zero

DIGITS = 12
FINE_DIGITS = 15
"""Of a rho, so that the mu that was asked for is stated, and none beside it."""
BITS = 256
HUGE = 1 << 17
"""Beyond it the chances are below what a ball holds; rho is less than 2e-8 above mu^2 / 8, relative to it."""


@lru_cache(maxsize=4096)
def mu_of(rho: Fraction) -> Fraction:
    """Return a mu, the least but for its last digits, for which noise of this rho is mu-GDP.

    >>> float(mu_of(Fraction(1, 32))), float(mu_of(Fraction(2)))
    (0.250655640138, 2.4898363395)
    """
    if rho == 0:
        return Fraction(0)
    root = sqrt(2 * float(rho))
    found = zero(
        lambda mu: float(_rho(Fraction(mu))) - float(rho), root / 2, 3 * root, xtol=1e-300, rtol=1e-14
    )
    step = _step(found, DIGITS)
    mu = max(1, floor(Fraction(found) * (1 - Fraction(1, 10**13)) / step)) * step
    with flint.ctx.workprec(_bits(mu)):
        while not _rho(mu) >= _ball(rho):
            mu += step
    return mu


def rho_within(mu: Fraction) -> Fraction:
    """Return a rho, the largest but for its last digits, of which `mu_of` is at most mu.

    >>> float(rho_within(Fraction(1, 4)))
    0.0310875836813799
    """
    ball = _rho(stated_mu(mu))
    step = _step(float(ball), FINE_DIGITS)
    with flint.ctx.workprec(_bits(mu)):
        steps = (ball / _ball(step)).lower().floor().unique_fmpz()
    if steps is None:
        raise ArithmeticError("the enclosure of a rho is too wide")
    return int(steps) * step


def stated_mu(mu: Fraction) -> Fraction:
    """Return a mu in as many digits as are stated, rounded down.

    >>> stated_mu(Fraction(1, 8)), float(stated_mu(Fraction(1, 3)))
    (Fraction(1, 8), 0.333333333333)
    """
    step = _step(float(mu), DIGITS)
    return floor(mu / step) * step


def mu_per_record(rho: Fraction, longest: int | None) -> Fraction:
    """Return a mu such that tables d apart are d mu-GDP for all d, where they lose at most rho d^2.

    ``longest`` is D, and None where it is not known.

    >>> [float(mu_per_record(Fraction(1, 2), longest)) for longest in (1, 2, None)]
    [1.04667411396, 1.24491816975, 2.0]
    """
    return ceil_root(8 * rho) if longest is None else mu_of(longest**2 * rho) / longest


def rho_per_record(mu: Fraction, longest: int | None) -> Fraction:
    """Return a rho, the largest but for its last digits, of which `mu_per_record` is at most mu."""
    return mu**2 / 8 if longest is None else rho_within(longest * mu) / longest**2


def _step(size: float, digits: int) -> Fraction:
    """Return what the last of so many significant digits counts."""
    return Fraction(10) ** (floor(log10(size)) + 1 - digits)


def _rho(mu: Fraction) -> flint.arb:
    """Return a ball around the rho that belongs to a mu; of a huge one, a lower bound, mu^2 / 8."""
    with flint.ctx.workprec(_bits(mu)):
        if mu > HUGE:
            return _ball(mu) ** 2 / 8
        half = _ball(mu) / flint.arb(8).sqrt()
        return (2 * half.erf() / (half.erfc() - (3 * half).erfc())).log()


def _bits(mu: Fraction) -> int:
    """Return the working precision: a small mu takes digits away."""
    return BITS + max(0, ceil(-4 * log(float(mu), 2)))


def _ball(number: Fraction) -> flint.arb:
    return flint.arb(number.numerator) / number.denominator


@claim("no-easier-than-normal")
def no_easier_than_normal() -> str:
    """Claim what integer Gaussian noise is worth in Gaussian differential privacy."""
    return (
        "telling two tables apart by integer Gaussian noise of this rho is no easier than telling two normal"
        " laws apart that are mu apart, on any lattice, with exp(-rho) = P(1 < 2 N / mu < 3) /"
        " P(-1 < 2 N / mu < 1) for a standard normal N"
    )
