"""The quick part of a verification: the seal, the files, and the table against every exact claim.

It reads the certificate as plain JSON and counts for itself, in integers and with exact equality, so that
nothing but numpy is loaded (and polars for Parquet). What a guarantee is worth is derived elsewhere
[holdfast, certificate/derive.py]. A table is written in one way only, so it is read in one way only.
"""

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.certificate.checks import Check, Verification
from holdfast.certificate.strangers import strangers
from holdfast.certificate.text import CERTIFICATE, digest, flaw, parse, read_text
from holdfast.data.formulas import quoted
from holdfast.data.grid import Grid, Nesting
from holdfast.data.grid import count as cells_of
from holdfast.errors import HoldfastError
from holdfast.machine import require_memory
from holdfast.plain import special

PAGE = "certificate.html"
OUTPUTS = ("table.csv", "table.parquet", "statistic.csv", "estimate.csv")
BESIDE = ("measurements.parquet", "microdata.csv", "microdata.parquet")
"""What a table may have beside it: what it was estimated from, and its counts as records."""
FILES = (*OUTPUTS, *BESIDE, PAGE)
MOST_CELLS = 100_000_000
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What a record raises that is not as it was written."""
SEEDED = (
    "THIS RELEASE PROTECTS NOBODY: it was drawn from a seeded generator, for tests and studies only, and"
    " whoever knows the seed can take the noise off again, or undo the swap."
)

Counts = NDArray[np.int64]


class DamagedError(ValueError):
    """Something is not as it is written; says what and where."""


def verify_quick(folder: str | Path) -> Verification:
    """Check files and invariants of a release folder, and derive nothing.

    Raises ReleaseError where there is no release to check; everything else is a check that fails.
    """
    folder = Path(folder)
    text = read_text(folder)
    content = parse(text, str(folder / CERTIFICATE))
    checks = (*seal_checks(folder, text, content), *kept_checks(folder, content))
    return Verification(folder, checks, (*warnings_of(content), *strangers(folder, content)), quick=True)


def warnings_of(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what everybody should be told of a release, however well it is kept."""
    randomness = content.get("randomness")
    secure = isinstance(randomness, dict) and randomness.get("secure") is True
    verdict = content.get("verdict")
    told = verdict.get("warnings") if isinstance(verdict, dict) else None
    little = tuple(map(str, told)) if isinstance(told, list) else ()
    return (*(() if secure else (SEEDED,)), *little)


def seal_checks(folder: Path, text: str, content: Mapping[str, Any], *, page: bool = True) -> Iterator[Check]:
    """Check the digest, the text of the certificate, and the hash of every file, with or without the page."""
    body = {key: value for key, value in content.items() if key != "digest"}
    yield Check.that("certificate unchanged", digest(body) == content.get("digest"), "its digest differs")
    wrong = flaw(text, content)
    yield Check.that("certificate text", not wrong, wrong)
    files = content.get("files")
    if not isinstance(files, dict) or output_of(content) is None:
        yield Check("files", holds=False, detail="the certificate names no output")
        return
    for name, expected in files.items():
        if page or name != PAGE:
            yield file_check(folder, name, expected)
    yield from _beside(content, files)
    if PAGE not in files:
        yield Check("files", holds=False, detail=f"the certificate does not name {PAGE}")


def _beside(content: Mapping[str, Any], files: Mapping[str, Any]) -> Iterator[Check]:
    """Check that a table has measurements and records beside it where it says so, and not elsewhere."""
    said, named = content.get("topdown"), [name for name in BESIDE if name in files]
    if said is None and not named:
        return
    microdata = isinstance(said, dict) and said.get("microdata") is True
    wanted = [] if said is None else [BESIDE[0], *("microdata" for _ in range(microdata))]
    found = [name if name == BESIDE[0] else "microdata" for name in named]
    yield Check.that("files beside the table", found == wanted, "they are not those of the release")


def output_of(content: Mapping[str, Any]) -> str | None:
    """Return the file of the output that a certificate names, None where it names none or several."""
    files = content.get("files")
    named = [name for name in OUTPUTS if isinstance(files, dict) and name in files]
    return named[0] if len(named) == 1 else None


def kept_checks(folder: Path, content: Mapping[str, Any]) -> Iterator[Check]:
    """Check the output against the cells, the constraints and every invariant, with exact equality."""
    name = output_of(content)
    if name is None:
        return
    yield from output_checks(folder, name, content["files"][name], content)


def output_checks(folder: Path, name: str, expected: object, content: Mapping[str, Any]) -> Iterator[Check]:
    """Check the file of an output, whose SHA-256 is expected, against what a certificate says of it."""
    try:
        cells = Cells.of(content["table"])
        claims = [Sums.of(item, cells) for item in content["invariants"]]
        floors = [(Sums.of(item, cells), _bounds(item)) for item in content["constraints"]["inequalities"]]
        stated = [item["values"] for item in content["invariants"]]
        values = [_whole_values(each, sums) for each, sums in zip(stated, claims, strict=True)]
        nonnegative = content["constraints"]["nonnegative"] or content.get("topdown") is not None
    except DAMAGE as error:
        yield Check("certificate", holds=False, detail=_in_words(error))
        return
    if name == "statistic.csv":
        yield _statistic_check(folder / name, cells.size // 4)
        return
    if name == "estimate.csv":
        yield _estimate_check(folder / name, content["mechanism"])
        return
    if name.endswith(".parquet") and not file_check(folder, name, expected, (name,)).holds:
        # there is damage to Parquet that ends the process that reads it, past any handler
        yield Check("schema", holds=False, detail=f"{name} is not the certified file: it is not read")
        return
    try:
        quotes = content.get("quoted_formulas") is True and name.endswith(".csv")
        counts = read_counts(folder / name, cells.quoted if quotes else cells)
    except (*DAMAGE, HoldfastError) as error:
        require_memory(error)
        yield Check("schema", holds=False, detail=_in_words(error))
        return
    yield Check("schema", holds=True)
    if nonnegative:
        yield Check.that("counts at least 0", bool((counts >= 0).all()), "a count is negative")
    if cells.impossible:
        empty = not counts[~cells.possible].any()
        yield Check.that("structural zeros", empty, "a structural zero holds a count")
    for sums, bounds in floors:
        yield _floor_check(sums, bounds, counts)
    for sums, told in zip(claims, values, strict=True):
        yield _invariant_check(sums, told, counts)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table as a certificate tells them."""

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    impossible: tuple[int, ...]
    count: str
    nestings: tuple[Nesting, ...] = ()

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Cells":
        """Return the cells of the section of a table; raises where it is damaged."""
        attributes, zeros = table["schema"]["attributes"], table["schema"]["structural_zeros"]
        names = tuple(item["name"] for item in attributes)
        levels = tuple(tuple(item["levels"]) for item in attributes)
        for words in ((*names, table["count"]), *levels):
            if len(set(words)) < len(words) or not all(type(word) is str for word in words):
                raise DamagedError("a name or a level of the table stands twice, or is none")
        nestings = tuple(
            Nesting(item["attribute"], item["within"], tuple(item["parents"]))
            for item in table["schema"].get("within", ())
        )
        sizes = dict(zip(names, map(len, levels), strict=True))
        try:
            size = cells_of(sizes, nestings)
        except ValueError as error:
            raise DamagedError(f"the nesting of the table is damaged: {error}") from None
        if not names or not 0 < size <= MOST_CELLS:
            raise DamagedError("the table has no cells, or too many")
        if not all(type(cell) is int and 0 <= cell < size for cell in zeros):
            raise DamagedError("a structural zero is not in the table")
        return cls(names, levels, tuple(zeros), table["count"], nestings)

    @property
    def quoted(self) -> "Cells":
        """The same with names as they stand in a file where formulas are quoted."""
        levels = tuple(tuple(map(quoted, own)) for own in self.levels)
        return replace(
            self,
            names=tuple(map(quoted, self.names)),
            levels=levels,
            count=quoted(self.count),
            nestings=tuple(one.renamed(quoted) for one in self.nestings),
        )

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.grid.size

    @cached_property
    def grid(self) -> Grid:
        """The cells as a product of axes."""
        return Grid.of(dict(zip(self.names, map(len, self.levels), strict=True)), self.nestings)

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """For each cell, whether it can occur."""
        mask = np.ones(self.size, dtype=np.bool_)
        mask[list(self.impossible)] = False
        return mask

    def in_words(self, cell: int) -> str:
        """Return the levels of a cell by their attributes."""
        codes = self.grid.cell(cell)
        named = zip(self.names, self.levels, strict=True)
        return ", ".join(f"{name} = {levels[codes[name]]!r}" for name, levels in named)

    def codes(self, name: str) -> Counts:
        """Return, for each cell, the place of its level of an attribute."""
        return self.grid.codes(name)


@dataclass(frozen=True, eq=False)
class Sums:
    """What an invariant or an inequality adds up: a row for each label."""

    name: str
    labels: tuple[str, ...]
    cells: Cells
    attributes: tuple[str, ...]
    where: Mapping[str, Sequence[str]]
    entries: tuple[list[int], list[int], list[int]] | None
    """Rows, cells and weights, where cells are weighted."""

    @classmethod
    def of(cls, item: Mapping[str, Any], cells: Cells) -> "Sums":
        """Return the sums of a section; raises where it is damaged."""
        kind, attributes, where = item["kind"], tuple(item["attributes"]), dict(item["where"])
        labels = tuple(item["labels"])
        if not all(type(word) is str for word in (item["name"], *labels)):
            raise DamagedError("a name or a label of an invariant is none")
        if kind not in ("margin", "total", "where", "weights") or len(set(attributes)) < len(attributes):
            raise DamagedError(f"the invariant {item['name']!r} is of no known kind")
        if not {*attributes, *where} <= set(cells.names):
            raise DamagedError(
                f"the invariant {item['name']!r} speaks of an attribute that the table does not have"
            )
        entries = None
        if kind == "weights":
            entries = (list(item["rows"]), list(item["cells"]), list(item["weights"]))
            rows, places, weights = entries
            whole = all(type(number) is int for part in entries for number in part)
            if not (whole and len(rows) == len(places) == len(weights)):
                raise DamagedError(f"the weights of {item['name']!r} are not whole numbers")
            if any(not 0 <= row < len(labels) for row in rows) or any(
                not 0 <= cell < cells.size for cell in places
            ):
                raise DamagedError(f"the weights of {item['name']!r} are not of the table")
        return cls(item["name"], labels, cells, attributes, where, entries)

    def evaluate(self, counts: Counts) -> list[int]:
        """Return the sums for some counts, exactly."""
        found = self._weighted(counts) if self.entries is not None else self._plain(counts)
        if len(found) != len(self.labels):
            raise DamagedError(f"there are {len(found)} sums for {len(self.labels)} labels")
        return found

    def by_levels(self, counts: Counts) -> dict[tuple[str, ...], int]:
        """Return the counts of a margin other than 0, by the levels of its attributes."""
        cells, margin = self.cells, self.cells.grid.over(self.attributes)
        sums = np.zeros(margin.size, dtype=np.int64)
        np.add.at(sums, cells.grid.rows(margin), counts)
        found = np.flatnonzero(sums)
        columns = [
            [cells.levels[cells.names.index(name)][code] for code in margin.codes(name)[found].tolist()]
            for name in self.attributes
        ]
        keys = zip(*columns, strict=True) if columns else ((),) * found.size
        return dict(zip(keys, sums[found].tolist(), strict=True))

    def _plain(self, counts: Counts) -> list[int]:
        """Add up counts: their sizes fit 64 bits together, so every sum does."""
        cells, margin = self.cells, self.cells.grid.over(self.attributes)
        row, length = cells.grid.rows(margin), margin.size
        chosen = np.ones(counts.size, dtype=np.bool_)
        for name, levels in self.where.items():
            known = cells.levels[cells.names.index(name)]
            picked = np.zeros(len(known), dtype=np.bool_)
            picked[[known.index(level) for level in levels]] = True
            chosen &= picked[cells.codes(name)]
        met = np.zeros(length, dtype=np.bool_)
        met[row[chosen]] = True
        chosen &= cells.possible
        sums = np.zeros(length, dtype=np.int64)
        np.add.at(sums, row[chosen], counts[chosen])
        return [int(value) for value in sums[met].tolist()]

    def _weighted(self, counts: Counts) -> list[int]:
        """Add up weighted counts in integers of any size."""
        sums, known, possible = [0] * len(self.labels), counts.tolist(), self.cells.possible
        for row, cell, weight in zip(*(self.entries or ()), strict=True):
            sums[row] += weight * known[cell] if possible[cell] else 0
        return sums


def read_counts(path: Path, cells: Cells) -> Counts:
    """Return the counts of a released table; raises where it is not as a release writes it."""
    try:
        parquet = path.suffix == ".parquet"
        counts = _parquet(path, cells) if parquet else _whole_counts(read_column(path, cells), path.name)
    except OSError as error:
        require_memory(error)
        raise DamagedError(f"{path.name} cannot be read") from None
    if sum(map(abs, counts.tolist())) >= 2**63:
        raise DamagedError(f"the counts of {path.name} sum to more than fits 64 bits")
    return counts


def read_column(path: Path, cells: Cells) -> list[str]:
    """Return what stands for each cell of a CSV file, in its place: the row must begin with its levels."""
    try:
        text = _read(path).decode("utf-8")
    except UnicodeDecodeError:
        raise DamagedError(f"{path.name} is not UTF-8 text") from None
    header = _row((*cells.names, cells.count)) + "\n"
    if not text.startswith(header):
        raise DamagedError(f"{path.name} does not begin with the row {header[:-1]!r}")
    at, found = len(header), list[str]()
    fields = [np.array([_field(level) for level in levels], dtype=object) for levels in cells.levels]
    columns = [own[cells.codes(name)] for name, own in zip(cells.names, fields, strict=True)]
    for levels in zip(*columns, strict=True):
        begin = ",".join(levels) + ","
        start = at + len(begin)
        end = text.find("\n", start)
        if end < 0 or not text.startswith(begin, at):
            raise DamagedError(
                f"{path.name}, row {len(found) + 2} is not that of {cells.in_words(len(found))}"
            )
        found.append(text[start:end])
        at = end + 1
    if at != len(text):
        raise DamagedError(f"{path.name} has more than the {cells.size:,} rows of its cells")
    return found


def _whole_counts(found: list[str], name: str) -> Counts:
    for row, digits in enumerate(found, start=2):
        # one way to write a number: no sign but a minus, no leading zero, no space, no dot
        if len(digits) > 20 or not digits.removeprefix("-").isdecimal() or str(int(digits)) != digits:
            raise DamagedError(
                f"{name}, row {row} has {digits[:20]!r}, which is not a whole number as it is written"
            )
    try:
        return np.array([int(digits) for digits in found], dtype=np.int64)
    except OverflowError:
        raise DamagedError(f"{name} has a number that does not fit 64 bits") from None


def _parquet(path: Path, cells: Cells) -> Counts:
    import polars as pl  # noqa: PLC0415 - for Parquet alone

    from holdfast.data.files import open_file  # noqa: PLC0415

    source = open_file(path, most_rows=cells.size, released=True)
    frame = pl.DataFrame(source.load(range(len(source.header))))
    kinds: dict[str, pl.DataType] = {**dict.fromkeys(cells.names, pl.String()), cells.count: pl.Int64()}
    if list(frame.schema.items()) != list(kinds.items()):
        raise DamagedError(
            f"{path.name} does not have the columns {_row(tuple(kinds))!r} of texts and whole numbers"
        )
    if frame.height != cells.size or any(frame.null_count().row(0)):
        raise DamagedError(f"{path.name} does not list each of the {cells.size:,} cells once")
    for name, levels in zip(cells.names, cells.levels, strict=True):
        expected = pl.Series(levels, dtype=pl.String).gather(cells.codes(name))
        wrong = (frame[name] != expected).arg_true()
        if wrong.len():
            raise DamagedError(f"{path.name}, row {wrong[0] + 1}, column {name!r} is not that of its cell")
    return frame[cells.count].to_numpy()


def _field(text: str) -> str:
    """Return a field of CSV, in quotes where it needs them."""
    if text and not any(sign in text for sign in ',"\n\r'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _row(fields: Iterable[str]) -> str:
    return ",".join(map(_field, fields))


def _whole_values(values: Sequence[Any], sums: Sums) -> list[int]:
    if len(values) != len(sums.labels) or not all(type(value) is int for value in values):
        raise DamagedError(f"the values of {sums.name!r} are not one whole number for each label")
    return list(values)


def _bounds(item: Mapping[str, Any]) -> dict[str, int]:
    found = {name: item[name] for name in ("at_least", "at_most") if item.get(name) is not None}
    if not found or any(type(bound) is not int for bound in found.values()):
        raise DamagedError("a bound is not a whole number")
    return found


def _floor_check(sums: Sums, bounds: Mapping[str, int], counts: Counts) -> Check:
    name = f"inequality {sums.name}"
    try:
        found = sums.evaluate(counts)
    except DAMAGE as error:
        return Check(name, holds=False, detail=_in_words(error))
    for bound, words, worst in (("at_least", "below", min), ("at_most", "above", max)):
        if bound in bounds and len(found):
            value, limit = int(worst(found)), bounds[bound]
            if (value < limit) if bound == "at_least" else (value > limit):
                return Check(name, holds=False, detail=f"{value} is {words} {limit}")
    return Check(name, holds=True)


def _invariant_check(sums: Sums, stated: list[int], counts: Counts) -> Check:
    name = f"invariant {sums.name}"
    try:
        found = sums.evaluate(counts)
    except DAMAGE as error:
        return Check(name, holds=False, detail=_in_words(error))
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
        steps, names = int(mechanism["steps"]), list(mechanism["coefficients"])
        pairs = zip(mechanism["low"], mechanism["high"], strict=True)
        ends = [(Fraction(one), Fraction(other)) for one, other in pairs]
        if steps < 1 or any(low >= high for low, high in ends):
            raise DamagedError("a grid has no points")
    except (*DAMAGE, ZeroDivisionError) as error:
        return Check("estimate", holds=False, detail=_in_words(error))
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


def file_check(
    folder: Path, name: str, expected: object, known: Sequence[str] = (*OUTPUTS, *BESIDE, PAGE)
) -> Check:
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


def _in_words(error: BaseException) -> str:
    told = isinstance(error, DamagedError | HoldfastError)
    return str(error).rstrip(".") if told else f"{CERTIFICATE} is damaged: restore it from the release"
