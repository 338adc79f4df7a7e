"""Deriving a certificate again, from what it publishes and the parameters of its mechanism.

Everything that a certificate claims is a function of the schema, the invariants with their values, the
constraints, the target and the parameters of the noise. It is worked out anew here, and each section must
equal what follows, fact by fact. A certificate that claims anything else, more or less, is not one that a
release was made with.

Where only a bound is known, or a solver's or the curator's word, the check says so. What claims nothing, and
may be changed without a false claim, is listed in tests/certificate/unclaimed.py: nothing else may.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

from holdfast.certificate.certify import certify, expected_section
from holdfast.certificate.model import Certificate
from holdfast.certificate.parts import ErrorSection, ExpectedErrorSection, TablePart
from holdfast.certificate.public import public_of
from holdfast.certificate.verdict import unchanged_section, verdict
from holdfast.derivation.labels import misnamed
from holdfast.mechanisms.catalogue import NAMED, AnyMechanism, target_of
from holdfast.mechanisms.errors.accuracy import accuracy
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.least_budget import Goal, least_budget, shown_by
from holdfast.mechanisms.weights.accurate import gap_for
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.pufferfish.of_model import StatedModel
from holdfast.public import Public
from holdfast.spec.privacy import Privacy
from holdfast.system.checks import Check
from holdfast.system.errors import HoldfastError
from holdfast.system.machine import require_memory
from holdfast.system.progress import steps
from holdfast.system.text import counted, rational
from holdfast.version import VERSION, is_version

HEAD = ("target", "guarantee", "secrets", "randomness", "verdict", "caveats")
PART = (
    "name",
    "outputs",
    "table",
    "invariants",
    "constraints",
    "universe",
    "mechanism",
    "details",
)
CLOSE_TO_BOUND = 1e-5
"""How far the budget of weights may be above its bound: they are found to a tenth of it."""
SAME_BUDGET = Fraction(1, 1000)
"""How far the least budget may differ from machine to machine, by rounding and in simulations."""
DERIVED = (*PART, *HEAD)
"""The sections that must equal what follows, beside the expected error and the page."""
FAILURES = (
    HoldfastError,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
)
"""What absurd numbers raise."""
SIGMAS = 4
"""Standard errors within which two simulations agree."""
SHA256 = re.compile(r"[0-9a-f]{64}")


def making_flaw(claimed: Certificate) -> str:
    """Return what is wrong with the form of all that is said of the making of a release, "" if nothing is."""
    if claimed.software.name != "holdfast" or not is_version(claimed.software.version):
        return "software is not a version of holdfast"
    if claimed.software.wheel is not None and not SHA256.fullmatch(claimed.software.wheel):
        return "software has a wheel without a SHA-256"
    if not _is_time(claimed.created):
        return "created is not a time in ISO form"
    ledger = claimed.ledger
    if ledger is not None and (ledger.row < 1 or not SHA256.fullmatch(ledger.hash)):
        return "ledger is not a row and its hash"
    return ""


@dataclass(frozen=True, eq=False)
class Derivation:
    """A certificate, and what follows from its public values and the parameters of its mechanism."""

    claimed: Certificate
    name: str | None = None
    """What its table is called among others."""
    shares: bool = False
    """Whether these have one budget, which may follow from what another one is to tell."""
    beyond: list[Fraction] = field(default_factory=list)
    """By how much its part of that is more than its own targets need, once that is looked for."""

    @property
    def part(self) -> TablePart:
        """The table that it is of."""
        return self.claimed.table

    @property
    def derived(self) -> tuple[str, ...]:
        """The sections that follow, those that there are."""
        unsaid = {
            "secrets": self.claimed.secrets,
            "details": self.part.details,
        }
        return tuple(name for name in DERIVED if name not in unsaid or unsaid[name] is not None)

    def checks(self, *, simulate: bool = True) -> Iterator[Check]:
        """Compare every claim with what follows; the expected error takes a simulation.

        The cheap comes first: what fails keeps absurd numbers from what takes long.
        """
        for step in (
            self._forms,
            self._target_checks,
            self._sections,
            *((self._accuracy, self._expected_error) if simulate else ()),
        ):
            found = list(_caught("guarantee", step()))
            yield from found
            if not all(check.holds for check in found):
                return

    @cached_property
    def public(self) -> Public:
        """What the certificate publishes."""
        return public_of(self.claimed)

    @cached_property
    def privacy(self) -> Privacy:
        """What was asked for, as a spec asks for it."""
        return Privacy(**dict(self.claimed.target))

    @property
    def model(self) -> StatedModel | None:
        """The model of laws that the certificate states, where it states one."""
        secrets = self.claimed.secrets
        return None if secrets is None or secrets.model is None else StatedModel(secrets.model.content)

    @cached_property
    def mechanism(self) -> AnyMechanism:
        """The mechanism with the parameters of the record, for the pairs of tables that were asked for."""
        record, target = self.part.mechanism, target_of(self.privacy)
        premises = self.public.premises(target.adjacency, target.distance).checked()
        return NAMED[record.name].of(record, self.public, premises.unit)

    def _forms(self) -> Iterator[Check]:
        """Check what cannot be derived for its form, and names and labels for what they say."""
        wrong = making_flaw(self.claimed)
        yield Check.that("certificate", not wrong, wrong)
        blocks = [
            *(held.block for held in self.public.invariants),
            *(floor.block for floor in self.public.inequalities),
        ]
        for block in blocks:
            problem = misnamed(block, self.public.schema)
            if problem:
                yield Check(f"invariant {block.name}", holds=False, detail=problem)
        for held in self.public.invariants:
            block, equals = held.block, held.block.equals
            said = None if block.kind not in ("total", "where") else held.values.tolist()[0]
            if equals not in (None, said):
                yield _claim(f"invariant {block.name}", ("equals",), equals, said)
        for floor in self.public.inequalities:
            if floor.block.equals is not None:
                said = "an inequality says no value"
                yield Check(f"inequality {floor.block.name}", holds=False, detail=said)

    def _target_checks(self) -> Iterator[Check]:
        """Check that the mechanism may answer the target at all, before anything is worked out."""
        claimed, part, public = self.claimed, self.part, self.public
        kind, target, unit = NAMED[part.mechanism.name], claimed.target, claimed.guarantee.unit
        chosen = getattr(part.mechanism, "given", None) is not None
        if not set(self._extras) <= set(kind.extras):
            yield Check("outputs", holds=False, detail=f"{kind.name} has no output {', '.join(self._extras)}")
        if target_of(self.privacy).intensity is None and not chosen:
            yield Check("target", holds=False, detail="nothing was asked for, and no parameter was given")
        if target.whom != unit.value.whom or target.adjacency != unit.adjacency:
            yield Check("target", holds=False, detail="the guarantee is for another unit than what was asked")
        semi = part.universe.semi_adjacency
        least = None if semi is None else semi.worst_case
        each = 1 if target.adjacency == "unit" else least if target.distance is None else target.distance
        distance = None if each is None else each * target.records_per_unit
        if unit.distance != distance:
            said = f"the certificate claims unit distance {unit.distance}, and what was asked is {distance}"
            yield Check("guarantee", holds=False, detail=said)
        if self.privacy.standard not in kind.standards_with(part.mechanism) or not kind.released:
            said = f"{kind.name} is not released for the standard {self.privacy.standard!r}"
            yield Check("mechanism", holds=False, detail=said)
        if target.neighbours not in kind.neighbours:
            said = f"{kind.name} is not released for records added or removed"
            yield Check("mechanism", holds=False, detail=said)
        if public.published and not kind.keeps_published:
            said = f"{kind.name} keeps nothing that was published before"
            yield Check("published", holds=False, detail=said)
        bounds = public.nonnegative or bool(public.inequalities)
        if (bounds and not kind.bounded) or (not bounds and kind.needs_bounds):
            said = "may go below any bound" if bounds else "is for releases within bounds, and there are none"
            yield Check("constraints", holds=False, detail=f"{kind.name} {said}")

    def _sections(self) -> Iterator[Check]:
        """Compare every section, the guarantee first: it is what readers rely on."""
        mechanism, guarantee = self.mechanism, self.mechanism.guarantee
        if mechanism.traits.kind == "floating" or not mechanism.traits.keeps_invariants:
            yield Check("mechanism", holds=False, detail=f"{mechanism.name} is never released with")
            return
        claims, intensity = self.claimed.guarantee.intensity, guarantee.intensity.parameters()
        if claims != intensity:
            yield _claim("guarantee", ("intensity",), _numbers(claims), _numbers(intensity))
            return
        follows = self._follows(mechanism)
        claimed, derived = self._as_json(self.claimed), self._as_json(follows)
        stays = unchanged_section(mechanism, self.part.expected_error, self.public.universe.cells)
        said = verdict(mechanism.guarantee, stays, mechanism.releases)
        derived["verdict"] = said.model_dump(mode="json")
        for name in steps((*PART, *HEAD), "comparing what follows with what is claimed"):
            if name not in claimed and name not in derived:
                continue  # nothing is to be said of it
            apart = list(_differences(claimed.get(name), derived.get(name)))
            if apart:
                yield _claim(name, *apart[0], more=len(apart) - 1)
            elif name == "target":
                yield self._target(mechanism, guarantee)
            else:
                yield Check(name, holds=True, detail=self._remark(name, guarantee))

    def _target(self, mechanism: AnyMechanism, guarantee: Guarantee) -> Check:
        """Check that the guarantee implies what was asked for, with no more noise than that takes."""
        target = target_of(self.privacy)
        if not guarantee.meets(target):
            asked = {} if target.intensity is None else target.intensity.parameters()
            said = f"the certificate claims to meet {_numbers(asked)}, and what follows is"
            return Check("target", holds=False, detail=f"{said} {_numbers(guarantee.intensity.parameters())}")
        again = mechanism.calibration(self.public, target)
        if again is not None and not _same(again, mechanism.parameters):
            taken = {name: mechanism.parameters[name] for name in again}
            said = f"the certificate claims noise for it with {_numbers(taken)}, and what follows is"
            return Check("target", holds=False, detail=f"{said} {_numbers(again)}")
        return Check("target", holds=True)

    def _expected_error(self) -> Iterator[Check]:
        """Simulate the noise again: from the same seed, so that the numbers are the same."""
        public, noise, details = self.public, self.mechanism.noise, self.part.details
        if details is not None:
            same = details == self.mechanism.details(public, self._extras)
            yield Check.that("details", same, "a simulation gives other numbers than the certificate claims")
        size = None if noise is None else accuracy(noise, public.schema, public.universe)
        follows = None if size is None else expected_section(size, public.schema.names)
        claimed = self.part.expected_error
        if claimed == follows:
            yield Check("expected error", holds=True)
        elif claimed is None or follows is None:
            yield _claim("expected error", (), _stated(claimed), _stated(follows))
        elif self.claimed.software.version != VERSION:
            agree, said = (
                _agree(claimed, follows, 0 if size is None else size.draws),
                "within simulation error",
            )
            yield Check("expected error", holds=agree, detail=said if agree else f"it is not {said}")
        else:
            apart = list(_differences(claimed.model_dump(mode="json"), follows.model_dump(mode="json")))
            yield _claim("expected error", *apart[0], more=len(apart) - 1)

    @property
    def _extras(self) -> tuple[str, ...]:
        """What the part has beside what its mechanism always releases."""
        return tuple(self.part.roles(self.name))[len(NAMED[self.part.mechanism.name].published()) :]

    def _follows(self, mechanism: AnyMechanism) -> Certificate:
        """Return the certificate that follows; what takes a simulation is taken from the claimed one."""
        return certify(
            self.privacy,
            self.public,
            mechanism,
            None,
            secure=self.claimed.randomness.secure,
            details=mechanism.details(self.public, self._extras, self.part.details),
            extras=self._extras,
            model=self.model,
            created=self.claimed.created,
            name=self.name,
            accuracy_goals=self._goals,
        )

    @property
    def _goals(self) -> tuple[Goal, ...]:
        """What the budget is claimed to follow from."""
        return tuple(
            Goal(Counts(one.margin, tuple(sorted(one.where.items()))), one.within, one.level)
            for one in self.part.accuracy or ()
        )

    def _accuracy(self) -> Iterator[Check]:
        """Work out the budget again where it follows from how accurate the release has to be."""
        goals = self._goals
        if not goals:
            optimum = getattr(getattr(self.mechanism, "strategy", None), "optimum", None)
            if optimum is not None and optimum.least:
                said = "the weights are claimed to be best for targets, and there are none"
                yield Check("accuracy", holds=False, detail=said)
            return
        spent = getattr(self.privacy, self.privacy.budget)
        for goal in goals:
            if not goal.level < 1 or Counts.of(goal.of.names, dict(goal.of.where), self.public) != goal.of:
                yield Check("accuracy", holds=False, detail=f"no spec asks for {goal.words}")
                return
        gap = gap_for(self.mechanism, self.public, goals)
        if gap is not None and not gap <= CLOSE_TO_BOUND:
            yield Check("accuracy", holds=False, detail="other weights need a smaller budget for its targets")
            return
        found = least_budget(self.mechanism, self.public, self.privacy.spending, goals)
        beyond = None if spent is None else spent / found.value - 1
        holds = beyond is not None and beyond > -SAME_BUDGET and (self.shares or beyond < SAME_BUDGET)
        self.beyond.extend([] if beyond is None else [beyond])
        told = f"{found.name} {found.value} is the least for {counted(len(goals), 'target')}"
        draws, level = found.draws[found.binds], goals[found.binds].level
        told += "" if draws is None else f", as is {shown_by(draws, level)}"
        yield Check("accuracy", holds=holds, detail=told)

    @staticmethod
    def _as_json(certificate: Certificate) -> dict[str, Any]:
        """Return the sections of the head, and of the only part."""
        content = certificate.to_dict()
        return {**content, **content["parts"][0]}

    def _remark(self, section: str, guarantee: Guarantee) -> str:
        """Return what a section rests on, where that is less than a proof."""
        if section == "universe" and guarantee.unit.adjacency == "semi":
            semi = self.public.premises("semi", self.privacy.distance).semi_adjacency
            a = semi.worst_case
            return f"semi-adjacency {a}" if semi.exact else f"semi-adjacency at most {a}, a bound"
        if section != "guarantee":
            return ""
        numbers = _numbers(guarantee.intensity.parameters())
        if any(item.kind == "estimated" for item in guarantee.evidence):
            return f"{numbers} follows, but for the measured distance of a chain, which is the curator's word"
        solver = any("solver" in item.claim.basis for item in guarantee.evidence)
        return f"{numbers} follows" + (", by the word of the solver" if solver else "")


def _caught(name: str, checks: Iterator[Check]) -> Iterator[Check]:
    """Yield checks; what cannot be derived is a violation with its reason."""
    try:
        yield from checks
    except HoldfastError as error:
        require_memory(error)
        yield Check(name, holds=False, detail=f"it cannot be derived: {str(error).rstrip('.')}")
    except FAILURES as error:
        yield Check(name, holds=False, detail=f"it cannot be derived ({type(error).__name__})")


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether parameters are equal, up to the rounding of floats that a calibration went through."""
    numbers = {name: value for name, value in one.items() if isinstance(value, Fraction)}
    return all(abs(value - other[name]) <= value / 10**6 for name, value in numbers.items())


def _is_time(text: str) -> bool:
    """Whether a text is a time of the world, as it is written."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return False
    return time.tzinfo is not None and time.astimezone(UTC).isoformat(timespec="seconds") == text


def _agree(one: ExpectedErrorSection, other: ExpectedErrorSection, draws: int) -> bool:
    """Whether two simulations of the same noise agree, up to what chance does."""

    def near(mine: ErrorSection, theirs: ErrorSection) -> bool:
        # the digits written, and what chance does to a mean and to its standard error
        allowed = 2e-4 + SIGMAS * sqrt(2) * theirs.standard_error
        return (
            (mine.attributes, mine.exact) == (theirs.attributes, theirs.exact)
            and abs(mine.mean_absolute_error - theirs.mean_absolute_error) <= allowed
            and abs(mine.standard_error - theirs.standard_error) <= 2e-4 + theirs.standard_error / 2
        )

    def shares(section: ExpectedErrorSection) -> dict[int, float]:
        noise = section.noise
        return {noise.first + place: share for place, share in enumerate(noise.shares)}

    mine, theirs = shares(one), shares(other)
    apart = max(abs(mine.get(step, 0.0) - theirs.get(step, 0.0)) for step in {*mine, *theirs})
    return (
        one.draws == other.draws
        and sum(one.noise.shares) <= 1 + len(one.noise.shares) * 1e-6
        and one.noise.width == other.noise.width
        and len(one.margins) == len(other.margins)
        and near(one.cell, other.cell)
        and all(map(near, one.margins, other.margins))
        and apart <= SIGMAS / sqrt(2 * max(draws, 1))
    )


Place = tuple[str | int, ...]


def _differences(claimed: Any, follows: Any, place: Place = ()) -> Iterator[tuple[Place, Any, Any]]:
    """Yield every place where JSON differs, in values or in their types."""
    if isinstance(claimed, dict) and isinstance(follows, dict):
        for key in {**follows, **claimed}:
            yield from _differences(claimed.get(key), follows.get(key), (*place, key))
    elif isinstance(claimed, list) and isinstance(follows, list) and len(claimed) == len(follows):
        for index, (mine, theirs) in enumerate(zip(claimed, follows, strict=True)):
            yield from _differences(mine, theirs, (*place, index))
    elif type(claimed) is not type(follows) or claimed != follows:
        yield place, claimed, follows


def _claim(name: str, place: Place, claimed: Any, follows: Any, *, more: int = 0) -> Check:
    """Return the check that a claim is not what follows."""
    where = " ".join(str(step + 1) if isinstance(step, int) else step for step in place)
    others = f" (and {more} more)" if more else ""
    told = f"{where} " if where else ""
    detail = f"the certificate claims {told}{_short(claimed)}, and what follows is {_short(follows)}{others}"
    return Check(name, holds=False, detail=detail)


def _short(value: Any) -> str:
    text = "nothing" if value is None else f"{len(value)} items" if isinstance(value, list) else str(value)
    text = rational(value) if isinstance(value, Fraction) else text
    text = " ".join(text.split())
    return text if len(text) <= 100 else f"{text[:60]}...{text[-30:]}"


def _numbers(parameters: Mapping[str, Any]) -> str:
    told = (f"{name} {_short(value)}" for name, value in parameters.items())
    return " and ".join(told) or "no numbers"


def _stated(section: ExpectedErrorSection | None) -> str:
    return "no error" if section is None else f"an error of {section.cell.mean_absolute_error}"
