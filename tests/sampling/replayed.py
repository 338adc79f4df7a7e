"""WordArray that a test chose, as a source of randomness."""

import numpy as np

from holdfast.lattice.arrays import WordArray
from holdfast.sampling.entropy import Entropy


class ReplayedEntropy:
    """Gives out the words it was given, then those of another source.

    The same words replayed draw the same values, so a test can force a refinement, and a rare path can
    be walked again. Chosen words are not random: it is never secure.
    """

    secure = False

    def __init__(self, words: WordArray, then: Entropy) -> None:
        self._words, self._then = words, then

    def words(self, size: int) -> WordArray:
        """Return the next ``size`` words."""
        given, self._words = self._words[:size], self._words[size:]
        return given if given.size == size else np.concatenate([given, self._then.words(size - given.size)])
