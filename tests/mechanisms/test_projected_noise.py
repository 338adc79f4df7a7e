"""Projection of any additive noise."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import kstest
from tests.goodness import LEVEL, two_way

from holdfast.mechanisms.projected_noise import Draw, ProjectedNoise
from holdfast.mechanisms.span import Floats, normals, uniforms
from holdfast.premises import Premises
from holdfast.privacy.guarantee import Guarantee, Scope, Unit
from holdfast.privacy.intensity import Pure
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.universe.universe import Universe


def premises(rows: object, table: list[int]) -> Premises:
    matrix = np.asarray(rows, dtype=np.int64)
    universe = Universe.of(csr_array(matrix), matrix @ np.array(table))
    return Premises.of(universe, Scope.of(universe, invariants=("all",), constraints=()), "semi")


def laplace(cells: int) -> Draw:
    """Laplace noise of scale 2 in every cell."""

    def draw(entropy: Entropy, size: int) -> Floats:
        u = uniforms(entropy, size, cells) - 0.5
        return np.asarray(-2 * np.sign(u) * np.log1p(-2 * np.abs(u)))

    return draw


def test_two_laplace_counts_with_their_sum_have_the_density_of_the_appendix() -> None:
    """(A.2) of congenial DP at epsilon 1, (1 + |u|) exp(-|u|) / 4; a Laplace law is rejected."""
    noise = ProjectedNoise.of(premises([[1, 1]], [3, 2]), laplace(2)).sample(SeededEntropy(3), 20_000)
    assert np.abs(noise.sum(axis=1)).max() < 1e-12
    u = noise[:, 0]

    # uniform, if the law is right
    tail = np.exp(-np.abs(u)) * (2 + np.abs(u)) / 4
    assert kstest(np.where(u < 0, tail, 1 - tail), "uniform").pvalue > LEVEL
    assert kstest(u, "laplace").pvalue < LEVEL


@pytest.mark.parametrize(
    "draw", [lambda e, n: normals(e, n, 9), lambda e, n: uniforms(e, n, 9) - 0.5, laplace(9)]
)
def test_it_keeps_the_invariants_and_never_grows_in_l2(draw: Draw) -> None:
    rows = two_way(3, 3)
    on = premises(rows, [1, 1, 0, 0, 1, 1, 1, 0, 1])
    found = ProjectedNoise.of(on, draw).sample(SeededEntropy(1), 200)
    before = draw(SeededEntropy(1), 200)
    assert np.abs(found @ rows.T).max() < 1e-9
    assert ((found**2).sum(axis=1) <= (before**2).sum(axis=1) + 1e-12).all()


def test_in_l1_it_can_grow() -> None:
    """The paper says that no norm grows: (1, 0, 0) becomes (2, -1, -1) / 3."""
    on = premises([[1, 1, 1]], [1, 1, 1])
    found = ProjectedNoise.of(on, lambda _, size: np.tile([1.0, 0.0, 0.0], (size, 1))).sample(
        SeededEntropy(0), 1
    )
    assert found[0] == pytest.approx([2 / 3, -1 / 3, -1 / 3])
    assert np.abs(found).sum() == pytest.approx(4 / 3)


def test_the_guarantee_stays() -> None:
    on = premises([[1, 1]], [3, 2])
    before = Guarantee(on.scope, Unit("record", "semi", 1), Pure(Fraction(1)), ())
    after = ProjectedNoise.of(on, laplace(2)).keeps(before)
    assert (after.scope, after.unit, after.intensity) == (before.scope, before.unit, before.intensity)
    assert [one.kind for one in after.evidence] == ["proved", "assumed"]
