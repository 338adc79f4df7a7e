"""Upper bounds on the worst-case semi-adjacency that need no search.

Margins of a decomposable model. Let the invariants be the margins on the attribute sets
C_1, ..., C_q over the full product of levels, with the running intersection property. Then person
i with record x can take any possible record y by changing at most q + 1 records. Proof: y is
possible, so for each k some record z_k of the dataset agrees with y on C_k. Walk the junction tree
from its root. A record that agrees with y on the cliques walked so far and z_k agree on the
separator, so exchanging between them the attributes of the branch beyond it keeps the margin of
every clique. After q - 1 exchanges some record equals y, and at most q records have changed.
Person i takes that record and its owner takes x: q + 1 changes. For disjoint cliques this is
[semi-dp, Theorem 16] with [semi-dp, Remark 17]. The total alone, or nothing, costs 1 change.

Totally unimodular invariants. Some table Y of the same size has Y_y >= 1. If X_y = 0, write
Y - X as a sum of circuits of the lattice that agree with it in sign; one circuit g has g_y > 0 and
X + g conforms. Entries of g are -1, 0 or 1, and its support is at most one more than the rank of
its connected component, so at most (rank + 1) / 2 records change; one more change gives y to
person i [schrijver1986].

Blocks that are products. Where no attributes are named, the rows themselves may show them: see
`product_features`. Let every block (cells that no row ties to others) be the full product of at most
q features with fixed counts. Then q + 1 changes are enough, and 2 where q <= 1. Proof: some table
holds y, so for each feature k of the block of y the count of the level that y has is at least 1, and
the dataset holds a record z_k with that level. Exchanging levels between records of the block keeps
every count of a level, hence every row, and ends in a record of the product. After q - 1 exchanges
some record equals y and at most q have changed; person i takes it and its owner takes x, whichever
block x is in. A y in no row: the blocks' totals are fixed, so every dataset of the size of one that
holds y has a record in no row; that one becomes x. Different columns of one block differ in some
feature, so nothing else ties the records.

The number of records n bounds every distance between two datasets.

The literal reading. When there are at most two maximal cliques, or disjoint ones, two changes are
enough for some dataset with a record x. Proof: take x away; the margins left are consistent and
nonnegative. Let D be the cliques on which x and y differ. Each still counts some record that
agrees with y there. D is connected in the junction tree, or joined by empty separators, so these
extend to one record z that equals y on all of D and is possible beside x. Then x can become y while
z becomes x on the attributes of D: every clique keeps its margin. Blocks that are products of features
are the case of disjoint cliques, and records x and y of different blocks occur in one table, to be
exchanged.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scipy.sparse import csr_array, vstack

from holdfast.lattice.components import components
from holdfast.lattice.nested import is_totally_unimodular
from holdfast.universe.universe import Universe, blocks_of

Clique = frozenset[str]
Support = frozenset[tuple[str, ...]]
"""The combinations of levels that a margin counts at least once, the attributes in alphabetical order."""


def maximal(cliques: Iterable[Clique]) -> tuple[Clique, ...]:
    """Return the nonempty cliques that no other clique contains, in a fixed order."""
    distinct = sorted({clique for clique in cliques if clique}, key=sorted)
    return tuple(one for one in distinct if not any(one < other for other in distinct))


def junction_order(cliques: Iterable[Clique]) -> list[tuple[Clique, Clique]] | None:
    """Return the maximal cliques, each with its separator; None where they are not decomposable.

    Sets of attributes C_1, ..., C_q are decomposable when they can be ordered so that each meets all those
    before it in a part of one of them, its *separator*. What is asked of such margins is answered set by set,
    however many cells the product of all levels has [theory, 2; theory, 10].

    The next clique is one that shares most with a single one before it: a spanning tree of largest weight is
    a junction tree exactly where there is one.
    """
    left, walked, order = list(maximal(cliques)), list[Clique](), list[tuple[Clique, Clique]]()
    while left:
        shared = {clique: max((clique & one for one in walked), key=len, default=Clique()) for clique in left}
        clique = max(left, key=lambda one: len(shared[one]))
        if clique & frozenset().union(*walked) != shared[clique]:
            return None
        order.append((clique, shared[clique]))
        walked.append(clique)
        left.remove(clique)
    return order


def one_table(margins: Mapping[Clique, Support]) -> bool:
    """Whether decomposable margins leave one table over the attributes they are over.

    Walk the junction order, and keep the table over the attributes walked so far, as long as there is one.
    Where a level of the separator meets two combinations on either side, two tables agree with the margins,
    and either can be continued. Otherwise the levels beyond are joined in the only way [theory, 10].
    """
    attributes: tuple[str, ...] = ()
    table: set[tuple[str, ...]] = {()}
    for clique, separator in junction_order(margins) or ():
        names = sorted(clique)
        new = [place for place, name in enumerate(names) if name not in separator]
        before = _grouped(table, [attributes.index(name) for name in sorted(separator)])
        beyond = _grouped(margins[clique], [names.index(name) for name in sorted(separator)])
        if any(len(before[level]) > 1 and len(beyond[level]) > 1 for level in beyond):
            return False
        table = {
            (*one, *(other[place] for place in new))
            for level, others in beyond.items()
            for one in before[level]
            for other in others
        }
        attributes = (*attributes, *(names[place] for place in new))
    return True


def _grouped(
    rows: Iterable[tuple[str, ...]], places: list[int]
) -> defaultdict[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the rows by their levels at some places."""
    groups: defaultdict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[place] for place in places)].append(row)
    return groups


@dataclass(frozen=True)
class AdjacencyBound:
    """An upper bound on the worst-case semi-adjacency, and why it holds."""

    value: int
    reference: str


def upper_bound(universe: Universe) -> AdjacencyBound | None:
    """Return the smallest of the known upper bounds, or None when there is none."""
    named = decomposable_bound(universe.cliques)
    found = named or product_bound(universe)
    known = [
        bound for bound in (found, total_bound(universe), unimodular_bound(universe)) if bound is not None
    ]
    return min(known, key=lambda bound: bound.value, default=None)


def decomposable_bound(cliques: tuple[frozenset[str], ...] | None) -> AdjacencyBound | None:
    """Return q + 1 for the q maximal cliques of a decomposable model, else None."""
    if cliques is None:
        return None
    order = junction_order(cliques)
    return None if order is None else AdjacencyBound(len(order) + 1, "theory, 2; semi-dp, Theorem 16")


def literal_is_two(cliques: tuple[frozenset[str], ...] | None) -> bool:
    """Whether margins on these sets allow every possible change in two for some dataset."""
    if cliques is None:
        return False
    sets = maximal(cliques)
    return len(sets) <= 2 or sum(map(len, sets)) == len(frozenset().union(*sets))


def total_bound(universe: Universe) -> AdjacencyBound | None:
    """Return the number of records, where the invariants determine it."""
    if universe.total is None:
        return None
    return AdjacencyBound(universe.total, "theory, 2")


def unimodular_bound(universe: Universe) -> AdjacencyBound | None:
    """Return (rank + 1) // 2 + 1 with the largest rank of a component, when A is unimodular."""
    matrix = universe.patterns.columns
    if universe.total is None:
        ones = csr_array([[1] * matrix.shape[1]])
        matrix = csr_array(vstack([matrix, ones]))
    if not is_totally_unimodular(matrix):
        return None
    rank = max((block.rows.size for block in components(matrix)), default=0)
    return AdjacencyBound((rank + 1) // 2 + 1, "theory, 2")


def product_bound(universe: Universe) -> AdjacencyBound | None:
    """Return q + 1, and 2 at least, when every block is a full product of at most q features."""
    most = 1
    for part, block in zip(universe.pattern_components, blocks_of(universe), strict=False):
        if block is not None:
            most = max(most, len(block.features))
        elif part.rows.size:
            return None
    return AdjacencyBound(most + 1, "semi-dp, Theorem 16 and Remark 17, for products of features")
