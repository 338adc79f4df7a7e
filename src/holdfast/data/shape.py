"""A source as a spec asks for it: rows left out, wide columns made long, parts of dates, spellings folded.

Each step makes a source of a source, whose columns are loaded when they are asked for. A file is still known
by what it holds, whatever the shape: see `Source.origin`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from holdfast.data.columns import Columns, as_text
from holdfast.data.dates import days, part_of
from holdfast.data.files import Source
from holdfast.spec.data import Data
from holdfast.spec.shape import Derived, Wide, two
from holdfast.system.errors import DataError
from holdfast.system.text import closest, in_quotes
from holdfast.system.ways import assigned, setting

Change = Callable[[str, pl.Series], pl.Series]
"""From the name of a column and its values to others."""


def shaped(source: Source, asked: Data) -> Source:
    """Return a source with the rows and columns that a spec speaks of."""
    left_out = not asked.omit or source.grouped  # a database leaves rows out before it groups
    found = source if left_out else _without_rows(source, asked.omit)
    for name, derived in asked.derive.items():
        found = _with_part(found, name, derived)
    if asked.thousands:
        counts = [name for name in found.header if name == asked.count or asked.wide is not None]
        found = _changed(found, counts, lambda _, column: _ungrouped(column, asked.thousands))
    if asked.wide is not None and asked.count is not None:
        found = _long(found, asked.wide, asked.count, asked.attributes)
    if asked.fold:
        found = _changed(
            found,
            asked.cells,
            lambda name, column: _folded(as_text(source, column.alias(name)), asked.levels.get(name, ())),
        )
    return found if found is source else replace(found, origin=source)


def _place(source: Source, name: str) -> int:
    if name not in source.header:
        said = f"{source.name} has no column {in_quotes(name)}: {closest(name, source.header)}"
        raise DataError(source.hint or said)
    return source.header.index(name)


def _without_rows(source: Source, omit: Mapping[str, tuple[str, ...]]) -> Source:
    """Return a source without the rows that have one of some levels: sums of other rows."""
    masks = []
    for name, levels in omit.items():
        (column,) = source.load([_place(source, name)])
        masks.append(~column.cast(pl.String).is_in(list(levels)).fill_null(value=False).to_numpy())
    kept = np.logical_and.reduce(masks)
    rows, mask = np.flatnonzero(kept), pl.Series(kept)

    def load(places: Sequence[int]) -> list[pl.Series]:
        return [column.filter(mask) for column in source.load(places)]

    return replace(source, load=load, spoken=lambda record: source.row(int(rows[record])))


def _changed(source: Source, names: Sequence[str], change: Change) -> Source:
    """Return a source some of whose columns are changed as they are loaded."""

    def load(places: Sequence[int]) -> list[pl.Series]:
        loaded = source.load(places)
        return [
            change(source.header[place], column) if source.header[place] in names else column
            for place, column in zip(places, loaded, strict=True)
        ]

    return replace(source, load=load)


def _folded(column: pl.Series, declared: Sequence[str]) -> pl.Series:
    """Return levels without spaces around them, in one case: as declared, else as the first is spelled."""
    spelled = {_key(level): level for level in declared}
    new = {}
    for value in column.drop_nulls().unique(maintain_order=True).to_list():
        new[value] = spelled.setdefault(_key(value), " ".join(value.split()))
    return column.replace(list(new), list(new.values())) if new else column


def _key(level: str) -> str:
    return " ".join(level.split()).casefold()


def _ungrouped(column: pl.Series, sign: str) -> pl.Series:
    """Return whole numbers without the sign between their thousands; others stay, and are refused later."""
    if column.dtype != pl.String:
        return column
    grouped = column.str.strip_chars().str.contains(rf"^[+-]?[0-9]{{1,3}}({re.escape(sign)}[0-9]{{3}})+$")
    plain = column.str.strip_chars().str.replace_all(sign, "", literal=True)
    return pl.select(pl.when(grouped).then(plain).otherwise(column)).to_series()


def _with_part(source: Source, name: str, derived: Derived) -> Source:
    """Return a source with a column of parts of dates."""
    at, own = _place(source, derived.source), len(source.header)
    if name in source.header:
        raise DataError(
            f"{source.name} has a column {in_quotes(name)} already: name another in"
            f" {setting('data', 'derive')}."
        )

    def load(places: Sequence[int]) -> list[pl.Series]:
        loaded = source.load([at if place == own else place for place in places])
        return [
            _part(source, derived, column) if place == own else column
            for place, column in zip(places, loaded, strict=True)
        ]

    return replace(source, header=(*source.header, name), load=load)


def _part(source: Source, derived: Derived, column: pl.Series) -> pl.Series:
    """Return a part of each date, in text; raises DataError where one is no date as they are written."""
    text = as_text(source, column.alias(derived.source))
    found = days(text, derived.order)
    wrong = found.is_null() & text.is_not_null() & (text != "")
    if wrong.any():
        row = int(wrong.arg_true()[0])
        out = (
            f"write it as year-month-day, such as 2026-11-18, or name the order of all in"
            f" {setting('data.derive')}, such as {assigned('order', 'day-month-year')}"
            if derived.order is None
            else f"write it as {derived.order}"
        )
        raise DataError(
            f"{source.place(row, derived.source)} is {in_quotes(text[row])}, which is no date: {out}."
        )
    return part_of(found, derived.part)


Counted = tuple[str, str | None, Mapping[str, str]]
"""A column, what is taken from it, and the levels that it counts."""


def _long(source: Source, wide: Wide, count: str, attributes: Sequence[str]) -> Source:
    """Return a source with a row for each row and each of the wide columns, and one column of counts."""
    blocks = _columns(wide) if wide.pattern is None else _matching(source, wide, attributes)
    used = {name for plus, minus, _ in blocks for name in (plus, minus) if name is not None}
    for name in sorted(used):
        _place(source, name)
    rest = [place for place, name in enumerate(source.header) if name not in used and name != count]
    header = (*(source.header[place] for place in rest), *wide.attributes, count)
    rows = len(source.load([source.header.index(blocks[0][0])])[0])

    def load(places: Sequence[int]) -> list[pl.Series]:
        own = source.load([rest[place] for place in places if place < len(rest)])
        loaded = iter([pl.concat([column] * len(blocks)) for column in own])
        found = []
        for place in places:
            if place < len(rest):
                found.append(next(loaded))
            elif header[place] == count:
                found.append(_counts(source, blocks, used))
            else:
                levels = np.repeat(np.arange(len(blocks)), rows)
                names = pl.Series([levels_of[header[place]] for _, _, levels_of in blocks])
                found.append(names.gather(levels))
        return found

    return replace(source, header=header, load=load, spoken=lambda record: source.row(record % rows))


def _counts(source: Source, blocks: Sequence[Counted], used: set[str]) -> pl.Series:
    columns = Columns.of(source, (), sorted(used))
    numbers = {name: columns.integers(name) for name in used}
    found = []
    for plus, minus, _ in blocks:
        values = numbers[plus] if minus is None else numbers[plus] - numbers[minus]
        if (values < 0).any():
            row = int(np.argmax(values < 0))
            more = "" if minus is None else f", less than {in_quotes(minus)}, which is taken from it"
            raise DataError(f"{source.place(row, plus)} is {numbers[plus][row]}{more}: correct the row.")
        found.append(values)
    return pl.Series(np.concatenate(found))


def _columns(wide: Wide) -> list[Counted]:
    return [(*(two(name) or (name, None)), levels) for name, levels in wide.columns.items()]


def _matching(source: Source, wide: Wide, attributes: Sequence[str]) -> list[Counted]:
    """Return the columns whose names follow the pattern; what a difference takes from gives way to it."""
    found: dict[tuple[str, ...], str] = {}
    for name in source.header:
        levels = wide.match(name)
        if levels is not None and name not in attributes:
            found[levels] = name
    differences = {name: two(said) or ("", "") for name, said in wide.differences.items()}
    firsts = {plus for plus, _ in differences.values()}
    blocks: list[Counted] = []
    for levels, name in found.items():
        named = dict(zip(wide.attributes, levels, strict=True))
        for at, level in enumerate(levels):
            for new, (plus, minus) in differences.items():
                if level == plus:
                    other = found.get((*levels[:at], minus, *levels[at + 1 :]))
                    if other is None:
                        raise DataError(
                            f"{source.name} has the column {in_quotes(name)} and none of {in_quotes(minus)}"
                            f" beside it: mend differences in {setting('data.wide')}."
                        )
                    blocks.append((name, other, {**named, wide.attributes[at]: new}))
        if not firsts & set(levels):
            blocks.append((name, None, named))
    if not blocks:
        raise DataError(
            f"{source.name} has no column whose name follows the pattern {in_quotes(wide.pattern or '')}:"
            f" correct {setting('data.wide', 'pattern')}."
        )
    return blocks
