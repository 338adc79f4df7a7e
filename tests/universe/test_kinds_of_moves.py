"""Kinds of moves, against all moves on the table itself."""

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.margins import LevelledAxis, MarginStrategy
from holdfast.universe import kinds_of_moves as module
from holdfast.universe.kinds_of_moves import kinds_of_moves
from holdfast.universe.space import steps_of_size

Margins = list[set[int]]


def squares(shape: tuple[int, ...], moves: IntArray) -> set[tuple[int, ...]]:
    """Return the sums of squares over every margin, which no permutation of entries changes."""
    axes = tuple(LevelledAxis(size, (np.arange(size),) if size > 1 else ()) for size in shape)
    whole = MarginStrategy(axes, (), ())
    readings = np.ndindex(*(2,) * len(shape))
    own = [tuple(min(a, axis.depth) for a, axis in zip(each, axes, strict=True)) for each in readings]
    found = [(np.asarray(whole.rows(each) @ moves.T) ** 2).sum(axis=0) for each in own]
    return set(map(tuple, np.array(found).T.tolist()))


@pytest.mark.parametrize(
    ("shape", "kept", "records"),
    [
        ((4, 3), [{0}, {1}], 3),
        ((5, 4), [{0}, {1}], 4),
        ((3, 3, 2), [{0}, {1}], 2),
        ((3, 2, 3), [{0}, {1}, {2}], 3),
        ((5, 2, 2), [{0, 1}, {1, 2}], 3),
        ((4, 2, 2), [{0, 1}, {1, 2}, {0, 2}], 4),
        ((6, 3), [{1}], 2),
        ((2, 2, 2, 2), [{0, 1}, {2, 3}], 3),
    ],
)
def test_every_kind_of_move_is_there_and_no_other(
    shape: tuple[int, ...], kept: Margins, records: int
) -> None:
    found = kinds_of_moves(shape, list(map(frozenset, kept)), records)
    assert found is not None
    axes = tuple(LevelledAxis(size, (np.arange(size),)) for size in shape)
    readings = [tuple(int(at in one) for at in range(len(shape))) for one in kept]
    rows = [MarginStrategy(axes, (), ()).rows(each) for each in readings]
    columns = csr_array(vstack(rows, format="csr")).toarray().T.copy()
    every = [steps_of_size(columns, size, 10_000_000) for size in range(1, records + 1)]
    moves = np.concatenate([each for each in every if each is not None])
    assert len(every) == records
    assert squares(found[0], found[1]) == squares(shape, moves)


def test_too_many_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kinds_of_moves((9, 9, 9, 9), [frozenset([0])], 5) is None
    monkeypatch.setattr(module, "MOST_PAIRS", 3)
    assert kinds_of_moves((3, 3), [frozenset([0]), frozenset([1])], 2) is None
