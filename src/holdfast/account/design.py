"""The design of a release: all that decides how it composes, up to how strong it is.

Releases of one design differ at most by a scale s: kappa of a norm, 1 / sigma^2, or the intensity itself. On
any joint scope what each loses is s, or s^2 in the standard of the ledger, times one number that they share
[theory, 10]. So ten thousand of them compose like one with a weight, and a ledger need not keep them apart.
"""

from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any

from holdfast.privacy.ledger.canonical import plain_text
from holdfast.privacy.ledger.entry import Charge, Standard

POWERS: dict[tuple[Standard, Standard], int] = {
    ("pure", "pure"): 1,
    ("pure", "zcdp"): 2,  # epsilon^2 / 2
    ("zcdp", "zcdp"): 1,
    ("gaussian", "gaussian"): 2,  # squares of mu are what adds up
    ("gaussian", "zcdp"): 2,  # mu^2 / 2
}
"""The power of the scale with which a release enters a sum, by its standard and that of the ledger."""


@dataclass(frozen=True)
class Design:
    """A digest that releases of one design share, and how strong this one is."""

    digest: str
    scale: Fraction
    power: int

    @classmethod
    def of(cls, charge: Charge, standard: Standard) -> "Design":
        """Return the design of a charge to a ledger of some standard."""
        shape, scale, power = _shape(charge, standard)
        detail = charge.detail
        said = {
            "dataset": charge.dataset,
            "standard": charge.standard,
            "unit": charge.unit,
            "shape": shape,
            **{name: detail.get(name) for name in ("version", "schema", "invariants", "header", "marks")},
        }
        return cls(sha256(plain_text(said).encode()).hexdigest(), scale, power)

    def weight(self, scale: Fraction) -> Fraction:
        """Return how many releases of the same design at some scale this one counts for."""
        return (self.scale / scale) ** self.power


def _shape(charge: Charge, standard: Standard) -> tuple[Any, Fraction, int]:
    """Return what is left of the loss without its scale, the scale, and its power.

    A loss that is rounded, as in l2, has no scale: there only equal releases are of one design.
    """
    loss = charge.detail.get("loss")
    power, scale = POWERS.get((charge.standard, standard), 0), Fraction(0)
    kind: Any = None
    match charge.standard, loss:
        case _, None:
            scale = charge.intensity
        case "pure", {"kind": "norm", "norm": "l1", "kappa": kappa}:
            kind, scale = ["norm", "l1"], Fraction(kappa)
        case "zcdp", {"kind": "squared", "sigma_squared": square}:
            kind, scale = ["squared"], 1 / Fraction(square)
        case own, {"kind": "record", "standard": stated, **numbers} if stated == own and len(numbers) == 1:
            kind, scale = ["record"], Fraction(str(*numbers.values()))
    if power == 0 or scale <= 0:
        return [loss, str(charge.intensity)], Fraction(1), 1
    return [kind, str(charge.intensity / scale)], scale, power
