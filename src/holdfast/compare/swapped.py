"""Swapping beside noise on one tabulation: five building blocks, errors, and which guarantees compare.

Noise is held to the epsilon of the swap, for each record of distance. On the lattice it keeps the margins of
the tabulation that the swap keeps, too; the measurements of TopDown, its first step, keep nothing
[swapping-slides]. Swaps are simulated on the confidential records, so this is for the curator's eyes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.compare.comparable import Pair, Reach, Side, related
from holdfast.compare.comparison import DRAWS, rounded
from holdfast.compare.contenders import Contender, contend, require_known
from holdfast.compare.noise import simulated
from holdfast.compare.terms import shown
from holdfast.data.invariants import margin_block
from holdfast.data.schema import Schema
from holdfast.errors import HoldfastError, SamplingError, SpecError
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.accuracy import FEWEST_DRAWS, Size
from holdfast.mechanisms.lattice_laplace import LatticeLaplace, LatticeLaplaceOptions
from holdfast.mechanisms.mechanism import Draws
from holdfast.mechanisms.permutation_swapping import PermutationSwapping
from holdfast.privacy.guarantee import Promise, Target
from holdfast.progress import steps
from holdfast.public import Held, Public
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec
from holdfast.spec.whom import Whom
from holdfast.swapping.asked import options_of
from holdfast.swapping.design import Columns
from holdfast.swapping.prepare import PreparedRecords, prepare_records
from holdfast.swapping.simulate import Tabulated

SWAPPING = PermutationSwapping.name
MEASUREMENTS = "naive-gaussian"
"""Discrete Gaussian noise in every cell, independently: the first step of TopDown."""
NAMES = (SWAPPING, "lattice-laplace", "lattice-gaussian", MEASUREMENTS)
LABELS = {MEASUREMENTS: f"top-down measurements ({MEASUREMENTS})"}
WORK = 1e8
"""Records and cells that may be looked at for all swaps together: a few seconds."""
FOR_WHOM = (
    "For the curator's eyes only: errors are measured on the confidential records, and no guarantee covers"
    " them. Do not publish them."
)
NOTE = (
    "An intensity is for the pairs of its own scope and in its own standard: those of two rows do not compare"
    " by their size. Swapping releases every record, with all that is held as it is, and its epsilon covers"
    " all tables of them; noise releases this tabulation alone, and the next one costs again."
)
ALONE = "no margin is kept: if those of the data are published, too, only tables that share them are covered"
"""What is to be known of the measurements."""


@dataclass(frozen=True)
class Errors:
    """How far draws are from the tabulation.

    ``cell`` is the mean absolute error of all cells, ``percentage`` the mean of |error| / true, in percent,
    over cells that are not empty; ``margins`` has the mean absolute error of each kept margin.
    """

    draws: int
    cell: Size
    percentage: Size
    margins: Mapping[str, Size]

    @property
    def kept(self) -> bool:
        """Whether every kept margin was exact in every draw."""
        return all(size.exact for size in self.margins.values())


@dataclass(frozen=True, eq=False)
class SwapRow:
    """One mechanism: the building blocks of its guarantee, and its errors, or why it cannot be used."""

    name: str
    label: str
    """What it is called."""
    promise: Promise | None
    side: Side | None
    errors: Errors | None = field(repr=False)
    nonnegative: bool
    note: str

    @property
    def blocks(self) -> dict[str, str]:
        """The five building blocks of its guarantee, in words."""
        if self.promise is None or self.side is None:
            return {}
        whom = self.promise.unit.whom
        each = whom.amount(whom.records) if whom.records > 1 else f"each {whom.record}"
        tables = self.side.reach is Reach.TABLES
        least = f"one {whom.record}" if tables else f"two {whom.counted}"
        return {
            "domain": self.promise.domain,
            "scope": f"those that share {_shared(self.side.share, whom)}",
            "unit": f"{each} of distance; any two that differ do so in {least} or more",
            "standard": self.promise.intensity.standard,
            "intensity": shown(self.promise.intensity),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        found: dict[str, Any] = {"mechanism": self.name, "label": self.label, "building_blocks": None}
        if self.promise is not None:
            scope, intensity = self.promise.scope, self.promise.intensity
            parameters = {name: str(value) for name, value in intensity.parameters().items()}
            found["building_blocks"] = {
                **self.blocks,
                "invariants": [*scope.invariants, *scope.induced],
                "parameters": parameters,
                "statement": self.promise.statement,
            }
        return {**found, **_errors(self.errors), "nonnegative": self.nonnegative, "note": self.note}


@dataclass(frozen=True, eq=False)
class SwapComparison:
    """Mechanisms on one tabulation, and how the guarantees of each two of them are related."""

    attributes: tuple[str, ...]
    cells: int
    records: int
    whom: Whom
    kept: tuple[str, ...]
    """The margins of the tabulation that every swap keeps."""
    mechanism: PermutationSwapping = field(repr=False)
    rows: tuple[SwapRow, ...]
    pairs: tuple[Pair, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        swap = self.mechanism
        return {
            "for": FOR_WHOM,
            "tabulation": {
                "cells": list(self.attributes),
                "size": self.cells,
                "records": self.records,
                "kept_margins": list(self.kept),
            },
            "swap": {
                "rate": str(swap.rate),
                "largest_stratum": swap.strata.largest,
                "epsilon": float(swap.epsilon("slides")),
                "epsilon_tight": float(swap.epsilon("tight")),
            },
            "rows": [row.to_dict() for row in self.rows],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "note": NOTE,
        }


def compare_swapping(
    spec: Spec | str | Path,
    names: Sequence[str] = NAMES,
    *,
    data: Any = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> SwapComparison:
    """Put the swap of a spec beside noise on the tabulation that its cells name."""
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    require_known(names, draws, NAMES)
    if not spec.data.cells:
        raise SpecError(
            f"{_place(spec)}[data] cells is missing: name the columns of the tabulation to compare on, one of"
            " them swapped and one held."
        )
    prepared = prepare_records(spec, data)
    schema = prepared.schema
    margins = _kept(spec, prepared.units.columns)
    records = Tabulated.of(prepared.units.records, prepared.units.columns, schema)
    bench = _Bench.of(prepared, schema, margins, records.counts)
    rows = tuple(
        _swap_row(bench, records, draws, seed) if name == SWAPPING else _noise_row(name, bench, draws, seed)
        for name in steps(names, "comparing mechanisms")
    )
    sides = [row.side for row in rows if row.side is not None]
    return SwapComparison(
        schema.names,
        schema.size,
        int(bench.counts.sum()),
        spec.privacy.whom,
        tuple(held.block.name for held in bench.kept.invariants),
        prepared.mechanism,
        rows,
        tuple(related(one, other) for one, other in combinations(sides, 2)),
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Bench:
    """What all mechanisms are held to: the tabulation, what is kept of it, and the target."""

    prepared: PreparedRecords
    counts: IntArray
    kept: Public
    """The tables with the margins that the swap keeps."""
    free: Public
    """All tables."""
    target: Target

    @classmethod
    def of(
        cls,
        prepared: PreparedRecords,
        schema: Schema,
        margins: Sequence[tuple[str, ...]],
        counts: IntArray,
    ) -> "_Bench":
        blocks = [margin_block(schema, names, " by ".join(names)) for names in margins]
        held = tuple(Held(block, block.evaluate(counts)) for block in blocks)
        whom = prepared.spec.privacy.whom
        count = "count" if prepared.table is None else prepared.table.count
        return cls(
            prepared,
            counts,
            Public(schema, count, held, whom=whom, occupied=True),
            Public(schema, count, (), whom=whom, occupied=True),
            Target("unit", prepared.mechanism.guarantee.intensity),
        )

    def errors(self, batches: Iterator[Draws]) -> Errors:
        """Return the sizes of the differences to the tabulation, one a row of each batch."""
        filled = self.counts > 0
        true = self.counts[filled]
        cell, percentage = list[Draws](), list[Draws]()
        margins: dict[str, list[Draws]] = {held.block.name: [] for held in self.kept.invariants}
        for drawn in batches:
            sizes = np.abs(drawn)
            cell.append(sizes.mean(axis=1))
            percentage.append(100 * (sizes[:, filled] / true).mean(axis=1))
            for held in self.kept.invariants:
                off = np.abs(held.block.matrix @ drawn.T)
                margins[held.block.name].append(np.asarray(off.mean(axis=0)))
        each = np.concatenate(cell)
        return Errors(
            each.size,
            Size.mean(each),
            Size.mean(np.concatenate(percentage)),
            {name: _margin(np.concatenate(found)) for name, found in margins.items()},
        )


def _swap_row(bench: _Bench, records: Tabulated, draws: int, seed: int) -> SwapRow:
    mechanism = bench.prepared.mechanism
    guarantee = mechanism.guarantee
    number = int(min(draws, max(FEWEST_DRAWS, WORK / (bench.counts.sum() + records.cells))))
    errors = bench.errors(_swaps(bench, records, mechanism.rate, number, seed))
    reach = _reach(bench.prepared)
    side = Side(SWAPPING, reach, guarantee.scope.induced, guarantee.intensity)
    return SwapRow(SWAPPING, SWAPPING, guarantee, side, errors, True, _note(errors, draws))


def _swaps(bench: _Bench, records: Tabulated, rate: Fraction, number: int, seed: int) -> Iterator[Draws]:
    seeds = SeededEntropy(seed).words(number).tolist()
    for one in steps(seeds, "swapping"):
        yield (records.swapped(rate, one) - bench.counts)[np.newaxis]


def _noise_row(name: str, bench: _Bench, draws: int, seed: int) -> SwapRow:
    free, label = name == MEASUREMENTS, LABELS.get(name, name)
    public = bench.free if free else bench.kept
    try:
        contender = _calibrated(name, bench, public)
        errors = bench.errors(simulated(contender.mechanism, public, draws, seed))
    except HoldfastError as error:
        reason = " ".join(str(error).split())
        return SwapRow(name, label, None, None, None, False, f"cannot be used: {reason}")
    guarantee = contender.mechanism.guarantee
    reach = Reach.TABLES if free else Reach.MARGINS
    side = Side(name, reach, guarantee.scope.invariants, guarantee.intensity)
    note = _note(errors, draws, contender.converted, ALONE if free else None)
    if contender.mechanism.remark:
        label = f"{label} {contender.mechanism.remark}"
    return SwapRow(name, label, guarantee, side, errors, contender.mechanism.traits.nonnegative, note)


def _calibrated(name: str, bench: _Bench, public: Public) -> Contender:
    """Hold noise to the epsilon of the swap; in the l2 norm, where that of l1 cannot be drawn."""
    options = options_of(bench.prepared.spec)
    try:
        return contend(name, options, public, bench.target)
    except SamplingError:
        if name != LatticeLaplace.name:
            raise
        return contend(name, LatticeLaplaceOptions(name=name, norm="l2"), public, bench.target)


def _kept(spec: Spec, columns: Columns) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the two margins of the tabulation that every swap keeps, which together have all its columns."""
    cells = spec.data.cells
    for key, names in (("swapped", columns.swap), ("held", columns.held)):
        if not set(cells) & set(names):
            raise SpecError(
                f"{_place(spec)}[data] cells names no column that is {key}: every swap keeps that tabulation,"
                " and there is nothing to compare; name one of each, swapped and held."
            )
    return tuple(name for name in cells if name not in columns.held), tuple(
        name for name in cells if name not in columns.swap
    )


def _reach(prepared: PreparedRecords) -> Reach:
    """Return which pairs the swap compares: tables, where the tabulation has all there is of a record."""
    units, cells = prepared.units, prepared.spec.data.cells
    every = set(units.columns.all) <= set(cells) and units.persons is None
    return Reach.MARGINS if every else Reach.FILES


def _note(errors: Errors, asked: int, *known: str | None) -> str:
    notes = [one for one in known if one]
    if errors.cell.value == 0:
        notes.append("no draw changed the tabulation")
    if errors.draws < asked:
        notes.append(f"{errors.draws:,} draws only, as each takes long")
    return "; ".join(notes)


def _margin(errors: Draws) -> Size:
    return Size.mean(errors) if errors.any() else Size(0.0, 0.0, exact=True)


def _errors(errors: Errors | None) -> dict[str, Any]:
    names = ("mean_absolute_error", "mean_absolute_percentage_error")
    if errors is None:
        return dict.fromkeys((*names, "standard_error", "keeps_margins", "margins", "draws"))
    sizes = dict(zip(names, (errors.cell, errors.percentage), strict=True))
    return {
        **{name: rounded(size.value) for name, size in sizes.items()},
        "standard_error": {name: rounded(size.standard_error) for name, size in sizes.items()},
        "keeps_margins": errors.kept,
        "margins": {
            name: {"error": rounded(size.value), "exact": size.exact} for name, size in errors.margins.items()
        },
        "draws": errors.draws,
    }


def _shared(names: tuple[str, ...], whom: Whom) -> str:
    if not names:
        return f"the number of {whom.counted}, and nothing else"
    return f"the counts of {' and of '.join(names)}"


def _place(spec: Spec) -> str:
    return f"{spec.file}, " if spec.file else ""
