"""What a guarantee of tables rests on: a universe, and which of its tables are told apart by how much.

Semi-adjacency and sensitivity are integer programs in general. They are worked out when they are asked for,
and once; adjacency "unit" asks for neither. The evidence of both stands with them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Literal

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import Form
from holdfast.lattice.kernel import reduced_basis
from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Adjacency, Guarantee, Scope, Unit
from holdfast.privacy.intensity import Intensity
from holdfast.privacy.profile import Profile
from holdfast.privacy.tight import MOST_POINTS, NEGLIGIBLE, on_a_line
from holdfast.privacy.tradeoff import PiecewiseLinear
from holdfast.sampling.lattice.laplace import LaplaceNorm
from holdfast.spec.privacy import RECORD, ProtectedUnit
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import setting
from holdfast.universe.form_stretch import Stretch, per_record, within
from holdfast.universe.metrics import METRICS, Metric
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.sensitivity import Sensitivity
from holdfast.universe.universe import Universe
from holdfast.universe.vacuous import one_table_left, refuse_one_table, refuse_vacuous

MOST_ON_A_LINE = 64
"""Cells up to which a lattice of one dimension is looked at as a line."""


@claim("semi-adjacency")
def _adjacent(changed: int, whom: ProtectedUnit, *, exact: bool, joint: bool) -> str:
    under = "under the invariants of all tables " if joint else ""
    one = whom.one if whom.records == 1 else whom.record
    able = f"any one {one} can take any possible value by changing"
    if whom.presence:
        able = f"any one {one} can be absent, and any possible one there as well, by adding or removing"
    return f"{under}{able} at most {whom.amount(changed)}{'' if exact else ' (an upper bound)'}"


@claim("distance-asked")
def _distance_given(distance: int, whom: ProtectedUnit, *, joint: bool) -> str:
    return f"{_data(joint=joint)} up to {whom.apart(distance)} apart are compared, as was asked"


@claim("distance-of-a-unit")
def _one_by_one(changed: int, distance: int, whom: ProtectedUnit, *, joint: bool) -> str:
    return (
        f"one {whom.one} has at most {whom.amount(whom.records)}, which"
        f" {'come or go' if whom.presence else 'change'} one after the other: {_data(joint=joint)} up to"
        f" {whom.records:,} times {changed:,}, {whom.apart(distance)}, apart are compared"
    )


@claim("sensitivity-l1")
def _in_l1(size: int, *, exact: bool) -> str:
    return f"two such tables are at most {size} in l1 apart{'' if exact else ', an upper bound'}"


@claim("sensitivity-l2")
def _in_l2(squared: int, *, exact: bool) -> str:
    bound = "" if exact else ", an upper bound"
    return f"two such tables are at most the root of {squared} in l2 apart{bound}"


@claim("solver")
def _solved() -> tuple[str, str]:
    return (
        "the integer programs behind these numbers were solved rightly",
        (
            "the solver works in floating point; tables it finds are checked in integers, its finding that"
            " there is none is not"
        ),
    )


SOLVED = Assumed(_solved())


def _data(*, joint: bool) -> str:
    return "files" if joint else "tables"


def distance_evidence(
    adjacency: SemiAdjacency, farthest: int, whom: ProtectedUnit, *, joint: bool = False
) -> list[Evidence]:
    """Say why data up to ``farthest`` records apart are compared: tables, or files of several (``joint``).

    A unit of m records is m changes of one, each with those that change along: m times as far.
    """
    a = adjacency.worst_case
    found: list[Evidence] = [
        Proved(_adjacent(a, whom, exact=adjacency.exact, joint=joint), adjacency.reference)
    ]
    place = "theory, 14" if whom.presence else "theory, 2"
    if farthest > a * whom.records:
        found.append(Proved(_distance_given(farthest, whom, joint=joint), place))
    elif whom.records > 1:
        found.append(Proved(_one_by_one(a, farthest, whom, joint=joint), place))
    return found


def semi_evidence(
    adjacency: SemiAdjacency,
    space: Sensitivity,
    norms: frozenset[Literal["l1", "l2"]],
    distance: int | None = None,
    whom: ProtectedUnit = RECORD,
) -> tuple[Evidence, ...]:
    """Say why a distance and the norms at it are right, and what rests on a solver.

    ``distance`` is how far apart the tables may be, where that is more than the semi-adjacency.
    ||u||_1 <= 2 d needs no solver: d records that change move at most 2 d counts by one, d that come or go
    move d.
    """
    farthest = adjacency.worst_case if distance is None else distance
    found = distance_evidence(adjacency, farthest, whom)
    if "l1" in norms:
        found.append(Proved(_in_l1(space.l1, exact=space.exact), "theory, 3"))
    if "l2" in norms:
        found.append(Proved(_in_l2(space.l2_squared, exact=space.exact), "theory, 3"))
    if (
        adjacency.searched
        or "l2" in norms
        or ("l1" in norms and space.l1 < METRICS[whom.neighbours].step * farthest)
    ):
        found.append(SOLVED)
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Premises:
    """A universe with its scope, and which pairs of its tables a guarantee shall cover.

    ``distance`` is how many records change with one under adjacency "semi"; where it is None, it is the
    semi-adjacency. A unit of m records is m such steps, one after the other: pairs of tables may be m times
    as far apart [theory, 2].
    """

    universe: Universe
    scope: Scope
    adjacency: Adjacency
    distance: int | None = None
    whom: ProtectedUnit = RECORD

    @classmethod
    def of(
        cls, universe: Universe, scope: Scope, adjacency: Adjacency, distance: int | None = None
    ) -> "Premises":
        """Return the premises of a guarantee; raises where it would be vacuous, or miss one person."""
        return cls(universe, scope, adjacency, distance).checked()

    def checked(self) -> "Premises":
        """Return these premises; raises GuaranteeError where a guarantee would say nothing, or too little."""
        if self.adjacency == "unit":
            self._refuse_one_table()
            return self
        least, distance = self.semi_adjacency.worst_case, self.distance
        who = self.whom.one if self.whom.records == 1 else "record"
        if least and distance is not None and distance < least:
            takes = "takes" if self.semi_adjacency.exact else "takes, as far as is known, up to"
            raise GuaranteeError(
                f"{setting('privacy', 'distance')} = {distance} does not cover one {who}: with these"
                f" invariants one {who}'s {'presence' if self.whom.presence else 'change'} {takes}"
                f" {self.whom.apart(least)}; give at least that many, or leave it out."
            )
        if self.whom.presence:  # one record is told from none, so no distance is too small
            self._refuse_one_table()
        else:
            refuse_vacuous(self.universe, self._farthest, self.sensitivity, self.whom)
        return self

    def _refuse_one_table(self) -> None:
        """Raise where no two different tables are compared, whatever the distance."""
        if not self.whom.presence:
            refuse_one_table(self.universe)
        elif self.metric.one_table(self.universe):
            raise one_table_left(self.universe)

    @property
    def metric(self) -> Metric:
        """How records are counted apart."""
        return METRICS[self.whom.neighbours]

    @cached_property
    def semi_adjacency(self) -> SemiAdjacency:
        """How many records one person's change, or presence, takes."""
        return self.metric.semi_adjacency(self.universe, None)

    def semi_adjacency_within(self, work: int) -> SemiAdjacency:
        """Return the semi-adjacency, or a bound of it where the search takes more work than this.

        A search that ends says what a longer one would, and is not made again.
        """
        known = self.__dict__.get("semi_adjacency")  # where `cached_property` keeps it
        found: SemiAdjacency = known or self.metric.semi_adjacency(self.universe, work)
        if found.exact:
            self.__dict__["semi_adjacency"] = found
        return found

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The largest differences of tables within the distance that is protected."""
        return self.metric.sensitivity(self.universe, self._farthest)

    @cached_property
    def longest_step(self) -> int | None:
        """How far apart tables are at most whose difference falls apart no further, where that matters.

        A loss for each record of distance holds of several if it does of such steps [theory, 13]. Their
        length is that of a circuit where A is totally unimodular, and not known elsewhere.
        """
        if self.adjacency == "semi":
            return 1  # all pairs are looked at as they are
        return self.metric.longest(self.universe)

    @property
    def unit(self) -> Unit:
        """The unit of a guarantee on these premises."""
        whom, semi = self.whom, self.adjacency == "semi"
        distance = self._farthest if semi else whom.records
        return Unit(whom.unit, self.adjacency, distance, whom.records, whom.neighbours)

    def guarantee(
        self,
        intensity: Intensity,
        evidence: Iterable[Evidence],
        profile: Profile | None = None,
        known: PiecewiseLinear | None = None,
    ) -> Guarantee:
        """Return a guarantee on these premises."""
        return Guarantee(self.scope, self.unit, intensity, tuple(evidence), profile, known)

    def worst_on_a_line(self, log_density: Callable[[IntArray], FloatArray]) -> PiecewiseLinear | None:
        """Return the tradeoff function of noise on the multiples of one vector g; None on other lattices.

        ``log_density`` is that of noise, one a row, up to a constant: symmetric, and log-concave on a line.
        It is None, too, where the largest difference of tables is not known exactly, or where the noise is
        too wide to be listed.
        """
        universe = self.universe
        few = universe.cells <= MOST_ON_A_LINE and universe.dimension == 1
        if not few or self.adjacency != "semi" or not self.sensitivity.exact:
            return None
        (g,) = reduced_basis(universe.matrix.toarray())
        steps = isqrt(self.sensitivity.l2_squared // int(g @ g))
        listed = log_density(np.arange(MOST_POINTS)[:, None] * g)
        ends = int(np.searchsorted(-listed, NEGLIGIBLE))
        return on_a_line(listed[:ends], steps) if max(ends, steps) < MOST_POINTS else None

    def squared_stretch(self, norm: LaplaceNorm) -> Fraction:
        """Return the square of the largest norm of x - x' that the guarantee has to cover.

        Under adjacency "unit" that is, for the records of one unit, the largest ||x - x'|| / d(x, x').
        """
        if self.adjacency == "unit":
            # ||u||_1 is 2 d(x, x') [theory, 1], or d [theory, 14]; for l2 the largest ratio over the lattice.
            metric = self.metric
            square = Fraction(metric.step**2) if norm == "l1" else metric.spread(self.universe)
            return self.whom.records**2 * square
        return Fraction(self.sensitivity.l1) ** 2 if norm == "l1" else Fraction(self.sensitivity.l2_squared)

    @cached_property
    def _stretches(self) -> dict[int, tuple[Form, Stretch]]:
        return {}

    def stretch(self, form: Form) -> Stretch:
        """Return the largest u'Fu, u = x - x', that the guarantee has to cover, worked out once.

        Under adjacency "unit" that is, for the records of one unit, the largest u'Fu / d(x, x')^2.
        """
        if id(form) not in self._stretches:  # the form is kept with it, so that no other has its id
            self._stretches[id(form)] = form, self._stretch(form)
        return self._stretches[id(form)][1]

    def _stretch(self, form: Form) -> Stretch:
        if self.adjacency == "unit":
            each = per_record(self.universe, form, self.whom.neighbours)
            return Stretch(self.whom.records**2 * each, exact=False)
        return within(self.universe, form, self._farthest, self.sensitivity, self.whom.neighbours)

    def form_evidence(self, form: Form) -> tuple[Evidence, ...]:
        """Say why the stretch in a form is right."""
        found = self.stretch(form)
        if self.adjacency == "unit":
            return (Proved(_record_in_form(self.whom, found.squared), "theory, 13"),)
        near = Proved(_in_form(found.squared, exact=found.exact), "theory, 3; theory, 13")
        return (*distance_evidence(self.semi_adjacency, self._farthest, self.whom), near, SOLVED)

    def evidence(self, *norms: LaplaceNorm) -> tuple[Evidence, ...]:
        """Say why the stretch in these norms is right."""
        if self.adjacency == "semi":
            space, farthest = self.sensitivity, self._farthest
            return semi_evidence(self.semi_adjacency, space, frozenset(norms), farthest, self.whom)
        return tuple(
            Proved(
                _record_in_norm(self.whom, self.squared_stretch(norm), norm),
                "theory, 14" if self.whom.presence else "theory, 1",
            )
            for norm in norms
        )

    @property
    def _farthest(self) -> int:
        each = self.semi_adjacency.worst_case if self.distance is None else self.distance
        return self.whom.records * each


@claim("record-in-norm")
def _record_in_norm(whom: ProtectedUnit, squared: Fraction, norm: LaplaceNorm) -> str:
    how = "added or removed" if whom.presence else "of distance"
    if whom.records == 1:
        return f"one {whom.record} {how} is at most the root of {squared} in {norm}"
    step = f"{whom.amount(whom.records)}, the most that one {whom.one} has,"
    return f"{step} {how} are at most the root of {squared} in {norm}"


@claim("record-in-form")
def _record_in_form(whom: ProtectedUnit, squared: Fraction) -> str:
    step = f"one {whom.record}" if whom.records == 1 else f"{whom.amount(whom.records)}, one {whom.one}'s,"
    how = "added or removed" if whom.presence else "of distance"
    return f"{step} {how} moves the weighted sum of squares of all queries by at most {squared}"


@claim("sensitivity-form")
def _in_form(squared: Fraction, *, exact: bool) -> str:
    bound = "" if exact else ", an upper bound"
    return f"two such tables are at most {squared} apart in the weighted sum of squares of all queries{bound}"


@claim("sum-over-tables")
def sum_over_tables() -> str:
    """Claim that tables of one file lose at most the sum of what each loses [theory, 10]."""
    return (
        "given the file the tables are drawn independently, and all together lose at most the sum of what"
        " each loses, as its chapter says"
    )
