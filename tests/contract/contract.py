"""What a mechanism must pass, each as a check of one mechanism on one small world.

The slow truth is a list: all tables of the world, and all likely outputs. Real outputs are listed on a grid,
where sums stand for integrals.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp
from tests.contract.cases import Case
from tests.goodness import LEVEL, Point, lattice_points, p_value
from tests.losses import record_distances

from holdfast.certificate.model import Certificate
from holdfast.certificate.public import mechanism_of, public_of
from holdfast.certificate.verify import verify
from holdfast.data.table import Table
from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.catalogue import AnyMechanism, answer
from holdfast.mechanisms.mechanism import Law
from holdfast.privacy.intensity import Approximate, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import STANDARDS
from holdfast.privacy.ledger.errors import BudgetError
from holdfast.public import Public, publish
from holdfast.release import Prepared, prepare
from holdfast.resume import ChargedError
from holdfast.sampling.entropy import SeededEntropy
from holdfast.universe.enumerate import conforming_tables

Floats = NDArray[np.float64]
DRAWS = 20_000
FEW = 500
ORDERS = (1.01, 1.5, 2.0, 3.0)
EPSILONS = (0.0, 0.5, 1.0, 2.0)
QUIETER = Fraction(11, 10)
PIECES = 16
"""Into how many a unit of real numbers is cut at most, for a chi-square test."""
NARROWER, WIDER = Fraction(6, 5), Fraction(5, 6)


@dataclass(frozen=True, eq=False)
class Subject:
    """A mechanism that was made from a spec and its data, and what there is to compare it with."""

    case: Case
    kind: type[AnyMechanism]
    folder: Path
    ready: Prepared

    @classmethod
    def of(cls, case: Case, kind: type[AnyMechanism], folder: Path) -> "Subject":
        """Prepare a case."""
        return cls(case, kind, folder, prepare(case.spec(kind, folder)))

    def scaled(self, by: Fraction) -> "Subject":
        """Return the same with noise that is narrower by a factor."""
        return Subject.of(self.case.scaled(by), self.kind, self.folder)

    @property
    def mechanism(self) -> AnyMechanism:
        """The calibrated mechanism."""
        return self.ready.mechanism

    @property
    def public(self) -> Public:
        """What is public of the data."""
        return self.ready.public

    @property
    def counts(self) -> IntArray:
        """The possible cells of the confidential table."""
        return np.asarray(self.ready.reading.table.counts[self.public.possible])

    @property
    def releasable(self) -> bool:
        """Whether it is for releases, rather than to compare with."""
        traits = self.mechanism.traits
        return traits.kind != "floating" and traits.keeps_invariants

    @cached_property
    def tables(self) -> IntArray:
        """All tables with the same invariants."""
        return conforming_tables(self.public.universe, 2000)

    def outputs(self, around: IntArray) -> NDArray[Any]:
        """List the likely outputs near a table, those that some table can give."""
        mechanism = self.mechanism
        if mechanism.output == "table":
            kept = self.public.universe.matrix.toarray()
            rows = kept if mechanism.traits.keeps_invariants else kept[:0]
            origin: NDArray[Any] = around
        else:
            origin = np.rint(mechanism.law(around).sample(SeededEntropy(0), FEW).mean(axis=0))
            rows = np.zeros((0, origin.size), dtype=np.int64)
        points: NDArray[Any] = lattice_points(rows, self.case.reach * self.case.steps)
        if self.case.steps > 1:
            points = points / self.case.steps
        points = points + origin
        possible = [np.isfinite(mechanism.law(table).log_prob(points)) for table in self.tables]
        return points[np.any(possible, axis=0)]


def log_shares(law: Law, outputs: NDArray[Any]) -> Floats:
    """Return the log probabilities of outputs, given that it is one of them."""
    logs = law.log_prob(outputs)
    return np.asarray(logs - logsumexp(logs))


def spent(stated: Intensity, one: Floats, other: Floats) -> float:
    """Return what two laws lose, by their log probabilities, as a share of what is stated."""
    match stated:
        case Pure(epsilon):
            return float((one - other).max()) / float(epsilon)
        case Approximate(epsilon, delta):
            return _delta(one, other, float(epsilon)) / float(delta)
        case ZeroConcentrated(rho):
            return max(_renyi(one, other, alpha) / alpha for alpha in ORDERS) / float(rho)
        case GaussianDP(mu):
            return max(_mu(e, _delta(one, other, e)) for e in EPSILONS) / float(mu)
    raise AssertionError(f"{stated.standard} is not enumerated")


def _delta(one: Floats, other: Floats, epsilon: float) -> float:
    """Return the least delta of (epsilon, delta) between two laws."""
    return float(np.maximum(np.exp(one) - np.exp(epsilon + other), 0).sum())


def _renyi(one: Floats, other: Floats, alpha: float) -> float:
    return float(logsumexp(alpha * one + (1 - alpha) * other)) / (alpha - 1)


def _mu(epsilon: float, delta: float) -> float:
    """Return the mu of Gaussian DP at which epsilon goes with delta [dong2022, Corollary 2.13]."""

    def over(mu: float) -> float:
        near, far = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        return float(np.exp(near) - np.exp(far) - delta)

    return float(brentq(over, 1e-3, 50.0))


def largest(subject: Subject, against: Subject) -> float:
    """Return the largest share of what one mechanism states that another spends."""
    guarantee, tables = against.mechanism.guarantee, subject.tables
    outputs = subject.outputs(tables[0])
    logs = [log_shares(subject.mechanism.law(table), outputs) for table in tables]
    apart = record_distances(tables)
    each = guarantee.unit.adjacency == "unit"
    near = (apart > 0) & (each | (apart <= guarantee.unit.distance))
    return max(
        spent(guarantee.intensity.group(int(apart[i, j])) if each else guarantee.intensity, logs[i], logs[j])
        for i, j in np.argwhere(near)
    )


def the_loss_is_within_the_guarantee(subject: Subject) -> None:
    """No two tables are told apart better than is stated, nor much worse; with less noise, they are."""
    share = largest(subject, subject)
    assert share <= 1 + (1e-5 if subject.case.steps == 1 else 1e-3)  # sums on a grid are nearly integrals
    if subject.case.attained:
        assert share >= 0.99
        assert largest(subject.scaled(QUIETER), subject) > 1.01


def the_draws_follow_the_law(subject: Subject) -> None:
    """The draws pass a chi-square test of the law, and of no law that is a little narrower or wider."""
    counts = subject.counts
    draws = subject.mechanism.law(counts).sample(SeededEntropy(1), DRAWS)
    outputs = subject.outputs(counts)
    seen, listed = _classes(subject, draws, outputs)
    assert p_value(seen, _shares(subject, listed, outputs)) > LEVEL
    for by in (NARROWER, WIDER):
        assert p_value(seen, _shares(subject.scaled(by), listed, outputs)) < LEVEL / 1000


def _classes(subject: Subject, draws: NDArray[Any], outputs: NDArray[Any]) -> tuple[IntArray, list[Point]]:
    """Return whole draws as they are; of real ones, which piece of the grid the first number is in."""
    if subject.mechanism.traits.whole:
        return draws, list(map(tuple, outputs.tolist()))
    steps = subject.case.steps
    width = max(1, steps // PIECES)
    places = [np.rint(points[:, :1] * steps).astype(np.int64) // width for points in (draws, outputs)]
    return places[0], list(map(tuple, places[1].tolist()))


def _shares(subject: Subject, classes: list[Point], outputs: NDArray[Any]) -> dict[Point, float]:
    shares: dict[Point, float] = {}
    logs = log_shares(subject.mechanism.law(subject.counts), outputs)
    for point, share in zip(classes, np.exp(logs).tolist(), strict=True):
        shares[point] = shares.get(point, 0.0) + share
    return shares


def the_record_leads_back(subject: Subject) -> None:
    """The record gives the mechanism again: the same record, guarantee and draws, also through JSON."""
    mechanism, record = subject.mechanism, subject.mechanism.record()
    assert type(record).model_validate_json(record.model_dump_json()) == record
    assert set(mechanism.parameters) <= set(type(record).model_fields)
    again = subject.kind.of(record, subject.public, mechanism.guarantee.unit)
    assert again.record() == record
    assert again.traits == mechanism.traits
    one, other = mechanism.guarantee, again.guarantee
    assert (one.scope, one.unit, one.intensity) == (other.scope, other.unit, other.intensity)
    assert (one.evidence, one.profile) == (other.evidence, other.profile)
    first, second = (which.law(subject.counts).sample(SeededEntropy(2), 50) for which in (mechanism, again))
    assert np.array_equal(first, second)


def the_invariants_are_kept(subject: Subject) -> None:
    """Whatever the traits promise of a table holds of every draw, with exact equality."""
    traits, public = subject.mechanism.traits, subject.public
    if subject.mechanism.output != "table":
        return
    drawn = subject.ready.sample(SeededEntropy(3), FEW)
    assert drawn.shape == (FEW, public.schema.size)
    assert np.issubdtype(drawn.dtype, np.integer) == traits.whole
    assert not drawn[:, ~public.schema.possible].any()
    counts = subject.ready.reading.table.counts
    seeds = range(3, 43)  # noise of a strong case moves one draw in hundreds
    assert any((subject.ready.sample(SeededEntropy(seed), FEW) != counts).any() for seed in seeds)
    off = [np.abs(held.block.matrix @ drawn.T - held.values[:, None]).max() for held in public.invariants]
    assert (max(off) <= (0 if traits.whole else 1e-9)) == traits.keeps_invariants
    if traits.nonnegative:
        assert (drawn >= 0).all()
    for floor in public.inequalities:
        assert not floor.broken((floor.block.matrix @ drawn.T).ravel()).size


def a_release_is_verified_or_refused(subject: Subject) -> None:
    """What may be released passes verification, and nothing else is released."""
    ready = subject.ready
    if not subject.releasable:
        with pytest.raises(GuaranteeError, match='use name = "lattice'):
            ready.release(SeededEntropy(4), accept_no_protection=True)
        return
    release = ready.release(SeededEntropy(4), accept_no_protection=True)
    assert set(release.outputs) == {subject.mechanism.output, *subject.mechanism.estimated}
    folder = release.write(subject.folder / "release")
    assert verify(folder).kept


def a_ledger_is_charged_before_a_draw(subject: Subject) -> None:
    """The cost is taken before the first random word; where too little is left, none is asked for."""
    intensity, path = subject.mechanism.guarantee.intensity, subject.folder / "account.ledger"
    cost = next(iter(intensity.parameters().values()))
    standard = next((name for name in STANDARDS if name == intensity.standard), STANDARDS[0])
    ledger = Ledger.create(path, standard=standard, budget=cost * Fraction(11, 10))
    if not subject.releasable or standard != intensity.standard:
        with pytest.raises(GuaranteeError):
            subject.ready.release(Silent(), ledger=ledger, accept_no_protection=True)
        assert ledger.spent() == 0
        return
    with pytest.raises(ChargedError, match=r"row 1 of .* is charged, and nothing was released .*--resume 1"):
        subject.ready.release(Silent(), ledger=ledger, accept_no_protection=True)
    assert ledger.spent() == cost
    with pytest.raises(BudgetError):
        subject.ready.release(Silent(), ledger=ledger, accept_no_protection=True)
    assert ledger.spent() == cost


class Silent:
    """A source without words."""

    secure = False

    def words(self, size: int) -> NDArray[np.uint64]:
        """Raise instead of drawing."""
        raise InterruptedError(f"{size} words were asked for")


def the_certificate_tells_what_is_public(subject: Subject) -> None:
    """What is public is the same from the spec with its data, and from the certificate alone."""
    ready, public = subject.ready, subject.public
    certificate = ready.certify(secure=False)
    read = Certificate.from_json(certificate.to_json())
    assert read == certificate
    assert type(read.mechanism) is subject.kind.Record
    again = public_of(read)
    assert again == public
    assert again.scope == public.scope
    assert np.array_equal(again.universe.matrix.toarray(), public.universe.matrix.toarray())
    assert np.array_equal(again.universe.values, public.universe.values)
    assert again.universe.cliques == public.universe.cliques
    for one, other in zip(again.floors or (), public.floors or (), strict=True):
        assert np.array_equal(one, other)
    mechanism = mechanism_of(read, again)
    assert mechanism.record() == subject.mechanism.record()
    assert mechanism.guarantee == subject.mechanism.guarantee
    if public.invariants:  # and it is told apart from another
        moved = replace(public.invariants[0], values=public.invariants[0].values + 1)
        assert replace(public, invariants=(moved, *public.invariants[1:])) != public


def the_mechanism_sees_public_values_only(subject: Subject) -> None:
    """Every other table with the same invariants, and above the same floors, has the same mechanism."""
    ready, tables = subject.ready, subject.tables
    if (floors := ready.public.floors) is not None:
        tables = tables[(tables @ floors[0].T >= floors[1]).all(axis=1)]
    for counts in tables[[0, -1]]:
        table = Table(ready.public.schema, ready.public.spread(counts[None])[0])
        public = publish(ready.spec, table, ready.reading.inferred)
        assert public == ready.public
        other = answer(ready.spec, public)
        assert other.record() == subject.mechanism.record()
        assert other.guarantee == subject.mechanism.guarantee


CHECKS: tuple[Callable[[Subject], None], ...] = (
    the_loss_is_within_the_guarantee,
    the_draws_follow_the_law,
    the_record_leads_back,
    the_invariants_are_kept,
    a_release_is_verified_or_refused,
    a_ledger_is_charged_before_a_draw,
    the_certificate_tells_what_is_public,
    the_mechanism_sees_public_values_only,
)
