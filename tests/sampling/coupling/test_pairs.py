"""Each of two coupled chains moves by its kernel, and once together they stay together."""

from fractions import Fraction

import numpy as np
import pytest
from tests.goodness import LEVEL, p_value, two_way
from tests.sampling.mcmc.small import SMALL, at, support, transition

from holdfast.sampling.coupling.pairs import coupled_step
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.mcmc.gibbs_metropolis import GibbsMetropolis, lattice_basis
from holdfast.sampling.mcmc.target import LaplaceTarget

PAIRS = 20_000


@pytest.mark.parametrize("name", SMALL)
def test_each_chain_of_a_pair_follows_the_transition_matrix(name: str) -> None:
    kernel, points, _ = support(name)
    matrix = transition(kernel, points)
    size = points.shape[0]
    for i, j in ((0, size - 1), (size // 2, size // 3)):
        one, other = (at(kernel, np.tile(points[k], (PAIRS, 1))) for k in (i, j))
        ended = coupled_step(kernel, one, other, SeededEntropy(i))
        for k, after in zip((i, j), ended, strict=True):
            row = dict(zip(map(tuple, points.tolist()), matrix[k].tolist(), strict=True))
            assert p_value(after.points, row) > LEVEL


@pytest.mark.parametrize("name", SMALL)
def test_chains_meet_and_stay_together(name: str) -> None:
    kernel, points, _ = support(name)
    entropy = SeededEntropy(3)
    chosen = np.random.default_rng(0).integers(points.shape[0], size=(2, 300))
    one, other = (at(kernel, points[which]) for which in chosen)
    together = (one.points == other.points).all(axis=1)
    for step in range(1, 801):
        one, other = coupled_step(kernel, one, other, entropy)
        now = (one.points == other.points).all(axis=1)
        assert now[together].all()
        together = now
        if step >= 100 and together.all():
            break
    assert together.all()


@pytest.mark.parametrize("scan", ["joint", "sweep"])
def test_chains_on_the_whole_lattice_meet_and_stay_together(scan: str) -> None:
    target = LaplaceTarget(Fraction(1), np.zeros(9, dtype=np.int64), "l2")
    kernel = GibbsMetropolis(
        lattice_basis(two_way(3, 3)), target, Fraction(3, 4), "joint" if scan == "joint" else "sweep"
    )
    entropy = SeededEntropy(3)
    one, other = kernel.start(200, entropy), kernel.start(200, entropy)
    together = np.zeros(200, dtype=np.bool_)
    for _ in range(1500 if scan == "joint" else 400):
        one, other = coupled_step(kernel, one, other, entropy)
        now = (one.points == other.points).all(axis=1)
        assert now[together].all()
        together = now
    assert together.all()


def test_an_unknown_kernel_is_refused() -> None:
    kernel, points, _ = support("walk")
    state = at(kernel, points)

    class Other:
        updates = 1

    with pytest.raises(TypeError, match="no coupling is known for Other"):
        coupled_step(Other(), state, state, SeededEntropy(0))  # type: ignore[arg-type]
