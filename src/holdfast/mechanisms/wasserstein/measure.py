"""Base measures: what an exponential mechanism is before it sees the table.

* ``counting``: all integer tables alike, whatever is public. It keeps no invariant.
* ``congenial``: those that keep the invariants, and the inequalities of the spec, alike.
* ``prior``: the same, weighted by a Dirichlet-multinomial law from public past counts.

It depends on public values alone, so it may be anything [partially-private-data, Theorem 9]. Where it is
the same around every table that is compared (all integer tables, or all that keep the invariants), so is
the normaliser of a loss that depends on y - x alone.

**The prior** is Dirichlet-multinomial. Its mass at counts y with the sum n is, with pseudo-counts a_j and
their sum A,

    Gamma(A) Gamma(n + 1) / Gamma(n + A)  prod_j Gamma(y_j + a_j) / (Gamma(a_j) Gamma(y_j + 1))

[theory, 7]. Pseudo-counts are past counts times a concentration, and no less than a floor: a cell with a
pseudo-count of 0 would be 0 in every release.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import flint
import numpy as np
from scipy.sparse import csr_array

from holdfast.data.schema import Schema
from holdfast.data.selection import select
from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.mechanisms.truncation.congeniality import Inequalities
from holdfast.programs.solver import UNBOUNDED
from holdfast.sampling.bounded.totals import Totals
from holdfast.sampling.decisions import ball_of
from holdfast.spec.values import Where
from holdfast.system.errors import GuaranteeError, SamplingError
from holdfast.system.ways import setting
from holdfast.universe.tables import capacities, conforming_tables
from holdfast.universe.universe import Universe

Pseudo = tuple[Fraction, ...]


def pseudo_counts(past: IntArray, concentration: Fraction, floor: Fraction) -> Pseudo:
    """Return concentration times the past counts, no less than the floor."""
    return tuple(max(concentration * int(count), floor) for count in past)


def covered(schema: Schema, where: Where | None) -> BoolArray:
    """Return which cells a prior is over: those of a selection, or all."""
    if where is None:
        return np.ones(schema.size, dtype=np.bool_)
    return select(schema, where, place=setting("mechanism", "prior_where"))


Base = Literal["counting", "congenial", "prior"]


@dataclass(frozen=True, eq=False)
class BaseMeasure:
    """A base measure over the tables of a universe; ``pseudo`` are the pseudo-counts of a prior.

    A cell that the prior is not over has a pseudo-count of 1, which is none, as in a counting measure.
    """

    universe: Universe
    kind: Base
    nonnegative: bool = False
    inequalities: Inequalities | None = None
    pseudo: Pseudo | None = None

    @property
    def constant(self) -> bool:
        """Whether it looks the same around every table that is compared."""
        bounded = self.nonnegative or self.inequalities is not None or self.pseudo is not None
        return self.kind == "counting" or not bounded

    @property
    def not_negative(self) -> bool:
        """Whether no release has a negative count."""
        return self.kind != "counting" and (self.nonnegative or self.pseudo is not None)

    @property
    def matrix(self) -> csr_array:
        """A of the equations that releases satisfy."""
        if self.kind == "counting":
            return csr_array((0, self.universe.cells), dtype=np.int64)
        return self.universe.matrix

    @cached_property
    def totals(self) -> Totals | None:
        """The releases as counts with totals, where the invariants are no more than that.

        Raises GuaranteeError where there is none.
        """
        floors = self.inequalities
        low: list[int | None] = [0 if self.not_negative else None] * self.universe.cells
        try:
            found = Totals.of(
                self.matrix,
                self.universe.values,
                low=low,
                rows=None if floors is None else floors.rows,
                least=None if floors is None else floors.least,
            )
            zeros = [] if self.pseudo is None else [cell for cell, a in enumerate(self.pseudo) if not a]
            return found.without(zeros) if found is not None and zeros else found
        except SamplingError:
            raise self.nothing from None

    @property
    def nothing(self) -> GuaranteeError:
        """The error that it has no mass on what is public."""
        if self.pseudo is not None and not all(self.pseudo):
            return GuaranteeError(
                "the prior has no mass on what is public, as cells without past counts must not be 0: give it"
                f" a floor in {setting('mechanism')}, or drop the bound."
            )
        return GuaranteeError(
            "no table keeps the invariants and the inequalities together: correct or drop one of them."
        )

    def listed(self, limit: int) -> IntArray | None:
        """Return all releases, if they are few; None where they are not."""
        if not self.not_negative or self.kind == "counting":
            return None
        try:
            tables = conforming_tables(self.universe, limit)
        except GuaranteeError:
            return None
        found = tables[self.inside(tables)]
        if not found.size:
            raise self.nothing
        return found

    def inside(self, points: IntArray) -> BoolArray:
        """Tell which tables that keep the equations are releases, too."""
        found = np.ones(points.shape[0], dtype=np.bool_)
        if self.kind == "counting":
            return found
        if self.not_negative:
            found &= (points >= 0).all(axis=1)
        if self.inequalities is not None:
            found &= self.inequalities.hold(points)
        if self.pseudo is not None:
            zeros = np.array([not a for a in self.pseudo])
            found &= (points[:, zeros] == 0).all(axis=1)
        return found

    def log_weight(self, point: IntArray) -> flint.arb:
        """Return a ball around the log of the measure of a release, up to one constant."""
        value = flint.arb(0)
        for k, a in zip(point.tolist(), self.pseudo or (), strict=False):
            if a and a != 1:
                value += (ball_of(a) + k).lgamma() - flint.arb(k + 1).lgamma()
        return value

    @cached_property
    def largest(self) -> int | None:
        """The largest count of a table or a release; None where there is no bound."""
        if not self.not_negative:
            return None
        most = capacities(self.universe)
        return None if (most == UNBOUNDED).any() else int(most.max(initial=0))

    @property
    def pseudo_or_ones(self) -> Pseudo:
        """The pseudo-counts, 1 where there is no prior."""
        return self.pseudo or (Fraction(1),) * self.universe.cells
