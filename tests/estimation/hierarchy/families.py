"""One family by itself: its estimate, its whole counts, and what contradicts where there are none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from holdfast.estimation.hierarchy.conflict import Constraint, UnmetError, contradiction
from holdfast.estimation.hierarchy.family import FamilySolver
from holdfast.estimation.hierarchy.level import Level, LevelQuery, spread
from holdfast.estimation.hierarchy.passes import WholeCounts
from holdfast.estimation.hierarchy.subtree import Subtree
from holdfast.programs.quadratic.squares import BoundedEstimate
from holdfast.programs.solver import UNBOUNDED

Table = NDArray[np.int64]
Real = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Step:
    """The queries of a level, and the rows over a child's cells that are invariant or have bounds there."""

    queries: tuple[LevelQuery, ...]
    invariants: csr_array | None = None
    ranges: csr_array | None = None

    def solve(self, answers: Sequence[Real], parent: Table, **known: Any) -> WholeCounts:
        """Return the children's counts, or raise UnmetError."""
        nodes = len(next(each for each in (*answers, *known.values()) if each is not None))
        rows: dict[str, Any] = {"invariants": self.invariants, "ranges": self.ranges}
        measured: dict[str, Any] = {"queries": self.queries, "answers": answers}
        level = Level.of("children", nodes, parent.size, **measured, **rows, **known)
        if not self.queries:
            level = spread(level, np.zeros(nodes, dtype=np.int64), parent[None, :])
        solved = FamilySolver(level).solve(level, parent)
        if solved is None:
            found = conflict(parent, children=nodes, **rows, **known)
            assert found is not None
            raise UnmetError(found)
        return solved


def estimate(queries: Sequence[tuple[LevelQuery, Real]], parent: Table, **known: Any) -> BoundedEstimate:
    """Return the real counts of children, given queries with what was measured; ``high`` may be infinite."""
    if (high := known.get("high")) is not None:
        known["high"] = np.where(
            np.isinf(high), UNBOUNDED, np.where(np.isinf(high), 0, high).astype(np.int64)
        )
    asked: dict[str, Any] = {
        "queries": [query for query, _ in queries],
        "answers": [answers for _, answers in queries],
    }
    level = Level.of("children", len(queries[0][1]), parent.size, **asked, **known)
    return FamilySolver(level).estimate(level, parent)


def children(
    cells: Real,
    parent: Table,
    *,
    weight: float = 1.0,
    measured: Real | None = None,
    total_weight: float = 0.0,
    totals: Table | None = None,
    **bounds: Any,
) -> BoundedEstimate:
    """Return the real counts of children from a detailed query, and from totals, measured or known."""
    one = csr_array(np.ones((1, parent.size), dtype=np.int64))
    queries = [(LevelQuery(csr_array(eye_array(parent.size)), weight), cells)]
    if measured is not None:
        queries.append((LevelQuery(one, total_weight), measured[:, None]))
    kept: dict[str, Any] = {} if totals is None else {"invariants": one, "values": totals[:, None]}
    return estimate(queries, parent, **kept, **bounds)


def conflict(parent: Table, *, children: int, **known: Any) -> tuple[Constraint, ...] | None:
    """Return constraints of a family that contradict, each of them needed for that; None where none do."""
    level = Level.of("children", children, parent.size, **known)
    return contradiction(Subtree((level,), (), parent))
