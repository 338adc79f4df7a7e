"""Sets of whole numbers as runs: structural zeros of many leaves are few runs of many cells.

A set has one form: runs in order, with a gap between any two. So sets are equal where their runs are.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Self

import numpy as np

from holdfast.lattice.arrays import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Runs:
    """Numbers from 0 on, as the first and the last one of each run; make them with `of` or `read`.

    >>> Runs.of([7, 3, 4, 5]).pairs, len(Runs.of([7, 3, 4, 5])), bool(Runs.of([]))
    ([[3, 5], [7, 7]], 4, False)
    """

    first: IntArray
    last: IntArray

    @classmethod
    def of(cls, numbers: Iterable[int] | IntArray) -> Self:
        """Return the runs of some numbers."""
        given = numbers if isinstance(numbers, np.ndarray) else np.array(list(numbers), dtype=np.int64)
        ordered = np.unique(given)
        begins = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 2) > 1)
        return cls(
            ordered[begins], ordered[np.append(begins[1:], ordered.size) - 1] if begins.size else ordered
        )

    @classmethod
    def read(cls, pairs: Iterable[Sequence[Any]]) -> Self:
        """Return what `pairs` told; raises ValueError, TypeError or OverflowError at anything else."""
        listed = [[index(number) for number in (first, last)] for first, last in pairs]
        first, last = np.array(listed, dtype=np.int64).reshape(-1, 2).T
        if (first > last).any() or (first[:1] < 0).any() or (first[1:] - last[:-1] < 2).any():
            raise ValueError("numbers are not in runs, in order and apart from each other")
        return cls(first, last)

    @property
    def pairs(self) -> list[list[int]]:
        """The first and the last number of each run."""
        found: list[list[int]] = np.stack([self.first, self.last], axis=1).tolist()
        return found

    def __len__(self) -> int:
        """Return how many numbers there are."""
        return int((self.last - self.first + 1).sum())

    def __bool__(self) -> bool:
        return bool(self.first.size)

    def __iter__(self) -> Iterator[int]:
        for first, last in self.pairs:
            yield from range(first, last + 1)

    def within(self, size: int) -> bool:
        """Whether all numbers are below a size."""
        return not self or int(self.last[-1]) < size

    def marks(self, size: int) -> BoolArray:
        """Return, for each number below a size, whether it is in the set."""
        steps = np.zeros(size + 1, dtype=np.int8)
        steps[self.first] = 1
        steps[self.last + 1] -= 1
        return np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Runs):
            return NotImplemented
        return np.array_equal(self.first, other.first) and np.array_equal(self.last, other.last)

    def __hash__(self) -> int:
        return hash((self.first.tobytes(), self.last.tobytes()))


NONE = Runs.of([])
