"""What an adversary's own knowledge does to a guarantee subject to invariants [semi-dp, section 7].

Who knows some records k, and some counts F x = f, takes the tables of the invariants that have both for
possible: with x' = x - k the tables that nobody knows are

    x' >= 0,   A x' = t - A k,   F x' = f - F k,   B x' >= b - B k,

a universe like any other [theory, 1]. Its semi-adjacency says how many *unknown* records one of them takes
along: a known record cannot change places with anybody, and a value known to be absent can be nobody's. Noise
that is added loses epsilon for ||u|| = Delta, the largest difference that the target covers, so with the
sensitivity Delta' of this universe it is worth epsilon Delta' / Delta (l1), or rho Delta'^2 / Delta^2 (l2),
against such an adversary. Where the target is for each record of distance, Delta is that of one [theory, 1].
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.certificate.verdict import level_of, shares
from holdfast.data.schema import Schema
from holdfast.data.selection import select
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.catalogue import target_of
from holdfast.privacy.guarantee import Guarantee, Unit
from holdfast.privacy.intensity import Intensity, Pure, ZeroConcentrated
from holdfast.privacy.premises import Premises
from holdfast.privacy.roots import ceil_root
from holdfast.public import Public
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import DataError, GuaranteeError, SpecError
from holdfast.system.files import require_file
from holdfast.system.text import closest, in_quotes
from holdfast.universe.exposure import Exposure
from holdfast.universe.limits import Limits
from holdfast.universe.semi_adjacency import farthest_pair
from holdfast.universe.universe import Universe

ANY = ("", "*")
"""What a file writes for every level of an attribute."""
MOST_BYTES = 10 * 2**20


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """Records that are known to be there, and counts of selections of cells that are known."""

    records: IntArray
    """Of each cell of the table, how many of its records are known."""
    cells: csr_array
    """A row of 0 and 1 for each selection whose count is known."""
    counts: IntArray
    lines: tuple[int, ...]
    """The line of the file of each selection."""

    @classmethod
    def read(cls, path: Path, schema: Schema, count: str) -> "Knowledge":
        """Read a file: a row without a count is a known record, one with a count a known count."""
        rows = _rows(path, schema, count)
        records = np.zeros(schema.size, dtype=np.int64)
        masks, counts, lines = [], [], []
        for line, row in enumerate(rows, start=2):
            where = {name: [level] for name, level in row.items() if name != count and level not in ANY}
            place = f"{path}, line {line}:"
            mask = select(schema, where, place=place) if where else np.ones(schema.size, dtype=np.bool_)
            number = row.get(count, "")
            if number:
                masks.append(csr_array(mask[None, :].astype(np.int64)))
                counts.append(_whole(number, place))
                lines.append(line)
                continue
            if mask.sum() != 1:
                raise DataError(
                    f"{place} a known record has one level of every attribute: name all of them, or give the"
                    f" row a {count}."
                )
            records[mask] += 1
        none = csr_array((0, schema.size), dtype=np.int64)
        cells = csr_array(vstack([none, *masks], format="csr"))
        return cls(records, cells, np.array(counts, dtype=np.int64), tuple(lines))

    def require_true(self, table: IntArray, path: Path) -> None:
        """Raise where the confidential table contradicts it: then nobody knows it."""
        wrong = np.flatnonzero(self.cells @ table != self.counts)
        if wrong.size:
            raise DataError(
                f"{path}, line {self.lines[wrong[0]]}: the data have another count there, so nobody can know"
                " this: correct the line."
            )
        if (self.records > table).any():
            raise DataError(
                f"{path} has more records of one cell than the data: nobody can know them, so leave some out."
            )

    def narrowed(self, public: Public) -> Universe:
        """Return the universe of the records that are not known."""
        here, known = public.possible, self.records[public.possible]
        rows = [csr_array((0, here.size), dtype=np.int64)]
        rows += [held.block.matrix[:, here] for held in public.invariants]
        values = [np.zeros(0, dtype=np.int64), *(held.values for held in public.invariants)]
        rows.append(csr_array(self.cells[:, here]))
        matrix = csr_array(vstack(rows, format="csr"))
        limits = public.limits
        if limits is not None:
            limits = Limits(limits.rows, limits.least - limits.rows @ known)
        plain = not self.counts.size  # the cells of a margin are still all there
        return Universe.of(
            matrix,
            np.concatenate([*values, self.counts]) - matrix @ known,
            public.cliques if plain else None,
            margins=public.margins if plain else None,
            limits=limits,
            occupied=True,
        )


@dataclass(frozen=True)
class Protection:
    """What is left to protect, and how strongly noise protects it.

    Attributes:
        dimension: the dimensions that are left open.
        determined: the cells with one possible count.
        people: the records in these cells, known ones among them.
        semi_adjacency: how many records one takes along; 0 where one table is left, None where out of reach.
        exact: whether it is, or a bound.
        sensitivity: the l1 norm and the squared l2 norm of the differences at that distance.
        worst: the two cells between which a record takes that many, where the search shows one.

    """

    dimension: int
    determined: int
    people: int
    semi_adjacency: int | None
    exact: bool
    sensitivity: tuple[int, int] | None
    worst: tuple[Mapping[str, str], Mapping[str, str]] | None = None
    parameters: Mapping[str, str] | None = None
    """What the target of the spec is worth, by name."""
    level: str | None = None
    """The verdict on that."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        one, other = (None, None) if self.sensitivity is None else self.sensitivity
        worst = None if self.worst is None else {"from": dict(self.worst[0]), "to": dict(self.worst[1])}
        return {
            "dimension": self.dimension,
            "determined": self.determined,
            "people_exposed": self.people,
            "semi_adjacency": self.semi_adjacency,
            "exact": self.exact,
            "sensitivity": {"l1": one, "l2_squared": other},
            "worst_pair": worst,
            "guarantee": None if self.parameters is None else dict(self.parameters),
            "verdict": self.level,
        }


@dataclass(frozen=True)
class SideInformation:
    """The same release before who knows nothing but the invariants, and before who knows more."""

    records: int
    counts: int
    before: Protection
    after: Protection

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "records": self.records,
            "counts": self.counts,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }


def side_information(
    public: Public, privacy: Privacy, knowledge: Knowledge, here: Universe, seen: tuple[Exposure, Exposure]
) -> SideInformation:
    """Compare what the invariants leave with what they leave beside this knowledge."""
    known = knowledge.records[public.possible]
    target = target_of(privacy)
    before = _protection(public, public.universe, seen[0], np.zeros_like(known))
    after = _protection(public, here, seen[1], known)
    covered = public.premises(target.adjacency, target.distance)
    return SideInformation(
        int(known.sum()),
        int(knowledge.counts.size),
        _with_worth(before, covered, target.intensity, public),
        _with_worth(after, covered, target.intensity, public),
    )


def _protection(public: Public, universe: Universe, seen: Exposure, known: IntArray) -> Protection:
    premises = Premises(universe, public.scope, "semi", None, public.whom)
    determined = seen.determined
    people = int((seen.low + known)[determined].sum())
    try:
        semi = premises.semi_adjacency
        changed = 0 if premises.metric.one_table(universe) else semi.worst_case
        size = (premises.sensitivity.l1, premises.sensitivity.l2_squared) if changed else None
    except GuaranteeError:  # out of reach
        return Protection(universe.dimension, determined.size, people, None, exact=False, sensitivity=None)
    pair = farthest_pair(universe, changed) if changed and not public.whom.presence else None
    worst = None if pair is None else (_cell(public, pair[0]), _cell(public, pair[1]))
    return Protection(universe.dimension, determined.size, people, changed, semi.exact, size, worst)


def _cell(public: Public, cell: int) -> dict[str, str]:
    levels = public.schema.cell(int(public.possible[cell]))
    return dict(zip(public.schema.names, levels, strict=True))


def _with_worth(now: Protection, covered: Premises, asked: Intensity | None, public: Public) -> Protection:
    """Return it with what the target is worth there, if one parameter of added noise says it.

    The loss of noise in a norm is that of the largest difference [theory, 3], against those that the target
    covers.
    """
    if now.sensitivity is None or now.semi_adjacency is None:
        return now
    worth: Intensity
    try:
        match asked:
            case Pure(epsilon):
                worth = Pure(epsilon * ceil_root(now.sensitivity[0] ** 2 / covered.squared_stretch("l1")))
            case ZeroConcentrated(rho):
                worth = ZeroConcentrated(rho * now.sensitivity[1] / covered.squared_stretch("l2"))
            case _:
                return now
    except GuaranteeError:  # how far the target reaches is out of reach
        return now
    unit = Unit(public.whom.unit, "semi", now.semi_adjacency, public.whom.records, public.whom.neighbours)
    level = level_of(*shares(Guarantee(public.scope, unit, worth, ())))
    return replace(
        now, parameters={name: str(value) for name, value in worth.parameters().items()}, level=level
    )


def _rows(path: Path, schema: Schema, count: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file as text; raises where it is none, or has columns of something else."""
    require_file(path)
    if path.stat().st_size > MOST_BYTES:
        raise SpecError(f"{path} has more than {MOST_BYTES // 2**20} MB: name fewer records.")
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = list(csv.reader(text.splitlines(), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise SpecError(f"{path} is no CSV file in UTF-8: save it as one.") from None
    header, known = (rows[0] if rows else []), (*schema.names, count)
    for name in header:
        if name not in known:
            raise SpecError(f"{path} has the column {in_quotes(name)}: {closest(name, known)}")
    if not header or len(set(header)) < len(header):
        raise SpecError(
            f"{path} has no header, or a column twice: name each attribute once in its first line."
        )
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise SpecError(
                f"{path}, line {line} has {len(row)} values, and the header has {len(header)}: correct it."
            )
    return [dict(zip(header, (value.strip() for value in row), strict=True)) for row in rows[1:]]


def _whole(text: str, place: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise SpecError(
            f"{place} the count {in_quotes(text)} is no whole number: write one, or leave it empty."
        )
    return int(text)
