from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.privacy.guarantee import Adjacency, Scope
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LaplaceNorm
from holdfast.system.errors import GuaranteeError, SamplingError
from holdfast.testing.contract import Subject, the_loss_is_within_the_guarantee
from holdfast.testing.goodness import two_way
from holdfast.testing.worlds import WORLDS, Case
from holdfast.universe.metrics import METRICS
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.sensitivity import Sensitivity
from holdfast.universe.universe import Universe

DEMO = np.array([15, 1, 3, 1, 20, 10, 10, 15, 3, 10, 10, 2, 12, 14, 7, 2])
FOUR = Universe.of(csr_array(two_way(4, 4)), two_way(4, 4) @ DEMO, (frozenset({"r"}), frozenset({"c"})))
SCOPE = Scope.of(FOUR, invariants=("r", "c"), constraints=())


PREMISES = Premises.of(FOUR, SCOPE, "semi")


def calibrated(norm: LaplaceNorm, epsilon: Fraction) -> LatticeLaplace:
    return LatticeLaplace.calibrate(PREMISES, norm=norm, intensity=Pure(epsilon))


def test_the_demo_spends_a_sixth_of_epsilon_per_unit_of_l1() -> None:
    mechanism = calibrated("l1", Fraction(1))
    assert mechanism.kappa == Fraction(1, 6)
    assert mechanism.guarantee.intensity == Pure(Fraction(1))
    assert mechanism.guarantee.unit.distance == 3


def test_l2_rounds_towards_more_privacy() -> None:
    mechanism = calibrated("l2", Fraction(1))
    assert mechanism.kappa**2 * 6 <= 1
    assert Fraction(1) - Fraction(1, 10**9) <= mechanism.epsilon <= 1


def test_the_papers_parameter_gives_its_own_guarantee() -> None:
    mechanism = LatticeLaplace(PREMISES, "l1", Fraction(1, 4))
    assert mechanism.epsilon == Fraction(3, 2)


def test_a_bound_is_called_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    loose = SemiAdjacency(4, 2, exact=False, reference="semi-dp, Theorem 16")
    monkeypatch.setitem(METRICS, "replace", replace(METRICS["replace"], semi_adjacency=lambda *_: loose))
    monkeypatch.setitem(
        METRICS,
        "replace",
        replace(METRICS["replace"], sensitivity=lambda *_: Sensitivity(8, 8, 1, exact=False)),
    )
    mechanism = LatticeLaplace(Premises(FOUR, SCOPE, "semi"), "l1", Fraction(1, 8))
    claims = " ".join(item.claim.words for item in mechanism.guarantee.evidence)
    assert claims.count("an upper bound") == 2


def test_crossings_that_are_too_wide_name_another_norm_and_mechanism() -> None:
    universe = Universe.of(csr_array(two_way(26, 26)), np.full(51, 26))
    scope = Scope.of(universe, invariants=("r", "c"), constraints=())
    wide = LatticeLaplace(Premises(universe, scope, "unit"), "l1", Fraction(1))
    with pytest.raises(SamplingError, match=r'norm="l2" or the mechanism lattice-gaussian, which draw'):
        wide.noise.sample(SeededEntropy(0), 1)


def test_nothing_left_to_protect_is_refused() -> None:
    one = Universe.of(csr_array(np.eye(2, dtype=np.int64)), np.array([1, 2]))
    with pytest.raises(GuaranteeError, match="vacuous"):
        Premises.of(one, Scope.of(one, invariants=(), constraints=()), "semi")


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("world", WORLDS)
def test_the_enumerated_loss_is_the_guarantee(
    world: str, norm: LaplaceNorm, adjacency: Adjacency, tmp_path: Path
) -> None:
    attained = (world, norm, adjacency) != ("three margins", "l2", "unit")  # the spread is a bound there
    case = Case(world, {"epsilon": "12", "adjacency": adjacency}, {"norm": norm}, reach=6, attained=attained)
    the_loss_is_within_the_guarantee(Subject.of(case, LatticeLaplace, tmp_path))


@pytest.mark.parametrize(("cells", "assumed"), [(39, False), (40, True), (199, True), (200, False)])
def test_floats_that_sort_out_clear_cases_are_in_the_evidence(cells: int, assumed: bool) -> None:
    """One total is drawn with float tables from 40 to 199 cells, though no invariants cross."""
    total = Universe.of(csr_array(np.ones((1, cells), dtype=np.int64)), np.array([5]))
    premises = Premises.of(total, Scope.of(total, invariants=("total",), constraints=()), "semi")
    evidence = LatticeLaplace(premises, "l1", Fraction(1)).guarantee.evidence
    assert any("2^48" in item.claim.words for item in evidence) == assumed
