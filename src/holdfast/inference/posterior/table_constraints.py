"""A verified release as its readers have it: its law, what is public of it, and a table that agrees."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.certificate.parts import ProcessedPart, RecordsPart
from holdfast.certificate.public import mechanism_of, public_of
from holdfast.certificate.read import read_certificate
from holdfast.data.nmf.folder import is_opened
from holdfast.data.nmf.opened import read_opened
from holdfast.derivation.several import verified
from holdfast.estimation.conforming import Conforming
from holdfast.estimation.integers import integers_l1
from holdfast.inference.opened.counts import COUNT
from holdfast.inference.opened.observed import observed_counts
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.catalogue import NAMED
from holdfast.mechanisms.truncation.laws import Observed
from holdfast.public import Floor, Public
from holdfast.system.checks import ViolatedError
from holdfast.system.errors import DataError, ReleaseError
from holdfast.system.ways import option
from holdfast.universe.tables import few_tables
from holdfast.verification.verify import verify

MarginDesign = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""The shape of a table and the axes of each of its margins, where these are all that is kept."""


@dataclass(frozen=True, eq=False)
class TableConstraints:
    """The tables x >= 0 with A x = t and B x >= b, in whole numbers.

    Attributes:
        matrix: A, with independent rows.
        values: t.
        rows: B.
        least: b.
        design: the margins that A has, where it has no other rows and no cell is left out.

    """

    matrix: csr_array
    values: IntArray
    rows: csr_array
    least: IntArray
    design: MarginDesign | None = None

    @classmethod
    def of(
        cls,
        matrix: csr_array,
        values: IntArray,
        rows: csr_array | None = None,
        least: IntArray | None = None,
        design: MarginDesign | None = None,
    ) -> "TableConstraints":
        """Return the constraints of invariants, and of inequalities if there are any."""
        cells = matrix.shape[1]
        B = csr_array((0, cells), dtype=np.int64) if rows is None else csr_array(rows, copy=True)
        B.eliminate_zeros()
        b = np.zeros(B.shape[0], dtype=np.int64) if least is None else least
        return cls(matrix, np.asarray(values, dtype=np.int64), B, b, design)

    @classmethod
    def of_release(cls, public: Public) -> "TableConstraints":
        """Return what is public of the possible cells of a released table."""
        design = None
        if public.cliques is not None and not public.schema.nestings:
            axes = tuple(tuple(public.schema.axis(name) for name in clique) for clique in public.cliques)
            design = (public.schema.shape, axes)
        universe = public.universe
        known = cls.of(universe.matrix, universe.values, design=design)
        return known.bounded(public.inequalities, public.possible)

    def bounded(self, floors: Iterable[Floor], possible: IntArray) -> "TableConstraints":
        """Return these constraints and further inequalities, which are given over all cells."""
        rows, least = [self.rows], [self.least]
        for floor in floors:
            B = csr_array(floor.block.matrix[:, possible].astype(np.int64))
            for name, bound in floor.bounds.items():
                sign = 1 if name == "at_least" else -1
                rows.append(sign * B)
                least.append(np.full(B.shape[0], sign * bound, dtype=np.int64))
        B = csr_array(vstack(rows, format="csr"))
        B.eliminate_zeros()
        return replace(self, rows=B, least=np.concatenate(least))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.matrix.shape[1])

    def without(self, absent: BoolArray) -> "TableConstraints":
        """Return what holds of the other cells where some have no records."""
        if not absent.any():
            return self
        kept = np.flatnonzero(~absent)
        matrix, rows = csr_array(self.matrix[:, kept]), csr_array(self.rows[:, kept])
        return TableConstraints(matrix, self.values, rows, self.least)

    def hold(self, tables: IntArray) -> BoolArray:
        """Tell which tables, one a row, agree with all of it, in integers."""
        kept = (tables >= 0).all(axis=1)
        kept &= (np.asarray(self.matrix @ tables.T) == self.values[:, None]).all(axis=0)
        kept &= (np.asarray(self.rows @ tables.T) >= self.least[:, None]).all(axis=0)
        return np.asarray(kept)

    def nearest(self, counts: IntArray | FloatArray) -> IntArray:
        """Return the table nearest to some counts in l1; raises DataError where there is no table at all."""
        return integers_l1(counts, self._conforming)

    @property
    def possible(self) -> bool:
        """Whether there is such a table."""
        try:
            self.nearest(np.zeros(self.cells, dtype=np.int64))
        except DataError:
            return False
        return True

    def tables(self, most: int) -> IntArray | None:
        """Return all of them, None where more than ``most`` tables have the invariants."""
        found = few_tables(self.matrix, self.values, most)
        return None if found is None else found[self.hold(found)]

    @cached_property
    def low(self) -> IntArray:
        """The least count of each cell: 0, or more where B says so of the cell by itself."""
        low = np.zeros(self.cells, dtype=np.int64)
        alone = np.flatnonzero(self._alone)
        np.maximum.at(low, self.rows.indices[self.rows.indptr[alone]], self.least[alone])
        return low

    @cached_property
    def joint(self) -> tuple[csr_array, IntArray]:
        """B and b of all other inequalities."""
        return csr_array(self.rows[np.flatnonzero(~self._alone)]), self.least[~self._alone]

    @cached_property
    def _alone(self) -> BoolArray:
        single: BoolArray = np.diff(self.rows.indptr) == 1
        single[single] = self.rows.data[self.rows.indptr[:-1][single]] == 1
        return single

    @cached_property
    def _conforming(self) -> Conforming:
        rows, least = self.joint
        return Conforming.of(self.matrix, self.values, least=self.low, rows=rows, at_least=least)


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """What a release says of a table, and all else that is public of it.

    Attributes:
        observed: its cells, and the likelihood of the release.
        constraints: what is known of them for certain.
        count: the name of the column of counts.
        mechanism: the name of the mechanism.
        digest: that of the certificate.
        seeded: whether it was drawn from a seed.

    """

    observed: Observed
    constraints: TableConstraints
    count: str
    mechanism: str
    digest: str
    seeded: bool


def is_records(folder: Path) -> bool:
    """Whether a folder holds records; a processed table is sent back to its release."""
    if is_opened(folder):
        return False
    part = read_certificate(folder).parts[0]
    if isinstance(part, ProcessedPart):
        raise ReleaseError(
            f"{folder} holds a processed table, whose law has no formula: name the folder of the release"
            " that it was made of."
        )
    return isinstance(part, RecordsPart)


def released_table(
    folder: str | Path, table: str | None = None, *, level: str | None = None
) -> ReleasedTable:
    """Return a release that was verified; of several tables, the one that is named.

    ``level`` is that of a top-down release whose counts are meant. Raises ViolatedError where it is not as
    certified, and ReleaseError where its law is not public.
    """
    folder = Path(folder)
    if is_opened(folder):
        return _of_opened(folder, table, level)
    certificate = read_certificate(folder)
    digest, counts = certificate.digest, None
    kind = NAMED.get(certificate.table.mechanism.name) if certificate.joined is None else None
    if kind is None or "table" in (kind.output, *kind.estimated):
        found = verified(folder, table)
        public, certificate, counts = found.public, found.certificate, found.table.counts
    else:
        verification = verify(folder)
        if not verification.kept:
            raise ViolatedError(verification)
        public = public_of(certificate)
    observed = mechanism_of(certificate, public).observed(folder, public, counts, level, table)
    constraints = (
        TableConstraints.of_release(public)
        if observed.known is None
        else TableConstraints.of(*observed.known)
    )
    return ReleasedTable(
        observed,
        constraints,
        public.count,
        certificate.table.mechanism.name,
        digest,
        not certificate.randomness.secure,
    )


def _of_opened(folder: Path, table: str | None, level: str | None) -> ReleasedTable:
    """Return what opened measurements say of the counts of a level."""
    if table is not None:
        raise ReleaseError(f"{folder} holds the measurements of one table: leave out {option('table')}.")
    opened = read_opened(folder)
    observed = observed_counts(opened, level)
    assert observed.known is not None  # noqa: S101 - for types
    constraints = TableConstraints.of(*observed.known)
    return ReleasedTable(observed, constraints, COUNT, "opened measurements", opened.digest, seeded=False)
