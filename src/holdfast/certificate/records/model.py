"""The certificate of a swapped file as values: what it keeps, and what a swap of its strata protects.

It holds nothing that depends on the draw. What depends on the data is kept by every swap, so the file that is
released shows it anyway: how large the strata are, and fingerprints of the two joint counts.
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from holdfast.certificate.model import (
    GuaranteeSection,
    LedgerSection,
    PublicationSection,
    RandomnessSection,
    Software,
    TableSection,
    TargetSection,
    VerdictSection,
    Whole,
)
from holdfast.certificate.sealed import Sealed, Section
from holdfast.certificate.text import RECORDS
from holdfast.mechanisms.permutation_swapping import SwappingRecord
from holdfast.privacy.swapping import LEAST_RATE
from holdfast.spec.model import InvariantKind
from holdfast.spec.rational import Rational

_IF_SAID = Field(exclude_if=lambda said: said is None)


class ColumnSection(Section):
    """A column of a file, and the type of its values."""

    name: StrictStr
    type: StrictStr


class FileSection(Section):
    """A file of records: its kind, its columns in order, and how many records it has."""

    kind: Literal["csv", "parquet"]
    separator: StrictStr = ","
    encoding: StrictStr = "utf-8"
    columns: tuple[ColumnSection, ...]
    rows: StrictInt


class RecordsSection(FileSection):
    """The swapped file; with an ``id`` rows of one id are a unit that moves whole, or persons follow it."""

    id: Annotated[StrictStr | None, _IF_SAID] = None
    persons: Annotated[FileSection | None, _IF_SAID] = None


class SelectionSection(Section):
    """Some levels of a column, or a range of numbers."""

    levels: Annotated[tuple[StrictStr, ...] | None, _IF_SAID] = None
    low: Annotated[StrictInt | StrictFloat | None, _IF_SAID] = None
    high: Annotated[StrictInt | StrictFloat | None, _IF_SAID] = None


class KeptSection(Section):
    """Counts of records that were asked for, and that every swap keeps."""

    name: StrictStr
    kind: InvariantKind
    attributes: tuple[StrictStr, ...]
    where: dict[StrictStr, SelectionSection]
    equals: Annotated[Whole | None, _IF_SAID] = None
    kept: Literal[True] = True
    """What a swap would break is refused before anything is drawn."""
    kept_by: Literal["stratum by swap", "stratum by held"]
    """The induced invariant that it is a sum of."""
    levels: tuple[tuple[StrictStr | None, ...], ...]
    values: tuple[Whole, ...]


class InducedSection(Section):
    """Joint counts that every swap keeps, by a fingerprint: of so many records and columns."""

    name: StrictStr
    columns: tuple[StrictStr, ...]
    rows: StrictInt
    fingerprint: StrictStr


class SizeSection(Section):
    """Strata of one size: how many there are, and what swapping loses in them for each record."""

    size: StrictInt
    strata: StrictInt
    epsilon: StrictFloat
    epsilon_tight: StrictFloat
    smallest_epsilon: StrictFloat


class StrataSection(Section):
    """The strata of the file."""

    strata: StrictInt
    largest: StrictInt
    singletons: StrictInt
    """Strata of one record, which is published as it is."""
    alike: StrictInt
    """Records of other strata that no swap changes."""
    sizes: tuple[SizeSection, ...]


class SwappingSection(Section):
    """What swapping loses for each record of distance, in strata of up to the largest size."""

    stratum_size: StrictInt
    rate: Rational
    epsilon: StrictFloat
    """The bound of the slides."""
    epsilon_tight: StrictFloat
    """The least that holds for all files with such strata."""
    smallest_epsilon: StrictFloat
    smallest_epsilon_tight: StrictFloat
    rates: tuple[Rational, Rational]
    """The two rates that give the stated epsilon; fewer records move at the first."""

    @property
    def two_rates(self) -> bool:
        """Whether both rates are within reach, and so give that epsilon."""
        low, high = self.rates
        return low > LEAST_RATE and high < 1 - LEAST_RATE


class RecordsCertificate(Sealed):
    """The record of a release of records."""

    format: Literal["holdfast-records-certificate/1"] = RECORDS
    software: Software
    created: StrictStr
    publication: Annotated[PublicationSection | None, _IF_SAID] = None
    records: RecordsSection
    table: Annotated[TableSection | None, _IF_SAID] = None
    """The table that is counted from the swapped file, where one was asked for."""
    invariants: tuple[KeptSection, ...]
    induced: tuple[InducedSection, ...]
    strata: StrataSection
    swapping: SwappingSection
    mechanism: SwappingRecord
    target: TargetSection
    guarantee: GuaranteeSection
    randomness: RandomnessSection
    verdict: VerdictSection
    caveats: tuple[StrictStr, ...]
    ledger: LedgerSection | None = None
    files: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    quoted_formulas: Annotated[StrictBool, Field(exclude_if=lambda quoted: not quoted)] = False
    digest: StrictStr = ""
