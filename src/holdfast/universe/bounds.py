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
person i [schrijver1986, 19.4].

The number of records n bounds every distance between two datasets.

The literal reading. When there are at most two maximal cliques, or disjoint ones, two changes are
enough for some dataset with a record x. Proof: take x away; the margins left are consistent and
nonnegative. Let D be the cliques on which x and y differ. Each still counts some record that
agrees with y there. D is connected in the junction tree, or joined by empty separators, so these
extend to one record z that equals y on all of D and is possible beside x. Then x can become y while
z becomes x on the attributes of D: every clique keeps its margin.
"""

from dataclasses import dataclass

from scipy.sparse import csr_array, vstack

from holdfast.lattice.components import components
from holdfast.lattice.unimodular import is_totally_unimodular
from holdfast.universe.universe import Universe


@dataclass(frozen=True)
class Bound:
    """An upper bound on the worst-case semi-adjacency, and why it holds."""

    value: int
    reference: str


def upper_bound(universe: Universe) -> Bound | None:
    """Return the smallest of the known upper bounds, or None when there is none."""
    known = [
        bound
        for bound in (
            decomposable_bound(universe.cliques),
            total_bound(universe),
            unimodular_bound(universe),
        )
        if bound is not None
    ]
    return min(known, key=lambda bound: bound.value, default=None)


def decomposable_bound(cliques: tuple[frozenset[str], ...] | None) -> Bound | None:
    """Return q + 1 for the q maximal cliques of a decomposable model, else None."""
    if cliques is None:
        return None
    maximal = _maximal(cliques)
    if not _decomposable(maximal):
        return None
    reference = "semi-dp, Theorem 16 and Remark 17, for decomposable margins"
    return Bound(len(maximal) + 1, reference)


def literal_is_two(cliques: tuple[frozenset[str], ...] | None) -> bool:
    """Whether margins on these sets allow every possible change in two for some dataset."""
    if cliques is None:
        return False
    maximal = _maximal(cliques)
    return len(maximal) <= 2 or sum(map(len, maximal)) == len(frozenset().union(*maximal))


def total_bound(universe: Universe) -> Bound | None:
    """Return the number of records, where the invariants determine it."""
    if universe.total is None:
        return None
    return Bound(universe.total, "the number of records")


def unimodular_bound(universe: Universe) -> Bound | None:
    """Return (rank + 1) // 2 + 1 with the largest rank of a component, when A is unimodular."""
    matrix = universe.patterns.columns
    if universe.total is None:
        ones = csr_array([[1] * matrix.shape[1]])
        matrix = csr_array(vstack([matrix, ones]))
    if not is_totally_unimodular(matrix):
        return None
    rank = max((block.rows.size for block in components(matrix)), default=0)
    return Bound((rank + 1) // 2 + 1, "circuits of a totally unimodular system")


def _maximal(cliques: tuple[frozenset[str], ...]) -> tuple[frozenset[str], ...]:
    """Return the nonempty cliques that no other clique contains."""
    distinct = {clique for clique in cliques if clique}
    return tuple(one for one in distinct if not any(one < other for other in distinct))


def _decomposable(cliques: tuple[frozenset[str], ...]) -> bool:
    """Whether removing private attributes and contained cliques, again and again, leaves none."""
    left = list(cliques)
    while left:
        shared = [frozenset(a for a in clique if sum(a in other for other in left) > 1) for clique in left]
        reduced = list(_maximal(tuple(shared)))
        if sorted(map(sorted, reduced)) == sorted(map(sorted, left)):
            return False
        left = reduced
    return True
