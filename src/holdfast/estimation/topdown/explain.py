"""Which constraints of a tree contradict: as few levels as will do, from a node down.

A node alone is asked first, with what the level below it asks in sums; then the node with its children, these
with what is asked of them in sums, and so on.
"""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.estimation.topdown.branch import Branch
from holdfast.estimation.topdown.carry import Asked, Carried, with_below
from holdfast.estimation.topdown.conflict import Constraint, contradiction
from holdfast.estimation.topdown.known import Level
from holdfast.estimation.topdown.subtree import Subtree
from holdfast.lattice.arrays import IntArray


def explained(
    parents: Sequence[IntArray], levels: Sequence[Level], carried: Carried, place: int, node: int
) -> tuple[Constraint, ...] | None:
    """Return constraints at a node and below that contradict, each needed for that; None where none do."""
    first = len(levels) - len(carried.asked)
    for last in range(place, len(levels)):
        branch = Branch.of(parents, place, node, min(last + 1, len(levels) - 1))
        parts = [
            levels[place + depth].part(begin, end)
            for depth, (begin, end) in enumerate(zip(branch.begins, branch.ends, strict=True))
        ][: last - place + 1]
        below = None
        if last + 1 < len(levels):
            asked = carried.asked[last + 1 - first]
            part = asked.level.part(branch.begins[-1], branch.ends[-1])
            below = replace(asked, level=part), branch.parents(parents)[-1]
        whole = with_below(parts[-1], last, below)
        links = branch.parents(parents)[: last - place]
        found = contradiction(
            Subtree((*parts[:-1], whole.level), links, None),
            place=place,
            begins=branch.begins,
            asked=Asked(parts[-1], whole.invariants, whole.ranges),
        )
        if found is not None:
            return found
    return None
