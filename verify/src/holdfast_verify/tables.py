"""A released table against all that its certificate says it keeps, with exact equality.

A table is written in one way only, so it is read in one way only: each row must be the next cell, and each
count a whole number as it is written.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from io import StringIO
from itertools import compress
from math import isfinite
from operator import eq, ge, le
from pathlib import Path
from typing import Any, NamedTuple

from holdfast_verify.cells import STATUSES, Cells, Claim
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

_COUNT = re.compile(r"0|-?[1-9][0-9]{0,18}")


class Check(NamedTuple):
    """One thing that was looked at: whether it holds, None where it cannot be looked at here, and why."""

    name: str
    holds: bool | None
    detail: str = ""

    @classmethod
    def that(cls, name: str, holds: bool, otherwise: str) -> "Check":
        """Return the check, with what is wrong if it does not hold."""
        return cls(name, holds, "" if holds else otherwise)


def table_checks(folder: Path, file: str, part: Any, *, quoted: bool, sealed: bool) -> Iterator[Check]:
    """Check the file of one part; ``sealed`` says that it is the one whose hash is certified."""
    cells = Cells.of(field(part, "table"))
    claims = [(Claim.of(item, cells), wholes(item, "values")) for item in objects(part, "invariants")]
    constraints = object_of(part, "constraints")
    bounds = [(Claim.of(item, cells), _bounds(item)) for item in objects(constraints, "inequalities")]
    if any(len(values) != len(claim.labels) for claim, values in claims):
        raise DamagedError("the values of an invariant are not one for each label")
    if file == "statistic.csv" and part.get("alone") is None:
        yield _statistic(folder / file, cells.size // 4)
        return
    if file == "estimate.csv" and part.get("alone") is None:
        yield _estimate(folder / file, object_of(part, "mechanism"))
        return
    if file.endswith(".parquet") and not sealed:
        yield Check("schema", holds=False, detail=f"{file} is not the certified file: it is not read")
        return
    try:
        counts = counts_of(folder / file, cells, quoted=quoted)
    except DamagedError as error:
        yield Check("schema", holds=False, detail=str(error))
        return
    yield Check("schema", holds=True)
    # what was estimated from measurements is never below 0
    if field(constraints, "nonnegative") or any(
        output.endswith("measurements") for output in texts(part, "outputs")[1:]
    ):
        yield Check.that("counts at least 0", min(counts) >= 0, "a count is negative")
    if cells.zeros:
        empty = not any(compress(counts, cells.zeros))
        yield Check.that("structural zeros", empty, "a structural zero holds a count")
    for claim, (low, high) in bounds:
        yield _bound_check(claim, low, high, cells, counts)
    for claim, values in claims:
        yield _invariant_check(claim, values, cells, counts)


def counts_of(path: Path, cells: Cells, *, quoted: bool) -> list[int]:
    """Return the counts of a released table."""
    if path.suffix == ".parquet":
        counts = _parquet(path, cells)
    else:
        counts = []
        for row, text in enumerate(column_of(path, cells.quoted if quoted else cells), start=2):
            if not _COUNT.fullmatch(text):
                raise DamagedError(f"{path.name}, row {row} has no whole number as it is written")
            counts.append(int(text))
    if sum(map(abs, counts)) >= 2**63:
        raise DamagedError(f"the counts of {path.name} sum to more than fits 64 bits")
    return counts


def column_of(path: Path, cells: Cells) -> Iterator[str]:
    """Yield the count of each cell of a CSV file as it is written: each row must begin with its levels."""
    try:
        text = plain_bytes(path).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise DamagedError(f"{path.name} cannot be read") from None
    header = _row(cells.columns) + "\n"
    if not text.startswith(header):
        raise DamagedError(f"{path.name} does not begin with its attributes and {cells.count!r}")
    at = len(header)
    fields = {name: list(map(_field, levels)) for name, levels in cells.levels.items()}
    for row, levels in enumerate(cells.rows(fields), start=2):
        begin = ",".join(levels) + ","
        start = at + len(begin)
        end = text.find("\n", start)
        if end < 0 or not text.startswith(begin, at):
            raise DamagedError(f"{path.name}, row {row} is not that of its cell")
        count, _, status = text[start:end].rpartition(",") if cells.status else (text[start:end], "", "")
        if cells.status and status not in STATUSES:
            raise DamagedError(f"{path.name}, row {row} does not end in a status")
        yield count
        at = end + 1
    if at != len(text):
        raise DamagedError(f"{path.name} has more than the {cells.size:,} rows of its cells")


def agreements(
    folder: Path, content: dict[str, Any], files: dict[str, str], *, quoted: bool
) -> Iterator[Check]:
    """Check that tables which keep the same margin give it the same numbers."""
    read = {}
    for part in objects(content, "parts"):
        cells, file = Cells.of(field(part, "table")), files[texts(part, "outputs")[0]]
        read[text_of(part, "name")] = cells, counts_of(folder / file, cells, quoted=quoted)
    for shared in objects(object_of(content, "joined"), "shared"):
        names, tables = texts(shared, "attributes"), texts(shared, "exact")
        if not set(tables) <= set(read) or not all(set(names) <= set(read[one][0].levels) for one in tables):
            raise DamagedError("a margin that is shared is not in its tables")
        margins = [_margin(*read[one], names) for one in tables]
        if len(margins) > 1:
            what = " by ".join(names) or "the total"
            same = all(margin == margins[0] for margin in margins)
            yield Check.that(
                f"{what} agrees in {' and '.join(tables)}", same, "the tables give other numbers"
            )
    if "across" in object_of(content, "joined"):
        for item in objects(object_of(content, "joined"), "across"):
            yield _across(item, read)


def _across(item: Any, read: dict[str, tuple[Cells, list[int]]]) -> Check:
    """Check a constraint across two tables at every node of a level of their geography."""
    name, level, sense = text_of(item, "name"), text_of(item, "level"), text_of(item, "sense")
    keeps, zero = _SENSES.get(sense), field(item, "zero")
    if keeps is None or type(zero) is not bool:
        raise DamagedError("a constraint across tables is none")
    sides = []
    for end in ("left", "right"):
        side = object_of(item, end)
        table, margin, where = text_of(side, "table"), texts(side, "margin"), object_of(side, "where")
        times, chosen = field(side, "times"), {one: texts(where, one) for one in where}
        if table not in read or type(times) is not int:
            raise DamagedError("a constraint across tables is none")
        cells, counts = read[table]
        if not {level, *margin, *chosen} <= set(cells.levels):
            raise DamagedError("a constraint across tables is not of its tables")
        found = _margin(cells, counts, [level, *margin], chosen)
        sides.append({levels: times * count for levels, count in found.items()})
    left, right = sides
    for levels in {**left, **right}:
        mine, theirs = left.get(levels, 0), right.get(levels, 0)
        if not keeps(mine, theirs) or (zero and mine and not theirs):
            told = f"{mine} on the left and {theirs} on the right at {', '.join(levels)}"
            return Check(f"across tables: {name}", holds=False, detail=told)
    return Check(f"across tables: {name}", holds=True, detail="")


_SENSES: dict[str, Callable[[int, int], bool]] = {">=": ge, "==": eq, "<=": le}


def _margin(
    cells: Cells, counts: list[int], names: list[str], where: dict[str, list[str]] | None = None
) -> dict[tuple[str, ...], int]:
    """Return the counts of a margin other than 0, by levels, among the cells of a selection."""
    chosen = [(list(cells.levels).index(name), set(levels)) for name, levels in (where or {}).items()]
    places, found = [list(cells.levels).index(name) for name in names], dict[tuple[str, ...], int]()
    for row, count in zip(cells.rows(cells.levels), counts, strict=True):
        if not all(row[at] in levels for at, levels in chosen):
            continue
        key = tuple(row[at] for at in places)
        found[key] = found.get(key, 0) + count
    return {key: count for key, count in found.items() if count}


def _bounds(item: Any) -> tuple[int | None, int | None]:
    low, high = item.get("at_least"), item.get("at_most")
    if (low is None and high is None) or any(
        bound is not None and type(bound) is not int for bound in (low, high)
    ):
        raise DamagedError("a bound is not a whole number")
    return low, high


def _bound_check(claim: Claim, low: int | None, high: int | None, cells: Cells, counts: list[int]) -> Check:
    name = f"inequality {claim.name}"
    try:
        found = claim.sums(cells, counts)
    except DamagedError as error:
        return Check(name, holds=False, detail=str(error))
    if found and low is not None and min(found) < low:
        return Check(name, holds=False, detail=f"{min(found)} is below {low}")
    if found and high is not None and max(found) > high:
        return Check(name, holds=False, detail=f"{max(found)} is above {high}")
    return Check(name, holds=True)


def _invariant_check(claim: Claim, values: list[int], cells: Cells, counts: list[int]) -> Check:
    name = f"invariant {claim.name}"
    try:
        found = claim.sums(cells, counts)
    except DamagedError as error:
        return Check(name, holds=False, detail=str(error))
    wrong = [at for at, value in enumerate(values) if found[at] != value]
    if not wrong:
        return Check(f"{name}: {len(values)} kept", holds=True)
    first, more = wrong[0], f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return Check(
        name, holds=False, detail=f"{claim.labels[first]} is {found[first]}, not {values[first]}{more}"
    )


def _lines(path: Path) -> list[str]:
    try:
        return plain_bytes(path).decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return []


def _number(text: str) -> float | None:
    """Return a number that is written with the fewest digits that tell it, None where it is not."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and repr(value) == text else None


def _statistic(path: Path, strata: int) -> Check:
    """Check that there is one number for each 2 x 2 table, every digit of it."""
    lines = _lines(path)
    numbers = [_number(line.partition(",")[2]) for line in lines[1:-1]]
    written = ["stratum,value", *(f"{at},{value!r}" for at, value in enumerate(numbers, start=1)), ""]
    if None in numbers or lines != written:
        return Check("statistic", holds=False, detail=f"{path.name} is not a list of statistics")
    return Check.that("statistic", len(numbers) == strata, f"there are {len(numbers)} numbers, not {strata}")


def _estimate(path: Path, mechanism: dict[str, Any]) -> Check:
    """Check that there is one number for each estimate, on its grid, every digit of it."""
    steps, names = field(mechanism, "steps"), texts(mechanism, "coefficients")
    try:
        lows, highs = ([Fraction(one) for one in texts(mechanism, end)] for end in ("low", "high"))
        if type(steps) is not int or steps < 1 or len(lows) != len(highs):
            raise DamagedError("a grid has no points")
        if any(low >= high for low, high in zip(lows, highs, strict=True)):
            raise DamagedError("a grid has no points")
    except (ValueError, ZeroDivisionError):
        return Check("estimate", holds=False, detail="a grid has no points")
    lines = _lines(path)
    numbers = [_number(line.rpartition(",")[2]) for line in lines[1:-1]]
    written = StringIO("")
    csv.writer(written, lineterminator="\n").writerows(zip(names, map(repr, numbers), strict=False))
    whole = lines[:1] == ["estimate,value"] and written.getvalue() == "\n".join(lines[1:])
    if not whole or not len(numbers) == len(names) == len(lows):
        return Check("estimate", holds=False, detail=f"{path.name} is not a list of these estimates")
    for name, value, low, high in zip(names, numbers, lows, highs, strict=True):
        place = -1 if value is None else round((Fraction(value) - low) * steps / (high - low))
        if not 0 <= place <= steps or float(low + (high - low) * place / steps) != value:
            return Check("estimate", holds=False, detail=f"{name} is not on its grid")
    return Check("estimate", holds=True)


def _parquet(path: Path, cells: Cells) -> list[int]:
    """Return the counts of a table in Parquet, which only pyarrow reads."""
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415 - where it is installed
    except ImportError:
        raise NotCheckedError(f"{path.name} is a Parquet file, and pyarrow is not installed") from None
    try:
        table = parquet.read_table(path, partitioning=None)
    except (ArrowException, OSError):
        raise DamagedError(f"{path.name} cannot be read") from None
    kinds, place = [str(column.type) for column in table.schema], len(cells.levels)
    others = {*kinds[:place], *kinds[place + 1 :]}
    if table.column_names != [*cells.columns] or kinds[place] != "int64" or not others <= _TEXTS:
        raise DamagedError(f"{path.name} does not have the columns of its certificate")
    if table.num_rows != cells.size or any(column.null_count for column in table.columns):
        raise DamagedError(f"{path.name} does not list each of the {cells.size:,} cells once")
    columns = [column.to_pylist() for column in table.columns]
    for row, (levels, *told) in enumerate(
        zip(cells.rows(cells.levels), *columns[:place], strict=True), start=1
    ):
        if levels != tuple(told):
            raise DamagedError(f"{path.name}, row {row} is not that of its cell")
    if cells.status and not {*columns[-1]} <= {*STATUSES}:
        raise DamagedError(f"{path.name} has a status that is none")
    return list(columns[place])


_TEXTS = {"string", "large_string", "string_view"}


def _field(text: str) -> str:
    """Return a field of CSV, in quotes where it needs them."""
    if text and not any(sign in text for sign in ',"\n\r'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _row(fields: Iterable[str]) -> str:
    return ",".join(map(_field, fields))
