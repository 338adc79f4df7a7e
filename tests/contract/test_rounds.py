"""Swaps in rounds and at rates by stratum: the whole law of what is released, enumerated on small files.

A file is an assignment of records to slots, a slot being a place: tract and block. A round permutes the
records of slots within strata, by the law of one swap; rounds are convolved, permutation by permutation.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations, product
from math import log, prod

import numpy as np
import pyarrow as pa
import pytest
from tests.contract.files import distance

import holdfast as hf
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping import embedded as group
from holdfast.mechanisms.swapping.bounds import BOUNDS, derangement_count, epsilon
from holdfast.mechanisms.swapping.embedded import Swap, swap_group
from holdfast.mechanisms.swapping.mechanism import PermutationSwapping
from holdfast.mechanisms.swapping.rounds import RateRule, Round
from holdfast.sampling.entropy import SeededEntropy
from holdfast.testing.goodness import LEVEL, p_value

Slots = tuple[str, ...]
Permutation = tuple[int, ...]
File = tuple[tuple[str, str], ...]
"""Places with what is held there, in no order: sorted."""


@dataclass(frozen=True)
class RoundsCase:
    """Places, each a tract and a block, with what is held; rates of each size of strata, in both rounds.

    ``fine`` and ``wide`` are rates by the size of a stratum, the last one for all other sizes.
    """

    places: str
    held: str
    fine: tuple[Fraction, ...]
    wide: tuple[Fraction, ...]

    def __str__(self) -> str:
        return f"{self.places} with {self.held} at {'/'.join(map(str, (*self.fine, *self.wide)))}"

    @property
    def slots(self) -> Slots:
        return tuple(self.places.split())

    def strata(self, *, wide: bool) -> list[list[int]]:
        """Return the slots of each stratum: all, or those of one tract."""
        names = [("" if wide else slot[0]) for slot in self.slots]
        return [[at for at, name in enumerate(names) if name == one] for one in sorted(set(names))]

    def rate(self, size: int, *, wide: bool) -> Fraction:
        rates = self.wide if wide else self.fine
        return rates[size - 2] if 2 <= size < len(rates) + 1 else rates[-1]

    def round(self, *, wide: bool) -> dict[Permutation, Fraction]:
        """Return the law of the permutation of one round."""
        each = [
            [(members, *one) for one in one_stratum(len(members), self.rate(len(members), wide=wide))]
            for members in self.strata(wide=wide)
        ]
        law: dict[Permutation, Fraction] = {}
        for parts in product(*each):
            whole = list(range(len(self.slots)))
            for members, order, _ in parts:
                for place, source in enumerate(order):
                    whole[members[place]] = members[source]
            law[tuple(whole)] = prod((chance for _, _, chance in parts), start=Fraction(1))
        return law

    def both(self, *, wide_first: bool = False) -> dict[Permutation, Fraction]:
        """Return the law of one round after the other, the finer one first."""
        found: dict[Permutation, Fraction] = {}
        first, second = self.round(wide=wide_first), self.round(wide=not wide_first)
        for (one, p), (other, q) in product(first.items(), second.items()):
            whole = tuple(one[source] for source in other)
            found[whole] = found.get(whole, Fraction(0)) + p * q
        return found

    def output(self, held: Slots) -> File:
        return tuple(sorted(zip(self.slots, held, strict=True)))

    @cached_property
    def files(self) -> list[Slots]:
        """All files with the invariants of the last round: one assignment of each."""
        return list({self.output(held): held for held in permutations(self.held)}.values())

    def law(self, held: Slots) -> dict[File, Fraction]:
        found: Counter[File] = Counter()
        for order, chance in self.both().items():
            found[self.output(tuple(held[source] for source in order))] += chance  # type: ignore[assignment]
        return dict(found)  # type: ignore[arg-type]

    def losses(self) -> Iterator[tuple[float, bool]]:
        """Yield what each pair loses for a record of distance, and whether it agrees on the finer strata."""
        laws = [(held, self.law(held)) for held in self.files]
        for (held, one), (other_held, other) in permutations(laws, 2):
            a, b = self.output(held), self.output(other_held)
            most = max(log(p / other[output]) for output, p in one.items())
            yield most / distance(a, b), tracts(a) == tracts(b)  # type: ignore[arg-type]


def tracts(file: File) -> Counter[tuple[str, str]]:
    return Counter((place[0], held) for place, held in file)


def one_stratum(size: int, rate: Fraction) -> list[tuple[Permutation, Fraction]]:
    """Return the law of the permutation of one stratum [theory, 8]."""
    odds, orders = rate / (1 - rate), list(permutations(range(size)))
    moved = [sum(a != b for a, b in enumerate(order)) for order in orders]
    weights = [odds**k / derangement_count(k) for k in moved]
    return [(order, weight / sum(weights)) for order, weight in zip(orders, weights, strict=True)]


def worst(case: RoundsCase, bound: str, *, wide: bool) -> float:
    return max(
        float(epsilon(len(one), case.rate(len(one), wide=wide), bound))  # type: ignore[arg-type]
        for one in case.strata(wide=wide)
    )


HALF, TENTH, MOST = Fraction(1, 2), Fraction(1, 10), Fraction(9, 10)
CASES = (
    RoundsCase("a1 a2 b3 b4", "wxyz", (HALF,), (TENTH,)),
    RoundsCase("a1 a2 b3 b4", "wxyz", (TENTH,), (HALF,)),
    RoundsCase("a1 a2 b3 b4", "wxyy", (TENTH,), (MOST,)),
    RoundsCase("a1 a2 a3 b4", "wxyz", (Fraction(1, 5),), (Fraction(1, 3),)),
    RoundsCase("a1 a2 a3 b4 b5", "vwxyz", (TENTH, Fraction(2, 5)), (Fraction(1, 4),)),
    RoundsCase("a1 a1 a2 b3", "wxyz", (Fraction(3, 4),), (Fraction(1, 20),)),
)
each = pytest.mark.parametrize("case", CASES, ids=str)


@each
@pytest.mark.parametrize("bound", BOUNDS)
def test_rounds_lose_no_more_than_the_last_and_less_within_finer_strata(case: RoundsCase, bound: str) -> None:
    last, first = worst(case, bound, wide=True), worst(case, bound, wide=False)
    for loss, fine in case.losses():
        assert loss <= (min(first, last) if fine else last) * (1 + 1e-12)


def test_the_bound_is_attained_where_the_first_round_hardly_moves_anything() -> None:
    case = RoundsCase("a1 a2 b3 b4", "wxyz", (Fraction(1, 10**6),), (TENTH,))
    assert max(loss for loss, _ in case.losses()) >= 0.999 * worst(case, "tight", wide=True)
    case = RoundsCase("a1 a2 b3 b4", "wxyz", (TENTH,), (Fraction(1, 10**6),))
    fine = max(loss for loss, fine in case.losses() if fine)
    assert fine >= 0.999 * worst(case, "tight", wide=False)


@each
def test_the_order_of_the_rounds_does_not_matter(case: RoundsCase) -> None:
    """The law of the wider round depends on the number of records that move alone: it commutes with any."""
    assert case.both(wide_first=True) == case.both()


# what is drawn, and what is stated

NAMES = ("county", "tract", "block", "held")
DRAWS = 20_000


def design(case: RoundsCase) -> tuple[Round, ...]:
    """Return the rounds of a case: rates by size are rules."""
    found = []
    for wide, key in ((False, ("county", "tract")), (True, ("county",))):
        rates = case.wide if wide else case.fine
        rules = tuple(
            RateRule(at_least=size, at_most=size, rate=rate) for size, rate in enumerate(rates[:-1], start=2)
        )
        found.append(Round(key, rules, rates[-1]))
    return tuple(found)


def table(case: RoundsCase, held: Slots, copies: int) -> pa.Table:
    rows = [
        (f"{copy:06d}", place[0], place[1], one)
        for copy in range(copies)
        for place, one in zip(case.slots, held, strict=True)
    ]
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(NAMES)})


@each
@pytest.mark.parametrize("seed", [None, 5], ids=["system", "by stratum"])
def test_the_draws_follow_the_law(
    case: RoundsCase, seed: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In no order, of many counties at once; a law at other rates is told apart."""
    source = SeededEntropy(11)
    monkeypatch.setattr(group, "SystemEntropy", lambda: source)
    held, roles = case.files[0], ColumnRoles(("county",), ("tract", "block"), ("held",))
    swap = Swap(roles, case.wide[-1], seed, design(case))
    drawn = swap_group(table(case, held, DRAWS), swap).records
    files: dict[str, list[tuple[str, str]]] = {}
    for county, tract, block, one in zip(*(drawn.column(name).to_pylist() for name in NAMES), strict=True):
        files.setdefault(county, []).append((tract + block, one))
    numbers: dict[File, int] = {}

    def law(of: RoundsCase) -> dict[tuple[int], float]:
        shares = of.law(held).items()
        return {(numbers.setdefault(file, len(numbers)),): float(chance) for file, chance in shares}

    own = law(case)
    fine, wide = (tuple(rate * 2 / 3 for rate in rates) for rates in (case.fine, case.wide))
    other = law(RoundsCase(case.places, case.held, fine, wide))
    seen = np.array([[numbers[tuple(sorted(file))]] for file in files.values()])
    assert p_value(seen, own) > LEVEL
    assert p_value(seen, other) < LEVEL / 1000


@each
@pytest.mark.parametrize("bound", BOUNDS)
def test_what_a_spec_states_is_what_was_enumerated(case: RoundsCase, bound: str) -> None:
    """The guarantee, and epsilon by round and stratum in the details."""
    first, last = design(case)
    spec = hf.Spec.of(
        {
            "data": {},
            "privacy": {"unit": "household", "adjacency": "unit"},
            "mechanism": {
                "name": "permutation-swapping",
                "stratify": ["county"],
                "swap": ["tract", "block"],
                "rate": str(last.rate),
                "bound": bound,
                "rates": [dict(rule) for rule in last.rules],
                "rounds": [
                    {"within": ["tract"], "rate": first.rate, "rates": [dict(one) for one in first.rules]}
                ],
            },
        }
    )
    prepared = hf.prepare(spec, table(case, case.files[0], 1))
    mechanism = prepared.mechanism
    assert isinstance(mechanism, PermutationSwapping)
    stated = float(prepared.guarantee.intensity.parameters()["epsilon"])
    assert stated == pytest.approx(worst(case, bound, wide=True), abs=1e-11)
    assert max(loss for loss, _ in case.losses()) <= stated * (1 + 1e-12)
    fine, wide = mechanism.details.rounds
    told = (fine.composed, wide.composed) if bound == "slides" else (fine.composed_tight, wide.composed_tight)
    assert told == pytest.approx(
        (min(worst(case, bound, wide=True), worst(case, bound, wide=False)), worst(case, bound, wide=True))
    )
    sizes = Counter(len(one) for one in case.strata(wide=False))
    assert {one.size: one.strata for one in fine.sizes} == sizes
    assert all(one.rate == case.rate(one.size, wide=False) for one in fine.sizes if one.size > 1)
