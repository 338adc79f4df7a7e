"""What a law is: something that can be drawn from and evaluated."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.sampling.entropy import Entropy


class Law(Protocol):
    """A probability law on integer vectors."""

    def sample(self, entropy: Entropy, size: int) -> NDArray[np.int64]:
        """Return ``size`` independent draws, one a row."""
        ...

    def log_prob(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log probability of each row, up to one constant."""
        ...
