"""What epsilon-TP means to an analyst who knows what is public [partially-private-data, Lemma 4].

Let an analyst take the data to follow a law of the class, and let one of the two secrets of a pair be true.
By Bayes' rule the odds of the secrets change by the ratio of the likelihoods of the release, so

    exp(-epsilon)  <=  (odds after the release) / (odds before it)  <=  exp(epsilon),

and epsilon-TP says no more than this, for all laws, pairs and releases.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.errors import GuaranteeError
from holdfast.privacy.intensity import Pure
from holdfast.privacy.prior_posterior import posterior_bounds
from holdfast.privacy.pufferfish.guarantee import TPGuarantee

PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Semantics:
    """For each belief in one secret of a pair before the release, the bounds of the belief after it."""

    epsilon: float
    prior: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name, as a plot needs them."""
        return {
            "epsilon": self.epsilon,
            "prior": list(self.prior),
            "low": list(self.low),
            "high": list(self.high),
        }


def semantics(guarantee: TPGuarantee, priors: Sequence[float] = PRIORS) -> Semantics:
    """Return how far a release can move the belief in one of two secrets."""
    if not isinstance(guarantee.intensity, Pure):
        raise GuaranteeError(
            "rho-TP bounds how far a belief moves on average, and not for every release: state epsilon-TP, or"
            " convert it to an epsilon at a small delta."
        )
    epsilon = float(guarantee.intensity.epsilon)
    low, high = posterior_bounds(np.asarray(priors, dtype=np.float64), epsilon)
    return Semantics(epsilon, tuple(map(float, priors)), tuple(low.tolist()), tuple(high.tolist()))
