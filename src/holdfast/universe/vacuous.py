"""Guarantees that promise nothing, since the tables that they compare are all the same [theory, 2].

A mechanism sees the table. When two people exchange their values the data change and the table does not, so
the semi-adjacency a can be smaller than the distance of any two different tables. Then S_a = {0}: tables at
most a records apart are equal, and publishing the table as it is would keep the guarantee with epsilon = 0.

Whether there are two tables at all is decided without semi-adjacency and sensitivity, block by block (cells
that no row ties to others):

* a cell without a row, or a row of one pattern with records: two of its cells can exchange a record;
* a full product of features with fixed counts: two features with two levels in use can exchange a level;
* other blocks are put into one program over pairs of tables of equal size.

Public bounds may leave one table where the invariants alone leave many [limited.py].
"""

import numpy as np
from scipy.sparse import block_array, csr_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.product import product_features
from holdfast.programs.solver import UNBOUNDED, Program, Status
from holdfast.spec.privacy import RECORD, ProtectedUnit
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import assigned, setting
from holdfast.universe.limited import one_limited_table
from holdfast.universe.sensitivity import Sensitivity, least_distance
from holdfast.universe.universe import Universe

PATTERNS = 1_000  # one program for each pattern of the blocks without a closed form, up to this many


def refuse_one_table(universe: Universe) -> None:
    """Raise where no two different conforming tables are compared, whatever the distance."""
    if one_table(universe):
        raise one_table_left(universe, " of each size" if universe.total is None else "")


def one_table_left(universe: Universe, of_each_size: str = "") -> GuaranteeError:
    """Return the refusal of any guarantee where one table is left."""
    bounded = universe.declared is not None
    what = "invariants and inequalities" if bounded else "invariants"
    drop = "drop an inequality or an invariant" if bounded else "drop or coarsen an invariant"
    return GuaranteeError(
        f"the {what} leave one possible table{of_each_size}, so nothing is left to protect and any"
        f" guarantee would be vacuous: {drop}, or publish the table as it is."
    )


def refuse_vacuous(
    universe: Universe, distance: int, space: Sensitivity, whom: ProtectedUnit = RECORD
) -> None:
    """Raise where all tables at most ``distance`` records apart are equal, by the norms at that distance."""
    if space.l1 > 0 and (space.exact or universe.limits is None):
        return
    refuse_one_table(universe)
    if space.l1 > 0:
        return
    nearest = least_distance(universe, above=distance)
    apart = f"more than {distance}" if nearest is None else f"at least {nearest}"
    each = None if nearest is None else -(-nearest // whom.records)
    offer = "" if each is None else f"{assigned('distance', each)} or "
    raise GuaranteeError(
        f"a guarantee for tables at most {whom.amount(distance)} apart would be vacuous, since an exchange"
        f" of two {_of_two(whom)} values changes no table, and different tables with these invariants are"
        f" {apart} {whom.counted} apart: set {offer}{assigned('adjacency', 'unit')} in {setting('privacy')},"
        " or keep fewer invariants."
    )


def _of_two(whom: ProtectedUnit) -> str:
    """Return whose values are exchanged: "people's", "households'"."""
    many = whom.many if whom.records == 1 else whom.counted
    return f"{many}'" if many.endswith("s") else f"{many}'s"


def one_table(universe: Universe) -> bool:
    """Whether no two different conforming tables have equally many records; False where that is left open."""
    if universe.limits is not None and universe.dimension:
        return one_limited_table(universe)
    columns, several = universe.patterns.columns, universe.patterns.size > 1
    loose = np.bincount(columns.indices, minlength=several.size) == 0
    only = np.flatnonzero(np.diff(columns.indptr) == 1)
    fixed = columns.indices[columns.indptr[only]]
    if several[loose].any() or several[fixed[universe.values[only] != 0]].any():
        return False
    rows, patterns = [], [np.flatnonzero(loose)]
    for block in universe.pattern_components:
        if block.cells.size == 1 or block.rows.size == 0:
            continue
        part = csr_array(columns[block.rows][:, block.cells])
        closed = _one_of_product(part, universe.values[block.rows], several[block.cells])
        if closed is False:
            return False
        if closed is None:
            rows.append(block.rows)
            patterns.append(block.cells)
    if not rows:
        return True
    row, pattern = np.concatenate(rows), np.concatenate(patterns)
    if pattern.size > PATTERNS:
        return False
    return one_by_programs(csr_array(columns[row][:, pattern]), universe.values[row], several[pattern])


def _one_of_product(matrix: csr_array, values: IntArray, several: BoolArray) -> bool | None:
    """Whether a product of features has one table, None when the block is none.

    A table with records (a, b, ...) and (a', b', ...) exists for any levels in use, and exchanging b and b'
    gives another. With one feature in use the levels alone say which patterns hold the records.
    """
    features = product_features(matrix, values)
    if features is None:
        return None
    used = [feature.count > 0 for feature in features]
    held = np.all([use[feature.level] for use, feature in zip(used, features, strict=True)], axis=0)
    return sum(int(use.sum()) > 1 for use in used) < 2 and not (held & several).any()


def one_by_programs(columns: csr_array, values: IntArray, several: BoolArray, *, alike: bool = True) -> bool:
    """Whether no two tables X and Y differ, of equal size if ``alike``: where they do, some Y_z > X_z."""
    count = several.size
    ones = csr_array(np.full((1, count), int(alike), dtype=np.int64))
    rows = block_array([[columns, None], [None, columns], [ones, -ones]], format="csr")
    sums = np.concatenate([values, values, [0]])
    pairs = Program(csr_array(rows), sums, sums, most=np.full(2 * count, UNBOUNDED))

    def differ(z: int) -> bool:
        most = np.zeros(2 * count, dtype=np.int64)
        most[[z, count + z]] = -1, 1
        found = pairs.solve(maximise=most)
        if found.status is not Status.SOLVED or found.point is None:
            return True
        return bool((found.point[:count] != found.point[count:]).any())

    for z in range(count):
        if several[z] and pairs.solve(least={z: 1}).status is not Status.INFEASIBLE:
            return False
        if differ(z):
            return False
    return True
