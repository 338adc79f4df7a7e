"""Guarantees relative to a universe, as values of five building blocks with their evidence.

The blocks [swapping-slides]: the protection *domain*, the *scope* (which universe), the *unit* (which
datasets in it count as close), the *standard* (how outputs are compared) and the *intensity*. A guarantee
without its scope says nothing: invariants are outside of every promise made here.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from math import ceil, expm1, floor, log, log10
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.rows import check_consistent, independent_rows
from holdfast.lattice.spread import SpreadColumns
from holdfast.privacy.claims import Claim
from holdfast.privacy.evidence import Evidence
from holdfast.privacy.intensity import Approximate, Functional, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.order import at_least_as_strong
from holdfast.privacy.profile import Profile
from holdfast.privacy.tight import Tight, tight
from holdfast.privacy.tradeoff import PiecewiseLinear
from holdfast.spec.privacy import Neighbours, ProtectedUnit
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import decimal
from holdfast.system.ways import setting
from holdfast.universe.universe import Universe

Adjacency = Literal["semi", "unit"]
DataKind = Literal["table", "tables", "files", "records"]
"""What a release is of: one table, several tables of one file or of files of several units, or records.

Files are compared in no order: their distance is half the size of the symmetric difference of the two as
multisets of records [swapping-slides].
"""
CLOSEST = 2
"""Records in which two files of one scope differ at least."""
NEAR, NINTH = 0.1, 9
"""How near to 1 a factor is told by what it is beyond 1, and to which place."""


def _parts(matrix: csr_array | SpreadColumns, values: IntArray) -> Iterator[NDArray[Any]]:
    """Yield what a system of equations is made of: by rows, with the cells of each and its entries there."""
    yield np.array(matrix.shape)
    if isinstance(matrix, SpreadColumns):
        yield matrix.indptr
        yield from (cells for cells, _ in matrix.rows())
        yield from (entries for _, entries in matrix.rows())
    else:
        yield from (matrix.indptr, matrix.indices, matrix.data)
    yield values


@dataclass(frozen=True)
class Scope:
    """The data that a guarantee compares: all with these invariants, within public bounds [theory, 10].

    Attributes:
        data: whether that is one table, the file behind several tables, or a file of records.
        invariants: the names of what was asked for.
        induced: the names of what the mechanism keeps without being asked.
        constraints: what is known without the data.
        digest: identifies all that the data share; it is a function of what is published anyway.

    """

    data: DataKind
    invariants: tuple[str, ...]
    constraints: tuple[Claim, ...]
    digest: str
    induced: tuple[str, ...] = ()
    tables: Universe | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, universe: Universe, *, invariants: tuple[str, ...], constraints: tuple[Claim, ...]
    ) -> "Scope":
        """Name the conforming tables of a universe, by the system A x = t, B x >= b."""
        digest = hashlib.sha256()
        parts = _parts(universe.given, universe.values)
        if universe.limits is not None:
            parts = chain(parts, _parts(universe.limits.rows, universe.limits.least))
        for part in parts:
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        return cls("table", invariants, constraints, digest.hexdigest(), tables=universe)

    @property
    def universe(self) -> Universe:
        """The conforming tables, where one table is compared."""
        if self.tables is None:
            raise GuaranteeError(
                "the guarantee is about files, and this is worked out for one table: take that of a table."
            )
        return self.tables

    def within(self, other: "Scope") -> bool:
        """Whether all data of this scope belong to the other one: they have all the other's invariants.

        Of tables that is so when the other's equations follow from this scope's; it is decided exactly, over
        Q. The other's bounds have to be shown to follow, too. Of files it is known of the same scope only.
        """
        if self.tables is None or other.tables is None:
            return self == other
        mine, theirs = self.tables, other.tables
        if mine.cells != theirs.cells:
            raise GuaranteeError(
                f"guarantees for tables of {mine.cells} and of {theirs.cells} cells cannot be compared:"
                " bring both to the same attributes and levels."
            )
        stacked = csr_array(vstack([mine.matrix, theirs.matrix], format="csr"))
        values = np.concatenate([mine.values, theirs.values])
        follows = independent_rows(stacked).size == mine.rank and not check_consistent(stacked, values).size
        return follows and (theirs.limits is None or mine.implies(theirs.limits))


@dataclass(frozen=True)
class Unit:
    """Which datasets of the scope are protected against each other.

    ``semi``: all pairs at most ``distance`` records apart, the distance that lets any one person take
    any possible value [semi-dp, Definition 13; theory, 2]. ``unit``: all pairs, with a
    loss in proportion to how many records apart they are [swapping-slides]; ``distance`` is then how many
    records make one step of it. A unit of several ``records`` is that many steps of one record.

    Where ``neighbours`` are by add-remove, records are not others but there or not, and the distance counts
    those that are added or removed [theory, 14].
    """

    name: str
    adjacency: Adjacency
    distance: int
    records: int = 1
    neighbours: Neighbours = "replace"

    @property
    def whom(self) -> ProtectedUnit:
        """ProtectedUnit it protects, in words."""
        return ProtectedUnit(self.name, self.records, self.neighbours)


@dataclass(frozen=True)
class Target:
    """What was asked for: an adjacency, an intensity unless the mechanism sets it, a distance if any."""

    adjacency: Adjacency
    intensity: Intensity | None
    distance: int | None = None


class Weighed(Protocol):
    """A promise of another form, which says itself what it takes to imply it."""

    def implied_by(self, one: "Guarantee") -> bool:
        """Whether a guarantee of tables is at least as strong."""
        ...


@dataclass(frozen=True)
class Guarantee:
    """What was proved of a mechanism.

    ``profile`` answers for other distances, where the mechanism's theorem covers them.
    """

    scope: Scope
    unit: Unit
    intensity: Intensity
    evidence: tuple[Evidence, ...]
    profile: Profile | None = None
    known: PiecewiseLinear | None = field(default=None, repr=False, compare=False)
    """A tradeoff function that says more than the intensity; exact where that of the worst pair is known."""

    @property
    def domain(self) -> str:
        """The kind of data that it is about."""
        return domain(self.scope.data, self.unit.whom)

    @property
    def tight(self) -> Tight:
        """The most that is known of it: mu, epsilon at any delta, the whole tradeoff function."""
        return tight(self.intensity, self.known)

    @property
    def statement(self) -> str:
        """The guarantee in one sentence."""
        return statement(self.scope.data, self.unit, self.intensity)

    def meets(self, target: Target) -> bool:
        """Whether this guarantee meets a target set for its own universe."""
        if self.unit.adjacency != target.adjacency:
            raise GuaranteeError(
                f"a guarantee for adjacency {self.unit.adjacency!r} cannot be compared with a target"
                f" for {target.adjacency!r}: set the same adjacency in {setting('privacy')}."
            )
        return target.intensity is None or at_least_as_strong(self.intensity, target.intensity)

    def implies(self, other: "Guarantee | Weighed") -> bool:
        """Whether this guarantee is at least as strong as the other [semi-dp, Definition 20].

        The other's protected pairs must be among this one's: a scope within this one's (more invariants,
        smaller scope), no larger distance; then the intensities decide. Raises GuaranteeError, with the
        reason, where neither guarantee's pairs contain the other's: they are not comparable.
        """
        if not isinstance(other, Guarantee):
            return other.implied_by(self)
        covers, covered = _covers(self, other), _covers(other, self)
        if not (covers or covered):
            raise GuaranteeError(
                "the guarantees are not comparable: each protects pairs of tables that the other leaves out"
                f" ({_pairs(self)}; {_pairs(other)})."
            )
        return covers and at_least_as_strong(_intensity_for(self, other), other.intensity)


def _covers(one: Guarantee, other: Guarantee) -> bool:
    """Whether the pairs that the other protects are protected by the one, too."""
    if not other.scope.within(one.scope) or (distance := _distance_for(one, other)) is None:
        return False
    if one.unit.adjacency == "unit":
        return True  # all pairs, in proportion to their distance
    return other.unit.adjacency == "semi" and distance <= one.unit.distance


def _distance_for(one: Guarantee, other: Guarantee) -> int | None:
    """Return the other's distance as the one counts it; None where pairs of the other differ in size.

    A record that is replaced is one removed and one added [theory, 14].
    """
    if one.unit.neighbours == other.unit.neighbours:
        return other.unit.distance
    if one.unit.neighbours == "add-remove":
        return 2 * other.unit.distance
    same_size = other.scope.tables is not None and other.scope.tables.total is not None
    return ceil(Fraction(other.unit.distance, 2)) if same_size else None


def _intensity_for(one: Guarantee, other: Guarantee) -> Intensity:
    """Return what the one guarantees for the pairs of another that it covers."""
    distance = _distance_for(one, other) or other.unit.distance
    steps = ceil(Fraction(distance, one.unit.distance)) if one.unit.adjacency == "unit" else 1
    return one.intensity if steps == 1 else one.intensity.group(steps)


def _pairs(guarantee: Guarantee) -> str:
    kept = " and ".join(guarantee.scope.invariants) or "nothing"
    if guarantee.unit.adjacency == "unit":
        return f"{kept} invariant, at any distance"
    return f"{kept} invariant, at most {guarantee.unit.whom.apart(guarantee.unit.distance)} apart"


def domain(data: DataKind, whom: ProtectedUnit) -> str:
    """Return the kind of data that a guarantee is about, in words."""
    match data:
        case "table":
            return f"tables of counts of {whom.counted}, the {whom.counted} of equal cells alike"
        case "tables":
            return "files of records, of which each table counts some attributes"
        case "files":
            return f"files of records, of {whom.counted}, of which each table counts some attributes"
        case "records":
            return f"files of {whom.counted}, in no order"


def statement(data: DataKind, unit: Unit, intensity: Intensity) -> str:
    """Return a guarantee in one sentence."""
    whom, several = unit.whom, unit.records > 1
    has = f"one {whom.one} has at most {whom.records}"
    alike = f"two {_ALIKE[data]}"
    if unit.adjacency == "semi":
        others = "others must come and go" if whom.presence else "others must change along"
        along = f", as {has} and {others} with them," if several else ","
        pairs = f"For any {alike} that differ in at most {whom.apart(unit.distance)}{along}"
    elif isinstance(intensity, ZeroConcentrated):  # the divergence grows with the square
        apart = f"d times {whom.amount(whom.records)}, as {has}" if several else f"d {whom.counted}"
        added = " added or removed" if whom.presence else ""
        return (
            f"For any {alike} that differ in {apart}{added}, the Renyi divergence of order alpha is at most"
            f" {format_parameter(intensity.rho)} d^2 alpha, for every alpha (zCDP)."
        )
    else:
        each = f"every {whom.amount(whom.records)}" if several else f"each {whom.record}"
        differ = f"added or removed between {alike}" if whom.presence else f"in which {alike} differ"
        pairs = f"For {each} {differ}{f', as {has},' if several else ','}"
    return f"{pairs} {promise(intensity)}"


_ALIKE: dict[DataKind, str] = {
    "table": "tables with the same invariants",
    "tables": "files with the same invariants of all tables",
    "files": "collections of files with the same invariants, alike but in the files of one unit,",
    "records": "files with the same invariants",
}


def format_parameter(value: Fraction) -> str:
    """Return a parameter as a decimal or a short fraction, or rounded up to nine digits.

    >>> numbers = ("1/2", "1/3", "1000000000/3000000007", "1.999999999547")
    >>> [format_parameter(Fraction(text)) for text in numbers]
    ['0.5', '1/3', '0.333333333', '2']
    """
    if (whole := decimal(value)) is not None and len(whole.replace(".", "").lstrip("0")) <= 9:
        return whole
    if value.denominator <= 10_000:
        return str(value)
    digits = 9 - len(str(int(value))) if value >= 1 else 9 + len(str(int(1 / value))) - 1
    return f"{float(Fraction(ceil(value * 10**digits), 10**digits)):.9g}"


def promise(intensity: Intensity) -> str:
    """Return what an intensity says of any two that are compared."""
    match intensity:
        case Pure(epsilon) if not epsilon:
            return "every release is exactly as likely under one as under the other."
        case Pure(epsilon):
            return (
                f"no release is more than exp({format_parameter(epsilon)}) = {times(epsilon)} times as likely"
                " under one as under the other."
            )
        case Approximate(epsilon, delta):
            return (
                f"no set of releases is more than exp({format_parameter(epsilon)}) = {times(epsilon)} times"
                f" as likely under one as under the other, but for a probability of {probability(delta)}."
            )
        case ZeroConcentrated(rho):
            return (
                f"the Renyi divergence of order alpha is at most {format_parameter(rho)} alpha, for every"
                " alpha (zCDP)."
            )
        case Functional():
            return (
                "telling by a release which of them is true errs at least as much as the tradeoff function."
            )
        case GaussianDP(mu):
            return (
                "telling by a release which of them is true is no easier than telling N(0, 1) from"
                f" N({format_parameter(mu)}, 1) by one draw."
            )


def probability(delta: Fraction) -> str:
    """Return a probability rounded up to three digits, so that sentences with it stay true.

    >>> probability(Fraction(12341, 10**6)), probability(Fraction(1, 10**10))
    ('0.0124', '1e-10')
    """
    unit = Fraction(10) ** (floor(log10(delta)) - 2) if delta else Fraction(1)
    return f"{float(ceil(delta / unit) * unit):.3g}"


def times(epsilon: Fraction) -> str:
    """Return exp(epsilon) rounded up, so that sentences with it stay true.

    It has three digits; near 1, two of what it is beyond 1, as far as the ninth place.

    >>> times(Fraction(0)), times(Fraction(7, 10)), times(Fraction(10))
    ('1', '2.02', '22,100')
    >>> times(Fraction(1, 20)), times(Fraction(1, 10**6)), times(Fraction(1, 10**30))
    ('1.052', '1.0000011', '1.000000001')
    """
    if not epsilon:
        return "1"
    if (beyond := expm1(min(float(epsilon), 1.0))) < NEAR:
        places = min(1 - floor(log10(beyond)), NINTH)
        return f"{1 + ceil(beyond * 10**places + 1e-9) / 10**places:.{places}f}"
    ten = float(epsilon) / log(10)
    digits, power = 10 ** (ten % 1), floor(ten)
    shown = ceil(digits * 100 + 1e-9) / 100
    return f"{shown * 10**power:,.12g}" if abs(power) < 12 else f"{shown:.2f}e{power}"
