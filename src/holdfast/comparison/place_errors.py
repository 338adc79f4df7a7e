"""What mechanisms do to the places of a geography.

Errors by size of place, bias by size of count, and segregation, measured against the confidential counts,
level by level. Errors are of the cells of each place; a place is in the class of its own population, a
count in that of its own size. Indices are of the counts of groups by place. Where such a count is below 0, as
noise on the lattice may leave it, it has no share and is taken for 0; so an index of counts that are kept is
that of the data.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from holdfast.comparison.segregation import dissimilarity, entropy
from holdfast.data.geography import Regions
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.text import with_error

POPULATIONS = (0, 1, 10, 100, 1_000, 10_000)
"""Where classes of places begin."""
COUNTS = (0, 1, 5, 20, 100, 1_000)
"""Where classes of counts begin."""
INDICES: Mapping[str, Callable[[IntArray | FloatArray], float]] = {
    "dissimilarity": dissimilarity,
    "entropy": entropy,
}
MOST_GROUPS = 8
"""Levels of an attribute whose segregation is told."""


@dataclass(frozen=True)
class PlaceError:
    """The mean absolute error of the cells of places of a level with some population."""

    level: str
    low: int
    high: int | None
    places: int
    mean_absolute_error: float


@dataclass(frozen=True)
class CountBias:
    """The mean error of counts of a level of some size, with its standard error over draws."""

    level: str
    low: int
    high: int | None
    counts: int
    bias: float
    standard_error: float
    mean_absolute_error: float

    @property
    def words(self) -> str:
        """The bias and its standard error, for people."""
        return with_error(self.bias, self.standard_error)


@dataclass(frozen=True)
class SegregationIndex:
    """An index of an attribute over the places of a level: of the data, and the mean over draws.

    ``negative`` is the share of the counts of groups that were below 0 and taken for 0.
    """

    level: str
    attribute: str
    index: str
    true: float
    mean: float
    negative: float


@dataclass(frozen=True)
class PlaceErrors:
    """What one mechanism does to places."""

    mechanism: str
    draws: int
    by_population: tuple[PlaceError, ...]
    bias: tuple[CountBias, ...]
    segregation: tuple[SegregationIndex, ...]
    exposed: tuple[str, ...]
    """What a release of it leaves open, in words."""

    @property
    def negative(self) -> str | None:
        """What is done about counts of groups below 0, in words; None where there are none."""
        most = max((each.negative for each in self.segregation), default=0.0)
        if not most:
            return None
        of = dict.fromkeys(f"{one.attribute} by {one.level}" for one in self.segregation if one.negative)
        return (
            f"up to {100 * most:.2g} % of the counts of {', '.join(of)} are below 0, and its indices take"
            " them for 0, so that small groups count for more than was released"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not defined is None."""
        return {
            "mechanism": self.mechanism,
            "draws": self.draws,
            "by_population": [asdict(each) for each in self.by_population],
            "bias": [asdict(each) for each in self.bias],
            "segregation": [_finite(asdict(each)) for each in self.segregation],
            "exposed": list(self.exposed),
        }


@dataclass(frozen=True)
class PlaceComparison:
    """The places of a geography under several mechanisms."""

    levels: tuple[str, ...]
    sizes: tuple[int, ...]
    rows: tuple[PlaceErrors, ...]

    @property
    def left_open(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """What releases leave open, each sentence once with all that it is about."""
        nothing = ("no number is exact, and no record is released",)
        return told_once((row.mechanism, words) for row in self.rows for words in row.exposed or nothing)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "levels": [
                {"level": name, "places": size} for name, size in zip(self.levels, self.sizes, strict=True)
            ],
            "rows": [row.to_dict() for row in self.rows],
        }


def told_once(told: Iterable[tuple[str, str]]) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return each sentence once, with the names of all that it is about.

    >>> told_once([("swap", "a"), ("noise", "a"), ("swap", "b")])
    ((('swap', 'noise'), 'a'), (('swap',), 'b'))
    """
    of: dict[str, list[str]] = {}
    for name, words in told:
        of.setdefault(words, []).append(name)
    return tuple((tuple(names), words) for words, names in of.items())


def place_errors(
    mechanism: str,
    regions: Regions,
    shown: Sequence[str],
    counts: IntArray,
    drawn: Iterable[IntArray],
    exposed: tuple[str, ...],
) -> PlaceErrors:
    """Return what errors of all cells, one line a draw, do to the places of the shown levels."""
    levels = {
        name: _LevelTotals(name, table, regions)
        for name, table in zip(regions.levels, regions.sums(counts), strict=True)
        if name in shown
    }
    draws = 0
    for errors in drawn:
        draws += 1
        for name, table in zip(regions.levels, regions.sums(errors), strict=True):
            if name in levels:
                levels[name].add(table)
    return PlaceErrors(
        mechanism,
        draws,
        tuple(each for level in levels.values() for each in level.by_population(draws)),
        tuple(each for level in levels.values() for each in level.bias(draws)),
        tuple(each for level in levels.values() for each in level.segregation()),
        exposed,
    )


class _LevelTotals:
    """Sums over draws of one level."""

    def __init__(self, name: str, true: IntArray, regions: Regions) -> None:
        self.name, self.true = name, true
        self.place = _class_of(true.sum(axis=1), POPULATIONS)
        self.count = _class_of(true.ravel(), COUNTS)
        self.absolute = np.zeros(len(true))
        self.signed = list[Any]()
        self.sizes = np.zeros(len(COUNTS))
        self.groups = _groups(regions) if len(true) > 1 else {}
        self.grouped = {name: true @ sums for name, sums in self.groups.items()}
        self.negative: dict[str, list[float]] = {name: [] for name in self.groups}
        self.indices: dict[tuple[str, str], list[float]] = {}

    def add(self, errors: IntArray) -> None:
        """Add one draw."""
        self.absolute += np.abs(errors).mean(axis=1)
        number = len(COUNTS)
        self.signed.append(np.bincount(self.count, weights=errors.ravel(), minlength=number))
        self.sizes += np.bincount(self.count, weights=np.abs(errors).ravel(), minlength=number)
        for name, sums in self.groups.items():
            table = self.grouped[name] + errors @ sums
            self.negative[name].append(float((table < 0).mean()))
            for index, measure in INDICES.items():
                self.indices.setdefault((name, index), []).append(measure(np.maximum(table, 0)))

    def by_population(self, draws: int) -> Iterable[PlaceError]:
        """Yield the error of each class of places that there is."""
        for low, high, inside in _classes(self.place, POPULATIONS):
            error = float(self.absolute[inside].mean() / max(draws, 1))
            yield PlaceError(self.name, low, high, int(inside.sum()), error)

    def bias(self, draws: int) -> Iterable[CountBias]:
        """Yield the bias of each class of counts that there is."""
        signed = np.array(self.signed)
        for place, (low, high, inside) in enumerate(_classes(self.count, COUNTS, every=True)):
            number = int(inside.sum())
            if number and draws > 1:
                spread = float(signed[:, place].std(ddof=1) / (number * np.sqrt(draws)))
                mean, off = float(signed[:, place].sum()), float(self.sizes[place])
                each = draws * number  # sums of whole numbers are whole: no bias is 0
                yield CountBias(self.name, low, high, number, mean / each, spread, off / each)

    def segregation(self) -> Iterable[SegregationIndex]:
        """Yield each index of each attribute."""
        for (name, index), found in self.indices.items():
            told = INDICES[index](self.grouped[name])
            # around that of the data, so that what is kept is equal to the last bit
            mean = told + float(np.mean(np.array(found) - told))
            yield SegregationIndex(self.name, name, index, told, mean, float(np.mean(self.negative[name])))


def _groups(regions: Regions) -> dict[str, IntArray]:
    """Return, for each attribute of a few groups, what sums up the cells to these."""
    if regions.cells is None:
        return {}
    found = {}
    for each in regions.cells.attributes:
        if 1 < len(each.levels) <= MOST_GROUPS:
            codes = regions.cells.codes(each.name)
            found[each.name] = np.eye(len(each.levels), dtype=np.int64)[codes]
    return found


def _class_of(sizes: IntArray, begins: tuple[int, ...]) -> IntArray:
    return np.asarray(np.searchsorted(begins, sizes, side="right") - 1)


def _classes(
    of: IntArray, begins: tuple[int, ...], *, every: bool = False
) -> Iterable[tuple[int, int | None, Any]]:
    """Yield the ends of each class, and which are in it; empty ones where all are asked for."""
    for place, low in enumerate(begins):
        inside = of == place
        if every or inside.any():
            high = begins[place + 1] - 1 if place + 1 < len(begins) else None
            yield low, high, inside


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in values.items()
    }
