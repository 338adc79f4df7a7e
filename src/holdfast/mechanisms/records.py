"""What a mechanism of records is: a file in, a file of the same columns out.

It exchanges values of some columns among the records of a stratum, and holds all others. What every release
shares with its file is public: it is surveyed before the draw, stated in the certificate, and surveyed again
in what was released. So nobody needs to know which mechanism it is to prepare, certify or verify its release.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from holdfast.data.schema import Schema
from holdfast.data.sections import KeptSection, RecordsSection, TableSection
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.details import MechanismDetails
from holdfast.mechanisms.mechanism import Mechanism, MechanismRecord, OptionsT, RecordT
from holdfast.outputs import Output
from holdfast.privacy.claims import Claim
from holdfast.privacy.guarantee import Scope, Target
from holdfast.privacy.intensity import Pure
from holdfast.spec.model import Spec
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.checks import Check
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import setting

if TYPE_CHECKING:
    from holdfast.data.microdata import Microdata


@dataclass(frozen=True)
class ColumnRoles:
    """The columns of a file: those of the key, those whose values are exchanged, and the rest, held."""

    stratify: tuple[str, ...]
    swap: tuple[str, ...]
    held: tuple[str, ...]
    renumber: tuple[str, ...] = ()
    """Ids that are replaced: neither swapped nor held."""

    @classmethod
    def of(
        cls,
        stratify: Sequence[str],
        swap: Sequence[str],
        header: Sequence[str],
        file: str,
        renumber: Sequence[str] = (),
    ) -> Self:
        """Return the columns of a file; raises SpecError where one is missing, or nothing would be held."""
        for key, names in (("stratify", stratify), ("swap", swap), ("renumber", renumber)):
            for name in names:
                if name not in header:
                    raise SpecError(
                        f"{setting('mechanism', key)} names {name!r}, which is no column of {file}:"
                        f" {closest(name, list(header))}"
                    )
        held = tuple(name for name in header if name not in (*stratify, *swap, *renumber))
        if not held:
            raise SpecError(
                f"{setting('mechanism', 'stratify')} and swap name every column of {file}: nothing is held"
                " that swapped values could part with, so no record would change; leave a column out of one."
            )
        return cls(tuple(stratify), tuple(swap), held, tuple(renumber))

    @property
    def all(self) -> tuple[str, ...]:
        """All columns, in no order that counts."""
        return (*self.stratify, *self.swap, *self.held, *self.renumber)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that decide a swap."""
        return (*self.stratify, *self.swap)


@dataclass(frozen=True)
class PublicRecords(ABC):
    """What is public of a file before its release: all that every release of it shares with it."""

    records: RecordsSection
    columns: ColumnRoles
    """Those of one record for each unit."""
    invariants: tuple[KeptSection, ...]
    """The counts that were asked to be kept."""
    whom: ProtectedUnit

    @property
    @abstractmethod
    def scope(self) -> Scope:
        """The files that share all of it."""


class RecordsPartLike(Protocol):
    """What a certificate says of a file of records [holdfast, certificate/parts.py]."""

    @property
    def mechanism(self) -> MechanismRecord:
        """The record of its mechanism."""

    @property
    def details(self) -> MechanismDetails | None:
        """What the mechanism says beside it."""

    @property
    def records(self) -> RecordsSection:
        """The file."""

    @property
    def table(self) -> TableSection | None:
        """The table that is counted from it."""

    @property
    def invariants(self) -> tuple[KeptSection, ...]:
        """The counts that were asked to be kept."""


class Simulated(Protocol):
    """One tabulation of a file, under many draws."""

    @property
    def cells(self) -> int:
        """The size of the table."""

    @property
    def counts(self) -> IntArray:
        """The tabulation of the confidential records."""

    def drawn(self, seed: int) -> IntArray:
        """Return the tabulation of a seeded draw."""


class ConfidentialFile(ABC):
    """A file of records that was looked through, with all that a draw needs; confidential."""

    public: PublicRecords
    table: TableSection | None
    """The table that was asked for."""
    warnings: tuple[str, ...]
    """What a curator should look at."""

    @property
    @abstractmethod
    def records(self) -> "Microdata":
        """One record for each unit."""

    @property
    @abstractmethod
    def files(self) -> "tuple[Microdata, ...]":
        """The files that were given, which are released in their columns and types."""

    @abstractmethod
    def require_engine(self, engine: str) -> None:
        """Raise where the largest part that is drawn at once does not fit what is there."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """About as many bytes as a draw takes on this machine."""


class ReleasedFile(ABC):
    """A file of records that was released, looked through as the confidential one was."""

    @abstractmethod
    def checks(self, stated: Any) -> Iterator[Check]:
        """Compare what it shows with what its certificate states to be public."""

    @abstractmethod
    def counts(self, table: TableSection) -> IntArray | None:
        """Return the counts of a table's cells; None where levels that were inferred are other ones."""


DrawAndReport = tuple[Callable[[], Mapping[str, Output]], Callable[[], Mapping[str, Any] | None]]
"""What is published, by the names of the files, and drawn as it is written; and a report for the curator."""


class RecordsMechanism(Mechanism[OptionsT, RecordT]):
    """A way of releasing a file of records."""

    public: PublicRecords

    output: ClassVar[str] = "microdata"

    @classmethod
    @abstractmethod
    def survey(cls, spec: Spec, data: Any) -> ConfidentialFile:
        """Look through the file of a spec; raises where it, or what is asked of it, cannot be released."""

    @classmethod
    @abstractmethod
    def answer(cls, public: Any, target: Target, options: OptionsT) -> "RecordsMechanism[OptionsT, RecordT]":
        """Return the mechanism of a spec; where parameters are left out, those that meet the target."""

    @classmethod
    def least_loss(cls, target: Target, whom: ProtectedUnit, options: OptionsT) -> Fraction | None:
        """Return what each record of any file loses at least; None where only the file tells."""
        del target, whom, options
        return None

    @classmethod
    @abstractmethod
    def stated(cls, part: RecordsPartLike, whom: ProtectedUnit) -> PublicRecords:
        """Return what a certificate states to be public."""

    @classmethod
    @abstractmethod
    def of(cls, record: RecordT, public: Any) -> "RecordsMechanism[OptionsT, RecordT]":
        """Return the mechanism that a certificate records."""

    @classmethod
    @abstractmethod
    def survey_released(cls, part: RecordsPartLike, folder: Path, whom: ProtectedUnit) -> ReleasedFile:
        """Look through the files of a release."""

    @property
    @abstractmethod
    def intensity(self) -> Pure:
        """The loss for all records that one unit has, which a ledger is charged."""

    @property
    @abstractmethod
    def details(self) -> MechanismDetails:
        """What a certificate says beside the record."""

    @property
    @abstractmethod
    def caveats(self) -> tuple[Claim, ...]:
        """What readers have to know."""

    @property
    def comparison(self) -> Mapping[str, Any]:
        """What a comparison tells of it."""
        return {}

    @property
    def derangement_rate(self) -> Fraction | None:
        """The rate at which records of a stratum are selected and deranged; None where it has another law."""
        return None

    @abstractmethod
    def draw(self, file: Any, seed: int | None, engine: str) -> DrawAndReport:
        """Settle everything but the draw, which is made as it is written; a seed is for studies."""

    @abstractmethod
    def simulate(self, file: Any, schema: Schema) -> Simulated:
        """Return a tabulation of a file, to draw it many times."""
