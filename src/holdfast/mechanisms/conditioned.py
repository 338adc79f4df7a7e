"""`conditioned`: noise in every cell, given what the release must satisfy [congenial-dp, Theorem 2.1].

The base law adds independent noise z_i to every count. The release y = x + z has that law conditioned on
A y = A x, and where asked for on y >= 0 and on further inequalities B y >= b.

* Equalities alone. Double geometric noise given A z = 0 is the l1 Laplace law on the lattice of the
  invariants, discrete Gaussian noise is the Gaussian law there: neither depends on x, and the guarantees are
  those of `lattice-laplace` and `lattice-gaussian` [theory, 4].
* Inequalities. The law and its normaliser depend on x, and the loss grows by a factor 1 + gamma, which is
  computed or bounded over all pairs of tables that the guarantee speaks of (congeniality.py). Inequalities
  restrict the release alone: the tables that are compared are all that share the invariants, whether or not
  they keep B.
* The truncated Gaussian is refused. With Lambda the log normaliser, extended to real tables, its divergence
  of order alpha is

      (Lambda(alpha x + (1 - alpha) x') - alpha Lambda(x) - (1 - alpha) Lambda(x')) / (alpha - 1).

  It is at most alpha ||x - x'||^2 / (2 sigma^2) if around no real table the law has a larger variance in the
  direction x - x' than without truncation, sigma^2. Real noise on a convex set has this property; integer
  noise around a half has a variance of at least 1/4, however small sigma is. No theorem covers it.

Every draw is exact, unless a chain is asked for by name (``by_chain``; see walk.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import GuaranteeError, SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.congeniality import DIGITS, Conditioning, Congeniality, Inequalities
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.premises import Premises
from holdfast.mechanisms.protocol import NoiseLaw, Shifted, drawn_exactly
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import Approximate, Pure, ZeroConcentrated
from holdfast.privacy.profile import NormLoss
from holdfast.sampling.law import Law

if TYPE_CHECKING:
    from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
    from holdfast.mechanisms.walk import Walk

Base = Literal["double-geometric", "discrete-gaussian"]
STEPS = 1 << 12
"""Parameters that a calibration chooses from, between half of what equalities alone allow and all of it."""


@dataclass(frozen=True, eq=False)
class Conditioned:
    """A product law conditioned on invariants and inequalities.

    ``parameter`` is epsilon a unit for double geometric noise, sigma^2 for discrete Gaussian noise.
    """

    premises: Premises
    base: Base
    parameter: Fraction
    nonnegative: bool
    inequalities: Inequalities | None = None
    walk: "Walk | None" = None

    name = "conditioned"

    def __post_init__(self) -> None:
        if self.parameter <= 0:
            raise GuaranteeError("the noise parameter must be positive: give a fraction above 0.")
        if self.base == "discrete-gaussian" and self.truncated:
            raise GuaranteeError(
                "no theorem is known for discrete Gaussian noise under inequalities: use the base"
                " 'double-geometric', or allow negative counts."
            )
        cells = self.premises.universe.cells
        if self.inequalities is not None and self.inequalities.rows.shape[1] != cells:
            raise GuaranteeError(
                f"the inequalities speak of {self.inequalities.rows.shape[1]} cells and the table has"
                f" {cells}: give one coefficient for each possible cell."
            )

    @classmethod
    def calibrate(
        cls,
        premises: Premises,
        *,
        intensity: Pure | ZeroConcentrated | Approximate,
        base: Base,
        nonnegative: bool,
        inequalities: Inequalities | None = None,
    ) -> "Conditioned":
        """Return the mechanism with the least noise that is known to meet the intensity."""
        if base == "discrete-gaussian" and not isinstance(intensity, Pure):
            from holdfast.mechanisms.lattice_gaussian import LatticeGaussian  # noqa: PLC0415 - loaded late

            sigma_squared = LatticeGaussian.calibrate(premises, intensity=intensity).sigma_squared
            return cls(premises, base, sigma_squared, nonnegative, inequalities)
        if base == "double-geometric" and isinstance(intensity, Pure):
            conditioning = _conditioning(premises, nonnegative, inequalities)
            return cls(premises, base, _epsilon(conditioning, intensity), nonnegative, inequalities)
        raise GuaranteeError(
            f"a {intensity.standard} target is not met by {base} noise: use 'double-geometric' for a pure"
            " target, 'discrete-gaussian' for the others."
        )

    @property
    def truncated(self) -> bool:
        """Whether the law depends on the table."""
        return self.nonnegative or self.inequalities is not None

    @cached_property
    def congeniality(self) -> Congeniality:
        """What the inequalities cost double geometric noise, over all pairs that the guarantee speaks of."""
        return self._conditioning.at(self.parameter)

    @property
    def guarantee(self) -> Guarantee:
        """The loss is (1 + gamma) times that of the base [congenial-dp, Theorem 2.1]."""
        if self.base == "discrete-gaussian":
            return self._gaussian.guarantee
        premises, exact, evidence = self.premises, Pure(self.congeniality.loss), tuple(self._evidence())
        if self.walk is not None:
            return Guarantee(premises.scope, premises.unit, self.walk.weakened(exact), evidence)
        per_unit = self._conditioning.per_unit(self.parameter)
        profile = NormLoss(per_unit if per_unit == self.parameter else _up(per_unit), "l1")
        return Guarantee(premises.scope, premises.unit, exact, evidence, profile)

    @property
    def parameters(self) -> Mapping[str, str]:
        """What the law is made of, as text."""
        name = "epsilon_per_unit" if self.base == "double-geometric" else "sigma_squared"
        found = {"base": self.base, name: str(self.parameter), "nonnegative": str(self.nonnegative).lower()}
        if self.inequalities is not None:
            rows, least = self.inequalities.rows.tolist(), self.inequalities.least.tolist()
            found["inequalities"] = f"{rows} y >= {least}"
        if self.walk is not None:
            found["chain"] = self.walk.described
        return found

    @cached_property
    def noise(self) -> NoiseLaw | None:
        """The law of the noise where every table shares it, which is without inequalities."""
        if self.truncated:
            return None
        return self._gaussian.noise if self.base == "discrete-gaussian" else self._laplace.noise

    @property
    def methods(self) -> tuple[str, ...]:
        """How a release is drawn, in sentences that depend on public values only."""
        if self.noise is not None:
            return self.noise.methods
        cells = f"{self.premises.universe.cells:,} cells within bounds"
        if self.walk is not None:
            return (f"{cells}, by {self.walk.length.iterations:,} steps of a Markov chain",)
        return (f"{cells}, by dynamic programming or rejection",)

    def law(self, counts: NDArray[np.int64]) -> Law:
        """Return the law of the release of a table."""
        if self.walk is not None:
            return self.walk.law(counts)
        if self.noise is not None:
            return Shifted(counts, self.noise)
        from holdfast.sampling.truncated import Kept, TruncatedLaw  # noqa: PLC0415 - loaded late

        noise: Law = self._laplace.noise
        if self.nonnegative:
            noise = TruncatedLaw(self.premises.universe.matrix, low=-counts, epsilon=self.parameter)
        if self.inequalities is not None:
            rows = self.inequalities.rows
            noise = Kept(noise, rows, self.inequalities.least - rows @ counts)
        return Shifted(counts, noise)

    def by_chain(self, moves: IntArray, stand_ins: Sequence[IntArray], **plan: Any) -> "Conditioned":
        """Return the mechanism that draws by a Markov chain, for where no exact draw exists.

        ``moves`` is a Markov basis of the invariants, ``stand_ins`` are *public* tables with the same
        invariants, and ``plan`` goes on to `Walk.planned`: the ``distance`` to reach and an ``entropy`` at
        least. The guarantee is approximate then, and it rests on an estimate and on assumptions.
        """
        if self.base != "double-geometric" or not self.nonnegative or self.inequalities is not None:
            raise GuaranteeError(
                "a chain is offered for double geometric noise that keeps counts non-negative, and for no"
                " other condition: draw exactly instead."
            )
        from holdfast.mechanisms.walk import Walk  # noqa: PLC0415 - loaded late

        walk = Walk.planned(self.premises.universe, self.parameter, moves, stand_ins, **plan)
        return replace(self, walk=walk)

    @property
    def _conditioning(self) -> Conditioning:
        return _conditioning(self.premises, self.nonnegative, self.inequalities)

    @cached_property
    def _laplace(self) -> LatticeLaplace:
        """The same law without inequalities."""
        return LatticeLaplace(self.premises, "l1", self.parameter)

    @cached_property
    def _gaussian(self) -> "LatticeGaussian":
        from holdfast.mechanisms.lattice_gaussian import LatticeGaussian  # noqa: PLC0415 - loaded late

        return LatticeGaussian(self.premises, self.parameter)

    @property
    def _floats(self) -> bool:
        """Whether floats may sort out clear cases: dynamic programming has none, rejection may be chosen."""
        try:
            return self._laplace.noise.floats
        except SamplingError:  # dynamic programming alone can draw it
            return False

    def _evidence(self) -> list[Evidence]:
        found: list[Evidence] = [
            Proved(
                f"double geometric noise of parameter {self.parameter}, conditioned on the invariants, loses"
                f" at most {self.parameter} for each unit of the l1 norm between two tables",
                "congenial-dp, Theorem 2.1; theory, 4",
            )
        ]
        if self.truncated:
            cost = self.congeniality
            multiplies = "multiplies" if cost.exact else "multiplies at most"
            found.append(
                Proved(
                    f"keeping the release within its inequalities {multiplies} that by 1 + gamma, gamma ="
                    f" {float(_up(cost.gamma)):.6g}: {cost.how}",
                    "congenial-dp, Theorem 2.1; holdfast, mechanisms/normaliser.py",
                )
            )
        found += self.premises.evidence("l1")
        if self.walk is not None:
            return [*found, *self.walk.evidence]
        found += drawn_exactly(floats=self._floats)
        if self.truncated:
            found.append(
                Assumed(
                    "how long a draw took is known to nobody outside",
                    "the time depends on the table where its release is kept within inequalities",
                )
            )
        return found


@lru_cache(maxsize=4)
def _conditioning(premises: Premises, nonnegative: bool, inequalities: Inequalities | None) -> Conditioning:
    """Look at a universe once, for the calibration and the guarantee."""
    return Conditioning.of(premises, nonnegative=nonnegative, inequalities=inequalities)


def _epsilon(conditioning: Conditioning, target: Pure) -> Fraction:
    """Return a parameter a unit whose loss was checked to meet the target, close to the largest such one.

    Half of what equalities alone allow always meets it [congenial-dp, Theorem 2.1].
    """
    most = LatticeLaplace.calibrate(conditioning.premises, norm="l1", intensity=target).kappa

    def parameter(step: int) -> Fraction:
        return most * Fraction(STEPS + step, 2 * STEPS)

    def meets(step: int) -> bool:
        return conditioning.at(parameter(step)).loss <= target.epsilon

    low, high = (STEPS, STEPS) if meets(STEPS) else (0, STEPS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return parameter(low)


def _up(value: Fraction) -> Fraction:
    return Fraction(ceil(value * DIGITS), DIGITS)
