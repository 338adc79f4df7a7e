"""What merged levels are called: by the branch that they are, by their range, or by all that they hold."""

from collections.abc import Sequence
from itertools import pairwise

from holdfast.publication.levels import FAR, TOTALS, Levels, as_range

MOST_NAMED = 4
"""Levels of which more are merged are called after the first and the last."""


def name_of(levels: Levels, leaves: Sequence[int], total: str = "Total") -> str:
    """Return what some leaves together are called."""
    wanted = tuple(sorted(leaves))
    known = [level for level, members in levels.members.items() if members == wanted]
    plain = [level for level in known if level.casefold() not in TOTALS]
    if plain or known:
        return (plain or known)[0]
    if len(wanted) == len(levels.leaves):
        return total
    names = [levels.leaves[leaf] for leaf in wanted]
    ranges = [span for span in map(as_range, names) if span is not None]
    whole = len(ranges) == len(names)
    if whole and all(one[1] + 1 == other[0] for one, other in pairwise(ranges)):
        low, high = ranges[0][0], ranges[-1][1]
        return f"{low}+" if high >= FAR else f"{low}-{high}"
    return " + ".join(names) if len(names) <= MOST_NAMED else f"{names[0]} to {names[-1]} ({len(names)})"
