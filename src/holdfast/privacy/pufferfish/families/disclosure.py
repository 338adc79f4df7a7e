"""One count of n answers within the bounds of disclosure rules [partially-private-data, Example 2].

That (S, n - S) satisfies k-anonymity says k <= S <= n - k; that it is t-close to a public share t* says
|S / n - t*| <= t. So the public facts are bounds, low <= S <= high. Two classes of laws:

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
from math import ceil, floor
from typing import Any, Literal

from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Proved
from holdfast.privacy.pufferfish.framework import (
    COUNT,
    MODELLED,
    DeltaZ,
    Framework,
    LawClass,
    Stated,
    answers,
)
from holdfast.system.errors import GuaranteeError

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
        apart = Proved(_apart(low, high, value), "theory, 7")
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
def _apart(low: int, high: int, distance: int) -> str:
    return f"counts from {low:,} to {high:,} given 0 and given 1 are {distance:,} apart at worst"
