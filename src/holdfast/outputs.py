"""What leaves with a release: named outputs, each of which writes itself and checks itself.

None of them refers to confidential data. A file is named after its output: the table is table.csv or
table.parquet, and so on; `KINDS` says which kind of output a name stands for.
"""

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from holdfast.data.public_table import PublicTable
from holdfast.data.read import read_release
from holdfast.errors import DataError, HoldfastError
from holdfast.lattice.arrays import IntArray
from holdfast.public import Held, Public


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what it is, whether it holds, and if not, where it fails."""

    name: str
    holds: bool
    detail: str = ""

    @classmethod
    def that(cls, name: str, holds: bool, otherwise: str) -> "Check":
        """Return the check, with what is wrong if it does not hold."""
        return cls(name, holds, "" if holds else otherwise)


class Output(ABC):
    """One thing that is published."""

    @abstractmethod
    def write(self, folder: Path, name: str, *, parquet: bool) -> str:
        """Write it to a folder and return the name of the file."""

    @classmethod
    @abstractmethod
    def checks(cls, path: Path, public: Public) -> Iterator[Check]:
        """Hold a file against what is public."""


@dataclass(frozen=True)
class TableOutput(Output):
    """A table of counts that keeps every invariant."""

    table: PublicTable

    @classmethod
    def of(cls, public: Public, counts: IntArray) -> "TableOutput":
        """Return the table with these counts of the possible cells."""
        return cls(PublicTable(public.schema, public.spread(counts[None])[0], public.count))

    def write(self, folder: Path, name: str, *, parquet: bool) -> str:
        """Write all cells in row-major order."""
        file = f"{name}.parquet" if parquet else f"{name}.csv"
        self.table.write(folder / file)
        return file

    @classmethod
    def checks(cls, path: Path, public: Public) -> Iterator[Check]:
        """Check the cells, the constraints and every invariant, with exact equality."""
        try:
            counts = read_release(path, public.schema, public.count).counts
        except HoldfastError as error:
            yield Check("schema", holds=False, detail=str(error))
            return
        yield Check("schema", holds=True)
        if public.nonnegative:
            yield Check.that("counts at least 0", bool((counts >= 0).all()), "a count is negative")
        if public.schema.impossible:
            empty = not counts[~public.schema.possible].any()
            yield Check.that("structural zeros", empty, "a structural zero holds a count")
        for floor in public.inequalities:
            least = int(floor.block.evaluate(counts).min(initial=floor.at_least))
            yield Check.that(
                f"inequality {floor.block.name}",
                least >= floor.at_least,
                f"{least} is below {floor.at_least}",
            )
        for held in public.invariants:
            yield _invariant(held, counts)


def _invariant(held: Held, counts: IntArray) -> Check:
    name = f"invariant {held.block.name}"
    found, stated = held.block.evaluate(counts).tolist(), held.values.tolist()
    wrong = [i for i, (f, s) in enumerate(zip(found, stated, strict=True)) if f != s]
    if not wrong:
        return Check(f"{name}: {len(stated)} kept", holds=True)
    first = wrong[0]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return Check(
        name, holds=False, detail=f"{held.block.labels[first]} is {found[first]}, not {stated[first]}{more}"
    )


@dataclass(frozen=True)
class StatisticOutput(Output):
    """Real numbers with noise, one for each stratum of the data."""

    values: tuple[float, ...]

    def write(self, folder: Path, name: str, *, parquet: bool) -> str:  # noqa: ARG002 - a few numbers
        """Write one number a row, every digit of it."""
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["stratum", "value"])
            rows.writerows([i, repr(value)] for i, value in enumerate(self.values, start=1))
        return f"{name}.csv"

    @classmethod
    def read(cls, path: Path) -> "StatisticOutput":
        """Read what `write` wrote."""
        try:
            with path.open(encoding="utf-8", newline="") as file:
                head, *rows = list(csv.reader(file))
            values = tuple(float(value) for _, value in rows)
            if head != ["stratum", "value"] or not all(isfinite(value) for value in values):
                raise ValueError  # noqa: TRY301 - caught with the other damage below
        except (OSError, ValueError):
            raise DataError(f"{path} is not a list of statistics: restore it from the release.") from None
        return cls(values)

    @classmethod
    def checks(cls, path: Path, public: Public) -> Iterator[Check]:
        """Check that there is one number for each 2 x 2 table."""
        try:
            values = cls.read(path).values
        except HoldfastError as error:
            yield Check("statistic", holds=False, detail=str(error))
            return
        strata = public.schema.size // 4
        yield Check.that("statistic", len(values) == strata, f"there are {len(values)} numbers, not {strata}")


KINDS: Mapping[str, type[Output]] = {"table": TableOutput, "statistic": StatisticOutput}
"""The kind of output behind the name of each file."""
