"""What leaves with a release: named outputs, each of which writes itself.

None of them refers to confidential data. A file is named after its output: the table is table.csv or
table.parquet, and so on. Readers check them without this [holdfast, certificate/quick.py].
"""

import csv
from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from holdfast.data.files import require_plain
from holdfast.data.public_table import PublicTable
from holdfast.errors import DataError
from holdfast.lattice.arrays import IntArray
from holdfast.public import Public


class Output(ABC):
    """One thing that is published."""

    @abstractmethod
    def write(self, folder: Path, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:
        """Write it to a folder and return the name of the file."""


@dataclass(frozen=True)
class TableOutput(Output):
    """A table of counts that keeps every invariant."""

    table: PublicTable

    @classmethod
    def of(cls, public: Public, counts: IntArray) -> "TableOutput":
        """Return the table with these counts of the possible cells."""
        return cls(PublicTable(public.schema, public.spread(counts[None])[0], public.count))

    def write(self, folder: Path, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:
        """Write all cells in row-major order."""
        file = f"{name}.parquet" if parquet else f"{name}.csv"
        self.table.write(folder / file, quote_formulas=quote_formulas)
        return file


@dataclass(frozen=True)
class StatisticOutput(Output):
    """Real numbers with noise, one for each stratum of the data."""

    values: tuple[float, ...]

    def write(self, folder: Path, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - a few numbers
        """Write one number a row, every digit of it."""
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["stratum", "value"])
            rows.writerows([i, repr(value)] for i, value in enumerate(self.values, start=1))
        return f"{name}.csv"

    @classmethod
    def read(cls, path: Path) -> "StatisticOutput":
        """Read what `write` wrote."""
        require_plain(path, links=False)
        try:
            with path.open(encoding="utf-8", newline="") as file:
                head, *rows = list(csv.reader(file))
            values = tuple(float(value) for _, value in rows)
            if head != ["stratum", "value"] or not all(isfinite(value) for value in values):
                raise ValueError  # noqa: TRY301 - caught with the other damage below
        except (OSError, ValueError, csv.Error):
            raise DataError(f"{path} is not a list of statistics: restore it from the release.") from None
        return cls(values)


@dataclass(frozen=True)
class EstimateOutput(Output):
    """Estimates by name, real numbers on a grid."""

    names: tuple[str, ...]
    values: tuple[float, ...]

    def write(self, folder: Path, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - a few numbers
        """Write one number a row, every digit of it."""
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["estimate", "value"])
            rows.writerows([each, repr(value)] for each, value in zip(self.names, self.values, strict=True))
        return f"{name}.csv"

    @classmethod
    def read(cls, path: Path) -> "EstimateOutput":
        """Read what `write` wrote."""
        require_plain(path, links=False)
        try:
            with path.open(encoding="utf-8", newline="") as file:
                head, *rows = list(csv.reader(file))
            values = tuple(float(value) for _, value in rows)
            if head != ["estimate", "value"] or not all(isfinite(value) for value in values):
                raise ValueError  # noqa: TRY301 - caught with the other damage below
        except (OSError, ValueError, csv.Error):
            raise DataError(f"{path} is not a list of estimates: restore it from the release.") from None
        return cls(tuple(name for name, _ in rows), values)
