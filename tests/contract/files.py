"""What every mechanism of files of records is tried on: small files, at a rate.

A mechanism without an entry fails the contract.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations, product
from math import log, prod
from typing import Any, Literal

from holdfast.mechanisms.mechanism import Mechanism
from holdfast.mechanisms.swapping.mechanism import PermutationSwapping
from holdfast.mechanisms.swapping.public import Strata

Record = tuple[str, str, str]
"""The stratum, what is swapped, what is held."""
File = tuple[Record, ...]
"""Records without an order: sorted."""
COLUMNS = ("stratum", "swapped", "held")


@dataclass(frozen=True)
class FileCase:
    """A small file, with a record for each of its words: stratum, swapped value, held value."""

    records: str
    rate: Fraction
    attained: bool = False
    """Whether some two files lose all that the tight bound allows."""

    def __str__(self) -> str:
        return f"{self.records} at {self.rate}"

    @cached_property
    def file(self) -> File:
        """The records, sorted."""
        return tuple(sorted((word[0], word[1], word[2]) for word in self.records.split()))

    @cached_property
    def files(self) -> list[File]:
        """All files that share the induced invariants: swapped values in any order within strata."""
        return sorted(set(map(_flat, product(*(_rearranged(members) for members in _strata(self.file))))))

    @property
    def strata(self) -> Strata:
        """What is public of the strata, counted by hand."""
        members = _strata(self.file)
        alike = [one for one in members if len(one) > 1 and len(_rearranged(one)) == 1]
        return Strata(tuple(sorted(Counter(map(len, members)).items())), sum(map(len, alike)))

    def law(self, file: File, rate: Fraction | None = None) -> dict[File, Fraction]:
        """Return the probability of each released file: all selections, and all derangements of each."""
        laws = [_law(members, rate or self.rate).items() for members in _strata(file)]
        found: Counter[File] = Counter()
        for parts in product(*laws):
            found[_flat(records for records, _ in parts)] += prod(chance for _, chance in parts)  # type: ignore[assignment]
        return dict(found)  # type: ignore[arg-type]

    def losses(self, rate: Fraction | None = None) -> list[float]:
        """Return what each pair of files loses for each record of their distance."""
        laws = {file: self.law(file, rate) for file in self.files}
        return [
            max(log(one[output] / other[output]) for output in one) / distance(a, b)
            for (a, one), (b, other) in permutations(laws.items(), 2)
        ]


def distance(one: File, other: File) -> int:
    """Return how many records must change to make one file the other."""
    return (Counter(one) - Counter(other)).total()


def _flat(parts: Any) -> File:
    return tuple(sorted(record for part in parts for record in part))


def _strata(file: File) -> list[File]:
    return [tuple(r for r in file if r[0] == key) for key in sorted({record[0] for record in file})]


def _with(members: File, swapped: tuple[str, ...]) -> File:
    return tuple(sorted((key, new, held) for (key, _, held), new in zip(members, swapped, strict=True)))


def _rearranged(members: File) -> set[File]:
    return {_with(members, order) for order in permutations(record[1] for record in members)}


def _law(members: File, rate: Fraction) -> dict[File, Fraction]:
    """Return the law of a stratum: who is selected, unless it is one, and how they exchange."""
    size = len(members)
    if size < 2:
        return {members: Fraction(1)}
    found: dict[File, Fraction] = {}
    sizes = [k for k in range(size + 1) if k != 1]
    chances = {k: rate**k * (1 - rate) ** (size - k) for k in sizes}
    again = 1 - size * rate * (1 - rate) ** (size - 1)
    for k in sizes:
        orders = [o for o in permutations(range(k)) if all(o[i] != i for i in range(k))]
        for chosen in combinations(range(size), k):
            for order in orders:
                values = [record[1] for record in members]
                for place, source in enumerate(order):
                    values[chosen[place]] = members[chosen[source]][1]
                output = _with(members, tuple(values))
                found[output] = found.get(output, Fraction(0)) + chances[k] / again / len(orders)
    return found


HALF = Fraction(1, 2)
FILES: dict[type[Mechanism[Any, Any]], tuple[FileCase, ...]] = {
    PermutationSwapping: (
        FileCase("sax sby", HALF, attained=True),
        FileCase("sax sby scz", HALF, attained=True),
        FileCase("sax sby scz sdw", Fraction(1, 5), attained=True),
        FileCase("sax sby scz sdw", Fraction(19, 20), attained=True),
        FileCase("sax sax sby sby sbz", HALF),
        FileCase("sax sby scz tax tby uax", Fraction(1, 3), attained=True),
        FileCase("sax say tax tby tax", Fraction(1, 3)),
    )
}
Bound = Literal["slides", "tight"]
BOUNDS: tuple[Bound, ...] = ("slides", "tight")
