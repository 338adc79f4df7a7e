"""What a comparison of swapping with noise tells: five building blocks, errors, and which guarantees compare.

An intensity is for the pairs of its own scope and in its own standard. So errors of noise are compared within
one standard, and the report says which mechanisms share one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from holdfast.comparison.comparable import Pair, Reach, Side
from holdfast.comparison.place_errors import PlaceComparison, told_once
from holdfast.comparison.tables import rounded
from holdfast.comparison.terms import rounded_intensity
from holdfast.mechanisms.errors.accuracy import Size
from holdfast.privacy.guarantee import Guarantee
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.notebook import NotebookReport, Picture
from holdfast.system.text import counted, rounded_up

FOR_WHOM = (
    "For the curator's eyes only: errors are measured on the confidential records, and no guarantee covers"
    " them. Do not publish them."
)
NOTE = (
    "An intensity is for the pairs of its own scope and in its own standard: those of two rows do not compare"
    " by their size. Swapping releases every record, with all that is held as it is, and its epsilon covers"
    " all tables of them; noise releases this tabulation alone, and the next one costs again."
)


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
            "intensity": rounded_intensity(self.promise.intensity),
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
    def building_blocks(self) -> Mapping[str, tuple[str, ...]]:
        """Each building block, one text a mechanism that can be used, and what the swap's intensity is of."""
        rows = self.usable
        found = {name: tuple(row.blocks[name] for row in rows) for name in (rows[0].blocks if rows else ())}
        of_swap = {
            "swap rate": rounded_up(Fraction(self.swap["rate"])),
            "largest stratum": counted(self.swap["largest_stratum"], self.whom.record, self.whom.counted),
        }
        swaps = [row.promise is not None and bool(row.promise.scope.induced) for row in rows]
        if any(swaps):
            found |= {name: tuple(text if so else "" for so in swaps) for name, text in of_swap.items()}
        return found

    @property
    def usable(self) -> tuple[SwapRow, ...]:
        """The mechanisms that can be used."""
        return tuple(row for row in self.rows if row.promise is not None)

    @property
    def standards(self) -> tuple[str, ...]:
        """Say which mechanisms are held to one standard, and that errors compare within it."""
        shared: dict[str, list[str]] = {}
        for row in self.usable:
            shared.setdefault(row.blocks["intensity"], []).append(row.label)
        told = [f"at {intensity}: {'; '.join(labels)}" for intensity, labels in shared.items()]
        if len(told) > 1:
            told.append("errors compare among mechanisms at one intensity: another one is another budget")
        return tuple(told)

    @property
    def notes(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """What is to be known of mechanisms, each sentence once with all that it is about."""
        return told_once(
            (row.label, words)
            for row in self.rows
            for words in ([row.note] if row.promise is None else row.note.split("; "))
            if words
        )

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
            "standards": list(self.standards),
            "rows": [row.to_dict() for row in self.rows],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "places": None if self.places is None else self.places.to_dict(),
            "note": NOTE,
        }


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
