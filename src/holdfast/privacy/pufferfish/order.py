"""Which frameworks hold others: every pair under every law of the one is a pair under a law of the other.

A guarantee for the larger framework is one for the smaller [partially-private-data, Definition 3].
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from holdfast.privacy.pufferfish.framework import Framework


def covers(one: Framework, other: Framework) -> bool:
    """Whether the one is known to hold the other: the same public facts and secrets, and its laws."""
    same = (one.public.data, one.secrets.data, one.whom) == (
        other.public.data,
        other.secrets.data,
        other.whom,
    )
    return same and _pairs_of(one, other) and _laws_of(one, other)


def _pairs_of(one: Framework, other: Framework) -> bool:
    if one.pairs.data == other.pairs.data:
        return True
    mine, theirs = (framework.pairs.data.get("pairs") for framework in (one, other))
    return isinstance(mine, list) and isinstance(theirs, list) and all(pair in mine for pair in theirs)


def _laws_of(one: Framework, other: Framework) -> bool:
    mine, theirs = one.laws, other.laws
    if (mine.kind, mine.data) == (theirs.kind, theirs.data) or mine.kind == "everything":
        return True
    if mine.kind != theirs.kind:
        return False
    match mine.kind:
        case "pairs":
            return bool(mine.data["distance"] >= theirs.data["distance"])
        case "family":
            return _wider(mine.data, theirs.data)
        case "listed":
            return mine.data.keys() == theirs.data.keys() and all(
                isinstance(mine.data[key], list) and all(law in mine.data[key] for law in theirs.data[key])
                for key in mine.data
            )
    return False


def _wider(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Whether one family has the laws of another of its name, by its parameters.

    Laws of several parts have no name, and answers within public bounds no number of people beside them.
    """
    name = mine.get("family")
    if any(mine.get(key) != theirs.get(key) for key in ("family", "n", "of")):
        return name == theirs.get("family") == "answers" and mine.get("of") == "everything"
    match name:
        case "dependent-counts":
            return (
                Fraction(mine["z0"]) <= Fraction(theirs["z0"])
                and Fraction(mine["z1"]) >= Fraction(theirs["z1"])
                and mine["dependence"] in ("any", theirs["dependence"])
            )
        case "normal":
            return Fraction(mine["correlation"]) >= Fraction(theirs["correlation"])
    return False
