"""What is known exactly must hold of some table: contradictions are found before anything rests on them.

A known row says that a count of records lies in [low, high]: = v in [v, v], <= v in [0, v], >= v in
[v, infinity). Two sets of rows contradict where rows of one, of cells and nodes that lie in those of a row of
the other and share none, have lower ends that add up to more than its upper end; or where they cover it and
their upper ends add up to less than its lower end. Each two sets of rows are compared, so that totals are
compared with those of the level below, and with margins; what only three or more of them contradict is
found where estimates are made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.sparse import csr_array, kron

from holdfast.data.geography import Spine
from holdfast.data.nmf.opened import KnownQuery
from holdfast.data.nmf.queries import Histogram
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.spec.codebook import Groups
from holdfast.system.errors import DataError
from holdfast.system.ways import option

MOST_ENTRIES = 20_000_000
"""Pairs of rows of two queries, or of nodes and rows, that are compared at most."""


def require_consistent(known: Sequence[KnownQuery], spine: Spine, histogram: Histogram) -> None:
    """Raise DataError where what is known exactly, or bounded, cannot hold of counts of records."""
    for each in known:
        below_zero = np.argwhere(each.values < 0) if each.sign != ">=" else np.zeros((0, 2), dtype=np.int64)
        if below_zero.size:
            node, row = below_zero[0].tolist()
            raise DataError(f"{_told(each, spine, node, row)}, and counts are never below 0: {_way()}.")
    for upper, lower in permutations(known, 2):
        if upper.level <= lower.level:
            _compare(upper, lower, spine, histogram)


def _way() -> str:
    return f"correct the constraint, or {option('invariants')}"


@dataclass(frozen=True, eq=False)
class _Ends:
    """Lower and upper ends of a known query at all nodes of its level, 0 and infinite where there is none."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, known: KnownQuery, spine: Spine) -> "_Ends":
        size = len(spine.codes(spine.levels.names[known.level])), known.values.shape[1]
        low, high = np.zeros(size), np.full(size, np.inf)
        if known.sign != "<=":
            low[known.nodes] = known.values
        if known.sign != ">=":
            high[known.nodes] = known.values
        return cls(low, high)


def _compare(one: KnownQuery, other: KnownQuery, spine: Spine, histogram: Histogram) -> None:
    """Raise DataError where rows of an upper level contradict those of a lower one, or of the same."""
    rows, more = one.values.shape[1], other.values.shape[1]
    nodes_below = len(spine.codes(spine.levels.names[other.level]))
    if max(rows * more, nodes_below * max(rows, more)) > MOST_ENTRIES:
        return
    inside, meets, covers = _rows(one, other, histogram)
    if not inside.nnz and not covers.any():
        return
    upper, lower = _Ends.of(one, spine), _Ends.of(other, spine)
    up = _ancestors(spine, one.level, other.level)
    nodes = upper.low.shape[0]
    least = _summed(lower.low @ inside.T, up, nodes)
    finite = np.where(np.isfinite(lower.high), lower.high, 0)
    most = _summed(finite @ meets.T, up, nodes)
    open_ = _summed(np.isinf(lower.high) @ meets.T, up, nodes) > 0
    most[open_ | ~covers] = np.inf
    for wrong, sums in ((least > upper.high, least), (most < upper.low, most)):
        if wrong.any():
            node, row = np.argwhere(wrong)[0].tolist()
            at = int(np.searchsorted(one.nodes, node))
            raise DataError(
                f"{_told(one, spine, at, row)}, and {other.query.name} of the level"
                f" {spine.levels.names[other.level]} adds up to {sums[node, row]:.0f} there: {_way()}."
            )


def _rows(
    upper: KnownQuery, lower: KnownQuery, histogram: Histogram
) -> tuple[csr_array, csr_array, BoolArray]:
    """Return which rows of one query lie in those of another one, which meet them, and which are covered."""
    inside, meets, covers = (csr_array(np.ones((1, 1))) for _ in range(3))
    for one, other, size in zip(upper.query.groups, lower.query.groups, histogram.sizes, strict=True):
        a, b = _members(one, size), _members(other, size)
        shared = a @ b.T
        inside = csr_array(kron(inside, (shared == b.sum(axis=1)[None]).astype(float), format="csr"))
        meets = csr_array(kron(meets, (shared > 0).astype(float), format="csr"))
        whole = (shared.sum(axis=1) == a.sum(axis=1)).astype(float)
        covers = csr_array(kron(covers, whole[:, None], format="csr"))
    return inside, meets, covers.toarray().ravel() > 0


def _members(groups: Groups | None, size: int) -> FloatArray:
    """Return which levels each group has."""
    if groups is None:
        return np.ones((1, size))
    found = np.zeros((len(groups), size))
    for row, levels in enumerate(groups.values()):
        found[row, list(levels)] = 1
    return found


def _ancestors(spine: Spine, upper: int, lower: int) -> IntArray:
    """Return the place on an upper level of each node of a lower one."""
    found = np.arange(len(spine.codes(spine.levels.names[lower])))
    for parent in reversed(spine.parent[upper:lower]):
        found = parent[found]
    return found


def _summed(values: FloatArray, up: IntArray, nodes: int) -> FloatArray:
    found = np.zeros((nodes, values.shape[1]))
    np.add.at(found, up, values)
    return found


def _told(known: KnownQuery, spine: Spine, at: int, row: int) -> str:
    name = spine.levels.names[known.level]
    code = spine.codes(name)[int(known.nodes[at])]
    cell = " ".join(part for part in known.query.named(row) if part is not None)
    sign = "" if known.sign == "=" else f"{known.sign} "
    called = f"{known.query.name} {cell}" if cell else known.query.name
    return f"{called} of {name} {code!r} is {sign}{known.values[at, row]:,}"
