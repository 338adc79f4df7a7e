"""The naive mechanisms: their enumerated loss never exceeds what group privacy states."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp

from holdfast.mechanisms.mechanism import Traits
from holdfast.mechanisms.naive import NaiveGaussian, NaiveLaplace
from holdfast.privacy.guarantee import Adjacency, Scope, Target
from holdfast.privacy.intensity import Pure, ZeroConcentrated
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import NormLoss, SquaredLoss
from holdfast.sampling.entropy import SeededEntropy
from holdfast.testing.goodness import LEVEL, lattice_law, p_value, two_way
from holdfast.testing.losses import losses, record_distances
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe


def premises(rows: NDArray[np.int64], table: list[int], adjacency: Adjacency = "semi") -> Premises:
    on = Universe.of(csr_array(rows), rows @ np.array(table))
    return Premises.of(on, Scope.of(on, invariants=("all",), constraints=()), adjacency)


UNIVERSES = {
    "2 x 2, (3,2)/(4,1)": premises(two_way(2, 2), [3, 0, 1, 1]),
    "two states": premises(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), [2, 1, 0, 2]),
    "one total": premises(np.array([[1, 1, 1]]), [2, 1, 1]),
    "weights": premises(np.array([[1, 2, 1], [1, 1, 1]]), [1, 1, 1]),
}
NOTHING = {3: np.zeros((0, 3), dtype=np.int64), 4: np.zeros((0, 4), dtype=np.int64)}


def box(on: Universe, reach: int) -> NDArray[np.int64]:
    values = np.arange(-reach, reach + 1 + int(on.values.max()))
    return np.stack(np.meshgrid(*[values] * on.cells, indexing="ij"), axis=-1).reshape(-1, on.cells)


def near(on: Premises, tables: NDArray[np.int64]) -> NDArray[np.bool_]:
    apart = record_distances(tables)
    return np.asarray((apart > 0) & (apart <= on.unit.distance))


@pytest.mark.parametrize("name", UNIVERSES)
def test_the_enumerated_loss_is_within_the_guarantee(name: str) -> None:
    on = UNIVERSES[name]
    mechanism = NaiveLaplace.calibrate(on, intensity=Pure(Fraction(12)))
    assert mechanism.guarantee.intensity == Pure(Fraction(12))
    tables = conforming_tables(on.universe, 2000)
    outputs, pairs = box(on.universe, 6), near(on, tables)
    loss = losses(mechanism.law, tables, outputs)[pairs].max()
    stated = 12 * on.sensitivity.l1 / (2 * on.unit.distance)  # group privacy may count too much
    assert loss == pytest.approx(stated, rel=1e-3)
    assert stated <= 12
    quieter = replace(mechanism, kappa=mechanism.kappa * Fraction(13, 10))
    assert losses(quieter.law, tables, outputs)[pairs].max() > stated * 1.2


@pytest.mark.parametrize("name", UNIVERSES)
def test_the_enumerated_divergence_is_within_the_guarantee(name: str) -> None:
    on = UNIVERSES[name]
    mechanism = NaiveGaussian.calibrate(on, intensity=ZeroConcentrated(Fraction(4)))
    assert mechanism.guarantee.intensity == ZeroConcentrated(Fraction(4))
    tables = conforming_tables(on.universe, 2000)
    logs = np.stack([mechanism.law(table).log_prob(box(on.universe, 6)) for table in tables])
    logs -= logsumexp(logs, axis=1, keepdims=True)
    pairs = np.argwhere(near(on, tables))
    divergence = max(float(logsumexp(2 * logs[i] - logs[j])) for i, j in pairs)
    stated = on.sensitivity.l2_squared / (2 * float(mechanism.sigma_squared))
    assert divergence == pytest.approx(2 * stated, rel=1e-3)
    assert stated <= 4


def test_draws_are_independent_and_exact() -> None:
    on = UNIVERSES["one total"]
    laplace = NaiveLaplace.calibrate(on, intensity=Pure(Fraction(6)))
    gaussian = NaiveGaussian.calibrate(on, intensity=ZeroConcentrated(Fraction(2)))
    law = lattice_law(NOTHING[3], float(laplace.kappa), "l1", 8)
    other = lattice_law(NOTHING[3], 1 / float(2 * gaussian.sigma_squared), "squared", 8)
    one, two = (m.noise.sample(SeededEntropy(1), 20_000) for m in (laplace, gaussian))
    assert p_value(one, law) > LEVEL
    assert p_value(two, other) > LEVEL
    assert max(p_value(one, other), p_value(two, law)) < LEVEL**2


def test_no_invariant_is_kept_and_it_says_so() -> None:
    on = UNIVERSES["two states"]
    for mechanism in (
        NaiveLaplace.calibrate(on, intensity=Pure(Fraction(1))),
        NaiveGaussian.calibrate(on, intensity=ZeroConcentrated(Fraction(1, 2))),
    ):
        assert mechanism.traits == Traits(keeps_invariants=False)
        tables = mechanism.law(np.array([2, 1, 0, 2])).sample(SeededEntropy(0), 100)
        assert tables.dtype == np.int64
        assert (on.universe.matrix @ tables.T != on.universe.values[:, None]).any()
        assert mechanism.guarantee.scope == on.scope
        assert any("group" in item.claim.words for item in mechanism.guarantee.evidence)
        (drawn,) = mechanism.methods
        assert (drawn.id, drawn.parameters["acceptance"]) == ("blocks-drawn", 1.0)
        assert drawn.words == "one block of 4 cells: independent cells"


def test_scales_follow_from_the_number_of_records() -> None:
    on = UNIVERSES["2 x 2, (3,2)/(4,1)"]  # three records
    laplace = NaiveLaplace.calibrate(on, intensity=Pure(Fraction(1)))
    gaussian = NaiveGaussian.calibrate(on, intensity=ZeroConcentrated(Fraction(1, 2)))
    assert (laplace.kappa, gaussian.sigma_squared) == (Fraction(1, 6), Fraction(18))
    assert laplace.guarantee.profile == NormLoss(Fraction(1, 6), "l1")
    assert gaussian.guarantee.profile == SquaredLoss(Fraction(18))
    assert laplace.parameters == {"kappa": Fraction(1, 6)}
    assert gaussian.parameters == {"sigma_squared": 18}
    each = replace(on, adjacency="unit")
    one = NaiveLaplace.calibrate(each, intensity=Pure(Fraction(1)))
    assert (one.kappa, one.guarantee.intensity) == (Fraction(1, 2), Pure(Fraction(1)))
    rho = Fraction(1, 2)
    two = NaiveGaussian.calibrate(each, intensity=ZeroConcentrated(rho))
    assert two.sigma_squared == 2
    assert two.guarantee.meets(Target("unit", ZeroConcentrated(rho)))
