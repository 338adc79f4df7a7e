"""Where randomness comes from: uniform 64-bit words.

A release draws from the operating system's generator. A seeded source exists for tests and studies;
whatever it touches is marked, because ``secure`` travels with the source into the certificate.
"""

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


class Entropy(Protocol):
    """A stream of independent uniform 64-bit words."""

    @property
    def secure(self) -> bool:
        """Whether a release may be drawn from this source."""
        ...

    def words(self, size: int) -> Words:
        """Return the next ``size`` words."""
        ...


class SystemEntropy:
    """The operating system's cryptographic generator.

    It keeps no state of its own, so a forked process never repeats its parent's words.
    """

    secure = True

    def words(self, size: int) -> Words:
        """Return ``size`` words, read in one block."""
        return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)


class SeededEntropy:
    """A reproducible source for tests and studies, never for a release that counts."""

    secure = False

    def __init__(self, seed: int) -> None:
        self._bits = np.random.Philox(seed)

    def words(self, size: int) -> Words:
        """Return the next ``size`` words of the stream that the seed fixes."""
        raw: Words = self._bits.random_raw(size)
        return raw
