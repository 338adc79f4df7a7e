"""What leaves with a release: named outputs, each of which writes itself.

None of them refers to confidential data. A file is named after its output: the table is table.csv or
table.parquet, and so on. Readers check them without this [holdfast, certificate/quick.py].
"""

import csv
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from math import isfinite
from pathlib import Path

import polars as pl

from holdfast.data.files import PLAIN, Writing, require_plain
from holdfast.data.table import PublicTable
from holdfast.lattice.arrays import IntArray
from holdfast.public import Public
from holdfast.system.errors import DataError
from holdfast.system.private import Private


def among(table: str | None, output: str) -> str:
    """Return the name of an output of one table among several: its table is named after it, others begin so.

    >>> among("units", "table"), among("units", "measurements"), among(None, "measurements")
    ('units', 'units_measurements', 'measurements')
    """
    if table is None:
        return output
    return table if output == "table" else f"{table}_{output}"


def digest_of_all(measured: Sequence[str | None]) -> str | None:
    """Return the one digest that stands for what was measured of all tables; None where nothing was."""
    told = [each for each in measured if each is not None]
    if len(told) < 2:
        return told[0] if told else None
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


class Output(ABC):
    """One thing that is published."""

    @property
    def measured(self) -> str | None:
        """The digest that stands in the head of a certificate; None where there is none."""
        return None

    @abstractmethod
    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:
        """Write it to a folder and return the name of the file."""

    def to_frame(self) -> pl.DataFrame:
        """Return it as a frame, where it has rows."""
        raise NotImplementedError(f"{type(self).__name__} has no rows")

    def held(self, folder: Private, name: str) -> "Output":  # noqa: ARG002 - of what is drawn as it is written
        """Return it as it is in memory, with nothing left to draw; ``folder`` has room for a while."""
        return self


@dataclass(frozen=True)
class TableOutput(Output):
    """A table of counts that keeps every invariant, with the status of each cell where it is asked for."""

    table: PublicTable
    status: pl.Series | None = field(default=None, compare=False)

    @classmethod
    def of(cls, public: Public, counts: IntArray, *, estimated: bool = False) -> "TableOutput":
        """Return the table with these counts of the possible cells, ``estimated`` or with plain noise."""
        return cls.of_all(public, public.spread(counts[None])[0], estimated=estimated)

    @classmethod
    def of_all(cls, public: Public, counts: IntArray, *, estimated: bool = False) -> "TableOutput":
        """Return the table with these counts of all cells, 0 in structural zeros."""
        table = PublicTable(public.schema, counts, public.count)
        return cls(table, public.cell_status(estimated=estimated) if public.status else None)

    def to_frame(self) -> pl.DataFrame:
        """Return all cells in row-major order: a column for each attribute, then the counts."""
        return self.table.to_frame()

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:
        """Write all cells in row-major order."""
        file = f"{name}.parquet" if parquet else f"{name}.csv"
        with folder.create(file) as opened:
            self.table.write(file, quote_formulas=quote_formulas, file=opened, status=self.status)
        return file


@dataclass(frozen=True)
class StatisticOutput(Output):
    """Real numbers with noise, one for each stratum of the data."""

    values: tuple[float, ...]

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - a few numbers
        """Write one number a row, every digit of it."""
        return _write_numbers(folder, name, "stratum", enumerate(self.values, start=1))

    @classmethod
    def read(cls, path: Path) -> "StatisticOutput":
        """Read what `write` wrote."""
        return cls(tuple(value for _, value in _read_numbers(path, "stratum", "statistics")))


@dataclass(frozen=True)
class EstimateOutput(Output):
    """Estimates by name, real numbers on a grid."""

    names: tuple[str, ...]
    values: tuple[float, ...]

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - a few numbers
        """Write one number a row, every digit of it."""
        return _write_numbers(folder, name, "estimate", zip(self.names, self.values, strict=True))

    @classmethod
    def read(cls, path: Path) -> "EstimateOutput":
        """Read what `write` wrote."""
        found = _read_numbers(path, "estimate", "estimates")
        return cls(tuple(name for name, _ in found), tuple(value for _, value in found))


@dataclass(frozen=True, eq=False, repr=False)
class FileOutput(Output):
    """A file of records as it was drawn."""

    kind: str
    content: bytes
    writing: Writing = PLAIN

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - as it is
        """Write the file again."""
        file = f"{name}.{self.kind}"
        folder.write(file, self.content)
        return file

    def to_frame(self) -> pl.DataFrame:
        """Return the records, a row for each; in CSV every value is a text."""
        if self.kind == "parquet":
            return pl.read_parquet(self.content)
        text = self.content.decode(self.writing.encoding).encode()
        return pl.read_csv(text, separator=self.writing.separator, infer_schema=False)


def _write_numbers(folder: Private, name: str, key: str, numbers: Iterable[tuple[object, float]]) -> str:
    """Write a number a row, with what it is called, and return the name of the file."""
    with TextIOWrapper(folder.create(f"{name}.csv"), encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([key, "value"])
        rows.writerows([each, repr(value)] for each, value in numbers)
    return f"{name}.csv"


def _read_numbers(path: Path, key: str, what: str) -> list[tuple[str, float]]:
    """Return what `_write_numbers` wrote; raises DataError where it is something else."""
    require_plain(path, links=False)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = list(csv.reader(file))
        found = [(name, float(value)) for name, value in rows]
        if head != [key, "value"] or not all(isfinite(value) for _, value in found):
            raise ValueError  # noqa: TRY301 - caught with the other damage below
    except (OSError, ValueError, csv.Error):
        raise DataError(f"{path} is not a list of {what}: restore it from the release.") from None
    return found
