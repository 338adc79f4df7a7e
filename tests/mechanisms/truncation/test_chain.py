"""Chains that serve: what a walk fixes beforehand for two-way tables, and what it says it rests on."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.data.invariants import margin_block
from holdfast.data.schema import Attributes, Schema
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.markov import markov_basis_partition, markov_basis_two_way
from holdfast.mechanisms.truncation.chain import ChainDraw, ChainRecord, basis_of
from holdfast.privacy.intensity import Approximate, Pure
from holdfast.public import Held, Public
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import GuaranteeError, SamplingError
from holdfast.testing.goodness import two_way
from holdfast.universe.universe import Universe

TABLE = np.array([3, 1, 0, 2, 0, 4, 1, 1, 2, 0, 2, 0, 1, 1, 0, 5])
MARGINS = two_way(4, 4)


def public(counts: IntArray, shape: tuple[int, ...], *margins: str) -> Public:
    """Return what is published where some margins of a table are; attributes are a, b, c, ..."""
    levels = {name: tuple(map(str, range(size))) for name, size in zip("abcd", shape, strict=False)}
    schema = Schema(Attributes.of(levels))
    blocks = [margin_block(schema, tuple(margin), margin) for margin in margins]
    return Public(schema, "n", tuple(Held(block, block.evaluate(counts)) for block in blocks))


PUBLIC = public(TABLE, (4, 4), "a", "b")
UNIVERSE = PUBLIC.universe


def planned(distance: float = 0.02) -> ChainDraw:
    return ChainDraw.planned(
        UNIVERSE,
        Fraction(1, 12),
        markov_basis_two_way(4, 4),
        [TABLE],
        derived=True,
        distance=distance,
        entropy=SeededEntropy(1),
    )


def test_a_two_way_table_is_drawn_by_pairs_of_rows() -> None:
    walk = planned()
    assert walk.table is not None
    assert str(walk.record()) == f"{walk.length.iterations} steps of 2 pairs of rows"
    assert walk.length.iterations < 60
    assert walk.length.distance <= 0.02
    releases = walk.law(TABLE).sample(SeededEntropy(2), 500)
    assert (releases @ MARGINS.T == MARGINS @ TABLE).all()
    assert (releases >= 0).all()
    kinds = [item.kind for item in walk.evidence]
    assert kinds == ["estimated", "assumed", "proved", "assumed"]
    assert "pairs of chains" in walk.evidence[0].claim.basis


def test_a_chain_is_never_pure() -> None:
    weakened = planned().weakened(Pure(Fraction(1)))
    assert isinstance(weakened, Approximate)
    assert weakened.epsilon == 1
    assert weakened.delta > 0


def test_other_designs_walk_along_moves() -> None:
    totals = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]])
    table = np.array([2, 0, 1, 1, 1])
    walk = ChainDraw.planned(
        Universe.of(csr_array(totals), totals @ table),
        Fraction(1, 4),
        markov_basis_partition([0, 0, 0, 1, 1]),
        [table],
        derived=False,
        distance=0.05,
        entropy=SeededEntropy(3),
    )
    assert walk.table is None
    assert str(walk.record()).endswith("steps of 3 moves")
    assert [item.kind for item in walk.evidence] == ["estimated", "assumed", "assumed"]


def test_a_stand_in_has_the_same_invariants() -> None:
    for wrong in (TABLE + 1, TABLE - MARGINS[0]):
        with pytest.raises(GuaranteeError, match="stand-in 0 is no table"):
            ChainDraw.planned(
                UNIVERSE,
                Fraction(1),
                markov_basis_two_way(4, 4),
                [wrong],
                derived=True,
                distance=0.1,
                entropy=SeededEntropy(1),
            )


def test_a_record_leads_back_to_the_same_chains() -> None:
    walk = planned(0.1)
    record = ChainRecord.model_validate_json(walk.record().model_dump_json())
    again = ChainDraw.of(record, PUBLIC, walk.kappa)
    assert again.record() == walk.record()
    assert again.evidence == walk.evidence
    one, other = (which.law(TABLE).sample(SeededEntropy(4), 20) for which in (walk, again))
    assert np.array_equal(one, other)


def test_moves_that_were_given_are_not_in_the_record() -> None:
    walk = replace(planned(0.1), derived=False)
    again = ChainDraw.of(walk.record(), PUBLIC, walk.kappa)
    assert again.evidence == walk.evidence
    with pytest.raises(GuaranteeError, match="given by its curator"):
        again.law(TABLE)


@pytest.mark.parametrize(
    ("shape", "margins", "moves"),
    [
        ((4, 4), ("a", "b"), 36),
        ((2, 3, 2), ("ab", "bc"), 3),  # one exchange for each level of b
        ((2, 3, 2), ("ab", "bc", ""), 3),
        ((2, 2, 2, 2), ("ab", "bc", "cd"), 12 + 12 - 4),  # by b, by c, and both at once
    ],
)
def test_decomposable_margins_have_a_basis(
    shape: tuple[int, ...], margins: tuple[str, ...], moves: int
) -> None:
    on = public(np.ones(int(np.prod(shape)), dtype=np.int64), shape, *margins)
    basis = basis_of(on)
    assert not (on.universe.matrix @ basis.T).any()
    assert len(basis) == moves


def test_other_margins_have_none() -> None:
    with pytest.raises(SamplingError, match="not decomposable"):
        basis_of(public(np.ones(8, dtype=np.int64), (2, 2, 2), "ab", "bc", "ac"))
