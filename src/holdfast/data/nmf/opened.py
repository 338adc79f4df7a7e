"""The folder of opened measurements: what was measured of which nodes, and what is known of them exactly.

`opened.json` says what the levels, the attributes, the queries and the known sums are; `nodes.parquet` has
the nodes in the order of the tree, `measurements.parquet` and `known.parquet` a row for each node and query
or sum (level, geocode, query, value, variance or sign), in the order in which the head lists them. The head
has the SHA-256 of the other files: a folder that was changed is refused.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.data.geography import Spine
from holdfast.data.nmf.folder import HEAD
from holdfast.data.nmf.queries import Histogram, HistogramQuery
from holdfast.data.schema import Attributes
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.system.drafts import drafted
from holdfast.system.errors import DataError, ReleaseError
from holdfast.system.text import read_json
from holdfast.version import VERSION

NODES, MEASURED, KNOWN = "nodes.parquet", "measurements.parquet", "known.parquet"
FORMAT = "holdfast-opened/1"
Noise = Literal["gaussian", "laplace"]
Sign = Literal["=", "<=", ">="]


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredSums:
    """Noisy values of a query at some nodes of a level, by its place from the root."""

    level: int
    query: int
    nodes: IntArray
    values: IntArray
    variances: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class KnownQuery:
    """Exact values of a query at some nodes of a level, or bounds of them."""

    level: int
    query: HistogramQuery
    sign: Sign
    nodes: IntArray
    values: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class OpenedMeasurements:
    """Measurements that were opened: everything in it is public."""

    spine: Spine
    histogram: Histogram
    noise: Noise
    queries: tuple[HistogramQuery, ...]
    measured: tuple[MeasuredSums, ...]
    known: tuple[KnownQuery, ...]
    source: Mapping[str, str]
    """The SHA-256 of each file that was read, by its path in the folder that was opened."""
    warnings: tuple[str, ...] = ()
    digest: str = ""
    """The SHA-256 of the head, once it stands in a folder."""

    def __repr__(self) -> str:
        cells = ", ".join(f"{name} ({len(each)})" for name, each in self.histogram.levels.items())
        return f"<measurements of {self.spine.levels.in_words}, by {cells or 'nothing'}>"

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level, root first."""
        return tuple(len(each.levels) for each in self.spine.levels)

    @property
    def width(self) -> int:
        """The number of cells of a node."""
        return int(np.prod(self.histogram.sizes, dtype=np.int64))

    @property
    def zeros(self) -> tuple[HistogramQuery, ...]:
        """Sums that are 0 at every node of a level, and so in all tables: no count is below zero."""
        return tuple(
            each.query
            for each in self.known
            if each.sign != ">=" and each.nodes.size == self.sizes[each.level] and not each.values.any()
        )

    @cached_property
    def zero_cells(self) -> BoolArray:
        """Which cells of a node are 0 in all tables."""
        found = np.zeros(self.width, dtype=np.bool_)
        for query in self.zeros:
            found |= np.asarray(query.over(self.histogram.sizes).sum(axis=0)).ravel() > 0
        return found

    @property
    def exact(self) -> tuple[KnownQuery, ...]:
        """Sums that are known exactly at every node of a level, those that are zeros left out."""
        return tuple(
            each
            for each in self.known
            if each.sign == "=" and each.nodes.size == self.sizes[each.level] and each.values.any()
        )

    def write(self, out: str | Path) -> None:
        """Write the folder, which appears whole or not at all."""
        with drafted(out) as draft:
            inside = draft.inside
            _write(inside.named(NODES), [self._nodes()])
            _write(inside.named(MEASURED), [self._rows(each) for each in self.measured])
            _write(inside.named(KNOWN), [self._known_rows(each) for each in self.known])
            files = {name: _sha256(inside.named(name)) for name in (NODES, MEASURED, KNOWN)}
            inside.write(HEAD, _text({**self._head(), "files": files}))
            draft.seal()
            draft.publish()

    def to_dict(self) -> dict[str, Any]:
        """Return what the head of a folder says."""
        return self._head()

    def _head(self) -> dict[str, Any]:
        names = self.spine.levels.names
        return {
            "format": FORMAT,
            "software": {"name": "holdfast", "version": VERSION},
            "source": dict(self.source),
            "noise": self.noise,
            "levels": list(names),
            "attributes": {name: list(each) for name, each in self.histogram.levels.items()},
            "queries": [_query(each) for each in self.queries],
            "measured": [
                {"level": names[each.level], "query": each.query, "nodes": int(each.nodes.size)}
                for each in self.measured
            ],
            "known": [
                {
                    "level": names[each.level],
                    **_query(each.query),
                    "sign": each.sign,
                    "nodes": int(each.nodes.size),
                }
                for each in self.known
            ],
            "warnings": list(self.warnings),
        }

    def _nodes(self) -> pa.Table:
        columns: dict[str, list[Any]] = {"level": [], "geocode": [], "parent": []}
        above = [np.zeros(1, dtype=np.int64), *self.spine.parent]
        for level, parent in zip(self.spine.levels, above, strict=True):
            columns["level"] += [level.name] * len(level.levels)
            columns["geocode"] += level.levels
            columns["parent"] += parent.tolist()
        return pa.table(
            columns, schema=pa.schema({"level": pa.string(), "geocode": pa.string(), "parent": pa.int64()})
        )

    def _rows(self, each: MeasuredSums) -> pa.Table:
        return self._table(each.level, each.nodes, self.queries[each.query].name, each.values).append_column(
            "variance", pa.array(each.variances, type=pa.float64())
        )

    def _known_rows(self, each: KnownQuery) -> pa.Table:
        return self._table(each.level, each.nodes, each.query.name, each.values).append_column(
            "sign", pa.array([each.sign] * each.nodes.size, type=pa.string())
        )

    def _table(self, level: int, nodes: IntArray, query: str, values: IntArray) -> pa.Table:
        name = self.spine.levels.names[level]
        codes = self.spine.codes(name)
        number = len(nodes)
        ends = np.arange(number + 1, dtype=np.int64) * values.shape[1]
        return pa.table(
            {
                "level": pa.array([name] * number, type=pa.string()),
                "geocode": pa.array([codes[node] for node in nodes.tolist()], type=pa.string()),
                "node": pa.array(nodes, type=pa.int64()),
                "query": pa.array([query] * number, type=pa.string()),
                "value": pa.LargeListArray.from_arrays(
                    pa.array(ends), pa.array(values.ravel(), type=pa.int64())
                ),
            }
        )


def read_opened(folder: str | Path) -> OpenedMeasurements:
    """Return the measurements of a folder; raises ReleaseError where it was changed since it was written."""
    folder = Path(folder)
    try:
        text = (folder / HEAD).read_bytes()
        head = read_json(text.decode("utf-8"))
        if head["format"] != FORMAT:
            raise ReleaseError(
                f"{folder / HEAD} is of another form than {FORMAT}: open the measurements again."
            )
        for name, told in head["files"].items():
            if _sha256(folder / name) != told:
                raise ReleaseError(
                    f"{folder / name} was changed since it was written: open the measurements again."
                )
        return _read(folder, head, hashlib.sha256(text).hexdigest())
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        pa.ArrowException,
        DataError,
    ) as error:
        if isinstance(error, ReleaseError):
            raise
        raise ReleaseError(f"{folder} is damaged: open the measurements again, with nmf open.") from None


def _read(folder: Path, head: Mapping[str, Any], digest: str) -> OpenedMeasurements:
    nodes = pq.read_table(folder / NODES).to_pydict()
    by_level: dict[str, tuple[list[str], list[int]]] = {name: ([], []) for name in head["levels"]}
    for level, code, parent in zip(nodes["level"], nodes["geocode"], nodes["parent"], strict=True):
        by_level[level][0].append(code)
        by_level[level][1].append(parent)
    names = list(by_level)
    spine = Spine(
        Attributes.of({name: tuple(codes) for name, (codes, _) in by_level.items()}),
        tuple(np.array(parents, dtype=np.int64) for _, parents in list(by_level.values())[1:]),
    )
    measured, known = [], []
    for told, table in zip(head["measured"], _groups(folder / MEASURED, head["measured"]), strict=True):
        at, values = _values(table)
        variances = table["variance"].to_numpy()
        measured.append(MeasuredSums(names.index(told["level"]), int(told["query"]), at, values, variances))
    for told, table in zip(head["known"], _groups(folder / KNOWN, head["known"]), strict=True):
        at, values = _values(table)
        known.append(KnownQuery(names.index(told["level"]), _of_query(told), told["sign"], at, values))
    return OpenedMeasurements(
        spine,
        Histogram({name: tuple(each) for name, each in head["attributes"].items()}),
        head["noise"],
        tuple(map(_of_query, head["queries"])),
        tuple(measured),
        tuple(known),
        dict(head["source"]),
        tuple(head["warnings"]),
        digest,
    )


def _groups(path: Path, told: Sequence[Mapping[str, Any]]) -> Sequence[pa.Table]:
    """Return the rows of each query of each level."""
    with pq.ParquetFile(path) as file:
        every = file.read(
            ["node", "value", *(name for name in ("variance",) if name in file.schema_arrow.names)]
        )
    begin, found = 0, []
    for each in told:
        found.append(every.slice(begin, each["nodes"]))
        begin += each["nodes"]
    if begin != every.num_rows:
        raise ValueError(path)
    return found


def _values(table: pa.Table) -> tuple[IntArray, IntArray]:
    at = table["node"].to_numpy()
    flat = table["value"].combine_chunks()
    flat = (flat if isinstance(flat, pa.Array) else pa.concat_arrays(flat.chunks)).flatten()
    return at, flat.to_numpy().reshape(len(at), -1)


def _query(query: HistogramQuery) -> dict[str, Any]:
    groups = [
        None if each is None else {new: list(some) for new, some in each.items()} for each in query.groups
    ]
    return {"name": query.name, "groups": groups}


def _of_query(told: Mapping[str, Any]) -> HistogramQuery:
    return HistogramQuery(
        told["name"],
        tuple(
            None if each is None else {new: tuple(some) for new, some in each.items()}
            for each in told["groups"]
        ),
    )


def _write(path: Path, tables: Sequence[pa.Table]) -> None:
    empty = pa.table(
        {
            "level": pa.array([], pa.string()),
            "node": pa.array([], pa.int64()),
            "value": pa.array([], pa.large_list(pa.int64())),
        }
    )
    written = tables or (empty,)  # older versions of Arrow read no file without any group of rows
    with pq.ParquetWriter(path, written[0].schema, compression="zstd") as writer:
        for each in written:
            writer.write_table(each)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text(head: Mapping[str, Any]) -> bytes:
    return (json.dumps(head, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
