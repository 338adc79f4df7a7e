"""What a release answers: an interval, a posterior, the naive answer beside them, and what not to say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf, isfinite, isnan, log10
from typing import Any, Literal, cast

import numpy as np

from holdfast.data.table import PublicTable
from holdfast.inference.contrasts import Contrast, EstimateReport, Number
from holdfast.inference.labels import words
from holdfast.inference.posterior.results import Posterior
from holdfast.inference.released_intervals import Estimator
from holdfast.lattice.arrays import BoolArray, FloatArray
from holdfast.system.text import counted, plain_number

Where = Mapping[str, tuple[str, ...]]
Kind = Literal["count", "difference", "ratio"]
KINDS: Mapping[Kind, str] = {"count": "a count", "difference": "a difference", "ratio": "a ratio"}
MODEL = {"model": {"kind": "counts"}}
"""Of the posterior: every table of counts with this total is as likely, before the release is seen."""
DRAWS = 2_000
MOST_ROWS = 60
"""Levels of a margin that are told."""


@dataclass(frozen=True)
class Question:
    """What is asked: a count, or two that are compared, at a probability; ``by`` asks it of each level."""

    kind: Kind
    first: Where
    second: Where | None
    level: Fraction
    by: str = ""

    @property
    def whole(self) -> bool:
        """Whether all is there that its kind needs."""
        return self.kind == "count" or self.second is not None

    @property
    def contrast(self) -> Contrast:
        """The question as inference knows it."""
        first, second = dict(self.first), dict(self.second or {})
        if self.kind == "difference":
            return Contrast.difference(first, second)
        return Contrast.ratio(first, second) if self.kind == "ratio" else Contrast.sum([(1, first)])

    def asked_of(self, estimator: Estimator) -> EstimateReport:
        """Return the estimate with its interval."""
        place = self.by if self.of_nodes(estimator) else None
        margin = (self.by,) if self.by and place is None else ()
        return estimator.contrasts([self.contrast], margin=margin, level=self.level, place=place)

    def of_nodes(self, estimator: Estimator) -> bool:
        """Whether it is asked of each node of a level that was measured."""
        return estimator.nodes is not None and self.by in estimator.geography

    def of(self, counts: FloatArray, one: BoolArray, other: BoolArray) -> FloatArray:
        """Return what tables say, whose last axis has the cells, given which cells are counted."""
        first, second = counts[..., one].sum(axis=-1), counts[..., other].sum(axis=-1)
        match self.kind:
            case "count":
                return cast("FloatArray", first)
            case "difference":
                return cast("FloatArray", first - second)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(first / second, dtype=np.float64)


def name_of(where: Where) -> str:
    """Return a selection for people.

    >>> name_of({"county": ("Alpha",), "sex": ("f", "m")}), name_of({})
    ('Alpha, f or m', 'everybody')
    """
    return ", ".join(" or ".join(levels) for levels in where.values()) or "everybody"


def naive(question: Question, table: PublicTable) -> float:
    """Return what the released counts say, as if there were no noise."""
    schema = table.schema

    def among(where: Where) -> BoolArray:
        found = np.ones(schema.size, dtype=np.bool_)
        for name, levels in where.items():
            known = schema.attribute(name)
            found &= np.isin(schema.codes(name), [known.code(level) for level in levels])
        return found

    counts = table.counts.astype(np.float64)
    return float(question.of(counts, among(question.first), among(question.second or {})))


@dataclass(frozen=True)
class Belief:
    """What a posterior says of a number: its mean and its interval."""

    mean: float
    low: float
    high: float


def belief(question: Question, posterior: Posterior) -> Belief:
    """Return what the draws of a posterior say."""
    cells = next(one.named for one in posterior.quantities if one.name == "count")

    def among(where: Where) -> BoolArray:
        wanted = {cells.attributes.index(name): set(levels) for name, levels in where.items()}
        return np.array(
            [all(each[at] in some for at, some in wanted.items()) for each in cells.levels], dtype=np.bool_
        )

    draws = posterior.draws.tables.reshape(-1, len(cells.levels)).astype(np.float64)
    found = question.of(draws, among(question.first), among(question.second or {}))
    found = np.where(np.isnan(found), inf, found)
    rest = (1 - float(question.level)) / 2
    low, high = np.quantile(found, [rest, 1 - rest], method="inverted_cdf")
    with np.errstate(invalid="ignore"):
        return Belief(float(found.mean()), float(low), float(high))


def avoid(question: Question, report: EstimateReport) -> str:
    """Return what not to say of an answer, and what may be said."""
    row = report.rows[0]
    one, other = name_of(question.first), name_of(question.second or {})
    if row.kept_exactly:
        return "It is exact and nothing protects it: do not say that noise was added to this number."
    estimate, low, high = told(row.estimate, row.low, row.high)
    between = f"{low} to {high}"
    held = f"intervals made like this one hold the truth in {100 * float(question.level):g} of 100 releases"
    match question.kind:
        case "count":
            empty = ", nor that anybody is there" if row.low <= 0 else ""
            return f"Do not say: there are {estimate}{empty}. Say: {between}; {held}."
        case "difference" if row.low <= 0 <= row.high:
            more = one if row.estimate >= 0 else other
            return f"Do not say that {more} has more: noise alone could make this difference. {_held(held)}"
        case "ratio" if row.low <= 1 <= row.high:
            more = one if row.estimate >= 1 else other
            return f"Do not say that {more} has more: noise alone could make this ratio. {_held(held)}"
        case "ratio" if not isfinite(row.high):
            return f"Do not say any ratio: {other} may be empty, and the ratio has no bound. {_held(held)}"
    return f"Do not say: it is {estimate}. Say: {between}; {held}."


def _held(held: str) -> str:
    return f"{held[:1].upper()}{held[1:]}."


def avoid_of_margin(report: EstimateReport) -> str:
    """Return what not to say of the levels of a margin: whose interval reaches that of the first."""
    rows = sorted(report.rows, key=lambda row: -row.estimate)
    if len(rows) < 2:
        return ""
    rivals = [row for row in rows[1:] if row.high >= rows[0].low]
    if not rivals:
        return f"{rows[0].cell[0]} has the most; do not say by how many without its interval."
    rest = f" and {counted(len(rivals) - 1, 'other')}" if len(rivals) > 1 else ""
    return f"Do not say that {rows[0].cell[0]} has the most: {rivals[0].cell[0]}{rest} may have as many."


def said(value: Number) -> str:
    """Return a number for people.

    >>> said(1200), said(0.51234), said(inf)
    ('1,200', '0.512', 'no bound')
    """
    if not isfinite(value):
        return "none" if isnan(value) else "no bound"
    text = f"{int(value):,}" if value == int(value) else plain_number(float(value))
    return text.replace("-", "\u2212")


def told(middle: Number, low: Number, high: Number, wide: Number | None = None) -> tuple[str, str, str]:
    """Return an estimate and its ends for people: ends round outwards, in places enough to tell them apart.

    ``wide`` is the width by which places are chosen where that is not the one of these ends.

    >>> told(8.14566, 8.14098, 8.15031), told(18.73, 15, 23), told(0.4, 0, inf)
    (('8.1457', '8.1409', '8.1504'), ('18.7', '15', '23'), ('0.4', '0', 'no bound'))
    """
    wide = high - low if wide is None else wide
    if not (isfinite(wide) and wide > 0):
        return said(middle), said(low), said(high)
    places = max(0, 1 - floor(log10(wide)))
    step = 10**places
    ends = (low, high)
    if low < high and isfinite(low) and isfinite(high):
        ends = floor(low * step) / step, ceil(high * step) / step
    return _rounded(middle, places), _rounded(ends[0], places), _rounded(ends[1], places)


def _rounded(value: Number, places: int) -> str:
    if not isfinite(value) or value == int(value):
        return said(value)
    return f"{value:,.{places}f}".replace("-", "\u2212")


@dataclass(frozen=True)
class Span:
    """An interval on an axis that several share, in percent; ``point`` is its estimate, None outside."""

    left: float
    width: float
    point: float | None


def ranges(rows: Sequence[tuple[float, float, float]]) -> list[Span]:
    """Return where estimates with their ends lie on one axis; what has no bound ends where the axis does."""
    known = [value for row in rows for value in row if isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    room = (high - low) * 0.04 or 1.0
    low, span = low - room, high - low + 2 * room

    def at(value: float) -> float:
        return 100 * (min(max(value, low), low + span) - low) / span if not isnan(value) else 0.0

    return [
        Span(at(start), at(end) - at(start), at(middle) if isfinite(middle) else None)
        for middle, start, end in rows
    ]


def selection(where: Where) -> str:
    """Return a selection as commands take it."""
    return words(where)


def calls(question: Question, estimator: Estimator) -> tuple[str, list[str], Mapping[str, Any]]:
    """Return the method of a reading that asks the same, its selections, and the rest by name."""
    both = [selection(question.first)] + ([selection(question.second)] if question.second is not None else [])
    more: dict[str, Any] = {} if question.level == Fraction(9, 10) else {"level": float(question.level)}
    if question.by:
        more |= {"place": question.by} if question.of_nodes(estimator) else {"margin": [question.by]}
    return "interval" if question.kind == "count" else question.kind, both, more
