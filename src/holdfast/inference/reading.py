"""A release as its readers have it: its table, its certificate, its law, and what follows from them."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from holdfast.certificate.model import Certificate
from holdfast.certificate.read import read_certificate
from holdfast.data.table import PublicTable
from holdfast.inference.contrasts import Contrast, EstimateReport
from holdfast.inference.labels import Selection
from holdfast.inference.node_intervals import NodeReport
from holdfast.inference.notebook import as_html
from holdfast.inference.released_intervals import Estimator, IntervalReport
from holdfast.lattice.arrays import BoolArray
from holdfast.mechanisms.mechanism import NoiseLaw
from holdfast.system.errors import SpecError

if TYPE_CHECKING:
    from holdfast.inference.posterior.results import Posterior

EXACT = "exact"
USUAL = Fraction(9, 10)


class Reading:
    """A released table: nothing but its folder is needed, and all of it is public.

    Selections are words, ``"county=Alpha,sex=f"``, or mappings, ``{"county": "Alpha", "age": [18, 64]}``.
    """

    def __init__(self, folder: str | Path, table: str | None = None) -> None:
        """Verify a release and read it; of several tables, the one that is named."""
        self.folder, self._name = Path(folder), table
        self._estimator = Estimator.of(folder, table)

    def __repr__(self) -> str:
        levels = ", ".join(
            f"{name} ({len(each.levels):,})" for name, each in self._estimator.attributes.items()
        )
        return f"<release by {self.certificate_of_table.table.mechanism.name}: {levels}>"

    def _repr_html_(self) -> str:
        return as_html(self.table)

    @cached_property
    def certificate(self) -> Certificate:
        """The record of the release."""
        return read_certificate(self.folder)

    @property
    def certificate_of_table(self) -> Certificate:
        """The record of this table alone, of a release of several."""
        return self._estimator.released.certificate

    @property
    def released(self) -> PublicTable:
        """The released counts, as a release has them."""
        return self._estimator.released.table

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise of the table; raises ReleaseError where it is not public."""
        return self._estimator.released.noise

    @cached_property
    def table(self) -> pl.DataFrame:
        """A row for each cell: its levels, its count, and whether that is exact."""
        if EXACT in (*self.released.schema.names, self.released.count):
            raise SpecError(f"the column {EXACT!r} is also an attribute: take the counts from released.")
        return self.released.to_frame().with_columns(pl.Series(EXACT, self._exact()))

    def _exact(self) -> BoolArray:
        """Return which cells the invariants fix, structural zeros among them."""
        status = self._estimator.released.public.cell_status(estimated=False)
        return status.is_in(["exact", "structural zero"]).to_numpy()

    def intervals(self, **asked: Any) -> IntervalReport | NodeReport:
        """Return what `holdfast.intervals` does: for all cells, a margin, or every place of a level."""
        return self._estimator.intervals(**asked)

    def interval(self, selection: Selection, **more: Any) -> EstimateReport:
        """Return the count of a selection with its interval; with a margin, by its levels."""
        return self.sum([(1, selection)], **more)

    def difference(self, first: Selection, second: Selection, **more: Any) -> EstimateReport:
        """Return the first count less the second, with an interval."""
        return self._contrasts(Contrast.difference(first, second), **more)

    def ratio(self, above: Selection, below: Selection, **more: Any) -> EstimateReport:
        """Return the first count over the second, with an interval."""
        return self._contrasts(Contrast.ratio(above, below), **more)

    def sum(self, terms: Sequence[tuple[Fraction | int | str, Selection]], **more: Any) -> EstimateReport:
        """Return the sum of counts, each times a number, with an interval."""
        return self._contrasts(Contrast.sum(terms), **more)

    def rate(
        self,
        selection: Selection,
        people: float | Mapping[str, float],
        *,
        per: float = 1,
        **more: Any,
    ) -> EstimateReport:
        """Return a count per so many of a public number of people, one for all or one for each level."""
        return self.interval(selection, **more).rate(people, per=per)

    def _contrasts(
        self,
        contrast: Contrast,
        *,
        margin: Sequence[str] = (),
        where: Selection | None = None,
        level: Fraction | float = USUAL,
        together: bool = False,
        place: str | None = None,
    ) -> EstimateReport:
        return self._estimator.contrasts(
            [contrast], margin=margin, where=where, level=level, together=together, place=place
        )

    def posterior(self, model: str | Path | Mapping[str, Any], **more: Any) -> "Posterior":
        """Return the posterior of a model, as `holdfast.infer` does."""
        from holdfast.inference.posterior.infer import infer  # noqa: PLC0415 - loads the samplers

        return infer(self.folder, model, table=self._name, **more)


def read(folder: str | Path, table: str | None = None) -> Reading:
    """Return a release to work with, which is verified; raises ViolatedError where it is not as certified.

    ``table`` names one of several tables.

    >>> hf.read(folder).interval({"county": "A"}).estimate
    21
    """
    return Reading(folder, table)
