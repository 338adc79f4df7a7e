"""One count of n people whose answers depend on each other [partially-private-data, Section 4.4].

Each says 0 or 1. Given that person j says 1, each other one says 1 with probability at most z_1; given that
j says 0, with probability at least z_0; and it is no less likely given 1 than given 0, so z_0 <= z_1. Two
classes:

* ``independent``: given the answer of j, the others are independent of each other. The count is then
  stochastically largest given 1, and smallest given 0, at the ends of the bounds, so that

      Delta_z = W_infinity( 1 + Binomial(n - 1, z_1), Binomial(n - 1, z_0) ).

* ``any``: the others may depend on each other as well. With m = n - 1 a number R of others with mean at
  most m z_1 can be at least r with any probability up to min(1, m z_1 / r), and no larger one, and the same
  holds of m - R given 0. So Delta_z is the largest 1 + r - s, r and s in 0..m, for which

      min(1, m z_1 / r) + min(1, m (1 - z_0) / (m - s)) > 1.

  That is n as soon as z_0 < z_1. The printed bounds alone, which say nothing of how the others depend on
  each other, mean this class; the numbers of the paper need the first one [theory, 7].

**Disclosure rules** [partially-private-data, Example 2] bound the count. That (S, n - S) satisfies
k-anonymity says k <= S <= n - k; that it is t-close to a public share t* says |S / n - t*| <= t. So the
public facts are bounds, low <= S <= high. Two classes of laws:

* ``independent``: answers that are independent of each other, given that the count is within the bounds.
  Without the bounds the number R of others who say 1 has a log-concave law. Given 1 the count is 1 + R, R
  within low - 1..high - 1, given 0 it is R within low..high. Of these, R moved down by one is smaller than
  R within low - 1..high - 1 in the likelihood-ratio order, as P(r + 1) / P(r) decreases, and that is in turn
  smaller than R within low..high. So the quantiles given 1 are ahead by 0 or 1: Delta_z = 1, as without
  public facts, and 0 where the bounds leave one count [theory, 7].
* ``everything``: any law within the bounds. Delta_z = high - low.

The bounds restrict the secrets instead: a pair counts only where both answers are still possible.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, Literal

import flint

from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Proved
from holdfast.privacy.law_distance import largest_gap_of_weights
from holdfast.privacy.pufferfish.framework import (
    COUNT,
    MODELLED,
    DeltaZ,
    Framework,
    LawClass,
    Stated,
    answers,
    stated_in_words,
)
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import counted

Dependence = Literal["independent", "any"]
MOST_PEOPLE = 10**6
MOST_BITS = 2 * 10**8
"""Bits of all exact weights of a binomial law up to which gaps are decided in whole numbers."""
PRECISION = 128


@dataclass(frozen=True)
class DependentCounts:
    """The count of n answers, of which one changes the chances of the others to z_0 or z_1 at the outside."""

    n: int
    z0: Fraction
    z1: Fraction
    dependence: Dependence = "independent"
    public: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MOST_PEOPLE:
            raise GuaranteeError(f"n = {self.n:,} people: give a number from 1 to {MOST_PEOPLE:,}.")
        if not 0 <= self.z0 <= self.z1 <= 1:
            raise GuaranteeError(
                f"z0 = {self.z0} and z1 = {self.z1} are no bounds of this family: give 0 <= z0 <= z1 <= 1, as"
                " one answer of 1 does not make others less likely."
            )

    @property
    def framework(self) -> Framework:
        """The answers of n people."""
        secrets, pairs = answers(self.n)
        laws = _dependent(self.z0, self.z1, self.dependence)
        data = {
            "family": "dependent-counts",
            "n": self.n,
            "z0": str(self.z0),
            "z1": str(self.z1),
            "dependence": self.dependence,
        }
        public = stated_in_words(self.public, _bounded())
        return Framework(public, secrets, pairs, LawClass(laws, data, "family"), COUNT)

    @property
    def delta(self) -> DeltaZ:
        """The gap at the ends of the bounds."""
        low, high = self.bounds
        exact = low == high
        found = Proved(_apart(self.n, high, exact=exact), "theory, 7")
        return DeltaZ(Fraction(high), exact, (found, MODELLED))

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """A lower and an upper bound of Delta_z, equal but where balls of 128 bits cannot decide."""
        others = self.n - 1
        if self.dependence == "any":
            return (_any_gap(others, self.z0, self.z1),) * 2
        if others**2 * (_bits(self.z0) + _bits(self.z1)) <= MOST_BITS:
            return (_exact_gap(others, self.z0, self.z1),) * 2
        return _enclosed_gap(others, self.z0, self.z1)

    @property
    def details(self) -> dict[str, Any]:
        """What it is with records that do not depend on each other, for comparison."""
        return {"without_dependence": "1", "largest_possible": str(self.n)}


def _bits(z: Fraction) -> int:
    return z.denominator.bit_length()


def _any_gap(m: int, z0: Fraction, z1: Fraction) -> int:
    """Return the largest 1 + r - s that the means allow; r is the smaller, the larger s is."""

    def possible(r: int, s: int) -> bool:
        above = min(Fraction(1), m * z1 / r) if r else Fraction(1)
        below = min(Fraction(1), m * (1 - z0) / (m - s)) if s < m else Fraction(1)
        return above + below > 1

    best, r = 0, 0
    for s in range(m + 1):  # the largest r for each s only grows with it
        while r < m and possible(r + 1, s):
            r += 1
        best = max(best, 1 + r - s)
    return best


def _exact_gap(m: int, z0: Fraction, z1: Fraction) -> int:
    """Return W_infinity(1 + Binomial(m, z1), Binomial(m, z0)) in whole numbers."""
    lower, upper = _weights(m, z0, z1.denominator**m), _weights(m, z1, z0.denominator**m)
    shifted = [(value + 1, weight) for value, weight in upper]
    return largest_gap_of_weights(lower, shifted)


def _weights(m: int, z: Fraction, scale: int) -> list[tuple[int, int]]:
    """Return the values of a binomial law with whole weights that sum to scale * denominator^m."""
    yes, no = z.numerator, z.denominator - z.numerator
    if not (yes and no):
        return [(m if yes else 0, scale * z.denominator**m)]
    weight, found = scale * no**m, []
    for k in range(m + 1):
        found.append((k, weight))
        weight = weight * (m - k) * yes // ((k + 1) * no)
    return found


def _enclosed_gap(m: int, z0: Fraction, z1: Fraction) -> tuple[int, int]:
    """Return bounds of W_infinity(1 + Binomial(m, z1), Binomial(m, z0)).

    The gap at the level F_0(k) of the lower law is j + 1 - k, j the smallest with F_1(j) >= F_0(k): the upper
    law is larger at every level, so these levels are enough. Tails are compared from both ends, so that
    neither loses its digits. Equal laws are one apart; where one law has one value, 0 or n, they are n apart.
    """
    if z0 == z1:
        return 1, 1
    if z0 == 0 or z1 == 1:
        return m + 1, m + 1
    with flint.ctx.workprec(PRECISION):
        below = _first_enough(_tail(m, z0), _tail(m, z1))
        above = _first_enough_above(_tail(m, 1 - z0), _tail(m, 1 - z1))
    sure = (max(one, other) for one, other in zip(below[0], above[0], strict=True))
    least = max(j + 1 - k for k, j in enumerate(sure))
    enough = (min(one, other) for one, other in zip(below[1], above[1], strict=True))
    return least, max(j + 1 - k for k, j in enumerate(enough))


def _tail(m: int, z: Fraction) -> list[flint.arb]:
    """Return the distribution function of Binomial(m, z) at 0..m, each with nearly all of its digits."""
    odds = flint.arb(flint.fmpq(z.numerator, z.denominator)) / flint.arb(
        flint.fmpq(z.denominator - z.numerator, z.denominator)
    )
    mass = flint.arb(flint.fmpq(z.denominator - z.numerator, z.denominator)) ** m
    total, found = flint.arb(0), []
    for k in range(m + 1):
        total += mass
        found.append(total)
        mass = mass * odds * (m - k) / (k + 1)
    return found


def _first_enough(lower: list[flint.arb], upper: list[flint.arb]) -> tuple[list[int], list[int]]:
    """Return for each k the smallest j with upper[j] >= lower[k]: one that may be, one that surely is."""
    m = len(lower) - 1
    may, sure, i, j = [], [], 0, 0
    for level in lower:
        while i < m and upper[i] < level:
            i += 1
        while j < m and not upper[j] >= level:
            j += 1
        may.append(i)
        sure.append(j)
    return may, sure


def _first_enough_above(lower: list[flint.arb], upper: list[flint.arb]) -> tuple[list[int], list[int]]:
    """Return the same from the other end: F(k) = 1 - G(m - 1 - k), G the function of the zeros."""
    m = len(lower) - 1
    may, sure, i, j = [], [], 0, 0
    for k in range(m + 1):
        level = lower[m - 1 - k] if k < m else flint.arb(0)
        while i < m and upper[m - 1 - i] > level:
            i += 1
        while j < m and not upper[m - 1 - j] <= level:
            j += 1
        may.append(i)
        sure.append(j)
    return may, sure


@claim("public-bounds-on-answers")
def _bounded() -> str:
    return "bounds on how much one answer tells of another"


@claim("answers-dependent")
def _dependent(z0: Fraction, z1: Fraction, dependence: Dependence) -> str:
    others = (
        "are independent of each other" if dependence == "independent" else "depend on each other in any way"
    )
    return (
        f"the laws under which, given the answer of the person in question, those of the others {others},"
        f" each 1 with probability at least {z0} given 0 and at most {z1} given 1, and no less given 1 than"
        " given 0"
    )


@claim("dependent-counts-apart")
def _apart(people: int, distance: int, *, exact: bool) -> str:
    return (
        f"the counts of {counted(people, 'person', 'people')} given 0 and given 1 are"
        f" {'' if exact else 'at most '}{distance} apart at worst"
    )


DisclosureLaws = Literal["independent", "everything"]


@dataclass(frozen=True)
class DisclosedCount:
    """The count of n answers, known to satisfy k-anonymity, or to be t-close to a share, or both."""

    n: int
    k: int = 0
    t: Fraction | None = None
    share: Fraction | None = None
    laws: DisclosureLaws = "independent"

    def __post_init__(self) -> None:
        if self.n < 1:
            raise GuaranteeError(f"n = {self.n} people: give a positive number.")
        if self.k < 0:
            raise GuaranteeError(f"k = {self.k} of k-anonymity: give a number that is not negative.")
        if (self.t is None) != (self.share is None):
            raise GuaranteeError("t-closeness is to a share: give t and the share, or neither.")
        if self.t is not None and (self.t < 0 or not 0 <= (self.share or 0) <= 1):
            raise GuaranteeError("t is not negative and a share lies between 0 and 1: correct t-closeness.")
        low, high = self.bounds
        if low > high:
            raise GuaranteeError(
                f"no count of {self.n:,} answers satisfies the public facts ({self._facts}): correct them."
            )
        if high == 0 or low == self.n:
            raise GuaranteeError(
                f"the public facts ({self._facts}) leave every person one answer, {0 if high == 0 else 1}: no"
                " secret is left to be kept."
            )

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest count that satisfies the public facts [theory, 7]."""
        low, high = max(self.k, 0), min(self.n - self.k, self.n)
        if self.t is not None and self.share is not None:
            low = max(low, ceil(self.n * (self.share - self.t)))
            high = min(high, floor(self.n * (self.share + self.t)))
        return low, high

    @property
    def _facts(self) -> str:
        return _rules(self.k, self.t, self.share)

    @property
    def framework(self) -> Framework:
        """The answers of n people, where both are still possible."""
        secrets, _ = answers(self.n)
        low, high = self.bounds
        pairs = Stated(_where_possible(), {"by": "person", "values": [0, 1], "people": self.n})
        facts = _disclosed(self.k, self.t, self.share, low, high, self.n)
        public = Stated(facts, {"n": self.n, "low": low, "high": high})
        laws = LawClass(_of_answers(self.laws), {"family": "answers"}, self.laws)
        return Framework(public, secrets, pairs, laws, COUNT)

    @property
    def delta(self) -> DeltaZ:
        """One person's answer, or everything that the bounds leave."""
        low, high = self.bounds
        value = high - low if self.laws == "everything" else min(1, high - low)
        apart = Proved(_rules_apart(low, high, value), "theory, 7")
        return DeltaZ(Fraction(value), exact=True, evidence=(apart, MODELLED))

    @property
    def details(self) -> dict[str, Any]:
        """The bounds."""
        low, high = self.bounds
        return {"low": low, "high": high}


def _rules(k: int, t: Fraction | None, share: Fraction | None) -> str:
    facts = [f"{k}-anonymity"] if k else []
    if t is not None:
        facts.append(f"{t}-closeness to {share}")
    return " and ".join(facts) or "none"


@claim("public-disclosure-rule")
def _disclosed(k: int, t: Fraction | None, share: Fraction | None, low: int, high: int, people: int) -> str:
    return f"{_rules(k, t, share)}: {low:,} to {high:,} of {people:,} people say 1"


@claim("both-answers-where-possible")
def _where_possible() -> str:
    return "each person, the answers 0 and 1 where both are possible"


@claim("laws-of-answers")
def _of_answers(laws: DisclosureLaws) -> str:
    if laws == "independent":
        return "all laws of independent answers, given what is public"
    return "all laws that agree with what is public"


@claim("counts-apart")
def _rules_apart(low: int, high: int, distance: int) -> str:
    return f"counts from {low:,} to {high:,} given 0 and given 1 are {distance:,} apart at worst"
