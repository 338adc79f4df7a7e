"""The quick part of a verification: the seal, the files, and every table against every exact claim.

It reads the certificate as plain JSON and counts for itself, in integers and with exact equality, so that
nothing but numpy is loaded (and polars for Parquet). What a guarantee is worth is derived elsewhere
[holdfast, derivation/derive.py]. A table is written in one way only, so it is read in one way only.
"""

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from io import StringIO
from math import isfinite
from operator import eq, ge, le
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.certificate.text import CERTIFICATE, digest, flaw
from holdfast.data.cell_status import STATUS, STATUSES
from holdfast.data.levels import quoted
from holdfast.data.narrow import Narrow
from holdfast.data.schema import Schema, quoted_schema
from holdfast.lattice.arrays import IntArray
from holdfast.system.checks import Check
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.files import plain_name, special
from holdfast.system.machine import require_memory

PAGE = "certificate.html"
ENDINGS = (".csv", ".parquet")
BESIDE = {"processed": ("release.json",)}
"""What a kind of part has beside its outputs: the certificate of the release that it was made of."""
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What a record raises that is not as it was written."""


class DamagedCertificateError(ValueError):
    """Something is not as it is written; says what and where."""


def seal_checks(folder: Path, text: str, content: Mapping[str, Any], *, page: bool = True) -> Iterator[Check]:
    """Check the digest, the text of the certificate, and the hash of every file, with or without the page."""
    body = {key: value for key, value in content.items() if key != "digest"}
    yield Check.that("certificate unchanged", digest(body) == content.get("digest"), "its digest differs")
    wrong = flaw(text, content)
    yield Check.that("certificate text", not wrong, wrong)
    try:
        files, named = dict(content["files"]), files_of(content)
        known = (
            *named.values(),
            *BESIDE.get(content["parts"][0]["kind"], ()),
            PAGE,
            *exports_of(content, named.values()),
        )
    except DAMAGE as error:
        yield Check("files", holds=False, detail=in_words(error))
        return
    if missing := [name for name in known if name not in files]:
        yield Check("files", holds=False, detail=f"the certificate does not name {missing[0]}")
    for name, expected in files.items():
        if page or name != PAGE:
            yield file_check(folder, name, expected, known)


def files_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the file of every output that the parts of a certificate name; raises where one has none."""
    files, found = content["files"], dict[str, str]()
    if not all(part["outputs"] for part in content["parts"]):
        raise DamagedCertificateError("a part of the certificate has no outputs")
    for output in (output for part in content["parts"] for output in part["outputs"]):
        named = [file for end in ENDINGS if (file := f"{output}{end}") in files]
        if len(named) != 1 or output in found or not plain_name(named[0]):
            raise DamagedCertificateError("the certificate does not name one file for each output")
        found[output] = named[0]
    return found


def exports_of(content: Mapping[str, Any], others: Iterable[str]) -> list[str]:
    """Return the files that have the release in other formats; raises where one is another file."""
    names: Any = content.get("exports", [])
    taken = {*others, PAGE, CERTIFICATE}
    for name in names if isinstance(names, list) else [None]:
        if name is None or not plain_name(name) or name in taken:
            raise DamagedCertificateError("the certificate does not name one file for each export")
        taken.add(name)
    return list(names)


def kept_checks(folder: Path, content: Mapping[str, Any]) -> Iterator[Check]:
    """Check every table against its cells, the constraints and every invariant, with exact equality."""
    try:
        files, parts = files_of(content), [dict(part) for part in content["parts"]]
        quoted = content.get("quoted_formulas") is True
        tables = [part for part in parts if part["kind"] == "table"]
        several = content.get("joined") is not None
    except DAMAGE as error:
        yield Check("certificate", holds=False, detail=in_words(error))
        return
    kept = True
    for part in tables:
        name = part["outputs"][0]
        for check in output_checks(folder, files[name], content["files"], part, quoted=quoted):
            kept &= check.holds
            yield replace(check, name=f"{name}: {check.name}") if several else check
    if several and kept:
        yield from _agreements(folder, content, files, quoted=quoted)


def output_checks(
    folder: Path, name: str, files: Mapping[str, Any], part: Mapping[str, Any], *, quoted: bool
) -> Iterator[Check]:
    """Check the file of a table, a statistic or an estimate against what its part says of it."""
    try:
        cells = CertifiedCells.of(part["table"])
        claims = [Sums.of(item, cells) for item in _listed(part["invariants"])]
        floors = [
            (Sums.of(item, cells), _bounds(item)) for item in _listed(part["constraints"]["inequalities"])
        ]
        stated = [item["values"] for item in part["invariants"]]
        values = [_whole_values(each, sums) for each, sums in zip(stated, claims, strict=True)]
        # what was estimated from measurements is never below 0, asked for or not
        nonnegative = part["constraints"]["nonnegative"] or any(
            output.endswith("measurements") for output in part["outputs"][1:]
        )
    except DAMAGE as error:
        yield Check("certificate", holds=False, detail=in_words(error))
        return
    if name == "statistic.csv" and part.get("alone") is None:
        yield _statistic_check(folder / name, cells.schema.size // 4)
        return
    if name == "estimate.csv" and part.get("alone") is None:
        yield _estimate_check(folder / name, part["mechanism"])
        return
    if name.endswith(".parquet") and not file_check(folder, name, files.get(name), (name,)).holds:
        # there is damage to Parquet that ends the process that reads it, past any handler
        yield Check("schema", holds=False, detail=f"{name} is not the certified file: it is not read")
        return
    try:
        counts = read_counts(folder / name, cells.quoted if quoted and name.endswith(".csv") else cells)
    except (*DAMAGE, HoldfastError) as error:
        require_memory(error)
        yield Check("schema", holds=False, detail=in_words(error))
        return
    yield Check("schema", holds=True)
    if nonnegative:
        yield Check.that("counts at least 0", bool((counts >= 0).all()), "a count is negative")
    if cells.schema.impossible:
        empty = not counts[~cells.schema.possible].any()
        yield Check.that("structural zeros", empty, "a structural zero holds a count")
    for sums, bounds in floors:
        yield _floor_check(sums, bounds, counts)
    for sums, told in zip(claims, values, strict=True):
        yield _invariant_check(sums, told, counts)


def _agreements(
    folder: Path, content: Mapping[str, Any], files: Mapping[str, str], *, quoted: bool
) -> Iterator[Check]:
    """Check that tables which keep the same margin give it the same numbers."""
    read: dict[str, tuple[CertifiedCells, IntArray]] = {}
    try:
        for part in content["parts"]:
            cells, file = CertifiedCells.of(part["table"]), files[part["outputs"][0]]
            written = cells.quoted if quoted and file.endswith(".csv") else cells
            read[part["name"]] = cells, read_counts(folder / file, written)
        for shared in content["joined"]["shared"]:
            names = tuple(_listed(shared["attributes"]))
            margins = [_margin(*read[table], names) for table in shared["exact"]]
            if len(margins) > 1:
                what, tables = " by ".join(names) or "the total", " and ".join(shared["exact"])
                same = all(margin == margins[0] for margin in margins)
                yield Check.that(f"{what} agrees in {tables}", same, "the tables give other numbers")
        for item in content["joined"].get("across", ()):
            yield _across_check(item, read)
    except (*DAMAGE, HoldfastError) as error:
        require_memory(error)
        yield Check("shared", holds=False, detail="the certificate is damaged: restore it from the release")


def _across_check(item: Mapping[str, Any], read: Mapping[str, tuple["CertifiedCells", IntArray]]) -> Check:
    """Check a constraint across tables at every node of its level."""
    name, level, sense = item["name"], item["level"], item["sense"]
    sums = []
    for side in (item["left"], item["right"]):
        cells, counts = read[side["table"]]
        names = (level, *_listed(side["margin"]))
        found = Sums("", (), cells, names, _object(side["where"]), None).by_levels(counts)
        sums.append({levels: side["times"] * count for levels, count in found.items()})
    left, right = sums
    if sense not in SENSES or type(item["zero"]) is not bool or type(name) is not str:
        raise DamagedCertificateError("a constraint across tables is none")
    for levels in {**left, **right}:
        mine, theirs = left.get(levels, 0), right.get(levels, 0)
        if not SENSES[sense](mine, theirs) or (item["zero"] and mine and not theirs):
            told = f"{mine:,} on the left and {theirs:,} on the right at {', '.join(levels)}"
            return Check(f"across tables: {name}", holds=False, detail=told)
    nodes = len(read[item["left"]["table"]][0].schema.attribute(level).levels)
    return Check(f"across tables: {name}", holds=True, detail=f"at {nodes:,} of {level}")


SENSES: Mapping[str, Callable[[int, int], bool]] = {">=": ge, "==": eq, "<=": le}


def _margin(cells: "CertifiedCells", counts: IntArray, names: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    """Return the counts of a margin other than 0, by levels."""
    return Sums("", (), cells, names, {}, None).by_levels(counts)


@dataclass(frozen=True)
class CertifiedCells:
    """The cells of a table as a certificate tells them, and the name of their counts."""

    schema: Schema
    count: str
    status: bool = False
    """Whether a column after the counts has the status of each cell."""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "CertifiedCells":
        """Return the cells of the section of a table; raises where it is damaged."""
        attributes, zeros = (_listed(table["schema"][each]) for each in ("attributes", "structural_zeros"))
        levels = [_listed(item["levels"]) for item in attributes]
        columns = (*(item["name"] for item in attributes), table["count"])
        for words in (columns, *levels):
            if len(set(words)) < len(words) or not all(type(word) is str for word in words):
                raise DamagedCertificateError("a name or a level of the table stands twice, or is none")
        if not all(type(cell) is int for run in zeros for cell in _listed(run)):
            raise DamagedCertificateError("a structural zero is not in the table")
        parents = [_listed(one["parents"]) for one in _listed(table["schema"].get("within", []))]
        if not all(type(place) is int for each in parents for place in each):
            raise DamagedCertificateError("a nesting of the table is of no whole numbers")
        status = table.get("status", False)
        if type(status) is not bool or (status and STATUS in columns):
            raise DamagedCertificateError("the status of the cells has no column")
        try:
            return cls(Schema.from_dict(table["schema"]), table["count"], status)
        except SpecError:
            flaw = "the levels, zeros or nestings of the table are of no table"
            raise DamagedCertificateError(flaw) from None

    @property
    def quoted(self) -> "CertifiedCells":
        """The same with names as they stand in a file where formulas are quoted."""
        return CertifiedCells(quoted_schema(self.schema), quoted(self.count), self.status)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of a file of them."""
        return (*self.schema.names, self.count, *((STATUS,) if self.status else ()))


@dataclass(frozen=True, eq=False)
class Sums:
    """What an invariant or an inequality adds up: a row for each label."""

    name: str
    labels: tuple[str, ...]
    cells: CertifiedCells
    attributes: tuple[str, ...]
    where: Mapping[str, Sequence[str]]
    entries: tuple[list[int], list[int], list[int]] | None
    """Rows, cells and weights, where cells are weighted."""

    @classmethod
    def of(cls, item: Mapping[str, Any], cells: CertifiedCells) -> "Sums":
        """Return the sums of a section; raises where it is damaged."""
        kind, attributes, where = item["kind"], tuple(_listed(item["attributes"])), _object(item["where"])
        labels = tuple(_listed(item["labels"]))
        if not all(type(word) is str for word in (item["name"], *labels)):
            raise DamagedCertificateError("a name or a label of an invariant is none")
        if kind not in ("margin", "total", "where", "weights") or len(set(attributes)) < len(attributes):
            raise DamagedCertificateError(f"the invariant {item['name']!r} is of no known kind")
        if not {*attributes, *where} <= set(cells.schema.names):
            raise DamagedCertificateError(
                f"the invariant {item['name']!r} speaks of an attribute that the table does not have"
            )
        entries = None
        if kind == "weights":
            entries = (_listed(item["rows"]), _listed(item["cells"]), _listed(item["weights"]))
            rows, places, weights = entries
            whole = all(type(number) is int for part in entries for number in part)
            if not (whole and len(rows) == len(places) == len(weights)):
                raise DamagedCertificateError(f"the weights of {item['name']!r} are not whole numbers")
            if any(not 0 <= row < len(labels) for row in rows) or any(
                not 0 <= cell < cells.schema.size for cell in places
            ):
                raise DamagedCertificateError(f"the weights of {item['name']!r} are not of the table")
        return cls(item["name"], labels, cells, attributes, where, entries)

    def evaluate(self, counts: IntArray) -> list[int]:
        """Return the sums for some counts, exactly."""
        found = self._weighted(counts) if self.entries is not None else self._plain(counts)
        if len(found) != len(self.labels):
            raise DamagedCertificateError(f"there are {len(found)} sums for {len(self.labels)} labels")
        return found

    def by_levels(self, counts: IntArray) -> dict[tuple[str, ...], int]:
        """Return the counts of a margin other than 0, by the levels of its attributes."""
        schema, margin = self.cells.schema, self.cells.schema.grid.over(self.attributes)
        sums = np.zeros(margin.size, dtype=np.int64)
        np.add.at(sums, schema.grid.rows(margin), np.where(self._chosen, counts, 0))
        found = np.flatnonzero(sums)
        columns = [
            [schema.attribute(name).levels[code] for code in margin.codes(name)[found].tolist()]
            for name in self.attributes
        ]
        keys = zip(*columns, strict=True) if columns else ((),) * found.size
        return dict(zip(keys, sums[found].tolist(), strict=True))

    @property
    def _chosen(self) -> NDArray[np.bool_]:
        """Which cells a selection has."""
        schema = self.cells.schema
        chosen = np.ones(schema.size, dtype=np.bool_)
        for name, levels in self.where.items():
            known = schema.attribute(name).levels
            picked = np.zeros(len(known), dtype=np.bool_)
            picked[[known.index(level) for level in levels]] = True
            chosen &= picked[schema.codes(name)]
        return chosen

    def _plain(self, counts: IntArray) -> list[int]:
        """Add up counts: their sizes fit 64 bits together, so every sum does."""
        narrow = Narrow.of(self.cells.schema, {*self.attributes, *self.where})
        if narrow is not None:  # of a state's total, blocks are added up before anything is looked at
            fewer = replace(self, cells=replace(self.cells, schema=narrow.schema))
            return fewer._plain(narrow.sums(counts))
        schema, margin = self.cells.schema, self.cells.schema.grid.over(self.attributes)
        row, length = schema.grid.rows(margin), margin.size
        chosen = self._chosen
        met = np.zeros(length, dtype=np.bool_)
        met[row[chosen]] = True
        chosen &= schema.possible
        sums = np.zeros(length, dtype=np.int64)
        np.add.at(sums, row[chosen], counts[chosen])
        return [int(value) for value in sums[met].tolist()]

    def _weighted(self, counts: IntArray) -> list[int]:
        """Add up weighted counts in integers of any size."""
        sums, known, possible = [0] * len(self.labels), counts.tolist(), self.cells.schema.possible
        for row, cell, weight in zip(*(self.entries or ()), strict=True):
            sums[row] += weight * known[cell] if possible[cell] else 0
        return sums


def read_counts(path: Path, cells: CertifiedCells) -> IntArray:
    """Return the counts of a released table; raises where it is not as a release writes it."""
    try:
        parquet = path.suffix == ".parquet"
        counts = _parquet(path, cells) if parquet else _whole_counts(read_column(path, cells), path.name)
    except OSError as error:
        require_memory(error)
        raise DamagedCertificateError(f"{path.name} cannot be read") from None
    rough = sum(
        float(np.abs(part.astype(np.float64)).sum())
        for part in np.array_split(counts, 1 + counts.size // 10**7)
    )
    if rough >= 2**62 and sum(map(abs, counts.tolist())) >= 2**63:
        raise DamagedCertificateError(f"the counts of {path.name} sum to more than fits 64 bits")
    return counts


def read_column(path: Path, cells: CertifiedCells) -> list[str]:
    """Return the counts of a CSV file as they are written; where there is a status, it must be one."""
    rows = _rows(path, cells)
    if not cells.status:
        return rows
    parts = [row.rpartition(",") for row in rows]
    if wrong := [row for row, (_, _, status) in enumerate(parts, start=2) if status not in STATUSES]:
        raise DamagedCertificateError(f"{path.name}, row {wrong[0]} does not end in a status")
    return [count for count, _, _ in parts]


def read_status(path: Path, cells: CertifiedCells) -> list[str]:
    """Return the status of each cell as the file of a table, which was read before, says it."""
    if path.suffix != ".parquet":
        return [row.rpartition(",")[2] for row in _rows(path, cells)]
    import polars as pl  # noqa: PLC0415 - for Parquet alone

    return pl.read_parquet(path, columns=[STATUS])[STATUS].to_list()


def _rows(path: Path, cells: CertifiedCells) -> list[str]:
    """Return what stands for each cell of a CSV file, in its place: the row must begin with its levels."""
    try:
        text = _read(path).decode("utf-8")
    except UnicodeDecodeError:
        raise DamagedCertificateError(f"{path.name} is not UTF-8 text") from None
    schema, header = cells.schema, _row(cells.columns) + "\n"
    if not text.startswith(header):
        raise DamagedCertificateError(f"{path.name} does not begin with the row {header[:-1]!r}")
    at, found = len(header), list[str]()
    fields = {each.name: np.array(list(map(_field, each.levels)), dtype=object) for each in schema.attributes}
    # a row has a line at least, so a certificate of more cells than lines costs no more than its file
    codes = schema.grid.cells(np.arange(min(schema.size, text.count("\n"))))
    columns = [own[codes[name]] for name, own in fields.items()]
    for levels in zip(*columns, strict=True):
        begin = ",".join(levels) + ","
        start = at + len(begin)
        end = text.find("\n", start)
        if end < 0 or not text.startswith(begin, at):
            raise DamagedCertificateError(
                f"{path.name}, row {len(found) + 2} is not that of {schema.in_words(len(found))}"
            )
        found.append(text[start:end])
        at = end + 1
    if at != len(text):
        raise DamagedCertificateError(f"{path.name} has more than the {schema.size:,} rows of its cells")
    return found


def _whole_counts(found: list[str], name: str) -> IntArray:
    for row, digits in enumerate(found, start=2):
        # one way to write a number: no sign but a minus, no leading zero, no space, no dot
        if len(digits) > 20 or not digits.removeprefix("-").isdecimal() or str(int(digits)) != digits:
            raise DamagedCertificateError(
                f"{name}, row {row} has {digits[:20]!r}, which is not a whole number as it is written"
            )
    try:
        return np.array([int(digits) for digits in found], dtype=np.int64)
    except OverflowError:
        raise DamagedCertificateError(f"{name} has a number that does not fit 64 bits") from None


def _parquet(path: Path, cells: CertifiedCells) -> IntArray:
    import polars as pl  # noqa: PLC0415 - for Parquet alone

    from holdfast.data.in_parts import cells_in_parts, released_parts, texts  # noqa: PLC0415

    schema = cells.schema
    kinds: dict[str, pl.DataType] = {**dict.fromkeys(schema.names, pl.String()), cells.count: pl.Int64()}
    if cells.status:
        kinds[STATUS] = pl.String()
    counts, done = np.empty(schema.size, dtype=np.int64), 0
    for part in released_parts(path, most_rows=schema.size):
        if list(part.schema.items()) != list(kinds.items()):
            raise DamagedCertificateError(
                f"{path.name} does not have the columns {_row(tuple(kinds))!r} of texts and whole numbers"
            )
        if any(part.null_count().row(0)):
            break
        for begin, expected in cells_in_parts(schema, done, done + part.height):
            own = part[begin - done : begin - done + expected.num_rows]
            for name, levels in texts(expected).to_dict().items():
                wrong = (own[name] != levels).arg_true()
                if wrong.len():
                    raise DamagedCertificateError(
                        f"{path.name}, row {begin + wrong[0] + 1}, column {name!r} is not that of its cell"
                    )
        if cells.status and not part[STATUS].is_in(STATUSES).all():
            raise DamagedCertificateError(f"{path.name} has a status that is none")
        counts[done : done + part.height] = part[cells.count].to_numpy()
        done += part.height
    if done != schema.size:
        raise DamagedCertificateError(f"{path.name} does not list each of the {schema.size:,} cells once")
    return counts


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise DamagedCertificateError("what should be a list of the certificate is none")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DamagedCertificateError("what should be an object of the certificate is none")
    return value


def _field(text: str) -> str:
    """Return a field of CSV, in quotes where it needs them."""
    if text and not any(sign in text for sign in ',"\n\r'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _row(fields: Iterable[str]) -> str:
    return ",".join(map(_field, fields))


def _whole_values(values: Sequence[Any], sums: Sums) -> list[int]:
    if len(values) != len(sums.labels) or not all(type(value) is int for value in values):
        raise DamagedCertificateError(f"the values of {sums.name!r} are not one whole number for each label")
    return list(values)


def _bounds(item: Mapping[str, Any]) -> dict[str, int]:
    found = {name: item[name] for name in ("at_least", "at_most") if item.get(name) is not None}
    if not found or any(type(bound) is not int for bound in found.values()):
        raise DamagedCertificateError("a bound is not a whole number")
    return found


def _floor_check(sums: Sums, bounds: Mapping[str, int], counts: IntArray) -> Check:
    name = f"inequality {sums.name}"
    try:
        found = sums.evaluate(counts)
    except DAMAGE as error:
        return Check(name, holds=False, detail=in_words(error))
    for bound, words, worst in (("at_least", "below", min), ("at_most", "above", max)):
        if bound in bounds and len(found):
            value, limit = int(worst(found)), bounds[bound]
            if (value < limit) if bound == "at_least" else (value > limit):
                return Check(name, holds=False, detail=f"{value} is {words} {limit}")
    return Check(name, holds=True)


def _invariant_check(sums: Sums, stated: list[int], counts: IntArray) -> Check:
    name = f"invariant {sums.name}"
    try:
        found = sums.evaluate(counts)
    except DAMAGE as error:
        return Check(name, holds=False, detail=in_words(error))
    wrong = [i for i, (f, s) in enumerate(zip(found, stated, strict=True)) if f != s]
    if not wrong:
        return Check(f"{name}: {len(stated)} kept", holds=True)
    first = wrong[0]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return Check(
        name, holds=False, detail=f"{sums.labels[first]} is {found[first]}, not {stated[first]}{more}"
    )


def _statistic_check(path: Path, strata: int) -> Check:
    """Check that there is one number for each 2 x 2 table, every digit of it."""
    try:
        head, *rows = _read(path).decode("utf-8").split("\n")
        numbers = [float(row.partition(",")[2]) for row in rows[:-1]]
        written = [f"{place},{value!r}" for place, value in enumerate(numbers, start=1)]
        whole = head == "stratum,value" and rows == [*written, ""] and all(map(isfinite, numbers))
    except (OSError, ValueError) as error:
        require_memory(error)
        whole = False
    if not whole:
        return Check("statistic", holds=False, detail=f"{path.name} is not a list of statistics")
    wrong = f"there are {len(numbers)} numbers, not {strata}"
    return Check.that("statistic", len(numbers) == strata, wrong)


def _estimate_check(path: Path, mechanism: Mapping[str, Any]) -> Check:
    """Check that there is one number for each estimate, on its grid, every digit of it."""
    try:
        steps, names = mechanism["steps"], _listed(mechanism["coefficients"])
        pairs = list(zip(_listed(mechanism["low"]), _listed(mechanism["high"]), strict=True))
        if type(steps) is not int or any(type(end) is not str for pair in pairs for end in pair):
            raise DamagedCertificateError("a grid is not of numbers")
        ends = [(Fraction(one), Fraction(other)) for one, other in pairs]
        if steps < 1 or any(low >= high for low, high in ends):
            raise DamagedCertificateError("a grid has no points")
    except (*DAMAGE, ZeroDivisionError) as error:
        return Check("estimate", holds=False, detail=in_words(error))
    try:
        head, *rows = _read(path).decode("utf-8").split("\n")
        numbers = [float(row.rpartition(",")[2]) for row in rows[:-1]]
        whole = head == "estimate,value" and all(map(isfinite, numbers))
        whole = whole and len(numbers) == len(names) == len(ends)
        written = StringIO()
        csv.writer(written, lineterminator="\n").writerows(zip(names, map(repr, numbers), strict=True))
        whole = whole and written.getvalue() == "\n".join(rows)
    except (OSError, ValueError) as error:
        require_memory(error)
        whole = False
    if not whole:
        return Check("estimate", holds=False, detail=f"{path.name} is not a list of these estimates")
    for name, value, (low, high) in zip(names, numbers, ends, strict=True):
        place = round((Fraction(value) - low) * steps / (high - low))
        if not 0 <= place <= steps or float(low + (high - low) * place / steps) != value:
            return Check("estimate", holds=False, detail=f"{name} is {value}, which is not on its grid")
    return Check("estimate", holds=True)


def _read(path: Path) -> bytes:
    """Return the bytes of a plain file; anything else is not opened, and raises OSError."""
    if (kind := special(path, links=False)) is not None:
        raise OSError(f"it is {kind}")
    return path.read_bytes()


def file_check(folder: Path, name: str, expected: object, known: Sequence[str]) -> Check:
    """Check the hash of a file of a known name."""
    check = f"{name} unchanged"
    if name not in known:  # so that nothing leads out of the folder
        return Check(check, holds=False, detail="no release has a file of this name")
    try:
        if (kind := special(folder / name, links=False)) is not None:
            return Check(check, holds=False, detail=f"it is {kind}, and not a plain file")
        with (folder / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return Check(check, holds=False, detail="the file is missing")
    except OSError as error:  # no access, or a folder
        require_memory(error)
        return Check(check, holds=False, detail="the file cannot be read")
    return Check.that(check, found == expected, "its SHA-256 differs")


def in_words(error: BaseException) -> str:
    """Return what is wrong, in words that hold nothing from outside."""
    told = isinstance(error, DamagedCertificateError | HoldfastError)
    return str(error).rstrip(".") if told else f"{CERTIFICATE} is damaged: restore it from the release"
