"""What every canonical noise distribution can do."""

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.privacy.evidence import Evidence
from holdfast.sampling.entropy import Entropy

FARTHEST = 2.0**50
"""Stands for all that is farther: no law here has mass there."""


class Noise(Protocol):
    """A continuous symmetric law with a distribution function: all that a p-value needs."""

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return P(N <= x)."""
        ...


class CanonicalNoise(ABC):
    """A canonical noise distribution [semi-dp, Definition 35].

    ``certified`` says whether what is drawn follows the law exactly. If not, it serves studies only:
    noise from rounded numbers can give away what it should hide [mironov2012].
    """

    certified: ClassVar[bool]

    @abstractmethod
    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x) = P(N <= x)."""

    @abstractmethod
    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the least x with F(x) >= u."""

    @abstractmethod
    def add_to(self, counts: IntArray, entropy: Entropy) -> FloatArray:
        """Return each count plus an independent draw."""

    def require_drawable(self) -> None:  # noqa: B027
        """Raise where no draw is within reach; most have no limit."""

    @property
    @abstractmethod
    def evidence(self) -> tuple[Evidence, ...]:
        """Why a count with this noise keeps the tradeoff function, as long as it moves by at most 1."""

    def sample(self, entropy: Entropy, size: int) -> FloatArray:
        """Return ``size`` independent draws."""
        return self.add_to(np.zeros(size, dtype=np.int64), entropy)
