"""The bound of meeting times; that it lies above the true distance is checked for every kernel."""

from math import inf

import numpy as np
import pytest
from scipy import stats
from tests.sampling.chains.checks import RUNS, distances
from tests.sampling.chains.small import SMALL

from holdfast.sampling.chains.coupling import (
    ENOUGH,
    UNMET,
    MeetingTimes,
    iterations_for,
    meeting_times,
    runs_for,
    tv_bound,
)
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SamplingError


def test_the_limit_covers_as_often_as_it_says() -> None:
    # tau - L geometric on 1, 2, ...: E[f] in closed form. 1000 experiments of 100 runs at 0.9.
    stay, lag, iterations = 0.95, 10, 60
    truth = stay**iterations / (1 - stay**lag)
    uniform = np.random.default_rng(1).random((1000, 100))
    times = lag + np.ceil(np.log(uniform) / np.log(stay)).astype(np.int64)
    covered = sum(tv_bound(MeetingTimes(lag, row, 10**6), iterations, 0.9).upper >= truth for row in times)
    assert covered >= stats.binom.ppf(0.001, 1000, 0.9)


def test_the_estimate_is_the_mean_of_the_theorem() -> None:
    times = np.array([11, 12, 20, 21, 40] * 10)
    bound = tv_bound(MeetingTimes(10, times, 100), 5)
    # (tau - 15) / 10, rounded up, not below 0
    assert bound.estimate == pytest.approx(np.mean([0, 0, 1, 1, 3]))
    assert bound.upper == 1
    assert (bound.lag, bound.runs, bound.iterations, bound.confidence) == (10, 50, 5, 0.99)
    far = tv_bound(MeetingTimes(10, times, 100), 1000)
    assert far.estimate == 0
    assert far.upper > 1 - 0.005 ** (1 / 50)


def test_pairs_that_do_not_meet_leave_no_bound() -> None:
    kernel = SMALL["walk"]().kernel
    meetings = meeting_times(kernel, lag=2, runs=100, max_iterations=4, entropy=SeededEntropy(0))
    assert 0 < meetings.unmet < 100
    assert (meetings.times == UNMET).sum() == meetings.unmet
    assert tv_bound(meetings, 10**6).upper == inf
    with pytest.raises(SamplingError, match="did not meet in 4 iterations"):
        iterations_for(0.5, meetings)


def test_a_run_length_is_the_first_that_does() -> None:
    kernel = SMALL["walk"]().kernel
    meetings = meeting_times(kernel, lag=40, runs=RUNS, max_iterations=4000, entropy=SeededEntropy(8))
    length = iterations_for(0.05, meetings)
    assert tv_bound(meetings, length).upper <= 0.05 < tv_bound(meetings, length - 1).upper
    assert distances(SMALL["walk"](), length)[-1] <= 0.05
    assert iterations_for(1.0, meetings) == 0
    with pytest.raises(SamplingError, match="use more runs"):
        iterations_for(1e-6, meetings)


@pytest.mark.parametrize("bound", [0.01, 1e-3])
def test_as_many_runs_as_a_bound_needs(bound: float) -> None:
    # 40 runs are apart for long, all others met at once; after 40 steps all have met
    runs = runs_for(bound)
    one_window, two_windows = (np.where(np.arange(runs) < 40, late, 11) for late in (20, 30))
    assert tv_bound(MeetingTimes(10, one_window, 100), 40).upper <= bound
    assert tv_bound(MeetingTimes(10, two_windows, 100), 40).upper <= 1.1 * bound
    assert tv_bound(MeetingTimes(10, one_window[: runs // 3], 100), 40).upper > bound


def test_few_runs_are_never_too_few() -> None:
    assert runs_for(0.9) == ENOUGH
    for wrong in (0, 1, -0.5):
        with pytest.raises(ValueError, match="between 0 and 1"):
            runs_for(wrong)


def test_questions_without_sense_are_refused() -> None:
    kernel = SMALL["walk"]().kernel
    for lag, runs, most in ((0, 10, 10), (1, 0, 10), (10, 10, 10)):
        with pytest.raises(ValueError, match="at least 1"):
            meeting_times(kernel, lag=lag, runs=runs, max_iterations=most, entropy=SeededEntropy(0))
    few = MeetingTimes(1, np.full(10, 2), 10)
    with pytest.raises(ValueError, match="at least 30 runs"):
        tv_bound(few, 1)
    for iterations, confidence in ((-1, 0.9), (1, 1.0), (1, 0.0)):
        with pytest.raises(ValueError, match="confidence"):
            tv_bound(few, iterations, confidence)
