"""A model of a released table: what is to be found, what is certain, and what the release says of it.

Public numbers of cells are read from a file: exposures, or the counts of an earlier publication.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import csr_array, hstack

from holdfast.data.columns import Columns
from holdfast.data.files import open_file
from holdfast.data.invariants import floor_blocks, inequality_blocks
from holdfast.data.schema import Schema
from holdfast.data.table import first_repeat
from holdfast.inference.posterior.model import CountModel
from holdfast.inference.posterior.model_spec import LEAST, MOST, ModelSpec
from holdfast.inference.posterior.moves import Moves, connecting_moves
from holdfast.inference.posterior.sliding import Sliding
from holdfast.inference.posterior.table_constraints import ReleasedTable, TableConstraints
from holdfast.inference.posterior.walking import Correcting, Walking
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.rows import in_row_space
from holdfast.mechanisms.likelihood import AddedNoise, NoisyStatistic, NoisySums, Tractable
from holdfast.mechanisms.truncation.laws import AnyLikelihood, WeightedTotals
from holdfast.public import Floor
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import DataError, ReleaseError, SamplingError, SpecError
from holdfast.system.text import closest
from holdfast.system.ways import assigned, setting


def read_numbers(path: Path, column: str, schema: Schema) -> FloatArray:
    """Return a number for each cell, from a long file with some of the attributes as columns.

    It has one row for each combination of their levels; cells that agree in these have the same number.
    """
    source = open_file(path)
    names = [name for name in schema.names if name in source.header and name != column]
    if not names:
        raise DataError(
            f"{path} has no column of an attribute of the table: let it have one or more of"
            f" {', '.join(schema.names)}."
        )
    columns = Columns.of(source, names, (column,))
    levels = [schema.attribute(name).levels for name in names]
    shape = tuple(map(len, levels))
    codes = [columns.codes(name, each) for name, each in zip(names, levels, strict=True)]
    rows = np.ravel_multi_index([code.astype(np.int64) for code in codes], shape)
    if (repeated := first_repeat(rows)) is not None:
        first, second = repeated
        raise DataError(
            f"{path}, {source.row(second)} has the levels of {source.row(first)}: list each combination once."
        )
    numbers, order = _numbers(columns, column), np.argsort(rows)
    of_cell = np.ravel_multi_index([schema.codes(name) for name in names], shape)
    place = np.minimum(np.searchsorted(rows[order], of_cell), max(rows.size - 1, 0))
    told = rows[order][place] == of_cell if rows.size else np.zeros(of_cell.size, dtype=np.bool_)
    missing = np.flatnonzero(~told & schema.possible)
    if missing.size:
        raise DataError(
            f"{path} has no {column!r} for the cell {schema.in_words(int(missing[0]))}: list every"
            " combination of levels."
        )
    return np.where(schema.possible, numbers[order][place], 0.0)


def _numbers(columns: Columns, name: str) -> FloatArray:
    values = columns.frame[name].cast(pl.Float64, strict=False)
    usual = (values == 0) | ((values >= LEAST) & (values <= MOST))
    bad = (~usual.fill_null(value=False)).arg_true()
    if bad.len():
        place = int(bad[0])
        value = columns.frame[name][place]
        told = "empty" if value is None else repr(str(value))
        raise DataError(
            f"{columns.source.place(place, name)} is {told}: give 0, or a number from {LEAST:g} to {MOST:g}."
        )
    return values.to_numpy()


MOST_CELLS = 200_000
"""A sweep over so many cells takes a fifth of a second, and draws have a column for each."""
FEW_TABLES = 5_000
LOOKS = 8
"""Draws of noise that show whether it keeps the invariants."""


@dataclass(frozen=True)
class ParameterLabels:
    """What numbers of one kind are called: the attributes, and the levels of each number."""

    attributes: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels of each number as one text."""
        return tuple(", ".join(each) for each in self.levels)


NOBODY = ParameterLabels((), ())


@dataclass(frozen=True, eq=False)
class Problem:
    """A posterior: a model, constraints and a likelihood over the same cells.

    Attributes:
        model: how counts come about.
        constraints: what holds of them for certain.
        likelihood: what the release says of them.
        released: the released counts of the cells; of a statistic, those of a table that has it.
        cells: what the cells are called.
        groups: what the rates or proportions are called.
        pools: what the numbers of the prior are called.

    """

    model: CountModel
    constraints: TableConstraints
    likelihood: AnyLikelihood
    released: IntArray
    cells: ParameterLabels = NOBODY
    groups: ParameterLabels = NOBODY
    pools: ParameterLabels = NOBODY

    @cached_property
    def moves(self) -> Moves:
        """Moves that connect all tables."""
        return connecting_moves(self.constraints)

    @cached_property
    def every_table(self) -> IntArray | None:
        """All tables that agree with what is public, where they are few."""
        return self.constraints.tables(FEW_TABLES)

    @cached_property
    def around_release(self) -> bool:
        """Whether the release less noise may be the table: noise keeps invariants, and is in all cells."""
        likelihood = self.likelihood
        if not isinstance(likelihood, AddedNoise) or likelihood.cells.size < likelihood.released.size:
            return False
        some = likelihood.around(SeededEntropy(0), LOOKS)
        return bool((np.asarray(self.constraints.matrix @ some.T) == self.constraints.values[:, None]).all())

    @cached_property
    def mover(self) -> Sliding | Correcting | Walking:
        """How Gibbs sampling moves a table."""
        likelihood = self.likelihood
        if isinstance(likelihood, AddedNoise) and likelihood.form is not None:
            released = likelihood.released[likelihood.cells]
            weights = likelihood.weights[likelihood.cells]
            return Sliding(
                self.model,
                self.constraints,
                self.moves,
                likelihood.form,
                released,
                likelihood.rest,
                weights=weights,
            )
        if isinstance(likelihood, NoisySums):
            return self._measured(likelihood)
        if isinstance(likelihood, WeightedTotals) and likelihood.cells.size == likelihood.released.size:
            released, rest = likelihood.released, np.zeros(0, dtype=np.int64)
            sliding = Sliding(self.model, self.constraints, self.moves, likelihood.form, released, rest)
            return Correcting(sliding, likelihood.normaliser)
        return Walking(self.model, self.constraints, self.moves, likelihood)

    def _measured(self, likelihood: NoisySums) -> Sliding:
        """Return moves that change sums along; pairs of cells with many sums in common change few of them."""
        cells, W = self.constraints.cells, likelihood.queries
        listed, slack = self.moves.listing(cells, order=likelihood.order), self.constraints.joint[0]
        moves = Moves(listed=csr_array(hstack([listed, listed @ W.T, listed @ slack.T], format="csr")))
        moves.listed.eliminate_zeros()
        released = np.concatenate([np.zeros(cells, dtype=np.int64), likelihood.values])
        form = likelihood.form
        weights = np.concatenate([np.zeros(cells), likelihood.rates / form.rate])
        nothing = np.zeros(0, dtype=np.int64)
        return Sliding(self.model, self.constraints, moves, form, released, nothing, W, weights)

    def start(self, generator: np.random.Generator) -> IntArray:
        """Return a table to start from, as far from the release as the release is from the truth."""
        likelihood = self.likelihood
        if isinstance(likelihood, AddedNoise):
            entropy = SeededEntropy(int(generator.integers(2**63)))
            moved = likelihood.released + likelihood.noise.sample(entropy, 1)[0]
            return self.constraints.nearest(moved[likelihood.cells])
        if isinstance(likelihood, NoisyStatistic):
            return self.released
        if isinstance(likelihood, NoisySums):
            spread = generator.integers(0, likelihood.width + 1, size=self.constraints.cells)
            return self.constraints.nearest(self.released + spread)
        far = generator.integers(-likelihood.width, likelihood.width + 1, size=self.constraints.cells)
        return self.constraints.nearest(likelihood.released[likelihood.cells] + far)


def problem_of(spec: ModelSpec, released: ReleasedTable) -> Problem:
    """Return the posterior that a model and a release make together; raises where there is none."""
    observed = released.observed
    schema, possible = observed.schema, observed.possible
    for name in (*spec.model.areas, *(spec.model.by or ())):
        if name not in schema.names:
            raise SpecError(
                f"{setting('model')} names {name!r}, which is no attribute of the released table:"
                f" {closest(name, schema.names)}"
            )
    if spec.model.cells:
        raise SpecError(
            f"{setting('model', 'cells')} are for swapped records, and this is a table: leave them out."
        )
    require_few(possible.size)
    constraints = constraints_of(spec, released)
    size = sizes_of(spec, schema)[possible]
    absent = size == 0
    within = constraints.without(absent)
    _require_possible(constraints, within, absent, schema, possible)
    cells = possible[~absent]
    totals = _totals(spec, schema, cells, within)
    model, groups, pools = model_over(spec, schema, cells, size[~absent], totals)
    likelihood = observed.likelihood.without(absent)
    if isinstance(likelihood, NoisyStatistic):
        counts = _with_statistic(likelihood, within)
    else:
        counts = observed.counts[~absent]
    named = ParameterLabels(schema.names, tuple(schema.cell(int(cell)) for cell in cells))
    return Problem(model, within, likelihood, counts, named, groups, pools)


def require_few(cells: int) -> None:
    """Raise where a table is too large to draw from."""
    if cells > MOST_CELLS:
        raise ReleaseError(
            f"the table has {cells:,} cells, and a posterior is offered for {MOST_CELLS:,} at most: use a"
            f" release by coarser attributes, or of a top-down release a higher level in {setting('model')}."
        )


def constraints_of(spec: ModelSpec, released: ReleasedTable) -> TableConstraints:
    """Return what is public of a table, with the inequalities of the model."""
    observed = released.observed
    schema, asked = observed.schema, spec.constrained(observed.schema.names, observed.levels)
    floors = [
        Floor(block, item.at_least, item.at_most)
        for block, item in zip(inequality_blocks(asked, schema), asked.constraints.inequalities, strict=True)
    ]
    floors += [Floor(block, least) for block, least in floor_blocks(asked, schema, released.count)]
    return released.constraints.bounded(floors, observed.possible)


def model_over(
    spec: ModelSpec, schema: Schema, cells: IntArray, size: FloatArray, totals: IntArray
) -> tuple[CountModel, ParameterLabels, ParameterLabels]:
    """Return the model over some cells of a schema, and what its groups and pools are called.

    ``size`` is the exposure of each cell, or its base; ``totals`` are those of areas, for proportions.
    """
    areas, prior = spec.model.areas, spec.prior
    rest = tuple(name for name in schema.names if name not in areas)
    if spec.model.kind == "rates":
        by = rest if spec.model.by is None else spec.model.by
        keys = (*areas, *by)
        group, groups = coded(schema, keys, cells)
        pool, pools = coded(schema, by, cells)
        of_group = np.zeros(len(groups), dtype=np.int64)
        of_group[group] = pool
        if prior.mean is None:
            raise SpecError(
                f"{setting('prior', 'mean')} is missing: give the rate that is expected of an area."
            )
        model = CountModel.rates(group, size, of_group, mean=prior.mean, shape=prior.shape)
        return model, ParameterLabels(keys, groups), ParameterLabels(by, pools)
    stratum, _ = coded(schema, areas, cells)
    pool, pools = coded(schema, rest, cells)
    if prior.earlier is not None:  # the weight of earlier counts, one number for all cells
        pool, pools, rest = np.zeros_like(pool), ((),), ()
    model = CountModel.proportions(stratum, totals, size, pool, weight=prior.weight)
    levels = tuple(schema.cell(int(cell)) for cell in cells)
    return model, ParameterLabels(schema.names, levels), ParameterLabels(rest, pools)


def sizes_of(spec: ModelSpec, schema: Schema) -> FloatArray:
    """Return the exposure, or the base of alpha, of every cell."""
    if spec.model.kind == "rates":
        numbers = spec.exposure.numbers
        if numbers is None:
            return np.full(schema.size, spec.exposure.each or 1.0)
        return read_numbers(spec.resolve(numbers.file), numbers.column, schema)
    earlier = spec.prior.earlier
    if earlier is None:
        return np.ones(schema.size)
    return read_numbers(spec.resolve(earlier.file), earlier.column, schema) + spec.prior.floor


def _totals(spec: ModelSpec, schema: Schema, cells: IntArray, constraints: TableConstraints) -> IntArray:
    """Return the total of each area, which the invariants must fix for proportions."""
    if spec.model.kind == "rates":
        return np.zeros(0, dtype=np.int64)
    areas = spec.model.areas
    if set(areas) == set(schema.names):
        raise SpecError(
            f"{setting('model', 'areas')} name every attribute, so nothing is left to divide: name fewer."
        )
    stratum, strata = coded(schema, areas, cells)
    ones = np.ones(stratum.size, dtype=np.int64)
    sums = csr_array((ones, (stratum, np.arange(stratum.size))), shape=(len(strata), stratum.size))
    fixed = in_row_space(constraints.matrix, sums)
    if not fixed.all():
        levels = strata[int(np.argmin(fixed))]
        where = " and ".join(f"{name} = {level}" for name, level in zip(areas, levels, strict=True))
        raise SpecError(
            f"{setting('model', 'kind')} asks for the total of {where or 'the table'}, which no invariant of"
            f" the release tells: set {assigned('kind', 'rates')}, or name other areas."
        )
    return np.asarray(sums @ constraints.nearest(np.zeros(stratum.size, dtype=np.int64)), dtype=np.int64)


def coded(
    schema: Schema, names: tuple[str, ...], cells: IntArray
) -> tuple[IntArray, tuple[tuple[str, ...], ...]]:
    """Return which combination of levels each cell has, by number, and the combinations in order."""
    if not names:
        return np.zeros(cells.size, dtype=np.int64), ((),)
    codes = np.stack([schema.codes(name)[cells] for name in names], axis=1)
    found, of_cell = np.unique(codes, axis=0, return_inverse=True)
    levels = [schema.attribute(name).levels for name in names]
    named = tuple(tuple(each[code] for each, code in zip(levels, row, strict=True)) for row in found.tolist())
    return of_cell.reshape(-1).astype(np.int64), named


def _require_possible(
    constraints: TableConstraints,
    within: TableConstraints,
    absent: BoolArray,
    schema: Schema,
    possible: IntArray,
) -> None:
    """Raise unless some table agrees with all that is public, and has a positive prior probability."""
    if within.cells and within.possible:
        return
    if absent.any() and constraints.possible:
        cell = schema.in_words(int(possible[np.argmax(absent)]))
        raise SpecError(
            "the prior has no probability for any table that agrees with the invariants: cells such as"
            f" {cell} have an exposure or a base of 0, so give them more, or a floor."
        )
    raise DataError(
        "no table agrees with the invariants and all inequalities: take out the inequality that contradicts"
        " the others."
    )


def _with_statistic(likelihood: NoisyStatistic, constraints: TableConstraints) -> IntArray:
    """Return the tables with the invariants whose first counts are as near to the statistics as can be."""
    found = constraints.nearest(np.zeros(constraints.cells, dtype=np.int64))
    more = np.rint(likelihood.values).astype(np.int64) - found[0::4]
    return constraints.nearest(found + np.kron(more, np.array([1, -1, -1, 1])))


def tractable(likelihood: AnyLikelihood) -> Tractable:
    """Return a likelihood that can be evaluated; raises SamplingError for others."""
    if isinstance(likelihood, Tractable):
        return likelihood
    raise SamplingError(
        "the law of this release has another normaliser for every table, so it cannot be weighed: set"
        f' {assigned("name", "gibbs")} or "rejection" in {setting("sampler")}.'
    )
