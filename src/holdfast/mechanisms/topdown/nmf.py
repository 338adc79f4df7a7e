"""The measurements of a top-down release as files in the layout of the 2020 census products.

Each level has a folder, `County.parquet`, with `DPQuery` and `Constraint` in it. A row of the first has a
node, the name of a query, what each attribute is put together to, the shape, the values in row-major order,
and the variance; one of the second a sign in place of noise. `codebook.toml` beside them names levels and
recodes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.data.geography import Regions
from holdfast.data.invariants import InvariantBlock
from holdfast.data.node_queries import NodeQuery
from holdfast.mechanisms.topdown.design import local, node_values
from holdfast.public import Public
from holdfast.spec.codebook import Codebook, Recode
from holdfast.system.errors import ReleaseError

if TYPE_CHECKING:
    from holdfast.mechanisms.topdown.measurements import Values
    from holdfast.mechanisms.topdown.mechanism import TopDown

MOST_ZEROS = 1_000
Row = Mapping[str, Any]
Groups = Mapping[str, Mapping[str, Sequence[str]] | None]


@dataclass(frozen=True, eq=False)
class MeasurementFiles:
    """What is written of each level: rows of what was measured, and of what is known."""

    regions: Regions
    rows: Mapping[tuple[int, str], Sequence[Row]]
    codebook: Codebook

    def write(self, folder: Path) -> None:
        """Write all files into a folder."""
        for (place, role), some in self.rows.items():
            inner = folder / f"{self.regions.levels[place]}.parquet" / role
            inner.mkdir(parents=True, exist_ok=True)
            first = _frame(self.regions, place, some[0])
            with pq.ParquetWriter(inner / "part-0.parquet", first.schema) as writer:
                for row in some:
                    writer.write_table(_frame(self.regions, place, row))


def measurement_files(mechanism: "TopDown", public: Public, values: "Values") -> MeasurementFiles:
    """Return what was measured by a mechanism, and what is public of it, as rows of files.

    Raises ReleaseError where something has no place in this layout.
    """
    design, regions = mechanism.design, mechanism.design.regions
    if not public.geography:
        raise ReleaseError("this release has no measurements of a geography: name one that has.")
    if regions.areas:
        raise ReleaseError("areas off the spine have no place in this layout, which has one tree.")
    _require_prefixes(regions)
    book = _Recodes(regions)
    rows: dict[tuple[int, str], list[Row]] = {}
    for each, answers in zip(mechanism.measurements, values, strict=True):
        query = design.queries[each.of.query]
        groups = _groups(query, regions)
        rows.setdefault((each.of.level, "DPQuery"), []).append(
            {
                "query_name": f"{_called(query, regions)}_dpq",
                **book.axes(query.name, groups),
                "query_shape": _shape(groups),
                "value": answers,
                "variance": each.variance,
            }
        )
    for place, row in _constraints(public, regions, book):
        rows.setdefault((place, "Constraint"), []).append(row)
    levels = {} if regions.cells is None else {each.name: each.levels for each in regions.cells.attributes}
    return MeasurementFiles(regions, rows, Codebook(levels, book.recodes))


@dataclass(eq=False)
class _Recodes:
    """Recodes that were needed, by their names."""

    regions: Regions
    recodes: dict[str, Recode] = field(default_factory=dict)

    def axes(self, name: str, groups: Groups) -> dict[str, str]:
        """Return what the columns of a query say."""
        return {attribute: self._axis(name, attribute, each) for attribute, each in groups.items()}

    def _axis(self, name: str, attribute: str, groups: Mapping[str, Sequence[str]] | None) -> str:
        """Return what a column says of an attribute: all levels, none, or the name of a recode."""
        assert self.regions.cells is not None  # noqa: S101 - there are attributes
        levels = self.regions.cells.attribute(attribute).levels
        if groups is None:
            return "*"
        if list(groups.values()) == [(level,) for level in levels]:
            return attribute
        recode = Recode(attribute, {new: tuple(map(levels.index, some)) for new, some in groups.items()})
        known = next((key for key, one in self.recodes.items() if one == recode), None)
        if known is None:
            plain = re.sub(r"\W+", "_", f"{attribute}_of_{name}").strip("_")
            known = plain if plain not in self.recodes else f"{plain}_{len(self.recodes)}"
            self.recodes[known] = recode
        return known


def _require_prefixes(regions: Regions) -> None:
    """Raise where the code of a node does not begin with that of the node it lies in."""
    levels = regions.spine.levels.each
    for above, below, parent in zip(levels[1:], levels[2:], regions.spine.parent[1:], strict=False):
        for code, at in zip(below.levels, parent.tolist(), strict=True):
            if not code.startswith(above.levels[at]):
                raise ReleaseError(
                    f"the {below.name} {code!r} lies in the {above.name} {above.levels[at]!r}: in this layout"
                    " a code begins with that of the node it lies in."
                )


def _called(query: NodeQuery, regions: Regions) -> str:
    plain = not (query.recode or query.where)
    if plain and query.marginal == regions.names and regions.names:
        return "detailed"
    return query.name.replace(" by ", " * ")


def _groups(query: NodeQuery, regions: Regions) -> Groups:
    """Return what a query puts together of each attribute."""
    found: dict[str, Mapping[str, Sequence[str]] | None] = {}
    for name in regions.names:
        assert regions.cells is not None  # noqa: S101 - it has names
        levels = regions.cells.attribute(name).levels
        some = query.where.get(name)
        if name in query.marginal:
            groups = query.recode.get(name) or {level: (level,) for level in levels}
            found[name] = {
                new: tuple(level for level in each if some is None or level in some)
                for new, each in groups.items()
                if some is None or any(level in some for level in each)
            }
        else:
            found[name] = None if some is None else {" or ".join(some): tuple(some)}
    return found


def _shape(groups: Groups) -> list[int]:
    return [1 if each is None else len(each) for each in groups.values()] or [1]


def _constraints(public: Public, regions: Regions, book: _Recodes) -> Iterator[tuple[int, Row]]:
    """Yield the level and the row of each invariant, bound and structural zero."""
    for number, held in enumerate(public.invariants, start=1):
        place, row, _ = _of_block(held.block, regions, book, f"{held.block.name}_{number}")
        values = node_values(held.block, held.values, place, local(held.block, regions)[1], regions)
        yield place, {**row, "sign": "=", "value": values}
    for number, floor in enumerate(public.inequalities, start=1):
        place, row, size = _of_block(floor.block, regions, book, f"{floor.block.name}_bound_{number}")
        for sign, bound in ((">=", floor.at_least), ("<=", floor.at_most)):
            if bound is not None:
                values = np.full((regions.sizes[place], size), bound, dtype=np.int64)
                yield place, {**row, "sign": sign, "value": values}
    zeros = np.flatnonzero(~regions.possible.any(axis=0))
    if (~regions.possible).any(axis=0).sum() > zeros.size or zeros.size > MOST_ZEROS:
        raise ReleaseError("structural zeros of single places have no place in this layout.")
    for cell in zeros.tolist():
        assert regions.cells is not None  # noqa: S101 - there are several cells
        own = dict(zip(regions.names, regions.cells.cell(cell), strict=True))
        axes = book.axes(f"zero_{cell}", {name: {level: (level,)} for name, level in own.items()})
        row = {"query_name": f"zero_{cell}_con", **axes, "query_shape": [1] * len(own)}
        yield 0, {**row, "sign": "=", "value": np.zeros((1, 1), dtype=np.int64)}


def _of_block(
    block: InvariantBlock, regions: Regions, book: _Recodes, name: str
) -> tuple[int, dict[str, Any], int]:
    """Return the level of an invariant or a bound, its row without values, and how many these are."""
    if block.kind == "weights":
        raise ReleaseError(f"the weights {block.name!r} have no place in this layout.")
    place = local(block, regions)[0]
    names = [each for each in block.attributes if each in regions.names]
    query = NodeQuery.of(names, regions, where=dict(block.where))
    groups = _groups(query, regions)
    plain = re.sub(r"\W+", "_", name)
    shape = _shape(groups)
    return (
        place,
        {"query_name": f"{plain}_con", **book.axes(name, groups), "query_shape": shape},
        int(np.prod(shape)),
    )


def _frame(regions: Regions, place: int, row: Mapping[str, Any]) -> pa.Table:
    """Return a row of each node of a level."""
    codes = regions.spine.codes(regions.levels[place])
    values = np.asarray(row["value"], dtype=np.int64)
    columns: dict[str, Any] = {"geocode": pa.array(codes, pa.string())}
    for name, each in row.items():
        if name == "query_shape":
            columns[name] = pa.array([each] * len(codes), pa.list_(pa.int64()))
        elif name == "value":
            ends = np.arange(len(codes) + 1, dtype=np.int32) * values.shape[1]
            columns[name] = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(values.ravel()))
        elif name == "variance":
            columns[name] = pa.array([each] * len(codes), pa.float64())
        else:
            columns[name] = pa.array([each] * len(codes), pa.string())
    return pa.table(columns)
