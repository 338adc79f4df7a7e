"""What is public of a file before it is swapped: all that every swap keeps, and the swapped file shows.

They come from a survey of the confidential file, and again, for verification, from one of the released file.

**A survey** is one pass over a file: its strata, and fingerprints of all that swapping leaves as it is. A
stratum is known by the SHA-256 of its values, and put in order by the first 64 bits of it; that no two
strata share these is checked against the rest [holdfast, data/fingerprint.py]. Whatever is returned is the
same for a file and for any swap of it: `verify` surveys what was released, and compares.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

import numpy as np
import polars as pl

from holdfast.data.fingerprint import Digests, Fingerprint, Multiset, row_digests
from holdfast.data.microdata import Microdata
from holdfast.data.sections import ColumnSection, FileSection, KeptSection, RecordsSection, SelectionSection
from holdfast.lattice.arrays import IntArray, WordArray
from holdfast.mechanisms.records import ColumnRoles, PublicRecords, RecordsPartLike
from holdfast.mechanisms.swapping.details import InducedSection, swapping_of
from holdfast.mechanisms.swapping.rounds import RoundStrata
from holdfast.mechanisms.swapping.tallies import Tally, keeper
from holdfast.privacy.guarantee import Scope
from holdfast.spec.privacy import ProtectedUnit
from holdfast.spec.values import Range
from holdfast.system.errors import DataError, GuaranteeError
from holdfast.system.progress import steps
from holdfast.system.text import counted, plain_text
from holdfast.system.ways import assigned, setting

MERGED = 1 << 21
"""Rows of partial counts that are merged at once."""
_STRATUM, _SWAPPED, _HELD = (
    [f"{part}-{word}" for word in range(4)] for part in ("stratum", "swapped", "held")
)
_EXTREMES = [
    part
    for name in (*_SWAPPED, *_HELD)
    for part in (pl.col(name).min().alias(f"{name}-low"), pl.col(name).max().alias(f"{name}-high"))
]
_MERGED = [
    pl.col("size").sum(),
    *(
        part
        for name in (*_SWAPPED, *_HELD)
        for part in (pl.col(f"{name}-low").min(), pl.col(f"{name}-high").max())
    ),
]


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """The strata of a file in the order of the first words of their digests, and what a swap keeps."""

    words: WordArray
    sizes: IntArray
    varied: IntArray
    """1 for each stratum in which swapped and held values both vary: others stay as they are."""
    by_swap: Fingerprint
    by_held: Fingerprint
    counts: tuple[Tally, ...]

    @property
    def rows(self) -> int:
        """The number of records."""
        return int(self.sizes.sum())

    @cached_property
    def largest(self) -> int:
        """The number of records of the largest stratum."""
        return int(self.sizes.max(initial=0))

    @property
    def histogram(self) -> tuple[tuple[int, int], ...]:
        """How many strata there are of each size."""
        sizes, strata = np.unique(self.sizes, return_counts=True)
        return tuple(zip(sizes.tolist(), strata.tolist(), strict=True))


@dataclass(eq=False)
class _Growing:
    """Partial counts of strata, merged from time to time."""

    parts: list[pl.DataFrame] = field(default_factory=list)

    def add(self, part: pl.DataFrame) -> None:
        self.parts.append(part)
        if sum(len(one) for one in self.parts) > MERGED + 2 * len(self.parts[0]):
            self.parts = [self.merged()]

    def merged(self) -> pl.DataFrame:
        return pl.concat(self.parts).group_by(_STRATUM).agg(_MERGED)


def survey(records: Microdata, columns: ColumnRoles, tallies: Iterable[Tally] = (), *, nulls: bool) -> Survey:
    """Look through a file once; ``nulls`` says that a missing value of a key is a level of its own."""
    strata, counts = _Growing(), tuple(tallies)
    missing = dict.fromkeys(columns.keys, 0)
    with Multiset(columns.swap, columns.stratify) as swaps, Multiset(columns.held, columns.stratify) as holds:
        for batch in steps(records.batches(), "looking through the records", records.number):
            for name in missing:
                missing[name] += batch.column(name).null_count
            stratum, swapped, held = (row_digests(batch, part) for part in parts(columns))
            swaps.add(swapped, stratum)
            holds.add(held, stratum)
            words = {**_words(_STRATUM, stratum), **_words(_SWAPPED, swapped), **_words(_HELD, held)}
            size = pl.len().cast(pl.Int64).alias("size")
            strata.add(pl.DataFrame(words).group_by(_STRATUM).agg(size, *_EXTREMES))
            counts = tuple(tally.with_rows(batch) for tally in counts)
        by_swap, by_held = swaps.fingerprint(), holds.fingerprint()
    if not by_swap.rows:
        raise DataError(f"{records.name} has no records: there is nothing to swap.")
    if not nulls:
        _refuse_missing(missing, records)
    found = strata.merged().sort(_STRATUM[0])
    require_told_apart(not found[_STRATUM[0]].is_duplicated().any(), records.name)
    return Survey(
        found[_STRATUM[0]].to_numpy(),
        found["size"].to_numpy(),
        found.select(_varies(_SWAPPED) & _varies(_HELD)).to_series().cast(pl.Int64).to_numpy(),
        by_swap,
        by_held,
        counts,
    )


def _words(names: Iterable[str], digests: Digests) -> dict[str, WordArray]:
    return dict(zip(names, digests.T, strict=True))


def _varies(names: Iterable[str]) -> pl.Expr:
    """Whether two records of a stratum have another digest."""
    return pl.any_horizontal(pl.col(f"{name}-low") != pl.col(f"{name}-high") for name in names)


def parts(columns: ColumnRoles) -> Iterator[tuple[str, ...]]:
    """Yield the columns of the key, the swapped ones, and those that are held."""
    yield columns.stratify
    yield columns.swap
    yield columns.held


def _refuse_missing(missing: dict[str, int], records: Microdata) -> None:
    for name, count in missing.items():
        if count:
            raise DataError(
                f"{records.name}, column {name!r} has no value in {counted(count, 'record')}: fill them in,"
                f" or set {assigned('nulls', 'level')} in {setting('mechanism')} to take them as a level of"
                " their own."
            )


def require_told_apart(told: bool, file: str = "the file") -> None:
    """Raise DataError unless the words of strata tell them apart."""
    if not told:
        raise DataError(
            f"{file} has two strata whose digests begin with the same 64 bits: respell a level of one."
        )


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
    rounds: tuple[RoundStrata, ...] = ()
    """The strata of each round, where there are several, or several rates: sums of what is kept."""

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
        tuple(
            RoundStrata(tuple((one.kind, one.size, one.strata) for one in each.sizes))
            for each in details.rounds
        ),
    )
