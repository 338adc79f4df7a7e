"""What was published before, read for a release that is to keep it.

An earlier release is taken as its folder says it, once its seal and its files are as its certificate has
them. What it cost comes from there too. The numbers of any other table cost what the spec says.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from holdfast.certificate.parts import TablePart
from holdfast.certificate.quick import seal_checks
from holdfast.certificate.read import read_certificate
from holdfast.certificate.text import read_text
from holdfast.data.files import Source, open_file
from holdfast.data.geography import Regions
from holdfast.data.node_queries import NodeQuery
from holdfast.data.published import PublishedSums
from holdfast.data.table import first_repeated_row
from holdfast.lattice.arrays import IntArray
from holdfast.privacy.guarantee import format_parameter
from holdfast.public import Public
from holdfast.spec.model import Spec
from holdfast.spec.published import PublishedBefore
from holdfast.system.errors import DataError, SpecError
from holdfast.system.text import closest, in_quotes
from holdfast.system.ways import setting


def with_published(spec: Spec, public: Public) -> Public:
    """Return what is public with what was published before and is to be kept."""
    if not spec.published:
        return public
    regions = Regions.of(public.schema, public.geography)
    found = tuple(
        _sums(spec, asked, regions, setting("published", number))
        for number, asked in enumerate(spec.published, start=1)
    )
    return replace(public, published=found)


@dataclass(frozen=True, eq=False)
class _Earlier:
    """A table that was published: its columns as text, its numbers, and what they cost."""

    name: str
    columns: Mapping[str, Sequence[str]]
    counts: IntArray
    source: str
    cost: str


def _sums(spec: Spec, asked: PublishedBefore, regions: Regions, place: str) -> PublishedSums:
    earlier = _of_release(spec, asked) if asked.release is not None else _of_file(spec, asked)
    there = dict(asked.columns)
    for name in (*there, *(asked.margin or ()), *asked.recode):
        if name not in regions.names:
            raise SpecError(
                f"{place} names {name!r}, which is not among the cells: {closest(name, regions.names)}"
            )
    level = asked.level or next((one for one in reversed(regions.levels) if one in earlier.columns), None)
    if level is None or level not in regions.levels or level not in earlier.columns:
        raise SpecError(
            f"{place}: {earlier.name} has no column {in_quotes(level or regions.levels[-1])} with the"
            " codes of"
            f" a level: name one with level, of {', '.join(regions.levels)}."
        )
    margin = asked.margin
    if margin is None:
        margin = tuple(name for name in regions.names if there.get(name, name) in earlier.columns)
    for name in (*there, *asked.recode, *margin):
        if there.get(name, name) not in earlier.columns:
            raise SpecError(
                f"{place}: {earlier.name} has no column {there.get(name, name)!r}:"
                f" {closest(there.get(name, name), list(earlier.columns))}"
            )
    for key, names in (("columns", there), ("recode", asked.recode)):
        if idle := [name for name in names if name not in margin]:
            raise SpecError(
                f"{place} {key} is of {idle[0]!r}, by which nothing is kept: add it to margin, or leave it"
                " out."
            )
    query = NodeQuery.asked(margin, regions, recode=asked.recode, key="published")
    values = _values(earlier, [there.get(name, name) for name in query.marginal], query, (level, regions))
    recode = {name: dict(groups) for name, groups in query.recode.items()}
    return PublishedSums(level, query.marginal, recode, values, earlier.source, earlier.cost)


def _values(earlier: _Earlier, columns: Sequence[str], query: NodeQuery, at: tuple[str, Regions]) -> IntArray:
    """Return the sums of an earlier table at every node of a level."""
    level, regions = at
    nodes = {code: place for place, code in enumerate(regions.spine.codes(level))}
    rows = {label: place for place, label in enumerate(query.labels)}
    codes = earlier.columns[level]
    labels = list(zip(*(earlier.columns[name] for name in columns), strict=True)) or [()] * len(codes)
    found = np.zeros((len(nodes), len(rows)), dtype=np.int64)
    met = np.zeros(len(nodes), dtype=np.bool_)
    for code, label, count in zip(codes, labels, earlier.counts.tolist(), strict=True):
        if code not in nodes:
            if count == 0:
                continue
            raise DataError(
                f"{earlier.name} has the {level} {in_quotes(code)}, which the data do not have:"
                " tables that keep"
                " what was published have the same places, so list it with a count of 0."
            )
        met[nodes[code]] = True
        if label in rows:
            found[nodes[code], rows[label]] += count
        elif count:
            raise DataError(
                f"{earlier.name} has {in_quotes(', '.join(label))} with a count, and no cell is in"
                " it: put levels"
                f" together as it has them, by {setting('published', 'recode')}."
            )
    if not met.all():
        missing = next(code for code, place in nodes.items() if not met[place])
        raise DataError(
            f"{earlier.name} does not have the {level} {in_quotes(missing)}: what is kept is kept at"
            " every node"
            " of a level, so name a level that it has whole."
        )
    if (found < 0).any():
        raise DataError(
            f"{earlier.name} has sums below zero, which no count keeps: name a table without negative counts."
        )
    return found


def _of_release(spec: Spec, asked: PublishedBefore) -> _Earlier:
    folder = spec.resolve(asked.release or "")
    certificate = read_certificate(folder)
    tables = [part for part in certificate.parts if isinstance(part, TablePart)]
    names = [part.name for part in tables]
    if asked.table is not None and asked.table not in names:
        raise SpecError(f"{folder} has no table {asked.table!r}: {closest(asked.table, names)}")
    if asked.table is None and len(tables) != 1:
        raise SpecError(
            f"{folder} holds {', '.join(names) or 'no table'}: name one with table in {setting('published')}."
        )
    part = next(each for each in tables if asked.table in (None, each.name))
    guarantee = certificate.alone(part.name).guarantee
    text = read_text(folder)
    checks = seal_checks(folder, text, json.loads(text), page=False)
    wrong = [check.name for check in checks if not check.holds]
    file = next((name for name in certificate.files if Path(name).stem == part.name), None)
    if wrong or file is None:
        raise DataError(
            f"{folder} is not as its certificate has it ({wrong[0] if wrong else part.name}): restore it from"
            " the release."
        )
    frame = _frame(open_file(folder / file))
    loss = " and ".join(f"{name} {format_parameter(value)}" for name, value in guarantee.intensity.items())
    unit = guarantee.unit.value
    counts = _whole(folder / file, frame, part.table.count)
    columns = {name: frame[name].to_list() for name in frame.columns if name != part.table.count}
    return _Earlier(str(folder), columns, counts, certificate.settled, f"{loss} for one {unit.name}")


def _of_file(spec: Spec, asked: PublishedBefore) -> _Earlier:
    path = spec.resolve(asked.file or "")
    source = open_file(path)
    frame = _frame(source)
    count = asked.count or ""
    if count not in frame.columns:
        raise SpecError(f"{path} has no column {count!r}: {closest(count, frame.columns)}")
    counts = _whole(path, frame, count)
    columns = {name: frame[name].to_list() for name in frame.columns if name != count}
    _require_rows_once(source, frame.drop(count))
    return _Earlier(str(path), columns, counts, "", asked.cost or "")


def _require_rows_once(source: Source, labels: pl.DataFrame) -> None:
    """Raise where two rows are alike but for their numbers: whether these add up is not known."""
    if labels.width == 0:
        return
    if (again := first_repeated_row(labels)) is not None:
        first, second = map(source.row, again)
        raise DataError(
            f"{source.name}, {second} repeats {first}: list each cell once, added up if both are meant."
        )


def _frame(source: Source) -> pl.DataFrame:
    columns = source.load(range(len(source.header)))
    return pl.DataFrame(dict(zip(source.header, columns, strict=True))).cast(pl.String)


def _whole(path: Path, frame: pl.DataFrame, count: str) -> IntArray:
    try:
        return frame[count].cast(pl.Int64).to_numpy().astype(np.int64)
    except (pl.exceptions.PolarsError, ValueError):
        raise DataError(f"{path}, column {count!r} has what is no whole number: correct it.") from None
