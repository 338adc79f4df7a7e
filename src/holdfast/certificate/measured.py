"""Checking what stands beside an estimated table: its measurements, and its counts as records.

The table is a function of the measurements and of what is public, the same on every machine
[holdfast, estimation/topdown/inorder.py]: all counts must be what follows, and none may differ. Measurements
themselves follow from nothing. Others with the same counts, or others with counts that were estimated anew,
are a release that could have been drawn: what tells them from the one that was is the digest in the head of
the certificate, as far as a signature, a ledger or a copy elsewhere vouches for that.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from holdfast.certificate.checks import Check
from holdfast.certificate.model import Certificate
from holdfast.certificate.public import Published
from holdfast.data.read import ordered_counts
from holdfast.errors import HoldfastError
from holdfast.lattice.arrays import IntArray
from holdfast.machine import require_memory
from holdfast.mechanisms.topdown.estimate import estimated
from holdfast.mechanisms.topdown.file import FILE, Values, digest_of, read_measurements
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.public import Public
from holdfast.words import counted

VOUCHED = "that they are those which were drawn, a signature or a ledger shows and nothing else"
"""What no check of a folder by itself can know."""


def measured_checks(
    folder: Path, certificate: Certificate, mechanism: TopDown, public: Public, *, whole: bool
) -> Iterator[Check]:
    """Compare the measurements with the design that is claimed, and the table with all levels and records.

    The ``whole`` of it estimates the table from the measurements again.
    """
    try:
        values = read_measurements(folder / FILE, mechanism.design, mechanism.measurements)
    except HoldfastError as error:
        require_memory(error)
        yield Check("measurements", holds=False, detail=str(error).rstrip("."))
        return
    number = sum(part.size for part in values)
    if digest_of(values) != certificate.measured:
        wrong = f"the SHA-256 of the values in {FILE} is not the one in the head of the certificate"
        yield Check("measurements", holds=False, detail=wrong)
        return
    yield Check("measurements", holds=True, detail=f"{counted(number, 'value')} as claimed; {VOUCHED}")
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
    if whole:
        yield _estimate_check(mechanism, values, tables[-1])
    if certificate.topdown is not None and certificate.topdown.microdata:
        yield _records_check(folder, certificate, published)


def _estimate_check(mechanism: TopDown, values: Values, leaves: IntArray) -> Check:
    """Check that all counts are those that follow."""
    again = estimated(mechanism.design, mechanism.measurements, values)[-1]
    other = int((again != leaves).sum())
    every = counted(leaves.size, "count")
    if other:
        said = f"{other:,} of {every} are not what follows from the measurements"
        return Check("estimates", holds=False, detail=said)
    return Check("estimates", holds=True, detail=f"{every} of leaves follow from the measurements")


def _records_check(folder: Path, certificate: Certificate, published: Published) -> Check:
    """Check that the records are those that the table counts."""
    name = next((file for file in certificate.files if file.startswith("microdata.")), None)
    if name is None:
        return Check("microdata", holds=False, detail="the certificate names no file of records")
    try:
        quoted = certificate.quoted_formulas and name.endswith(".csv")
        same = ordered_counts(folder / name, published.public.schema, quoted_formulas=quoted)
    except (HoldfastError, OSError, pl.exceptions.PolarsError) as error:
        require_memory(error)
        told = str(error).rstrip(".") if isinstance(error, HoldfastError) else "it cannot be read"
        return Check("microdata", holds=False, detail=told)
    return Check.that(
        "microdata", np.array_equal(same, published.table.counts), "it is not what the table counts"
    )
