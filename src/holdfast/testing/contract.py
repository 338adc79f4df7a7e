"""What a mechanism of tables must pass, each as a check of one mechanism on one small world.

The slow truth is a list: all tables of the world, and all likely outputs. Real outputs are listed on a grid,
where sums stand for integrals. A check that fails raises AssertionError with what was found.

`check` makes all checks of a mechanism. A test of each is `CHECKS`, with a `Subject` for each case:

    @pytest.mark.parametrize("each", contract.CHECKS, ids=lambda each: each.__name__)
    def test_contract(each, tmp_path):
        each(contract.Subject.of(worlds.Case("one total", {"epsilon": "8"}), Mine, tmp_path))
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast import registry
from holdfast.certificate.model import Certificate
from holdfast.certificate.public import mechanism_of, public_of
from holdfast.data.table import Table
from holdfast.lattice.arrays import IntArray, WordArray
from holdfast.lattice.points import lattice_points
from holdfast.ledger.account import Ledger
from holdfast.ledger.rows import STANDARDS
from holdfast.mechanisms.catalogue import AnyMechanism, at_target, target_of
from holdfast.privacy.intensity import GaussianDP, GaussianNoise, Intensity
from holdfast.public import Public, publish
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.releases.resume import ChargedError
from holdfast.releases.table import settle
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import BudgetError, GuaranteeError
from holdfast.testing.goodness import LEVEL, Point, p_value
from holdfast.testing.losses import log_shares, record_distances, spent
from holdfast.testing.worlds import Case
from holdfast.universe.limits import Limits, together
from holdfast.universe.presence import loose_cells
from holdfast.universe.tables import conforming_tables
from holdfast.verification.verify import verify

DRAWS = 20_000
"""For a chi-square test: enough to tell a law from one that is a fifth narrower or wider."""
FEW = 500
MOST_TABLES = 2000
"""A world of more tables is refused: pairs are compared, each on every output."""
MORE = 2
"""Records that a cell in no invariant holds beyond those of the confidential table, at the most."""
QUIETER = Fraction(11, 10)
"""How much narrower the noise is that must break an attained guarantee."""
LARGEST_MU = 10
"""Beyond it, floats do not tell the probabilities of what is seen under one table alone."""
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

    def __str__(self) -> str:
        return f"{self.kind.name}, {self.case}"

    def expect(self, held: object, otherwise: str) -> None:
        """Raise AssertionError where something does not hold, with what is the case otherwise."""
        if not held:
            raise AssertionError(f"{self}: {otherwise}.")

    def refuses(self, error: type[Exception], act: Callable[[], object], said: str = "") -> None:
        """Expect an act to raise an error whose message has a pattern."""
        try:
            act()
        except error as refused:
            self.expect(re.search(said, str(refused)), f"{refused!r} does not say {said!r}")
        else:
            self.expect(False, f"a release was made, and not refused by {error.__name__}")

    def scaled(self, by: Fraction) -> "Subject":
        """Return the same with noise that is narrower by a factor."""
        case, table = self.case.scaled(by), self.ready.table
        if table.budget is not None:  # the shape that targets led to, at more than their budget
            privacy, power = table.spec.privacy, 2 if table.budget.name == "rho" else 1
            target = target_of(privacy.spending(table.budget.value * by**power))
            mechanism = at_target(table.mechanism, table.public, target)
            assert mechanism is not None  # noqa: S101 - it was calibrated to a budget
            parts = {table.name: replace(table, mechanism=mechanism)}
            return replace(self, ready=replace(self.ready, parts=parts))
        # what is public of the data is worked out once
        part = settle(case.spec(self.kind, self.folder), table.reading, table.public, table.model)
        return replace(self, case=case, ready=replace(self.ready, spec=part.spec, parts={part.name: part}))

    @property
    def mechanism(self) -> AnyMechanism:
        """The calibrated mechanism."""
        return self.ready.table.mechanism

    @property
    def public(self) -> Public:
        """What is public of the data."""
        return self.ready.public

    @property
    def counts(self) -> IntArray:
        """The possible cells of the confidential table."""
        return np.asarray(self.ready.table.reading.table.counts[self.public.possible])

    @property
    def releasable(self) -> bool:
        """Whether it is for releases, rather than to compare with."""
        traits = self.mechanism.traits
        return traits.kind != "floating" and traits.keeps_invariants

    @cached_property
    def tables(self) -> IntArray:
        """All tables with the same invariants; in cells that none counts, with few more records than here."""
        universe = self.public.universe
        loose = np.flatnonzero(loose_cells(universe))
        few = Limits(csr_array(-np.eye(universe.cells, dtype=np.int64)[loose]), -self.counts[loose] - MORE)
        within = together([universe.limits, few if loose.size else None])
        return conforming_tables(replace(universe, limits=within), MOST_TABLES)

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


def check(kind: type[AnyMechanism], cases: Iterable[Case]) -> None:
    """Make every check of a mechanism on every case; raises AssertionError at the first that fails.

    A mechanism of another package has to be installed, as specs and certificates find it by its entry point.
    """
    if registry.find(kind.name) is not kind:
        raise AssertionError(f"{kind.name!r} leads to {registry.find(kind.name)}, and not to {kind}.")
    for case in cases:
        with TemporaryDirectory() as folder:
            subject = Subject.of(case, kind, Path(folder))
            for each in CHECKS:
                each(subject)


def largest(subject: Subject, against: Subject, stated: Intensity | None = None) -> float:
    """Return the largest share of what one mechanism states that another spends."""
    guarantee, tables = against.mechanism.guarantee, subject.tables
    stated = guarantee.intensity if stated is None else stated
    outputs = subject.outputs(tables[0])
    logs = [log_shares(subject.mechanism.law(table), outputs) for table in tables]
    apart = record_distances(tables, guarantee.unit.neighbours)
    each = guarantee.unit.adjacency == "unit"
    near = (apart > 0) & (each | (apart <= guarantee.unit.distance))
    return max(
        spent(stated.group(int(apart[i, j])) if each else stated, logs[i], logs[j])
        for i, j in np.argwhere(near)
    )


def the_loss_is_within_the_guarantee(subject: Subject) -> None:
    """No two tables are told apart better than is stated, nor much worse; with less noise, they are."""
    share = largest(subject, subject)
    most = 1 + (1e-5 if subject.case.steps == 1 else 1e-3)  # sums on a grid are nearly integrals
    subject.expect(share <= most, f"two tables lose {share:.6g} times what is stated")
    if subject.case.attained:
        subject.expect(
            share >= 0.99,
            f"no two tables lose more than {share:.6g} times what is stated: say attained=False",
        )
        quieter = largest(subject.scaled(QUIETER), subject)
        subject.expect(
            quieter > 1.01, f"with less noise {quieter:.6g} times what is stated is lost: too little"
        )


def what_is_known_of_mu_holds(subject: Subject) -> None:
    """No two tables are told apart better than the tight mu says; where it is exact, some are as well."""
    guarantee = subject.mechanism.guarantee
    known = guarantee.tight
    told = guarantee.known is not None or isinstance(guarantee.intensity, GaussianNoise)
    if known.mu is None or not told or known.mu > LARGEST_MU:
        return
    share = largest(subject, subject, GaussianDP(known.mu))
    subject.expect(share <= 1 + 1e-5, f"two tables spend {share:.6g} times the tight mu")
    if known.exact:
        quieter = largest(subject.scaled(QUIETER), subject, GaussianDP(known.mu))
        subject.expect(
            quieter > 1.01, f"with less noise {quieter:.6g} times the tight mu is spent: too little"
        )


def the_draws_follow_the_law(subject: Subject) -> None:
    """Test draws by chi-square: they follow the law, and no law that is a little narrower or wider."""
    counts = subject.counts
    draws = subject.mechanism.law(counts).sample(SeededEntropy(1), DRAWS)
    outputs = subject.outputs(counts)
    seen, listed = _classes(subject, draws, outputs)
    p = p_value(seen, _shares(subject, listed, outputs))
    subject.expect(p > LEVEL, f"{DRAWS:,} draws do not follow the law: chi-square p-value {p:.2g}")
    for by in (NARROWER, WIDER):
        p = p_value(seen, _shares(subject.scaled(by), listed, outputs))
        subject.expect(
            p < LEVEL / 1000, f"{DRAWS:,} draws also follow a law scaled by {by}: chi-square p-value {p:.2g}"
        )


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
    """Go from the record to the mechanism: the same record, guarantee and draws, also through JSON."""
    mechanism, record, expect = subject.mechanism, subject.mechanism.record(), subject.expect
    expect(type(record).model_validate_json(record.model_dump_json()) == record, "JSON changes its record")
    expect(bool(record.sampling), "its record does not say how it is drawn: give it methods")
    unknown = set(mechanism.parameters) - set(type(record).model_fields)
    expect(not unknown, f"its record has no field for {', '.join(sorted(unknown))}")
    again = subject.kind.of(record, subject.public, mechanism.guarantee.unit)
    expect(again.record() == record, f"its record {record!r} leads to {again.record()!r}")
    expect(again.traits == mechanism.traits, f"its record leads to other traits, {again.traits}")
    one, other = mechanism.guarantee, again.guarantee
    for name in ("scope", "unit", "intensity", "evidence", "profile"):
        stated, led = getattr(one, name), getattr(other, name)
        expect(stated == led, f"its {name} is {stated}, and its record leads to {led}")
    first, second = (which.law(subject.counts).sample(SeededEntropy(2), 50) for which in (mechanism, again))
    expect(np.array_equal(first, second), "the mechanism of its record draws otherwise, from the same words")


def the_invariants_are_kept(subject: Subject) -> None:
    """Whatever the traits promise of a table holds of every draw, with exact equality."""
    traits, public, expect = subject.mechanism.traits, subject.public, subject.expect
    if subject.mechanism.output != "table":
        return
    drawn = subject.ready.sample(SeededEntropy(3), FEW)
    expect(drawn.shape == (FEW, public.schema.size), f"{FEW} tables have the shape {drawn.shape}")
    whole = np.issubdtype(drawn.dtype, np.integer)
    expect(whole == traits.whole, f"it draws {drawn.dtype}, and its traits say whole={traits.whole}")
    expect(not drawn[:, ~public.schema.possible].any(), "impossible cells hold records")
    counts = subject.ready.table.reading.table.counts
    seeds = range(3, 43)  # noise of a strong case moves one draw in hundreds
    moved = any((subject.ready.sample(SeededEntropy(seed), FEW) != counts).any() for seed in seeds)
    expect(moved, "every draw is the confidential table")
    sums = ((held.block.matrix @ drawn.T, held.values[:, None]) for held in public.invariants)
    off = max((np.abs(drawn_sums - values).max() for drawn_sums, values in sums), default=0)
    kept = off <= (0 if traits.whole else 1e-9)
    expect(
        kept == traits.keeps_invariants,
        f"invariants are off by {off}, and its traits say keeps_invariants={traits.keeps_invariants}",
    )
    expect(not traits.nonnegative or (drawn >= 0).all(), "counts are negative, and its traits say otherwise")
    for floor in public.inequalities:
        expect(not floor.broken((floor.block.matrix @ drawn.T).ravel()).size, f"{floor} is broken")


def a_release_is_verified_or_refused(subject: Subject) -> None:
    """Verify what may be released, and see that nothing else is."""
    release = partial(subject.ready.release, SeededEntropy(4), accept_no_protection=True)
    if not subject.releasable:
        subject.refuses(GuaranteeError, release, 'use name ?= ?"lattice')
        return
    made = release()
    told = {subject.mechanism.output, *subject.mechanism.estimated}
    subject.expect(set(made.outputs) == told, f"it releases {set(made.outputs)}, and declares {told}")
    verified = verify(made.write(subject.folder / "release"))
    failed = [check.name for check in verified.checks if not check.holds]
    subject.expect(verified.kept, f"its release is not verified: {', '.join(failed)}")


def a_ledger_is_charged_before_a_draw(subject: Subject) -> None:
    """Take the cost before the first random word; where too little is left, none is asked for."""
    intensity, path = subject.mechanism.guarantee.intensity, subject.folder / "account.ledger"
    cost = next(iter(intensity.parameters().values()))
    standard = next((name for name in STANDARDS if name == intensity.standard), STANDARDS[0])
    ledger = Ledger.create(path, standard=standard, budget=cost * Fraction(11, 10))
    release = partial(subject.ready.release, Silent(), ledger=ledger, accept_no_protection=True)
    if not subject.releasable or standard != intensity.standard:
        subject.refuses(GuaranteeError, release)
        subject.expect(ledger.spent() == 0, f"a refused release was charged {ledger.spent()}")
        return
    subject.refuses(ChargedError, release, r"row 1 of .* is charged, and nothing was released .*resume=1")
    subject.expect(
        ledger.spent() == cost, f"a draw was asked for when {ledger.spent()} of {cost} was charged"
    )
    subject.refuses(BudgetError, release)
    subject.expect(ledger.spent() == cost, f"what the budget does not allow was charged: {ledger.spent()}")


class Silent:
    """A source without words."""

    secure = False

    def words(self, size: int) -> WordArray:
        """Raise instead of drawing."""
        raise InterruptedError(f"{size} words were asked for")


def the_certificate_tells_what_is_public(subject: Subject) -> None:
    """Read what is public from the certificate alone: it is as from the spec with its data."""
    ready, public, expect = subject.ready, subject.public, subject.expect
    certificate = ready.certify(secure=False)
    read = Certificate.from_json(certificate.to_json())
    expect(read == certificate, "JSON changes its certificate")
    record = read.table.mechanism
    expect(type(record) is subject.kind.Record, f"its record is read as {type(record).__name__}")
    again = public_of(read)
    same = {
        "what is public": again == public,
        "the scope": again.scope == public.scope,
        "the matrix of the invariants": np.array_equal(
            again.universe.matrix.toarray(), public.universe.matrix.toarray()
        ),
        "the values of the invariants": np.array_equal(again.universe.values, public.universe.values),
        "the margins that are kept": again.universe.cliques == public.universe.cliques,
        "the floors": all(
            np.array_equal(one, other)
            for one, other in zip(again.floors or (), public.floors or (), strict=True)
        ),
    }
    for name, held in same.items():
        expect(held, f"its certificate leads to others: {name}")
    mechanism = mechanism_of(read, again)
    expect(mechanism.record() == subject.mechanism.record(), "its certificate leads to another record")
    expect(mechanism.guarantee == subject.mechanism.guarantee, "its certificate leads to another guarantee")
    if public.invariants:  # and it is told apart from another
        moved = replace(public.invariants[0], values=public.invariants[0].values + 1)
        other = replace(public, invariants=(moved, *public.invariants[1:]))
        expect(other != public, "other values of an invariant are not told apart")


def the_mechanism_sees_public_values_only(subject: Subject) -> None:
    """Every other table with the same invariants, and above the same floors, has the same mechanism."""
    ready, tables, expect = subject.ready, subject.tables, subject.expect
    if (floors := ready.public.floors) is not None:
        tables = tables[(tables @ floors[0].T >= floors[1]).all(axis=1)]
    for counts in tables[[0, -1]]:
        table = Table(ready.public.schema, ready.public.spread(counts[None])[0])
        public = publish(ready.table.spec, table, ready.table.reading.inferred)
        expect(public == ready.public, f"what is public depends on the table: {counts}")
        other = settle(ready.table.spec, ready.table.reading, public, ready.table.model).mechanism
        expect(other.record() == subject.mechanism.record(), f"its record depends on the table: {counts}")
        expect(
            other.guarantee == subject.mechanism.guarantee, f"its guarantee depends on the table: {counts}"
        )


CHECKS: tuple[Callable[[Subject], None], ...] = (
    the_loss_is_within_the_guarantee,
    the_draws_follow_the_law,
    the_record_leads_back,
    what_is_known_of_mu_holds,
    the_invariants_are_kept,
    a_release_is_verified_or_refused,
    a_ledger_is_charged_before_a_draw,
    the_certificate_tells_what_is_public,
    the_mechanism_sees_public_values_only,
)
"""All checks of a mechanism of tables."""
