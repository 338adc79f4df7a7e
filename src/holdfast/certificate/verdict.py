"""What an epsilon means, in plain words: how sure a release can make somebody, and what it leaves as it is.

Somebody holds two tables for equally likely, one unit's data apart. Pure privacy bounds the posterior odds by
exp(epsilon), so nobody becomes surer of one of them than

    exp(epsilon) / (1 + exp(epsilon)),

whatever is released [congenial-dp, Theorem 1.3]. In the other standards no such bound holds for every
outcome. The probability of a right guess is (1 + TV) / 2 at best, TV being the largest difference of the
probabilities of any event: with delta that is (exp(epsilon) + delta) / (1 + exp(epsilon)); with mu it is the
normal distribution function at mu / 2 [dong2022]; with rho, TV is at most the root of rho / 2 and of
1 - exp(-rho), as the relative entropy is at most rho [bun2016]; of Gaussian noise mu is
known, too. Rare outcomes tell more. Let epsilon hold at delta, L be the logarithm of the likelihood
ratio, and t > 0. Then

    delta >= E max(0, 1 - exp(epsilon - L)) >= (1 - exp(-t)) P(L > epsilon + t),

so nobody becomes surer than pure privacy allows with epsilon + t, but for a probability of
delta / (1 - exp(-t)), which is RARELY times delta here.

Pure privacy also says how much one person's data matter to what is concluded: with their data and with
others in their place, posteriors are at most

    (exp(epsilon) - 1) / (exp(epsilon) + 1) = 2 exp(epsilon) / (1 + exp(epsilon)) - 1

apart in total variation, whatever the prior [holdfast, privacy/posterior.py; congenial-dp,
Section 5.1; partially-private-data, Equation 3]. Other data are ones that the invariants allow, so epsilon
has to be that of all records that change with one, as it is under adjacency "semi". Where records
come and go, "other data" are those without one person's, or with one person's more.

The word for a guarantee follows from both numbers, so that no good word stands beside a bad number. What
only rare outcomes tell makes it weak at worst: no protection is where guesses may be right nearly always.

Beside that, small noise often does nothing: the chances that a cell, or the whole table, is published as it
is come from the law of the noise [holdfast, mechanisms/errors/zero_noise.py], or from the draws of its
expected error.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, exp, expm1, floor, log1p, sqrt
from typing import Literal

import scipy

from holdfast.certificate.head import ChanceSection, UnchangedSection, VerdictSection
from holdfast.certificate.parts import ExpectedErrorSection
from holdfast.certificate.warnings import DIGITS, WEAK, hardly_changed, next_to_nothing, percent, tenths
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.details import SMALL_DELTA, epsilon_at
from holdfast.mechanisms.errors.zero_noise import Chance
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.guarantee import CLOSEST, Adjacency, DataKind, Guarantee, probability
from holdfast.privacy.intensity import (
    Approximate,
    Functional,
    GaussianDP,
    GaussianNoise,
    Intensity,
    Pure,
    ZeroConcentrated,
)
from holdfast.spec.privacy import ProtectedUnit

VerdictLevel = Literal["strong", "moderate", "weak", "none"]
ReleasedKind = Literal["table", "release", "file"]
LEVELS: dict[VerdictLevel, str] = {
    "strong": "Strong: little can be learnt of anyone.",
    "moderate": "Moderate: something can be learnt, and a good deal is left in doubt.",
    "weak": "Weak: much can be learnt, and little doubt may be left.",
    "none": "None to speak of: doubt is left in name only.",
}
"""What the levels of a verdict say, from the best to the worst."""

STRONG, MODERATE = 0.75, 0.9
"""How often a guess from even odds may be right: odds of 3 and 9 to 1; WEAK is 99 to 1."""
CELL_STAYS, TABLE_STAYS = 0.9, 0.5
"""Chances of being published as it is from which noise is said to change hardly anything."""
RARELY = 10
"""How many times delta the outcomes have that tell more than is said."""
LARGEST = 700.0
"""Exponents beyond this are as good as this."""


def verdict(
    guarantee: Guarantee, stays: UnchangedSection | None = None, what: ReleasedKind = "table"
) -> VerdictSection:
    """Return what a guarantee and its noise come to, from public values alone.

    ``stays`` is how likely ``what`` is released is as it went in, where that is known of all of it.
    """
    unit, intensity = guarantee.unit, guarantee.intensity
    right, sure = shares(guarantee)
    level = level_of(right, sure)
    return VerdictSection(
        level=level,
        right=right,
        sure=sure,
        meaning=meaning(
            guarantee.scope.data,
            unit.whom,
            unit.adjacency,
            unit.distance,
            intensity.standard,
            tuple(intensity.parameters().values()),
            right,
            sure,
        ),
        unchanged=stays,
        warnings=tuple(_warnings(level, stays, what)),
    )


def unchanged_section(
    mechanism: AnyMechanism, expected: ExpectedErrorSection | None, cells: int
) -> UnchangedSection | None:
    """Return how likely noise leaves things as they are, from its law or from the draws of its error."""
    if (known := mechanism.unchanged) is not None:
        cell = None if known.cell is None else _outward(known.cell)
        return UnchangedSection(cell=cell, everything=_outward(known.everything), method="law")
    if expected is None:
        return None
    noise = expected.noise
    share = noise.shares[-noise.first] if 0 <= -noise.first < len(noise.shares) else 0.0
    share = min(max(share, 0.0), 1.0)
    least = share if noise.width == 1 else 0.0
    return UnchangedSection(
        cell=ChanceSection(low=least, high=share),
        everything=_outward(Chance(max(0.0, 1 - cells * (1 - least)), share)),
        method="simulated",
    )


def level_of(right: float, sure: float) -> VerdictLevel:
    """Return the word for how often a guess from even odds may be right, and how sure one may become.

    >>> [level_of(share, share) for share in (0.5, 0.75, 0.8, 0.95, 1.0)]
    ['strong', 'strong', 'moderate', 'weak', 'none']
    >>> [level_of(0.6, sure) for sure in (0.7, 0.85, 0.963, 1.0)]
    ['strong', 'moderate', 'weak', 'weak']
    """
    if right > WEAK:
        return "none"
    most = max(right, sure)
    return "strong" if most <= STRONG else "moderate" if most <= MODERATE else "weak"


def shares(guarantee: Guarantee) -> tuple[float, float]:
    """Return how often a guess is right, and how sure one can become but for rare outcomes.

    Files of records are never nearer than in which of two records has which value: those are told apart.
    """
    intensity = guarantee.intensity
    if guarantee.scope.data == "records" and isinstance(intensity, Pure):
        right = told_apart(intensity.epsilon / guarantee.unit.records)
        return right, right
    right, at = _up(rightly_guessed(intensity)), epsilon_at(intensity)
    if at is None:
        return right, right
    beyond = Fraction(at.epsilon) - Fraction(log1p(-1 / RARELY))
    return right, max(right, _up(_sure(beyond)))


def told_apart(loss: Fraction) -> float:
    """Return how often two records are told apart that lose so much for each record of distance."""
    return _up(_sure(CLOSEST * loss))


def rightly_guessed(intensity: Intensity) -> float:
    """Return how likely the best guess between two tables is right, from even odds; at most 1."""
    match intensity:
        case Approximate(epsilon, delta):
            return min(_sure(epsilon) + float(delta) / (1 + exp(min(float(epsilon), LARGEST))), 1.0)
        case Pure(epsilon):
            return _sure(epsilon)
        case GaussianNoise(rho, mu):
            return min(rightly_guessed(GaussianDP(mu)), rightly_guessed(ZeroConcentrated(rho)))
        case ZeroConcentrated(rho):
            apart = min(sqrt(float(rho) / 2), sqrt(-expm1(-min(float(rho), LARGEST))))
            return min((1 + apart) / 2, 1.0)
        case GaussianDP(mu):
            return float(scipy.special.ndtr(min(float(mu), LARGEST) / 2))
        case Functional():
            at = epsilon_at(intensity)
            return 1.0 if at is None else min(_sure(Fraction(at.epsilon)) + float(at.delta), 1.0)


def hardly_anything(stays: UnchangedSection | None) -> bool:
    """Whether most of what is published is as it went in."""
    if stays is None:
        return False
    return stays.everything.low >= TABLE_STAYS or (stays.cell is not None and stays.cell.low >= CELL_STAYS)


def _sure(epsilon: Fraction) -> float:
    return 1 / (1 + exp(-min(float(epsilon), LARGEST)))


@claim("meaning")
def meaning(
    data: DataKind,
    whom: ProtectedUnit,
    adjacency: Adjacency,
    distance: int,
    standard: str,
    numbers: tuple[Fraction, ...],
    right: float,
    sure: float,
) -> str:
    """Claim what a guarantee means for whoever sees a release, in plain words."""
    what = "tables" if data == "table" else "files"
    if data == "records":
        return (
            f"Whoever holds two files for equally likely, 50 %, that differ in which of two {whom.counted}"
            f" has which value, can become {_sure_of(right)} of one of them by seeing the release."
        )
    apart = f"one {whom.one}'s {'presence' if whom.presence else 'data'} apart"
    if adjacency == "unit":
        added = " added or removed" if whom.presence else ""
        apart = f"{whom.amount(distance) if distance > 1 else f'one {whom.record}'}{added} apart"
    if standard == "pure":
        return (
            f"Whoever holds two {what} {apart} for equally likely, 50 %, can become {_sure_of(right)} of one"
            f" of them by seeing the release.{_without(whom, right) if adjacency == 'semi' else ''}"
        )
    guess = (
        f"Whoever guesses which of two {what} {apart} is the true one, from even odds of 50 %, "
        + ("may be right all but always" if _all_but(right) else "is right with a probability of at most")
        + ("" if _all_but(right) else f" {percent(right)}")
    )
    if standard == "approximate":
        return f"{guess}, the delta of {probability(numbers[1])} included."
    rarely = probability(RARELY * Fraction(f"{SMALL_DELTA:g}"))
    return (
        f"{guess}, and can become {_sure_of(sure)}"
        f"{'' if _all_but(sure) else f', but for a probability of {rarely}'}."
    )


def _without(whom: ProtectedUnit, right: float) -> str:
    """Say how far conclusions with and without one unit's data are apart; nothing where that says nothing."""
    if right > WEAK:
        return ""
    other = f"with other data in place of one {whom.one}'s"
    if whom.presence:
        other = f"without one {whom.one}'s data, or with one more"
    return (
        " Whatever they held before, the chance that they then give to a statement is within"
        f" {tenths(2 * right - 1):g} percentage points of what it would be {other}."
    )


def _sure_of(share: float) -> str:
    return "all but certain" if _all_but(share) else f"at most {percent(share)} sure"


def _all_but(share: float) -> bool:
    """Whether a share rounded up to a tenth of a percent is all."""
    return tenths(share) >= 100


def _warnings(level: VerdictLevel, stays: UnchangedSection | None, what: ReleasedKind) -> Iterator[Claim]:
    if hardly_anything(stays) and stays is not None:
        cell, every = stays.cell, stays.everything
        bounds = (None, None) if cell is None else (cell.low, cell.high)
        yield _hardly_changed(what, every.low, every.high, *bounds)
    if level == "none":
        yield _next_to_nothing()


@claim("hardly-changed")
def _hardly_changed(
    what: ReleasedKind, low: float, high: float, cell_low: float | None, cell_high: float | None
) -> str:
    return hardly_changed(what, low, high, cell_low, cell_high)


@claim("next-to-nothing")
def _next_to_nothing() -> str:
    return next_to_nothing()


def _outward(chance: Chance) -> ChanceSection:
    low, high = floor(chance.low * DIGITS) / DIGITS, ceil(chance.high * DIGITS) / DIGITS
    return ChanceSection(low=min(low, 1.0), high=min(high, 1.0))


def _up(share: float) -> float:
    return min(ceil(share * 10**4 - 1e-9) / 10**4, 1.0)
