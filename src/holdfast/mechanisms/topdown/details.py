"""What a certificate says of a top-down release beside its record, and the check of what is beside its table.

The table is a function of the measurements and of what is public, the same on every machine
[holdfast, programs/quadratic/inorder.py]: all counts must be what follows, and none may differ. Measurements
themselves follow from nothing. Others with the same counts, or others with counts that were estimated anew,
are a release that could have been drawn: what tells them from the one that was is the digest in the head of
the certificate, as far as a signature, a ledger or a copy elsewhere vouches for that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from pydantic import StrictBool, StrictFloat, StrictInt

from holdfast.data.read import ordered_counts
from holdfast.data.sections import Section
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.details import EpsilonAt, MechanismDetails, ReleasedFiles, epsilon_at
from holdfast.mechanisms.topdown.estimate import bias, estimated
from holdfast.mechanisms.topdown.measurements import FILE, Values, digest_of, read_measurements
from holdfast.public import Public
from holdfast.spec.privacy import ProtectedUnit
from holdfast.spec.values import Rational
from holdfast.system.checks import Check
from holdfast.system.errors import GuaranteeError, HoldfastError
from holdfast.system.machine import require_memory
from holdfast.system.text import counted

if TYPE_CHECKING:
    from holdfast.mechanisms.topdown.mechanism import TopDown

MICRODATA = "microdata"
"""The counts as records, where they were asked for."""
VOUCHED = "that they are those which were drawn, a signature or a ledger shows and nothing else"
"""What no check of a folder by itself can know."""


class BiasSection(Section):
    """Errors of counts of one size, on a stand-in: of cells of leaves, or of their totals."""

    count: Literal["cell", "total"]
    low: StrictInt
    high: StrictInt | None
    number: StrictInt
    mean_error: StrictFloat
    standard_error: StrictFloat
    mean_absolute_error: StrictFloat


class TopDownDetails(MechanismDetails):
    """Both readings of a top-down release, and the bias of its counts.

    ``per_record`` is rho, or epsilon, for one record of distance. ``effective`` is what it comes to at the
    semi-adjacency: among tables as far apart as one person's change takes with these invariants. Both are
    None where no bound of the semi-adjacency is known.
    """

    per_record: Rational
    epsilon_at: EpsilonAt | None
    semi_adjacency: StrictInt | None
    exact: StrictBool
    effective: Rational | None
    effective_epsilon_at: EpsilonAt | None
    bias: tuple[BiasSection, ...]
    microdata: StrictBool
    """Whether the counts were written out as records, too."""

    def rows(self, record: Any, whom: ProtectedUnit) -> dict[str, list[str]]:
        """Say how far estimated counts are off by their size."""
        del record, whom
        lines = ["on invented counts of the same form, cells of the lowest level:"]
        for row in self.bias:
            if row.count == "cell":
                end = " or more" if row.high is None else f" to {row.high:,}" if row.high > row.low else ""
                error = f"{row.mean_absolute_error:.2f}, with a bias of {row.mean_error:+.2f}"
                lines.append(f"{row.low:,}{end}: {error}")
        return {"Expected error": lines}

    @property
    def simulated(self) -> int:
        """How many cells of a stand-in were estimated to tell of the bias."""
        return sum(each.number for each in self.bias if each.count == "cell")


def topdown_details(
    mechanism: "TopDown", public: Public, extras: Sequence[str], biases: tuple[BiasSection, ...]
) -> TopDownDetails:
    """Return both readings: for one record of distance, and for one person [semi-dp, Proposition 15]."""
    one = mechanism.one_record
    try:
        semi = public.premises("semi").semi_adjacency
    except GuaranteeError:  # of some invariants no bound is known
        semi = None
    all_along = None if semi is None else one.group(semi.worst_case)
    return TopDownDetails(
        per_record=mechanism.per_record,
        epsilon_at=epsilon_at(one),
        semi_adjacency=None if semi is None else semi.worst_case,
        exact=semi is not None and semi.exact,
        effective=None if all_along is None else next(iter(all_along.parameters().values())),
        effective_epsilon_at=None if all_along is None else epsilon_at(all_along),
        bias=biases,
        microdata=MICRODATA in extras,
    )


def simulated_bias(mechanism: "TopDown", public: Public) -> tuple[BiasSection, ...]:
    """Return the bias of estimated counts on a stand-in."""
    found = bias(mechanism.design, mechanism.measurements, public.universe.total)
    return tuple(BiasSection.model_validate(asdict(each)) for each in found)


def check_files(
    mechanism: "TopDown", public: Public, files: ReleasedFiles, *, whole: bool
) -> Iterator[Check]:
    """Compare the measurements with the design that is claimed, and the table with all levels and records.

    The ``whole`` of it estimates the table from the measurements again.
    """
    try:
        values = read_measurements(files.path("measurements"), mechanism.design, mechanism.measurements)
    except HoldfastError as error:
        require_memory(error)
        yield Check("measurements", holds=False, detail=str(error).rstrip("."))
        return
    number = sum(part.size for part in values)
    if not files.among_others and digest_of(values) != files.measured:
        wrong = f"the SHA-256 of the values in {FILE} is not the one in the head of the certificate"
        yield Check("measurements", holds=False, detail=wrong)
        return
    yield Check("measurements", holds=True, detail=f"{counted(number, 'value')} as claimed; {VOUCHED}")
    regions = mechanism.design.regions
    tables = regions.tables(files.table.counts)
    design = mechanism.design
    every = map(design.asked, range(len(regions.sizes)))
    for level, table, kept, bounded in zip(regions.levels, tables, every, design.bounded, strict=False):
        sums = [table @ kept.rows.T == kept.values, table >= 0]
        for each in bounded:
            within = table @ each.rows.T
            sums += [within >= each.at_least] if each.at_least is not None else []
            sums += [within <= each.at_most] if each.at_most is not None else []
        same = all(bool(part.all()) for part in sums)
        told = f"{counted(len(table), 'node')}, {counted(kept.values.size, 'number')} kept"
        yield Check(f"level {level}", holds=same, detail=told if same else "a node does not keep it")
    for known in design.of_areas:
        found = np.asarray(tables[len(regions.sizes) + known.kind][known.areas] @ known.rows.T)
        kept_there, name = known.kept(found), regions.areas[known.kind].name
        told = f"{counted(found.size, 'number')} of areas kept" if kept_there else "an area does not keep it"
        yield Check(f"areas {name}", holds=kept_there, detail=told)
    if whole:
        yield _estimate_check(mechanism, values, tables[len(regions.sizes) - 1])
    if MICRODATA in files.names:
        yield _records_check(public, files)


def _estimate_check(mechanism: "TopDown", values: Values, leaves: IntArray) -> Check:
    """Check that all counts are those that follow."""
    try:
        again = estimated(mechanism.design, mechanism.measurements, values)[-1]
    except HoldfastError as error:
        require_memory(error)
        return Check("estimates", holds=False, detail=str(error).rstrip("."))
    other = int((again != leaves).sum())
    every = counted(leaves.size, "count")
    if other:
        said = f"{other:,} of {every} are not what follows from the measurements"
        return Check("estimates", holds=False, detail=said)
    return Check("estimates", holds=True, detail=f"{every} of leaves follow from the measurements")


def _records_check(public: Public, files: ReleasedFiles) -> Check:
    """Check that the records are those that the table counts."""
    path = files.path(MICRODATA)
    try:
        quoted = files.quoted_formulas and path.suffix == ".csv"
        same = ordered_counts(path, public.schema, quoted_formulas=quoted)
    except (HoldfastError, OSError, pl.exceptions.PolarsError) as error:
        require_memory(error)
        told = str(error).rstrip(".") if isinstance(error, HoldfastError) else "it cannot be read"
        return Check(MICRODATA, holds=False, detail=told)
    return Check.that(MICRODATA, np.array_equal(same, files.table.counts), "it is not what the table counts")
