"""Tables of perturbations for the cell-key method, as offices have them: their formats and laws.

    ptable      i; j; p; v        of the R package ptable: i is published as j = i + v with probability p
    ons         pcv, ckey, pvalue of the ONS package: count pcv with key ckey is changed by pvalue
    cantabular  a lookup as Cantabular has it: three columns of other names, or a row for each count and a
                column for each key

The keys of a lookup are equally likely. Counts beyond the table take its last row, or go round its last 250
rows where it has 750 (the rule of the ONS); a count of 0 that is in no row is left as it is.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from holdfast.data.files import require_plain
from holdfast.system.errors import DataError
from holdfast.system.files import require_file
from holdfast.system.text import in_quotes

PerturbationFormat = Literal["ptable", "ons", "cantabular"]
Changes = Mapping[int, Fraction]
MOST_BYTES = 64 << 20
ONS_ROWS, ONS_REPEATS = 750, 250
NEARLY = Fraction(1, 10**4)
"""How far the chances of a count may be from 1 together: they are written with few digits."""
COUNT, KEY, CHANGE = (
    ("pcv", "cell_value", "cellvalue", "cell value", "count", "value"),
    ("ckey", "cell_key", "cellkey", "cell key", "key"),
    ("pvalue", "perturbation", "noise", "change", "pert"),
)
LONGEST = 18
"""Characters of a whole number in a table, as of anything that is counted."""
_NUMBER = re.compile(r"[+-]?\d+(\.0*)?")


@dataclass(frozen=True)
class PerturbationTable:
    """The law of the change of each count, from 0 to the last that the table tells apart."""

    format: PerturbationFormat
    laws: tuple[Changes, ...]
    repeats: int
    """How many of its last rows counts beyond it go round."""

    def law(self, count: int) -> Changes:
        """Return the law of a count's change."""
        last = len(self.laws) - 1
        if count <= last:
            return self.laws[count]
        return self.laws[last - self.repeats + 1 + (count - last - 1) % self.repeats]


def read_perturbation(path: Path) -> PerturbationTable:
    """Read a table of perturbations; raises DataError with the line where it is none."""
    require_file(path, "cell-key table")
    require_plain(path)
    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"{path} is larger than {MOST_BYTES >> 20} MB, which no cell-key table is.")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is no text in UTF-8: write the cell-key table as CSV.") from None
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(map(str.strip, row))]
    except csv.Error as error:
        raise DataError(f"{path} is no CSV file ({error}): write the cell-key table as CSV.") from None
    if len(rows) < 2:
        raise DataError(f"{path} has no rows below its header: it is no cell-key table.")
    names = [name.strip().strip('"').lower() for name in rows[0]]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"{path} has two columns {in_quotes(twice)}: keep one, or name each by what it holds."
        )
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            raise DataError(
                f"{path}, line {line} has {len(row)} fields, and the header has {len(names)}: correct it."
            )
    found: dict[int, dict[int, Fraction]] = {}
    style = _format(path, names)
    entries = _chances(path, names, rows[1:]) if style == "ptable" else _lookup(path, names, rows[1:])
    for line, count, change, chance in entries:
        if count < 0 or count > 10**6:
            raise DataError(f"{path}, line {line} is of the count {count}: counts are from 0 to 1,000,000.")
        if count + change < 0:
            raise DataError(
                f"{path}, line {line} changes the count {count} by {change}, below zero: correct it."
            )
        law = found.setdefault(count, {})
        law[change] = law.get(change, Fraction(0)) + chance
    return _table(path, style, found)


def _format(path: Path, names: Sequence[str]) -> PerturbationFormat:
    if {"i", "p"} <= set(names) and {"j", "v"} & set(names):
        return "ptable"
    if {"pcv", "ckey", "pvalue"} <= set(names):
        return "ons"
    if all(any(name in names for name in some) for some in (COUNT, KEY, CHANGE)):
        return "cantabular"
    keys = names[1:]
    if len(keys) > 1 and all(re.fullmatch(r"[a-z_ ]*\d+", key) for key in keys):
        return "cantabular"
    raise DataError(
        f"{path} has the columns {', '.join(map(in_quotes, names[:6]))}, and a cell-key table has i, j, p"
        f" and v"
        " (R package ptable), pcv, ckey and pvalue (ONS), or a row for each count and a column for each key"
        " (Cantabular): name such a file."
    )


def _chances(
    path: Path, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[tuple[int, int, int, Fraction]]:
    at_i, at_p = names.index("i"), names.index("p")
    at_j, at_v = (names.index(name) if name in names else None for name in "jv")
    for line, row in enumerate(rows, 2):
        count = _whole(path, line, row[at_i])
        column = at_j if at_v is None else at_v
        change = _whole(path, line, row[column or 0]) - (count if at_v is None else 0)
        if at_j is not None and _whole(path, line, row[at_j]) != count + change:
            raise DataError(f"{path}, line {line} has a j that is not i + v: correct it.")
        chance = _chance(path, line, row[at_p])
        if chance:
            yield line, count, change, chance


def _lookup(
    path: Path, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[tuple[int, int, int, Fraction]]:
    known = (COUNT, KEY, CHANGE)
    places = [next((names.index(name) for name in some if name in names), None) for some in known]
    if None in places:
        for line, row in enumerate(rows, 2):
            count = _whole(path, line, row[0])
            for text in row[1:]:
                yield line, count, _whole(path, line, text), Fraction(1, len(row) - 1)
        return
    at_count, at_key, at_change = (place or 0 for place in places)
    told: dict[int, dict[int, tuple[int, int]]] = {}
    for line, row in enumerate(rows, 2):
        count, key, change = (_whole(path, line, row[at]) for at in (at_count, at_key, at_change))
        if key in told.setdefault(count, {}):
            raise DataError(f"{path}, line {line} repeats the key {key} of the count {count}: keep one.")
        told[count][key] = line, change
    sizes = {len(keys) for keys in told.values()}
    if len(sizes) > 1:
        most = max(sizes)
        count = next(count for count, keys in told.items() if len(keys) < most)
        raise DataError(
            f"{path} has {len(told[count])} keys of the count {count} and {most} of others: add them."
        )
    for count, keys in told.items():
        for line, change in keys.values():
            yield line, count, change, Fraction(1, len(keys))


def _table(
    path: Path, style: PerturbationFormat, found: Mapping[int, Mapping[int, Fraction]]
) -> PerturbationTable:
    """Return the laws in order; counts are to be there without a gap, and chances are to add up to one."""
    if not found:
        raise DataError(f"{path} has no perturbation of any count: it is no cell-key table.")
    laws: dict[int, Changes] = {0: {0: Fraction(1)}, **found}
    last = max(laws)
    for count in range(last + 1):
        if count not in laws:
            raise DataError(f"{path} has rows of the count {last} and none of {count}: add them.")
        whole = sum(laws[count].values(), Fraction(0))
        if abs(whole - 1) > NEARLY:
            raise DataError(
                f"{path} has chances of the count {count} that add up to {float(whole):.6g}, and not to 1:"
                " correct them."
            )
        laws[count] = {change: p / whole for change, p in sorted(laws[count].items())}
    repeats = ONS_REPEATS if style == "ons" and last == ONS_ROWS else 1
    return PerturbationTable(style, tuple(laws[count] for count in range(last + 1)), repeats)


def _whole(path: Path, line: int, text: str) -> int:
    text = text.strip().strip('"')
    if not _NUMBER.fullmatch(text) or len(text) > LONGEST:
        raise DataError(f"{path}, line {line} has {in_quotes(text)} where a whole number is: correct it.")
    return int(text.partition(".")[0])


def _chance(path: Path, line: int, text: str) -> Fraction:
    try:
        chance = Fraction(text.strip().strip('"').replace(",", "."))
    except (ValueError, ZeroDivisionError):
        chance = Fraction(-1)
    if not 0 <= chance <= 1 or len(text) > 60:
        raise DataError(f"{path}, line {line} has {in_quotes(text)} where a probability is: correct it.")
    return chance
