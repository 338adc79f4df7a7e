"""Rows of a file of measurements: what one query, or one constraint, says of some nodes of a level.

A row has the code of a node, the name of a query, its shape, as many values as the shape has entries, in
row-major order, and a variance, or a sign where it is a constraint. Columns that are none of these and have
text name what each axis of the shape is of. What may be missing is named where it is missed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.data.nmf.files import FoundFile
from holdfast.data.nmf.lists import Lists, is_text
from holdfast.data.parquet import decoded, parquet_batches, parquet_schema
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.errors import DataError

COLUMNS = {
    "geocode": ("geocode", "geoid", "code"),
    "query": ("query_name", "query", "name"),
    "shape": ("query_shape", "shape"),
    "value": ("value", "values"),
    "variance": ("variance",),
    "sign": ("sign",),
    "level": ("level", "geolevel", "geo_level"),
}
"""What columns may be called, in any case."""
ASIDE = ("plb", "rho", "epsilon", "parent")
SIGNS = {"=": "=", "==": "=", "eq": "=", "<=": "<=", "le": "<=", ">=": ">=", "ge": ">="}
MOST_BYTES = 1 << 33
"""Values of one file that are read, in bytes: half of what a laptop has."""


@dataclass(frozen=True, eq=False)
class QueryBlock:
    """What a query says of some nodes of a level.

    Attributes:
        path: the file, to speak of it.
        level: the level that its path or a column names; None where neither does.
        query: the name of the query, as the file has it.
        axes: what columns say of each axis of the shape, by the name of the column.
        shape: the number of entries by axis.
        codes: of the nodes.
        values: one line a node.
        variances: of the noise of each value of a node; nothing for constraints.
        sign: of a constraint.

    """

    path: Path
    level: str | None
    query: str
    axes: Mapping[str, str]
    shape: tuple[int, ...]
    codes: tuple[str, ...]
    values: IntArray
    variances: FloatArray
    sign: str | None = None

    def some(self, kept: IntArray) -> "QueryBlock":
        """Return what it says of some of its nodes."""
        codes = tuple(self.codes[place] for place in kept.tolist())
        variances = self.variances[kept] if self.sign is None else self.variances
        return replace(self, codes=codes, values=self.values[kept], variances=variances)


def blocks_of(file: FoundFile) -> Iterator[QueryBlock]:
    """Yield what a file says, query by query; raises DataError, which names the file and the row."""
    schema, rows = parquet_schema(file.path)
    by = _columns(schema, file.path, constraint=file.constraint)
    if not rows:
        return
    extra = [
        field.name
        for field in schema
        if field.name not in by.values() and field.name.lower() not in ASIDE and is_text(field.type)
    ]
    table = decoded(pa.concat_tables(parquet_batches(file.path, [*by.values(), *extra]))).combine_chunks()
    if table.nbytes > MOST_BYTES:
        raise DataError(f"{file.path} has more values than are read at once: split it by state.")
    codes = _texts(table[by["geocode"]], file.path, by["geocode"], empty=True)
    names = _texts(table[by["query"]], file.path, by["query"])
    levels = (
        _texts(table[by["level"]], file.path, by["level"]) if "level" in by else [file.level or ""] * rows
    )
    measured = "variance" in by and not file.constraint
    signs = _signs(table[by["sign"]], file.path, measured=measured) if "sign" in by else [None] * rows
    texts = {name: table[name].fill_null("*").to_pylist() for name in extra}
    keys: dict[tuple[str, str, str | None], list[int]] = {}
    for row, key in enumerate(zip(levels, names, signs, strict=True)):
        keys.setdefault(key, []).append(row)
    values = Lists.of(table[by["value"]], file.path, by["value"])
    shapes = Lists.of(table[by["shape"]], file.path, by["shape"])
    for (level, name, sign), found in keys.items():
        at = np.array(found)
        variances = np.zeros(0) if sign is not None else _variances(table[by["variance"]], at, file.path)
        if sign is None:
            at, variances = at[np.isfinite(variances)], variances[np.isfinite(variances)]
            if not at.size:
                continue
        shape = _shape(shapes, at, name, file.path)
        axes = {}
        for column, text in texts.items():
            said = {text[row] for row in at.tolist()}
            if len(said) == 1:
                axes[column] = said.pop()
        yield QueryBlock(
            file.path,
            level or None,
            name,
            axes,
            shape,
            tuple(codes[row] for row in at.tolist()),
            values.at(at, prod(shape), name),
            variances,
            sign,
        )


def _columns(schema: pa.Schema, path: Path, *, constraint: bool) -> Mapping[str, str]:
    """Return what the columns are called that are needed, and others that are there."""
    there = {name.lower(): name for name in reversed(schema.names)}
    found = {
        role: there[next(name for name in names if name in there)]
        for role, names in COLUMNS.items()
        if any(name in there for name in names)
    }
    needed = ("geocode", "query", "shape", "value", "sign" if constraint else "variance")
    for role in needed:
        if role not in found and not (role == "variance" and "sign" in found):
            raise DataError(
                f"{path} has no column {COLUMNS[role][0]!r}: a row of noisy measurements has geocode,"
                " query_name, query_shape, value and variance, and one of constraints a sign."
            )
    return found


def _texts(column: pa.ChunkedArray, path: Path, name: str, *, empty: bool = False) -> list[str]:
    """Return a column as text; numbers are written out."""
    found = column.to_pylist()
    for row, each in enumerate(found):
        if not isinstance(each, str | int) or (each == "" and not empty):
            raise DataError(f"{path}, row {row + 1}, {name} is {each!r}: write a text in every row.")
    return [str(each) for each in found]


def _signs(column: pa.ChunkedArray, path: Path, *, measured: bool) -> list[str | None]:
    """Return the signs of constraints; a row without one is a measurement, where the file may have any."""
    found = []
    for row, each in enumerate(column.to_pylist()):
        if each is None and not measured:
            raise DataError(f"{path}, row {row + 1}, sign is missing: write =, <= or >= in every row.")
        if each is not None and str(each).strip().lower() not in SIGNS:
            raise DataError(f"{path}, row {row + 1}, sign is {each!r}: write =, <= or >=.")
        found.append(None if each is None else SIGNS[str(each).strip().lower()])
    return found


def _variances(column: pa.ChunkedArray, at: IntArray, path: Path) -> FloatArray:
    """Return variances: a float of 32 bits by its shortest digits; infinite where one is missing."""
    try:
        narrow = pa.types.is_float32(column.type)
        plain = pc.fill_null(column.cast(pa.float64()), float("inf")).to_numpy()[at]
    except pa.ArrowInvalid:
        raise DataError(f"{path}, variance is no column of numbers: write one in every row.") from None
    if narrow:
        plain = np.array([float(str(np.float32(each))) for each in plain])
    wrong = np.flatnonzero(~(plain > 0))
    if wrong.size:
        raise DataError(
            f"{path}, row {at[wrong[0]] + 1}, variance is {plain[wrong[0]]:g}: it is above 0, and what is"
            " exact is a constraint."
        )
    return np.asarray(plain, dtype=np.float64)


def _shape(shapes: Lists, at: IntArray, query: str, path: Path) -> tuple[int, ...]:
    axes = int(shapes.lengths[at[0]])
    every = shapes.at(at, axes, query)
    other = np.flatnonzero((every != every[0]).any(axis=1))
    if other.size or not axes or (every[0] < 1).any():
        row = int(at[other[0]]) if other.size else int(at[0])
        raise DataError(
            f"{path}, row {row + 1} has another shape of {query}: a query has one, of sizes above 0."
        )
    return tuple(every[0].tolist())


def joined(blocks: Sequence[QueryBlock]) -> QueryBlock:
    """Return one block of several that say the same of other nodes; raises DataError where they do not."""
    first = blocks[0]
    for each in blocks[1:]:
        if each.shape != first.shape:
            raise DataError(
                f"{each.path} has {each.query} in another shape than {first.path}: a query has one shape at"
                " all nodes of a level."
            )
        for column in dict.fromkeys((*first.axes, *each.axes)):
            said, other = (_said(one, column) for one in (each, first))
            if said != other:
                raise DataError(
                    f"{each.path} has {each.query} {said}, and {first.path} {other}: say the same"
                    " of a query at all nodes of a level."
                )
    codes = tuple(code for each in blocks for code in each.codes)
    if len(set(codes)) < len(codes):
        twice = next(code for code, number in Counter(codes).items() if number > 1)
        raise DataError(f"{first.path} has {first.query} of {twice!r} twice: keep one row.")
    return replace(
        first,
        codes=codes,
        values=np.concatenate([each.values for each in blocks]),
        variances=np.concatenate([each.variances for each in blocks]),
    )


def _said(block: QueryBlock, column: str) -> str:
    return (
        f"with {column} {block.axes[column]!r}" if column in block.axes else f"without one text for {column}"
    )
