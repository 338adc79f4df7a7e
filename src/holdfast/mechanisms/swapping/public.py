"""What is public of a file before it is swapped: all that every swap keeps, and the swapped file shows.

They come from a survey of the confidential file, and again, for verification, from one of the released file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from holdfast.data.fingerprint import Fingerprint
from holdfast.data.microdata import Microdata
from holdfast.data.sections import ColumnSection, FileSection, KeptSection, RecordsSection, SelectionSection
from holdfast.mechanisms.records import ColumnRoles, PublicRecords, RecordsPartLike
from holdfast.mechanisms.swapping.details import InducedSection, swapping_of
from holdfast.mechanisms.swapping.survey import Survey
from holdfast.mechanisms.swapping.tallies import Tally, keeper
from holdfast.privacy.guarantee import Scope
from holdfast.spec.privacy import ProtectedUnit
from holdfast.spec.values import Range
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import plain_text


@dataclass(frozen=True)
class Strata:
    """What is public of the strata of a file: how many there are of each size, and what cannot change.

    ``alike`` counts the records of strata of two or more in which all swapped or all held values agree.
    """

    sizes: tuple[tuple[int, int], ...]
    alike: int = 0

    @property
    def number(self) -> int:
        """The number of strata."""
        return sum(strata for _, strata in self.sizes)

    @property
    def records(self) -> int:
        """The number of records."""
        return sum(size * strata for size, strata in self.sizes)

    @property
    def largest(self) -> int:
        """The size of the largest stratum."""
        return max((size for size, _ in self.sizes), default=0)

    @property
    def singletons(self) -> int:
        """The number of strata of one record: these are published as they are."""
        return sum(strata for size, strata in self.sizes if size == 1)

    def checked(self, whom: ProtectedUnit) -> "Strata":
        """Return them; raises GuaranteeError where no swap could change anything."""
        if self.largest < 2:
            raise GuaranteeError(
                f"every stratum has one {whom.record}: nothing would be swapped, and nothing protected; name"
                " fewer columns in stratify."
            )
        if self.singletons + self.alike == self.records:
            raise GuaranteeError(
                f"in every stratum all {whom.counted} agree in what is swapped, or in all that is held: every"
                " swap would leave the file as it is, and protect nothing; name other columns in stratify or"
                " swap."
            )
        return self


@dataclass(frozen=True)
class PublicStrata(PublicRecords):
    """A file by its columns, its strata, and what it shares with every swap of it."""

    strata: Strata
    induced: tuple[InducedSection, ...]
    """The joint counts that every swap keeps."""

    @property
    def scope(self) -> Scope:
        """The files that share all of it."""
        shared = [one.model_dump(mode="json") for one in (self.records, *self.invariants, *self.induced)]
        said = {"shared": shared, "sizes": self.strata.sizes, "alike": self.strata.alike}
        return Scope(
            "records",
            invariants=tuple(one.name for one in self.invariants),
            constraints=(),
            digest=sha256(plain_text(said).encode()).hexdigest(),
            induced=tuple(one.name for one in self.induced),
        )


def strata_of(survey: Survey) -> Strata:
    """Return what is public of the strata of a file."""
    still = survey.sizes[(survey.varied == 0) & (survey.sizes > 1)]
    return Strata(survey.histogram, int(still.sum()))


def public_strata(
    records: RecordsSection,
    survey: Survey,
    counts: tuple[Tally, ...],
    columns: ColumnRoles,
    whom: ProtectedUnit,
    persons: InducedSection | None = None,
) -> PublicStrata:
    """Return what a survey shows of a file."""
    key = " and ".join(columns.stratify) or "the whole file"
    induced = [
        InducedSection(
            name=f"{key} by {' and '.join(columns.swap)}",
            columns=columns.keys,
            rows=survey.by_swap.rows,
            fingerprint=str(survey.by_swap),
        ),
        InducedSection(
            name=f"{key} by all that is held",
            columns=(*columns.stratify, *columns.held),
            rows=survey.by_held.rows,
            fingerprint=str(survey.by_held),
        ),
    ]
    return PublicStrata(
        records,
        columns,
        tuple(_kept(tally, columns) for tally in counts),
        whom,
        strata_of(survey),
        tuple(induced if persons is None else [*induced, persons]),
    )


def file_section(records: Microdata, rows: int) -> FileSection:
    """Return what a certificate says of a file."""
    return FileSection.model_validate(_described(records, rows))


def records_section(
    records: Microdata, rows: int, *, unit_id: str | None, persons: FileSection | None
) -> RecordsSection:
    """Return what a certificate says of the file that is swapped."""
    return RecordsSection.model_validate({**_described(records, rows), "id": unit_id, "persons": persons})


def persons_section(held: Sequence[str], rows: int, fingerprint: Fingerprint) -> InducedSection:
    """Return what is kept of persons who follow their households."""
    return InducedSection(
        name="persons by all that is held", columns=tuple(held), rows=rows, fingerprint=str(fingerprint)
    )


def _described(records: Microdata, rows: int) -> dict[str, object]:
    return {
        "kind": records.kind,
        "separator": records.writing.separator,
        "encoding": records.writing.encoding,
        "columns": tuple(ColumnSection(name=one.name, type=str(one.type)) for one in records.schema),
        "rows": rows,
    }


def _kept(tally: Tally, columns: ColumnRoles) -> KeptSection:
    values = tally.checked().values
    return KeptSection.model_validate(
        {
            "name": tally.name,
            "kind": tally.kind,
            "attributes": tally.attributes,
            "where": {name: _selection(choice) for name, choice in tally.where.items()},
            "equals": tally.equals,
            "kept_by": keeper(tally, columns, tally.name),
            "levels": tuple(levels for levels, _ in values),
            "values": tuple(count for _, count in values),
        }
    )


def _selection(choice: tuple[str, ...] | Range) -> SelectionSection:
    if isinstance(choice, Range):
        return SelectionSection(low=choice.low, high=choice.high)
    return SelectionSection(levels=choice)


def tally_of(kept: KeptSection) -> Tally:
    """Return what a certificate says was counted, with nothing counted yet."""
    where: dict[str, tuple[str, ...] | Range] = {}
    for name, choice in kept.where.items():
        if choice.levels is not None:
            where[name] = choice.levels
        elif choice.low is not None and choice.high is not None:
            where[name] = Range(choice.low, choice.high)
        else:
            raise ValueError(f"{kept.name!r} selects nothing of {name!r}")
    return Tally(kept.name, kept.attributes, where, kept.equals)


def stated_strata(part: RecordsPartLike, whom: ProtectedUnit) -> PublicStrata:
    """Return what a certificate states to be public of a swapped file."""
    record, details = swapping_of(part)
    sizes = tuple((one.size, one.strata) for one in details.strata.sizes)
    return PublicStrata(
        part.records,
        ColumnRoles(record.stratify, record.swap, record.held, record.renumber),
        part.invariants,
        whom,
        Strata(sizes, details.strata.alike),
        details.induced,
    )
