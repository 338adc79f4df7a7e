"""What every mechanism offers, and the additive law most of them share."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.privacy.guarantee import Guarantee
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.law import Law


class Mechanism(Protocol):
    """A way of releasing a table of a universe."""

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of every release."""
        ...

    def law(self, counts: NDArray[np.int64]) -> Law:
        """Return the law of the release of a table."""
        ...


@dataclass(frozen=True, eq=False)
class Shifted:
    """The law of counts + z for noise z that does not depend on the counts."""

    counts: NDArray[np.int64]
    noise: Law

    def sample(self, entropy: Entropy, size: int) -> NDArray[np.int64]:
        """Return ``size`` independent releases, one a row."""
        return self.counts + self.noise.sample(entropy, size)

    def log_prob(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log probability of each release, up to one constant."""
        return self.noise.log_prob(points - self.counts)
