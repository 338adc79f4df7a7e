"""Drawing a truncated release by a Markov chain: what is fixed beforehand, and what it does to a guarantee.

Two-way tables with both margins are drawn by pairs of rows (sampling/mcmc/row_pairs.py), whose chains meet
soon; other designs by a walk along the moves of a Markov basis, slowly.

A release by a chain has a law at some total variation distance eta from the one it stands for. A pure loss
epsilon then becomes (epsilon, (1 + e^epsilon) eta): with P', Q' the laws of the chains,

    P'(S) <= P(S) + eta <= e^epsilon Q(S) + eta <= e^epsilon (Q'(S) + eta) + eta.

As eta is estimated, and at public stand-ins for the confidential table, such a guarantee is not proved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray
from holdfast.privacy.evidence import Assumed, Estimated, Evidence, Proved
from holdfast.privacy.intensity import Approximate, Pure
from holdfast.sampling.chain_law import Chain, ChainLaw, ChainLength, chain_length
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.mcmc.markov_walk import MarkovWalk
from holdfast.sampling.mcmc.row_pairs import RowPairs, two_way_cells
from holdfast.sampling.mcmc.target import LaplaceTarget, non_negative
from holdfast.universe.universe import Universe


@dataclass(frozen=True, eq=False)
class Walk:
    """Chains over non-negative tables.

    Attributes:
        epsilon: the parameter of the truncated law, per unit of l1.
        moves: a Markov basis, one move a row.
        table: the cell in each row and column of a two-way table with both margins; None for other designs.
        updates: how many moves are tried in one step, or pairs of rows drawn.
        length: how many steps are made, and how far that is from the law at public stand-ins.

    """

    epsilon: Fraction
    moves: IntArray
    table: IntArray | None
    updates: int
    length: ChainLength

    @classmethod
    def planned(
        cls,
        universe: Universe,
        epsilon: Fraction,
        moves: IntArray,
        stand_ins: Sequence[IntArray],
        *,
        distance: float,
        entropy: Entropy,
        lag: int | None = None,
        runs: int | None = None,
        max_iterations: int = 10_000,
        confidence: float = 0.99,
    ) -> "Walk":
        """Fix the length of chains at public tables with the same invariants."""
        for number, centre in enumerate(stand_ins):
            if (universe.matrix @ centre != universe.values).any() or (centre < 0).any():
                raise GuaranteeError(
                    f"stand-in {number} is no table of counts with the published invariants: give one that"
                    " is."
                )
        if not moves.any() or (universe.matrix @ moves.T).any():
            raise GuaranteeError("a move does not keep the invariants: give a Markov basis of them.")
        table = two_way_cells(universe.matrix)
        updates = universe.dimension if table is None else table.shape[0] // 2
        length = chain_length(
            [_kernel(epsilon, centre, moves, table, updates) for centre in stand_ins],
            distance=distance,
            lag=lag,
            runs=runs,
            max_iterations=max_iterations,
            entropy=entropy,
            confidence=confidence,
        )
        return cls(epsilon, moves, table, updates, length)

    def law(self, counts: IntArray) -> ChainLaw:
        """Return the law of a release: that of a chain that starts at the table."""
        kernel = _kernel(self.epsilon, counts, self.moves, self.table, self.updates)
        return ChainLaw(kernel, self.length.iterations)

    def weakened(self, exact: Pure) -> Approximate:
        """Return what is left of the guarantee of exact draws."""
        # eta (1 + e^epsilon) is also what two steps of (epsilon, eta) add up to, rounded up there
        eta = min(Fraction(self.length.distance), Fraction(1))
        return Approximate(exact.epsilon, Approximate(exact.epsilon, eta).group(2).delta)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What the distance rests on."""
        length = self.length
        tables = "1 public table" if length.stand_ins == 1 else f"{length.stand_ins} public tables"
        return (
            Estimated(
                f"after {length.iterations} steps chains that start at {tables} are at most"
                f" {length.distance:.3g} from their laws in total variation",
                f"{length.method}; {length.runs} pairs of chains at each, with a lag of {length.lag} at most",
                f"{length.confidence:.6g}",
            ),
            Assumed(
                "a chain that starts at the confidential table is no farther from its law than those that"
                " start at the public tables",
                "measuring it at the confidential table would reveal something of it",
            ),
            *self._steps,
        )

    @property
    def described(self) -> str:
        """How long a chain is, in words."""
        of = "moves" if self.table is None else "pairs of rows"
        return f"{self.length.iterations:,} steps of {self.updates} {of}"

    @property
    def _steps(self) -> tuple[Evidence, ...]:
        if self.table is None:
            return (
                Assumed(
                    "the chain can reach every release, and its steps are decided rightly",
                    "the moves are taken to be a Markov basis, and steps are decided in floating point",
                ),
            )
        return (
            Proved(
                "the chain can reach every release and leaves its law as it is; its steps are exact",
                "diaconis1998, Section 2; holdfast, sampling/mcmc/row_pairs.py",
            ),
            Assumed(
                "how long a draw took is known to nobody outside",
                "the time of a step depends on the table that a chain is at",
            ),
        )


def _kernel(
    epsilon: Fraction, centre: IntArray, moves: IntArray, table: IntArray | None, updates: int
) -> Chain:
    target = LaplaceTarget(epsilon, centre, "l1", non_negative)
    if table is not None:
        return RowPairs(table, target)
    return MarkovWalk(moves, target, epsilon * int(np.abs(moves).sum(axis=1).min()), updates)
