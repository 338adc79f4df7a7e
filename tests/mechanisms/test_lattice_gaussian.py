from fractions import Fraction
from pathlib import Path

import pytest

from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.privacy.conversion import largest_rho, zcdp_to_epsilon
from holdfast.privacy.guarantee import Adjacency
from holdfast.system.errors import GuaranteeError
from holdfast.testing.contract import Subject, the_loss_is_within_the_guarantee
from holdfast.testing.worlds import WORLDS, Case


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
@pytest.mark.parametrize("world", WORLDS)
def test_the_enumerated_divergence_is_the_guarantee(world: str, adjacency: Adjacency, tmp_path: Path) -> None:
    """At whole orders the bound is attained; per record of distance it grows with the square."""
    reach = 4 if world == "two groups" else 6  # it has the most dimensions
    attained = (world, adjacency) != ("three margins", "unit")  # the spread is a bound there
    target = {"standard": "zcdp", "rho": "4", "adjacency": adjacency}
    case = Case(world, target, reach=reach, attained=attained)
    the_loss_is_within_the_guarantee(Subject.of(case, LatticeGaussian, tmp_path))


def test_the_largest_rho_that_implies_a_target() -> None:
    rho = float(largest_rho(epsilon=Fraction(1), delta=Fraction(1, 10**9)))
    assert zcdp_to_epsilon(rho=rho, delta=1e-9).value <= 1
    assert zcdp_to_epsilon(rho=rho * 1.001, delta=1e-9).value > 1
    with pytest.raises(GuaranteeError, match="larger epsilon or delta"):
        largest_rho(epsilon=Fraction(1, 10**6), delta=Fraction(1, 10**9))
