"""Why swapping records that are at risk has no guarantee, by an example that is enumerated [theory, 8].

Offices select households that are easy to find: those that fewer than k in their place are like. Who they are
depends on where they live, which is what a swap hides. So two files that a swap should not tell apart select
other records, and a release that one of them gives often the other may never give.

The example is all files of four households with one key: two homes in North and two in South, two households
own and two rent. A household is at risk if it alone in its place has its tenure. Every permutation of homes
is listed, with its chance under each rule; losses are for each record in which two files differ.

- If those at risk exchange places for sure, with somebody elsewhere, and nobody else does, then either nobody
  is at risk or all four are: every file is released as it is.
- If those at risk are selected more often than others, everything is possible and an epsilon is finite. But
  it is above that of a swap which selects everybody at the lower rate: who is at risk shows in what moved.

A **public proxy** selects by what everybody knows, as the size of a stratum or its place: rates by stratum,
which lose what the stratum of the largest loss does. It costs that all records of a stratum have one rate.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import inf, log, prod
from typing import Any

from holdfast.mechanisms.swapping.bounds import derangement_count, epsilon
from holdfast.mechanisms.swapping.rounds import within_reach
from holdfast.system.errors import GuaranteeError
from holdfast.system.notebook import NotebookReport, Picture

PLACES = ("North", "North", "South", "South")
TENURES = ("own", "own", "rent", "rent")
ALIKE = 2
"""Households alike in a place from which on none of them is at risk."""
USUAL_RATE, USUAL_RISK_RATE, USUAL_SIZE = Fraction(1, 20), Fraction(1, 2), 100

Held = tuple[str, ...]
"""What the household of each place has."""
Outcomes = Mapping[Held, Fraction]


@dataclass(frozen=True)
class EnumeratedRule:
    """A rule of selection: what two files of the example lose at most, and what no epsilon helps against."""

    rule: str
    epsilon: float
    """For each record in which two files differ."""
    delta: float
    """The probability of what only one of two files can give, at most."""
    bound: float | None = None
    """What is proved of any file with such a stratum, where anything is."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "rule": self.rule,
            "epsilon": None if self.epsilon == inf else self.epsilon,
            "delta_at_any_epsilon": self.delta,
            "bound": self.bound,
        }


@dataclass(frozen=True)
class ProxyCost:
    """A stratum at a rate: its loss by both bounds, and how many of its records are selected on average."""

    rate: Fraction
    epsilon: Fraction
    epsilon_tight: Fraction
    selected: Fraction

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "rate": str(self.rate),
            "epsilon": float(self.epsilon),
            "epsilon_tight": float(self.epsilon_tight),
            "selected": float(self.selected),
        }


@dataclass(frozen=True)
class TargetingReport(NotebookReport):
    """What selection by confidential risk gives away in an example, and what a public proxy costs."""

    stratum_size: int
    files: int
    rules: tuple[EnumeratedRule, ...]
    proxy: tuple[ProxyCost, ...]
    """Strata of that size at the rate of those that the proxy marks, and of the others."""

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        return Picture("delta at any epsilon", [(one.rule, one.delta) for one in self.rules])

    @property
    def proxy_epsilon(self) -> tuple[Fraction, Fraction]:
        """What both kinds of strata together lose, by the slides' bound and by the tight one."""
        return max(one.epsilon for one in self.proxy), max(one.epsilon_tight for one in self.proxy)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        slides, tight = map(float, self.proxy_epsilon)
        return {
            "example": {"places": list(PLACES), "held": list(TENURES), "alike": ALIKE, "files": self.files},
            "rules": [one.to_dict() for one in self.rules],
            "stratum_size": self.stratum_size,
            "public_proxy": {
                "marked": self.proxy[0].to_dict(),
                "others": self.proxy[1].to_dict(),
                "epsilon": slides,
                "epsilon_tight": tight,
            },
        }


def targeted_swapping(
    stratum_size: int = USUAL_SIZE, rate: Fraction = USUAL_RATE, risk_rate: Fraction = USUAL_RISK_RATE
) -> TargetingReport:
    """Return what selection by risk gives away, and what rates by a public proxy lose in strata of a size.

    Records at risk have the ``risk_rate``, and all others the ``rate``.

    >>> report = targeted_swapping()
    >>> report.rules[0].delta
    1.0
    """
    if stratum_size < 2:
        raise GuaranteeError(
            f"a stratum of {stratum_size} is published as it is, whatever the swap rate: give a size of at"
            " least 2."
        )
    for one in (rate, risk_rate):
        try:
            within_reach(one)
        except ValueError as error:
            raise GuaranteeError(f"a swap rate {error}.") from None
    scope = sorted({_file(held) for held in permutations(TENURES)})

    def law(selected: Callable[[Held], Sequence[Fraction]]) -> dict[Held, Outcomes]:
        return {held: _deranged(held, selected(held)) for held in scope}

    def by_risk(held: Held) -> list[Fraction]:
        return [risk_rate if one else rate for one in at_risk(held)]

    rules = (
        _compared("at risk: always; others: never, but as partners", {h: _targeted(h) for h in scope}),
        _compared(f"at risk: {risk_rate}; others: {rate}", law(by_risk)),
        *(
            _compared(
                f"everybody: {one}",
                law(lambda held, one=one: [one] * len(held)),  # type: ignore[misc]
                float(epsilon(len(PLACES), one, "tight")),
            )
            for one in dict.fromkeys((risk_rate, rate))
        ),
    )
    proxy = tuple(
        ProxyCost(
            one, epsilon(stratum_size, one, "slides"), epsilon(stratum_size, one, "tight"), stratum_size * one
        )
        for one in (risk_rate, rate)
    )
    return TargetingReport(stratum_size, len(scope), rules, proxy)


def at_risk(held: Held) -> list[bool]:
    """Return whether the household of each place is at risk: fewer than k in its place have its tenure."""
    own = list(zip(PLACES, held, strict=True))
    return [own.count(one) < ALIKE for one in own]


def _file(held: Held) -> Held:
    """Return a file without an order of the households in a place."""
    return tuple(one for _, one in sorted(zip(PLACES, held, strict=True)))


def _targeted(held: Held) -> Outcomes:
    """Return the law of a release in which one after the other at risk exchanges with one elsewhere.

    Whoever moved does not move again; a partner is any of those left.
    """
    found: dict[tuple[Held, frozenset[int]], Fraction] = {(held, frozenset()): Fraction(1)}
    for place, risky in enumerate(at_risk(held)):
        after: dict[tuple[Held, frozenset[int]], Fraction] = {}
        for (now, moved), chance in found.items():
            others = [at for at, name in enumerate(PLACES) if name != PLACES[place] and at not in moved]
            stays = not risky or place in moved or not others
            for other in [place] if stays else others:
                homes = list(now)
                homes[place], homes[other] = homes[other], homes[place]
                key = (tuple(homes), moved if stays else moved | {place, other})
                after[key] = after.get(key, Fraction(0)) + chance / (1 if stays else len(others))
        found = after
    files: dict[Held, Fraction] = {}
    for (now, _), chance in found.items():
        files[now] = files.get(now, Fraction(0)) + chance
    return _gathered(files)


def _deranged(held: Held, rates: Sequence[Fraction]) -> Outcomes:
    """Return the law of a release in which selected households exchange places by a uniform derangement."""
    found: dict[Held, Fraction] = {}
    for order in permutations(range(len(held))):
        moved = [at for at, source in enumerate(order) if source != at]
        chance = prod(
            (rate if at in moved else 1 - rate for at, rate in enumerate(rates)), start=Fraction(1)
        ) / derangement_count(len(moved))
        after = tuple(held[source] for source in order)
        found[after] = found.get(after, Fraction(0)) + chance
    whole = sum(found.values(), Fraction(0))  # where one alone was selected, all select again
    return _gathered({after: chance / whole for after, chance in found.items()})


def _gathered(found: Outcomes) -> Outcomes:
    files: dict[Held, Fraction] = {}
    for held, chance in found.items():
        files[_file(held)] = files.get(_file(held), Fraction(0)) + chance
    return files


def _compared(rule: str, laws: Mapping[Held, Outcomes], bound: float | None = None) -> EnumeratedRule:
    """Return what any two files lose for each record of distance, and what only one of them can give."""
    most, sure = -inf, Fraction(0)
    for (held, one), (others, other) in permutations(laws.items(), 2):
        apart = (Counter(zip(PLACES, held, strict=True)) - Counter(zip(PLACES, others, strict=True))).total()
        lost = max(log(p / other[y]) if other.get(y) else inf for y, p in one.items() if p)
        most = max(most, lost / apart)
        sure = max(sure, sum((p for y, p in one.items() if not other.get(y)), Fraction(0)))
    return EnumeratedRule(rule, most, float(sure), bound)
