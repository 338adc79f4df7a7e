"""Charges of swapped records, and the exact law of what is released."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import factorial, log, prod

import numpy as np
from numpy.typing import NDArray
from tests.ledger.releases import BINARY, Files, Made, Record, digest

from holdfast.ledger import Charge
from holdfast.ledger.charge import records_charge
from holdfast.mechanisms.swapping.bounds import EpsilonBound, epsilon
from holdfast.privacy.guarantee import Unit
from holdfast.privacy.intensity import Pure

ONE = Unit("record", "unit", 1)
Rows = tuple[tuple[str, ...], ...]
"""Records without an order: sorted."""


@dataclass(frozen=True)
class Swap:
    """A release of a file with some columns swapped within strata."""

    columns: tuple[str, ...]
    stratify: tuple[str, ...]
    swap: tuple[str, ...]
    rate: Fraction = Fraction(1, 2)
    bound: EpsilonBound = "tight"
    levels: tuple[str, ...] = BINARY
    unit: Unit = ONE

    @property
    def held(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in (*self.stratify, *self.swap))

    @property
    def induced(self) -> Made:
        """A stand-in that keeps what the swap keeps."""
        levels = dict.fromkeys(self.columns, self.levels)
        margins = ((*self.stratify, *self.swap), (*self.stratify, *self.held))
        return Made(self.columns, margins, levels=levels)

    def largest(self, file: Sequence[Record]) -> int:
        """Return the size of the largest stratum."""
        return max(Counter(tuple(record[name] for name in self.stratify) for record in file).values())

    def epsilon(self, file: Sequence[Record]) -> Fraction:
        """Return what is lost for each record."""
        return epsilon(self.largest(file), self.rate, self.bound)

    def charge(self, file: Sequence[Record], name: str = "file") -> Charge:
        """Return the charge of the release."""
        intensity = Pure(self.epsilon(file)).group(self.unit.distance)
        return records_charge(
            dataset=digest(name),
            stratify=self.stratify,
            swap=self.swap,
            held=self.held,
            intensity=intensity,
            unit=self.unit,
            scope=digest(f"{self.stratify} {self.swap}"),
            stated={"statement": "swapped"},
            certificate=digest("certificate"),
            header=self.columns,
        )

    def law(self, file: Sequence[Record]) -> dict[tuple[Rows, ...], Fraction]:
        """Return the probability of each released file, strata in the order of their levels.

        A permutation that moves k records has a probability in proportion to o^k / d_k.
        """
        strata: dict[tuple[str, ...], list[Record]] = {}
        for record in file:
            strata.setdefault(tuple(record[name] for name in self.stratify), []).append(record)
        found: dict[tuple[Rows, ...], Fraction] = {}
        laws = [self._stratum(strata[levels]).items() for levels in sorted(strata)]
        for parts in product(*laws):
            output = tuple(rows for rows, _ in parts)
            found[output] = found.get(output, Fraction(0)) + prod(chance for _, chance in parts)
        return found

    def _stratum(self, members: Sequence[Record]) -> dict[Rows, Fraction]:
        odds, weights = self.rate / (1 - self.rate), Counter[Rows]()
        for order in permutations(range(len(members))):
            moved = sum(place != source for place, source in enumerate(order))
            rows = [
                tuple(members[source if name in self.swap else place][name] for name in self.columns)
                for place, source in enumerate(order)
            ]
            weights[tuple(sorted(rows))] += odds**moved / derangements(moved)  # type: ignore[assignment]
        total = sum(weights.values())
        return {rows: Fraction(weight) / total for rows, weight in weights.items()}

    def losses(self, files: Files) -> NDArray[np.float64]:
        """Return what the release loses between each pair of files: the largest log ratio of its laws."""
        every = [
            [record for record, n in zip(files.possible, counts, strict=True) for _ in range(n)]
            for counts in files.tables
        ]
        laws = [self.law(file) for file in every]
        return np.array([[max(log(one[y] / other[y]) for y in one) for other in laws] for one in laws])


def derangements(k: int) -> int:
    """Return in how many ways k things can all change places."""
    return sum((-1) ** j * factorial(k) // factorial(j) for j in range(k + 1))
