"""From posterior to posterior: what an analyst concludes with one person's record, and without it.

Let M be a mechanism and y what it released. The analyst has the prior pi over files x, and concludes

    pi(x | y)      proportional to P(M(x) = y) pi(x),
    pi_iv(x | y)   proportional to P(M(x_iv) = y) pi(x)        [partially-private-data, Equation 2],

where x_iv is x with the record of person i replaced by some value v: she concludes the second if the
release is made without the true record. Let L bound the loss of M between x and x_iv.
[partially-private-data, Equation 3] (after Kasiviswanathan and Smith) says

    d_TV(pi(. | y), pi_iv(. | y)) <= exp(L) - 1                                        (``printed``).

It can be said more sharply. With g = P(M(x) = y) / P(M(x_iv) = y), which lies in [exp(-L), exp(L)], pi(. |
y) is pi_iv(. | y) weighed by g. Of a set that has the chance q without the record, the odds with it are at
most exp(2 L) times as large, and at least exp(-2 L) times (``with_record``). So the distance is at most the
largest p - q with odds exp(2 L) apart, at q = 1 / (1 + exp(L)):

    d_TV <= (exp(L) - 1) / (exp(L) + 1) = tanh(L / 2)                                  (``distance``).

Both are attained: by randomised response on whether person i and another one agree. The ratio of posterior
probabilities of one value [congenial-dp, Section 5.2] thus lies in [exp(-2 L), exp(2 L)].

*Public facts z* [partially-private-data, Equations 4 and 5]. With the prior pi(x | z) the same holds as
long as M does not depend on z: L is that of M between any two files a record apart. A mechanism that uses
z, invariants say, is compared among the files that share z: there x_iv is no such file in general, and is
replaced by one that is, at most k steps away. The same bounds hold with the loss between the two, L = (1 +
gamma) k epsilon (`loss_of`), and with none smaller: [partially-private-data, Section 2.1] is right that (5)
with the epsilon of one record need not hold.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from holdfast.errors import GuaranteeError
from holdfast.privacy.prior_posterior import Bounds, Floats, posterior_bounds


class Distance(NamedTuple):
    """Two bounds of the total variation between both posteriors: as it is printed, and the attained one."""

    printed: Floats
    tight: Floats


def posterior_distance(loss: ArrayLike) -> Distance:
    """Return how far the posteriors with and without one person's record may be apart, in total variation.

    ``loss`` is L, for the pairs of files that are compared: `loss_of` gives it under invariants.

    >>> printed, tight = posterior_distance(np.log(3))
    >>> round(float(printed), 3), round(float(tight), 3)
    (1.0, 0.5)
    """
    value = _losses(loss)
    return Distance(np.minimum(np.expm1(value), 1.0), np.tanh(value / 2))


def with_record(without: ArrayLike, loss: ArrayLike) -> Bounds:
    """Return bounds of the posterior probability of any statement, from that without the person's record.

    >>> low, high = with_record(0.5, np.log(2))
    >>> round(float(low), 3), round(float(high), 3)
    (0.2, 0.8)
    """
    return posterior_bounds(without, 2 * _losses(loss))


def _losses(loss: ArrayLike) -> Floats:
    value = np.asarray(loss, dtype=np.float64)
    if not (value >= 0).all():
        raise GuaranteeError("a privacy loss is not negative: correct it.")
    return value
