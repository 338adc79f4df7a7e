"""A source as a spec asks for it: some rows taken away, before anything is counted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from holdfast.data.files import Source
from holdfast.spec.data import Data
from holdfast.system.errors import DataError
from holdfast.system.text import closest, in_quotes


def shaped(source: Source, asked: Data) -> Source:
    """Return a source with the rows and columns that a spec speaks of."""
    left_out = not asked.omit or source.grouped  # a database leaves rows out before it groups
    return source if left_out else without_rows(source, asked.omit)


def without_rows(source: Source, omit: Mapping[str, tuple[str, ...]]) -> Source:
    """Return a source without the rows that have one of some levels: sums of other rows."""
    stays: pl.Series | None = None
    for name, levels in omit.items():
        if name not in source.header:
            said = f"{source.name} has no column {in_quotes(name)}: {closest(name, source.header)}"
            raise DataError(source.hint or said)
        (column,) = source.load([source.header.index(name)])
        kept = ~column.cast(pl.String).is_in(list(levels)).fill_null(value=False)
        stays = kept if stays is None else stays & kept
    if stays is None:
        return source
    rows, mask = np.flatnonzero(stays.to_numpy()), stays

    def load(places: Sequence[int]) -> list[pl.Series]:
        return [column.filter(mask) for column in source.load(places)]

    return replace(source, load=load, spoken=lambda record: source.row(int(rows[record])))
