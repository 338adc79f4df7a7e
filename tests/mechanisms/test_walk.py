"""Chains that serve: what a walk fixes beforehand for two-way tables, and what it says it rests on."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.goodness import two_way

from holdfast.errors import GuaranteeError
from holdfast.lattice.markov import markov_basis_partition, markov_basis_two_way
from holdfast.mechanisms.walk import Walk
from holdfast.privacy.intensity import Approximate, Pure
from holdfast.sampling.entropy import SeededEntropy
from holdfast.universe.universe import Universe

TABLE = np.array([3, 1, 0, 2, 0, 4, 1, 1, 2, 0, 2, 0, 1, 1, 0, 5])
MARGINS = two_way(4, 4)
UNIVERSE = Universe.of(csr_array(MARGINS), MARGINS @ TABLE)


def planned(distance: float = 0.02) -> Walk:
    return Walk.planned(
        UNIVERSE,
        Fraction(1, 12),
        markov_basis_two_way(4, 4),
        [TABLE],
        distance=distance,
        entropy=SeededEntropy(1),
    )


def test_a_two_way_table_is_drawn_by_pairs_of_rows() -> None:
    walk = planned()
    assert walk.table is not None
    assert walk.described == f"{walk.length.iterations} steps of 2 pairs of rows"
    assert walk.length.iterations < 60
    assert walk.length.distance <= 0.02
    releases = walk.law(TABLE).sample(SeededEntropy(2), 500)
    assert (releases @ MARGINS.T == MARGINS @ TABLE).all()
    assert (releases >= 0).all()
    kinds = [item.kind for item in walk.evidence]
    assert kinds == ["estimated", "assumed", "proved", "assumed"]
    assert "pairs of chains" in str(walk.evidence[0])


def test_a_chain_is_never_pure() -> None:
    weakened = planned().weakened(Pure(Fraction(1)))
    assert isinstance(weakened, Approximate)
    assert weakened.epsilon == 1
    assert weakened.delta > 0


def test_other_designs_walk_along_moves() -> None:
    totals = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]])
    table = np.array([2, 0, 1, 1, 1])
    walk = Walk.planned(
        Universe.of(csr_array(totals), totals @ table),
        Fraction(1, 4),
        markov_basis_partition([0, 0, 0, 1, 1]),
        [table],
        distance=0.05,
        entropy=SeededEntropy(3),
    )
    assert walk.table is None
    assert walk.described.endswith("steps of 3 moves")
    assert [item.kind for item in walk.evidence] == ["estimated", "assumed", "assumed"]


def test_a_stand_in_has_the_same_invariants() -> None:
    for wrong in (TABLE + 1, TABLE - MARGINS[0]):
        with pytest.raises(GuaranteeError, match="stand-in 0 is no table"):
            Walk.planned(
                UNIVERSE,
                Fraction(1),
                markov_basis_two_way(4, 4),
                [wrong],
                distance=0.1,
                entropy=SeededEntropy(1),
            )
