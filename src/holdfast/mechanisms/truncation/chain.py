"""Drawing a truncated release by a Markov chain: what is fixed beforehand, and what it does to a guarantee.

Two-way tables with both margins are drawn by pairs of rows (sampling/chains/row_pairs.py), whose chains meet
soon; other designs by a walk along the moves of a Markov basis, slowly.

A release by a chain has a law at some total variation distance eta from the one it stands for. A pure loss
epsilon then becomes (epsilon, (1 + e^epsilon) eta): with P', Q' the laws of the chains,

    P'(S) <= P(S) + eta <= e^epsilon Q(S) + eta <= e^epsilon (Q'(S) + eta) + eta.

As eta is estimated, and at public stand-ins for the confidential table, such a guarantee is not proved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.markov import markov_basis, markov_basis_two_way
from holdfast.mechanisms.mechanism import unseen_time
from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Assumed, Estimated, Evidence, Proved
from holdfast.privacy.intensity import Approximate, Pure
from holdfast.public import Public
from holdfast.sampling.chains.coupling import METHOD, ChainLength, chain_length
from holdfast.sampling.chains.kernel import (
    ChainLaw,
    ChainTarget,
    Kernel,
    LaplaceTarget,
    MarkovWalk,
    non_negative,
)
from holdfast.sampling.chains.row_pairs import RowPairs, two_way_cells
from holdfast.sampling.entropy import Entropy
from holdfast.system.errors import GuaranteeError
from holdfast.universe.universe import Universe

MEASURED = ("distance", "confidence", "stand_ins", "runs", "lag")
"""What a record says of the length of a chain beside its steps."""


class TargetAround(Protocol):
    """Laws that chains converge to, one around each table."""

    def around(self, centre: IntArray) -> ChainTarget:
        """Return the law around a table."""
        ...

    def jump(self, moves: IntArray) -> Fraction:
        """Return a rate for how far chains go along a move at once."""
        ...


class ChainRecord(BaseModel):
    """What a certificate says of a chain: its length, and how far from its law that leaves it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: int
    updates: int
    pairs_of_rows: bool
    """Whether a step draws pairs of rows of a two-way table, or tries moves."""
    moves_given: bool
    """Whether the curator gave the moves; else they follow from the invariants."""
    distance: float
    confidence: float
    stand_ins: int
    runs: int
    lag: int

    def __str__(self) -> str:
        of = ("pair of rows", "pairs of rows") if self.pairs_of_rows else ("move", "moves")
        return f"{self.steps:,} steps of {self.updates:,} {of[self.updates != 1]}"


@dataclass(frozen=True, eq=False)
class ChainDraw:
    """Chains over non-negative tables.

    Attributes:
        kappa: the parameter of the truncated law, per unit of l1.
        moves: a Markov basis, one move a row; None where a certificate does not have those that were given.
        derived: whether the moves follow from the invariants.
        table: the cell in each row and column of a two-way table with both margins; None for other designs.
        updates: how many moves are tried in one step, or pairs of rows drawn.
        length: how many steps are made, and how far that is from the law at public stand-ins.

    """

    kappa: Fraction
    moves: IntArray | None
    derived: bool
    table: IntArray | None
    updates: int
    length: ChainLength
    target: TargetAround | None = None
    """The law around a table, where it is not the l1 law on non-negative tables."""

    @classmethod
    def planned(
        cls,
        universe: Universe,
        kappa: Fraction,
        moves: IntArray,
        stand_ins: Sequence[IntArray],
        *,
        derived: bool,
        distance: float,
        entropy: Entropy,
        lag: int | None = None,
        runs: int | None = None,
        max_iterations: int = 10_000,
        confidence: float = 0.99,
        target: TargetAround | None = None,
    ) -> "ChainDraw":
        """Fix the length of chains at public tables with the same invariants."""
        for number, centre in enumerate(stand_ins):
            if (universe.matrix @ centre != universe.values).any() or (centre < 0).any():
                raise GuaranteeError(
                    f"stand-in {number} is no table of counts with the published invariants: give one that"
                    " is."
                )
        if not moves.any() or (universe.matrix @ moves.T).any():
            raise GuaranteeError("a move does not keep the invariants: give a Markov basis of them.")
        table = two_way_cells(universe.matrix) if target is None else None
        updates = universe.dimension if table is None else table.shape[0] // 2
        length = chain_length(
            [_kernel(kappa, centre, moves, table, updates, target) for centre in stand_ins],
            distance=distance,
            lag=lag,
            runs=runs,
            max_iterations=max_iterations,
            entropy=entropy,
            confidence=confidence,
        )
        return cls(kappa, moves, derived, table, updates, length, target)

    @classmethod
    def of(
        cls, record: ChainRecord, public: Public, kappa: Fraction, target: TargetAround | None = None
    ) -> "ChainDraw":
        """Return the chains that a certificate records."""
        length = ChainLength(record.steps, **{name: getattr(record, name) for name in MEASURED})
        moves = None if record.moves_given else basis_of(public)
        table = two_way_cells(public.universe.matrix) if record.pairs_of_rows else None
        updates = public.universe.dimension if table is None else table.shape[0] // 2
        return cls(kappa, moves, not record.moves_given, table, updates, length, target)

    def record(self) -> ChainRecord:
        """Return what a certificate says of them."""
        length = self.length
        return ChainRecord(
            steps=length.iterations,
            updates=self.updates,
            pairs_of_rows=self.table is not None,
            moves_given=not self.derived,
            **{name: getattr(length, name) for name in MEASURED},
        )

    def law(self, counts: IntArray) -> ChainLaw:
        """Return the law of a release: that of a chain that starts at the table."""
        if self.moves is None:
            raise GuaranteeError("the moves of this chain were given by its curator: ask for them.")
        kernel = _kernel(self.kappa, counts, self.moves, self.table, self.updates, self.target)
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
        measured = _near(length.iterations, length.stand_ins, length.distance, length.runs, length.lag)
        return (
            Estimated(measured, f"{length.confidence:.6g}"),
            Assumed(_no_farther()),
            *self._steps,
        )

    @property
    def _steps(self) -> tuple[Evidence, ...]:
        if self.table is None:
            return (Assumed(_moves()),)
        reference = "diaconis1998, Section 2; holdfast, sampling/chains/row_pairs.py"
        return (Proved(_pairs_of_rows(), reference), unseen_time("step"))


@claim("chain-distance")
def _near(steps: int, stand_ins: int, distance: float, runs: int, lag: int) -> tuple[str, str]:
    tables = "1 public table" if stand_ins == 1 else f"{stand_ins} public tables"
    return (
        (
            f"after {steps} steps chains that start at {tables} are at most {distance:.3g} from their laws in"
            " total variation"
        ),
        f"{METHOD}; {runs} pairs of chains at each, with a lag of {lag} at most",
    )


@claim("chain-at-the-table")
def _no_farther() -> tuple[str, str]:
    return (
        (
            "a chain that starts at the confidential table is no farther from its law than those that start"
            " at the public tables"
        ),
        "measuring it at the confidential table would reveal something of it",
    )


@claim("chain-by-moves")
def _moves() -> tuple[str, str]:
    return (
        "the chain can reach every release, and its steps are decided rightly",
        "the moves are taken to be a Markov basis, and steps are decided in floating point",
    )


@claim("chain-by-pairs-of-rows")
def _pairs_of_rows() -> str:
    return "the chain can reach every release and leaves its law as it is; its steps are exact"


def basis_of(public: Public) -> IntArray:
    """Return a Markov basis of the invariants; raises where none is known."""
    matrix, schema, cliques = public.universe.matrix, public.schema, public.cliques
    table = two_way_cells(matrix)
    if table is not None:
        return markov_basis_two_way(*table.shape)
    if cliques is None or schema.nestings:
        return markov_basis(matrix)
    axes = [[schema.axis(name) for name in clique] for clique in cliques]
    return markov_basis(matrix, schema.shape, axes)


def _kernel(
    kappa: Fraction,
    centre: IntArray,
    moves: IntArray,
    table: IntArray | None,
    updates: int,
    around: TargetAround | None,
) -> Kernel:
    if around is not None:
        return MarkovWalk(moves, around.around(centre), around.jump(moves), updates)
    target = LaplaceTarget(kappa, centre, "l1", non_negative)
    if table is not None:
        return RowPairs(table, target)
    return MarkovWalk(moves, target, kappa * int(np.abs(moves).sum(axis=1).min()), updates)
