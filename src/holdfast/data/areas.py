"""Areas off the spine of a geography: unions of its nodes that are nodes of no level.

A public file says which nodes, of any level, are in which area. Areas of one kind have no node in common;
leaves in none of them are in the area ``none``. So a kind of areas is an attribute in which each leaf lies,
beside the levels [holdfast, data/grid.py].

Levels may be **regrouped**: where areas cut a node, its children on such a level are its parts by area, so
that an area is made of few nodes. Where none does they stay as they are. A level below that a new node cuts
is split. Codes and areas are public, and so is what is made of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from holdfast.data.columns import as_text
from holdfast.data.files import Source, Writing, open_file
from holdfast.data.table import first_repeated_row
from holdfast.spec.data import Geography
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError
from holdfast.system.text import in_quotes
from holdfast.system.ways import setting

NONE = "none"
"""The area of leaves that are in no other."""
_CUT = "\0cut"
_ROW = "\0row"


def with_areas(source: Source, spec: Spec) -> tuple[Source, tuple[str, ...]]:
    """Return a source with a column for each kind of areas, and with levels regrouped; and what looks wrong.

    A column of the source that has the name of a kind gives way to it.
    """
    geography = spec.data.geography
    if geography is None or not geography.areas:
        return source, ()
    levels, names = geography.levels, tuple(geography.areas)
    lacking = [level for level in levels if level not in source.header]
    if lacking:
        return source, ()  # which is told where columns are looked for
    places = [source.header.index(level) for level in levels]
    codes = source.load(places)
    texts = (as_text(source, each.alias(name)) for name, each in zip(levels, codes, strict=True))
    rows = pl.DataFrame([each.cast(pl.String) for each in texts])
    nodes = rows.unique(maintain_order=True)
    writing = Writing(spec.data.separator, spec.data.encoding)
    doubts: list[str] = []
    for name, file in geography.areas.items():
        listed = _listed(geography, name, open_file(spec.resolve(file), writing=writing))
        doubts += listed.unknown(nodes, source.name)
        nodes = listed.joined(nodes)
    found = _regrouped(nodes, geography)
    keys = [f"\0{level}" for level in levels]
    found = pl.concat(
        [nodes.select(levels).rename(dict(zip(levels, keys, strict=True))), found], how="horizontal"
    )
    told = rows.rename(dict(zip(levels, keys, strict=True))).join(
        found, on=keys, how="left", nulls_equal=True
    )
    own = len(source.header)
    renamed = (f"{name} in the file" if name in names else name for name in source.header)
    at = {place: level for place, level in zip(places, levels, strict=True) if geography.regroup}
    at |= {own + place: name for place, name in enumerate(names)}

    def load(wanted: Sequence[int]) -> list[pl.Series]:
        plain = [place for place in wanted if place not in at]
        loaded = dict(zip(plain, source.load(plain), strict=True)) if plain else {}
        return [told[at[place]] if place in at else loaded[place] for place in wanted]

    with_columns = replace(
        source, header=(*renamed, *names), load=load, origin=source.origin or source, own=source.known
    )
    return with_columns, tuple(doubts)


@dataclass(frozen=True, eq=False)
class _AreaFile:
    """The nodes of a file of areas: their codes and areas, and the row that each stands on."""

    source: Source
    name: str
    levels: tuple[str, ...]
    rows: pl.DataFrame

    def unknown(self, nodes: pl.DataFrame, data: str) -> list[str]:
        """Return a warning of the nodes that the data do not have; raises DataError where they have none."""
        off = self.rows.join(nodes, on=self.levels, how="anti", maintain_order="left")
        level = self.levels[-1]
        if off.height == self.rows.height:
            raise DataError(
                f"{self.source.name} has no {level} of the data: write codes there as the data have them, in"
                " full."
            )
        if off.is_empty():
            return []
        more = f", as {off.height - 1:,} more of its rows do" if off.height > 1 else ""
        at = self.source.place(off[_ROW][0], level)
        doubt = (
            f"{at} is {in_quotes(off[level][0])}, which {data} does not have{more}: nothing of it is in an"
        )
        return [f"{doubt} area, unless a code is misspelt."]

    def joined(self, nodes: pl.DataFrame) -> pl.DataFrame:
        """Return nodes with a column that has the area of each."""
        listed = self.rows.drop(_ROW)
        found = nodes.join(listed, on=self.levels, how="left", maintain_order="left")
        return found.with_columns(pl.col(self.name).fill_null(NONE))


def _listed(geography: Geography, name: str, source: Source) -> _AreaFile:
    """Return what a file says of areas; raises DataError where it says two things of a node, or one twice."""
    leaf = geography.levels[-1]
    header = [leaf if each == geography.column else each for each in source.header]
    told = [level for level in geography.levels if level in header]
    if not told or name not in header:
        said = f"no column {in_quotes(name)}" if told else "no column with the codes of a level"
        raise DataError(
            f"{source.name} has {said}: {setting('data.geography', 'areas')} takes a file with a column"
            f" {in_quotes(name)}, and one of {', '.join(geography.levels)} whose nodes are in each area."
        )
    columns = dict(zip(header, source.load(range(len(header))), strict=True))
    every = pl.DataFrame([columns[each].alias(each).cast(pl.String) for each in columns])
    if (again := first_repeated_row(every)) is not None:
        first, second = map(source.row, again)
        raise DataError(f"{source.name}, {second} repeats {first}: list each {told[-1]} once.")
    listed = pl.DataFrame([as_text(source, columns[each].alias(each)) for each in (*told, name)])
    listed = listed.with_row_index(_ROW).filter(pl.col(name).is_not_null() & (pl.col(name) != ""))
    for level, length in geography.prefixes.items():
        if length and level in told:
            _require_length(source, listed, level, length)
    found = listed.unique([*told, name], maintain_order=True)
    twice = found.select(told).is_duplicated()
    if twice.any():
        row = found.row(int(twice.arg_true()[0]), named=True)
        some = found.filter(pl.all_horizontal(pl.col(each) == row[each] for each in told))[name].to_list()
        raise DataError(
            f"{source.name} has the {told[-1]} {in_quotes(row[told[-1]])} in the areas {in_quotes(some[0])}"
            f" and {in_quotes(some[1])}: areas of one kind have no node in common, so correct one, or make"
            " two kinds."
        )
    return _AreaFile(source, name, tuple(told), found)


def _require_length(source: Source, rows: pl.DataFrame, level: str, length: int) -> None:
    """Raise where a code is not as long as those of its level."""
    off = rows.filter((pl.col(level).str.len_chars() != length).fill_null(value=True))
    if not off.is_empty():
        at, code = source.place(off[_ROW][0], level), off[level][0]
        raise DataError(
            f"{at} {f'is {in_quotes(code)}' if code else 'has no code'}, and codes of a {level} have {length}"
            " characters: write them in full, with their leading zeros, in a column that has the name of"
            " their level."
        )


def _regrouped(nodes: pl.DataFrame, geography: Geography) -> pl.DataFrame:
    """Return the codes of all levels and the areas of leaves, with levels regrouped."""
    levels, names = geography.levels, tuple(geography.areas)
    if not geography.regroup:
        return nodes
    by_area = pl.concat_str([pl.col(name) for name in names], separator=" and ")
    found = nodes.with_columns(by_area.alias(_CUT))
    first = min(levels.index(level) for level in geography.regroup)
    for above, level in zip(levels[first - 1 : -2], levels[first:-1], strict=True):
        part = pl.concat_str([pl.col(above), pl.col(_CUT)], separator=" in ")
        if level in geography.regroup:
            cut = pl.col(_CUT).n_unique().over(above) > 1
            found = found.with_columns(pl.when(cut).then(part).otherwise(pl.col(level)).alias(level))
        parts = pl.col(above).n_unique().over(level) > 1
        own = pl.concat_str([pl.col(level), pl.col(_CUT)], separator=" in ")
        found = found.with_columns(pl.when(parts).then(own).otherwise(pl.col(level)).alias(level))
    return found.select(*levels, *names)
