"""From prior to posterior: how much a release can teach an analyst about one record.

Let pi be the probability that an analyst gives to a hypothesis before the release (the invariants are known
to her already), and L = (1 + gamma) k epsilon the loss between any two tables at most k steps apart. If the
tables under the hypothesis can be matched with those under its alternative, each at most k steps from its
match, then the likelihood ratio of the release lies in [exp(-L), exp(L)], and so does

    posterior odds / prior odds                                                      (``odds_bounds``).

For probabilities this says

    pi / (pi + (1 - pi) exp(L)) <= posterior <= pi / (pi + (1 - pi) exp(-L)),    (``posterior_bounds``)

and both ends can be attained. [congenial-dp, Theorem 1.3; congenial-dp, Section 2.2] print the wider interval
[exp(-L) pi, exp(L) pi] (``printed_bounds``).

The matching is what the theorem's proof takes for granted. It is there for an analyst who knows all records
but one and those that must change along with it. It is not there for one who holds that records come in equal
groups: she learns about a whole group, and k is then its size.

From posterior to posterior: what an analyst concludes with one person's record, and without it.

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

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from holdfast.lattice.arrays import FloatArray
from holdfast.system.errors import GuaranteeError


class Bounds(NamedTuple):
    """A lower and an upper bound, of the shape of the prior and the loss together."""

    low: FloatArray
    high: FloatArray


def loss_of(
    epsilon: Fraction | ArrayLike, *, gamma: Fraction | ArrayLike = 0.0, steps: ArrayLike = 1
) -> FloatArray:
    """Return L = (1 + gamma) steps epsilon [congenial-dp, Theorem 2.1]."""
    epsilons, gammas = _floats(epsilon), _floats(gamma)
    if (epsilons < 0).any() or (gammas < -1).any() or (gammas > 1).any():
        raise GuaranteeError("epsilon is not negative, and gamma lies between -1 and 1: correct them.")
    return np.asarray((1 + gammas) * _floats(steps) * epsilons)


def odds_bounds(odds: ArrayLike, loss: ArrayLike) -> Bounds:
    """Return bounds of the posterior odds for prior odds and a loss."""
    prior, factor = _floats(odds), np.exp(_floats(loss))
    if not (prior >= 0).all():
        raise GuaranteeError("prior odds are not negative: correct them.")
    return Bounds(prior / factor, prior * factor)


def posterior_bounds(prior: ArrayLike, loss: ArrayLike) -> Bounds:
    """Return bounds of the posterior probability for a prior probability and a loss; both can be attained.

    >>> low, high = posterior_bounds([0.0, 0.5, 1.0], np.log(3))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.25, 1.0], [0.0, 0.75, 1.0])
    """
    log_odds, change = scipy.special.logit(_probabilities(prior)), _floats(loss)
    return Bounds(scipy.special.expit(log_odds - change), scipy.special.expit(log_odds + change))


def printed_bounds(prior: ArrayLike, loss: ArrayLike) -> Bounds:
    """Return the interval as [congenial-dp, Theorem 1.3] prints it, cut off at 1."""
    pi, factor = _probabilities(prior), np.exp(_floats(loss))
    return Bounds(pi / factor, np.minimum(pi * factor, 1.0))


def _probabilities(prior: ArrayLike) -> FloatArray:
    pi = _floats(prior)
    if not ((pi >= 0) & (pi <= 1)).all():
        raise GuaranteeError("a prior probability lies between 0 and 1: correct it.")
    return pi


def _floats(value: Fraction | ArrayLike) -> FloatArray:
    return np.asarray(float(value) if isinstance(value, Fraction) else value, dtype=np.float64)


class Distance(NamedTuple):
    """Two bounds of the total variation between both posteriors: as it is printed, and the attained one."""

    printed: FloatArray
    tight: FloatArray


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


def _losses(loss: ArrayLike) -> FloatArray:
    value = np.asarray(loss, dtype=np.float64)
    if not (value >= 0).all():
        raise GuaranteeError("a privacy loss is not negative: correct it.")
    return value
