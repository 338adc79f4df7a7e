"""Weighted queries as a quadratic form of noise.

Measured by itself, with noise of variance s^2 in each row, a query W x would cost |W u|^2 / (2 s^2) in zCDP.
With its *share* of the budget, and D^2 = max |W (e_x - e_y)|^2 the most that one record moves it, 1 / s^2 is
in proportion to share / D^2. So

    F = sum over queries of (2 share / D^2) W'W,    or of (share / D^2) W'W, D^2 = max |W e_x|^2,

where records come and go,

which is the identity for the detailed query alone, and one number sigma^2 scales all of it to the target
[theory, 13]. Queries whose answers the invariants fix leave their shares to the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.forms import Form
from holdfast.lattice.margins import MarginStrategy
from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.mechanism import DrawArray
from holdfast.mechanisms.weights.axes import MarginAxes
from holdfast.mechanisms.weights.optimised import optimised, proved
from holdfast.mechanisms.weights.queries import (
    OptimumRecord,
    QueryOptions,
    WeightedQuery,
    WeightedQueryRecord,
    WeightedRecord,
    canonical,
    checked_queries,
)
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import FormLoss
from holdfast.public import Public
from holdfast.sampling.lattice.weighted import MOST_CELLS, too_many_cells
from holdfast.system.errors import SpecError
from holdfast.system.ways import assigned, setting
from holdfast.universe.form_stretch import per_record

if TYPE_CHECKING:
    from holdfast.mechanisms.likelihood import NoisySums


@dataclass(frozen=True, eq=False)
class Strategy:
    """Queries that the invariants do not fix, and the form of noise that their shares of the budget make."""

    queries: tuple[WeightedQueryRecord, ...]
    form: Form
    marginals: tuple[tuple[str, ...], ...]
    """The attributes of each part of the form, those of its query or of a margin in it."""
    optimum: OptimumRecord | None = None
    """The weights that are best for the queries, where these do not weigh by themselves."""

    @classmethod
    def of_options(cls, public: Public, options: QueryOptions, premises: Premises) -> "Strategy | None":
        """Return the form that the keys of a mechanism ask for, None where they ask for none."""
        if not options.optimise_for:
            return cls.of_queries(public, options.queries)
        if options.for_accuracy:
            raise SpecError(
                f'{setting("mechanism.optimise_for")} = "accuracy" has no accuracy here that weights could be'
                f" best for: name margins in it, or give {setting('accuracy')} in place of a budget."
            )
        found = optimised(public, options.optimise_for, premises)
        return cls.of_record(public, found, premises)

    @classmethod
    def of_record(
        cls, public: Public, record: "WeightedRecord | OptimumRecord", premises: Premises
    ) -> "Strategy | None":
        """Return the form of a record; raises SpecError where no spec leads to it."""
        best = record if isinstance(record, OptimumRecord) else record.optimum
        if isinstance(record, WeightedRecord) and record.queries is not None:
            if best is not None:
                raise SpecError("a certificate has queries and an optimum: one of them is not its own.")
            return cls.recorded(public, record.queries)
        return None if best is None else cls(best.queries, *proved(public, best, premises), best)

    @classmethod
    def of_queries(cls, public: Public, queries: Sequence[WeightedQuery]) -> "Strategy | None":
        """Return the form of what a spec asks for, None where it asks for nothing."""
        return cls.of(public, checked_queries(public, queries)) if queries else None

    @classmethod
    def recorded(cls, public: Public, queries: tuple[WeightedQueryRecord, ...] | None) -> "Strategy | None":
        """Return the form of what a certificate has; raises SpecError where no spec leads to such a list."""
        if queries is None:
            return None
        for query in queries:
            query.require_known(public)
        if canonical(queries, public.schema) != queries:
            raise SpecError("the queries of a certificate are not in their order, or some are there twice.")
        found = cls.of(public, queries)
        if found.queries != queries:
            raise SpecError("a query of a certificate is fixed by the invariants, and has no noise.")
        return found

    @classmethod
    def of(cls, public: Public, queries: tuple[WeightedQueryRecord, ...]) -> "Strategy":
        """Return the form; raises SpecError where some difference of tables is seen by no query."""
        if not queries:
            raise SpecError("weighted noise has no queries: name some.")
        axes = MarginAxes.of(public, queries)
        if axes is None and public.possible.size > MOST_CELLS:
            raise too_many_cells(public.possible.size)
        left = tuple(
            query
            for query in queries
            if not (_fixed(public, query.matrix(public)) if axes is None else axes.fixes(query.marginal))
        )
        if not left:
            raise SpecError(
                f"{setting('mechanism.queries')} asks for nothing but what the invariants fix: ask for a"
                " larger marginal."
            )
        form = _form(public, left, axes)
        matrix = public.universe.matrix if form.margins is None else None
        if not form.measures(matrix):
            raise _unmeasured(public, axes, form.margins)
        if form.margins is None:
            _require_small(form)
        return cls(left, form, tuple(query.marginal for query in left))

    @property
    def words(self) -> str:
        """The queries with their weights."""
        if self.optimum is not None and self.optimum.least:
            return f"{self.optimum.words} {', '.join(query.name for query in self.queries)}"
        said = ", ".join(query.words for query in self.queries)
        return said if self.optimum is None else f"{self.optimum.words} {said}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The queries, or the optimum, as fields of a record."""
        return {"queries": None if self.optimum else self.queries, "optimum": self.optimum}

    @property
    def squares(self) -> int:
        """How many kinds of sums the form squares."""
        return len(self.queries) if self.optimum is None else len(self.optimum.weights)


def _form(public: Public, queries: Sequence[WeightedQueryRecord], axes: "MarginAxes | None") -> Form:
    """Return the form of queries with their shares of the budget."""
    presence, total = public.whom.presence, sum((query.weight for query in queries), Fraction(0))
    shares = [(1 if presence else 2) * query.weight / total for query in queries]
    if axes is None:
        moved = added_by_one if presence else moved_by_one
        rows = [query.matrix(public) for query in queries]
        return Form([(each, share / moved(each)) for each, share in zip(rows, shares, strict=True)])
    readings = [axes.reading(query.marginal) for query in queries]
    counts = [2 if any(reading) and not presence else 1 for reading in readings]  # each cell is in one row
    strengths = [share / count for share, count in zip(shares, counts, strict=True)]
    measured = tuple(zip(readings, strengths, strict=True))
    return Form.of(MarginStrategy(axes.levelled, axes.kept, measured))


def squared_stretch(premises: Premises, strategy: Strategy | None) -> Fraction:
    """Return the largest u'Fu that a guarantee has to cover; without queries, the largest ||u||_2^2."""
    return premises.squared_stretch("l2") if strategy is None else premises.stretch(strategy.form).squared


def form_loss(
    standard: Literal["zcdp", "gaussian", "pure"], premises: Premises, form: Form, unit: Fraction
) -> FormLoss:
    """Return how a loss of ``unit`` u'Fu grows with the distance."""
    each = per_record(premises.universe, form, premises.whom.neighbours)
    return FormLoss(standard, unit * each, unit * form.spectrum)


def summed(form: Form, released: DrawArray, rate: Fraction) -> "NoisySums":
    """Return the likelihood of z = y - x with log probability -rate z'Fz: of sums W x near W y."""
    from holdfast.mechanisms.likelihood import NoisySums  # noqa: PLC0415 - for inference alone

    rates = np.array([float(rate * strength) for strength in form.strengths])
    return NoisySums(form.rows, np.asarray(form.rows @ released, dtype=np.int64), "squared", rates)


def moved_by_one(rows: csr_array) -> Fraction:
    """Return max |W (e_x - e_y)|^2 over pairs of cells, or of one record more where no pair is told apart."""
    if (rows.data == 1).all() and np.diff(rows.tocsc().indptr).max(initial=0) <= 1:
        return Fraction(2 if rows.shape[0] > 1 else 1)  # no cell is in two rows
    dense = (rows.T @ rows).toarray()
    own = np.diagonal(dense)
    found = int((own[:, None] + own - 2 * dense).max(initial=0))
    return Fraction(found or int(own.max(initial=1)))


def added_by_one(rows: csr_array) -> Fraction:
    """Return max |W e_x|^2 over cells: what one record more or less moves."""
    return Fraction(int(np.bincount(rows.indices, rows.data**2).max(initial=1)))


def _fixed(public: Public, rows: csr_array) -> bool:
    """Whether the invariants say all answers of a query."""
    known = public.universe.matrix
    return independent_rows(csr_array(vstack([known, rows], format="csr"))).size == known.shape[0]


def _require_small(form: Form) -> None:
    """Raise where the numbers of a form do not fit 64 bits."""
    try:
        form.gram()
    except OverflowError:
        raise SpecError(
            f"{setting('mechanism.queries')} have weights whose squares do not fit 64 bits: give smaller"
            " whole numbers, and simpler fractions for weight."
        ) from None


def _unmeasured(public: Public, axes: "MarginAxes | None", margins: MarginStrategy | None) -> SpecError:
    """Return the error that some difference of tables is in no query."""
    what = "some differences of tables"
    if axes is not None and margins is not None and margins.unmeasured is not None:
        what = " by ".join(axes.names(margins.unmeasured)) or "the total"
    return SpecError(
        f"{setting('mechanism.queries')} say nothing of {what}, so that noise there has no law: add the"
        f" detailed query, {assigned('marginal', public.schema.names)}, with a small weight."
    )
