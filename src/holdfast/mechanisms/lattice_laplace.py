"""`lattice-laplace`: integer noise on the lattice of the invariants [integer-subspace-dp, Definition 9].

Notation: L = {u in Z^d : A u = 0}; kappa is the parameter per unit of the norm, q(z) prop. to
exp(-kappa ||z||) on L; S_a is the sensitivity space at distance a.

The noise does not depend on the table, and x - x' lies in L for conforming tables, so the log ratio of
the two laws at any output is kappa (||z + u|| - ||z||) <= kappa ||u|| with u = x - x'
[integer-subspace-dp, Theorem 10]; z = 0 attains it. Hence at semi-adjacency a the loss is exactly kappa
times the largest norm in S_a, and per record of distance it is kappa times the largest ||u|| / (||u||_1 / 2).
The *stretch* is that largest norm; its square is rational.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import GuaranteeError
from holdfast.mechanisms.protocol import Shifted
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Scope, Unit
from holdfast.privacy.intensity import Pure
from holdfast.privacy.profile import NormLoss
from holdfast.privacy.roots import ceil_root, floor_root
from holdfast.privacy.semi import semi_evidence
from holdfast.sampling.lattice_laplace import LatticeLaplaceLaw, Norm
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.sensitivity import Sensitivity
from holdfast.universe.spread import spread
from holdfast.universe.universe import Universe


@dataclass(frozen=True, eq=False)
class LatticeLaplace:
    """The generalized discrete Laplace mechanism on one universe."""

    universe: Universe
    scope: Scope
    adjacency: SemiAdjacency
    sensitivity: Sensitivity
    per: Literal["semi", "unit"]
    norm: Norm
    kappa: Fraction

    name = "lattice-laplace"

    @classmethod
    def calibrate(
        cls,
        universe: Universe,
        scope: Scope,
        adjacency: SemiAdjacency,
        sensitivity: Sensitivity,
        *,
        per: Literal["semi", "unit"],
        norm: Norm,
        intensity: Pure,
    ) -> "LatticeLaplace":
        """Return the mechanism with the least noise whose guarantee meets the intensity."""
        square = _squared_stretch(universe, sensitivity, per, norm)
        kappa = floor_root(intensity.epsilon**2 / square)
        if ceil_root(kappa**2 * square) > intensity.epsilon:  # an irrational root: round once more
            kappa *= 1 - Fraction(1, 10**10)
        return cls(universe, scope, adjacency, sensitivity, per, norm, kappa)

    @cached_property
    def epsilon(self) -> Fraction:
        """Kappa times the stretch, rounded up where that is irrational."""
        return ceil_root(self.kappa**2 * self._squared_stretch)

    @property
    def guarantee(self) -> Guarantee:
        """The loss is kappa times the stretch [integer-subspace-dp, Theorem 10]."""
        profile = NormLoss(self.kappa, self.norm)
        unit = Unit("record", self.per, self.adjacency.worst_case if self.per == "semi" else 1)
        return Guarantee(self.scope, unit, Pure(self.epsilon), tuple(self._evidence()), profile)

    @cached_property
    def noise(self) -> LatticeLaplaceLaw:
        """The law of the noise, which every table shares."""
        return LatticeLaplaceLaw(self.universe.matrix, self.kappa, self.norm)

    def law(self, counts: NDArray[np.int64]) -> Shifted:
        """Return the law of the release of a table."""
        return Shifted(counts, self.noise)

    @cached_property
    def _squared_stretch(self) -> Fraction:
        return _squared_stretch(self.universe, self.sensitivity, self.per, self.norm)

    def _evidence(self) -> list[Evidence]:
        proofs: list[Evidence] = [
            Proved(
                f"noise with probability proportional to exp(-{self.kappa} ||z||) on the lattice of the"
                f" invariants, in the {self.norm} norm, loses at most {self.kappa} for each unit of the"
                " norm between two tables",
                "integer-subspace-dp, Theorem 10; theory, 4",
            )
        ]
        if self.per == "semi":
            proofs.extend(semi_evidence(self.adjacency, self.sensitivity, frozenset({self.norm})))
        else:
            proofs.append(
                Proved(
                    f"one record of distance is at most the root of {self._squared_stretch} in {self.norm}",
                    "theory, 1",
                )
            )
        proofs.append(
            Proved("the noise is drawn exactly, in integers", "holdfast, sampling/exact; canonne2020")
        )
        if self.norm == "l2" or any(block.rows.size > 1 for block in self.universe.components):
            proofs.append(
                Assumed(
                    "the exponential and gamma functions of this computer are right to one part in 2^48",
                    "floats tell which draws are clear; enclosures decide all the others",
                )
            )
        return proofs


def _squared_stretch(
    universe: Universe, sensitivity: Sensitivity, per: Literal["semi", "unit"], norm: Norm
) -> Fraction:
    """Return the square of the largest norm that the guarantee has to cover."""
    if per == "unit":
        # ||u||_1 = 2 d(x, x') [theory, 1]; for l2 the largest ratio over the lattice.
        return Fraction(4) if norm == "l1" else spread(universe)
    if sensitivity.l1 == 0:
        raise GuaranteeError(
            "the invariants leave one possible table, so nothing is left to protect and any guarantee"
            " would be vacuous: drop or coarsen an invariant, or publish the table as it is."
        )
    return Fraction(sensitivity.l1) ** 2 if norm == "l1" else Fraction(sensitivity.l2_squared)
