"""One count, whose laws given each answer of a person are listed [partially-private-data, Example 4]."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from holdfast.errors import GuaranteeError
from holdfast.privacy.evidence import Proved
from holdfast.privacy.pufferfish.delta import DeltaZ
from holdfast.privacy.pufferfish.families.family import MODELLED, answers, said
from holdfast.privacy.pufferfish.framework import COUNT, Framework, LawClass
from holdfast.privacy.wasserstein import DiscreteLaw, largest_quantile_gap
from holdfast.words import counted

Masses = Sequence[Fraction]


@dataclass(frozen=True)
class ListedCounts:
    """Pairs of laws of a count given the answers 0 and 1, each as the masses of 0, 1, 2, ..."""

    laws: tuple[tuple[Masses, Masses], ...]
    public: str = "what the curator calls public"

    def __post_init__(self) -> None:
        if not self.laws:
            raise GuaranteeError("no law of the count is listed: give its masses given each answer.")
        self.gaps  # noqa: B018  raises where a law is none

    @property
    def framework(self) -> Framework:
        """The listed laws, and no other."""
        secrets, pairs = answers()
        listed = [[[str(mass) for mass in masses] for masses in pair] for pair in self.laws]
        words = f"{counted(len(self.laws), 'listed pair')} of laws of the count given the answers 0 and 1"
        return Framework(
            said(self.public), secrets, pairs, LawClass(words, {"counts": listed}, "listed"), COUNT
        )

    @property
    def delta(self) -> DeltaZ:
        """The largest gap between quantiles [partially-private-data, Equation 35; theory, 7]."""
        claim = f"the quantiles of the count given 0 and given 1 are at most {max(self.gaps)} apart"
        return DeltaZ(max(self.gaps), exact=True, evidence=(Proved(claim, "theory, 7"), MODELLED))

    @cached_property
    def gaps(self) -> tuple[Fraction, ...]:
        """The gap of each listed pair."""
        return tuple(
            largest_quantile_gap(
                *(_law(masses, f"law {place}, given {answer},") for answer, masses in enumerate(pair))
            )
            for place, pair in enumerate(self.laws, 1)
        )

    @property
    def details(self) -> dict[str, Any]:
        """Which pair is the worst."""
        return {"worst": self.gaps.index(max(self.gaps)) + 1, "gaps": [str(gap) for gap in self.gaps]}


def _law(masses: Masses, name: str) -> DiscreteLaw[Fraction]:
    return DiscreteLaw.of((Fraction(value) for value in range(len(masses))), masses, name)
