"""The semi-adjacency a(t): how many records must change so that one record can be any other.

Records are labelled and their number n stays, whether or not it is an invariant. Let P be the cells
that some conforming table occupies. For a table X in D_t, a record in cell x and another cell y of
P,

    d(X; x -> y) = 1 + min { ||w||_1 / 2 : w integer, sum w = 0, A w = A (e_x - e_y),
                             X - e_x + w >= 0 }.

[semi-dp, Definition 13] can be read in two ways [theory, 2]:

    worst_case  max over X, x, y of d(X; x -> y), as its prose and proofs mean it;
    literal     max over x, y of min over X of d(X; x -> y), as it is printed.

A change that no conforming table of the same size allows is not counted. A universe of one table
has nothing left to protect: both are 0. Where public bounds narrow the universe, see `limited.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.components import patterns
from holdfast.programs.solver import Status
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import assigned, setting
from holdfast.universe.bounds import (
    AdjacencyBound,
    decomposable_bound,
    literal_is_two,
    product_bound,
    upper_bound,
)
from holdfast.universe.limited import limited_bound, listed, one_limited_table, readings
from holdfast.universe.limited_witness import KINDS, LimitedWitnesses
from holdfast.universe.limits import Limits
from holdfast.universe.universe import Universe, blocks_of
from holdfast.universe.witness import Witnesses

# Limits of patience: beyond them the bound of a theorem is told.
BLOCKS = 20  # blocks looked at for one that attains a theorem's bound
PATTERNS = 1_500  # search all pairs of patterns up to this many
PAIRED = 200  # patterns among which a pair of cells is looked for that attains it
SEARCH = "theory, 2"
WitnessSearch = Witnesses | LimitedWitnesses


@dataclass(frozen=True)
class SemiAdjacency:
    """The semi-adjacency of a universe in both readings.

    Attributes:
        worst_case: the value to use; an upper bound when not exact.
        literal: the value of the printed definition; an upper bound when not exact.
        exact: whether both are attained.
        reference: the theorem or the search that gives the worst case.
        searched: whether the worst case rests on a solver's word that no table needs more changes.

    """

    worst_case: int
    literal: int
    exact: bool
    reference: str
    searched: bool = False


def semi_adjacency(universe: Universe, work: int | None = None) -> SemiAdjacency:
    """Return the semi-adjacency of the universe; ``work`` limits the search further, to about microseconds.

    Raises GuaranteeError when the search is beyond the work limit and no bound is known.
    """
    if universe.limits is not None and universe.dimension:
        return _limited(universe, universe.limits, work)
    if universe.rank == 0 or universe.dimension == 0:
        return _exactly(1 if universe.dimension > 1 else 0)
    if universe.settled is not None:
        return _of_nested(universe.patterns.size, universe.settled)
    if (known := _of_products(universe)) is not None:
        return known
    witnesses = Witnesses(universe, work)
    tables, complete = witnesses.covering_tables()
    bound = _bound(universe)
    if not witnesses.bounded or not complete:
        return _only(universe, bound)
    possible = np.flatnonzero(np.any(tables, axis=0))
    start = int((universe.patterns.size[possible] > 1).any())
    if start == 0 and _unique(witnesses, tables, possible):
        return _exactly(0)
    return _searched(witnesses, possible, tables, bound, start)


def known_bound(universe: Universe) -> int | None:
    """Return a number of records that one record's change never exceeds, without a search; None without one.

    It is for records that are others, without bounds of their counts.
    """
    if universe.limits is not None or universe.rank == 0 or universe.dimension == 0:
        return None
    bound = _bound(universe)
    return None if bound is None else bound.value


def _searched(
    witnesses: WitnessSearch,
    possible: IntArray,
    tables: list[IntArray],
    bound: AdjacencyBound | None,
    start: int,
) -> SemiAdjacency:
    """Return both readings from questions about tables, as far as they are answered."""
    proved = bound
    bound, hard = _made_first(witnesses, possible, bound)
    worst = _worst_case(witnesses, possible, bound, start, hard)
    literal = _literal(witnesses, possible, tables, start)
    if worst is None:
        only = _only(witnesses.universe, bound)
        literal = only.worst_case if literal is None else min(literal, only.worst_case)
        return replace(only, literal=literal, searched=_below(only.worst_case, proved))
    reference = bound.reference if bound is not None and worst == bound.value else SEARCH
    return SemiAdjacency(
        worst,
        worst if literal is None else literal,
        exact=literal is not None,
        reference=reference,
        searched=_below(worst, proved),
    )


def farthest_pair(universe: Universe, changes: int) -> tuple[int, int] | None:
    """Return cells x, y with d(X; x -> y) >= changes in some table X; None where none is found in time."""
    if universe.dimension == 0 or universe.patterns.count > PAIRED:
        return None
    witnesses: WitnessSearch
    if universe.limits is None:
        kinds, witnesses = universe.patterns, Witnesses(universe)
        if not witnesses.bounded:
            return None
    else:
        kinds, witnesses = universe.kinds, LimitedWitnesses(universe, universe.limits)
    tables, _ = witnesses.covering_tables()
    possible = np.flatnonzero(np.any(tables, axis=0))
    first = {kind: int(np.flatnonzero(kinds.of_cell == kind)[0]) for kind in possible.tolist()}
    for x, y in _pairs(witnesses, possible):
        if witnesses.expensive(x, y, max(changes, 2)).point is not None:
            return first[x], first[y]
    return None


def _limited(universe: Universe, limits: Limits, work: int | None) -> SemiAdjacency:
    """Return both readings from all tables or from questions about them, or a bound of both."""
    tables = listed(universe)
    if tables is not None:
        worst, literal = readings(tables) if tables.shape[0] > 1 else (0, 0)
        return SemiAdjacency(worst, literal, exact=True, reference=SEARCH)
    if one_limited_table(universe):
        return replace(_exactly(0), searched=True)
    bound = limited_bound(universe, limits)
    totals = 0 if universe.settled is None else np.count_nonzero(universe.settled)
    if bound is not None and bound.value == 2 and totals > 1:  # nobody goes from one total to another alone
        return SemiAdjacency(2, 2, exact=True, reference=bound.reference)
    if universe.kinds.count <= KINDS:
        witnesses = LimitedWitnesses(universe, limits, work)
        covering, complete = witnesses.covering_tables()
        if complete and covering:
            possible = np.flatnonzero(np.any(covering, axis=0))
            return _searched(witnesses, possible, covering, bound, start=1)  # two tables differ
    return _only(universe, bound)


def _of_nested(sizes: IntArray, counts: IntArray) -> SemiAdjacency:
    """Return what the change of one record takes where the count of every pattern is fixed.

    A record takes another cell of its pattern by itself, and a cell of another pattern in an exchange with
    a record that is there. That there is no other pattern is said as where a solver finds it: certificates
    of one total say so.
    """
    held = sizes[counts > 0]
    value = min(held.size, 2) if (held > 1).any() else 0  # else there is one table
    return replace(_exactly(value), searched=value == 1)


def _of_products(universe: Universe) -> SemiAdjacency | None:
    """Return what a theorem gives where some block of features attains it [`FeatureBlock`], else None."""
    bound = decomposable_bound(universe.cliques) or product_bound(universe)
    if bound is None or bound.value < 3 or _fixed_patterns(universe):
        return None
    if not literal_is_two(universe.cliques) and product_bound(universe) is None:
        return None
    for block in islice(blocks_of(universe), BLOCKS):
        if block is not None and len(block.features) + 1 == bound.value and block.needs_all:
            return SemiAdjacency(bound.value, 2, exact=True, reference=bound.reference)
    return None


def _below(value: int, proved: AdjacencyBound | None) -> bool:
    """Whether a value is smaller than what a theorem gives."""
    return proved is None or value < proved.value


def _bound(universe: Universe) -> AdjacencyBound | None:
    """Return the best upper bound; 2 when t and n fix every pattern: y is there to exchange."""
    return AdjacencyBound(2, SEARCH) if _fixed_patterns(universe) else upper_bound(universe)


def _fixed_patterns(universe: Universe) -> bool:
    """Whether t and n determine the count of every pattern."""
    return universe.patterns.count == universe.rank + (universe.total is None)


def _exactly(value: int) -> SemiAdjacency:
    return SemiAdjacency(value, value, exact=True, reference=SEARCH)


def _only(universe: Universe, bound: AdjacencyBound | None) -> SemiAdjacency:
    """Return what the bound alone says."""
    if bound is None and universe.limits is not None:
        raise GuaranteeError(
            "how many records one person's change takes within these inequalities is out of reach, and no"
            f" bound of it is known: set {assigned('adjacency', 'unit')} in {setting('privacy')}, or bound"
            " single cells only."
        )
    if bound is None:
        raise GuaranteeError(
            "the semi-adjacency of these invariants is out of reach and has no known bound: add "
            "the total number of records to the invariants, or publish fewer of them."
        )
    return SemiAdjacency(bound.value, bound.value, exact=False, reference=bound.reference)


def _unique(witnesses: Witnesses, tables: list[IntArray], possible: IntArray) -> bool:
    """Whether there is one table of patterns only: no count can grow, nor the total shrink."""
    table, universe = tables[0], witnesses.universe
    if len(tables) > 1:
        return False
    if universe.total is not None and _fixed_patterns(universe):
        return True
    if universe.total is None:
        smallest = witnesses.any_table({}, maximise=-np.ones(table.size, dtype=np.int64)).point
        if smallest is None or smallest.sum() < table.sum():
            return False
    return all(witnesses.any_table({int(z): int(table[z]) + 1}).status is Status.INFEASIBLE for z in possible)


def _made_first(
    witnesses: WitnessSearch, possible: IntArray, bound: AdjacencyBound | None
) -> tuple[AdjacencyBound | None, list[tuple[int, int]]]:
    """Return a bound of d(X; x -> y) by c + 1, where c changes make a record y in any table.

    Let c(X, y) be the fewest changes of a table X, X_y = 0, to a conforming table X' of the same size
    with X'_y >= 1. Then d(X; x -> y) <= c(X, y) + 1: c records change and one of them becomes y; person
    i takes y, and the one who made it takes x. Where X_y >= 1, two changes are enough. So one
    question for each y bounds all pairs (x, y). The pairs of the costliest table come along: where the
    bound is attained, they often show it. Only asked when it could improve the bound.
    """
    hard: list[tuple[int, int]] = []
    c, place = 1, 0
    while place < possible.size and (bound is None or c + 1 < bound.value):
        y = int(possible[place])
        outcome = witnesses.unmade(y, c)
        if outcome.point is not None:
            c += 1
            hard = [(int(x), y) for x in np.flatnonzero(outcome.point)]
        elif outcome.status is Status.INFEASIBLE:
            place += 1
        else:
            return bound, hard
    if bound is not None and c + 1 >= bound.value:
        return bound, hard
    return AdjacencyBound(c + 1, SEARCH), hard


def _worst_case(
    witnesses: WitnessSearch,
    possible: IntArray,
    bound: AdjacencyBound | None,
    start: int,
    hard: list[tuple[int, int]],
) -> int | None:
    """Return the largest d(X; x -> y), or None when the search does not settle it.

    Each pair is asked once for a table that needs more changes than any found so far, hard ones first. Once
    a pair is left open only a pair that attains the bound settles all, which none does beyond reach.
    """
    best, settled = start, possible.size <= PATTERNS
    attainable = bound is not None and bound.value <= witnesses.reach
    for x, y in chain(hard, _pairs(witnesses, possible[:PATTERNS])):
        while bound is None or best < bound.value:
            outcome = witnesses.expensive(x, y, max(best + 1, 2))
            if outcome.point is None:
                settled = settled and outcome.status is Status.INFEASIBLE
                break
            best = max(best + 1, 2)
        if (bound is not None and best >= bound.value) or witnesses.exhausted:
            break
        if not (settled or attainable):
            return None
    if bound is not None and best >= bound.value:
        return best
    return best if settled and not witnesses.exhausted else None


def _pairs(witnesses: WitnessSearch, possible: IntArray) -> Iterator[tuple[int, int]]:
    """Yield the ordered pairs of patterns, the least alike first: they cost most."""
    columns = witnesses.columns[:, possible]
    gram = (columns.T @ columns).toarray()
    norm = np.diag(gram)
    apart = norm[:, None] + norm[None, :] - 2 * gram
    different = ~np.eye(possible.size, dtype=bool)
    farthest = apart.max(initial=0)
    # one of the first pairs often settles it: the others are not sorted before
    for one, row in enumerate(different & (apart == farthest)):
        for other in np.flatnonzero(row):
            yield int(possible[one]), int(possible[other])
    ones, others = np.nonzero(different & (apart < farthest))
    order = np.argsort(-apart[ones, others], kind="stable")
    yield from zip(possible[ones[order]].tolist(), possible[others[order]].tolist(), strict=True)


def _literal(witnesses: WitnessSearch, possible: IntArray, tables: list[IntArray], start: int) -> int | None:
    """Return the largest over x, y of the smallest d(X; x -> y), or None when left open.

    Records x and y of one table exchange places, so that is 2, or 1 where bounds alone tell x and y apart.
    """
    universe, column = witnesses.universe, patterns(witnesses.columns).of_cell
    best = 2 if any(np.unique(column[np.flatnonzero(table)]).size > 1 for table in tables) else start
    if universe.limits is None:
        if np.count_nonzero(tables[0]) == possible.size:
            return best
        if literal_is_two(universe.cliques) or product_bound(universe) is not None:
            return 2
    if possible.size > PATTERNS:
        return None
    together = np.eye(witnesses.count, dtype=bool)

    def meet(table: IntArray) -> None:
        inside = np.flatnonzero(table)
        together[np.ix_(inside, inside)] = True

    for table in tables:
        meet(table)
    for x in possible:
        for y in possible[~together[x, possible]]:
            if together[x, y]:
                continue
            if witnesses.exhausted:
                return None
            both = witnesses.any_table({int(x): 1, int(y): 1})
            if both.point is not None:
                meet(both.point)
                best = max(best, 2 if column[x] != column[y] else start)
                continue
            value = witnesses.cheapest(int(x), int(y))
            if value is None:
                return None
            best = max(best, value)
    return best if best >= 2 else _alone(witnesses, together & (column[:, None] == column), best)


def _alone(witnesses: WitnessSearch, pairs: BoolArray, best: int) -> int | None:
    """Return the literal reading over pairs in one table that bounds alone tell apart: it is 2 at most."""
    for x, y in np.argwhere(pairs & ~np.eye(len(pairs), dtype=bool)).tolist():
        value = None if witnesses.exhausted else witnesses.cheapest(x, y)
        if value is None or value >= 2:
            return value
        best = max(best, value)
    return best
