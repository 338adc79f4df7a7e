"""Composition against enumeration: the joint law of two releases on a small universe."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.points import lattice_points
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.privacy.composition import compose, parallel
from holdfast.privacy.guarantee import Guarantee, Scope, Unit
from holdfast.privacy.intensity import GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import PerRecord
from holdfast.system.errors import GuaranteeError
from holdfast.testing.goodness import two_way
from holdfast.testing.losses import losses, record_distances
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

TABLE = np.array([1, 1, 1, 0])
BY_ROW = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
BY_COLUMN = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])


def mechanism(rows: NDArray[np.int64], name: str, epsilon: int = 6) -> LatticeLaplace:
    on = Universe.of(csr_array(rows), rows @ TABLE)
    premises = Premises.of(on, Scope.of(on, invariants=(name,), constraints=()), "semi")
    return LatticeLaplace.calibrate(premises, norm="l1", intensity=Pure(Fraction(epsilon)))


def per_record(intensity: Intensity, rows: NDArray[np.int64] = BY_ROW, name: str = "row") -> Guarantee:
    on = Universe.of(csr_array(rows), rows @ TABLE)
    scope = Scope.of(on, invariants=(name,), constraints=())
    a = semi_adjacency(on).worst_case
    return Guarantee(scope, Unit("record", "semi", a), intensity.group(a), (), PerRecord(intensity))


def test_different_invariants_compose_on_the_intersection_with_a_new_semi_adjacency() -> None:
    by_row, by_column = mechanism(BY_ROW, "row"), mechanism(BY_COLUMN, "column")
    joint = compose([by_row.guarantee, by_column.guarantee])
    assert (by_row.guarantee.unit.distance, by_column.guarantee.unit.distance) == (2, 2)
    assert joint.unit.distance == 3  # 2 x 2 with margins (2,1)/(2,1)
    assert joint.scope.invariants == ("row", "column")
    # The truth: both margins known, the loss of the pair of releases is the sum of the two losses.
    both = Universe.of(csr_array(two_way(2, 2)), two_way(2, 2) @ TABLE)
    tables = conforming_tables(both, 100)
    loss = sum(
        losses(m.law, tables, tables[0] + lattice_points(m.premises.universe.matrix.toarray(), 8))
        for m in (by_row, by_column)
    )
    worst = float(np.asarray(loss)[record_distances(tables) > 0].max())
    stated = float(joint.intensity.parameters()["epsilon"])
    assert worst <= stated * (1 + 1e-6)
    assert worst >= 0.99 * stated


def test_the_same_invariants_add_up() -> None:
    joint = compose([mechanism(BY_ROW, "row", 1).guarantee, mechanism(BY_ROW, "row", 2).guarantee])
    assert joint.intensity == Pure(Fraction(3))
    assert joint.unit.distance == 2


def test_standards_must_agree_and_profiles_must_be_known() -> None:
    one = per_record(Pure(Fraction(1)))
    with pytest.raises(GuaranteeError, match="different standards"):
        compose([one, per_record(ZeroConcentrated(Fraction(1)))])
    silent = Guarantee(one.scope, one.unit, one.intensity, ())
    with pytest.raises(GuaranteeError, match="how its loss grows"):
        compose([silent, per_record(Pure(Fraction(1)), BY_COLUMN, "column")])


def test_group_privacy_at_the_joint_distance() -> None:
    rho = ZeroConcentrated(Fraction(1, 10))
    joint = compose([per_record(rho), per_record(rho, BY_COLUMN, "column")])
    assert joint.unit.distance == 3
    assert joint.intensity == ZeroConcentrated(2 * 9 * Fraction(1, 10))
    mu = compose([per_record(GaussianDP(Fraction(3))), per_record(GaussianDP(Fraction(4)))])
    assert mu.intensity == GaussianDP(Fraction(10))


def test_disjoint_strata_cost_as_much_as_the_weakest() -> None:
    one, two = (
        mechanism(np.array([[1, 1, 1, 1]]), "total", 2),
        mechanism(np.array([[1, 1, 1, 1]]), "total", 6),
    )
    joint = parallel([one.guarantee, two.guarantee])
    assert joint.unit.distance == 2  # a person may change stratum in exchange for another
    # The truth by enumeration: kappa_1 ||u_1|| + kappa_2 ||u_2|| over pairs two records apart.
    assert (one.kappa, two.kappa) == (Fraction(1), Fraction(3))
    assert joint.intensity == Pure(Fraction(12))
    worst = max(
        one.kappa * int(np.abs(u[:4]).sum()) + two.kappa * int(np.abs(u[4:]).sum())
        for u in lattice_points(np.repeat(np.eye(2, dtype=np.int64), 4, axis=1), 2)
        if np.abs(u).sum() <= 4
    )
    assert worst == 12


def test_strata_need_fixed_sizes() -> None:
    open_size = mechanism(np.array([[1, 1, 0, 0]]), "first row")
    with pytest.raises(GuaranteeError, match="fixed number of records"):
        parallel([open_size.guarantee, open_size.guarantee])
