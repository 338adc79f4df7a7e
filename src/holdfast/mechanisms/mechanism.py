"""What a mechanism is, and the additive kind that most are.

A mechanism owns itself: its name, its keys of [mechanism] in a spec, the standards it meets, what may be
relied on of its releases, its calibration, its guarantee, its law, and its record in a certificate with the
way back. One class in one file, and one line in the list of `registry.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from holdfast import registry
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import Form
from holdfast.mechanisms.details import MechanismDetails, ReleasedFiles
from holdfast.mechanisms.drawing import drawn_by_blocks
from holdfast.mechanisms.errors.zero_noise import ZeroNoiseChances
from holdfast.outputs import Output, TableOutput
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit
from holdfast.privacy.intensity import Intensity, Pure, Standard, ZeroConcentrated
from holdfast.privacy.premises import Premises
from holdfast.public import Public
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.plan import Block, Planned
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.privacy import Neighbours
from holdfast.system.checks import Check
from holdfast.system.errors import ReleaseError, SpecError
from holdfast.system.machine import BYTES_PER_CELL
from holdfast.system.paged import copied
from holdfast.system.shelf import Shelf
from holdfast.system.ways import setting

if TYPE_CHECKING:
    from holdfast.data.across import AcrossTables
    from holdfast.mechanisms.errors.counts import Counts
    from holdfast.mechanisms.errors.laws import CountErrors
    from holdfast.mechanisms.jointly import JointTables, TableOnTree
    from holdfast.mechanisms.possible import PossibleTables
    from holdfast.mechanisms.topdown.best_linear import MeasuredNodes
    from holdfast.mechanisms.topdown.nmf import MeasurementFiles
    from holdfast.mechanisms.truncation.laws import AnyLikelihood, Observed

DrawArray = NDArray[Any]
"""Draws, one a row: whole numbers, or real ones for statistics and for studies."""
Timed = Literal["inequalities", "estimate", "release", "step"]
"""What the time of a draw depends on, where it depends on the table."""


@dataclass(frozen=True, repr=False)
class Making:
    """How a release is made of what is drawn, where that takes long: nothing of it changes the draw."""

    engine: str = "embedded"
    """Where it is made."""
    microdata: bool = False
    """Whether counts are written out as records, too."""
    drawn: Output | None = None
    """What a run that was ended had drawn, which is not drawn again."""
    keep: Callable[[Output], None] | None = None
    """Takes what is drawn before anything is made of it."""
    jobs: int | None = None
    """How many processes of this machine make it; as many as it has cores where nothing is said."""
    shelf: Shelf | None = None
    """Keeps what is made of the draw piece by piece, for a run that goes on after this one was ended."""


AT_ONCE = Making()
"""On this machine, the draw and what is made of it."""


class Law(Protocol):
    """A law of vectors that can be drawn from and evaluated."""

    def sample(self, entropy: Entropy, size: int) -> DrawArray:
        """Return ``size`` independent draws, one a row."""
        ...

    def log_prob(self, points: Any) -> FloatArray:
        """Return the log probability, or density, of each row, up to one constant."""
        ...


class NoiseLaw(Law, Protocol):
    """A law of noise that can tell beforehand how it is drawn and what that takes.

    A law that says so by name has the last three as they are here: drawn at once, all kept, in integers.
    """

    @property
    def work(self) -> float:
        """Integers proposed for one draw, expected."""
        ...

    @property
    def steps(self) -> tuple[Block, ...]:
        """The parts that are drawn one by one, where there are such."""
        return ()

    @property
    def acceptance(self) -> float:
        """The share of whole draws that is kept."""
        return 1.0

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases of a draw."""
        return False


@dataclass(frozen=True)
class Traits:
    """What may be relied on of the releases of a mechanism.

    Attributes:
        kind: whether integers and proofs decide every draw, or a distance to the law was estimated, or
            floating point decides, which serves studies only.
        whole: whether counts are whole numbers.
        keeps_invariants: whether every invariant holds with exact equality.
        additive: whether the noise has one law for all tables, which is then public.
        nonnegative: whether no count is below zero.

    """

    kind: Literal["exact", "estimated", "floating"] = "exact"
    whole: bool = True
    keeps_invariants: bool = True
    additive: bool = True
    nonnegative: bool = False


class MechanismRecord(BaseModel):
    """What a certificate says of a mechanism: with what is public, its parameters determine its law."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True)

    name: str
    additive: bool
    """Whether the noise has one law for all tables, which is then public."""
    sampling: tuple[Claim, ...]
    """How the release was drawn."""
    package: str | None = Field(default=None, exclude_if=lambda package: package is None)
    version: str | None = Field(default=None, exclude_if=lambda version: version is None)
    """The package that has the mechanism, and its version; none where it is Holdfast's own."""

    def parameters(self, write: Callable[[Fraction], str] = str) -> dict[str, str]:
        """Return the parameters by name, as text; ``write`` writes those that are rationals."""
        known = type(self).model_fields
        return {
            known[name].alias or name: write(value) if isinstance(value, Fraction) else str(value)
            for name, value in self
            if name in self.own() and value is not None
        }

    @classmethod
    def own(cls) -> tuple[str, ...]:
        """Return the names of the parameters."""
        return tuple(name for name in cls.model_fields if name not in MechanismRecord.model_fields)


OptionsT = TypeVar("OptionsT", bound=MechanismOptions)
RecordT = TypeVar("RecordT", bound=MechanismRecord)


class Mechanism(ABC, Generic[OptionsT, RecordT]):
    """A way of releasing confidential data; instances are calibrated, and see public values only."""

    name: ClassVar[str]
    """What a spec calls it."""
    Options: ClassVar[type[MechanismOptions]] = MechanismOptions
    """Its keys of [mechanism]: the name alone, unless it has others."""
    Record: ClassVar[type[MechanismRecord]]
    Details: ClassVar[type[MechanismDetails] | None] = None
    """What a certificate says of it beside its record, where that is anything."""
    page: ClassVar[str | None] = None
    """The template that tells of its noise on the page of a certificate, if it has one of its own."""
    standards: ClassVar[tuple[Standard, ...]]
    """The standards of the targets that it can meet."""
    neighbours: ClassVar[tuple[Neighbours, ...]] = ("replace",)
    """What makes neighbours of the tables that its theorem compares."""
    output: ClassVar[str] = "table"
    """What it releases, by the name of its file [holdfast, outputs.py]."""
    released: ClassVar[bool] = True
    """Whether a spec may release with it; if not, it is there to compare with."""
    estimated: ClassVar[tuple[str, ...]] = ()
    """What else it releases, made of the output alone."""
    extras: ClassVar[tuple[str, ...]] = ()
    """What it can release beside that, where it is asked for."""
    keeps_published: ClassVar[bool] = False
    """Whether what it makes of a draw can keep what was published before."""
    bounded: ClassVar[bool] = False
    """Whether it can keep releases within inequalities, as at or above zero."""
    needs_bounds: ClassVar[bool] = False
    """Whether it is for releases within inequalities alone."""
    resumable: ClassVar[bool] = False
    """Whether a run that was ended after its draw can go on from there [holdfast, releases/checkpoint.py]."""
    engines: ClassVar[tuple[str, ...]] = ("embedded",)
    """Where a release can be made."""
    bytes_per_cell: ClassVar[int] = BYTES_PER_CELL
    """What a release of a large table holds for each cell, at its peak."""
    parallel: ClassVar[bool] = False
    """Whether several processes of this machine make it, as many as are asked for."""
    reports: ClassVar[bool] = False
    """Whether a report for the curator's eyes goes with a release."""
    repeatable: bool = False
    """Whether a secret key of the data draws the noise, so that it is the same each time."""
    contends: ClassVar[bool] = True
    """Whether a comparison looks at it without being asked: not where its options are what matters."""
    beside_records: ClassVar[bool] = False
    """Whether it is compared with a swap of records, on a tabulation of them."""
    drawable: ClassVar[Mapping[str, Any]] = {}
    """Options of a law that can be drawn where the usual one cannot, if there is such a law."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is proved of every release: the one place where the mechanism's theorem is applied."""

    @property
    @abstractmethod
    def methods(self) -> tuple[Claim, ...]:
        """How a release is drawn, in claims that depend on public values only."""

    @classmethod
    def room_per_cell(cls, chosen: Any, *, apart: bool) -> int:
        """Return what a release of a large table holds for each cell with its options, beside the file.

        ``apart`` says that no invariant has an entry for each cell, as totals of many leaves have none.
        """
        del chosen, apart
        return cls.bytes_per_cell

    @classmethod
    def standards_with(cls, chosen: Any) -> tuple[Standard, ...]:
        """Return the standards of the targets that it can meet with its options, or a record of them."""
        del chosen
        return cls.standards

    @property
    def releases(self) -> Literal["table", "release"]:
        """What a release is called: a table, where it is one."""
        return "table" if self.output == "table" else "release"

    @property
    def noise(self) -> NoiseLaw | None:
        """The law of the noise, where all data share it; None where it depends on them."""
        return None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the law is made of: the fields of its record beside those that all have."""
        return {name: getattr(self, name) for name in self.Record.own()}

    @property
    def traits(self) -> Traits:
        """What may be relied on of its releases."""
        return Traits()

    @classmethod
    def published(cls) -> tuple[str, ...]:
        """Return what it releases by the names of the files, the one that readers take first."""
        return (*cls.estimated, cls.output)

    def record(self) -> MechanismRecord:
        """Return what a certificate says of it."""
        provider = registry.provider(self.name)
        return self.Record.model_validate(
            {
                "name": self.name,
                **self.parameters,
                "additive": self.traits.additive,
                "sampling": self.methods,
                **({} if provider is None else provider._asdict()),
            }
        )


class TableMechanism(Mechanism[OptionsT, RecordT]):
    """A way of releasing a table of a universe."""

    most_dimensions: ClassVar[int | None] = None
    """Dimensions of a lattice beyond which its calibration takes too long for a comparison."""

    @classmethod
    @abstractmethod
    def answer(cls, public: Public, target: Target, options: OptionsT) -> "TableMechanism[OptionsT, RecordT]":
        """Return the mechanism with the least noise that meets a target, with the options of a spec."""

    @classmethod
    @abstractmethod
    def of(cls, record: RecordT, public: Public, unit: Unit) -> "TableMechanism[OptionsT, RecordT]":
        """Return the mechanism that a certificate records."""

    @property
    @abstractmethod
    def noise(self) -> NoiseLaw | None:
        """The law of the noise, where every table shares it; None where it depends on the table."""

    @property
    def form(self) -> Form | None:
        """The quadratic form whose norm its noise has; None where all cells have noise alike, or no norm."""
        return None

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the parameters that a target settles by itself; None where some were chosen beside it."""
        if target.intensity is None or set(self.Options.model_fields) != {"name"}:
            return None
        options: Any = self.Options(name=self.name)
        return type(self).answer(public, target, options).parameters

    @property
    def remark(self) -> str | None:
        """What else is to be known of the law when mechanisms are compared."""
        return None

    def caveats(self, public: Public) -> tuple[Claim, ...]:
        """Return what readers have to know, as where the law depends on the confidential table."""
        del public
        return () if self.traits.additive else (_within_inequalities(),)

    def restored(self, file: Path) -> Output:
        """Return what was drawn, from its file; of a resumable mechanism alone."""
        raise NotImplementedError(f"what {self.name} draws is not kept: {file}")

    @classmethod
    def jointly(cls, tables: "Mapping[str, TableOnTree]", across: "Sequence[AcrossTables]") -> "JointTables":
        """Return tables of several files that are estimated together, where it can do that."""
        raise NotImplementedError(f"{cls.name} releases {', '.join(tables)} one by one, without {across}")

    @property
    def plan_details(self) -> Mapping[str, Any]:
        """What a plan tells beside the parameters and the steps of a draw."""
        return {}

    @property
    def file_size(self) -> int:
        """About as many bytes as files take beside that of the table."""
        return 0

    @property
    def unchanged(self) -> ZeroNoiseChances | None:
        """How likely its noise leaves a cell, or everything, as it is; None where no formula tells."""
        return None

    def details(
        self, public: Public, extras: tuple[str, ...] = (), simulated: MechanismDetails | None = None
    ) -> MechanismDetails | None:
        """Return what a certificate says beside the record, of a release with ``extras``.

        Numbers that take a simulation are taken from ``simulated`` where that is given.
        """
        del public, extras, simulated
        return None

    def check(self, public: Public, files: ReleasedFiles, *, whole: bool) -> Iterator[Check]:
        """Check what stands beside a table that it released; ``whole`` derives the table again."""
        del public, files, whole
        return iter(())

    @abstractmethod
    def law(self, counts: IntArray) -> Law:
        """Return the law of the release of a table, given by the counts of its possible cells."""

    def errors(self, public: Public, asked: "Sequence[Counts]") -> "Sequence[CountErrors | None]":
        """Return how far counts are expected to be off, as formulas tell it; None for what has none.

        What has none is simulated where the noise is public [holdfast, mechanisms/errors/simulated.py].
        """
        del public
        return [None] * len(asked)

    def possible(self, public: Public, number: int) -> "PossibleTables | None":
        """Return seeded releases of invented counts, where a release is not counts and noise; else None."""
        del public, number
        return None

    def likelihood(self, released: DrawArray) -> "AnyLikelihood":
        """Return the law of a release as a function of the table, from the counts of its possible cells.

        Raises ReleaseError where no formula tells it, or none that can be worked with.
        """
        from holdfast.mechanisms.likelihood import AddedNoise  # noqa: PLC0415 - for inference alone
        from holdfast.mechanisms.truncation.laws import any_law  # noqa: PLC0415

        if self.traits.kind != "exact":
            raise ReleaseError(
                "this release was drawn by a Markov chain, whose law has no formula: a posterior needs a"
                " release that was drawn exactly."
            )
        if self.noise is not None:
            return AddedNoise(self.noise, released, np.arange(released.size))
        return any_law(self.name, self.law, released)

    def observed(
        self,
        folder: Path,
        public: Public,
        counts: IntArray | None,
        level: str | None = None,
        table: str | None = None,  # noqa: ARG002 - of those that measure
    ) -> "Observed":
        """Return what the release in a folder says of a table of counts, for inference.

        ``counts`` are those of all cells of its table, if it has one; ``level`` is one of a geography whose
        counts are meant; ``table`` is its name where there are others in the folder.
        """
        from holdfast.mechanisms.truncation.laws import Observed  # noqa: PLC0415 - for inference alone

        if level is not None:
            raise SpecError(
                f"{setting('model', 'level')} is for top-down releases, and {folder} has no measurements:"
                " leave it out."
            )
        if counts is None:
            raise ReleaseError(
                f"{folder} holds the {self.output} of {self.name}, and no table: a posterior of counts needs"
                " a release of counts."
            )
        cells = counts[public.possible]
        return Observed(public.schema, public.possible, self.likelihood(cells), cells, public.geography)

    def require_counts(self) -> None:
        """Raise where no counts keep the invariants and what was published before."""

    def measurement_files(
        self,
        folder: Path,  # noqa: ARG002 - most measure nothing
        public: Public,  # noqa: ARG002
        table: str | None = None,  # noqa: ARG002
    ) -> "MeasurementFiles | None":
        """Return what a release in a folder measured as files of noisy measurements, if it measured."""
        return None

    def measured_nodes(self, folder: Path, table: str | None = None) -> "MeasuredNodes | None":  # noqa: ARG002 - most measure none
        """Return what the release in a folder measured of the nodes of a geography, if it measured them.

        ``table`` is the name of its table where there are others in the folder.
        """
        return None

    def outputs(
        self,
        law: Law,
        public: Public,
        entropy: Entropy,
        making: Making = AT_ONCE,  # noqa: ARG002 - of those that make more of a draw
    ) -> Mapping[str, Output]:
        """Draw one release by the law of the confidential table: what is published, by name."""
        return {"table": TableOutput.of(public, law.sample(entropy, 1)[0])}


def premises_for(public: Public, target: Target) -> Premises:
    """Return what a guarantee for a target rests on; raises where it would be vacuous."""
    return public.premises(target.adjacency, target.distance).checked()


def premises_at(public: Public, unit: Unit) -> Premises:
    """Return what the guarantee with a unit rests on, as a certificate states it."""
    each = unit.distance // public.whom.records
    return public.premises(unit.adjacency, each if unit.adjacency == "semi" else None)


def pure(target: Target) -> Pure:
    """Return the pure intensity of a target."""
    if not isinstance(target.intensity, Pure):
        raise missing("epsilon")
    return target.intensity


def missing(name: str) -> SpecError:
    """Return the error that a target lacks a number."""
    return SpecError(f'{setting("privacy", name)} is missing: give a positive budget such as "1/2".')


def drawn_exactly(*, floats: bool, repeatable: bool = False) -> list[Evidence]:
    """Return the evidence for exact draws; ``floats`` says that they sort out the clear cases.

    Draws that are ``repeatable`` are of the words of a key, which only computing of limited power cannot tell
    from uniform ones [theory, 17].
    """
    proof = Proved(in_integers(), "holdfast, sampling/decisions.py; canonne2020")
    return [
        proof,
        *([Assumed(_functions())] if floats else []),
        *([Assumed(_keyed())] if repeatable else []),
    ]


def unseen_time(depends: Timed) -> Assumed:
    """Return the assumption that nobody sees how long a draw took, and what that depends on."""
    return Assumed(_time(depends))


@claim("within-inequalities")
def _within_inequalities() -> str:
    return (
        "The law of this release keeps it within inequalities, such as counts of at least 0. Small counts"
        " come out too large on average, and by how much depends on the confidential table: no error is"
        " stated."
    )


@claim("drawn-in-integers")
def in_integers() -> str:
    """Claim exact draws."""
    return "the noise is drawn exactly, in integers"


@claim("functions-of-the-computer")
def _functions() -> tuple[str, str]:
    return (
        "the mathematical functions of this computer are right to one part in 2^48",
        "floats tell which draws are clear; enclosures decide all the others",
    )


@claim("noise-keyed")
def _keyed() -> tuple[str, str]:
    said = (
        "the salt of the ledger stays secret for ever, and nobody can compute enough to tell the words that"
        " its keys of 256 bits make from uniform ones"
    )
    why = (
        "HMAC with SHA-256 makes a key of the salt, the confidential file, its table and all that is public,"
        " and ChaCha20 makes words of the key: no attack on either is known, and no proof"
    )
    return said, why


@claim("noise-repeats")
def noise_repeats() -> str:
    """Warn of what noise that is the same each time tells."""
    return (
        "The same table of the same file, asked for again, has the same noise, and is paid for once. So a"
        " release that comes again tells that the file has not changed: that is not protected, and a release"
        " of another period has noise of its own. Whoever gets the secret of the ledger, at any later time,"
        " can test a guess of the whole table for sure."
    )


@claim("time-unseen")
def _time(depends: Timed) -> tuple[str, str]:
    why = {
        "inequalities": "the time depends on the table where its release is kept within inequalities",
        "estimate": "the time depends on the table whose estimate is drawn",
        "release": "the time depends on the table where its release is not the table plus noise",
        "step": "the time of a step depends on the table that a chain is at",
    }
    return "how long a draw took is known to nobody outside", why[depends]


LARGE, ROOM = 1 << 24, 1 << 30
"""Cells of a table whose release is held in 32 bits, where no count and no noise is as far from 0 as this."""


def most_of(counts: IntArray) -> int:
    """Return the largest distance from 0."""
    return max(int(counts.max(initial=0)), -int(counts.min(initial=0)))


@dataclass(frozen=True, eq=False)
class Shifted:
    """The law of counts + z for noise z that does not depend on the counts."""

    counts: IntArray = field(repr=False)
    noise: Law

    def sample(self, entropy: Entropy, size: int) -> DrawArray:
        """Return ``size`` independent releases, one a row; noise that has parts is added part by part."""
        if size > 1 or not isinstance(self.noise, Planned):
            return self.counts + self.noise.sample(entropy, size)
        small = self.counts.size > LARGE and most_of(self.counts) < ROOM
        released: NDArray[Any] = copied(self.counts, np.int32 if small else np.int64)
        for cells, drawn in self.noise.parts(entropy):
            if most_of(drawn) >= ROOM:
                released = released.astype(np.int64)
            released[cells] += drawn.astype(released.dtype)
        released.setflags(write=False)  # so that nobody who keeps it has to copy it
        return released[None]

    def log_prob(self, points: Any) -> FloatArray:
        """Return the log probability of each release, up to one constant."""
        return self.noise.log_prob(points - self.counts)


class Additive(TableMechanism[OptionsT, RecordT]):
    """A mechanism whose noise every table shares."""

    @property
    @abstractmethod
    def noise(self) -> NoiseLaw:
        """The law of the noise."""

    @property
    def methods(self) -> tuple[Claim, ...]:
        """How the noise is drawn: the parts that its law tells of."""
        return drawn_by_blocks(self.noise.steps)

    def law(self, counts: IntArray) -> Shifted:
        """Return the law of the release of a table."""
        return Shifted(counts, self.noise)


@dataclass(frozen=True, eq=False)
class Calibrated(Additive[OptionsT, RecordT]):
    """Additive noise whose parameters a target settles: a frozen dataclass of premises and parameters."""

    premises: Premises

    intensities: ClassVar[tuple[type[Intensity], ...]]
    """What `calibrate` takes."""

    if TYPE_CHECKING:

        def __init__(self, premises: Premises, **parameters: Any) -> None: ...

    @classmethod
    @abstractmethod
    def calibrate(cls, premises: Premises, *, intensity: Any) -> Self:
        """Return the mechanism with the least noise whose guarantee implies the intensity."""

    @classmethod
    def answer(cls, public: Public, target: Target, options: OptionsT) -> Self:
        """Take the parameters that meet the target."""
        del options  # it has none
        if not isinstance(target.intensity, cls.intensities):
            raise missing("rho" if cls.intensities[0] is ZeroConcentrated else "epsilon")
        return cls.calibrate(premises_for(public, target), intensity=target.intensity)

    @classmethod
    def of(cls, record: RecordT, public: Public, unit: Unit) -> Self:
        """Return the mechanism of a record."""
        own = {field.name for field in fields(cls)} & set(cls.Record.own())
        return cls(premises_at(public, unit), **{name: getattr(record, name) for name in own})
