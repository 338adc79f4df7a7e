"""Released records: what was surveyed before the swap comes out the same from what was released.

Rows of some columns are known by the SHA-256 of their bytes, and a multiset of rows by the SHA-256 of the
sorted digests. A row has nine bytes for each column in the order of names, a sign for the kind and eight
bytes of a number or of the length of a text, and then all texts.
"""

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any

from holdfast_verify.cells import NUMBER, Cells
from holdfast_verify.record import (
    DamagedError,
    NotCheckedError,
    field,
    object_of,
    objects,
    plain_bytes,
    text_of,
    texts,
    wholes,
)
from holdfast_verify.tables import Check, counts_of

Value = str | int | None
TEXT = {"string", "large_string"}
WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
MISSING = "missing"
_ENCODINGS = ("utf-8", "utf-8-sig", "ascii", "latin-1", "iso-8859-1", "cp1252", "utf-16")


@dataclass(frozen=True)
class File:
    """Records by their columns, in order, with the names of types."""

    types: dict[str, str]
    values: dict[str, list[Value]]
    rows: int

    def digests(self, names: Sequence[str]) -> list[bytes]:
        """Return the SHA-256 of each row of some columns."""
        columns = [self.values[name] for name in sorted(names)]
        known: dict[tuple[Value, ...], bytes] = {}
        for row in zip(*columns, strict=True) if columns else [()] * self.rows:
            if row not in known:
                known[row] = hashlib.sha256(b"".join([*map(_head, row), *map(_tail, row)])).digest()
        rows = zip(*columns, strict=True) if columns else [()] * self.rows
        return [known[row] for row in rows]

    def levels(self, names: Sequence[str]) -> list[tuple[str | None, ...]]:
        """Return the levels of each record, as texts."""
        columns = [[None if one is None else str(one) for one in self.values[name]] for name in names]
        return list(zip(*columns, strict=True)) if columns else [()] * self.rows


def records_checks(folder: Path, part: Any, files: dict[str, str], sealed: set[str]) -> Iterator[Check]:
    """Check released records, the persons who follow them, and a table that was counted from them."""
    mechanism, details, section = (object_of(part, name) for name in ("mechanism", "details", "records"))
    key, swap, held = (texts(mechanism, name) for name in ("stratify", "swap", "held"))
    renumber, unit, people = texts({"renumber": [], **mechanism}, "renumber"), section.get("id"), None
    if unit is not None and section.get("persons") is None:
        raise NotCheckedError("rows of one id move together here: use holdfast verify")
    file = _read(folder, files["microdata"], section, sealed)
    if section.get("persons") is not None:
        people = _read(folder, files["persons"], object_of(section, "persons"), sealed)
    same = _same(file, section) and (people is None or _same(people, object_of(section, "persons")))
    same = same and sorted((*key, *swap, *held, *renumber)) == sorted(file.types)
    yield Check.that("columns and types", same and file.rows > 0, "the file has other columns, types or rows")
    if not same or not file.rows:
        return
    if field(mechanism, "nulls") != "level" and any(None in file.values[name] for name in (*key, *swap)):
        raise DamagedError("a value of the key, or one that is swapped, is missing")
    by_key, by_swap, by_held = (file.digests(names) for names in (key, swap, held))
    same = _strata(by_key, by_swap, by_held) == _stated_strata(object_of(details, "strata"))
    yield Check.that("strata", same, "the strata are not of the sizes that are stated")
    swaps = [one + other for one, other in zip(by_swap, by_key, strict=True)]
    holds = [one + other for one, other in zip(by_held, by_key, strict=True)]
    own = [
        ([*key, *swap], file.rows, _fingerprint([swap, key], swaps)),
        ([*key, *held], file.rows, _fingerprint([held, key], holds)),
    ]
    if people is not None:
        theirs = [name for name in people.types if name not in swap and name not in renumber]
        own.append((theirs, people.rows, _fingerprint([theirs], people.digests(theirs))))
    induced = objects(details, "induced")
    for one, found in zip(induced, own, strict=False):
        told = (texts(one, "columns"), field(one, "rows"), text_of(one, "fingerprint"))
        name = f"induced invariant {text_of(one, 'name')}"
        yield Check.that(name, told == found, "the released records have other joint counts")
    yield Check.that("invariants", len(induced) == len(own), "the certificate lists others")
    for item in objects(part, "invariants"):
        yield _kept(file, item)
    for name in renumber:
        whole = sorted(set(map(str, file.values[name]))) == sorted(map(str, range(1, file.rows + 1)))
        yield Check.that(f"{name} renumbered", whole, "it has others than the numbers of the records")
    if people is not None:
        yield Check.that("persons", _follow(people, file, str(unit), swap), "persons are not where theirs is")
    if part.get("table") is not None:
        yield _table(folder, files["table"], object_of(part, "table"), file, sealed)


def _strata(key: list[bytes], swap: list[bytes], held: list[bytes]) -> tuple[Any, int]:
    """Return how many strata there are of each size, and how many records cannot change."""
    found: dict[bytes, tuple[list[bytes], list[bytes]]] = {}
    for stratum, one, other in zip(key, swap, held, strict=True):
        swaps, holds = found.setdefault(stratum, ([], []))
        swaps.append(one)
        holds.append(other)
    sizes = Counter(len(swaps) for swaps, _ in found.values())
    still = [len(a) for a, b in found.values() if len(a) > 1 and (len(set(a)) == 1 or len(set(b)) == 1)]
    return sorted(sizes.items()), sum(still)


def _stated_strata(strata: dict[str, Any]) -> tuple[Any, int]:
    sizes = [(field(one, "size"), field(one, "strata")) for one in objects(strata, "sizes")]
    return sizes, field(strata, "alike")


def _fingerprint(parts: list[list[str]], rows: list[bytes]) -> str:
    names = json.dumps([sorted(part) for part in parts])
    return hashlib.sha256(
        b"holdfast-multiset/1\n" + names.encode() + b"\n" + b"".join(sorted(rows))
    ).hexdigest()


def _kept(file: File, item: Any) -> Check:
    """Check the counts of a margin or a selection, by levels."""
    attributes, where, values = texts(item, "attributes"), object_of(item, "where"), wholes(item, "values")
    levels = [tuple(one) if isinstance(one, list) else (one,) for one in objects(item, "levels")]
    if any(not isinstance(level, str | None) for row in levels for level in row):
        raise DamagedError("a level of an invariant is no text")
    for name in (*attributes, *where):
        if name not in file.types:
            raise DamagedError("an invariant speaks of a column that is not there")
        if file.types[name] not in TEXT | WHOLE:
            raise NotCheckedError(f"{name!r} holds {file.types[name]} values: use holdfast verify")
    counts: Counter[tuple[str | None, ...]] = Counter()
    chosen = zip(*(_picked(file, name, choice) for name, choice in where.items()), strict=True)
    kept = map(all, chosen) if where else [True] * file.rows
    for row, picks in zip(file.levels(attributes), kept, strict=True):
        if picks:
            counts[row] += 1
    if not attributes and not counts:
        counts[()] = 0
    same = len(levels) == len(set(levels)) and dict(zip(levels, values, strict=False)) == dict(counts)
    equals = item.get("equals")
    same = same and len(levels) == len(values) and (equals is None or {*values} == {equals})
    return Check.that(
        f"invariant {text_of(item, 'name')}: {len(values)} kept", same, "the records give other numbers"
    )


def _picked(file: File, name: str, choice: Any) -> list[bool]:
    """Return which records a selection of one column picks: some levels, or a range of numbers."""
    levels = [one for (one,) in file.levels([name])]
    if isinstance(choice, dict) and choice.get("levels") is not None:
        return [one in texts(choice, "levels") for one in levels]
    low, high = (field(choice, end) for end in ("low", "high"))
    if not all(type(end) in (int, float) for end in (low, high)):
        raise DamagedError("a range has no ends")
    return [bool(one and NUMBER.fullmatch(one)) and low <= Fraction(one or 0) <= high for one in levels]


def _follow(people: File, file: File, unit: str, swap: list[str]) -> bool:
    """Whether all persons have a household, and what it has."""
    if unit not in people.types or unit not in file.types or not set(swap) <= set(people.types):
        return False
    homes = dict(zip(file.levels([unit]), file.levels(swap), strict=True))
    return all(
        homes.get(home) == own for home, own in zip(people.levels([unit]), people.levels(swap), strict=True)
    )


def _table(folder: Path, name: str, table: dict[str, Any], file: File, sealed: set[str]) -> Check:
    """Check that a table is what the released records count."""
    if name.endswith(".parquet") and f"{name} unchanged" not in sealed:
        return Check("table", holds=False, detail=f"{name} is not the certified file: it is not read")
    try:
        cells = Cells.of(table)
        found = counts_of(folder / name, cells, quoted=False)
    except DamagedError as error:
        return Check("table", holds=False, detail=str(error))
    if not set(cells.levels) <= set(file.types):
        return Check("table", holds=False, detail="the records do not have its attributes")
    rows = [tuple(MISSING if one is None else one for one in row) for row in file.levels(list(cells.levels))]
    counts = Counter(rows)
    inferred = texts(table, "inferred")
    seen = {attribute: {row[at] for row in rows} for at, attribute in enumerate(cells.levels)}
    same = all(seen[one] == set(cells.levels[one]) for one in inferred if one in seen)
    same = same and found == [counts.pop(row, 0) for row in cells.rows(cells.levels)] and not counts
    return Check.that("table", same, f"{name} is not what the released records count")


def _same(file: File, section: dict[str, Any]) -> bool:
    """Whether a file has the columns, types and rows that are stated."""
    stated = [(text_of(one, "name"), text_of(one, "type")) for one in objects(section, "columns")]
    return list(file.types.items()) == stated and file.rows == field(section, "rows")


def _read(folder: Path, name: str, section: dict[str, Any], sealed: set[str]) -> File:
    if name.endswith(".parquet"):
        if f"{name} unchanged" not in sealed:
            raise DamagedError(f"{name} is not the certified file: it is not read")
        return _parquet(folder / name)
    separator, encoding = text_of(section, "separator"), text_of(section, "encoding").lower()
    if encoding not in _ENCODINGS or len(separator) != 1:
        raise NotCheckedError(f"{name} is written in {encoding!r}: use holdfast verify")
    try:
        text = plain_bytes(folder / name).decode(encoding)
        header, *rows = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
    except (OSError, ValueError, csv.Error):
        raise DamagedError(f"{name} cannot be read") from None
    rows = [row for row in rows if row]
    if len(set(header)) < len(header) or any(len(row) != len(header) for row in rows):
        raise DamagedError(f"{name} has rows of other lengths than its header")
    columns: list[list[Value]] = [[row[at] or None for row in rows] for at in range(len(header))]
    return File(dict.fromkeys(header, "string"), dict(zip(header, columns, strict=True)), len(rows))


def _parquet(path: Path) -> File:
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415 - where it is installed
    except ImportError:
        raise NotCheckedError(f"{path.name} is a Parquet file, and pyarrow is not installed") from None
    try:
        table = parquet.read_table(path, partitioning=None)
    except (ArrowException, OSError):
        raise DamagedError(f"{path.name} cannot be read") from None
    types = {column.name: str(column.type) for column in table.schema}
    if len(types) < table.num_columns:
        raise DamagedError(f"{path.name} has two columns of one name")
    for name, kind in types.items():
        if kind not in TEXT | WHOLE:
            raise NotCheckedError(f"{path.name}, column {name!r} holds {kind} values: use holdfast verify")
    return File(types, {name: table.column(name).to_pylist() for name in types}, table.num_rows)


def _head(value: Value) -> bytes:
    if value is None:
        return bytes(9)
    if isinstance(value, int):
        return b"\x01" + (value % 2**64).to_bytes(8, "little")
    return b"\x03" + len(value.encode()).to_bytes(8, "little")


def _tail(value: Value) -> bytes:
    return value.encode() if isinstance(value, str) else b""
