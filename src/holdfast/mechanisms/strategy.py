"""Weighted queries as a quadratic form of noise.

Measured by itself, with noise of variance s^2 in each row, a query W x would cost |W u|^2 / (2 s^2) in zCDP.
With its *share* of the budget, and D^2 = max |W (e_x - e_y)|^2 the most that one record moves it, 1 / s^2 is
in proportion to share / D^2. So

    F = sum over queries of (2 share / D^2) W'W,

which is the identity for the detailed query alone, and one number sigma^2 scales all of it to the target
[theory, 13]. Queries whose answers the invariants fix leave their shares to the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.grid import Axis
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.forms import Form, LevelledAxis, MarginStrategy, Reading
from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.mechanism import DrawArray
from holdfast.mechanisms.queries import WeightedQuery, WeightedQueryRecord, asked, canonical
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import FormLoss
from holdfast.public import Public
from holdfast.sampling.lattice.weighted import MOST_CELLS, too_many_cells
from holdfast.system.errors import SpecError
from holdfast.system.ways import setting
from holdfast.universe.form_stretch import per_record

if TYPE_CHECKING:
    from holdfast.mechanisms.likelihood import NoisySums


@dataclass(frozen=True, eq=False)
class Strategy:
    """Queries that the invariants do not fix, and the form of noise that their shares of the budget make."""

    queries: tuple[WeightedQueryRecord, ...]
    form: Form

    @classmethod
    def asked(cls, public: Public, queries: Sequence[WeightedQuery]) -> "Strategy | None":
        """Return the form of what a spec asks for, None where it asks for nothing."""
        return cls.of(public, asked(public, queries)) if queries else None

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
        open_ = [
            (query, rows)
            for query, rows in ((query, query.matrix(public)) for query in queries)
            if not (_fixed(public, rows) if axes is None else axes.fixes(query.marginal))
        ]
        if not open_:
            raise SpecError(
                f"{setting('mechanism.queries')} asks for nothing but what the invariants fix: ask for a"
                " larger marginal."
            )
        total = sum((query.weight for query, _ in open_), Fraction(0))
        parts = tuple((rows, 2 * query.weight / total / moved_by_one(rows)) for query, rows in open_)
        margins = None
        if axes is not None:
            measured = [axes.reading(query.marginal) for query, _ in open_]
            margins = MarginStrategy(
                axes.levelled, axes.kept, tuple(zip(measured, (c for _, c in parts), strict=True))
            )
        form = Form(parts, margins)
        if not form.measures(public.universe.matrix):
            raise _unmeasured(public, axes, margins)
        if margins is None:
            _require_small(form)
        return cls(tuple(query for query, _ in open_), form)

    @property
    def words(self) -> str:
        """The queries with their weights."""
        return ", ".join(query.words for query in self.queries)


def squared_stretch(premises: Premises, strategy: Strategy | None) -> Fraction:
    """Return the largest u'Fu that a guarantee has to cover; without queries, the largest ||u||_2^2."""
    return premises.squared_stretch("l2") if strategy is None else premises.stretch(strategy.form).squared


def form_loss(standard: Literal["zcdp", "pure"], premises: Premises, form: Form, unit: Fraction) -> FormLoss:
    """Return how a loss of ``unit`` u'Fu grows with the distance."""
    return FormLoss(standard, unit * per_record(premises.universe, form), unit * form.spectrum)


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
    detailed = ", ".join(f'"{name}"' for name in public.schema.names)
    return SpecError(
        f"{setting('mechanism.queries')} say nothing of {what}, so that noise there has no law: add the"
        f" detailed query, marginal = [{detailed}], with a small weight."
    )


@dataclass(frozen=True, eq=False)
class MarginAxes:
    """The axes of a table with the levels at which whole margins read them, and the readings of kept ones."""

    axes: tuple[Axis, ...]
    levelled: tuple[LevelledAxis, ...]
    kept: tuple[Reading, ...]

    @classmethod
    def of(cls, public: Public, queries: Sequence[WeightedQueryRecord]) -> "MarginAxes | None":
        """Return them where all that is kept and asked for are whole margins of a full table, else None."""
        blocks = [held.block for held in public.invariants]
        whole = all(not query.where and query.entries is None for query in queries)
        plain = all(not block.where and block.kind != "weights" for block in blocks)
        if public.schema.impossible or not whole or not plain:
            return None
        axes = public.schema.grid.axes
        sets = [*(block.attributes for block in blocks), *(query.marginal for query in queries)]
        levelled = []
        for axis in axes:
            found = LevelledAxis.of(axis.size, [_partition(axis, names) for names in sets])
            if found is None:  # two margins read an axis in ways that cross
                return None
            levelled.append(found)
        bare = cls(axes, tuple(levelled), ())
        return cls(axes, bare.levelled, tuple({bare.reading(block.attributes): None for block in blocks}))

    def reading(self, attributes: Sequence[str]) -> Reading:
        """Return the levels at which a margin reads the axes."""
        pairs = zip(self.axes, self.levelled, strict=True)
        return tuple(levelled.level(_partition(axis, attributes)) for axis, levelled in pairs)

    def fixes(self, attributes: Sequence[str]) -> bool:
        """Whether the margins that are kept say all of another one."""
        return MarginStrategy(self.levelled, self.kept, ()).is_kept(self.reading(attributes))

    def names(self, space: Reading) -> list[str]:
        """Return the attributes that a residual space is of: one of each axis that it tells apart."""
        found = []
        for axis, levelled, level in zip(self.axes, self.levelled, space, strict=True):
            able = (name for name in axis.names if levelled.level(_partition(axis, [name])) >= level)
            found += [next(able, axis.names[-1])] if level else []
        return found


def _partition(axis: Axis, attributes: Sequence[str]) -> IntArray:
    """Return how a margin of some attributes parts the entries of an axis."""
    names = [name for name in axis.names if name in attributes]
    if not names:
        return np.zeros(axis.size, dtype=np.int64)
    part = axis.over(names)
    return part.place([axis.column(name) for name in part.names])
