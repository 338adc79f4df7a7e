"""Swapping beside noise on one tabulation: five building blocks, errors, and which guarantees compare.

Noise is held to the epsilon of the swap, for each record of distance. On the lattice it keeps the margins of
the tabulation that the swap keeps, too; the measurements of TopDown, its first step, keep nothing
[swapping-slides]. Swaps are simulated on the confidential records, so this is for the curator's eyes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from holdfast.comparison.comparable import Reach, Side, related
from holdfast.comparison.contenders import CONTENDERS, Contender, contend, require_known, simulated
from holdfast.comparison.place_errors import PlaceComparison
from holdfast.comparison.swap_report import Errors, SwapComparison, SwapRow
from holdfast.comparison.terms import beside_pure
from holdfast.data.invariants import margin_block
from holdfast.data.schema import Schema
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.errors.accuracy import FEWEST_DRAWS, Size
from holdfast.mechanisms.mechanism import DrawArray
from holdfast.mechanisms.records import ColumnRoles, Simulated
from holdfast.privacy.guarantee import Target
from holdfast.public import Held, Public
from holdfast.releases.records import PreparedRecords, prepare_records
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import HoldfastError, SamplingError, SpecError
from holdfast.system.progress import steps
from holdfast.system.ways import setting

NOISE = {name: kind for name, kind in CONTENDERS.items() if kind.beside_records}
"""Mechanisms that are put beside a swap. One that keeps no invariant is the first step of TopDown."""
WORK = 1e8
"""Records and cells that may be looked at for all swaps together: a few seconds."""
ALONE = "no margin is kept: if those of the data are published, too, only tables that share them are covered"
"""What is to be known of the measurements."""


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
    schema = prepared.schema
    margins = _kept(spec, prepared.file.public.columns)
    records = prepared.mechanism.simulate(prepared.file, schema)
    bench = SwapBench.of(prepared, schema, margins, records.counts)
    rows = tuple(
        _noise_row(name, bench, draws, seed) if name in NOISE else _swap_row(bench, records, draws, seed)
        for name in steps(names, "comparing mechanisms")
    )
    return bench.report(schema.names, rows)


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

    def report(
        self, attributes: Sequence[str], rows: Sequence[SwapRow], places: PlaceComparison | None = None
    ) -> SwapComparison:
        """Return the comparison of some rows, each two guarantees related."""
        sides = [row.side for row in rows if row.side is not None]
        return SwapComparison(
            tuple(attributes),
            self.kept.schema.size,
            int(self.counts.sum()),
            self.prepared.spec.privacy.whom,
            tuple(held.block.name for held in self.kept.invariants),
            self.prepared.mechanism.comparison,
            tuple(rows),
            tuple(related(one, other) for one, other in combinations(sides, 2)),
            places,
        )

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
    return noisy_row(label, bench, contender, errors, draws, free=free)


def noisy_row(
    label: str, bench: SwapBench, contender: Contender, errors: Errors, draws: int, *, free: bool
) -> SwapRow:
    """Return the row of a mechanism whose errors are known; ``free`` of one that keeps no margin."""
    mechanism = contender.mechanism
    guarantee = mechanism.guarantee
    reach = Reach.TABLES if free else Reach.MARGINS
    side = Side(mechanism.name, reach, guarantee.scope.invariants, guarantee.intensity)
    target = bench.target.intensity if contender.converted else None
    note = _note(errors, draws, beside_pure(target) if target else None, ALONE if free else None)
    if mechanism.remark:
        label = f"{label} {mechanism.remark}"
    return SwapRow(mechanism.name, label, guarantee, side, errors, mechanism.traits.nonnegative, note)


def unusable_row(name: str, label: str, error: HoldfastError) -> SwapRow:
    """Return the row of a mechanism that cannot be used, with the reason.

    What to do about noise that cannot be drawn is left out: it is of a spec of tables.
    """
    reason = " ".join(str(error).split())
    if isinstance(error, SamplingError):
        reason = reason.split(": ")[0]
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
