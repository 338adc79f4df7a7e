"""Where randomness comes from: uniform 64-bit words; and what a law is, which turns them into draws.

A release draws from the operating system's generator, or, where it is to be the same when it is asked for
again, from a secret key. A seeded source exists for tests and studies; whatever it touches is marked, because
``secure`` travels with the source into the certificate.
"""

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import FloatArray, IntArray, WordArray

ShortWords = NDArray[np.uint32]


class Entropy(Protocol):
    """A stream of independent uniform 64-bit words."""

    @property
    def secure(self) -> bool:
        """Whether a release may be drawn from this source."""

    def words(self, size: int) -> WordArray:
        """Return the next ``size`` words."""


class SystemEntropy:
    """The operating system's cryptographic generator.

    It keeps no state of its own, no buffer either, so a forked process never repeats its parent's words.

    >>> hf.prepare(spec, people).release(hf.SystemEntropy()).certificate.randomness.secure
    True
    """

    secure = True

    def words(self, size: int) -> WordArray:
        """Return ``size`` words, read in one block."""
        return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)


class SeededEntropy:
    """A reproducible source for tests and studies, never for a release that counts.

    >>> release = hf.prepare(spec, people).release(hf.SeededEntropy(7))
    >>> release.certificate.randomness.secure
    False
    """

    secure = False

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._bits = np.random.Philox(seed)

    def words(self, size: int) -> WordArray:
        """Return the next ``size`` words of the stream that the seed fixes."""
        raw: WordArray = self._bits.random_raw(size)
        return raw


class KeyedEntropy:
    """The words of a secret key of 256 bits: the stream of ChaCha20 [bernstein2008], the same each time.

    Whoever does not have the key cannot tell them from uniform ones, as is assumed of ChaCha20. A stream is
    for one release: two that share words share noise, so a key belongs to all that a release depends on
    [holdfast, releases/repeatable.py].
    """

    secure = True
    KEY = 32

    def __init__(self, key: bytes, mark: str) -> None:
        # most releases have no key, and need not wait for it to be loaded
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms  # noqa: PLC0415

        if len(key) != self.KEY:
            raise ValueError(f"a key has {self.KEY} bytes")
        self.mark = mark
        """What tells the stream from others, without telling anything of the key."""
        self._stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()

    def words(self, size: int) -> WordArray:
        """Return the next ``size`` words, the same on machines of either order of bytes."""
        return np.frombuffer(self._stream.update(bytes(8 * size)), dtype="<u8").astype(np.uint64)


def short_words(entropy: Entropy, size: int) -> ShortWords:
    """Return ``size`` uniform 32-bit words, two from each word of the source."""
    return entropy.words((size + 1) // 2).view(np.uint32)[:size]


class IntegerLaw(Protocol):
    """A probability law on integer vectors: something that can be drawn from and evaluated."""

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log probability of each row, up to one constant."""
