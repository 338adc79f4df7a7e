"""Every kernel: its transition matrix leaves the target invariant, and its steps follow that matrix."""

import numpy as np
import pytest
from tests.goodness import LEVEL, p_value
from tests.sampling.mcmc.small import SMALL, at, support, transition

from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.mcmc.kernel import run

CHAINS = 15_000


@pytest.mark.parametrize("name", SMALL)
def test_one_step_leaves_the_target_invariant(name: str) -> None:
    kernel, points, law = support(name)
    matrix = transition(kernel, points)
    flow = law[:, None] * matrix
    assert points.shape[0] > 4
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)  # detailed balance
    np.testing.assert_allclose(law @ matrix, law, atol=1e-14)


@pytest.mark.parametrize("name", SMALL)
def test_every_point_is_reached(name: str) -> None:
    kernel, points, law = support(name)
    far = np.linalg.matrix_power(transition(kernel, points), 4000)
    np.testing.assert_allclose(far, np.tile(law, (points.shape[0], 1)), atol=1e-9)


@pytest.mark.parametrize("name", SMALL)
def test_steps_follow_the_transition_matrix(name: str) -> None:
    kernel, points, _ = support(name)
    matrix = transition(kernel, points)
    for i in (0, points.shape[0] // 2):
        state = at(kernel, np.tile(points[i], (CHAINS, 1)))
        after, info = kernel.step(state, SeededEntropy(i))
        row = dict(zip(map(tuple, points.tolist()), matrix[i].tolist(), strict=True))
        assert p_value(after.points, row) > LEVEL
        assert (info.accepted <= info.updates).all()
        assert (state.points == points[i]).all()  # what is given is not changed
        assert (at(kernel, after.points).coordinates == after.coordinates).all()
        assert (kernel.target.statistic(after.points) == after.statistic).all()


@pytest.mark.parametrize("name", SMALL)
def test_many_chains_end_in_the_target(name: str) -> None:
    kernel, points, law = support(name)
    away = abs(np.linalg.eigvals(transition(kernel, points)))
    gap = 1 - np.sort(away)[-2]
    iterations = int(np.ceil(8 / gap))  # exp(-8) is far below what the test can see
    entropy = SeededEntropy(5)
    final = run(kernel, kernel.start(CHAINS, entropy), iterations, entropy)
    fit = p_value(final.points, dict(zip(map(tuple, points.tolist()), law.tolist(), strict=True)))
    assert fit > LEVEL
    wrong = law**1.2 / (law**1.2).sum()  # an epsilon that is off by a fifth
    assert p_value(final.points, dict(zip(map(tuple, points.tolist()), wrong.tolist(), strict=True))) < LEVEL
