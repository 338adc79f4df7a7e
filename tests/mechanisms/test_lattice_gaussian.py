from fractions import Fraction
from pathlib import Path

import pytest
from tests.contract.cases import WORLDS, Case
from tests.contract.contract import Subject, the_loss_is_within_the_guarantee

from holdfast.errors import GuaranteeError
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian, largest_rho
from holdfast.privacy.conversion import zcdp_to_epsilon
from holdfast.privacy.guarantee import Adjacency
from holdfast.privacy.intensity import Approximate


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
@pytest.mark.parametrize("world", WORLDS)
def test_the_enumerated_divergence_is_the_guarantee(world: str, adjacency: Adjacency, tmp_path: Path) -> None:
    """At whole orders the bound is attained; per record of distance it grows with the square."""
    reach = 4 if world == "two groups" else 6  # it has the most dimensions
    case = Case(world, {"standard": "zcdp", "rho": "4", "adjacency": adjacency}, reach=reach)
    the_loss_is_within_the_guarantee(Subject.of(case, LatticeGaussian, tmp_path))


def test_the_largest_rho_that_implies_a_target() -> None:
    rho = float(largest_rho(Approximate(Fraction(1), Fraction(1, 10**9))))
    assert zcdp_to_epsilon(rho=rho, delta=1e-9).value <= 1
    assert zcdp_to_epsilon(rho=rho * 1.001, delta=1e-9).value > 1
    with pytest.raises(GuaranteeError, match="larger epsilon or delta"):
        largest_rho(Approximate(Fraction(1, 10**6), Fraction(1, 10**9)))
