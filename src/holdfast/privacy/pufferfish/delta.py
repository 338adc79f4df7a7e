"""Delta_z: how far the secrets of a pair move the data, given what is public.

    Delta_z = sup over laws in the class, sup over discriminative pairs (s_1, s_2) of
              W_infinity( law given s_1, law given s_2 ),

the smallest r such that the two laws can be coupled with no pair of values further apart than r
[partially-private-data, Theorem 9]. It takes the place that a sensitivity has without public facts.

What a family of conditional laws is.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Assumed, Evidence, evidence_dict
from holdfast.privacy.pufferfish.framework import Framework, Stated
from holdfast.system.errors import GuaranteeError


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
            "evidence": [evidence_dict(one) for one in self.evidence],
        }


@claim("law-of-the-class")
def _modelled() -> tuple[str, str]:
    return (
        "given what is public, the data follow a law of the stated class",
        "a choice of the curator, which no data can prove: outside of the class the guarantee says nothing",
    )


MODELLED = Assumed(_modelled())


class Family(Protocol):
    """A class of laws given public facts, with what it is a class for."""

    @property
    def framework(self) -> Framework:
        """Public facts, secrets, pairs and laws."""
        ...

    @property
    def delta(self) -> DeltaZ:
        """How far a secret moves the statistic, at worst over the class."""
        ...

    @property
    def details(self) -> dict[str, Any]:
        """What else is known of it, as plain values: where the worst case is."""
        ...


def stated_in_words(public: str | None, otherwise: Claim) -> Stated:
    """Return public facts in the words of a model; ``otherwise`` is claimed where it has none."""
    return Stated(otherwise if public is None else public, {"stated_in_words": public})


@claim("public-unsaid")
def unsaid() -> str:
    """Claim public facts that nobody put into words."""
    return "what the curator calls public"


def answers(people: int | None = None) -> tuple[Stated, Stated]:
    """Return the secrets and pairs of yes-or-no answers: "person i says 0", "person i says 1"."""
    data = {"values": [0, 1], **({} if people is None else {"people": people})}
    return Stated(_answers(people), data), Stated(_both_answers(), {"by": "person", **data})


@claim("answers-of-people")
def _answers(people: int | None) -> str:
    return f"the answer, 0 or 1, of {'each person' if people is None else f'each of {people:,} people'}"


@claim("both-answers")
def _both_answers() -> str:
    return "each person, the answers 0 and 1"
