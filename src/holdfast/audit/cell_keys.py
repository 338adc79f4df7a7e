"""What a cell-key table gives away: the law of each count's perturbation, taken at its word [theory, 18].

Cell keys perturb each published count by a lookup of the count and of a key, the sum of secret random numbers
of its records. One record more makes another key, as good as random: so between neighbouring counts n and
n + 1 what is published has two known laws on whole numbers, and

    delta(epsilon) = max over both orders of the sum over j of max(0, P_n(j) - e^epsilon P_n+1(j))

is a direct sum. A count that one law can give and the other cannot tells them apart for sure, at any epsilon.

Every cell and every margin is perturbed by itself. They estimate each other: with variance s^2 each, all
margins of a table of attributes with d_1, ..., d_k levels measure the part of a cell in the residual space
T with 1 / s^2 times the sum over margins M that contain T of prod_{t not in M} d_t [theory, 13].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import exp, inf, log, prod, sqrt
from pathlib import Path
from typing import Any

from holdfast.data.perturbation import PerturbationTable, read_perturbation
from holdfast.system.errors import SpecError
from holdfast.system.notebook import NotebookReport, Picture

EPSILONS = (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(8))
"""Where delta is told unless something is asked."""
SHAPES = ((2, 5), (10, 20), (5, 10, 20))
"""Tables of which it is told what cells and margins say together."""
MOST_LEVELS, MOST_ATTRIBUTES = 10**9, 8


@dataclass(frozen=True)
class KeyedLoss:
    """Delta at an epsilon, and the neighbouring counts that it is attained between."""

    epsilon: Fraction
    delta: float
    between: tuple[int, int]


@dataclass(frozen=True)
class Averaging:
    """The standard deviation of one cell of a table, alone and from all its margins together."""

    levels: tuple[int, ...]
    alone: float
    combined: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        gain = 1.0 if not self.combined else (self.alone / self.combined) ** 2
        return {
            "levels": list(self.levels),
            "alone": self.alone,
            "combined": self.combined,
            "worth": gain,
        }


@dataclass(frozen=True, eq=False)
class CellKeyReport(NotebookReport):
    """What a table of perturbations gives away between neighbouring counts, and how it perturbs them."""

    table: PerturbationTable
    losses: tuple[KeyedLoss, ...]
    epsilon: float
    """The least epsilon that holds with delta 0; infinite where some count gives itself away."""
    certain: KeyedLoss
    """The probability of what only one of two neighbouring counts can give, as epsilon infinite."""
    unperturbed: tuple[int, ...]
    """Counts above 0 that are published as they are."""
    averaging: tuple[Averaging, ...]

    @cached_property
    def deterministic(self) -> bool:
        """Whether every count has one published value, whatever its key."""
        return all(len(law) == 1 for law in self.table.laws)

    @property
    def largest_change(self) -> int:
        """The most that a count is moved."""
        return max(abs(change) for law in self.table.laws for change in law)

    @property
    def variance(self) -> float:
        """The largest variance of a count's perturbation."""
        return max(float(variance(law)) for law in self.table.laws)

    @property
    def bias(self) -> float:
        """The mean of a perturbation that is farthest from 0."""
        return max((float(mean(law)) for law in self.table.laws), key=abs)

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        return Picture(
            "delta that a change of one takes", [(f"epsilon {one.epsilon}", one.delta) for one in self.losses]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "format": self.table.format,
            "counts": len(self.table.laws) - 1,
            "repeats": self.table.repeats,
            "deterministic": self.deterministic,
            "epsilon": None if self.epsilon == inf else self.epsilon,
            "delta_at_any_epsilon": {"delta": self.certain.delta, "between": list(self.certain.between)},
            "profile": [
                {"epsilon": str(one.epsilon), "delta": one.delta, "between": list(one.between)}
                for one in self.losses
            ],
            "largest_change": self.largest_change,
            "variance": self.variance,
            "bias": self.bias,
            "unperturbed": list(self.unperturbed),
            "averaging": [one.to_dict() for one in self.averaging],
            "by_count": [
                {
                    "count": n,
                    "mean": float(mean(law)),
                    "variance": float(variance(law)),
                    "least": min(law),
                    "most": max(law),
                }
                for n, law in enumerate(self.table.laws)
            ],
        }


def cell_key(
    path: str | Path,
    epsilons: Sequence[Fraction] | None = None,
    shapes: Sequence[Sequence[int]] | None = None,
) -> CellKeyReport:
    """Return what a cell-key table gives away, at some epsilons, and of tables with so many levels.

    Every record stands for one of a count: counts n and n + 1 are neighbours. Its keys are taken as secret
    and uniform, which is the best case.

    >>> lookup = pl.DataFrame({"i": [0, 1, 1], "j": [0, 0, 2], "p": [1.0, 0.5, 0.5]})
    >>> lookup.write_csv("lookup.csv")
    >>> hf.audit.cell_key("lookup.csv").to_dict()["largest_change"]
    1
    """
    table = read_perturbation(Path(path))
    asked = tuple(EPSILONS if epsilons is None else map(Fraction, epsilons))
    if any(one < 0 for one in asked):
        raise SpecError("an epsilon is negative: give 0 or more.")
    tables = [tuple(levels) for levels in (SHAPES if shapes is None else shapes)]
    for levels in tables:
        if not 1 <= len(levels) <= MOST_ATTRIBUTES or not all(1 <= d <= MOST_LEVELS for d in levels):
            raise SpecError(
                "the levels of a table are one whole number from 1 for each of at most"
                f" {MOST_ATTRIBUTES} attributes, such as 10,20: correct them."
            )
    pairs = tuple(_neighbours(table))
    spread = max(float(variance(law)) for law in table.laws)
    return CellKeyReport(
        table,
        tuple(_loss(pairs, epsilon) for epsilon in asked),
        max(max(_most(one, other), _most(other, one)) for _, one, other in pairs),
        _loss(pairs, None),
        tuple(n for n, law in enumerate(table.laws) if n and set(law) == {0}),
        tuple(Averaging(levels, sqrt(spread), sqrt(spread * share(levels))) for levels in tables),
    )


Law = Mapping[int, Fraction]
Pair = tuple[tuple[int, int], Law, Law]


def _neighbours(table: PerturbationTable) -> "list[Pair]":
    """Return the laws of what is published of each two neighbouring counts, once around the repeats."""
    last = len(table.laws) - 1 + table.repeats
    laws = [{n + change: p for change, p in table.law(n).items()} for n in range(last + 1)]
    return [((n, n + 1), laws[n], laws[n + 1]) for n in range(last)]


def _loss(pairs: Sequence[Pair], epsilon: Fraction | None) -> KeyedLoss:
    """Return delta at an epsilon with its pair; without one, what no epsilon helps against."""
    factor = inf if epsilon is None else exp(float(epsilon))
    found = (
        (max(_delta(one, other, factor), _delta(other, one, factor)), names) for names, one, other in pairs
    )
    delta, names = max(found, key=lambda each: each[0])
    return KeyedLoss(Fraction(0) if epsilon is None else epsilon, delta, names)


def _delta(one: Law, other: Law, factor: float) -> float:
    return sum(max(0.0, float(p) - (factor * float(other[j]) if j in other else 0.0)) for j, p in one.items())


def _most(one: Law, other: Law) -> float:
    return max(log(p / other[j]) if j in other else inf for j, p in one.items())


def mean(law: Law) -> Fraction:
    """Return the mean of a law of whole numbers."""
    return sum((change * p for change, p in law.items()), Fraction(0))


def variance(law: Law) -> Fraction:
    """Return its variance."""
    return sum((change**2 * p for change, p in law.items()), Fraction(0)) - mean(law) ** 2


def share(levels: Sequence[int]) -> float:
    """Return the variance of a cell's best estimate from all margins, over that of one perturbation.

    >>> share([1]), round(share([2, 2]), 4)
    (0.5, 0.4444)
    """
    axes = range(len(levels))
    sets = [frozenset(some) for size in range(len(levels) + 1) for some in combinations(axes, size)]
    total = 0.0
    for space in sets:
        strength = sum(prod(levels[t] for t in axes if t not in margin) for margin in sets if space <= margin)
        size = prod(1 - 1 / levels[t] if t in space else 1 / levels[t] for t in axes)
        total += size / strength
    return total
