from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from holdfast.mechanisms import mechanism
from holdfast.mechanisms.catalogue import target_of
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.privacy.conversion import largest_rho, zcdp_to_epsilon
from holdfast.privacy.guarantee import Adjacency
from holdfast.privacy.intensity import GaussianDP
from holdfast.privacy.tight import tight
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import GuaranteeError
from holdfast.system.machine import BYTES_PER_CELL, IN_PARTS
from holdfast.testing.contract import Subject, largest, the_loss_is_within_the_guarantee
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


@pytest.mark.parametrize("room", [0, 3, 1 << 30])
def test_a_release_in_half_the_room_has_the_same_numbers(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise or counts that do not fit make it as wide as others are."""
    target = {"standard": "zcdp", "rho": "1/2", "adjacency": "semi"}
    subject = Subject.of(Case("three margins", target), LatticeGaussian, tmp_path)
    law = subject.mechanism.law(np.arange(subject.ready.public.universe.cells) % 3)
    drawn = law.sample(SeededEntropy(5), 1)
    monkeypatch.setattr(mechanism, "LARGE", 0)
    monkeypatch.setattr(mechanism, "ROOM", room)
    again = law.sample(SeededEntropy(5), 1)
    assert np.array_equal(again, drawn)
    assert again.dtype == (np.int32 if room > 3 else np.int64)
    assert law.sample(SeededEntropy(5), 3).shape == (3, drawn.size)


def test_the_largest_rho_that_implies_a_target() -> None:
    rho = float(largest_rho(epsilon=Fraction(1), delta=Fraction(1, 10**9)))
    assert zcdp_to_epsilon(rho=rho, delta=1e-9).value <= 1
    assert zcdp_to_epsilon(rho=rho * 1.001, delta=1e-9).value > 1
    with pytest.raises(GuaranteeError, match="larger epsilon or delta"):
        largest_rho(epsilon=Fraction(1, 10**6), delta=Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("target", "least"),
    [
        ({"standard": "gaussian", "mu": "1/3"}, 36.0),
        ({"standard": "approximate", "epsilon": "1", "delta": "1e-5"}, 55.66),
    ],
)
def test_calibrations_invert_and_noise_is_hardly_more_than_real_noise_takes(
    target: dict[str, str], least: float, tmp_path: Path
) -> None:
    """On 2 x 2 the lattice has one dimension: the guarantee is exact, and a percent less noise breaks it."""
    subject = Subject.of(Case("2 x 2", target), LatticeGaussian, tmp_path)
    mechanism = subject.mechanism
    assert isinstance(mechanism, LatticeGaussian)
    assert least < mechanism.sigma_squared < 1.01 * least
    wanted = target_of(subject.ready.table.spec.privacy)
    assert mechanism.guarantee.meets(wanted)
    known = mechanism.guarantee.tight
    narrower = replace(mechanism, sigma_squared=Fraction(99, 100) * mechanism.sigma_squared)
    assert known.exact
    assert known.mu is not None
    assert not narrower.guarantee.meets(wanted)
    bound = tight(mechanism.guarantee.intensity)
    assert bound.mu is not None
    assert Fraction(999, 1000) * bound.mu < known.mu <= bound.mu
    assert known.epsilon_at(1e-5) <= bound.epsilon_at(1e-5) < 1.01 * known.epsilon_at(1e-5)


@pytest.mark.parametrize(("world", "neighbours"), [("2 x 2", "replace"), ("one total", "add-remove")])
def test_mu_per_record_holds_of_tables_several_records_apart(
    world: str, neighbours: str, tmp_path: Path
) -> None:
    """No table is one record apart from another here, so that no mu of such a pair would do for two."""
    target = {"standard": "gaussian", "mu": "1", "adjacency": "unit", "neighbours": neighbours}
    subject = Subject.of(Case(world, target, reach=4), LatticeGaussian, tmp_path)
    assert subject.mechanism.guarantee.intensity == GaussianDP(Fraction(1))
    assert 0.9 < largest(subject, subject) <= 1 + 1e-5


def test_noise_in_parts_asks_for_less_room() -> None:
    plain, weighted = (
        LatticeGaussian.Options.model_validate({"queries": queries})
        for queries in ([], [{"marginal": ["sex"]}])
    )
    assert LatticeGaussian.room_per_cell(plain, apart=False) == BYTES_PER_CELL
    assert LatticeGaussian.room_per_cell(plain, apart=True) == IN_PARTS < BYTES_PER_CELL
    assert LatticeGaussian.room_per_cell(weighted, apart=False) == IN_PARTS
