"""How far tables are apart where records come and go, and none is another [theory, 14].

The distance of two tables of D_t is ||x - x'||_1, whether or not they have equally many records. The
*semi-adjacency* is how many additions and removals it takes at most until any one record is gone, or any
further one there. With Y in D_t and Y_z < X_z, or Y_z > X_z,

    worst_case  max over X in D_t, cells z and both directions of min ||Y - X||_1,
    literal     max over z of the least of these over X,

where a cell whose count can go no further in D_t is left out: an invariant says so, and no noise can help.
The sensitivity space is S_b = {x - x' : x, x' in D_t, ||x - x'||_1 <= b}.

No total ties the blocks of cells that share no invariant, so both readings are the largest of the blocks'. A
*loose* cell, in no invariant, takes or loses a record by itself. Where the invariants fix the number of
records, an addition comes with a removal, and S_b is that of b // 2 records that change.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import comb

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.components import components
from holdfast.lattice.nested import is_totally_unimodular
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import assigned, setting
from holdfast.universe.bounds import Clique, junction_order, product_bound
from holdfast.universe.limited import FAR, listed, one_limited_table
from holdfast.universe.limits import Limits
from holdfast.universe.move_programs import MovePrograms
from holdfast.universe.semi_adjacency import BLOCKS, SemiAdjacency
from holdfast.universe.sensitivity import LIMITED, Sensitivity, largest_part, norms_of, sensitivity
from holdfast.universe.space import MOST_ENTRIES, SETS, Spare, multisets, sensitivity_space, too_many_vectors
from holdfast.universe.spread import spread
from holdfast.universe.universe import FeatureBlock, Universe, blocks_of
from holdfast.universe.vacuous import one_by_programs, one_table

PLACE = "theory, 14"


def loose_cells(universe: Universe) -> BoolArray:
    """Return which cells are in no invariant."""
    return np.asarray(np.bincount(universe.matrix.indices, minlength=universe.cells) == 0)


def presence_adjacency(universe: Universe, work: int | None = None) -> SemiAdjacency:
    """Return how many additions and removals the presence of one record takes, in both readings.

    No search of it is long, whatever ``work`` there may be.
    Raises GuaranteeError where no value and no bound is known.
    """
    del work
    if universe.dimension == 0:
        return _exactly(0)
    if universe.limits is not None:
        return _limited(universe, universe.limits)
    loose = loose_cells(universe)
    return _beside(_tied(universe, loose), able=bool(loose.any()))


def _beside(tied: Universe | None, *, able: bool) -> SemiAdjacency:
    """Return the readings of cells in invariants, beside loose ones that are ``able`` to take a record."""
    found = _exactly(0) if tied is None else _of_tied(tied)
    one = int(able)
    return replace(found, worst_case=max(found.worst_case, one), literal=max(found.literal, one))


def _tied(universe: Universe, loose: BoolArray) -> Universe | None:
    """Return the cells that are in invariants as a universe of their own, None where there are none."""
    if not loose.any():
        return universe
    if loose.all():
        return None
    return Universe(csr_array(universe.matrix[:, np.flatnonzero(~loose)]), universe.values, None)


def _limited(universe: Universe, limits: Limits) -> SemiAdjacency:
    """Return the readings within public bounds, of all tables or where single cells are bounded."""
    if (tables := listed(universe)) is not None:
        worst, literal = presence_readings(tables)
        return SemiAdjacency(worst, literal, exact=True, reference=PLACE)
    if not limits.of_cells:
        raise _out_of_reach()
    low, high = limits.ranges
    loose = loose_cells(universe)
    able = bool((loose & (low < high)).any())
    # what a cell holds at least is taken away from all tables alike
    tied = _tied(replace(universe.unlimited, values=universe.values - universe.matrix @ low), loose)
    if tied is None or (limits.rows.data > 0).all():
        return _beside(tied, able=able)
    circuits = largest_circuit(tied)
    if circuits is None:
        raise _out_of_reach()
    most = max(circuits, int(able))
    return SemiAdjacency(most, most, exact=False, reference=PLACE)


def presence_readings(tables: IntArray) -> tuple[int, int]:
    """Return the worst case and the literal reading over all tables, from the definition."""
    worst, least = 0, np.full(tables.shape[1], FAR)
    for table in tables:
        u = tables - table
        size = np.abs(u).sum(axis=1)[:, None]
        for beyond in (u > 0, u < 0):
            cost = np.where(beyond, size, FAR).min(axis=0)
            worst = max(worst, int(cost[cost < FAR].max(initial=0)))
            least = np.minimum(least, cost)
    return worst, int(least[least < FAR].max(initial=0))


def _of_tied(universe: Universe) -> SemiAdjacency:
    """Return the readings where every cell is in an invariant, and no bounds narrow the universe."""
    if universe.dimension == 0:
        return _exactly(0)
    if universe.settled is not None:  # a record moves within its pattern, out of one cell and into another
        return _exactly(2 if (universe.patterns.size[universe.settled > 0] > 1).any() else 0)
    if (tables := listed(universe)) is not None:
        worst, literal = presence_readings(tables)
        return SemiAdjacency(worst, literal, exact=True, reference=PLACE)
    if only_table(universe):
        return replace(_exactly(0), searched=True)
    known = (margins_bound(universe.cliques), _products(universe), largest_circuit(universe))
    bound = min((one for one in known if one is not None), default=None)
    if bound is None:
        raise _out_of_reach()
    least = _attained(universe, bound)
    if least is None:
        return SemiAdjacency(bound, bound, exact=False, reference=PLACE)
    return SemiAdjacency(bound, least, exact=True, reference=PLACE)


def margins_bound(cliques: Collection[Clique] | None) -> int | None:
    """Return 2 q for the q maximal sets of attributes of decomposable margins, else None.

    It is 2 for the total alone, and 1 where nothing is kept.
    """
    order = None if cliques is None else junction_order(cliques)
    return None if order is None or cliques is None else 2 * max(len(order), 1) if cliques else 1


def _products(universe: Universe) -> int | None:
    """Return 2 q where every block is a full product of at most q features with fixed counts."""
    found = product_bound(universe)
    return None if found is None else 2 * (found.value - 1)


def largest_circuit(universe: Universe, *, same_size: bool = False) -> int | None:
    """Return the largest ||u||_1 of a circuit, or a bound, where A is totally unimodular; None elsewhere.

    Every difference is a sum of circuits with its signs [schrijver1986]. With ``same_size`` they are those of
    tables of one size, whether or not the invariants say so.
    """
    if universe.settled is not None:  # a record moves within its pattern
        return 2
    matrix = universe.patterns.columns
    fixed = universe.total is not None
    if same_size and not fixed:
        matrix = csr_array(vstack([matrix, csr_array(np.ones((1, matrix.shape[1]), dtype=np.int64))]))
    if not is_totally_unimodular(matrix):
        return None
    size = max((block.rows.size for block in components(matrix)), default=0) + 1
    return size - size % 2 if same_size or fixed else size


def _attained(universe: Universe, bound: int) -> int | None:
    """Return the literal reading where some block is known to attain a bound, else None.

    Two features in use let any count of theirs change by four, and none by fewer where no two cells are
    alike; where all levels of a further record are with different ones, each of them is taken away.
    """
    alike = universe.patterns.size > 1
    if alike.any() and not alike.all():
        return None
    for block in islice(blocks_of(universe), BLOCKS):
        if block is not None and 2 * len(block.features) == bound:
            two = bound == 4 and not alike.any() and sum(count.size > 1 for count in block.used) == 2
            if two or _dealt_out(block):
                return 2 if alike.all() else 4
    return None


def _dealt_out(block: FeatureBlock) -> bool:
    """Whether the rarest levels of all features can be with different records, one for each of them."""
    used = block.used
    return len(used) == len(block.features) and sum(int(one[-1]) for one in used) <= block.records


def _exactly(value: int) -> SemiAdjacency:
    return SemiAdjacency(value, value, exact=True, reference=PLACE)


def _out_of_reach() -> GuaranteeError:
    return GuaranteeError(
        "how many records come and go with one under these invariants is out of reach, and no bound of it is"
        f" known: set {assigned('adjacency', 'unit')}, or {assigned('neighbours', 'replace')}, in"
        f" {setting('privacy')}."
    )


def only_table(universe: Universe) -> bool:
    """Whether there are no two different tables, of whatever size; False where that is left open."""
    if universe.limits is not None and universe.dimension:
        return one_limited_table(universe, alike=False)
    if loose_cells(universe).any():
        return False
    if universe.total is not None or not one_table(universe):
        return one_table(universe)
    seen = universe.patterns
    return one_by_programs(seen.columns, universe.values, seen.size > 1, alike=False)


def presence_sensitivity(universe: Universe, distance: int) -> Sensitivity:
    """Return the largest norms of S_b for b = distance."""
    b = distance
    if b == 0 or universe.dimension == 0:
        return Sensitivity(0, 0, 0, exact=True)
    if universe.limits is not None:
        upper = presence_sensitivity(universe.unlimited, b)
        if universe.kinds.count > LIMITED:
            return replace(upper, exact=False)
        return norms_of(MovePrograms(universe, b, presence=True), (upper.l1, upper.l2_squared, upper.linf))
    if loose_cells(universe).any():  # all b records come to one cell
        return Sensitivity(b, b * b, b, exact=True)
    if universe.total is not None:
        return sensitivity(universe, b // 2)
    norms = (b, b * b, b)
    if (universe.matrix.data == 1).all():  # what comes to a cell leaves others of its row
        norms = (b, b * b // 2, b // 2)
    if universe.kinds.count > LIMITED:
        return Sensitivity(*norms, exact=False)
    return norms_of(MovePrograms(universe, b, presence=True), norms)


def presence_spread(universe: Universe) -> Fraction:
    """Return an upper bound on the largest (||u||_2 / ||u||_1)^2 over the lattice {u : A u = 0}.

    It is 1 for a loose cell alone. Where the rows of A have equal weights and hold all cells, what comes to a
    cell leaves others, so that ||u||_inf <= ||u||_1 / 2 and ||u||_2^2 <= ||u||_inf ||u||_1.
    """
    if universe.dimension == 0:
        return Fraction(0)
    if universe.total is not None and not loose_cells(universe).any():
        return spread(universe) / 4  # ||u||_1 is twice the records that change
    plain = (universe.matrix.data == 1).all() and not loose_cells(universe).any()
    return Fraction(1, 2 if plain else 1)


def presence_part(universe: Universe, distance: int, cells: BoolArray, space: Sensitivity) -> int:
    """Return the largest sum of |u| over some cells in S_b, b = distance, or a bound of it."""
    if (loose_cells(universe) & cells).any() and universe.limits is None:
        return distance
    if universe.total is not None:
        return largest_part(universe, distance // 2, cells, space)
    if universe.kinds.count > LIMITED:
        return space.l1
    moves = MovePrograms(universe, distance, apart=cells, presence=True)
    return moves.largest_part(max(1, min(space.linf, distance)), space.l1)


def presence_space(universe: Universe, distance: int, limit: int = 100_000) -> IntArray:
    """Return all of S_b without 0, b = distance, as `sensitivity_space` does that of records that change."""
    if universe.total is not None:
        return sensitivity_space(universe, distance // 2, limit)
    if comb(universe.cells + distance, distance) > SETS:
        raise GuaranteeError(
            f"the sensitivity space of {universe.cells} cells and {distance} records is out of reach: use a"
            " smaller table or fewer records."
        )
    found: list[IntArray] = []
    held = 0
    for vectors in _added_and_removed(universe, distance):
        found += [vectors, -vectors]
        held += 2 * len(vectors)
        if held > limit or held * universe.cells > MOST_ENTRIES:
            raise too_many_vectors(min(limit, MOST_ENTRIES // universe.cells))
    return np.unique(np.concatenate(found), axis=0) if held else np.zeros((0, universe.cells), dtype=np.int64)


def _added_and_removed(universe: Universe, distance: int) -> Iterator[IntArray]:
    """Yield the differences p - q of multisets of cells with equal sums of columns, one of u and -u."""
    counts = np.zeros((1, universe.cells), dtype=np.int64)
    for size in range(1, distance + 1):
        sets = multisets(universe.cells, size)
        more = np.zeros((len(sets), universe.cells), dtype=np.int64)
        np.add.at(more, (np.arange(len(sets)).repeat(size), sets.ravel()), 1)
        counts = np.concatenate([counts, more])
    sums = counts @ universe.matrix.toarray().T
    order = np.lexsort(sums.T) if sums.shape[1] else np.arange(len(sums))
    new = np.flatnonzero((np.diff(sums[order], axis=0) != 0).any(axis=1)) + 1
    spare = Spare(universe, distance)
    for group in np.split(order, new):
        if group.size == 1 or not spare.holds(np.repeat(np.arange(universe.cells), counts[group[0]])):
            continue
        same = counts[np.sort(group)]  # by size
        size = same.sum(axis=1)
        for place in range(len(same) - 1):
            later = slice(place + 1, int(np.searchsorted(size, distance - size[place], side="right")))
            apart = (same[later][:, same[place] > 0] == 0).all(axis=1)
            yield same[later][apart] - same[place]
