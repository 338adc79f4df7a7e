"""What releases that use public facts are worth: errors and posterior variances, in closed form [theory, 7].

**Errors of noise that agrees with public sums** [partially-private-data, Corollary 13]. Noise in m dimensions
with a density proportional to exp(-kappa ||z||), ||.|| the Euclidean norm, has a radius with the law
Gamma(m, kappa) and a uniform direction. On all d_1 dimensions, then projected to the d_2 that agree with what
is public, and on these d_2 alone, the expected squared errors are

    d_2 (d_1 + 1) / kappa^2        and        d_2 (d_2 + 1) / kappa^2.

The corollary prints O(d_1^2) and O(d_1 d_2), which hold and are larger than what they bound.

**Errors of gradient mechanisms** [partially-private-data, Theorem 11]. Let alpha n ||y - y*|| <= ||G(y)|| <=
beta n ||y - y*|| for the gradient G of the loss of n records with its minimum at y*, and s_0 <= s(y) <= s_1
for how far Delta_z records move it. The release with density proportional to exp(-kappa ||G|| / s) in d
dimensions has

    P( n ||Y - y*|| > t )  <=  (beta s_1 / (alpha s_0))^d  P( Gamma(d, 1) > kappa alpha t / s_1 ).

So errors are O_P(s_1 / n): of order 1 / n while Delta_z is bounded *above*, where the theorem asks for a
bound below.

**Posterior variances** [partially-private-data, Lemma 14]. What is computed from a release and public facts
has no smaller expected posterior variance than both together.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy

from holdfast.lattice.arrays import FloatArray
from holdfast.system.errors import GuaranteeError


@dataclass(frozen=True)
class CongenialErrors:
    """Expected squared l2 errors of noise that is projected, and of noise that agrees from the start."""

    projected: Fraction
    congenial: Fraction

    @property
    def ratio(self) -> Fraction:
        """What agreeing from the start saves: (d_1 + 1) / (d_2 + 1)."""
        return self.projected / self.congenial


def congenial_errors(dimensions: int, congenial: int, kappa: Fraction) -> CongenialErrors:
    """Return both errors for noise of rate ``kappa`` in l2: epsilon over the l2 sensitivity.

    >>> congenial_errors(67, 7, Fraction(1)).ratio
    Fraction(17, 2)
    """
    if not 1 <= congenial <= dimensions or kappa <= 0:
        raise GuaranteeError(
            f"{congenial} of {dimensions} dimensions agree with what is public, at a rate of {kappa}: give"
            " at least 1 of them, at most all, and a positive rate."
        )
    return CongenialErrors(
        Fraction(congenial * (dimensions + 1)) / kappa**2, Fraction(congenial * (congenial + 1)) / kappa**2
    )


def gradient_tail(
    far: float,
    kappa: float,
    *,
    dimension: int = 1,
    curvature: tuple[float, float] = (1.0, 1.0),
    stretch: tuple[float, float] = (1.0, 1.0),
) -> float:
    """Return a bound of the chance that n times the error of a gradient mechanism is above ``far``.

    ``curvature`` are alpha and beta, ``stretch`` s_0 and s_1. With equal ones it is no bound but the chance.
    """
    (alpha, beta), (least, most) = curvature, stretch
    if not (far >= 0 and kappa > 0 and dimension >= 1 and 0 < alpha <= beta and 0 < least <= most):
        raise GuaranteeError(
            "a bound of errors takes positive numbers, curvature and stretch from small to large: correct"
            " them."
        )
    crowding = (beta * most / (alpha * least)) ** dimension
    return float(min(1.0, crowding * scipy.special.gammaincc(dimension, kappa * alpha * far / most)))


def expected_variance(values: FloatArray, prior: FloatArray, chances: FloatArray) -> float:
    """Return the mean of the posterior variance of a parameter with listed values.

    ``chances`` has a row for each value and a column for each output.

    >>> values, prior = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    >>> expected_variance(values, prior, np.array([[0.75, 0.25], [0.25, 0.75]]))
    0.1875
    """
    joint = np.asarray(prior)[:, None] * chances
    marginal = joint.sum(axis=0)
    seen = marginal > 0
    first = (np.asarray(values) @ joint)[seen]
    whole = float(np.asarray(values) ** 2 @ joint.sum(axis=1))
    return whole - float((first**2 / marginal[seen]).sum())
