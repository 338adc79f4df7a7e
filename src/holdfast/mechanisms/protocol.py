"""What every mechanism offers, and the additive law most of them share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.mechanisms.premises import Premises
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Guarantee
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.law import Law


class NoiseLaw(Law, Protocol):
    """A law of noise that can tell beforehand how it is drawn and what that takes."""

    @property
    def methods(self) -> tuple[str, ...]:
        """What is done, in sentences."""
        ...

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases."""
        ...

    @property
    def work(self) -> float:
        """Integers proposed for one draw, expected."""
        ...


class Mechanism(Protocol):
    """A way of releasing a table of a universe."""

    @property
    def name(self) -> str:
        """What a spec calls it."""
        ...

    @property
    def premises(self) -> Premises:
        """What it rests on."""
        ...

    @property
    def parameters(self) -> Mapping[str, str]:
        """What its law is made of, as text: with the premises they determine it."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of every release."""
        ...

    @property
    def noise(self) -> NoiseLaw | None:
        """The law of the noise, where every table shares it; None where it depends on the table."""
        ...

    @property
    def methods(self) -> tuple[str, ...]:
        """How a release is drawn, in sentences that depend on public values only."""
        ...

    def law(self, counts: NDArray[np.int64]) -> Law:
        """Return the law of the release of a table."""
        ...


def drawn_exactly(*, floats: bool) -> list[Evidence]:
    """Return the evidence for exact draws; ``floats`` says that they sort out the clear cases."""
    proof = Proved("the noise is drawn exactly, in integers", "holdfast, sampling/exact; canonne2020")
    if not floats:
        return [proof]
    return [
        proof,
        Assumed(
            "the mathematical functions of this computer are right to one part in 2^48",
            "floats tell which draws are clear; enclosures decide all the others",
        ),
    ]


@dataclass(frozen=True, eq=False)
class Shifted:
    """The law of counts + z for noise z that does not depend on the counts."""

    counts: NDArray[np.int64]
    noise: Law

    def sample(self, entropy: Entropy, size: int) -> NDArray[np.int64]:
        """Return ``size`` independent releases, one a row."""
        return self.counts + self.noise.sample(entropy, size)

    def log_prob(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log probability of each release, up to one constant."""
        return self.noise.log_prob(points - self.counts)


class Additive(ABC):
    """A mechanism whose noise every table shares."""

    @property
    @abstractmethod
    def noise(self) -> NoiseLaw:
        """The law of the noise."""

    @property
    def methods(self) -> tuple[str, ...]:
        """How the noise is drawn, in sentences."""
        return self.noise.methods

    def law(self, counts: NDArray[np.int64]) -> Shifted:
        """Return the law of the release of a table."""
        return Shifted(counts, self.noise)
