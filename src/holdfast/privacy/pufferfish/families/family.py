"""What a family of conditional laws is."""

from typing import Any, Protocol

from holdfast.privacy.evidence import Assumed
from holdfast.privacy.pufferfish.delta import DeltaZ
from holdfast.privacy.pufferfish.framework import Framework, Stated

MODELLED = Assumed(
    "given what is public, the data follow a law of the stated class",
    "a choice of the curator, which no data can prove: outside of the class the guarantee says nothing",
)


class Family(Protocol):
    """A class of laws given public facts, with what it is a class for."""

    @property
    def framework(self) -> Framework:
        """Public facts, secrets, pairs and laws, in words and as data."""
        ...

    @property
    def delta(self) -> DeltaZ:
        """How far a secret moves the statistic, at worst over the class."""
        ...

    @property
    def details(self) -> dict[str, Any]:
        """What else is known of it, as plain values: where the worst case is."""
        ...


def said(public: str) -> Stated:
    """Return public facts that are told in words alone."""
    return Stated(public, {"said": public})


def answers(people: int | None = None) -> tuple[Stated, Stated]:
    """Return the secrets and pairs of yes-or-no answers: "person i says 0", "person i says 1"."""
    data = {"values": [0, 1], **({} if people is None else {"people": people})}
    several = "each person" if people is None else f"each of {people:,} people"
    return (
        Stated(f"the answer, 0 or 1, of {several}", data),
        Stated("each person, the answers 0 and 1", {"by": "person", **data}),
    )
