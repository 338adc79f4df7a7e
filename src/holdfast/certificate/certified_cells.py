"""The cells that a certificate speaks of, and sums of them, read from its plain JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.cell_status import STATUS
from holdfast.data.levels import quoted
from holdfast.data.narrow import Narrow
from holdfast.data.schema import Schema, quoted_schema
from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import SpecError

DAMAGE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What a record raises that is not as it was written."""


class DamagedCertificateError(ValueError):
    """Something is not as it is written; says what and where."""


@dataclass(frozen=True)
class CertifiedCells:
    """The cells of a table as a certificate tells them, and the name of their counts."""

    schema: Schema
    count: str
    status: bool = False
    """Whether a column after the counts has the status of each cell."""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "CertifiedCells":
        """Return the cells of the section of a table; raises where it is damaged."""
        attributes, zeros = (listed(table["schema"][each]) for each in ("attributes", "structural_zeros"))
        levels = [listed(item["levels"]) for item in attributes]
        columns = (*(item["name"] for item in attributes), table["count"])
        for words in (columns, *levels):
            if len(set(words)) < len(words) or not all(type(word) is str for word in words):
                raise DamagedCertificateError("a name or a level of the table stands twice, or is none")
        if not all(type(cell) is int for run in zeros for cell in listed(run)):
            raise DamagedCertificateError("a structural zero is not in the table")
        parents = [listed(one["parents"]) for one in listed(table["schema"].get("within", []))]
        if not all(type(place) is int for each in parents for place in each):
            raise DamagedCertificateError("a nesting of the table is of no whole numbers")
        status = table.get("status", False)
        if type(status) is not bool or (status and STATUS in columns):
            raise DamagedCertificateError("the status of the cells has no column")
        try:
            return cls(Schema.from_dict(table["schema"]), table["count"], status)
        except SpecError:
            flaw = "the levels, zeros or nestings of the table are of no table"
            raise DamagedCertificateError(flaw) from None

    @property
    def quoted(self) -> "CertifiedCells":
        """The same with names as they stand in a file where formulas are quoted."""
        return CertifiedCells(quoted_schema(self.schema), quoted(self.count), self.status)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of a file of them."""
        return (*self.schema.names, self.count, *((STATUS,) if self.status else ()))


@dataclass(frozen=True, eq=False)
class Sums:
    """What an invariant or an inequality adds up: a row for each label."""

    name: str
    labels: tuple[str, ...]
    cells: CertifiedCells
    attributes: tuple[str, ...]
    where: Mapping[str, Sequence[str]]
    entries: tuple[list[int], list[int], list[int]] | None
    """Rows, cells and weights, where cells are weighted."""

    @classmethod
    def of(cls, item: Mapping[str, Any], cells: CertifiedCells) -> "Sums":
        """Return the sums of a section; raises where it is damaged."""
        kind, attributes, where = item["kind"], tuple(listed(item["attributes"])), mapping_of(item["where"])
        labels = tuple(listed(item["labels"]))
        if not all(type(word) is str for word in (item["name"], *labels)):
            raise DamagedCertificateError("a name or a label of an invariant is none")
        if kind not in ("margin", "total", "where", "weights") or len(set(attributes)) < len(attributes):
            raise DamagedCertificateError(f"the invariant {item['name']!r} is of no known kind")
        if not {*attributes, *where} <= set(cells.schema.names):
            raise DamagedCertificateError(
                f"the invariant {item['name']!r} speaks of an attribute that the table does not have"
            )
        entries = None
        if kind == "weights":
            entries = (listed(item["rows"]), listed(item["cells"]), listed(item["weights"]))
            rows, places, weights = entries
            whole = all(type(number) is int for part in entries for number in part)
            if not (whole and len(rows) == len(places) == len(weights)):
                raise DamagedCertificateError(f"the weights of {item['name']!r} are not whole numbers")
            if any(not 0 <= row < len(labels) for row in rows) or any(
                not 0 <= cell < cells.schema.size for cell in places
            ):
                raise DamagedCertificateError(f"the weights of {item['name']!r} are not of the table")
        return cls(item["name"], labels, cells, attributes, where, entries)

    def evaluate(self, counts: IntArray) -> list[int]:
        """Return the sums for some counts, exactly."""
        found = self._weighted(counts) if self.entries is not None else self._plain(counts)
        if len(found) != len(self.labels):
            raise DamagedCertificateError(f"there are {len(found)} sums for {len(self.labels)} labels")
        return found

    def by_levels(self, counts: IntArray) -> dict[tuple[str, ...], int]:
        """Return the counts of a margin other than 0, by the levels of its attributes."""
        schema, margin = self.cells.schema, self.cells.schema.grid.over(self.attributes)
        sums = np.zeros(margin.size, dtype=np.int64)
        np.add.at(sums, schema.grid.rows(margin), np.where(self._chosen, counts, 0))
        found = np.flatnonzero(sums)
        columns = [
            [schema.attribute(name).levels[code] for code in margin.codes(name)[found].tolist()]
            for name in self.attributes
        ]
        keys = zip(*columns, strict=True) if columns else ((),) * found.size
        return dict(zip(keys, sums[found].tolist(), strict=True))

    @property
    def _chosen(self) -> NDArray[np.bool_]:
        """Which cells a selection has."""
        schema = self.cells.schema
        chosen = np.ones(schema.size, dtype=np.bool_)
        for name, levels in self.where.items():
            known = schema.attribute(name).levels
            picked = np.zeros(len(known), dtype=np.bool_)
            picked[[known.index(level) for level in levels]] = True
            chosen &= picked[schema.codes(name)]
        return chosen

    def _plain(self, counts: IntArray) -> list[int]:
        """Add up counts: their sizes fit 64 bits together, so every sum does."""
        narrow = Narrow.of(self.cells.schema, {*self.attributes, *self.where})
        if narrow is not None:  # of a state's total, blocks are added up before anything is looked at
            fewer = replace(self, cells=replace(self.cells, schema=narrow.schema))
            return fewer._plain(narrow.sums(counts))
        schema, margin = self.cells.schema, self.cells.schema.grid.over(self.attributes)
        row, length = schema.grid.rows(margin), margin.size
        chosen = self._chosen
        met = np.zeros(length, dtype=np.bool_)
        met[row[chosen]] = True
        chosen &= schema.possible
        sums = np.zeros(length, dtype=np.int64)
        np.add.at(sums, row[chosen], counts[chosen])
        return [int(value) for value in sums[met].tolist()]

    def _weighted(self, counts: IntArray) -> list[int]:
        """Add up weighted counts in integers of any size."""
        sums, known, possible = [0] * len(self.labels), counts.tolist(), self.cells.schema.possible
        for row, cell, weight in zip(*(self.entries or ()), strict=True):
            sums[row] += weight * known[cell] if possible[cell] else 0
        return sums


def listed(value: Any) -> list[Any]:
    """Return what should be a list of the certificate."""
    if not isinstance(value, list):
        raise DamagedCertificateError("what should be a list of the certificate is none")
    return value


def mapping_of(value: Any) -> dict[str, Any]:
    """Return what should be an object of the certificate."""
    if not isinstance(value, dict):
        raise DamagedCertificateError("what should be an object of the certificate is none")
    return value
