"""Several releases under invariants, in both orders of the analysis [semi-dp, Proposition 21]."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from holdfast.privacy.composition import Orders, both_orders
from holdfast.privacy.intensity import Intensity
from holdfast.privacy.tradeoff import Tradeoff
from holdfast.system.errors import SpecError
from holdfast.system.ways import option


@dataclass(frozen=True)
class ComposeReport:
    """What releases cost together: weakened first and then composed, and the other way round."""

    releases: int
    semi_adjacency: int
    delta: float
    orders: Orders
    semi_first: float
    composition_first: float

    @property
    def used(self) -> float:
        """The smaller epsilon: both hold."""
        return min(self.semi_first, self.composition_first)

    @property
    def difference(self) -> float:
        """What weakening first saves."""
        return self.composition_first - self.semi_first

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        orders = self.orders
        return {
            "releases": self.releases,
            "semi_adjacency": self.semi_adjacency,
            "delta": self.delta,
            "semi_first": {"epsilon": self.semi_first, "certainty": _certainty(orders.semi_first)},
            "composition_first": {
                "epsilon": self.composition_first,
                "certainty": _certainty(orders.composition_first),
            },
            "used": self.used,
            "difference": self.difference,
        }


def compose(intensities: Sequence[Intensity], semi_adjacency: int, delta: Fraction | float) -> ComposeReport:
    """Compose releases that are guaranteed per record, under invariants of a semi-adjacency."""
    if not intensities:
        raise SpecError("no release is given: name each by its epsilon, rho or mu.")
    at = float(delta)
    if at >= 1:
        raise SpecError(f"{option('delta')} is {delta}: give a small probability, such as 1e-10.")
    orders = both_orders(intensities, semi_adjacency)
    try:
        semi_first, composition_first = orders.epsilons(at)
    except (ArithmeticError, RuntimeError, ValueError):  # no root within reach of floats
        raise SpecError(
            "the epsilon of these releases together is out of reach: give less extreme numbers."
        ) from None
    return ComposeReport(len(intensities), semi_adjacency, at, orders, semi_first, composition_first)


def _certainty(f: Tradeoff) -> str:
    """Return the side of the truth of an epsilon read from f: a lower bound on f gives an upper one."""
    return {"lower": "upper", "upper": "lower", "exact": "exact"}[f.certainty]
