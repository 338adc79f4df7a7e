"""Families: parents that follow each other and their children, solved one after the other as one task.

A task holds all it needs and can be sent anywhere. Each parent is solved on its own, so what is found does
not depend on which parents share a task.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.estimation.topdown.known import Level
from holdfast.estimation.topdown.spread import spread
from holdfast.estimation.topdown.step import Step
from holdfast.lattice.arrays import FloatArray, IntArray

AT_ONCE = 20_000
"""Cells of children in a task, unless a single family has more."""


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """The counts of all children of a task.

    Attributes:
        counts: one line a child; 0 where a family is not met.
        met: whether counts were found that keep everything, by family.
        objective: the weighted sum of squares of the real estimate, by family.
        gap: how far that is from its optimum at most, by family.
        reals: the real estimate, where it was asked for.

    """

    counts: IntArray
    met: NDArray[np.bool_]
    objective: FloatArray
    gap: FloatArray
    reals: FloatArray | None


@dataclass(frozen=True, eq=False, repr=False)
class Families:
    """A task.

    Attributes:
        level: what is known of the children.
        parent: the place of each child's parent among the counts.
        counts: the parents' counts.
        reals: whether real estimates are wanted.

    """

    level: Level
    parent: IntArray
    counts: IntArray
    reals: bool = False

    def solve(self) -> Found:
        """Return the children's counts."""
        level = self.level if self.level.queries else spread(self.level, self.parent, self.counts)
        step = Step.of(level)
        ends = np.searchsorted(self.parent, np.arange(len(self.counts) + 1))
        whole = np.zeros((level.nodes, level.cells), dtype=np.int64)
        real = np.zeros(whole.shape) if self.reals else None
        met = np.zeros(len(self.counts), dtype=np.bool_)
        objective, gap = np.zeros(met.size), np.zeros(met.size)
        for place, counts in enumerate(self.counts):
            begin, end = ends[place : place + 2].tolist()
            solved = step.tried(level.part(begin, end), counts)
            if solved is not None:
                met[place], whole[begin:end] = True, solved.counts
                objective[place], gap[place] = solved.estimate.objective, solved.estimate.gap
                if real is not None:
                    real[begin:end] = solved.estimate.counts
        return Found(whole, met, objective, gap, real)


def tasks(level: Level, parent: IntArray, counts: IntArray, *, reals: bool = False) -> Iterator[Families]:
    """Yield the families of a level, in order."""
    ends = np.searchsorted(parent, np.arange(len(counts) + 1))
    begin = 0
    while begin < len(counts):
        reached = ends[begin] + max(AT_ONCE // level.cells, 1)
        end = max(begin + 1, int(np.searchsorted(ends, reached, side="right")) - 1)
        children = slice(ends[begin], ends[end])
        part = level.part(children.start, children.stop)
        yield Families(part, parent[children] - begin, counts[begin:end], reals)
        begin = end
