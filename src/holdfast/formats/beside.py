"""A release in other formats, written with it: named in its certificate, with their hashes.

What they are made of is known before a draw but for the counts, so that they are made once of counts that are
all 0 first: what cannot be written costs nothing. They come before the certificate, whose digest they do not
have.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from holdfast.certificate.model import Certificate
from holdfast.certificate.text import CERTIFICATE
from holdfast.data.schema import Schema
from holdfast.formats import tabular
from holdfast.formats.catalogue import FORMATS
from holdfast.formats.cells import PublishedCells
from holdfast.formats.crate import CRATE, crate
from holdfast.lattice.arrays import IntArray
from holdfast.outputs import Output, TableOutput
from holdfast.system.errors import ReleaseError
from holdfast.system.ways import setting

LONGEST_COUNT = 22
"""Bytes of a count with its sign and what is around it, beside those of a count of 0."""
OF_ALL = {"registry": "registry.yaml", "assessment": "assessment.md"}
"""Formats of a whole release, with their files."""


@dataclass(frozen=True, eq=False)
class PublicCells:
    """The cells of a table that will be released, and what will be known of their counts."""

    schema: Schema
    count: str
    status: pl.Series


@dataclass(frozen=True, eq=False)
class Beside:
    """The formats in which a release is written beside its own, and its tables by their outputs."""

    formats: tuple[str, ...] = ()
    tables: Mapping[str, PublicCells] = field(default_factory=dict, repr=False)

    def rehearse(self, certificate: Certificate) -> int:
        """Return how many bytes they take at most; raises what would keep them from being written."""
        zeros = {name: np.zeros(cells.schema.size, np.int64) for name, cells in self.tables.items()}
        outputs = [output for part in certificate.parts for output in part.outputs]
        files = [f"{output}{ending}" for output in outputs for ending in (".csv", ".parquet")]
        size, taken = 0, {file.lower() for file in files}
        for file, content in self._files(certificate, zeros, {}):
            if file.lower() in taken:
                raise ReleaseError(
                    f"{setting('publication', 'formats')} writes {file}, and the release has a file of that"
                    " name: rename the table, or leave the format out."
                )
            taken.add(file.lower())
            size += len(content)
        return size + len(self.formats) * LONGEST_COUNT * sum(counts.size for counts in zeros.values())

    def files(
        self, certificate: Certificate, outputs: Mapping[str, Output], sizes: Mapping[str, int]
    ) -> Iterator[tuple[str, bytes]]:
        """Yield each file with its content; ``sizes`` are of what is written by then."""
        drawn = {name: each.table.counts for name, each in outputs.items() if isinstance(each, TableOutput)}
        yield from self._files(certificate, drawn, sizes)

    def _files(
        self, certificate: Certificate, counts: Mapping[str, IntArray], sizes: Mapping[str, int]
    ) -> Iterator[tuple[str, bytes]]:
        for name, cells in self.tables.items():
            texts = tuple(map(str, counts[name].tolist()))
            alone = certificate.alone(name)
            published = PublishedCells(alone, cells.schema, cells.count, texts, cells.status)
            for form in self.formats:
                if (of_cells := FORMATS[form].of_cells) is not None:
                    file = f"{name}-{form}{FORMATS[form].ending}"
                    yield file, of_cells(published, Path(file))
                    if form == "csvw":
                        described = tabular.described_csv(Path(file)).name
                        yield described, tabular.csvw(published.in_csv, file)
        for form, file in OF_ALL.items():
            of_release = FORMATS[form].of_release
            if form in self.formats and of_release is not None:
                yield file, of_release(certificate, Path(file))
        if "rocrate" in self.formats:  # the last, as it names all others
            yield CRATE, crate(certificate, {**sizes, CERTIFICATE: None})
