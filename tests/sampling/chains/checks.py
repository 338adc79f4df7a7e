"""What holds for every kernel: its law, its steps, its couplings, and the bound that they give."""

from collections.abc import Callable

import numpy as np
from tests.sampling.chains.cases import Case

from holdfast.sampling.chains.coupling import meeting_times, tv_bound
from holdfast.sampling.chains.kernel import coupled_step, run
from holdfast.sampling.entropy import SeededEntropy
from holdfast.testing.goodness import LEVEL, p_value

CHAINS = 15_000
PAIRS = 20_000
RUNS = 2000


def one_step_leaves_the_target_invariant(case: Case) -> None:
    flow = case.law[:, None] * case.matrix
    assert case.points.shape[0] > 4
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)  # detailed balance
    np.testing.assert_allclose(case.law @ case.matrix, case.law, atol=1e-14)


def every_point_is_reached(case: Case) -> None:
    far = np.linalg.matrix_power(case.matrix, 4000)
    np.testing.assert_allclose(far, np.tile(case.law, (case.points.shape[0], 1)), atol=1e-9)


def steps_follow_the_transition_matrix(case: Case) -> None:
    for i in (0, case.points.shape[0] // 2):
        state = case.at(np.tile(case.points[i], (CHAINS, 1)))
        after, info = case.kernel.step(state, SeededEntropy(i))
        assert p_value(after.points, case.row(i)) > LEVEL
        assert (info.accepted <= info.updates).all()
        assert (state.points == case.points[i]).all()  # what is given is not changed
        assert (case.kernel.target.statistic(after.points) == after.statistic).all()


def many_chains_end_in_the_target(case: Case) -> None:
    away = abs(np.linalg.eigvals(case.matrix))
    gap = 1 - np.sort(away)[-2]
    iterations = int(np.ceil(8 / gap))  # exp(-8) is far below what the test can see
    entropy = SeededEntropy(5)
    final = run(case.kernel, case.kernel.start(CHAINS, entropy), iterations, entropy)
    assert p_value(final.points, case.listed(case.law)) > LEVEL
    for power in (0.8, 1.2):  # an epsilon that is off by a fifth
        wrong = case.law**power
        assert p_value(final.points, case.listed(wrong / wrong.sum())) < LEVEL


def each_chain_of_a_pair_follows_the_transition_matrix(case: Case) -> None:
    size = case.points.shape[0]
    for i, j in ((0, size - 1), (size // 2, size // 3)):
        one, other = (case.at(np.tile(case.points[k], (PAIRS, 1))) for k in (i, j))
        ended = coupled_step(case.kernel, one, other, SeededEntropy(i))
        for k, after in zip((i, j), ended, strict=True):
            assert p_value(after.points, case.row(k)) > LEVEL


def chains_meet_and_stay_together(case: Case) -> None:
    entropy = SeededEntropy(3)
    chosen = np.random.default_rng(0).integers(case.points.shape[0], size=(2, 300))
    one, other = (case.at(case.points[which]) for which in chosen)
    together = (one.points == other.points).all(axis=1)
    for step in range(1, 801):
        one, other = coupled_step(case.kernel, one, other, entropy)
        now = (one.points == other.points).all(axis=1)
        assert now[together].all()
        together = now
        if step >= 100 and together.all():
            break
    assert together.all()


def the_bound_dominates_the_true_distance(case: Case) -> None:
    truth = distances(case, 300)
    for lag in (1, 40):
        met = meeting_times(case.kernel, lag=lag, runs=RUNS, max_iterations=4000, entropy=SeededEntropy(8))
        assert met.unmet == 0
        assert (met.times > lag).all()
        for iterations in range(0, 301, 5):
            bound = tv_bound(met, iterations)
            assert bound.estimate <= bound.upper
            assert bound.upper >= truth[iterations]
            assert bound.upper > 0.001  # no number of zeros proves a zero
        assert lag == 1 or tv_bound(met, int(met.times.max())).upper < 0.02


def distances(case: Case, most: int) -> list[float]:
    """Return the true distance from the target after 0, 1, 2, ... steps from the centre."""
    now = (case.points == case.kernel.target.centre).all(axis=1).astype(np.float64)
    found = []
    for _ in range(most + 1):
        found.append(0.5 * float(np.abs(now - case.law).sum()))
        now = now @ case.matrix
    return found


CHECKS: tuple[Callable[[Case], None], ...] = (
    one_step_leaves_the_target_invariant,
    every_point_is_reached,
    steps_follow_the_transition_matrix,
    many_chains_end_in_the_target,
    each_chain_of_a_pair_follows_the_transition_matrix,
    chains_meet_and_stay_together,
    the_bound_dominates_the_true_distance,
)
