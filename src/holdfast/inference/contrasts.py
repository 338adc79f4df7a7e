"""Differences, ratios and other combinations of counts by their labels, and what a report of them says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite, nextafter
from typing import Any, Literal

import polars as pl

from holdfast.data.schema import Attribute
from holdfast.inference.labels import Selection, selected, words
from holdfast.inference.notebook import FramedReport
from holdfast.system.errors import SpecError
from holdfast.system.ways import option

FORMAT = "holdfast-estimates/1"
NUMBERS = ("estimate", "low", "high", "kept_exactly")
"""The columns of estimates beside what they are of and the levels of a margin."""
OF = "of"
Kind = Literal["difference", "ratio", "term"]
Number = int | float


@dataclass(frozen=True)
class Contrast:
    """The weighted sum of some selections, or the ratio of two."""

    kind: Kind
    terms: tuple[tuple[Fraction, Selection], ...]

    @classmethod
    def difference(cls, first: Selection, second: Selection) -> "Contrast":
        """Return the first count less the second."""
        return cls("difference", ((Fraction(1), first), (Fraction(-1), second)))

    @classmethod
    def ratio(cls, above: Selection, below: Selection) -> "Contrast":
        """Return the first count over the second."""
        return cls("ratio", ((Fraction(1), above), (Fraction(1), below)))

    @classmethod
    def sum(cls, terms: Sequence[tuple[Fraction | int | str, Selection]]) -> "Contrast":
        """Return the sum of some counts, each times a number."""
        return cls("term", tuple((Fraction(times), selection) for times, selection in terms))


@dataclass(frozen=True)
class Named:
    """A contrast with the levels that its selections pick."""

    kind: Kind
    terms: tuple[tuple[Fraction, Mapping[str, tuple[str, ...]]], ...]
    words: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        terms = [
            {"times": str(times), "where": {name: list(levels) for name, levels in where.items()}}
            for times, where in self.terms
        ]
        return {"of": self.words, "kind": self.kind, "terms": terms}


@dataclass(frozen=True)
class Estimate:
    """The estimate of a contrast with an interval, for one combination of levels of a margin.

    Numbers are whole where all weights are; where a release sets no bound they are infinite, and NaN where it
    has no estimate.
    """

    of: int
    """The place of the contrast."""
    cell: tuple[str, ...]
    estimate: Number
    low: Number
    high: Number
    kept_exactly: bool


@dataclass(frozen=True)
class EstimateReport(FramedReport):
    """Estimates with intervals: for each contrast one, or one for each combination of levels of a margin."""

    asked: tuple[Named, ...]
    names: tuple[str, ...]
    """The attributes of the margin."""
    rows: tuple[Estimate, ...]
    level: Fraction
    together: bool
    draws: int
    """The simulated noises that were needed; 0 where the law of the errors told all."""

    @property
    def estimate(self) -> Number:
        """The estimate, of a report of one row."""
        return self._only.estimate

    @property
    def low(self) -> Number:
        """The lower end, of a report of one row."""
        return self._only.low

    @property
    def high(self) -> Number:
        """The upper end, of a report of one row."""
        return self._only.high

    @property
    def _only(self) -> Estimate:
        if len(self.rows) != 1:
            raise SpecError(f"the report has {len(self.rows):,} rows: take them from to_frame().")
        return self.rows[0]

    def rate(self, people: float | Mapping[str, float], *, per: float = 1) -> "EstimateReport":
        """Return all numbers per so many of a public one, which is one for all rows or one for each level."""
        return replace(self, rows=tuple(self._rate(row, people, per) for row in self.rows))

    def _rate(self, row: Estimate, people: float | Mapping[str, float], per: float) -> Estimate:
        number = people
        if isinstance(number, Mapping):
            if len(self.names) != 1:
                raise SpecError(
                    "people by level are for the levels of one attribute: ask for a margin of one, or give"
                    " one number for all."
                )
            if row.cell[0] not in number:
                raise SpecError(f"people has no number for {self.names[0]} = {row.cell[0]!r}: give one.")
            number = number[row.cell[0]]
        if not 0 < number < inf or not 0 < per < inf:
            raise SpecError(f"a rate per {per} of {number} makes no sense: give two positive numbers.")
        scale = Fraction(per) / Fraction(number)
        ends = [float(Fraction(end) * scale) if isfinite(end) else end for end in (row.low, row.high)]
        if not row.kept_exactly:  # what rounding may take off
            ends = [nextafter(ends[0], -inf), nextafter(ends[1], inf)]
        middle = float(Fraction(row.estimate) * scale) if isfinite(row.estimate) else row.estimate
        return replace(row, estimate=middle, low=ends[0], high=ends[1])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what has no bound is None."""
        return {
            "format": FORMAT,
            "level": str(self.level),
            "simultaneous": self.together,
            "draws": self.draws,
            "asked": [each.to_dict() for each in self.asked],
            "rows": [
                {
                    OF: self.asked[row.of].words,
                    "cell": dict(zip(self.names, row.cell, strict=True)),
                    **{name: _finite(value) for name, value in zip(NUMBERS, _numbers(row), strict=True)},
                }
                for row in self.rows
            ],
        }

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each interval: what it is of, its levels, estimate, low, high, kept exactly."""
        for name in self.names:
            if name in (OF, *NUMBERS):
                raise SpecError(
                    f"the column {name!r} of estimates is also an attribute: write them as .json, or give the"
                    " attribute another name."
                )
        levels = {
            name: pl.Series([row.cell[i] for row in self.rows], dtype=pl.String)
            for i, name in enumerate(self.names)
        }
        found = {OF: pl.Series([self.asked[row.of].words for row in self.rows], dtype=pl.String), **levels}
        for name, values in zip(NUMBERS, zip(*map(_numbers, self.rows), strict=True), strict=True):
            whole = all(isinstance(value, int) for value in values)
            found[name] = pl.Series(values if whole else [float(value) for value in values])
        return pl.DataFrame(found)


def _numbers(row: Estimate) -> tuple[Number, Number, Number, bool]:
    return row.estimate, row.low, row.high, row.kept_exactly


def _finite(value: Number) -> Number | None:
    return value if isfinite(value) else None


def settled(
    contrasts: Sequence[Contrast],
    known: Mapping[str, Attribute],
    where: Mapping[str, tuple[str, ...]],
    margin: Sequence[str],
) -> tuple[Named, ...]:
    """Return contrasts with the levels that their selections pick, within those of ``where``."""
    return tuple(_settled(each, known, where, margin) for each in contrasts)


def _settled(
    contrast: Contrast,
    known: Mapping[str, Attribute],
    where: Mapping[str, tuple[str, ...]],
    margin: Sequence[str],
) -> Named:
    place = option(contrast.kind)
    terms = []
    for times, selection in contrast.terms:
        own = selected(selection, known, place)
        for other, names in (("where", where), ("margin", margin)):
            if twice := [name for name in own if name in names]:
                raise SpecError(
                    f"{place} and {option(other)} both name {twice[0]!r}: leave it out of one of them."
                )
        if not times:
            raise SpecError(f"{place} has a selection times 0: leave it out.")
        terms.append((times, {**where, **own}))
    if contrast.kind != "term" and _cells(terms[0][1], known) == _cells(terms[1][1], known):
        raise SpecError(
            f"{place} has the same selection twice, {words(terms[0][1])}: compare two that differ."
        )
    return Named(contrast.kind, tuple(terms), _in_words(contrast.kind, terms))


def _cells(where: Mapping[str, tuple[str, ...]], known: Mapping[str, Attribute]) -> dict[str, frozenset[str]]:
    """Return what a selection leaves out anything by."""
    return {name: frozenset(some) for name, some in where.items() if len(set(some)) < len(known[name].levels)}


def _in_words(kind: Kind, terms: Sequence[tuple[Fraction, Mapping[str, tuple[str, ...]]]]) -> str:
    if kind != "term":
        return f" {'/' if kind == 'ratio' else '-'} ".join(words(where) for _, where in terms)
    parts = [f"{_times(times)}{words(where)}" for times, where in terms]
    return " ".join(parts).removeprefix("+ ")


def _times(number: Fraction) -> str:
    """Return a number with its sign, as it stands before a selection.

    >>> _times(Fraction(-1)), _times(Fraction(1, 2))
    ('- ', '+ 1/2 * ')
    """
    return ("- " if number < 0 else "+ ") + (f"{abs(number)} * " if abs(number) != 1 else "")


def known_zero(contrast: Named, names: Sequence[str], cell: Sequence[str]) -> SpecError:
    """Return the error of a denominator that is 0 for certain."""
    here = " and ".join(f"{name} = {level}" for name, level in zip(names, cell, strict=True))
    return SpecError(
        f"{option('ratio')} has the denominator {words(contrast.terms[1][1])}{f' at {here}' if here else ''},"
        " which is exactly 0: take another one."
    )
