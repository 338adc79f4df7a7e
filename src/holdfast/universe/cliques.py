"""Margins by the attributes they are over, without the cells of their table.

Sets of attributes C_1, ..., C_q are decomposable when they can be ordered so that each meets all those before
it in a part of one of them, its *separator*. What is asked of such margins is answered set by set, however
many cells the product of all levels has [theory, 2; theory, 10].
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

Clique = frozenset[str]
Support = frozenset[tuple[str, ...]]
"""The combinations of levels that a margin counts at least once, the attributes in alphabetical order."""


def maximal(cliques: Iterable[Clique]) -> tuple[Clique, ...]:
    """Return the nonempty cliques that no other clique contains, in a fixed order."""
    distinct = sorted({clique for clique in cliques if clique}, key=sorted)
    return tuple(one for one in distinct if not any(one < other for other in distinct))


def junction_order(cliques: Iterable[Clique]) -> list[tuple[Clique, Clique]] | None:
    """Return the maximal cliques, each with its separator; None where they are not decomposable.

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
