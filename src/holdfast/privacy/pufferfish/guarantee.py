"""epsilon-TP: what a release that uses public facts promises [partially-private-data, Definition 3].

For every law theta in the class, every discriminative pair (s_1, s_2) that counts under it and every set B
of releases,

    P(Y in B | s_1, theta) <= exp(epsilon) P(Y in B | s_2, theta).

A mechanism that reads the data through a statistic T and loses at most epsilon between *any two values of T
at most Delta_z apart* promises more than that: ``pointwise``. By a coupling of the two conditional laws of
T it is epsilon-TP [theory, 7], and of the two only the pointwise promise composes.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from holdfast.errors import GuaranteeError
from holdfast.privacy.evidence import Evidence, told
from holdfast.privacy.guarantee import shown, times
from holdfast.privacy.intensity import Pure
from holdfast.privacy.pufferfish.delta import DeltaZ
from holdfast.privacy.pufferfish.framework import Framework


@dataclass(frozen=True)
class TPGuarantee:
    """What was proved of a mechanism relative to a framework.

    ``delta`` is the Delta_z that its noise was scaled to, None where it was not needed; ``pointwise`` says
    that the loss is bounded between any two values of the framework's statistic that far apart.
    """

    framework: Framework
    intensity: Pure
    evidence: tuple[Evidence, ...]
    delta: DeltaZ | None = None
    pointwise: bool = False

    standard: ClassVar[Literal["tp"]] = "tp"

    def __post_init__(self) -> None:
        if self.intensity.epsilon < 0:
            raise GuaranteeError("epsilon is not negative: correct the guarantee.")
        if self.pointwise and self.delta is None:
            raise GuaranteeError("a pointwise guarantee holds up to some Delta_z: state it.")
        if self.delta is not None:
            self.delta.finite  # noqa: B018  raises where no guarantee is to be had

    @property
    def domain(self) -> str:
        """The kind of data that it is about."""
        return f"data of {self.framework.whom.many} that agree with what is public"

    @property
    def statement(self) -> str:
        """The guarantee in one sentence."""
        epsilon = self.intensity.epsilon
        return (
            f"Given what is public ({self.framework.public.words}), for {self.framework.pairs.words}, and"
            f" whichever law the data follow among {self.framework.laws.words}, no release is more than"
            f" exp({shown(epsilon)}) = {times(epsilon)} times as likely under one secret as under the other."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name: what a certificate states."""
        return {
            "statement": self.statement,
            "domain": self.domain,
            "standard": self.standard,
            "intensity": {name: str(value) for name, value in self.intensity.parameters().items()},
            "framework": self.framework.to_dict(),
            "delta_z": None if self.delta is None else self.delta.to_dict(),
            "pointwise": self.pointwise,
            "evidence": [told(one) for one in self.evidence],
        }
