"""Several tables on one geography: measured apart, estimated together.

Every table has its own measurements, and its own guarantee. Then one descent finds the counts of all of them
[holdfast, estimation/hierarchy/beside.py]: at every node those nearest to all measurements that keep the
invariants of each table and what the public knows across them. It sees measurements and public values alone,
so it costs no table anything: post-processing [semi-dp, Proposition 23].

A constraint by which a sum is 0 wherever another is needs that other sum at every node, from the invariants:
otherwise it would be no convex problem.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.across import AcrossTables
from holdfast.data.geography import Regions
from holdfast.estimation.hierarchy.beside import RowsAcross, beside, emptied, placed
from holdfast.estimation.hierarchy.conflict import UnmetError
from holdfast.estimation.hierarchy.descent import descend
from holdfast.estimation.hierarchy.level import Level
from holdfast.estimation.hierarchy.run import Run, here
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.rows import echelons
from holdfast.mechanisms.details import ReleasedFiles
from holdfast.mechanisms.jointly import JointTables, TableOnTree
from holdfast.mechanisms.mechanism import Law, Making
from holdfast.mechanisms.topdown.areas import area_tables
from holdfast.mechanisms.topdown.design import MeasurementDesign
from holdfast.mechanisms.topdown.engine import workers
from holdfast.mechanisms.topdown.estimate import level_of, named, sums_of
from holdfast.mechanisms.topdown.measurements import (
    MeasurementLaw,
    MeasurementsOutput,
    Values,
    read_measurements,
)
from holdfast.mechanisms.topdown.microdata import MicrodataOutput
from holdfast.outputs import Output, TableOutput, among, digest_of_all
from holdfast.sampling.entropy import Entropy
from holdfast.system.checks import Check
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.machine import require_memory
from holdfast.system.private import Private
from holdfast.system.text import counted
from holdfast.system.ways import assigned


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredTables(Output):
    """What was measured of all tables, before anything is estimated."""

    tables: Mapping[str, MeasurementsOutput]

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:
        """Write a file for each table; the name of the first leads to all of them."""
        del name, quote_formulas
        files = [
            one.write(folder, among(table, "measurements"), parquet=parquet)
            for table, one in self.tables.items()
        ]
        return files[0]


@dataclass(frozen=True, eq=False)
class JointTopDown(JointTables):
    """Tables that are measured by `topdown`, each on the same geography."""

    tables: Mapping[str, TableOnTree]
    across: Sequence[AcrossTables]

    def outputs(
        self, laws: Mapping[str, Law], entropy: Entropy, making: Making, extras: Sequence[str] = ()
    ) -> Mapping[str, Output]:
        """Measure every table, unless that was done, and estimate all together."""
        measured = making.drawn
        if not isinstance(measured, MeasuredTables):
            found = {}
            for name, one in self.tables.items():
                law = laws[name]
                assert isinstance(law, MeasurementLaw)  # noqa: S101 - its own
                found[name] = one.mechanism.measured(law.measure(entropy))
            measured = MeasuredTables(found)
            if making.keep is not None:
                making.keep(measured)
        with workers(making) as run:
            leaves = self.estimated({name: one.values for name, one in measured.tables.items()}, run)
        outputs: dict[str, Output] = {}
        for name, one in self.tables.items():
            table = TableOutput.of_all(one.public, leaves[name].ravel(), estimated=True)
            outputs[name] = table
            outputs[among(name, "measurements")] = measured.tables[name]
            if making.microdata or "microdata" in extras:
                outputs[among(name, "microdata")] = MicrodataOutput(table.table)
        return outputs

    def restored(self, file: Path) -> MeasuredTables:
        """Return what was measured of all tables, from the files beside this one."""
        return MeasuredTables(
            {
                name: one.mechanism.restored(file.parent / f"{among(name, 'measurements')}.parquet")
                for name, one in self.tables.items()
            }
        )

    def estimated(self, values: Mapping[str, Values], run: Run = here) -> Mapping[str, IntArray]:
        """Return the counts of the leaves of every table."""
        found = descend(self._regions.spine.parent, self.levels(values), run=run).counts[-1]
        parts = zip(self.tables, np.split(found, self._starts[1:-1], axis=1), strict=True)
        return {name: part[:, : self._designs[name].regions.width] for name, part in parts}

    def checked(self) -> None:
        """Raise where what is 0 with another sum is not told by it, or nothing keeps what was published."""
        if any(design.before for design in self._designs.values()):
            try:
                descend(self._regions.spine.parent, self.levels(None))
            except UnmetError as error:
                raise named(
                    error, self._regions, [self._sums(place) for place in range(len(self._regions.sizes))]
                ) from None
        elif any(each.zero for each in self.across):
            self.levels(None)

    def _sums(self, place: int) -> list[str]:
        """Return in words where each sum that the counts of a level keep is from."""
        own = [
            f"{said} of {name}" for name, design in self._designs.items() for said in sums_of(design, place)
        ]
        level = self._regions.levels[place]
        regions = {name: design.regions for name, design in self._designs.items()}
        equal = [each for each in self.across if each.level == level and each.sense == "=="]
        return own + [
            f"the constraint {each.name}" for each in equal for _ in range(each.rows(regions).left.shape[0])
        ]

    def levels(self, values: Mapping[str, Values] | None) -> list[Level]:
        """Return what is measured and known of each level, over the cells of all tables."""
        found = []
        for place in range(len(self._regions.sizes)):
            own = [
                level_of(
                    self._designs[name],
                    place,
                    one.mechanism.measurements if values is not None else (),
                    values[name] if values is not None else (),
                )
                for name, one in self.tables.items()
            ]
            found.append(self._joined(place, own))
        return found

    def check(
        self, files: Mapping[str, ReleasedFiles], measured: str | None, *, whole: bool
    ) -> Iterator[Check]:
        """Check what was measured, and that all counts follow from it."""
        values = {}
        for name, one in self.tables.items():
            try:
                path = files[name].path("measurements")
                values[name] = read_measurements(path, self._designs[name], one.mechanism.measurements)
            except HoldfastError as error:
                require_memory(error)
                yield Check(f"{name}: measurements", holds=False, detail=str(error).rstrip("."))
                return
        digests = [one.mechanism.measured(values[name]).measured for name, one in self.tables.items()]
        same = digest_of_all(digests) == measured
        yield Check.that(
            "measured", same, "the SHA-256 of all measurements is not the one in the head of the certificate"
        )
        if not (same and whole):
            return
        try:
            again = self.estimated(values)
        except HoldfastError as error:
            require_memory(error)
            yield Check("estimates", holds=False, detail=str(error).rstrip("."))
            return
        for name in self.tables:
            leaves = files[name].table.counts.reshape(again[name].shape)
            other = int((again[name] != leaves).sum())
            every = counted(leaves.size, "count")
            told = f"{every} of leaves follow from the measurements of all tables"
            wrong = f"{other:,} of {every} are not what follows from the measurements of all tables"
            yield Check(f"{name}: estimates", holds=not other, detail=wrong if other else told)

    @cached_property
    def _designs(self) -> Mapping[str, MeasurementDesign]:
        return {name: one.mechanism.design for name, one in self.tables.items()}

    @property
    def _regions(self) -> Regions:
        return next(iter(self._designs.values())).regions

    @cached_property
    def _starts(self) -> list[int]:
        widths = [
            design.regions.width + sum(each.width for each in area_tables(design))
            for design in self._designs.values()
        ]
        return list(np.cumsum([0, *widths]).tolist())

    def _joined(self, place: int, own: Sequence[Level]) -> Level:
        """Return a level of all tables, with what is known across them there."""
        regions = {name: design.regions for name, design in self._designs.items()}
        name = self._regions.levels[place]
        nodes = self._regions.sizes[place]
        asked = [each for each in self.across if each.level == name]
        rows = []
        for each in asked:
            both = each.rows(regions)
            left, right = self._wide(both.left, each.left.table), self._wide(both.right, each.right.table)
            least, most = each.sense in (">=", "=="), each.sense in ("<=", "==")
            rows.append(RowsAcross.of(csr_array(left - right), nodes, least=least, most=most))
        level = beside(own, rows)
        for each in asked:
            if each.zero:
                level = self._emptied(level, each, place, regions)
        return level

    def _emptied(
        self, level: Level, asked: AcrossTables, place: int, regions: Mapping[str, Regions]
    ) -> Level:
        """Return the level where the left cells are 0 wherever the right sum is."""
        both = asked.rows(regions)
        known = self.known(asked.right.table, place, both.right)
        if known is None:
            raise SpecError(
                f"the constraint {asked.name!r} has {assigned('zero', True)}, and the invariants do"
                f" not tell its"
                f" right side at every {self._regions.levels[place]}: keep that as an invariant of"
                f" {asked.right.table!r}, or bound the left side in its place,"
                f" {assigned('sense', '<=')} with a"
                " large times on the right."
            )
        before = self._starts[list(self.tables).index(asked.left.table)]
        nodes, rows = np.nonzero(known == 0)
        left = both.left
        lengths = np.diff(left.indptr)[rows]
        cells = [left.indices[left.indptr[row] : left.indptr[row + 1]] for row in rows.tolist()]
        every = np.concatenate([np.zeros(0, dtype=np.int64), *cells]).astype(np.int64)
        return emptied(level, before + every, np.repeat(nodes, lengths))

    def known(self, table: str, place: int, rows: csr_array) -> IntArray | None:
        """Return what the invariants say of rows of a table at every node of a level, if they do."""
        design = self._designs[table]
        matrices, values = [], []
        for below in range(place, len(design.kept)):
            each = design.kept[below]
            added = each.values
            for parent in reversed(design.regions.spine.parent[place:below]):
                starts = np.searchsorted(parent, np.arange(parent[-1] + 1))
                added = np.add.reduceat(added, starts, axis=0)
            matrices.append(each.rows)
            values.append(added)
        fixed, sums = csr_array(vstack(matrices, format="csr")), np.hstack(values)
        found = np.zeros((design.regions.sizes[place], rows.shape[0]), dtype=np.int64)
        said = np.diff(rows.indptr) == 0
        for block in echelons(csr_array(vstack([fixed, rows], format="csr"))):
            for row, terms in block.combination.items():
                if row >= fixed.shape[0] and max(terms) < fixed.shape[0]:
                    total = sum(weight * sums[:, at].astype(object) for at, weight in terms.items())
                    found[:, row - fixed.shape[0]] = total
                    said[row - fixed.shape[0]] = True
        return found if said.all() else None

    def _wide(self, rows: csr_array, table: str) -> csr_array:
        """Return rows over the cells of a table as rows over those of all tables."""
        return placed(rows, self._starts[list(self.tables).index(table)], self._starts[-1])
