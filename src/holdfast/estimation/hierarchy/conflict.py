"""Why there are no counts: a small set of constraints that contradict, none of which can be left out.

Counts are never negative, and those of a node are the sums of its children's: these are no constraints of the
set. It is a smallest one of those that are looked at [holdfast, estimation/hierarchy/smallest.py].

In a tree as few levels as will do are looked at, from a node down: the node alone first, with what all levels
below it ask in sums; then the node with its children, these with what is asked of them in sums, and so on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, eye_array, vstack

from holdfast.estimation.hierarchy.level import Level
from holdfast.estimation.hierarchy.propagation import ConstrainedLevel, with_below, without_implied_bounds
from holdfast.estimation.hierarchy.smallest import ConstrainedCounts
from holdfast.estimation.hierarchy.subtree import Branch, Subtree
from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.programs.solver import UNBOUNDED
from holdfast.system.errors import InvariantError

ConstraintKind = Literal["parent", "invariant", "least", "most", "range least", "range most"]


@dataclass(frozen=True, order=True)
class Constraint:
    """One constraint: the parent's count of a cell, a child's invariant, or a bound of a cell or range.

    Attributes:
        kind: which of them.
        place: of the cell, or of the row of invariants or ranges.
        child: whose it is; -1 for the parent. In a tree, the node's place on its level.
        value: what is asked.
        level: the node's level in a tree, the root's being 0; -1 in a family.
        below: the level below the node that asks for it, by the sum over the node; -1 where the node's does.

    """

    kind: ConstraintKind
    place: int
    child: int
    value: int
    level: int = -1
    below: int = -1


class UnmetError(InvariantError):
    """No whole counts keep everything; ``conflict`` are constraints that contradict."""

    def __init__(self, conflict: tuple[Constraint, ...]) -> None:
        self.conflict = conflict
        whose = "the children" if all(each.level < 0 for each in conflict) else "the nodes"
        super().__init__(
            f"no counts of {whose} keep {', '.join(map(_in_words, conflict))} at once: correct one of these."
        )


def contradiction(
    subtree: Subtree, *, place: int = -1, begins: Sequence[int] = (0,), asked: ConstrainedLevel | None = None
) -> tuple[Constraint, ...] | None:
    """Return constraints of a subtree that contradict, each needed for that; None where all can be kept.

    Args:
        subtree: the nodes.
        place: the level of its first nodes in a tree.
        begins: the place of its first node on each level.
        asked: where the rows of its last level come from, and the level's own bounds.

    """
    system = subtree.system
    items = list(_items(subtree, place, begins, asked))
    every = csr_array(vstack([system.rows, eye_array(system.low.size, dtype=np.int64)], format="csr"))
    of_cells = np.array([each.kind in ("least", "most") for each, _ in items], dtype=np.bool_)
    at = np.array([row for _, row in items], dtype=np.int64) + of_cells * system.rows.shape[0]
    least = [-UNBOUNDED if each.kind in ("most", "range most") else each.value for each, _ in items]
    most = [UNBOUNDED if each.kind in ("least", "range least") else each.value for each, _ in items]
    found = ConstrainedCounts(
        csr_array(system.rows[subtree.between]),
        csr_array(every[at]),
        np.array(least, dtype=np.int64),
        np.array(most, dtype=np.int64),
        of_cells,
    ).smallest()
    return None if found is None else tuple(sorted(items[each][0] for each in found.tolist()))


def _items(
    subtree: Subtree, place: int, begins: Sequence[int], asked: ConstrainedLevel | None
) -> Iterator[tuple[Constraint, int]]:
    """Yield every constraint with the row or the cell of the system that it is about."""
    if subtree.fixed is not None:
        for cell, value in enumerate(subtree.fixed.tolist()):
            yield Constraint("parent", cell, -1, value), cell
    last = len(subtree.levels) - 1
    levels = [
        _NamedLevel(
            level, begins[depth], place + depth if place >= 0 else -1, asked if depth == last else None
        )
        for depth, level in enumerate(subtree.levels)
    ]
    row, cell = subtree.between.stop, 0
    for each in levels:
        yield from each.invariants(row)
        row += each.level.values.size
    for each in levels:
        yield from each.ranges(row)
        row += each.level.least.size
    for each in levels:
        yield from each.bounds(cell)
        cell += each.level.floor.size


@dataclass(frozen=True, eq=False)
class _NamedLevel:
    """The names of a level's constraints: its first node, its place in the tree, and where rows come from."""

    level: Level
    begin: int
    place: int
    constrained: ConstrainedLevel | None

    def invariants(self, first: int) -> Iterator[tuple[Constraint, int]]:
        """Yield the equalities, whose rows begin with the first."""
        every = np.ones(self.level.values.shape, dtype=np.bool_)
        sources = None if self.constrained is None else self.constrained.invariants
        yield from self._of_rows("invariant", self.level.values, every, sources, first)

    def ranges(self, first: int) -> Iterator[tuple[Constraint, int]]:
        """Yield the bounds of ranges, whose rows begin with the first."""
        level = self.level
        sources = None if self.constrained is None else self.constrained.ranges
        signed = (level.ranges.toarray() < 0).any(axis=1)
        some = (level.least > -UNBOUNDED) & ((level.least > 0) | signed)  # sums are never below 0
        yield from self._of_rows("range least", level.least, some, sources, first)
        yield from self._of_rows("range most", level.most, level.most < UNBOUNDED, sources, first)

    def bounds(self, first: int) -> Iterator[tuple[Constraint, int]]:
        """Yield the bounds of cells, the first of which has this place."""
        low, high = self.level.floor, self.level.roof
        own = self.level if self.constrained is None else self.constrained.level
        sides: tuple[tuple[ConstraintKind, IntArray, BoolArray, BoolArray], ...] = (
            ("least", low, low > 0, low > own.floor),
            ("most", high, high < UNBOUNDED, high < own.roof),
        )
        for kind, table, some, inner in sides:
            for node, cell in np.argwhere(some).tolist():
                below = self.place + 1 if inner[node, cell] else -1
                yield (
                    self._named(kind, cell, node, int(table[node, cell]), below),
                    first + node * low.shape[1] + cell,
                )

    def _of_rows(
        self, kind: ConstraintKind, table: IntArray, some: BoolArray, sources: IntArray | None, first: int
    ) -> Iterator[tuple[Constraint, int]]:
        for node, row in np.argwhere(some).tolist():
            source, place = (self.place, row) if sources is None else sources[row].tolist()
            below = -1 if source == self.place else source
            yield (
                self._named(kind, place, node, int(table[node, row]), below),
                first + node * table.shape[1] + row,
            )

    def _named(self, kind: ConstraintKind, place: int, node: int, value: int, below: int) -> Constraint:
        return Constraint(kind, place, self.begin + node, value, self.place, below)


def _in_words(each: Constraint) -> str:
    """Return a constraint in words, with places from 0."""
    whose = f"child {each.child}" if each.level < 0 else f"node {each.child} of level {each.level}"
    of = f"of {whose}" if each.below < 0 else f"of level {each.below}, summed over {whose},"
    match each.kind:
        case "parent":
            return f"the parent's count {each.value:,} of cell {each.place}"
        case "invariant":
            return f"the value {each.value:,} of invariant {each.place} {of}"
        case "least":
            return f"at least {each.value:,} in cell {each.place} {of}"
        case "most":
            return f"at most {each.value:,} in cell {each.place} {of}"
        case "range least":
            return f"at least {each.value:,} in range {each.place} {of}"
        case "range most":
            return f"at most {each.value:,} in range {each.place} {of}"


def explained(
    parents: Sequence[IntArray], levels: Sequence[Level], place: int, node: int
) -> tuple[Constraint, ...] | None:
    """Return constraints at a node and below that contradict, each needed for that; None where none do."""
    branch = Branch.of(parents, place, node, len(levels) - 1)
    links = branch.parents(parents)
    parts = [
        levels[place + depth].part(begin, end)
        for depth, (begin, end) in enumerate(zip(branch.begins, branch.ends, strict=True))
    ]
    asked: list[ConstrainedLevel] = []  # without a row left out that others imply: it may be one of few
    for depth in reversed(range(len(parts))):
        whole = with_below(parts[depth], place + depth, (asked[0], links[depth]) if asked else None)
        asked.insert(0, replace(whole, level=without_implied_bounds(whole.level)))
    for depth, last in enumerate(asked):
        found = contradiction(
            Subtree((*parts[:depth], last.level), links[:depth], None),
            place=place,
            begins=branch.begins,
            asked=replace(last, level=parts[depth]),
        )
        if found is not None:
            return found
    return None
