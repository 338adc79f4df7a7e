import os

import numpy as np
from tests.sampling.replayed import ReplayedEntropy

from holdfast.sampling.entropy import SeededEntropy, SystemEntropy, short_words


def test_the_system_source_is_secure_and_never_repeats() -> None:
    source = SystemEntropy()
    assert source.secure
    assert not np.array_equal(source.words(8), source.words(8))


def test_a_seed_fixes_the_stream_and_is_marked() -> None:
    assert not SeededEntropy(3).secure
    assert np.array_equal(SeededEntropy(3).words(5), SeededEntropy(3).words(5))
    assert not np.array_equal(SeededEntropy(3).words(5), SeededEntropy(4).words(5))


def test_a_seeded_stream_does_not_depend_on_how_it_is_cut() -> None:
    whole, parts = SeededEntropy(1), SeededEntropy(1)
    assert np.array_equal(whole.words(7), np.concatenate([parts.words(3), parts.words(4)]))


def test_a_forked_process_draws_other_words() -> None:
    source, (read, write) = SystemEntropy(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, source.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(read, 32), dtype=np.uint64)
    assert theirs.size == 4
    assert not np.array_equal(theirs, source.words(4))


def test_given_words_are_replayed_first_and_never_secure() -> None:
    source = ReplayedEntropy(np.array([5, 6, 7], dtype=np.uint64), SystemEntropy())
    assert not source.secure
    assert source.words(2).tolist() == [5, 6]
    assert source.words(2)[0] == 7
    assert source.words(3).size == 3


def test_short_words_are_halves_of_words() -> None:
    words = SeededEntropy(1).words(2)
    halves = short_words(SeededEntropy(1), 3).astype(np.uint64)
    assert halves.size == 3
    assert halves[0] + (halves[1] << np.uint64(32)) == words[0]
