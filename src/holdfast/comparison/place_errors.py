"""What mechanisms do to the places of a geography.

Errors by size of place, bias by size of count, and segregation, measured against the confidential counts,
level by level. Errors are of the cells of each place; a place is in the class of its own population, a
count in that of its own size. Indices are of counts without their negative ones, which noise on the lattice
may have.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from holdfast.comparison.segregation import dissimilarity, entropy
from holdfast.data.geography import Regions
from holdfast.lattice.arrays import FloatArray, IntArray

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


@dataclass(frozen=True)
class SegregationIndex:
    """An index of an attribute over the places of a level: of the data, and the mean over draws."""

    level: str
    attribute: str
    index: str
    true: float
    mean: float


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "levels": [
                {"level": name, "places": size} for name, size in zip(self.levels, self.sizes, strict=True)
            ],
            "rows": [row.to_dict() for row in self.rows],
        }


def place_errors(
    mechanism: str, regions: Regions, counts: IntArray, drawn: Iterable[IntArray], exposed: tuple[str, ...]
) -> PlaceErrors:
    """Return what errors of all cells, one line a draw, do to the places of a geography."""
    true = regions.sums(counts)
    levels = [_LevelTotals(name, table, regions) for name, table in zip(regions.levels, true, strict=True)]
    draws = 0
    for errors in drawn:
        draws += 1
        for level, table in zip(levels, regions.sums(errors), strict=True):
            level.add(table)
    return PlaceErrors(
        mechanism,
        draws,
        tuple(each for level in levels for each in level.by_population(draws)),
        tuple(each for level in levels for each in level.bias(draws)),
        tuple(each for level in levels for each in level.segregation()),
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
        self.indices: dict[tuple[str, str], list[float]] = {}

    def add(self, errors: IntArray) -> None:
        """Add one draw."""
        self.absolute += np.abs(errors).mean(axis=1)
        number = len(COUNTS)
        self.signed.append(np.bincount(self.count, weights=errors.ravel(), minlength=number))
        self.sizes += np.bincount(self.count, weights=np.abs(errors).ravel(), minlength=number)
        table = np.maximum(self.true + errors, 0)
        for name, sums in self.groups.items():
            for index, measure in INDICES.items():
                self.indices.setdefault((name, index), []).append(measure(table @ sums))

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
                means = signed[:, place] / number
                spread = float(means.std(ddof=1) / np.sqrt(draws))
                off = float(self.sizes[place] / (draws * number))
                yield CountBias(self.name, low, high, number, float(means.mean()), spread, off)

    def segregation(self) -> Iterable[SegregationIndex]:
        """Yield each index of each attribute."""
        for (name, index), found in self.indices.items():
            told = INDICES[index](self.true @ self.groups[name])
            yield SegregationIndex(self.name, name, index, told, float(np.mean(found)))


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
