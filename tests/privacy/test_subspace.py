"""Subspace privacy: what it implies on a scope is what lattices of outputs show, and what it leaves out."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.privacy.guarantee import Guarantee, Scope, Unit
from holdfast.privacy.intensity import Pure, ZeroConcentrated
from holdfast.privacy.premises import Premises
from holdfast.privacy.subspace import SubspaceGuarantee
from holdfast.system.errors import GuaranteeError
from holdfast.testing.goodness import two_way
from holdfast.universe.universe import Universe

ONE = Pure(Fraction(1))


def scope(rows: object, table: list[int], *names: str) -> Scope:
    matrix = np.asarray(rows, dtype=np.int64).reshape(-1, len(table))
    universe = Universe.of(csr_array(matrix), matrix @ np.array(table))
    return Scope.of(universe, invariants=names, constraints=())


MARGINS = scope(two_way(2, 2), [1, 1, 1, 0], "row", "column")
ROWS = scope([[1, 1, 0, 0], [0, 0, 1, 1]], [1, 1, 1, 0], "row")
FREE = scope(np.zeros((0, 4)), [1, 1, 1, 0])
TOTAL = scope([[1, 1, 1, 1]], [1, 1, 1, 0], "total")


@pytest.mark.parametrize(
    ("over", "share"), [(MARGINS, Fraction(1)), (ROWS, Fraction(2, 3)), (TOTAL, Fraction(0))]
)
def test_the_share_of_pairs_that_the_invariants_tell_apart(over: Scope, share: Fraction) -> None:
    """Every move of one record, listed."""
    matrix = over.universe.matrix.toarray()
    moves = [(x, y) for x in range(4) for y in range(4) if x != y]
    told = sum(bool((matrix[:, x] != matrix[:, y]).any()) for x, y in moves)
    assert SubspaceGuarantee(over, ONE).told_apart == share == Fraction(told, len(moves))


def test_on_its_scope_it_is_worth_the_semi_adjacency() -> None:
    """Laplace noise of rate 1/2 a cell is epsilon 1 for one record; projected, at three records it loses 2.

    Both margins of 2 x 2 leave z = s (1, -1, -1, 1) / 4 of noise, s the signed sum of four noises, and tables
    move by (1, -1, -1, 1). The claim is 3; the density of s falls at the rate 1/2 and by 4 a step: 2 <= 3.
    """
    subspace = SubspaceGuarantee(MARGINS, ONE)
    distance = Premises.of(MARGINS.universe, MARGINS, "semi").semi_adjacency.worst_case
    found = subspace.for_tables(distance)
    assert (found.unit.distance, found.intensity) == (3, Pure(Fraction(3)))
    steps = np.arange(-200, 201)
    noise = np.exp(-np.abs(steps) / 2)
    law = np.array([1.0])
    for _ in range(4):
        law = np.convolve(law, noise / noise.sum())
    middle = law.size // 2
    inner = np.log(law[middle - 60 : middle + 61])
    loss = np.abs(inner[4:] - inner[:-4]).max()
    assert 1.5 < loss <= 3


def semi(epsilon: int) -> Guarantee:
    return Guarantee(MARGINS, Unit("record", "semi", 3), Pure(Fraction(epsilon)), ())


def test_what_it_implies() -> None:
    subspace = SubspaceGuarantee(MARGINS, ONE)
    assert subspace.implies(semi(3))
    assert not subspace.implies(semi(2))
    each = Guarantee(MARGINS, Unit("record", "unit", 1), ONE, ())
    assert subspace.implies(each)
    assert subspace.implies(SubspaceGuarantee(MARGINS, Pure(Fraction(2))))
    assert SubspaceGuarantee(MARGINS, ZeroConcentrated(Fraction(1))).for_tables(
        2
    ).intensity == ZeroConcentrated(Fraction(4))
    with pytest.raises(GuaranteeError, match="keeps others"):
        subspace.implies(SubspaceGuarantee(ROWS, ONE))
    with pytest.raises(GuaranteeError, match="one record at least"):
        subspace.for_tables(0)


def test_what_implies_it() -> None:
    """Ordinary privacy does; semi-privacy says nothing of tables with other invariants: it is refused."""
    subspace = SubspaceGuarantee(MARGINS, ONE)
    for over in (FREE, TOTAL):
        assert Guarantee(over, Unit("record", "semi", 1), ONE, ()).implies(subspace)
        assert not Guarantee(over, Unit("record", "unit", 1), Pure(Fraction(2)), ()).implies(subspace)
    with pytest.raises(GuaranteeError, match="differ in row and column, outside of the other's scope"):
        semi(0).implies(subspace)


def test_the_statement_says_what_is_left_out() -> None:
    said = SubspaceGuarantee(ROWS, ONE).statement
    assert "without what it says of row" in said
    assert "0.667 of all such pairs apart for certain" in said
