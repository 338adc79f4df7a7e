"""Swaps as offices run them: rates by stratum, and rounds within finer places before the last one.

A **rate by stratum** is a function of what is public of it: the levels of its key, and its size. Strata are
independent, so each loses by its own size and rate, and the largest loss decides [theory, 8].

**Rounds.** What is swapped is a place with several parts, as tract and block. A round before the last
exchanges places within strata that are finer: those of the key and of some parts of the place. Take places as
slots: a round permutes the records of slots, by a law that depends on the slots alone, and these are the same
for any two files of the last round's scope. So a round before the last keeps two files as far apart as they
were, and a round after another is computed from its result: files that agree on the strata of a round lose no
more than the least epsilon of this round and of all later ones [theory, 8]. The law of a wider round depends
on how many records move alone, so it commutes with that of a finer one: their order does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
import polars as pl
import pyarrow as pa
from pydantic import StrictInt, field_validator, model_validator

from holdfast.data.fingerprint import Digests, row_digests
from holdfast.data.microdata import Microdata, level_texts
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.swapping.bounds import LEAST_RATE, EpsilonBound, epsilon
from holdfast.mechanisms.swapping.tallies import picks
from holdfast.spec.part import Part
from holdfast.spec.values import Range, Rational, Where, levels_or_range, short
from holdfast.system.errors import SpecError
from holdfast.system.progress import steps
from holdfast.system.text import closest
from holdfast.system.ways import setting

MOST_DENOMINATOR = 2**62
"""As `mechanisms/swapping/permute.py` can decide."""
MOST_RULES = 32


def within_reach(rate: Rational | None) -> Rational | None:
    """Return a rate; raises ValueError where it has no finite epsilon that can be told."""
    if rate is None:
        return None
    if not 0 < rate < 1:
        raise ValueError(
            f'is {short(str(rate))}: give a rate above 0 and below 1, as "1/20"; at 0 and 1 there is no'
            " finite epsilon"
        )
    if not LEAST_RATE <= rate <= 1 - LEAST_RATE or rate.denominator > MOST_DENOMINATOR:
        raise ValueError("is out of reach: give a rate from 1e-9 to 1 - 1e-9 with at most 18 digits")
    return rate


class RateRule(Part):
    """The rate of some strata: of those with some levels of the key, or of some sizes, or both.

    >>> RateRule(at_most=5, rate="1/5").rate
    Fraction(1, 5)
    """

    section: ClassVar = ("mechanism", "rates")

    rate: Rational
    where: Where | None = None
    at_least: StrictInt | None = None
    """The size of the smallest stratum that it is for."""
    at_most: StrictInt | None = None
    """The size of the largest stratum that it is for."""

    _rate = field_validator("rate")(within_reach)

    @model_validator(mode="after")
    def _of_some(self) -> Self:
        if not self.where and self.at_least is None and self.at_most is None:
            raise ValueError(
                "is for no strata: give where, at_least or at_most; the rate of all others is"
                f" {setting('mechanism', 'rate')}"
            )
        least = 1 if self.at_least is None else self.at_least
        if least < 1 or (self.at_most is not None and self.at_most < least):
            raise ValueError(
                "is for no size: give at_least from 1, and at_most that is not below it, in records"
            )
        return self


OTHERS = -1
"""The class of strata that no rule fits."""
Sized = tuple[int, int, int]
"""A class, a size, and how many strata there are of both."""


@dataclass(frozen=True)
class Round:
    """A round: its strata, and the rules of which the first that fits a stratum gives its rate."""

    stratify: tuple[str, ...]
    rules: tuple[RateRule, ...] = ()
    rate: Fraction | None = None
    """That of all other strata; None until it is solved for."""

    def rate_of(self, kind: int) -> Fraction:
        """Return the rate of a class of strata."""
        found = self.rate if kind == OTHERS else self.rules[kind].rate
        if found is None:
            raise ValueError("the rate of a round is not settled")
        return found

    def fits(self, records: pa.Table) -> IntArray:
        """Return, for each record, the rules whose levels its stratum has: a bit for each."""
        bits = np.zeros(records.num_rows, dtype=np.int64)
        for place, rule in enumerate(self.rules):
            chosen = np.ones(records.num_rows, dtype=np.bool_)
            for name, given in (rule.where or {}).items():
                choice, texts = levels_or_range(given), level_texts(records.column(name))
                levels = [level for level in texts.unique().to_list() if picks(choice, level)]
                chosen &= texts.is_in(levels).fill_null(value=False).to_numpy()
            bits |= chosen.astype(np.int64) << place
        return bits

    def classes(self, bits: IntArray, sizes: IntArray) -> IntArray:
        """Return the class of each stratum: the first rule that fits its levels and its size."""
        found = np.full(sizes.size, OTHERS, dtype=np.int64)
        for place in reversed(range(len(self.rules))):
            rule = self.rules[place]
            least, most = rule.at_least or 1, rule.at_most or np.iinfo(np.int64).max
            found[(bits >> place & 1).astype(np.bool_) & (sizes >= least) & (sizes <= most)] = place
        return found


@dataclass(frozen=True)
class RoundStrata:
    """What is public of the strata of a round: how many there are of each class and size."""

    classes: tuple[Sized, ...]

    @property
    def others(self) -> int:
        """The size of the largest stratum that no rule fits; 0 where there is none."""
        return max((size for kind, size, _ in self.classes if kind == OTHERS), default=0)

    @property
    def number(self) -> int:
        """The number of strata."""
        return sum(number for _, _, number in self.classes)

    def worst(self, design: Round, bound: EpsilonBound, size: int | None = None) -> Fraction:
        """Return the largest loss for a record of distance in the strata, or in those of a size."""
        found = {(kind, of) for kind, of, _ in self.classes if size is None or of == size}
        return max((epsilon(of, design.rate_of(kind), bound) for kind, of in found), default=Fraction(0))


def rounds_of(
    stratify: Sequence[str],
    rules: tuple[RateRule, ...],
    before: Sequence[tuple[tuple[str, ...], tuple[RateRule, ...], Fraction | None]],
    rate: Fraction | None,
) -> tuple[Round, ...]:
    """Return all rounds of a swap, the last one last; none where it has one round at one rate."""
    if not rules and not before:
        return ()
    earlier = (Round((*stratify, *within), some, own) for within, some, own in before)
    return (*earlier, Round(tuple(stratify), rules, rate))


def require_known_levels(records: Microdata, rounds: Sequence[Round]) -> None:
    """Raise SpecError where a rule selects a level that no record has: it would be for no strata."""
    asked = [
        (name, given) for one in rounds for rule in one.rules for name, given in (rule.where or {}).items()
    ]
    for name, given in asked:
        choice = levels_or_range(given)
        if isinstance(choice, Range):
            continue
        known: set[str] = set()
        for batch in records.batches([name]):
            known.update(level_texts(batch.column(name)).drop_nulls().unique().to_list())
        for level in choice:
            if level not in known:
                raise SpecError(
                    f"{setting('mechanism', 'rates')} select {level!r} of {name!r}, which no record has:"
                    f" {closest(level, sorted(known))}"
                )


def survey_rounds(records: Microdata, rounds: Sequence[Round]) -> tuple[RoundStrata, ...]:
    """Look through the keys of a file, and return the strata of each round."""
    if not rounds:
        return ()
    names = list(dict.fromkeys(name for one in rounds for name in one.stratify))
    words = [f"{at}" for at in range(4)]
    parts: list[list[pl.DataFrame]] = [[] for _ in rounds]
    for batch in steps(records.batches(names or None), "looking through the strata", records.number):
        for one, found in zip(rounds, parts, strict=True):
            digests: Digests = row_digests(batch, one.stratify)
            frame = pl.DataFrame({**dict(zip(words, digests.T, strict=True)), "bits": one.fits(batch)})
            found.append(
                frame.group_by(words).agg(pl.len().cast(pl.Int64).alias("size"), pl.col("bits").min())
            )
    return tuple(_strata(one, pl.concat(found), words) for one, found in zip(rounds, parts, strict=True))


def _strata(design: Round, parts: pl.DataFrame, words: list[str]) -> RoundStrata:
    strata = parts.group_by(words).agg(pl.col("size").sum(), pl.col("bits").min())
    sizes = strata["size"].to_numpy().astype(np.int64)
    kinds = design.classes(strata["bits"].to_numpy().astype(np.int64), sizes)
    found, number = np.unique(np.column_stack([kinds, sizes]), axis=0, return_counts=True)
    return RoundStrata(
        tuple((int(kind), int(size), int(of)) for (kind, size), of in zip(found, number, strict=True))
    )
