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

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import inf, prod, sqrt
from pathlib import Path
from typing import Any

from holdfast.data.perturbation import PerturbationTable, read_perturbation
from holdfast.privacy.keyed_counts import KeyedLoss, keyed_loss, mean, most_lost, neighbours, variance
from holdfast.system.errors import SpecError
from holdfast.system.notebook import NotebookReport, Picture

EPSILONS = (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(8))
"""Where delta is told unless something is asked."""
SHAPES = ((2, 5), (10, 20), (5, 10, 20))
"""Tables of which it is told what cells and margins say together."""
MOST_LEVELS, MOST_ATTRIBUTES = 10**9, 8


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
    pairs = tuple(neighbours(table))
    spread = max(float(variance(law)) for law in table.laws)
    return CellKeyReport(
        table,
        tuple(keyed_loss(pairs, epsilon) for epsilon in asked),
        max(max(most_lost(one, other), most_lost(other, one)) for _, one, other in pairs),
        keyed_loss(pairs, None),
        tuple(n for n, law in enumerate(table.laws) if n and set(law) == {0}),
        tuple(Averaging(levels, sqrt(spread), sqrt(spread * share(levels))) for levels in tables),
    )


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
