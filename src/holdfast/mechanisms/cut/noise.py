"""Noise of a mechanism, cut off at a bound: calibrated, drawn, and what is proved of it [theory, 17]."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import ceil, floor, log10, prod
from typing import Literal

from holdfast.mechanisms.cut.inside import shares
from holdfast.mechanisms.cut.profile import CutMethod, CutProfile, profile_of
from holdfast.mechanisms.cut.weights import CutNorm, NoiseShape, Weighing
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.forms import form_variances
from holdfast.mechanisms.mechanism import missing
from holdfast.mechanisms.weights.strategy import Strategy
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target
from holdfast.privacy.intensity import Approximate
from holdfast.privacy.premises import Premises
from holdfast.public import Public
from holdfast.sampling.lattice.cut import CutLaw
from holdfast.sampling.lattice.plan import Planned
from holdfast.system.errors import GuaranteeError, SamplingError, SpecError
from holdfast.system.ways import assigned, setting

DIGITS = 6
"""Of strengths and of deltas, in which computers agree."""
LEAST_SHARE = 1e-3
"""The least share of draws that is to be inside: draws end, on average, after a thousand tries."""
STEP, STEPS = 1.25, 20
"""Factors of the width that are tried, to either side of a third of the bound."""
GOLDEN = (5**0.5 - 1) / 2
REFINED = 24
LARGEST_BOUND = 1 << 40


@dataclass(frozen=True, eq=False)
class CutNoise:
    """A shape of noise within a bound on certain premises; ``strength`` is sigma^2, or kappa."""

    premises: Premises
    shape: NoiseShape
    bound: int

    @classmethod
    def of(
        cls, premises: Premises, public: Public, norm: CutNorm, strategy: Strategy | None, bound: int
    ) -> "CutNoise":
        """Return the noise of a mechanism; raises where no account of it is known."""
        if premises.adjacency == "unit" and premises.longest_step != 1:
            raise SpecError(
                f"{setting('mechanism', 'bound')} is accounted for between tables of one distance where"
                " these invariants tie several records together: set"
                f" {assigned('adjacency', 'semi')} in {setting('privacy')}, or leave the bound out."
            )
        found = None if norm == "l1" else form_variances(public, Counts(public.schema.names), strategy)
        if found is None and strategy is not None:
            raise SpecError(
                f"{setting('mechanism', 'bound')} is not worked out for such queries on so many cells: leave"
                " one of the two out."
            )
        most = 1.0 if found is None else float(found.max(initial=0.0))
        form = None if strategy is None else strategy.form
        shape = NoiseShape(norm, form, premises.universe.dimension, most, *_moves(premises))
        return cls(premises, shape, bound)

    @classmethod
    def of_record(
        cls, premises: Premises, public: Public, norm: CutNorm, strategy: Strategy | None, bound: int | None
    ) -> "CutNoise | None":
        """Return that of a record; None where it has no bound."""
        return None if bound is None else cls.of(premises, public, norm, strategy, bound)

    @cached_property
    def profile(self) -> CutProfile:
        """How its loss is worked out."""
        return profile_of(self.premises, self.shape, self.bound)

    def remark(self, shape: str | None) -> str:
        """Return what is to be known of the law beside others."""
        return f"{f'{shape}, ' if shape else ''}no count moves by more than {self.bound:,}"

    def delta(self, strength: Fraction, epsilon: Fraction) -> Fraction:
        """Return the delta that is stated beside an epsilon, rounded up."""
        found = self.profile.delta(Weighing(self.shape, strength), epsilon)
        if found >= 1:
            return Fraction(1)
        unit = Fraction(10) ** (floor(log10(found)) + 1 - DIGITS)
        return min(ceil(Fraction(found) / unit) * unit, Fraction(1))

    def law(self, whole: Planned, strength: Fraction) -> CutLaw:
        """Return the law, cut off; raises SamplingError where draws would not end, with a bound that does."""
        blocks, matrix = whole.plan.blocks, self.premises.universe.matrix

        def least(bound: int) -> list[float]:
            return list(shares(matrix, blocks, Weighing(self.shape, strength), bound))

        found = least(self.bound)
        if min(found, default=1.0) < LEAST_SHARE:
            enough = _smallest(self.bound, lambda bound: min(least(bound)) >= LEAST_SHARE)
            raise SamplingError(
                f"noise of this width is hardly ever within {self.bound:,} in every cell, so that a draw"
                f" would not end: set {assigned('bound', enough)} in {setting('mechanism')} at least, or ask"
                " for less noise."
            )
        return CutLaw(whole, self.bound, found)

    def calibrated(self, target: Approximate) -> Fraction:
        """Return the strength of the least noise whose delta is within a target's."""
        found = self._calibrated(target)
        if found is not None:
            return found

        def reached(bound: int) -> bool:
            return replace(self, bound=bound)._calibrated(target) is not None

        enough = _smallest(self.bound, reached)
        raise GuaranteeError(
            f"noise that moves no count by more than {self.bound:,} does not reach epsilon"
            f" {float(target.epsilon):g} with delta {float(target.delta):g} here: set"
            f" {assigned('bound', enough)} in {setting('mechanism')} at least, or ask for a larger epsilon or"
            " delta."
        )

    def _calibrated(self, target: Approximate) -> Fraction | None:
        """Return the strength of the least noise; None where none has so small a delta."""

        def delta(width: float) -> float:
            return self.profile.delta(Weighing(self.shape, self._strength(width)), target.epsilon)

        wanted = float(target.delta)
        middle = max(self.bound / 3, 1e-3)
        widths = [middle * STEP**k for k in range(-STEPS, STEPS // 2)]
        found: list[float] = []
        for width in widths:
            found.append(delta(width))
            if found[-1] <= wanted:
                break
        else:
            best = min(range(len(found)), key=found.__getitem__)
            lows, highs = widths[max(best - 1, 0)], widths[min(best + 1, len(widths) - 1)]
            lowest = _lowest(delta, lows, highs, wanted)
            return None if lowest is None else self._least(target, lows, lowest)
        return self._least(target, width / STEP, width)

    def _least(self, target: Approximate, narrow: float, wide: float) -> Fraction:
        """Return the strength of the least noise between a width that is not enough and one that is."""
        low, high = self._strength(narrow), self._strength(wide)
        unit = Fraction(10) ** (floor(log10(min(low, high))) + 1 - DIGITS)
        enough = (ceil if self.shape.norm == "squared" else floor)(high / unit)
        small = (floor if self.shape.norm == "squared" else ceil)(low / unit)
        if self.delta(enough * unit, target.epsilon) > target.delta:
            return high
        while abs(enough - small) > 1:
            middle = (enough + small) // 2
            if self.delta(middle * unit, target.epsilon) <= target.delta:
                enough = middle
            else:
                small = middle
        return enough * unit

    def _strength(self, width: float) -> Fraction:
        """Return the strength of about such a standard deviation of one cell."""
        one = Weighing(self.shape, Fraction(1)).width
        return Fraction(width / one) ** 2 if self.shape.norm == "squared" else Fraction(one / width)

    def guarantee(
        self, strength: Fraction, epsilon: Fraction, told: Claim, drawn: Sequence[Evidence]
    ) -> Guarantee:
        """Return what is proved, at an epsilon; ``told`` says what is cut off, ``drawn`` how it is drawn."""
        premises, delta = self.premises, self.delta(strength, epsilon)
        if premises.adjacency == "semi" and self.shape.form is not None:
            apart = premises.form_evidence(self.shape.form)
        elif self.shape.form is not None:
            apart = ()
        else:
            apart = premises.evidence("l1" if self.shape.norm == "l1" else "l2")
        evidence: list[Evidence] = [
            Proved(told, "theory, 17"),
            Proved(_within(self.bound, epsilon, delta, self.profile.method), "theory, 17"),
            *apart,
            *drawn,
        ]
        return premises.guarantee(Approximate(epsilon, delta), evidence)


def _moves(premises: Premises) -> tuple[int | None, int]:
    """Return how many cells some difference of tables moves by one, and an m with ||z||_1 >= m |z_i|.

    Products of two levels of some axes are differences, if no kept margin has all of these axes. The
    cells that share the levels of a kept margin with a cell add up to nothing, so that others move as far;
    where no axis is in neither of two kept margins, these others are not the same, and the rest moves, too.
    """
    margins = premises.universe.margins
    if margins is None or prod(margins.shape) != premises.universe.cells:
        return None, 1
    axes = [axis for axis, size in enumerate(margins.shape) if size > 1]
    free = (
        number
        for number in range(1, len(axes) + 1)
        for some in combinations(axes, number)
        if not any(set(some) <= kept for kept in margins.sets)
    )
    number = next(free, None)
    crossing = any(set(axes) <= one | other for one in margins.sets for other in margins.sets if one != other)
    return None if number is None else 2**number, 4 if crossing else 2 if margins.sets else 1


def approximate(target: Target) -> Approximate:
    """Return the intensity of a target for noise within a bound."""
    if not isinstance(target.intensity, Approximate):
        raise missing("epsilon")
    return target.intensity


def _smallest(above: int, enough: Callable[[int], bool]) -> int:
    """Return the smallest bound above one that is enough; raises GuaranteeError where none is found."""
    low, high = above, 2 * above
    while not enough(high):
        low, high = high, 2 * high
        if high > LARGEST_BOUND:
            raise GuaranteeError(
                f"no {setting('mechanism', 'bound')} is enough here: leave it out, or ask for a larger"
                " epsilon or delta."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _lowest(delta: Callable[[float], float], low: float, high: float, wanted: float) -> float | None:
    """Return a width whose delta is within what is wanted, by golden sections; None where none is met."""
    for _ in range(REFINED):
        one, other = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        left, right = delta(one), delta(other)
        if min(left, right) <= wanted:
            return one if left <= wanted else other
        low, high = (low, other) if left < right else (one, high)
    return None


@claim("noise-within-bound")
def _within(bound: int, epsilon: Fraction, delta: Fraction, method: CutMethod) -> str:
    how = {
        "listed": "summed over all values of the noise",
        "sums": "summed over the cells that few records move, the others having a law of their sum",
        "bounds": "bounded by what the noise loses before it is cut off, its edge and the share inside",
    }[method]
    return (
        f"no count moves by more than {bound:,}: what only one of two tables can give has a probability, too,"
        f" and all together delta is at most {float(delta):.6g} beside epsilon {float(epsilon):g}, {how}"
    )


@claim("counts-within-bound")
def counts_within(bound: int) -> str:
    """Warn of what a bound gives away for sure."""
    return (
        f"Every confidential count is within {bound:,} of the released one, for sure: that is what the bound"
        " says, and delta pays for it."
    )


@claim("cut-gaussian")
def cut_gaussian(sigma_squared: Fraction, bound: int, queries: int) -> str:
    """Claim the law of Gaussian noise within a bound."""
    size = "||z||^2" if not queries else "Q(z)"
    return (
        f"the noise is of the law proportional to exp(-{size} / (2 sigma^2)), sigma^2 = {sigma_squared},"
        f" on the lattice of the invariants, given that no cell is beyond {bound:,}"
    )


@claim("cut-laplace")
def cut_laplace(kappa: Fraction, norm: Literal["l1", "l2"], bound: int, queries: int) -> str:
    """Claim the law of Laplace noise within a bound."""
    size = f"||z|| in the {norm} norm" if not queries else "the root of Q(z)"
    return (
        f"the noise is of the law proportional to exp(-{kappa} s), s = {size}, on the lattice of the"
        f" invariants, given that no cell is beyond {bound:,}"
    )
