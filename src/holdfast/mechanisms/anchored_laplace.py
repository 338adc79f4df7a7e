"""`anchored-laplace`: pure noise at any size, on free cells that anchors close [theory, 12].

Notation: L = {u in Z^d : A u = 0}; the anchors B are cells whose columns of A are a unimodular basis of its
column lattice, J are the other cells, so that z_B = -N z_J in whole numbers for z in L; S_a is the
sensitivity space at distance a. The noise is

    q(z) proportional to exp(-kappa ||z_J||_1)   on L:

independent double geometric noise on the free cells. It does not depend on the table, and x - x' is in
L for conforming tables, so the log ratio of the two laws at any output is kappa (||z_J + u_J||_1 - ||z_J||_1)
<= kappa ||u_J||_1 with u = x - x', which z = 0 attains. Hence the loss at distance a is exactly kappa times
the *stretch*, the largest ||u_J||_1 in S_a, and never more than that of l1 noise on L with the same kappa.

A row of N whose only entry, n, is at j says |u_b| = |n| |u_j| for its anchor b. With c_j the sum of all
such |n|, and c the least of the c_j, ||u_B||_1 >= c ||u_J||_1, so

    ||u_J||_1 <= ||u||_1 / (1 + c)   for all u in L:

the *share*. It bounds the stretch at any distance, and per record of distance, where ||u||_1 = 2, or 1 where
records are added or removed.

Anchors are chosen from what is public alone: the invariants and their values. What they close they collect
the noise of, so cells are preferred that are expected to hold many records.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, log, tanh
from typing import Any, Literal

import numpy as np
from pydantic import Field, StrictInt

from holdfast.data.selection import chosen_levels, select
from holdfast.lattice.anchors import Anchors, NoAnchorsError, anchors
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.errors.closed import closed_errors
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.laws import CountErrors
from holdfast.mechanisms.errors.zero_noise import Chance, ZeroNoiseChances
from holdfast.mechanisms.mechanism import (
    Additive,
    MechanismRecord,
    drawn_exactly,
    premises_at,
    premises_for,
    pure,
)
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import SOLVED, Premises
from holdfast.privacy.profile import NormLoss
from holdfast.public import Public
from holdfast.sampling.lattice.anchored import AnchoredLaw
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.privacy import ProtectedUnit
from holdfast.spec.values import PositiveRational, Where
from holdfast.system.errors import SamplingError
from holdfast.system.text import counted
from holdfast.system.ways import assigned, setting

SWEEPS, SETTLED = 50, 1e-6
"""Rounds of the fit of expected counts, and the relative change that ends them."""
NAMED = 4
"""Anchors, or sums of anchors alone, that are told by name."""


class AnchoredLaplaceOptions(MechanismOptions):
    """The levels at which anchors are preferred.

    >>> hf.AnchoredLaplace(anchors={"county": "A"}).anchors
    {'county': ('A',)}
    """

    name: Literal["anchored-laplace"] = "anchored-laplace"
    anchors: Where | None = None


class AnchoredLaplaceRecord(MechanismRecord):
    """Kappa, and the anchors by the numbers of their cells, the preferred first."""

    name: Literal["anchored-laplace"]
    kappa: PositiveRational = Field(alias="epsilon_per_unit")
    where: Where | None = Field(default=None, exclude_if=lambda where: where is None)
    """The levels that the spec names for anchors."""
    anchors: tuple[StrictInt, ...]

    def parameters(self, write: Callable[[Fraction], str] = str) -> dict[str, str]:
        """Return the parameters by name, the anchors by their number."""
        found = super().parameters(write)
        found.pop("where", None)
        return {**found, "anchors": f"{len(self.anchors):,}"}


@dataclass(frozen=True, eq=False)
class AnchoredLaplace(Additive[AnchoredLaplaceOptions, AnchoredLaplaceRecord]):
    """Double geometric noise on free cells.

    ``drawn_by`` are the anchors of the law, ``follow`` those that what is public leads to, if it is known:
    a certificate claims that they are the same.
    """

    premises: Premises
    public: Public
    kappa: Fraction
    preferred: Mapping[str, tuple[str, ...]] | None
    drawn_by: Anchors
    follow: Anchors | None = None

    name = "anchored-laplace"
    Options = AnchoredLaplaceOptions
    Record = AnchoredLaplaceRecord
    standards = ("pure",)
    neighbours = ("replace", "add-remove")

    @classmethod
    def answer(cls, public: Public, target: Target, options: AnchoredLaplaceOptions) -> "AnchoredLaplace":
        """Choose the anchors, and take the kappa that spends the target in full."""
        place = setting("mechanism", "anchors")
        named = (
            None if options.anchors is None else chosen_levels(public.schema, options.anchors, place=place)
        )
        intensity, premises = pure(target), premises_for(public, target)
        found = anchors_for(public, preference(public, named))
        return cls(premises, public, intensity.epsilon / stretch(premises, found), named, found, found)

    @classmethod
    def of(cls, record: AnchoredLaplaceRecord, public: Public, unit: Unit) -> "AnchoredLaplace":
        """Return the mechanism of a record, with its anchors."""
        named = None if record.where is None else chosen_levels(public.schema, record.where)
        listed = np.array(record.anchors, dtype=np.int64)
        found = anchors_for(public, _in_order(public, listed))
        if not np.array_equal(np.sort(listed), public.possible[found.cells]):
            raise SamplingError(
                f"the {len(listed):,} anchors of the record do not close the invariants in whole numbers:"
                " take the certificate as it was written."
            )
        return cls(premises_at(public, unit), public, record.kappa, named, found)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Kappa and the anchors that follow from what is public, which are those of the law."""
        weight = self._weight
        cells = (self.follow or anchors_for(self.public, weight)).cells
        order = np.argsort(-weight[cells], kind="stable")
        numbers = tuple(self.public.possible[cells[order]].tolist())
        return {"kappa": self.kappa, "where": self.preferred, "anchors": numbers}

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the kappa that meets a target with these anchors."""
        del public
        return {"kappa": pure(target).epsilon / self.stretch}

    @property
    def guarantee(self) -> Guarantee:
        """The loss is kappa times the stretch [theory, 12]."""
        premises = self.premises
        profile = NormLoss(self.kappa * share(self.drawn_by), "l1")
        epsilon = Pure(self.kappa * self.stretch)
        return Guarantee(premises.scope, premises.unit, epsilon, tuple(self._evidence()), profile)

    @cached_property
    def stretch(self) -> Fraction:
        """The largest ||u_J||_1 that the guarantee covers."""
        return stretch(self.premises, self.drawn_by)

    @cached_property
    def noise(self) -> AnchoredLaw:
        """The law of the noise, which every table shares."""
        return AnchoredLaw(self.drawn_by, self.kappa)

    @property
    def methods(self) -> tuple[Claim, ...]:
        """What is drawn, and where its sums end up."""
        law, found = self.noise, self.drawn_by
        free = _free(found.free.size, _three_digits(law.error))
        if not found.cells.size:
            return (free,)
        mean, most = (
            _three_digits(float(error)) for error in (law.anchor_errors.mean(), law.anchor_errors.max())
        )
        first, more = self._where
        return free, _closed(found.cells.size, mean, most, first, more, preferred=bool(self.preferred))

    def errors(self, public: Public, asked: Sequence[Counts]) -> list[CountErrors | None]:
        """Return the errors of counts: each is a sum of free cells, whose law has a formula."""
        return closed_errors(self.noise, public, asked)

    @property
    def plan_details(self) -> Mapping[str, Any]:
        """The errors of free cells and of anchors."""
        errors = self.noise.anchor_errors
        closed = {"anchor_error": float(errors.mean()), "largest_anchor_error": float(errors.max())}
        return {"free_error": self.noise.error, **(closed if errors.size else {})}

    @cached_property
    def unchanged(self) -> ZeroNoiseChances:
        """The chance of noise 0: a sum of free cells is 0 no more often than one of them."""
        free, cells = self.drawn_by.free.size, self.premises.universe.cells
        stays = tanh(float(self.kappa) / 2)  # (1 - a) / (1 + a)
        none = exp(free * log(stays))
        return ZeroNoiseChances(Chance(stays * free / cells, stays), Chance(none, none))

    @cached_property
    def _weight(self) -> FloatArray:
        return preference(self.public, self.preferred)

    @property
    def _where(self) -> tuple[tuple[str, ...], int]:
        """Sums of the invariants that are anchors alone, or the first anchors, by name; and how many more."""
        public, inside = self.public, np.zeros(self.public.schema.size, dtype=np.bool_)
        inside[public.possible[self.drawn_by.cells]] = True
        sums = [
            held.block.labels[row]
            for held in public.invariants
            if held.block.kind == "margin"
            for row in np.flatnonzero(_only(held.block.matrix, inside)).tolist()
        ]
        first = np.argsort(-self._weight[self.drawn_by.cells], kind="stable")[:NAMED]
        cells = [public.schema.in_words(int(public.possible[self.drawn_by.cells[one]])) for one in first]
        told, number = (sums, len(sums)) if sums else (cells, self.drawn_by.cells.size)
        return tuple(told[:NAMED]), max(0, number - NAMED)

    def _evidence(self) -> list[Evidence]:
        premises, found = self.premises, self.drawn_by
        most = self.stretch
        evidence: list[Evidence] = [
            Proved(_loses(self.kappa, found.cells.size), "theory, 12"),
            *premises.evidence("l1"),
            Proved(_apart(most, premises.whom, semi=premises.adjacency == "semi"), "theory, 12"),
        ]
        if premises.adjacency == "semi" and most < bound(premises, found) and SOLVED not in evidence:
            evidence.append(SOLVED)
        return [*evidence, *drawn_exactly(floats=self.noise.floats)]


def share(found: Anchors) -> Fraction:
    """Return 1 / (1 + c): what ||u_J||_1 is of ||u||_1 at most."""
    return Fraction(1, 1 + found.mirrored)


def bound(premises: Premises, found: Anchors) -> Fraction:
    """Return a bound of the stretch: the share of the largest ||u||_1."""
    if premises.adjacency == "unit":
        return premises.metric.step * premises.whom.records * share(found)
    return Fraction(premises.sensitivity.l1 * share(found) // 1)


def stretch(premises: Premises, found: Anchors) -> Fraction:
    """Return the largest ||u_J||_1 that a guarantee has to cover, or a bound of it."""
    most = bound(premises, found)
    if premises.adjacency == "unit":
        return most
    inside = np.zeros(premises.universe.cells, dtype=np.bool_)
    inside[found.free] = True
    part, distance = premises.metric.part, premises.unit.distance
    return min(most, Fraction(part(premises.universe, distance, inside, premises.sensitivity)))


def anchors_for(public: Public, weight: FloatArray) -> Anchors:
    """Return anchors for the universe; raises SamplingError where there are none."""
    universe = public.universe
    try:
        return anchors(universe.matrix, weight, universe.margins, universe.patterns)
    except NoAnchorsError as error:
        raise SamplingError(
            f"{error}, as anchored noise needs: set {assigned('name', 'lattice-laplace')} in"
            f" {setting('mechanism')}, or keep fewer invariants."
        ) from error


def preference(public: Public, named: Mapping[str, tuple[str, ...]] | None) -> FloatArray:
    """Return what anchors are preferred by: levels that are named first, then expected counts."""
    weight = expected(public)
    most = 1 + float(weight.sum())
    for name, levels in (named or {}).items():
        weight += most * select(public.schema, {name: levels})[public.possible]
    return weight


def expected(public: Public) -> FloatArray:
    """Return the counts that the invariants let expect, from equal ones by iterative proportional fitting.

    Sums with weights other than 1 are left out: it is a choice of anchors, and any of them are right.
    """
    counts = np.ones(public.possible.size)
    fits = []
    for held in public.invariants:
        entries = held.block.matrix[:, public.possible].tocoo()
        if held.block.kind != "weights":  # rows of one block share no cell
            fits.append((entries.row, entries.col, held.values.astype(np.float64)))
    for _ in range(SWEEPS):
        change = 0.0
        for rows, cells, values in fits:
            sums = np.bincount(rows, counts[cells], values.size)
            factor = np.divide(values, sums, out=np.zeros(values.size), where=sums > 0)
            counts[cells] *= factor[rows]
            change = max(change, float(np.abs(factor[sums > 0] - 1).max(initial=0.0)))
        if change < SETTLED:
            break
    # so few digits that equal counts are equal on every machine
    return counts.astype(np.float32).astype(np.float64)


def _in_order(public: Public, listed: IntArray) -> FloatArray:
    """Return weights that lead to listed cells, the first of them first."""
    weight = np.zeros(public.schema.size)
    known = listed[(listed >= 0) & (listed < weight.size)]
    # the ranks of all together weigh less than one cell
    weight[known] = 1 + np.arange(known.size, 0, -1) / (known.size + 1.0) ** 2
    return np.asarray(weight[public.possible])


def _only(matrix: Any, inside: BoolArray) -> BoolArray:
    """Return the rows of ones with all of several cells inside."""
    size = np.diff(matrix.indptr)
    return np.asarray((matrix @ inside.astype(np.int64) == size) & (size > 1))


def _three_digits(error: float) -> float:
    """Return an error to three digits, in which computers agree."""
    return float(f"{error:.3g}")


@claim("free-cells-drawn")
def _free(cells: int, error: float) -> str:
    return f"{counted(cells, 'free cell')}: independent, off by {error:g} on average"


@claim("anchors-closed")
def _closed(
    anchors: int, mean: float, most: float, first: tuple[str, ...], more: int, *, preferred: bool
) -> str:
    how = "as the spec prefers" if preferred else "by expected counts"
    rest = f" and {more:,} more" if more else ""
    return (
        f"{counted(anchors, 'anchor')}, chosen {how}: off by {mean:g} on average and {most:g} at most, at"
        f" {'; '.join(first)}{rest}"
    )


@claim("anchored-laplace")
def _loses(kappa: Fraction, anchors: int) -> str:
    return (
        f"independent noise with probability proportional to exp(-{kappa} |z|) on every cell but"
        f" {counted(anchors, 'anchor')}, which close the invariants, loses at most {kappa} for each unit by"
        " which the free cells of two tables differ"
    )


@claim("free-cells-apart")
def _apart(size: Fraction, whom: ProtectedUnit, *, semi: bool) -> str:
    if semi:
        return f"the free cells of two such tables differ by at most {size} in all"
    how = "added or removed" if whom.presence else "of distance"
    return f"the free cells of two tables differ by at most {size} for each {whom.one} {how}"
