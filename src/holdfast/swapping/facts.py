"""What is public of a file before it is swapped: all that every swap keeps, and the swapped file shows.

They come from a survey of the confidential file, and again, for verification, from one of the released file.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from holdfast.certificate.records.model import (
    ColumnSection,
    FileSection,
    InducedSection,
    KeptSection,
    RecordsSection,
    SelectionSection,
)
from holdfast.certificate.text import digest
from holdfast.data.fingerprint import Fingerprint
from holdfast.data.microdata import Microdata
from holdfast.mechanisms.permutation_swapping import Strata
from holdfast.privacy.records import FilesScope
from holdfast.spec.choice import Range
from holdfast.swapping.design import Columns
from holdfast.swapping.mandated import Tally, keeper
from holdfast.swapping.survey import Survey


@dataclass(frozen=True)
class Facts:
    """A file by its columns, its strata, and what it shares with every swap of it."""

    records: RecordsSection
    strata: Strata
    invariants: tuple[KeptSection, ...]
    induced: tuple[InducedSection, ...]

    @property
    def scope(self) -> FilesScope:
        """The files that share all of it."""
        shared = [one.model_dump(mode="json") for one in (self.records, *self.invariants, *self.induced)]
        return FilesScope(
            tuple(one.name for one in self.invariants),
            tuple(one.name for one in self.induced),
            digest({"shared": shared, "sizes": self.strata.sizes, "alike": self.strata.alike}),
        )


def strata_of(survey: Survey) -> Strata:
    """Return what is public of the strata of a file."""
    still = survey.sizes[(survey.varied == 0) & (survey.sizes > 1)]
    return Strata(survey.histogram, int(still.sum()))


def facts_of(
    records: RecordsSection,
    survey: Survey,
    counts: tuple[Tally, ...],
    columns: Columns,
    persons: InducedSection | None = None,
) -> Facts:
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
    return Facts(
        records,
        strata_of(survey),
        tuple(_kept(tally, columns) for tally in counts),
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
        "columns": tuple(ColumnSection(name=one.name, type=_type(one)) for one in records.schema),
        "rows": rows,
    }


def _type(field: pa.Field) -> str:
    return str(field.type)


def _kept(tally: Tally, columns: Columns) -> KeptSection:
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
