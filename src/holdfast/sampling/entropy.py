"""Where randomness comes from: uniform 64-bit words.

A release draws from the operating system's generator. A seeded source exists for tests and studies;
whatever it touches is marked, because ``secure`` travels with the source into the certificate.
"""

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
ShortWords = NDArray[np.uint32]


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

    It keeps no state of its own, no buffer either, so a forked process never repeats its parent's words.
    """

    secure = True

    def words(self, size: int) -> Words:
        """Return ``size`` words, read in one block."""
        return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)


class SeededEntropy:
    """A reproducible source for tests and studies, never for a release that counts."""

    secure = False

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._bits = np.random.Philox(seed)

    def words(self, size: int) -> Words:
        """Return the next ``size`` words of the stream that the seed fixes."""
        raw: Words = self._bits.random_raw(size)
        return raw


class Replay:
    """Gives out the words it was given, then those of another source.

    The same words replayed draw the same values, so a test can force a refinement, and a rare path can
    be walked again. Chosen words are not random: it is never secure.
    """

    secure = False

    def __init__(self, words: Words, then: Entropy) -> None:
        self._words, self._then = words, then

    def words(self, size: int) -> Words:
        """Return the next ``size`` words."""
        given, self._words = self._words[:size], self._words[size:]
        return given if given.size == size else np.concatenate([given, self._then.words(size - given.size)])


def short_words(entropy: Entropy, size: int) -> ShortWords:
    """Return ``size`` uniform 32-bit words, two from each word of the source."""
    return entropy.words((size + 1) // 2).view(np.uint32)[:size]
