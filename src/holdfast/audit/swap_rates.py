"""Reading a swap rate as an epsilon, and an epsilon as two swap rates [swapping-slides; theory, 8].

It asks for the size of the largest stratum and sees no data: swapping loses the same for every dataset of
strata so large, by the slides' bound and, never above it, by the tight one.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from holdfast.mechanisms.swapping.bounds import EpsilonBound, Rates, epsilon, least_epsilon, rates
from holdfast.system.errors import GuaranteeError
from holdfast.system.notebook import NotebookReport, Picture

USUAL_RATES = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(1, 2))
"""What is told where nothing in particular is asked."""


@dataclass(frozen=True)
class SwapReading:
    """An epsilon by both bounds; ``rate`` is None for the smallest of all rates."""

    rate: Fraction | None
    epsilon: Fraction
    epsilon_tight: Fraction


@dataclass(frozen=True)
class Wanted:
    """An epsilon that was asked for, with the lowest and the highest rate that lose no more."""

    epsilon: Fraction
    rates: Rates
    rates_tight: Rates


@dataclass(frozen=True)
class SwappingReport(NotebookReport):
    """What swapping loses per record of distance in strata of up to some size.

    ``given`` is at the rate that was asked about, ``usual`` at some others if nothing was asked.
    """

    stratum_size: int
    given: SwapReading | None
    smallest: SwapReading
    wanted: Wanted | None
    usual: tuple[SwapReading, ...]

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        at = [one for one in (self.given, *self.usual) if one is not None]
        rates = [(f"rate {one.rate}", float(one.epsilon)) for one in at]
        return Picture("epsilon, slides' bound", [*rates, ("smallest", float(self.smallest.epsilon))])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        none = dict.fromkeys(("rate", "epsilon", "epsilon_tight"))
        values: dict[str, Any] = {
            "stratum_size": self.stratum_size,
            **(none if self.given is None else _told(self.given)),
            "smallest_epsilon": float(self.smallest.epsilon),
            "smallest_epsilon_tight": float(self.smallest.epsilon_tight),
        }
        if self.wanted is not None:
            values["target"] = float(self.wanted.epsilon)
            values["rates"] = [float(rate) for rate in self.wanted.rates]
            values["rates_tight"] = [float(rate) for rate in self.wanted.rates_tight]
        if self.usual:
            values["usual_rates"] = [_told(one) for one in self.usual]
        return values


def _told(at: SwapReading) -> dict[str, str | float]:
    return {
        "rate": str(at.rate),
        "epsilon": float(at.epsilon),
        "epsilon_tight": float(at.epsilon_tight),
    }


def swapping(
    stratum_size: int, rate: Fraction | None = None, target: Fraction | None = None
) -> SwappingReport:
    """Return what a rate loses in strata of up to some size, and which rates lose no more than a target.

    >>> report = swapping(264331, rate=Fraction(1, 2), target=Fraction(14))
    >>> report.to_dict()["epsilon"], report.to_dict()["rates"][0]
    (12.4849611678, 0.180193239)
    """
    if stratum_size < 2:
        raise GuaranteeError(
            f"a stratum of {stratum_size} is published as it is, whatever the swap rate: give a size of at"
            " least 2."
        )

    def at(rate: Fraction) -> SwapReading:
        return SwapReading(rate, epsilon(stratum_size, rate, "slides"), epsilon(stratum_size, rate, "tight"))

    def within(target: Fraction, bound: EpsilonBound) -> Rates:
        return rates(stratum_size, target, bound)

    return SwappingReport(
        stratum_size=stratum_size,
        given=None if rate is None else at(rate),
        smallest=SwapReading(
            None, least_epsilon(stratum_size, "slides"), least_epsilon(stratum_size, "tight")
        ),
        wanted=None if target is None else Wanted(target, within(target, "slides"), within(target, "tight")),
        usual=tuple(map(at, USUAL_RATES)) if rate is None and target is None else (),
    )
