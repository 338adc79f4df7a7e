"""The table of a folder as it leaves: every cell with its count and what is to be known of that, its status.

    structural zero   it cannot occur, as everyone knows
    exact             the invariants alone give its count, whatever the noise
    forced            they give it together with what everyone knows, such as that no count is below 0; the
                      count that is published may still have noise
    estimated         it was computed from what was measured, or processed after the release: it is biased
    noisy             it has unbiased noise of a public law, or noise within public bounds

What fixes a cell follows from public values alone [holdfast, universe/exposure.py].
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from holdfast.certificate.model import Certificate
from holdfast.certificate.public import public_of
from holdfast.certificate.read import certificate_of, read_certificate
from holdfast.certificate.text import parse
from holdfast.data.schema import Schema
from holdfast.data.table import long_frame
from holdfast.derivation.several import verified
from holdfast.inference.intervals import in_row_space
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.catalogue import NAMED
from holdfast.processing.processed import RELEASE, TABLE
from holdfast.public import Public
from holdfast.system.checks import ViolatedError
from holdfast.system.errors import SpecError
from holdfast.universe.exposure import exposure
from holdfast.verification.verify import verify

STATUSES = ("noisy", "exact", "forced", "structural zero", "estimated")
STATUS = "status"
"""The column of them."""


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """A released or processed table: its cells in row-major order, as their readers have them."""

    certificate: Certificate
    """That of this table alone."""
    schema: Schema
    count: str
    texts: tuple[str, ...]
    """The counts as they are written: whole, or with the decimals of a processed table."""
    status: IntArray
    """For each cell, the place of its status in `STATUSES`."""

    @cached_property
    def numbers(self) -> list[int] | list[float]:
        """The counts as numbers: whole where all are."""
        whole = not any("." in text for text in self.texts)
        return [int(text) for text in self.texts] if whole else [float(text) for text in self.texts]

    @property
    def title(self) -> str:
        """What the curator calls it."""
        publication = self.certificate.publication
        return (publication.title if publication else None) or f"Counts by {', '.join(self.schema.names)}"

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each cell: its levels, its count and its status."""
        if STATUS in (*self.schema.names, self.count):
            raise SpecError(f"the column {STATUS!r} of an export is also one of the table: rename that.")
        frame = long_frame(self.schema, pl.Series(self.count, self.numbers))
        words = pl.Series(STATUS, STATUSES, dtype=pl.String).gather(self.status)
        return frame.with_columns(words)


def cells_of(folder: str | Path, table: str | None = None) -> PublishedCells:
    """Return the table of a folder that was verified; raises ViolatedError where it is not as certified."""
    path = Path(folder)
    whole = read_certificate(path)
    if whole.parts[0].kind == "processed":
        return _processed(path, whole)
    published = verified(path, table)
    estimated = bool(NAMED[published.certificate.table.mechanism.name].estimated)
    return PublishedCells(
        published.certificate,
        published.public.schema,
        published.public.count,
        tuple(map(str, published.table.counts.tolist())),
        statuses(published.public, estimated=estimated),
    )


def _processed(folder: Path, certificate: Certificate) -> PublishedCells:
    found = verify(folder, quick=True)
    if not found.kept:
        raise ViolatedError(found)
    source = certificate_of(parse((folder / RELEASE).read_text(encoding="utf-8"), RELEASE), RELEASE)
    public = public_of(source)
    column = pl.read_csv(folder / TABLE, infer_schema=False).to_series(-1)
    return PublishedCells(
        certificate, public.schema, public.count, tuple(column), statuses(public, estimated=True)
    )


def statuses(public: Public, *, estimated: bool) -> IntArray:
    """Return the status of each cell of a table, as its place in `STATUSES`."""
    found = np.full(public.schema.size, STATUSES.index("estimated" if estimated else "noisy"), dtype=np.int64)
    found[~public.schema.possible] = STATUSES.index("structural zero")
    fixed = exposure(public.universe).determined
    one = np.ones(fixed.size, dtype=np.int64)
    rows = csr_array((one, (np.arange(fixed.size), fixed)), shape=(fixed.size, public.universe.cells))
    exact = in_row_space(public.universe.matrix, rows)
    possible = np.flatnonzero(public.schema.possible)
    found[possible[fixed]] = np.where(exact, STATUSES.index("exact"), STATUSES.index("forced"))
    return found
