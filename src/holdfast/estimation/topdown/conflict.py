"""Why there are no counts: a set of constraints that contradict, none of which can be left out.

Divide and conquer [junker2004] asks a solver of integer programs for about k log(N / k) answers, for k
constraints of the set among N. Counts are never negative, and those of a node are the sums of its children's:
these are no constraints of the set.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.errors import InvariantError
from holdfast.estimation.topdown.known import Level
from holdfast.estimation.topdown.subtree import Subtree
from holdfast.lattice.arrays import IntArray
from holdfast.programs.integer import Program
from holdfast.programs.solver import UNBOUNDED, Status

Flags = NDArray[np.bool_]
Kind = Literal["parent", "invariant", "least", "most", "range least", "range most"]


@dataclass(frozen=True, order=True)
class Constraint:
    """One constraint: the parent's count of a cell, a child's invariant, or a bound of a cell or range.

    Attributes:
        kind: which of them.
        place: of the cell, or of the row of invariants or ranges.
        child: whose it is; -1 for the parent. In a tree, the node's place on its level.
        value: what is asked.
        level: the node's level in a tree, the root's being 0; -1 in a family.
        below: whether it is what the levels below the node ask of it, all together.

    """

    kind: Kind
    place: int
    child: int
    value: int
    level: int = -1
    below: bool = False


class UnmetError(InvariantError):
    """No whole counts keep everything; ``conflict`` are constraints that contradict."""

    def __init__(self, conflict: tuple[Constraint, ...]) -> None:
        self.conflict = conflict
        whose = "the children" if all(each.level < 0 for each in conflict) else "the nodes"
        super().__init__(
            f"no counts of {whose} keep {', '.join(map(_told, conflict))} at once: correct one of these."
        )


def conflict(
    parent: IntArray,
    *,
    children: int,
    invariants: csr_array | None = None,
    values: IntArray | None = None,
    low: IntArray | None = None,
    high: IntArray | None = None,
    ranges: csr_array | None = None,
    least: IntArray | None = None,
    most: IntArray | None = None,
) -> tuple[Constraint, ...] | None:
    """Return constraints that contradict, each of them needed for that; None where all can be kept.

    ``high`` and ``most`` are UNBOUNDED where there is no bound.
    """
    level = Level.of(
        "children",
        children,
        parent.size,
        invariants=invariants,
        values=values,
        ranges=ranges,
        least=least,
        most=most,
        low=low,
        high=high,
    )
    return contradiction(Subtree((level,), (), parent))


def contradiction(
    subtree: Subtree, *, place: int = -1, begins: Sequence[int] = (0,), own: Level | None = None
) -> tuple[Constraint, ...] | None:
    """Return constraints of a subtree that contradict, each needed for that; None where all can be kept.

    Args:
        subtree: the nodes.
        place: the level of its first nodes in a tree.
        begins: the place of its first node on each level.
        own: what is asked of the last level by itself, where it comes first in what is asked of it.

    """
    system = subtree.system
    items = dict(_items(subtree, place, begins, own or subtree.levels[-1]))

    def contradict(some: Sequence[Constraint]) -> bool:
        low, high = np.zeros_like(system.low), np.full_like(system.high, UNBOUNDED)
        least, most = np.full_like(system.least, -UNBOUNDED), np.full_like(system.most, UNBOUNDED)
        least[subtree.between], most[subtree.between] = 0, 0
        for each in some:
            at = items[each]
            if each.kind in ("parent", "invariant", "range least"):
                least[at] = each.value
            if each.kind in ("parent", "invariant", "range most"):
                most[at] = each.value
            if each.kind == "least":
                low[at] = each.value
            if each.kind == "most":
                high[at] = each.value
        if (low > high).any():
            return True
        kept = np.flatnonzero((least > -UNBOUNDED) | (most < UNBOUNDED))
        program = Program(csr_array(system.rows[kept]), least[kept], most[kept], least=low, most=high)
        return program.solve().status is Status.INFEASIBLE

    found = irreducible(list(items), contradict)
    return None if found is None else tuple(sorted(found))


def _items(
    subtree: Subtree, place: int, begins: Sequence[int], own: Level
) -> Iterator[tuple[Constraint, int]]:
    """Yield every constraint with the row or the cell of the system that it is about."""
    if subtree.fixed is not None:
        for cell, value in enumerate(subtree.fixed.tolist()):
            yield Constraint("parent", cell, -1, value), cell
    row, cell = subtree.between.stop, 0
    depths = range(len(subtree.levels))
    wheres = [_Where(begins[depth], place + depth if place >= 0 else -1) for depth in depths]
    itself = [*subtree.levels[:-1], own]
    for level, alone, where in zip(subtree.levels, itself, wheres, strict=True):
        every = np.ones(level.values.shape, dtype=np.bool_)
        below = np.arange(level.values.shape[1]) >= alone.values.shape[1]
        yield from where.named("invariant", level.values, every, below, row)
        row += level.values.size
    for level, alone, where in zip(subtree.levels, itself, wheres, strict=True):
        below = np.arange(level.least.shape[1]) >= alone.least.shape[1]
        some = np.abs(level.least) < UNBOUNDED
        some &= (level.least > 0) | ((level.ranges.toarray() < 0).any(axis=1))  # sums are never below 0
        yield from where.named("range least", level.least, some, below, row)
        yield from where.named("range most", level.most, level.most < UNBOUNDED, below, row)
        row += level.least.size
    for level, alone, where in zip(subtree.levels, itself, wheres, strict=True):
        yield from where.named("least", level.floor, level.floor > 0, level.floor > alone.floor, cell)
        yield from where.named("most", level.roof, level.roof < UNBOUNDED, level.roof < alone.roof, cell)
        cell += level.floor.size


@dataclass(frozen=True)
class _Where:
    """The first node of a level that is asked about, and the level."""

    begin: int
    level: int

    def named(
        self, kind: Kind, table: IntArray, asked: Flags, below: Flags, first: int
    ) -> Iterator[tuple[Constraint, int]]:
        """Yield constraints of what is asked, with the place of each in its table from a first one on."""
        from_below = np.broadcast_to(below, table.shape)
        for node, each in np.argwhere(asked).tolist():
            value, is_below = int(table[node, each]), bool(from_below[node, each])
            named = Constraint(kind, each, self.begin + node, value, self.level, is_below)
            yield named, first + node * table.shape[1] + each


def irreducible(
    items: Sequence[Constraint], contradict: Callable[[Sequence[Constraint]], bool]
) -> list[Constraint] | None:
    """Return a part of the items that contradicts and no part of which does; None where all agree."""

    def search(kept: list[Constraint], *, grown: bool, rest: Sequence[Constraint]) -> list[Constraint]:
        """Return what of the rest contradicts the kept ones."""
        if grown and contradict(kept):
            return []
        if len(rest) == 1:
            return list(rest)
        half = len(rest) // 2
        second = search([*kept, *rest[:half]], grown=True, rest=rest[half:])
        return [*search([*kept, *second], grown=bool(second), rest=rest[:half]), *second]

    return search([], grown=False, rest=items) if contradict(items) else None


def _told(each: Constraint) -> str:
    """Return a constraint in words, with places from 0."""
    whose = f"child {each.child}" if each.level < 0 else f"node {each.child} of level {each.level}"
    below = ", by the levels below," if each.below else ""
    match each.kind:
        case "parent":
            return f"the parent's count {each.value:,} of cell {each.place}"
        case "invariant":
            return f"the value {each.value:,} of invariant {each.place} of {whose}{below}"
        case "least":
            return f"at least {each.value:,} in cell {each.place} of {whose}{below}"
        case "most":
            return f"at most {each.value:,} in cell {each.place} of {whose}{below}"
        case "range least":
            return f"at least {each.value:,} in range {each.place} of {whose}{below}"
        case "range most":
            return f"at most {each.value:,} in range {each.place} of {whose}{below}"
