"""A geography in a source of rows: codes unfolded to a column for each level."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from holdfast.data.columns import as_text
from holdfast.data.source import Source
from holdfast.errors import DataError
from holdfast.spec.closest import closest
from holdfast.spec.geography import Geography
from holdfast.visible import in_quotes


def unfolded(source: Source, geography: Geography | None) -> Source:
    """Return a source with a column for each level whose codes are prefixes of one column.

    A column of the file that has the name of a level gives way to it, and is known by another name.
    """
    if geography is None or geography.column is None:
        return source
    column, prefixes = geography.column, geography.prefixes
    if column not in source.header:
        said = f"{source.name} has no column {in_quotes(column)}: {closest(column, source.header)}"
        raise DataError(source.hint or said)
    place, own = source.header.index(column), len(source.header)
    header = (*(f"{name} in the file" if name in prefixes else name for name in source.header), *prefixes)

    def load(places: Sequence[int]) -> list[pl.Series]:
        wanted = sorted({at if at < own else place for at in places})
        loaded = dict(zip(wanted, source.load(wanted), strict=True))
        codes = None
        found = []
        for at in places:
            if at < own:
                found.append(loaded[at])
                continue
            codes = _codes(source, loaded[place].alias(column), geography) if codes is None else codes
            level = header[at]
            length = prefixes[level]
            part = codes.str.slice(0, length) if length else pl.repeat(level, len(codes), eager=True)
            found.append(part.alias(level))
        return found

    return replace(source, header=header, load=load)


def _codes(source: Source, codes: pl.Series, geography: Geography) -> pl.Series:
    """Return codes as text, all of the length of the longest prefix; raises DataError where one is not."""
    text, longest = as_text(source, codes), max(geography.prefixes.values())
    off = (text.str.len_chars() != longest).fill_null(value=True)
    if off.any():
        row = int(off.arg_true()[0])
        code = text[row]
        said = "has no code" if code is None or code == "" else f"is {in_quotes(code)}"
        raise DataError(
            f"{source.place(row, codes.name)} {said}, and codes have {longest} characters, as the longest of"
            " prefixes in [data.geography] says: write all codes in full, with their leading zeros."
        )
    return text
