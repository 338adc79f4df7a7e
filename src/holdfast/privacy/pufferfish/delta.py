"""Delta_z: how far the secrets of a pair move the data, given what is public.

    Delta_z = sup over laws in the class, sup over discriminative pairs (s_1, s_2) of
              W_infinity( law given s_1, law given s_2 ),

the smallest r such that the two laws can be coupled with no pair of values further apart than r
[partially-private-data, Theorem 9]. It takes the place that a sensitivity has without public facts.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from holdfast.errors import GuaranteeError
from holdfast.privacy.evidence import Evidence, told


@dataclass(frozen=True)
class DeltaZ:
    """A distance between conditional laws, rational, in units of the statistic's metric.

    ``value`` is None where the supremum is infinite; where it is not ``exact`` it is an upper bound.
    ``evidence`` says why.
    """

    value: Fraction | None
    exact: bool
    evidence: tuple[Evidence, ...]

    def __post_init__(self) -> None:
        if self.value is not None and self.value < 0:
            raise GuaranteeError("a distance between laws is not negative: correct Delta_z.")

    @property
    def infinite(self) -> bool:
        """Whether no finite distance is enough: the class allows too much dependence."""
        return self.value is None

    @property
    def finite(self) -> Fraction:
        """The value; raises GuaranteeError where it is infinite."""
        if self.value is None:
            raise GuaranteeError(
                "Delta_z is infinite, so no noise meets epsilon-TP for this class of laws: allow less"
                " dependence between the records and the public facts."
            )
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; a fraction is text."""
        return {
            "value": "infinite" if self.value is None else str(self.value),
            "exact": self.exact,
            "evidence": [told(one) for one in self.evidence],
        }
