"""What an epsilon means, in plain words: how sure a release can make somebody, and what it leaves as it is.

Somebody holds two tables for equally likely, one unit's data apart. Pure privacy bounds the posterior odds by
exp(epsilon), so nobody becomes surer of one of them than

    exp(epsilon) / (1 + exp(epsilon)),

whatever is released [congenial-dp, Theorem 1.3]. In the other standards no such bound holds for every
outcome. The probability of a right guess is (1 + TV) / 2 at best, TV being the largest difference of the
probabilities of any event: with delta that is (exp(epsilon) + delta) / (1 + exp(epsilon)); with mu it is the
normal distribution function at mu / 2 [dong2022]; with rho, TV is at most the root of rho / 2 and of
1 - exp(-rho), as the relative entropy is at most rho [bun2016]. Rare outcomes tell more. Let
epsilon hold at delta, L be the logarithm of the likelihood ratio, and t > 0. Then

    delta >= E max(0, 1 - exp(epsilon - L)) >= (1 - exp(-t)) P(L > epsilon + t),

so nobody becomes surer than pure privacy allows with epsilon + t, but for a probability of
delta / (1 - exp(-t)), which is RARELY times delta here.

Pure privacy also says how much one person's data matter to what is concluded: with their data and with
others in their place, posteriors are at most

    (exp(epsilon) - 1) / (exp(epsilon) + 1) = 2 exp(epsilon) / (1 + exp(epsilon)) - 1

apart in total variation, whatever the prior [holdfast, privacy/posterior_posterior.py; congenial-dp,
Section 5.1; partially-private-data, Equation 3]. Other data are ones that the invariants allow, so epsilon
has to be that of all records that change with one, as it is under adjacency "semi".

The word for a guarantee follows from both numbers, so that no good word stands beside a bad number. What
only rare outcomes tell makes it weak at worst: no protection is where guesses may be right nearly always.

Beside that, small noise often does nothing: the chances that a cell, or the whole table, is published as it
is come from the law of the noise [holdfast, mechanisms/unchanged.py], or from the draws of its expected
error.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, exp, expm1, floor, log1p, sqrt
from typing import Literal

from scipy.special import ndtr

from holdfast.certificate.model import (
    ChanceSection,
    ExpectedErrorSection,
    GuaranteeSection,
    UnchangedSection,
    VerdictSection,
)
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.unchanged import Chance, Unchanged
from holdfast.privacy.guarantee import probability
from holdfast.spec.whom import Whom

Level = Literal["strong", "moderate", "weak", "none"]
LEVELS: dict[Level, str] = {
    "strong": "Strong: little can be learnt of anyone.",
    "moderate": "Moderate: something can be learnt, and a good deal is left in doubt.",
    "weak": "Weak: much can be learnt, and little doubt may be left.",
    "none": "None to speak of: doubt is left in name only.",
}
"""What the levels of a verdict say, from the best to the worst."""

STRONG, MODERATE, WEAK = 0.75, 0.9, 0.99
"""How often a guess from even odds may be right: odds of 3, 9 and 99 to 1. Beyond the last there is no more
than the name of protection."""
CELL_STAYS, TABLE_STAYS = 0.9, 0.5
"""Chances of being published as it is from which noise is said to change hardly anything."""
DIGITS = 10**6
NEARLY_ALL = 0.999
"""Chances beyond this, and below what it leaves, are told by it: none is 100 %, or 0."""
NEXT_TO_NONE = 0.0005
"""Chances below this are no lower bound worth telling."""
RARELY = 10
"""How many times delta the outcomes have that tell more than is said."""
LARGEST = 700.0
"""Exponents beyond this are as good as this."""


def verdict(
    guarantee: GuaranteeSection,
    mechanism: AnyMechanism,
    expected: ExpectedErrorSection | None,
    cells: int,
) -> VerdictSection:
    """Return what a guarantee and its noise come to, from public values alone."""
    right, sure = _shares(guarantee)
    stays = _section(mechanism.unchanged, expected, cells)
    level = level_of(right, sure)
    what = "table" if mechanism.output == "table" else "release"
    return VerdictSection(
        level=level,
        right=right,
        sure=sure,
        meaning=_meaning(guarantee, right, sure),
        unchanged=stays,
        warnings=tuple(_warnings(level, stays, what)),
    )


def verdict_of_files(guarantee: GuaranteeSection) -> VerdictSection:
    """Return what a guarantee for several tables of a file comes to: what stays is told of each table."""
    right, sure = _shares(guarantee)
    level = level_of(right, sure)
    warnings = tuple(_warnings(level, None, "table"))
    meaning = _meaning(guarantee, right, sure, "files")
    return VerdictSection(
        level=level, right=right, sure=sure, meaning=meaning, unchanged=None, warnings=warnings
    )


def verdict_of_swaps(epsilon: Fraction, whom: Whom) -> VerdictSection:
    """Return what a swap comes to for the closest files that it can confuse, which lose ``epsilon``.

    These differ in which of two records has which value: no two files of one scope are closer.
    """
    right = _up(_sure(epsilon))
    level = level_of(right, right)
    meaning = (
        f"Whoever holds two files for equally likely, 50 %, that differ in which of two {whom.counted} has"
        f" which value, can become {_sure_of(right)} of one of them by seeing the release."
    )
    warnings = tuple(_warnings(level, None, "file"))
    return VerdictSection(
        level=level, right=right, sure=right, meaning=meaning, unchanged=None, warnings=warnings
    )


def level_of(right: float, sure: float) -> Level:
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


def _shares(guarantee: GuaranteeSection) -> tuple[float, float]:
    """Return how often a guess is right, and how sure one can become but for rare outcomes."""
    right = _up(rightly_guessed(guarantee.intensity, guarantee))
    at = guarantee.epsilon_at
    if at is None:
        return right, right
    beyond = Fraction(at.epsilon) - Fraction(log1p(-1 / RARELY))
    return right, max(right, _up(_sure(beyond)))


def rightly_guessed(intensity: Mapping[str, Fraction], guarantee: GuaranteeSection | None = None) -> float:
    """Return how likely the best guess between two tables is right, from even odds; at most 1."""
    match dict(intensity):
        case {"epsilon": epsilon, "delta": delta}:
            return min(_sure(epsilon) + float(delta) / (1 + exp(min(float(epsilon), LARGEST))), 1.0)
        case {"epsilon": epsilon}:
            return _sure(epsilon)
        case {"rho": rho}:
            apart = min(sqrt(float(rho) / 2), sqrt(-expm1(-min(float(rho), LARGEST))))
            return min((1 + apart) / 2, 1.0)
        case {"mu": mu}:
            return float(ndtr(min(float(mu), LARGEST) / 2))
    at = None if guarantee is None else guarantee.epsilon_at
    return 1.0 if at is None else min(_sure(Fraction(at.epsilon)) + float(at.delta), 1.0)


def hardly_anything(stays: UnchangedSection | None) -> bool:
    """Whether most of what is published is as it went in."""
    if stays is None:
        return False
    return stays.everything.low >= TABLE_STAYS or (stays.cell is not None and stays.cell.low >= CELL_STAYS)


def _sure(epsilon: Fraction) -> float:
    return 1 / (1 + exp(-min(float(epsilon), LARGEST)))


def _meaning(guarantee: GuaranteeSection, right: float, sure: float, what: str = "tables") -> str:
    unit, intensity = guarantee.unit, guarantee.intensity
    whom = Whom(unit.name, unit.records_per_unit)
    apart = f"one {whom.one}'s data apart"
    if unit.adjacency == "unit":
        apart = f"{whom.amount(unit.distance) if unit.distance > 1 else f'one {whom.record}'} apart"
    if set(intensity) == {"epsilon"}:
        return (
            f"Whoever holds two {what} {apart} for equally likely, 50 %, can become {_sure_of(right)} of one"
            f" of them by seeing the release.{_without(whom, right) if unit.adjacency == 'semi' else ''}"
        )
    guess = (
        f"Whoever guesses which of two {what} {apart} is the true one, from even odds of 50 %, "
        + ("may be right all but always" if _all_but(right) else "is right with a probability of at most")
        + ("" if _all_but(right) else f" {percent(right)}")
    )
    at = guarantee.epsilon_at
    if at is None:
        return f"{guess}, the delta of {probability(intensity['delta'])} included."
    rarely = (
        "" if _all_but(sure) else f", but for a probability of {probability(RARELY * Fraction(at.delta))}"
    )
    return f"{guess}, and can become {_sure_of(sure)}{rarely}."


def _without(whom: Whom, right: float) -> str:
    """Say how far conclusions with and without one unit's data are apart; nothing where that says nothing."""
    if right > WEAK:
        return ""
    return (
        " Whatever they held before, the chance that they then give to a statement is within"
        f" {_tenths(2 * right - 1):g} percentage points of what it would be with other data in place of one"
        f" {whom.one}'s."
    )


def _sure_of(share: float) -> str:
    return "all but certain" if _all_but(share) else f"at most {percent(share)} sure"


def _all_but(share: float) -> bool:
    """Whether a share rounded up to a tenth of a percent is all."""
    return _tenths(share) >= 100


def _warnings(level: Level, stays: UnchangedSection | None, what: str) -> list[str]:
    found = []
    if hardly_anything(stays) and stays is not None:
        cell = (
            "" if stays.cell is None else f"a single count stays with a chance of {chance(stays.cell)}, and "
        )
        found.append(
            f"The noise hardly changes anything: {cell}the whole {what} is published as it is with a chance"
            f" of {chance(stays.everything)}."
        )
    if level == "none":
        found.append(
            f"The guarantee promises next to nothing: a guess from even odds may be right with a probability"
            f" of more than {percent(WEAK)}."
        )
    return found


def _section(
    known: Unchanged | None, expected: ExpectedErrorSection | None, cells: int
) -> UnchangedSection | None:
    if known is not None:
        cell = None if known.cell is None else _outward(known.cell)
        return UnchangedSection(cell=cell, everything=_outward(known.everything), method="from the law")
    if expected is None:
        return None
    noise = expected.noise
    share = noise.shares[-noise.first] if 0 <= -noise.first < len(noise.shares) else 0.0
    share = min(max(share, 0.0), 1.0)
    least = share if noise.width == 1 else 0.0
    return UnchangedSection(
        cell=ChanceSection(low=least, high=share),
        everything=_outward(Chance(max(0.0, 1 - cells * (1 - least)), share)),
        method=f"{expected.method}: the share of cells that stay; bounds for all together",
    )


def _outward(chance: Chance) -> ChanceSection:
    low, high = floor(chance.low * DIGITS) / DIGITS, ceil(chance.high * DIGITS) / DIGITS
    return ChanceSection(low=min(low, 1.0), high=min(high, 1.0))


def chance(bounds: ChanceSection) -> str:
    """Return a chance in words, its bounds rounded outward.

    >>> [chance(ChanceSection(low=low, high=high)) for low, high in ((0, 0.1234), (0.9001, 1), (0.5, 0.61))]
    ['at most 12.4 %', 'at least 90 %', '50 % to 61 %']
    >>> chance(ChanceSection(low=0.999455, high=0.999456)), chance(ChanceSection(low=0, high=1e-6))
    ('more than 99.9 %', 'less than 0.1 %')
    """
    if bounds.low > NEARLY_ALL:
        return f"more than {percent(NEARLY_ALL)}"
    if bounds.high < 1 - NEARLY_ALL:
        return f"less than {percent(1 - NEARLY_ALL)}"
    if bounds.high - bounds.low <= 2 / DIGITS:
        return percent(bounds.high)
    if bounds.low < NEXT_TO_NONE:
        return f"at most {percent(bounds.high)}"
    least = f"{floor(1000 * bounds.low + 1e-6) / 10:g} %"
    return f"at least {least}" if bounds.high >= 1 else f"{least} to {percent(bounds.high)}"


def _up(share: float) -> float:
    return min(ceil(share * 10**4 - 1e-9) / 10**4, 1.0)


def percent(share: float) -> str:
    """Return a share in percent, to a tenth.

    >>> percent(0.7311), percent(1.0), percent(0.99999)
    ('73.2 %', '100 %', '100 %')
    """
    return f"{_tenths(share):g} %"


def _tenths(share: float) -> float:
    """Return a share in percent, rounded up to a tenth."""
    return ceil(1000 * share - 1e-6) / 10
