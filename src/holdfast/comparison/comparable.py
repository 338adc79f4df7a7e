"""Which of two guarantees implies the other for one tabulation, or why neither does.

A guarantee compares pairs of data that share something: swapping pairs of files, noise pairs of tables. Let T
be the tabulation of a file.

- Files that share what swapping keeps have tabulations with the same kept margins, and T(X), T(X') are no
  farther apart than X and X' [theory, 10]. So a promise for all tables with these margins holds for all pairs
  of files that swapping compares, as far as T goes.
- The converse fails: files with the same margins of T may differ in a stratum, and a swap shows that. It
  holds where T has every column of the file: then a table is a file.
- All tables together contain those with given margins.

So the pairs of one are always among those of the other, and the rest is a matter of the intensities.
"""

from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import Any

from holdfast.comparison.terms import rounded_intensity
from holdfast.privacy.conversion import pure_to_zcdp
from holdfast.privacy.intensity import Intensity, Pure, ZeroConcentrated
from holdfast.privacy.order import at_least_as_strong
from holdfast.system.errors import GuaranteeError


class Reach(IntEnum):
    """Which pairs are compared: each kind is among the next."""

    FILES = 0
    MARGINS = 1
    TABLES = 2


@dataclass(frozen=True)
class Side:
    """A guarantee by the name of its mechanism, its pairs and its intensity for each record of distance.

    ``share`` names the counts that all data that it compares have in common; none for all tables.
    """

    name: str
    reach: Reach
    share: tuple[str, ...]
    intensity: Intensity

    def implies(self, other: "Side") -> bool:
        """Whether this one promises, for the tabulation, all that the other does."""
        return self.reach >= other.reach and _strong(self.intensity, other.intensity)


@dataclass(frozen=True)
class Pair:
    """Two guarantees: the stronger one if they are comparable and not the same, and why."""

    one: str
    other: str
    comparable: bool
    stronger: str | None
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "between": [self.one, self.other],
            "comparable": self.comparable,
            "stronger": self.stronger,
            "why": self.why,
        }


def related(one: Side, other: Side) -> Pair:
    """Say how two guarantees for one tabulation are related."""
    forth, back = one.implies(other), other.implies(one)
    strong, weak = (one, other) if forth else (other, one)
    end = f"So {strong.name} implies {weak.name} for this tabulation, and not the other way."
    if forth and back:
        end = "They promise the same."
    elif not (forth or back):
        end = "Neither implies the other."
    return Pair(
        one.name,
        other.name,
        comparable=forth or back,
        stronger=strong.name if forth != back else None,
        why=f"{_pairs(one, other)} {_standards(one, other)} {end}",
    )


def _pairs(one: Side, other: Side) -> str:
    """Say which pairs each covers."""
    narrow, wide = sorted((one, other), key=lambda side: side.reach)
    if narrow.reach == wide.reach:
        why = ": the tabulation has every column, so that a table is a file"
        return f"Both cover the same pairs{'' if narrow.share == wide.share else why}."
    files = narrow.reach is Reach.FILES
    closer = ", as a tabulation is no farther apart than its files," if files else ""
    alone = ", one record that changes alone among them" if wide.reach is Reach.TABLES else ""
    return (
        f"{wide.name} covers every pair that {narrow.name} covers{closer} and more{alone}: {narrow.name} says"
        f" nothing of {'files' if files else 'tables'} that differ in the counts of"
        f" {' or of '.join(narrow.share)}."
    )


def _standards(one: Side, other: Side) -> str:
    """Say how the intensities compare."""
    match one.intensity, other.intensity:
        case Pure(), ZeroConcentrated():
            return _pure_and_zcdp(one, other)
        case ZeroConcentrated(), Pure():
            return _pure_and_zcdp(other, one)
    both = "pure" if isinstance(one.intensity, Pure) else "zCDP"
    mine, theirs = (rounded_intensity(side.intensity).removeprefix("pure ") for side in (one, other))
    at = mine if mine == theirs else f"{mine} and {theirs}"
    return f"Both are {both}, at {at}."


def _pure_and_zcdp(pure: Side, zcdp: Side) -> str:
    assert isinstance(pure.intensity, Pure)  # noqa: S101 - as it was asked for
    implied = ZeroConcentrated(Fraction(pure_to_zcdp(pure.intensity.epsilon).value))
    enough = "which is" if _strong(implied, zcdp.intensity) else "which is not"
    return (
        f"{pure.name} is pure and {zcdp.name} is zCDP: no rho implies a pure epsilon, and"
        f" {rounded_intensity(pure.intensity)} implies {rounded_intensity(implied)}, {enough} within"
        f" {rounded_intensity(zcdp.intensity)}."
    )


def _strong(one: Intensity, other: Intensity) -> bool:
    """Whether an intensity implies another; not where no theorem says so."""
    try:
        return at_least_as_strong(one, other)
    except GuaranteeError:
        return False
