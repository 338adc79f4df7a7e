"""Canonical noise: the distribution that spends a tradeoff function in full, and nothing more.

F is canonical for a symmetric f [semi-dp, Definition 35] when, with N drawn from F,

    1.  N + m is no easier to tell from N than f says, for every m in [0, 1];
    2.  N + 1 is exactly as easy to tell from N as f says;
    3.  the best test of N against N + 1 is a threshold;
    4.  N and -N have the same law.

The paper writes f(1 - alpha) for the f(alpha) of `holdfast.privacy.tradeoff`. Here 2 and 3 together read

    F(x - 1) = f(1 - F(x))    wherever 0 < F(x) < 1.
"""

from fractions import Fraction

from holdfast.mechanisms.canonical.noise import CanonicalNoise, Constructed
from holdfast.mechanisms.canonical.normal import Normal
from holdfast.mechanisms.canonical.tulap import Tulap
from holdfast.privacy.tradeoff import EpsilonDelta, Gaussian, Tradeoff

__all__ = ["CanonicalNoise", "Constructed", "Normal", "Tulap", "canonical"]


def canonical(f: Tradeoff) -> CanonicalNoise:
    """Return a canonical noise distribution of f: in closed form where there is one.

    Tulap for (epsilon, delta), N(0, 1 / mu^2) for mu [semi-dp, Section 5.3], else the construction of
    [semi-dp, Lemma 36].
    """
    match f:
        case EpsilonDelta(epsilon, delta) if epsilon > 0 and delta < 1:
            return Tulap(Fraction(epsilon), Fraction(delta))
        case Gaussian(mu) if mu > 0:
            return Normal(Fraction(mu))
    return Constructed(f)
