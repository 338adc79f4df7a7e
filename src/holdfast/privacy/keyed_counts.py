"""What neighbouring counts lose that are perturbed by cell keys: known laws, compared [theory, 18]."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log

from holdfast.data.perturbation import PerturbationTable

LARGEST = 700
"""An epsilon beyond which probabilities of a table differ from none as they do at any: exp is left out."""


@dataclass(frozen=True)
class KeyedLoss:
    """Delta at an epsilon, and the neighbouring counts that it is attained between."""

    epsilon: Fraction
    delta: float
    between: tuple[int, int]


Law = Mapping[int, Fraction]
Pair = tuple[tuple[int, int], Law, Law]


def neighbours(table: PerturbationTable) -> "list[Pair]":
    """Return the laws of what is published of each two neighbouring counts, once around the repeats."""
    last = len(table.laws) - 1 + table.repeats
    laws = [{n + change: p for change, p in table.law(n).items()} for n in range(last + 1)]
    return [((n, n + 1), laws[n], laws[n + 1]) for n in range(last)]


def keyed_loss(pairs: Sequence[Pair], epsilon: Fraction | None) -> KeyedLoss:
    """Return delta at an epsilon with its pair; without one, what no epsilon helps against."""
    factor = inf if epsilon is None or epsilon > LARGEST else exp(float(epsilon))
    found = (
        (max(_delta(one, other, factor), _delta(other, one, factor)), names) for names, one, other in pairs
    )
    delta, names = max(found, key=lambda each: each[0])
    return KeyedLoss(Fraction(0) if epsilon is None else epsilon, delta, names)


def _delta(one: Law, other: Law, factor: float) -> float:
    return sum(max(0.0, float(p) - (factor * float(other[j]) if j in other else 0.0)) for j, p in one.items())


def most_lost(one: Law, other: Law) -> float:
    """Return the largest log ratio of one law to another; infinite where that cannot give what this does."""
    return max(log(p / other[j]) if j in other else inf for j, p in one.items())


def mean(law: Law) -> Fraction:
    """Return the mean of a law of whole numbers."""
    return sum((change * p for change, p in law.items()), Fraction(0))


def variance(law: Law) -> Fraction:
    """Return its variance."""
    return sum((change**2 * p for change, p in law.items()), Fraction(0)) - mean(law) ** 2
