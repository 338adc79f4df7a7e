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
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from holdfast.errors import GuaranteeError

Floats = NDArray[np.float64]


class Bounds(NamedTuple):
    """A lower and an upper bound, of the shape of the prior and the loss together."""

    low: Floats
    high: Floats


def loss_of(
    epsilon: Fraction | ArrayLike, *, gamma: Fraction | ArrayLike = 0.0, steps: ArrayLike = 1
) -> Floats:
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
    log_odds, change = logit(_probabilities(prior)), _floats(loss)
    return Bounds(expit(log_odds - change), expit(log_odds + change))


def printed_bounds(prior: ArrayLike, loss: ArrayLike) -> Bounds:
    """Return the interval as [congenial-dp, Theorem 1.3] prints it, cut off at 1."""
    pi, factor = _probabilities(prior), np.exp(_floats(loss))
    return Bounds(pi / factor, np.minimum(pi * factor, 1.0))


def _probabilities(prior: ArrayLike) -> Floats:
    pi = _floats(prior)
    if not ((pi >= 0) & (pi <= 1)).all():
        raise GuaranteeError("a prior probability lies between 0 and 1: correct it.")
    return pi


def _floats(value: Fraction | ArrayLike) -> Floats:
    return np.asarray(float(value) if isinstance(value, Fraction) else value, dtype=np.float64)
