"""Checking what stands beside an estimated table: its measurements, and its counts as records."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from holdfast.certificate.checks import Check
from holdfast.certificate.model import Certificate
from holdfast.certificate.public import Published
from holdfast.data.read import ordered_counts
from holdfast.errors import HoldfastError
from holdfast.mechanisms.topdown.file import FILE, read_measurements
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.public import Public
from holdfast.words import counted


def measured_checks(
    folder: Path, certificate: Certificate, mechanism: TopDown, public: Public
) -> Iterator[Check]:
    """Compare the measurements with the design that is claimed, and the table with all levels and records."""
    try:
        values = read_measurements(folder / FILE, mechanism.design, mechanism.measurements)
    except HoldfastError as error:
        yield Check("measurements", holds=False, detail=str(error).rstrip("."))
        return
    number = sum(part.size for part in values)
    yield Check("measurements", holds=True, detail=f"{number:,} of the queries and levels that are claimed")
    published = Published(folder, public)
    counts = published.table.counts
    regions = mechanism.design.regions
    tables = regions.sums(counts)
    design = mechanism.design
    for level, table, kept, bounded in zip(regions.levels, tables, design.kept, design.bounded, strict=True):
        sums = [table @ kept.rows.T == kept.values, table >= 0]
        for each in bounded:
            within = table @ each.rows.T
            sums += [within >= each.at_least] if each.at_least is not None else []
            sums += [within <= each.at_most] if each.at_most is not None else []
        same = all(bool(part.all()) for part in sums)
        told = f"{counted(len(table), 'node')}, {counted(kept.values.size, 'number')} kept"
        yield Check(f"level {level}", holds=same, detail=told if same else "a node does not keep it")
    if certificate.topdown is not None and certificate.topdown.microdata:
        yield _records_check(folder, certificate, published)


def _records_check(folder: Path, certificate: Certificate, published: Published) -> Check:
    """Check that the records are those that the table counts."""
    name = next((file for file in certificate.files if file.startswith("microdata.")), None)
    if name is None:
        return Check("microdata", holds=False, detail="the certificate names no file of records")
    try:
        quoted = certificate.quoted_formulas and name.endswith(".csv")
        same = ordered_counts(folder / name, published.public.schema, quoted_formulas=quoted)
    except (HoldfastError, OSError, pl.exceptions.PolarsError) as error:
        told = str(error).rstrip(".") if isinstance(error, HoldfastError) else "it cannot be read"
        return Check("microdata", holds=False, detail=told)
    return Check.that(
        "microdata", np.array_equal(same, published.table.counts), "it is not what the table counts"
    )
