"""Chains on a whole lattice: joint and sweep, both norms, both bases."""

from fractions import Fraction

import numpy as np
import pytest
from tests.sampling.chains.cases import TABLE, double_geometric, truncated

from holdfast.lab.gibbs_metropolis import Basis, GibbsMetropolis, Scan, dual_basis, lattice_basis
from holdfast.sampling.chains.kernel import LaplaceTarget, coupled_step, run
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LaplaceNorm
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, lattice_law, p_value, two_way

ORIGIN = np.zeros(6, dtype=np.int64)
BASES: tuple[Basis, ...] = ("smith", "reduced")
SCANS: tuple[Scan, ...] = ("joint", "sweep")
REACH = 9


def sweep() -> GibbsMetropolis:
    target = LaplaceTarget(Fraction(3, 4), ORIGIN)
    return GibbsMetropolis(lattice_basis(two_way(2, 3)), target, Fraction(1), "sweep")


def test_a_sweep_leaves_its_target_invariant() -> None:
    # two coordinates in a box so wide that what lies outside does not show at 1e-4
    kernel = sweep()
    side = np.arange(-REACH, REACH + 1)
    grid = np.array([(i, j) for i in side for j in side])
    states = kernel.init(grid)
    law = np.exp(-0.75 * states.statistic)
    law /= law.sum()
    matrix = np.eye(len(grid))
    for update in range(kernel.updates):
        jumps = grid[None] - grid[:, None]
        alone = (np.delete(jumps, update, axis=2) == 0).all(axis=2)
        chance = np.where(alone, double_geometric(jumps[..., update], kernel.jumps.rate), 0)
        ratio = [kernel.log_ratio(states.rows(np.full(len(grid), i)), states) for i in range(len(grid))]
        part = chance * np.exp(np.minimum(0, np.array(ratio)))
        flow = law[:, None] * part
        np.testing.assert_allclose(flow, flow.T, atol=1e-15)
        np.fill_diagonal(part, 0)
        np.fill_diagonal(part, 1 - part.sum(axis=1))
        matrix = matrix @ part
    np.testing.assert_allclose(law @ matrix, law, atol=1e-12)
    # and the steps of the kernel follow it
    start = int(np.flatnonzero((grid == (2, -1)).all(axis=1))[0])
    state = kernel.init(np.tile(grid[start], (40_000, 1)))
    after, info = kernel.step(state, SeededEntropy(2))
    row = dict(zip(map(tuple, grid.tolist()), matrix[start].tolist(), strict=True))
    assert p_value(after.points @ dual_basis(kernel.basis), row) > LEVEL
    assert info.updates == 2


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_final_states_follow_the_enumerated_law(norm: LaplaceNorm, scan: Scan, kind: Basis) -> None:
    basis = lattice_basis(two_way(2, 3), kind)
    target = LaplaceTarget(Fraction(5, 4), ORIGIN, norm)
    kernel = GibbsMetropolis(basis, target, Fraction(1), scan)
    entropy = SeededEntropy(11)
    points = run(kernel, kernel.start(20_000, entropy), 150 if scan == "joint" else 80, entropy).points
    assert not (points @ two_way(2, 3).T).any()
    assert p_value(points, lattice_law(two_way(2, 3), 1.25, norm, 12)) > LEVEL
    assert p_value(points, lattice_law(two_way(2, 3), 1.35, norm, 12)) < LEVEL
    assert p_value(points, lattice_law(two_way(2, 3), 1.15, norm, 12)) < LEVEL


def test_both_bases_span_the_same_lattice() -> None:
    for kind in BASES:
        basis = lattice_basis(two_way(3, 3), kind)
        assert basis.shape == (4, 9)
        assert not (basis @ two_way(3, 3).T).any()
        assert (basis @ dual_basis(basis) == np.eye(4)).all()  # so it cannot be a sublattice


@pytest.mark.parametrize("scan", SCANS)
def test_chains_on_the_whole_lattice_meet_and_stay_together(scan: Scan) -> None:
    target = LaplaceTarget(Fraction(1), np.zeros(9, dtype=np.int64), "l2")
    kernel = GibbsMetropolis(lattice_basis(two_way(3, 3)), target, Fraction(3, 4), scan)
    entropy = SeededEntropy(3)
    one, other = kernel.start(200, entropy), kernel.start(200, entropy)
    together = np.zeros(200, dtype=np.bool_)
    for _ in range(1500 if scan == "joint" else 400):
        one, other = coupled_step(kernel, one, other, entropy)
        now = (one.points == other.points).all(axis=1)
        assert now[together].all()
        together = now
    assert together.all()


def test_a_sweep_under_a_constraint_is_refused() -> None:
    with pytest.raises(SamplingError, match="Markov basis"):
        GibbsMetropolis(lattice_basis(two_way(2, 3)), truncated(Fraction(1), TABLE), Fraction(1), "sweep")


def test_the_same_seed_gives_the_same_chain() -> None:
    once, again = (
        run(sweep(), sweep().start(5, SeededEntropy(1)), 20, SeededEntropy(2)).points for _ in "ab"
    )
    assert (once == again).all()


def test_what_64_bits_cannot_hold_raises() -> None:
    kernel = sweep()
    with pytest.raises(OverflowError):
        kernel.init(np.full((1, 2), 2**61))
    square = GibbsMetropolis(kernel.basis, LaplaceTarget(Fraction(1), ORIGIN, "l2"), Fraction(1))
    with pytest.raises(OverflowError):
        square.init(np.full((1, 2), 2**31))
