"""Levels of an attribute in several tables: what each stands for in terms of the finest ones.

A level of one table can be a sum of those of another: a total, a range of ages, a code that longer codes
begin with, a level of a hierarchy, or one that a spec says was merged. Then all levels are sets of
**leaves**. Ranges that overlap are cut at each other's ends, so that what two tables tell by difference is a
cell of its own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from holdfast.system.errors import SpecError
from holdfast.system.text import in_quotes

TOTALS = {"total", "totals", "all", "_t"}
"""Names of the sum of all levels, in any case."""
FAR = 10**9
_AGES = re.compile(r"(\d{1,9})\s*(?:-|\u2013|to)\s*(\d{1,9})(?:\s+years)?", re.ASCII | re.I)
_OLDER = re.compile(r"(\d{1,9})\s*(?:\+|and over|and older|or more|years and over)", re.ASCII | re.I)
_YOUNGER = re.compile(r"(?:under|less than|<)\s*(\d{1,9})(?:\s+years)?", re.ASCII | re.I)
_ONE = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True, eq=False)
class Levels:
    """The leaves of an attribute, and each level as the places of its leaves."""

    name: str
    leaves: tuple[str, ...]
    members: Mapping[str, tuple[int, ...]]
    how: str = ""
    """How levels that are no leaves were understood, for people."""


class Known(NamedTuple):
    """What a spec says of the levels of an attribute."""

    hierarchy: Mapping[str, tuple[str, ...]] | None = None
    place: str = ""
    merged: Mapping[str, tuple[str, ...]] | None = None


def levels_of(name: str, tables: Sequence[Sequence[str]], known: Known) -> Levels:
    """Return the levels of an attribute, given those of each table that has it, in their order."""
    listed = list(dict.fromkeys(level for table in tables for level in table))
    totals = [level for level in listed if level.casefold() in TOTALS]
    merged = dict(known.merged or {})
    plain = [level for level in listed if level not in totals or level in merged]
    if len(plain) == 0:
        plain, totals = listed, []
    if known.hierarchy is not None:
        found = _by_hierarchy(name, plain, known.hierarchy, known.place)
    elif merged:
        found = _by_names(name, plain, merged)
    elif (cut := _by_ranges(name, plain)) is not None:
        found = cut
    elif (
        codes := _by_codes(name, [[one for one in table if one not in totals] for table in tables])
    ) is not None:
        found = codes
    else:
        found = Levels(name, tuple(plain), {level: (place,) for place, level in enumerate(plain)})
    every = tuple(range(len(found.leaves)))
    return Levels(name, found.leaves, {**found.members, **dict.fromkeys(totals, every)}, found.how)


def _by_names(name: str, levels: Sequence[str], merged: Mapping[str, tuple[str, ...]]) -> Levels:
    """Return levels some of which are others merged."""
    every = dict.fromkeys((*levels, *(one for inner in merged.values() for one in inner)))
    leaves = [level for level in every if level not in merged]
    place = {level: at for at, level in enumerate(leaves)}
    members: dict[str, tuple[int, ...]] = {level: (at,) for level, at in place.items()}
    for level, inner in merged.items():
        unknown = next((one for one in inner if one not in place), None)
        if unknown is not None:
            raise SpecError(
                f"{name} {in_quotes(level)} is merged of {in_quotes(unknown)}, which is merged, too: name the"
                " finest levels."
            )
        members[level] = tuple(sorted(place[one] for one in inner))
    return Levels(name, tuple(leaves), members, "levels that were merged are sums of others")


def _by_hierarchy(
    name: str, levels: Sequence[str], below: Mapping[str, tuple[str, ...]], place: str
) -> Levels:
    """Return the levels of a hierarchy, which must have all that tables have."""
    unknown = next((level for level in levels if level not in below), None)
    if unknown is not None:
        raise SpecError(
            f"{place} has no level {in_quotes(unknown)} of {name}: add it there, or correct the table."
        )
    leaves = [level for level, inner in below.items() if not inner]
    members: dict[str, tuple[int, ...]] = {level: (at,) for at, level in enumerate(leaves)}
    for level in reversed(list(below)):  # what is below comes after
        if below[level]:
            members[level] = tuple(at for inner in below[level] for at in members[inner])
    return Levels(name, tuple(leaves), members, "a hierarchy from a file")


def _by_ranges(name: str, levels: Sequence[str]) -> Levels | None:
    """Return levels that are ranges of numbers, cut at each other's ends; None where they are none."""
    if all(_ONE.fullmatch(level) for level in levels):
        return None  # codes, or single years: none of them holds another
    ranges = {level: span for level in levels if (span := as_range(level)) is not None}
    if len(ranges) < len(levels):
        return None
    ordered = sorted(ranges.values())
    if all(a[1] < b[0] for a, b in pairwise(ordered)):
        return None  # no two overlap: they are levels as they stand
    cuts = sorted({low for low, _ in ordered} | {high + 1 for _, high in ordered})
    at = {cut: place for place, cut in enumerate(cuts)}
    inside = [0] * len(cuts)
    for low, high in ordered:
        inside[at[low]] += 1
        inside[at[high + 1]] -= 1
    held = list(accumulate(inside))
    place = list(accumulate((int(one > 0) for one in held), initial=0))
    atoms = [(cuts[one], cuts[one + 1] - 1) for one in range(len(cuts) - 1) if held[one]]
    named = {span: level for level, span in reversed(ranges.items())}
    leaves = tuple(named.get(atom, _spoken(atom)) for atom in atoms)
    members = {
        level: tuple(range(place[at[low]], place[at[high + 1]])) for level, (low, high) in ranges.items()
    }
    return Levels(name, leaves, members, "ranges that overlap were cut at each other's ends")


def as_range(level: str) -> tuple[int, int] | None:
    """Return the whole numbers that a level stands for, None where it is no range.

    >>> as_range("0-17"), as_range("65+"), as_range("Under 5"), as_range("7"), as_range("north")
    ((0, 17), (65, 1000000000), (0, 4), (7, 7), None)
    """
    if between := _AGES.fullmatch(level):
        low, high = int(between[1]), int(between[2])
        return (low, high) if low <= high else None
    if older := _OLDER.fullmatch(level):
        return int(older[1]), FAR
    if younger := _YOUNGER.fullmatch(level):
        return (0, int(younger[1]) - 1) if int(younger[1]) > 0 else None
    return (int(level), int(level)) if _ONE.fullmatch(level) else None


def _spoken(span: tuple[int, int]) -> str:
    low, high = span
    if high >= FAR:
        return f"{low}+"
    return str(low) if low == high else f"{low}-{high}"


def _by_codes(name: str, tables: Sequence[Sequence[str]]) -> Levels | None:
    """Return codes that nest: those of one table have one length, and longer ones begin with shorter ones."""
    lengths = [{len(level) for level in table} for table in tables if table]
    if any(len(one) != 1 for one in lengths):
        return None
    sizes = sorted({size for one in lengths for size in one})
    if len(sizes) < 2:
        return None
    by_size = {size: list(dict.fromkeys(x for t in tables for x in t if len(x) == size)) for size in sizes}
    leaves = by_size[sizes[-1]]
    members: dict[str, tuple[int, ...]] = {level: (at,) for at, level in enumerate(leaves)}
    for size in sizes[:-1]:
        inside: dict[str, list[int]] = {level: [] for level in by_size[size]}
        for at, leaf in enumerate(leaves):
            if leaf[:size] not in inside:
                return None
            inside[leaf[:size]].append(at)
        if not all(inside.values()):
            return None
        members |= {level: tuple(some) for level, some in inside.items()}
    return Levels(name, tuple(leaves), members, "longer codes begin with those that they lie in")
