"""The 2020 US census, read again under its invariants [semi-dp, Section 6].

The bureau advertises rho-zCDP for one changed person. The total population of each state is published
exactly, so one person's change of state takes a second person's change back: a = 2, and rho holds as
a^2 rho [semi-dp, Lemma 39] among tables with the same totals. Housing units are another unit, with a rho of
their own: their number in each block is published exactly. The totals that were advertised add the two up,
that of the DHC over both products; that is nobody's loss, so no line is made of a total.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csr_array, vstack

from holdfast.audit.census_systems import DHC, DHC_PERSON, DHC_UNIT, HOUSING, PERSON, SYSTEMS, UNIT, System
from holdfast.audit.guarantees import EpsilonReading, guarantee
from holdfast.privacy.intensity import ZeroConcentrated
from holdfast.system.notebook import NotebookReport, Picture
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.universe import Universe

DELTA = Fraction(1, 10**10)
SOURCES = (
    "rho 2.56 for persons and 0.07 for housing units in the redistricting file: semi-dp, Section 6",
    "totals of rho, 2.63 for the redistricting file and 15.29 for the DHC: swapping-slides, TDA Satisfies DP",
    f"rho 4.9622 for persons and 7.7005 for housing units in the DHC: {DHC}",
    "the invariants: semi-dp, Section 6",
    "epsilon at delta: rho + 2 sqrt(rho log(1/delta)), semi-dp, Lemma 40; tight: canonne2020, Corollary 13",
    "epsilon for Gaussian noise, mu^2 = 2 rho: balle2018, Theorem 8; nothing less holds of normal noise",
)


@dataclass(frozen=True)
class PublishedInvariants:
    """What is published exactly, and the semi-adjacency that follows."""

    invariants: str
    published: bool
    semi_adjacency: int


@dataclass(frozen=True)
class Line:
    """One product at one level of invariants."""

    product: str
    unit: str
    level: PublishedInvariants
    advertised: EpsilonReading
    effective: EpsilonReading

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "product": self.product,
            "unit": self.unit,
            "invariants": self.level.invariants,
            "published": self.level.published,
            "semi_adjacency": self.level.semi_adjacency,
            "advertised": self.advertised.to_dict(),
            "effective": self.effective.to_dict(),
        }


@dataclass(frozen=True)
class LossPart:
    """What one unit loses of a total by one file."""

    file: str
    unit: str
    rho: Fraction


@dataclass(frozen=True)
class Total:
    """What was advertised, persons and housing units together, and its parts."""

    product: str
    rho: Fraction
    parts: tuple[LossPart, ...]
    note: str
    """What one person loses of it."""

    def of(self, unit: str) -> Fraction:
        """Return what one unit loses, over all files."""
        return sum((part.rho for part in self.parts if part.unit == unit), Fraction())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "product": self.product,
            "rho": float(self.rho),
            "parts": [{"file": p.file, "unit": p.unit, "rho": float(p.rho)} for p in self.parts],
            "one_person": float(self.of("person")),
            "one_housing_unit": float(self.of("housing unit")),
            "note": self.note,
        }

    @property
    def words(self) -> str:
        """The total as a sum, and what is left of it for one person."""
        parts = " + ".join(f"{float(part.rho):.2f} ({part.unit}, {part.file})" for part in self.parts)
        return f"rho {float(self.rho):g}, advertised for the {self.product}, is a sum: {parts}. {self.note}"


@dataclass(frozen=True)
class CensusReport(NotebookReport):
    """Every product at every level of invariants, at one delta; and each system by its blocks."""

    delta: Fraction
    lines: tuple[Line, ...]
    totals: tuple[Total, ...]
    systems: tuple[System, ...] = SYSTEMS

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        lines = [
            (f"{line.product}, {line.level.invariants}", line.effective.epsilon or 0.0) for line in self.lines
        ]
        return Picture(f"epsilon at delta = {float(self.delta):g}, classic bound", lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "delta": float(self.delta),
            "lines": [line.to_dict() for line in self.lines],
            "totals": [total.to_dict() for total in self.totals],
            "systems": [system.to_dict() for system in self.systems],
            "sources": SOURCES,
        }


REDISTRICTING = (
    LossPart("redistricting file", "person", PERSON),
    LossPart("redistricting file", "housing unit", UNIT),
)
TOTALS = (
    Total(
        "redistricting file",
        Fraction("2.63"),
        REDISTRICTING,
        "One person whose answers change loses 2.56 of it: tables of housing units only tell whether one is"
        " occupied.",
    ),
    Total(
        "DHC",
        Fraction("15.29"),
        (*REDISTRICTING, LossPart("DHC", "person", DHC_PERSON), LossPart("DHC", "housing unit", DHC_UNIT)),
        "One person loses 7.52 of it in tables of persons, over both products; the DHC's tables of households"
        " tell the householder's age, sex and race and how members are related, so that a change of answers"
        " may count there, too: 15.22 at most.",
    ),
)


def census_2020(delta: Fraction = DELTA) -> CensusReport:
    """Return every product at every level of invariants.

    >>> line = hf.audit.census_2020().lines[1].to_dict()
    >>> line["semi_adjacency"], round(line["effective"]["epsilon"], 1)
    (2, 41.0)
    """
    people = (
        PublishedInvariants("none", False, 1),
        PublishedInvariants("population of each state", True, _partition()),
        PublishedInvariants("each state's population and one more margin", False, _two_margins()),
    )
    units = (
        PublishedInvariants("none", False, 1),
        PublishedInvariants(HOUSING, True, _partition()),
        PublishedInvariants(
            "housing units and group-quarters facilities by type, in each block", True, _units()
        ),
    )
    products = (
        ("redistricting file, persons", "person", PERSON, people),
        ("redistricting file, housing units", "housing unit", UNIT, units),
    )
    found = []
    for product, unit, rho, levels in products:
        for level in levels:
            read = guarantee(ZeroConcentrated(rho), level.semi_adjacency, delta)
            found.append(Line(product, unit, level, read.advertised, read.effective))
    return CensusReport(delta, tuple(found), TOTALS)


def _partition() -> int:
    """Return the semi-adjacency of a total for each of 51 groups; any positive totals give the same."""
    groups = csr_array(block_diag([np.ones((1, 2), dtype=np.int64)] * 51, format="csr"))
    return semi_adjacency(Universe.of(groups, np.full(51, 2))).worst_case


def _units() -> int:
    """Return that of the housing units, and of each of seven types of facilities, of some blocks.

    A block has a sum of two cells, occupied and vacant, and a cell of its own for each type.
    """
    parts = [np.ones((1, 2), dtype=np.int64), np.eye(7, dtype=np.int64)]
    groups = csr_array(block_diag(parts * 5, format="csr").astype(np.int64))
    return semi_adjacency(Universe.of(groups, np.full(40, 2))).worst_case


def _two_margins() -> int:
    """Return the semi-adjacency of two one-way margins, as of a 51 x 2 table with ten records a row."""
    rows = csr_array(block_diag([np.ones((1, 2), dtype=np.int64)] * 51, format="csr"))
    columns = csr_array(np.tile(np.eye(2, dtype=np.int64), 51))
    system = csr_array(vstack([rows, columns], format="csr"))
    values = np.concatenate([np.full(51, 10), np.full(2, 255)])
    return semi_adjacency(
        Universe.of(system, values, (frozenset({"state"}), frozenset({"other"})))
    ).worst_case
