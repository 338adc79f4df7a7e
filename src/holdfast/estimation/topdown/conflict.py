"""Why a parent has no children: a set of constraints that contradict, none of which can be left out.

Divide and conquer [junker2004] asks a solver of integer programs for about k log(N / k) answers, for k
constraints of the set among N. Counts are never negative: that is no constraint of the set.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import InvariantError
from holdfast.estimation.topdown.equalities import sides
from holdfast.lattice.arrays import IntArray
from holdfast.programs.integer import Program
from holdfast.programs.solver import UNBOUNDED, Status

Kind = Literal["parent", "invariant", "least", "most"]


@dataclass(frozen=True, order=True)
class Constraint:
    """One constraint: the parent's count of a cell, a child's invariant, or a bound of a child's cell.

    Attributes:
        kind: which of them.
        place: of the cell, or of the row of invariants.
        child: whose it is; -1 for the parent.
        value: what is asked.

    """

    kind: Kind
    place: int
    child: int
    value: int


class UnmetError(InvariantError):
    """No whole counts of children keep everything; ``conflict`` are constraints that contradict."""

    def __init__(self, conflict: tuple[Constraint, ...]) -> None:
        self.conflict = conflict
        super().__init__(
            f"no counts of the children keep {', '.join(map(_told, conflict))} at once: correct one of these."
        )


def conflict(
    parent: IntArray,
    *,
    children: int,
    invariants: csr_array | None = None,
    values: IntArray | None = None,
    low: IntArray | None = None,
    high: IntArray | None = None,
) -> tuple[Constraint, ...] | None:
    """Return constraints that contradict, each of them needed for that; None where all can be kept.

    ``high`` is UNBOUNDED where there is no bound.
    """
    cells = parent.size
    matrix = csr_array((0, cells), dtype=np.int64) if invariants is None else invariants
    known = np.zeros((children, 0), dtype=np.int64) if values is None else values
    least = np.zeros((children, cells), dtype=np.int64) if low is None else low
    most = np.full((children, cells), UNBOUNDED) if high is None else high
    rows, sums = sides(matrix, known, parent)
    items = [
        *(Constraint("parent", cell, -1, int(value)) for cell, value in enumerate(parent)),
        *(Constraint("invariant", row, child, int(value)) for (child, row), value in np.ndenumerate(known)),
        *(Constraint("least", int(j), int(b), int(least[b, j])) for b, j in np.argwhere(least > 0)),
        *(Constraint("most", int(j), int(b), int(most[b, j])) for b, j in np.argwhere(most < UNBOUNDED)),
    ]

    def contradict(some: Sequence[Constraint]) -> bool:
        lower, upper = np.zeros_like(least), np.full_like(most, UNBOUNDED)
        kept = []
        for each in some:
            if each.kind == "parent":
                kept.append(each.place)
            elif each.kind == "invariant":
                kept.append(cells + each.child * known.shape[1] + each.place)
            elif each.kind == "least":
                lower[each.child, each.place] = each.value
            else:
                upper[each.child, each.place] = each.value
        if (lower > upper).any():
            return True
        wanted = sums[kept]
        program = Program(csr_array(rows[kept]), wanted, wanted, least=lower.ravel(), most=upper.ravel())
        return program.solve().status is Status.INFEASIBLE

    found = irreducible(items, contradict)
    return None if found is None else tuple(sorted(found))


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
    where = f"cell {each.place} of child {each.child}"
    match each.kind:
        case "parent":
            return f"the parent's count {each.value:,} of cell {each.place}"
        case "invariant":
            return f"the value {each.value:,} of invariant {each.place} of child {each.child}"
        case "least":
            return f"at least {each.value:,} in {where}"
        case "most":
            return f"at most {each.value:,} in {where}"
