"""Swapping, top-down releases and weighted noise on the geography of one file of records.

All three keep what the swap keeps of the table of its places, at the epsilon of the swap for each record of
distance: the counts of the key by place, and the counts of the key by all that is held. The top-down
release is the real one, measured and estimated; noise on the lattice is weighted alike for the cells of
every level. Where that takes too long to be drawn exactly, anchored noise stands in for it, which is drawn at
any size [theory, 12]. Gaussian noise meets no pure epsilon, so a top-down release is shown at its rho, too.
Swaps are simulated on the confidential records, so this is for the curator's eyes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from holdfast.comparison.contenders import CONTENDERS, Contender, contend, require_known, simulated
from holdfast.comparison.place_errors import PlaceComparison, PlaceErrors, place_errors
from holdfast.comparison.place_table import Places
from holdfast.comparison.swap_report import SwapComparison, SwapRow
from holdfast.comparison.swaps import NOISE, SwapBench, noisy_row, swapped_row, unusable_row
from holdfast.comparison.terms import beside_pure, rounded_intensity, zcdp_terms
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.errors.accuracy import FEWEST_DRAWS
from holdfast.mechanisms.weights.queries import QueryOptions
from holdfast.outputs import TableOutput
from holdfast.privacy.intensity import Intensity
from holdfast.public import Public
from holdfast.releases.records import prepare_records
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import HoldfastError, SamplingError, SpecError
from holdfast.system.progress import steps
from holdfast.system.text import counted
from holdfast.system.ways import setting
from holdfast.universe.exposure import exposure

REAL = {name: kind for name, kind in CONTENDERS.items() if kind.estimated and kind.bounded}
"""Mechanisms that measure a geography and estimate its counts."""
WEIGHTED = {
    name: kind for name, kind in NOISE.items() if kind.released and issubclass(kind.Options, QueryOptions)
}
"""Noise on the lattice that may be weighted by level."""
STAND_IN = "anchored-laplace"
"""Noise on the lattice that is drawn at any size."""
ESTIMATES, SWAPS = 2e6, 1e8
"""Cells that are estimated for all draws, and records and cells that are looked at: a minute at most."""
MOST_DRAWS = 200
MOST_CELLS = 5_000
"""Cells of which it is asked whether the invariants reveal them."""
Told = tuple[SwapRow, PlaceErrors | None]


def compare_places(
    spec: Spec, names: Sequence[str] | None, *, data: Any, draws: int, seed: int
) -> SwapComparison:
    """Put the swap of a spec beside a top-down release and noise on the table of its geography."""
    own = spec.mechanism.name
    known = (own, *REAL, *NOISE, STAND_IN)
    usual = (own, *REAL, *(name for name in WEIGHTED if WEIGHTED[name].standards[0] == "zcdp"))
    names = usual if names is None else names
    require_known(names, draws, known)
    if not spec.data.cells:
        raise SpecError(
            f"{setting('data', 'cells')} is missing: name the columns that each place is counted by, such as"
            " those of the households that are held."
        )
    prepared = prepare_records(spec, data)
    places = Places.of(prepared)
    trial = Trial(places.bench(prepared), places, draws, seed)
    told = list[Told]()
    for name in steps(names, "comparing mechanisms"):
        taken = {*names, *(row.name for row, _ in told)}
        told.append(trial.swap() if name == own else trial.noise(name, stand_in=STAND_IN not in taken))
    told = trial.at_one_standard(told)
    attributes = (*places.shown, *places.cells)
    found = tuple(errors for _, errors in told if errors is not None)
    sizes = places.regions.sizes[-len(places.shown) :]
    by_place = PlaceComparison(places.shown, sizes, found)
    return trial.bench.report(attributes, [row for row, _ in told], by_place)


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """What mechanisms do to the places of a file: so many draws of each, from a seed."""

    bench: SwapBench
    places: Places
    draws: int
    seed: int

    def swap(self) -> Told:
        """Return what the swap does."""
        bench, records = self.bench, self.places.records
        most = max(FEWEST_DRAWS, SWAPS / (bench.counts.sum() + records.cells))
        seeds = SeededEntropy(self.seed).words(int(min(self.draws, most, MOST_DRAWS))).tolist()
        drawn = [self.places.table(records.drawn(one)) - bench.counts for one in steps(seeds, "swapping")]
        row = swapped_row(bench, bench.errors(iter([np.array(drawn)])), self.draws)
        return row, self._errors(row.label, drawn, (*self._exact, *_of_swap(bench)))

    def noise(self, name: str, *, stand_in: bool) -> Told:
        """Return what noise does; of what may stand in for weighted noise, where that takes too long."""
        label = f"{name}, weighted by level" if name in WEIGHTED else name
        try:
            return self._noisy(name, label)
        except SamplingError as error:
            if name in WEIGHTED and stand_in:
                why = f"shown in place of {label}, which takes too long to be drawn exactly on this table"
                try:
                    return self._noisy(STAND_IN, STAND_IN, why=why)
                except HoldfastError:
                    pass  # the reason for the first is told
            return unusable_row(name, label, error), None
        except HoldfastError as error:
            return unusable_row(name, label, error), None

    def at_one_standard(self, told: Sequence[Told]) -> list[Told]:
        """Add what estimates counts at the rho of Gaussian noise, before that, where they are compared."""
        found = list(told)
        standards = [row.promise.intensity.standard if row.promise else None for row, _ in told]
        estimated = [row.name for row, _ in told if row.name in REAL and row.promise is not None]
        target = self.bench.target.intensity
        if "zcdp" not in standards or target is None:
            return found
        at, intensity = standards.index("zcdp"), zcdp_terms(target).intensity
        for name in estimated:
            label = f"{name} at {rounded_intensity(intensity)}"
            try:
                row, errors = self._noisy(name, label, intensity=intensity, why=beside_pure(target))
            except HoldfastError as error:
                row, errors = unusable_row(name, label, error), None
            found.insert(at, (row, errors))
        return found

    def _noisy(
        self, name: str, label: str, *, intensity: Intensity | None = None, why: str | None = None
    ) -> Told:
        """Return what noise does at an intensity, that of the swap unless one is given."""
        kind, bench = CONTENDERS[name], self.bench
        free = not kind.released and name not in REAL
        public = bench.free if free else bench.kept
        asked = dict[str, Any]()
        if name in WEIGHTED:
            levels = self.places.levels[1:]
            queries = [{"level": level, "marginal": list(self.places.cells)} for level in levels]
            asked = {**kind.drawable, "queries": queries}
        target = bench.target if intensity is None else replace(bench.target, intensity=intensity)
        contender = contend(name, kind.Options(name=name, **asked), public, target)
        drawn = list(self._drawn(name, contender, public))
        row = noisy_row(label, bench, contender, bench.errors(iter([np.array(drawn)])), self.draws, free=free)
        side = None if row.side is None or intensity is None else replace(row.side, name=label)
        row = replace(row, label=label, side=side or row.side, note="; ".join(filter(None, (why, row.note))))
        return row, self._errors(label, drawn, () if free else self._exact)

    def _drawn(self, name: str, contender: Contender, public: Public) -> Iterator[IntArray]:
        """Yield the errors of simulated releases, over all cells."""
        most, counts = min(self.draws, MOST_DRAWS), self.bench.counts
        if name not in REAL:
            some = chain.from_iterable(simulated(contender.mechanism, public, most, self.seed))
            yield from (public.spread(np.asarray(noise, dtype=np.int64)[None])[0] for noise in some)
            return
        number = int(min(most, max(FEWEST_DRAWS, ESTIMATES / public.schema.size)))
        law = contender.mechanism.law(counts[public.possible])
        for one in steps(SeededEntropy(self.seed).words(number).tolist(), "measuring and estimating"):
            output = contender.mechanism.outputs(law, public, SeededEntropy(one))["table"]
            assert isinstance(output, TableOutput)  # noqa: S101 - a table of counts
            yield output.table.counts - counts

    def _errors(self, label: str, drawn: Sequence[IntArray], exposed: tuple[str, ...]) -> PlaceErrors:
        places = self.places
        return place_errors(label, places.regions, places.shown, self.bench.counts, drawn, exposed)

    @cached_property
    def _exact(self) -> tuple[str, ...]:
        """What the numbers that are kept tell by themselves, in words."""
        public = self.bench.kept
        kept = f"exact are the counts of {' and of '.join(held.block.name for held in public.invariants)}"
        if public.universe.cells > MOST_CELLS:
            return (kept,)
        told, counts = exposure(public.universe).determined, self.bench.counts[public.possible]
        if not told.size:
            return (kept,)
        whom, number = self.bench.prepared.spec.privacy.whom, int(counts[told].sum())
        people = f"with {counted(number, whom.record, whom.counted)}" if number else "all of them 0"
        return (f"{kept}: {told.size:,} of {counted(counts.size, 'cell')} follow from them, {people}",)


def _of_swap(bench: SwapBench) -> Iterator[str]:
    """Say what a swapped file leaves as it is."""
    prepared = bench.prepared
    whom, columns = prepared.spec.privacy.whom, prepared.file.public.columns
    yield f"every {whom.record} is released with its own {', '.join((*columns.stratify, *columns.held))}"
    told = prepared.mechanism.comparison
    ways = {"alone": "alone in a stratum", "alike": "that no swap changes"}
    same = [
        f"{counted(told[name], whom.record, whom.counted)} {words}"
        for name, words in ways.items()
        if told[name]
    ]
    if same:
        yield f"released as they are: {', '.join(same)}"
