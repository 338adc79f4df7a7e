"""What a mechanism is, and the additive kind that most are.

A mechanism owns itself: its name, its keys of [mechanism] in a spec, the standards it meets, what may be
relied on of its releases, its calibration, its guarantee, its law, and its record in a certificate with the
way back. One class in one file, and one line in the list of `mechanisms/catalogue.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from holdfast.errors import SpecError
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.unchanged import Unchanged
from holdfast.outputs import Output, TableOutput
from holdfast.premises import Premises
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Promise, Target, Unit
from holdfast.privacy.intensity import Intensity, Pure, Standard, ZeroConcentrated
from holdfast.public import Public
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.plan import Block
from holdfast.spec.part import Part, Text

Draws = NDArray[Any]
"""Draws, one a row: whole numbers, or real ones for statistics and for studies."""


class Law(Protocol):
    """A law of vectors that can be drawn from and evaluated."""

    def sample(self, entropy: Entropy, size: int) -> Draws:
        """Return ``size`` independent draws, one a row."""
        ...

    def log_prob(self, points: Any) -> NDArray[np.float64]:
        """Return the log probability, or density, of each row, up to one constant."""
        ...


class NoiseLaw(Law, Protocol):
    """A law of noise that can tell beforehand how it is drawn and what that takes.

    A law that says so by name has the last three as they are here: drawn at once, all kept, in integers.
    """

    @property
    def methods(self) -> tuple[str, ...]:
        """What is done, in sentences."""
        ...

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


class MechanismOptions(Part):
    """The keys of [mechanism] in a spec: each mechanism has its own beside the name."""

    section: ClassVar = ("mechanism",)
    in_file: ClassVar = True
    files: ClassVar[tuple[str, ...]] = ()
    """The keys that name files, relative to the spec."""

    name: Text

    @property
    def sets_intensity(self) -> str | None:
        """The key and value from which the strength follows, so that [privacy] need not give one."""
        return None


class MechanismRecord(BaseModel):
    """What a certificate says of a mechanism: with what is public, its parameters determine its law."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True)

    name: str
    additive: bool
    """Whether the noise has one law for all tables, which is then public."""
    sampling: tuple[str, ...]
    """How the release was drawn, in sentences."""

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
    standards: ClassVar[tuple[Standard, ...]]
    """The standards of the targets that it can meet."""
    output: ClassVar[str] = "table"
    """What it releases, by the name of its file [holdfast, outputs.py]."""
    released: ClassVar[bool] = True
    """Whether a spec may release with it; if not, it is there to compare with."""
    estimated: ClassVar[tuple[str, ...]] = ()
    """What else it releases, made of the output alone."""
    bounded: ClassVar[bool] = False
    """Whether it can keep releases within inequalities, as at or above zero."""
    needs_bounds: ClassVar[bool] = False
    """Whether it is for releases within inequalities alone."""
    contends: ClassVar[bool] = True
    """Whether a comparison looks at it without being asked: not where its options are what matters."""

    @property
    @abstractmethod
    def guarantee(self) -> Promise:
        """What is proved of every release: the one place where the mechanism's theorem is applied."""

    @property
    @abstractmethod
    def methods(self) -> tuple[str, ...]:
        """How a release is drawn, in sentences that depend on public values only."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the law is made of: the fields of its record beside those that all have."""
        return {name: getattr(self, name) for name in self.Record.own()}

    @property
    def traits(self) -> Traits:
        """What may be relied on of its releases."""
        return Traits()

    def record(self) -> MechanismRecord:
        """Return what a certificate says of it."""
        return self.Record.model_validate(
            {
                "name": self.name,
                **self.parameters,
                "additive": self.traits.additive,
                "sampling": self.methods,
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
    def guarantee(self) -> Guarantee:
        """What is proved of every release: the one place where the mechanism's theorem is applied."""

    @property
    @abstractmethod
    def noise(self) -> NoiseLaw | None:
        """The law of the noise, where every table shares it; None where it depends on the table."""

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the parameters that a target settles by itself; None where some were chosen beside it."""
        if target.intensity is None or self.Options is not MechanismOptions:
            return None
        return type(self).answer(public, target, MechanismOptions(name=self.name)).parameters  # type: ignore[arg-type]

    @property
    def remark(self) -> str | None:
        """What else is to be known of the law when mechanisms are compared."""
        return None

    @property
    def caveat(self) -> str | None:
        """What readers have to know where the law of a release depends on the confidential table."""
        if self.traits.additive:
            return None
        return (
            "The law of this release keeps it within inequalities, such as counts of at least 0. Small counts"
            " come out too large on average, and by how much depends on the confidential table: no error is"
            " stated."
        )

    @property
    def unchanged(self) -> Unchanged | None:
        """How likely its noise leaves a cell, or everything, as it is; None where no formula tells."""
        return None

    @abstractmethod
    def law(self, counts: IntArray) -> Law:
        """Return the law of the release of a table, given by the counts of its possible cells."""

    def outputs(self, law: Law, public: Public, entropy: Entropy) -> Mapping[str, Output]:
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
    return SpecError(f'[privacy] {name} is missing: give a positive budget such as "1/2".')


def drawn_exactly(*, floats: bool) -> list[Evidence]:
    """Return the evidence for exact draws; ``floats`` says that they sort out the clear cases."""
    proof = Proved("the noise is drawn exactly, in integers", "holdfast, sampling/decisions; canonne2020")
    if not floats:
        return [proof]
    return [
        proof,
        Assumed(
            "the mathematical functions of this computer are right to one part in 2^48",
            "floats tell which draws are clear; enclosures decide all the others",
        ),
    ]


@dataclass(frozen=True, eq=False)
class Shifted:
    """The law of counts + z for noise z that does not depend on the counts."""

    counts: IntArray = field(repr=False)
    noise: Law

    def sample(self, entropy: Entropy, size: int) -> Draws:
        """Return ``size`` independent releases, one a row."""
        return self.counts + self.noise.sample(entropy, size)

    def log_prob(self, points: Any) -> NDArray[np.float64]:
        """Return the log probability of each release, up to one constant."""
        return self.noise.log_prob(points - self.counts)


class Additive(TableMechanism[OptionsT, RecordT]):
    """A mechanism whose noise every table shares."""

    @property
    @abstractmethod
    def noise(self) -> NoiseLaw:
        """The law of the noise."""

    @property
    def methods(self) -> tuple[str, ...]:
        """How the noise is drawn, in sentences."""
        return self.noise.methods

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
