"""What a gradient mechanism estimates: the options of it, and the score over the cells of a table.

Levels of attributes are numbers. Predictors are centred at the middle of their levels and scaled to [-1, 1].
Records of one kind have the same response and predictors [holdfast, mechanisms/wasserstein/score.py].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import StrictInt, model_validator

from holdfast.data.levels import number
from holdfast.data.schema import Schema
from holdfast.data.selection import select
from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.mechanisms.wasserstein.score import (
    SMALL,
    LinearScore,
    LogisticScore,
    ParameterGrid,
    QuantileScore,
    Score,
    ScoreRows,
)
from holdfast.privacy.premises import Premises
from holdfast.public import Public
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.part import Text
from holdfast.spec.values import PositiveRational, Rational, Where
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.system.text import closest
from holdfast.system.ways import assigned, setting

EstimandName = Literal["mean", "quantile", "linear", "logistic"]
STEPS = 4096
MOST_STEPS = 1 << 20
MOST_PREDICTORS = {"linear": 4, "logistic": 3}
"""Predictors of a regression that is drawn in reasonable time."""
MOST_KINDS = 20_000
"""Kinds of records that a score is summed over at most."""
WIDE = Fraction(5)
"""Coefficients of a logistic regression are within this, unless said otherwise: odds of 148 to 1."""


class KNormGradientOptions(MechanismOptions):
    """Which estimate, of which response on which predictors, and where it may lie.

    >>> hf.KNormGradient(estimate="mean", of="age").estimate
    'mean'
    """

    name: Literal["wasserstein-k-norm-gradient"] = "wasserstein-k-norm-gradient"
    estimate: EstimandName = "mean"
    of: Text | None = None
    on: tuple[Text, ...] = ()
    where: Where | None = None
    level: Rational | None = None
    event: Text | None = None
    low: Rational | None = None
    high: Rational | None = None
    bound: PositiveRational | None = None
    steps: StrictInt = STEPS

    @model_validator(mode="after")
    def _agree(self) -> "KNormGradientOptions":
        belongs = {
            "on": self.estimate in ("linear", "logistic"),
            "level": self.estimate == "quantile",
            "event": self.estimate == "logistic",
            "low": self.estimate != "logistic",
            "high": self.estimate != "logistic",
            "bound": self.estimate in ("linear", "logistic"),
        }
        for key, fits in belongs.items():
            if key in self.model_fields_set and not fits:
                raise ValueError(
                    f"{key} does not go with {assigned('estimate', self.estimate)}: leave it out"
                )
        if belongs["on"] and not self.on and self.of is not None:
            raise ValueError(
                f"has {assigned('estimate', self.estimate)} and no predictors: name some with on"
            )
        if len({*self.on, self.of}) != len(self.on) + 1:
            raise ValueError("of and on name an attribute twice: name each once")
        if self.level is not None and not 0 < self.level < 1:
            raise ValueError(f'level is {self.level}: give a share between 0 and 1, such as "1/2"')
        if not 1 <= self.steps <= MOST_STEPS:
            raise ValueError(f"steps is {self.steps}: give a number from 1 to {MOST_STEPS:,}")
        return self


@dataclass(frozen=True, eq=False)
class Estimand:
    """What is estimated, over the possible cells of a table.

    Attributes:
        names: what each number is.
        score: the gradient of its loss, with features that are centred and scaled.
        kind: the kind of record in each cell.
        within: whether a record changes within its pattern of invariants alone.
        low, high: where the numbers lie, on the scale that they are released in.
        middles: the middle of each predictor's levels, where the intercept is.

    """

    names: tuple[str, ...]
    score: Score
    kind: IntArray
    within: bool
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    middles: Mapping[str, Fraction]

    @classmethod
    def of(
        cls,
        public: Public,
        premises: Premises,
        asked: KNormGradientOptions,
        ranges: tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None = None,
    ) -> "Estimand":
        """Build the score of an estimate; ``ranges`` are those that were released with."""
        schema, possible = public.schema, public.possible
        response = _response(schema, asked, possible)
        if len(asked.on) > (most := MOST_PREDICTORS.get(asked.estimate, 0)):
            raise SpecError(
                f"{setting('mechanism', 'on')} names {len(asked.on)} predictors, and {most} are the most that"
                f" are drawn exactly for {assigned('estimate', words=repr(asked.estimate))}: take some out."
            )
        predictors = [_numbers(schema, name, "on", possible) for name in asked.on]
        for name, predictor in zip(asked.on, predictors, strict=True):
            if not predictor.half:
                raise SpecError(
                    f"{setting('mechanism', 'on')} names {name!r}, which has one level: take it out."
                )
        rows, responses, kind = _kinds(response, predictors, _used(schema, asked)[possible])
        within = _within(premises)
        halves = [predictor.half for predictor in predictors]
        low, high = ranges or _ranges(asked, response, halves)
        scales = (Fraction(1), *halves)
        grid = ParameterGrid(
            tuple(value * scale for value, scale in zip(low, scales, strict=True)),
            tuple(value * scale for value, scale in zip(high, scales, strict=True)),
            asked.steps,
        )
        sets = _sets(kind, premises.universe.patterns.of_cell if within else None)
        score: Score
        if asked.estimate == "quantile":
            score = QuantileScore(rows, responses, sets, grid, level=asked.level or Fraction(1, 2))
        else:
            score = (LogisticScore if asked.estimate == "logistic" else LinearScore)(
                rows, responses, sets, grid
            )
        if not score.moves:
            raise GuaranteeError(
                "no record moves this estimate within the invariants, so it follows from what is published,"
                " and there is nothing to protect: estimate something else, or keep less."
            )
        single = {"mean": ("mean",), "quantile": ("quantile",)}
        names = single.get(asked.estimate, ("intercept", *asked.on))
        middles = {name: each.middle for name, each in zip(asked.on, predictors, strict=True)}
        return cls(names, score, kind, within, low, high, middles)

    @property
    def least(self) -> Fraction:
        """What s is taken to be at least."""
        return self.score.reach * SMALL

    def kinds_of(self, counts: IntArray) -> IntArray:
        """Return how many records of each kind a table has."""
        return np.bincount(self.kind, weights=counts, minlength=len(self.score.features)).astype(np.int64)


def _within(premises: Premises) -> bool:
    """Whether tables that are compared differ by moves within patterns: the invariants fix the sum of each.

    The number of records is the same in them, too [theory, 1].
    """
    universe = premises.universe
    return universe.patterns.count == universe.rank + (universe.total is None)


def _sets(kind: IntArray, pattern: IntArray | None) -> tuple[IntArray, ...]:
    """Return the kinds of each pattern, equal sets once; all kinds without patterns."""
    if pattern is None:
        return (np.unique(kind),)
    order = np.argsort(pattern, kind="stable")
    cuts = np.flatnonzero(np.diff(pattern[order])) + 1
    found = {tuple(np.unique(part).tolist()) for part in np.split(kind[order], cuts)}
    return tuple(np.array(members) for members in sorted(found))


def _used(schema: Schema, asked: KNormGradientOptions) -> BoolArray:
    if asked.where is None:
        return np.ones(schema.size, dtype=np.bool_)
    return select(schema, asked.where, place=setting("mechanism", "where"))


@dataclass(frozen=True, eq=False)
class _NumericAttribute:
    """An attribute whose levels are numbers: these, and the level of each possible cell."""

    levels: tuple[Fraction, ...]
    codes: IntArray

    @cached_property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the largest number of a possible cell."""
        found = [self.levels[code] for code in np.unique(self.codes).tolist()]
        return min(found), max(found)

    @property
    def middle(self) -> Fraction:
        """The number in the middle between them."""
        return sum(self.ends, Fraction(0)) / 2

    @property
    def half(self) -> Fraction:
        """How far both are from there."""
        return (self.ends[1] - self.ends[0]) / 2


def _kinds(
    response: _NumericAttribute, predictors: Sequence[_NumericAttribute], used: BoolArray
) -> tuple[ScoreRows, tuple[Fraction, ...], IntArray]:
    """Return the features and the response of each kind of record, and the kind of each cell."""
    columns = (response, *predictors)
    codes = np.stack([np.where(used, column.codes, -1) for column in columns])
    found, kind = np.unique(codes, axis=1, return_inverse=True)
    if found.shape[1] > MOST_KINDS:
        raise SpecError(
            f"{setting('mechanism', 'of')} and on have {found.shape[1]:,} combinations of levels, and"
            f" {MOST_KINDS:,} are the most: recode them to fewer."
        )
    rows, responses, nothing = [], [], Fraction(0)
    for own, *others in found.T.tolist():
        left_out = own < 0
        responses.append(nothing if left_out else response.levels[own])
        features = (
            (each.levels[code] - each.middle) / each.half
            for each, code in zip(predictors, others, strict=True)
        )
        rows.append((nothing,) * len(columns) if left_out else (Fraction(1), *features))
    return tuple(rows), tuple(responses), np.asarray(kind.ravel(), dtype=np.int64)


def _response(schema: Schema, asked: KNormGradientOptions, possible: IntArray) -> _NumericAttribute:
    """Return the response of each cell; of a logistic regression, whether it is the event."""
    if asked.of is None:
        raise SpecError(f"{setting('mechanism', 'of')} is missing: name the attribute that is estimated.")
    if asked.estimate != "logistic":
        return _numbers(schema, asked.of, "of", possible)
    levels = _attribute(schema, asked.of, "of").levels
    if len(levels) != 2:
        raise SpecError(
            f"{setting('mechanism', 'of')} = {asked.of!r} has {len(levels)} levels: a logistic regression"
            " takes two."
        )
    event = asked.event if asked.event is not None else levels[-1]
    if event not in levels:
        raise SpecError(
            f"{setting('mechanism', 'event')} = {event!r} is no level of {asked.of}: {closest(event, levels)}"
        )
    return _NumericAttribute(
        tuple(Fraction(int(level == event)) for level in levels), schema.codes(asked.of)[possible]
    )


def _numbers(schema: Schema, name: str, key: str, possible: IntArray) -> _NumericAttribute:
    """Return an attribute by the numbers that its levels are."""
    levels = _attribute(schema, name, key).levels
    values = [number(level) for level in levels]
    for level, value in zip(levels, values, strict=True):
        if value is None:
            raise SpecError(
                f"{setting('mechanism', key)} names {name!r}, whose level {level!r} is no number: recode it"
                " to numbers."
            )
    found = tuple(value for value in values if value is not None)
    return _NumericAttribute(found, schema.codes(name)[possible])


def _attribute(schema: Schema, name: str, key: str) -> Any:
    if name not in schema.names:
        raise SpecError(
            f"{setting('mechanism', key)} names {name!r}, which is no attribute of the table:"
            f" {closest(name, schema.names)}"
        )
    return schema.attribute(name)


def _ranges(
    asked: KNormGradientOptions, response: _NumericAttribute, halves: list[Fraction]
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return where the numbers lie by default: what the levels of the response and the predictors allow."""
    if asked.estimate == "logistic":
        bound = asked.bound or WIDE
        sides = (bound, *(bound / half for half in halves))
        return tuple(-side for side in sides), sides
    least, most = response.ends
    low = least if asked.low is None else asked.low
    high = most if asked.high is None else asked.high
    if not low < high:
        raise SpecError(
            f"{setting('mechanism', 'low')} = {low} is not below high = {high}: correct one of them."
        )
    bound = asked.bound or most - least or Fraction(1)
    sides = tuple(bound / half for half in halves)
    return (low, *(-side for side in sides)), (high, *sides)
