"""Swapping, top-down releases and weighted noise on the geography of one file of records.

All three keep what the swap keeps of the table of its places, at the epsilon of the swap for each record of
distance: the counts of the key by place, and the counts of the key by all that is held. The top-down
release is the real one, measured and estimated; noise on the lattice is weighted alike for the cells of
every level. Swaps are simulated on the confidential records, so this is for the curator's eyes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

import numpy as np
import polars as pl

from holdfast.comparison.comparable import related
from holdfast.comparison.contenders import CONTENDERS, Contender, contend, require_known, simulated
from holdfast.comparison.place_errors import PlaceComparison, PlaceErrors, place_errors
from holdfast.comparison.swaps import (
    NOISE,
    SwapBench,
    SwapComparison,
    SwapRow,
    noisy_row,
    swapped_row,
    unusable_row,
)
from holdfast.data.geography import Regions
from holdfast.data.grid import Nesting
from holdfast.data.schema import Attributes, Schema
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.errors.accuracy import FEWEST_DRAWS
from holdfast.mechanisms.records import Simulated
from holdfast.mechanisms.weights.queries import QueryOptions
from holdfast.outputs import TableOutput
from holdfast.public import Public
from holdfast.releases.records import PreparedRecords, prepare_records
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.data import MISSING, Geography
from holdfast.spec.model import Spec
from holdfast.system.errors import HoldfastError, SpecError
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
ROOT = "all"
ESTIMATES, SWAPS = 2e6, 1e8
"""Cells that are estimated for all draws, and records and cells that are looked at: a minute at most."""
MOST_DRAWS = 200
MOST_CELLS = 5_000
"""Cells of which it is asked whether the invariants reveal them."""


def compare_places(
    spec: Spec, names: Sequence[str] | None, *, data: Any, draws: int, seed: int
) -> SwapComparison:
    """Put the swap of a spec beside a top-down release and noise on the table of its geography."""
    own = spec.mechanism.name
    known = (own, *REAL, *NOISE)
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
    bench = places.bench(prepared)
    rows, found = list[SwapRow](), list[PlaceErrors]()
    for name in steps(names, "comparing mechanisms"):
        row, errors = (
            _swap(bench, places, draws, seed) if name == own else _noise(name, bench, places, draws, seed)
        )
        rows.append(row)
        if errors is not None:
            found.append(errors)
    sides = [row.side for row in rows if row.side is not None]
    return SwapComparison(
        bench.kept.schema.names,
        bench.kept.schema.size,
        int(bench.counts.sum()),
        spec.privacy.whom,
        tuple(held.block.name for held in bench.kept.invariants),
        prepared.mechanism.comparison,
        tuple(rows),
        tuple(related(one, other) for one, other in combinations(sides, 2)),
        PlaceComparison(places.regions.levels, places.regions.sizes, tuple(found)),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Places:
    """The geography of a file of records as a table: confidential.

    Attributes:
        schema: levels of the geography, then the cells.
        levels: its levels, root first.
        records: the records, tabulated by their lowest place and the cells.
        order: for each place of the schema, its place in that tabulation.

    """

    schema: Schema
    levels: tuple[str, ...]
    records: Simulated
    order: IntArray

    @classmethod
    def of(cls, prepared: PreparedRecords) -> "Places":
        """Read the places of all records."""
        geography = prepared.spec.data.geography
        assert geography is not None  # noqa: S101 - it was asked for
        columns = prepared.file.public.columns
        column = geography.column or geography.columns[-1]
        if column not in columns.swap:
            raise SpecError(
                f"{setting('data.geography')} ends with {column!r}, which is not swapped: every swap"
                " keeps that"
                " table, and there is nothing to compare."
            )
        paths = _paths(prepared, geography)
        cells = {
            each.name: each.levels for each in prepared.schema.attributes if each.name not in paths.columns
        }
        ordered = paths.sort(paths.columns)
        levels: dict[str, tuple[str, ...]] = {}
        nestings = []
        for above, name in zip((None, *ordered.columns), ordered.columns, strict=False):
            nodes = ordered.select([above, name] if above else [name]).unique(maintain_order=True)
            levels[name] = tuple(nodes[name].to_list())
            if len(set(levels[name])) < len(levels[name]):
                twice = next(code for code in levels[name] if levels[name].count(code) > 1)
                if twice == MISSING and above:
                    raise SpecError(
                        f"records lack their {name} in more than one {above}: give them one in the file for"
                        f" each {above}, such as {nodes[above][0]}-unknown, or end"
                        f" {setting('data.geography')} above {name}."
                    )
                raise SpecError(
                    f"{setting('data.geography')} has the {name} {twice!r} in two places: give each a"
                    " code of its"
                    " own."
                )
            if above:
                within = {code: at for at, code in enumerate(levels[above])}
                nestings.append(Nesting(name, above, tuple(within[code] for code in nodes[above].to_list())))
        flat = Schema(Attributes.of({column: sorted(paths[column].to_list()), **cells}))
        schema = Schema(Attributes.of({**levels, **cells}), nestings=tuple(nestings))
        place = {code: at for at, code in enumerate(flat.attribute(column).levels)}
        order = np.array([place[code] for code in ordered[column].to_list()], dtype=np.int64)
        return cls(schema, tuple(levels), prepared.mechanism.simulate(prepared.file, flat), order)

    @property
    def regions(self) -> Regions:
        """The tree of places, and the cells of each."""
        return Regions.of(self.schema, self.levels)

    def table(self, counts: IntArray) -> IntArray:
        """Return a tabulation of the records in the order of the schema."""
        return counts.reshape(self.order.size, -1)[self.order].ravel()

    def bench(self, prepared: PreparedRecords) -> SwapBench:
        """Return what all mechanisms are held to: what the swap keeps of the table."""
        columns = prepared.file.public.columns
        cells = [name for name in self.schema.names if name not in self.levels]
        fixed = [name for name in self.levels if name in columns.stratify]
        margins = (
            (self.levels[-1], *(name for name in cells if name not in columns.held)),
            (*fixed[-1:], *(name for name in cells if name not in columns.swap)),
        )
        return SwapBench.of(prepared, self.schema, margins, self.table(self.records.counts), self.levels)


def _paths(prepared: PreparedRecords, geography: Geography) -> pl.DataFrame:
    """Return the levels of every place that occurs, root first: one node on the first."""
    own = [geography.column] if geography.column else list(geography.columns)
    parts = [
        pl.DataFrame(
            {name: pl.Series(pl.from_arrow(batch.column(name))).cast(pl.String) for name in own}
        ).unique()
        for batch in prepared.file.records.batches()
    ]
    found = pl.concat(parts).unique().fill_null(MISSING)
    if geography.column:
        column = geography.column
        above = [
            found[column].str.slice(0, length).alias(level)
            if length
            else pl.repeat(level, len(found), eager=True).alias(level)
            for level, length in geography.prefixes.items()
            if level != column and length < int(found[column].str.len_chars().max() or 0)  # type: ignore[arg-type]
        ]
        found = pl.DataFrame([*above, found[column]])
    if found[found.columns[0]].n_unique() > 1:
        root = ROOT if ROOT not in found.columns else f"{ROOT} places"
        found = found.select(pl.lit(root).alias(root), pl.all())
    return found


def _swap(bench: SwapBench, places: Places, draws: int, seed: int) -> tuple[SwapRow, PlaceErrors]:
    most = max(FEWEST_DRAWS, SWAPS / (bench.counts.sum() + places.records.cells))
    seeds = SeededEntropy(seed).words(int(min(draws, most, MOST_DRAWS))).tolist()
    drawn = [places.table(places.records.drawn(one)) - bench.counts for one in steps(seeds, "swapping")]
    row = swapped_row(bench, bench.errors(iter([np.array(drawn)])), draws)
    return row, place_errors(row.label, places.regions, bench.counts, drawn, _of_swap(bench))


def _noise(
    name: str, bench: SwapBench, places: Places, draws: int, seed: int
) -> tuple[SwapRow, PlaceErrors | None]:
    kind = CONTENDERS[name]
    free = not kind.released and name not in REAL
    public = bench.free if free else bench.kept
    label, asked = name, dict[str, Any]()
    if name in WEIGHTED:
        cells = [each for each in places.schema.names if each not in places.levels]
        label = f"{name}, weighted by level"
        asked["queries"] = [{"level": level, "marginal": cells} for level in places.levels[1:]]
    options = kind.Options(name=name, **asked)
    try:
        contender = contend(name, options, public, bench.target)
        drawn = list(_drawn(name, contender, bench, public, draws, seed))
        errors = bench.errors(iter([np.array(drawn)]))
    except HoldfastError as error:
        return unusable_row(name, label, error), None
    row = replace(noisy_row(label, contender, errors, draws, free=free), label=label)
    exposed = () if free else _of_invariants(bench)
    return row, place_errors(row.label, places.regions, bench.counts, drawn, exposed)


def _drawn(
    name: str, contender: Contender, bench: SwapBench, public: Public, draws: int, seed: int
) -> Iterator[IntArray]:
    """Yield the errors of simulated releases, over all cells."""
    if name not in REAL:
        some = chain.from_iterable(simulated(contender.mechanism, public, min(draws, MOST_DRAWS), seed))
        yield from (public.spread(np.asarray(noise, dtype=np.int64)[None])[0] for noise in some)
        return
    number = int(min(draws, MOST_DRAWS, max(FEWEST_DRAWS, ESTIMATES / public.schema.size)))
    law = contender.mechanism.law(bench.counts[public.possible])
    for one in steps(SeededEntropy(seed).words(number).tolist(), "measuring and estimating"):
        output = contender.mechanism.outputs(law, public, SeededEntropy(one))["table"]
        assert isinstance(output, TableOutput)  # noqa: S101 - a table of counts
        yield output.table.counts - bench.counts


def _of_invariants(bench: SwapBench) -> tuple[str, ...]:
    """Say what the numbers that are kept tell by themselves."""
    kept = f"exact are the counts of {' and of '.join(held.block.name for held in bench.kept.invariants)}"
    if bench.kept.universe.cells > MOST_CELLS:
        return (kept,)
    told = exposure(bench.kept.universe).determined
    counts = bench.counts[bench.kept.possible]
    whom = bench.prepared.spec.privacy.whom
    people = counted(int(counts[told].sum()), whom.record, whom.counted)
    return (f"{kept}: {told.size:,} of {counted(counts.size, 'cell')} follow from them, with {people}",)


def _of_swap(bench: SwapBench) -> tuple[str, ...]:
    """Say what a swapped file leaves as it is."""
    prepared = bench.prepared
    whom, columns = prepared.spec.privacy.whom, prepared.file.public.columns
    told = prepared.mechanism.comparison
    alone, alike = (counted(told[name], whom.record, whom.counted) for name in ("alone", "alike"))
    kept = ", ".join((*columns.stratify, *columns.held))
    same = f"released as they are: {alone} alone in a stratum, {alike} that no swap changes"
    return (*_of_invariants(bench), f"every {whom.record} is released with its own {kept}", same)
