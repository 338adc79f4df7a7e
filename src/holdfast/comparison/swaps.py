"""Swapping beside noise on one tabulation: five building blocks, errors, and which guarantees compare.

Noise is held to the epsilon of the swap, for each record of distance. On the lattice it keeps the margins of
the tabulation that the swap keeps, too; the measurements of TopDown, its first step, keep nothing
[swapping-slides]. Swaps are simulated on the confidential records, so this is for the curator's eyes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from holdfast.comparison.comparable import Pair, Reach, Side, related
from holdfast.comparison.contenders import CONTENDERS, Contender, contend, require_known, simulated
from holdfast.comparison.place_errors import PlaceComparison
from holdfast.comparison.tables import rounded
from holdfast.comparison.terms import format_intensity
from holdfast.data.invariants import margin_block
from holdfast.data.schema import Schema
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.errors.accuracy import FEWEST_DRAWS, Size
from holdfast.mechanisms.mechanism import DrawArray
from holdfast.mechanisms.records import ColumnRoles, Simulated
from holdfast.privacy.guarantee import Guarantee, Target
from holdfast.public import Held, Public
from holdfast.releases.records import PreparedRecords, prepare_records
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.errors import HoldfastError, SamplingError, SpecError
from holdfast.system.notebook import NotebookReport, Picture
from holdfast.system.progress import steps
from holdfast.system.ways import setting

NOISE = {name: kind for name, kind in CONTENDERS.items() if kind.beside_records}
"""Mechanisms that are put beside a swap. One that keeps no invariant is the first step of TopDown."""
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
    promise: Guarantee | None
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
            "intensity": format_intensity(self.promise.intensity),
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
class SwapComparison(NotebookReport):
    """Mechanisms on one tabulation, and how the guarantees of each two of them are related."""

    attributes: tuple[str, ...]
    cells: int
    records: int
    whom: ProtectedUnit
    kept: tuple[str, ...]
    """The margins of the tabulation that every swap keeps."""
    swap: Mapping[str, Any]
    """The rate, the largest stratum, epsilon by both bounds, and how many records stay as they are."""
    rows: tuple[SwapRow, ...]
    pairs: tuple[Pair, ...]
    places: PlaceComparison | None = None
    """What they do to the places of a geography, where there is one."""

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        errors = [(row.label, row.errors.cell.value) for row in self.rows if row.errors is not None]
        return Picture("mean absolute error of a cell", errors)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "for": FOR_WHOM,
            "tabulation": {
                "cells": list(self.attributes),
                "size": self.cells,
                "records": self.records,
                "kept_margins": list(self.kept),
            },
            "swap": dict(self.swap),
            "rows": [row.to_dict() for row in self.rows],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "places": None if self.places is None else self.places.to_dict(),
            "note": NOTE,
        }


def compare_swaps(
    spec: Spec, names: Sequence[str] | None, *, data: Any, draws: int, seed: int
) -> SwapComparison:
    """Put the swap of a spec beside noise on the tabulation that its cells name."""
    known = (spec.mechanism.name, *NOISE)
    names = known if names is None else names
    require_known(names, draws, known)
    if not spec.data.cells:
        raise SpecError(
            f"{setting('data', 'cells')} is missing: name the columns of the tabulation to"
            " compare on, one of them swapped and one held."
        )
    prepared = prepare_records(spec, data)
    swap = prepared.mechanism
    schema = prepared.schema
    margins = _kept(spec, prepared.file.public.columns)
    records = swap.simulate(prepared.file, schema)
    bench = SwapBench.of(prepared, schema, margins, records.counts)
    rows = tuple(
        _noise_row(name, bench, draws, seed) if name in NOISE else _swap_row(bench, records, draws, seed)
        for name in steps(names, "comparing mechanisms")
    )
    sides = [row.side for row in rows if row.side is not None]
    return SwapComparison(
        schema.names,
        schema.size,
        int(bench.counts.sum()),
        spec.privacy.whom,
        tuple(held.block.name for held in bench.kept.invariants),
        swap.comparison,
        rows,
        tuple(related(one, other) for one, other in combinations(sides, 2)),
    )


@dataclass(frozen=True, eq=False, repr=False)
class SwapBench:
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
        geography: tuple[str, ...] = (),
    ) -> "SwapBench":
        """Evaluate what the swap keeps on the tabulation."""
        blocks = [margin_block(schema, names, " by ".join(names)) for names in margins]
        held = tuple(Held(block, block.evaluate(counts)) for block in blocks)
        whom = prepared.spec.privacy.whom
        count = "count" if prepared.file.table is None else prepared.file.table.count
        kept = Public(schema, count, held, whom=whom, geography=geography, occupied=True)
        target = Target("unit", prepared.mechanism.guarantee.intensity)
        return cls(prepared, counts, kept, replace(kept, invariants=()), target)

    def errors(self, batches: Iterator[DrawArray]) -> Errors:
        """Return the sizes of the differences to the tabulation, one a row of each batch."""
        filled = self.counts > 0
        true = self.counts[filled]
        cell, percentage = list[DrawArray](), list[DrawArray]()
        margins: dict[str, list[DrawArray]] = {held.block.name: [] for held in self.kept.invariants}
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


def _swap_row(bench: SwapBench, records: Simulated, draws: int, seed: int) -> SwapRow:
    number = int(min(draws, max(FEWEST_DRAWS, WORK / (bench.counts.sum() + records.cells))))
    return swapped_row(bench, bench.errors(_swaps(bench, records, number, seed)), draws)


def swapped_row(bench: SwapBench, errors: Errors, draws: int) -> SwapRow:
    """Return the row of the swap, whose errors are known."""
    mechanism = bench.prepared.mechanism
    name, guarantee = mechanism.name, mechanism.guarantee
    side = Side(name, _reach(bench.prepared), guarantee.scope.induced, guarantee.intensity)
    return SwapRow(name, name, guarantee, side, errors, True, _note(errors, draws))


def _swaps(bench: SwapBench, records: Simulated, number: int, seed: int) -> Iterator[DrawArray]:
    seeds = SeededEntropy(seed).words(number).tolist()
    for one in steps(seeds, "swapping"):
        yield (records.drawn(one) - bench.counts)[np.newaxis]


def _noise_row(name: str, bench: SwapBench, draws: int, seed: int) -> SwapRow:
    free = not NOISE[name].released  # no invariant is kept
    label = f"top-down measurements ({name})" if free else name
    public = bench.free if free else bench.kept
    try:
        contender = _calibrated(name, bench, public)
        errors = bench.errors(simulated(contender.mechanism, public, draws, seed))
    except HoldfastError as error:
        return unusable_row(name, label, error)
    return noisy_row(label, contender, errors, draws, free=free)


def noisy_row(label: str, contender: Contender, errors: Errors, draws: int, *, free: bool) -> SwapRow:
    """Return the row of a mechanism whose errors are known; ``free`` of one that keeps no margin."""
    mechanism = contender.mechanism
    guarantee = mechanism.guarantee
    reach = Reach.TABLES if free else Reach.MARGINS
    side = Side(mechanism.name, reach, guarantee.scope.invariants, guarantee.intensity)
    note = _note(errors, draws, contender.converted, ALONE if free else None)
    if mechanism.remark:
        label = f"{label} {mechanism.remark}"
    return SwapRow(mechanism.name, label, guarantee, side, errors, mechanism.traits.nonnegative, note)


def unusable_row(name: str, label: str, error: HoldfastError) -> SwapRow:
    """Return the row of a mechanism that cannot be used, with the reason."""
    reason = " ".join(str(error).split())
    return SwapRow(name, label, None, None, None, False, f"cannot be used: {reason}")


def _calibrated(name: str, bench: SwapBench, public: Public) -> Contender:
    """Hold noise to the epsilon of the swap; with other options, where the usual law cannot be drawn."""
    try:
        return contend(name, bench.prepared.spec.mechanism, public, bench.target)
    except SamplingError:
        kind = NOISE[name]
        if not kind.drawable:
            raise
        return contend(name, kind.Options(name=name, **kind.drawable), public, bench.target)


def _kept(spec: Spec, columns: ColumnRoles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the two margins of the tabulation that every swap keeps, which together have all its columns."""
    cells = spec.data.cells
    for key, names in (("swapped", columns.swap), ("held", columns.held)):
        if not set(cells) & set(names):
            raise SpecError(
                f"{setting('data', 'cells')} names no column that is {key}: every swap keeps"
                " that tabulation, and there is nothing to compare; name one of each, swapped and held."
            )
    return tuple(name for name in cells if name not in columns.held), tuple(
        name for name in cells if name not in columns.swap
    )


def _reach(prepared: PreparedRecords) -> Reach:
    """Return which pairs the swap compares: tables, where the tabulation has all there is of a record."""
    public, cells = prepared.file.public, prepared.spec.data.cells
    every = set(public.columns.all) <= set(cells) and public.records.persons is None
    return Reach.MARGINS if every else Reach.FILES


def _note(errors: Errors, asked: int, *known: str | None) -> str:
    notes = [one for one in known if one]
    if errors.cell.value == 0:
        notes.append("no draw changed the tabulation")
    if errors.draws < asked:
        notes.append(f"{errors.draws:,} draws only, as each takes long")
    return "; ".join(notes)


def _margin(errors: DrawArray) -> Size:
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


def _shared(names: tuple[str, ...], whom: ProtectedUnit) -> str:
    if not names:
        return f"the number of {whom.counted}, and nothing else"
    return f"the counts of {' and of '.join(names)}"
