"""Intervals cover with their level, over many draws of the noise itself."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tests.estimation.tree.dense import truth

from holdfast.data.spine import Spine
from holdfast.errors import SpecError
from holdfast.estimation.tree.covariance import variances
from holdfast.estimation.tree.measured import Measured
from holdfast.estimation.tree.normal import intervals_at, intervals_of_union, normal_intervals
from holdfast.estimation.tree.passes import Estimates, estimate
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.numbers.gaussian import DiscreteGaussian

CODES = ["1a", "1b", "1c", "2a", "2b", "3a", "3b", "3c", "3d"]
SPINE = Spine.from_prefixes(CODES, {"state": 0, "county": 1, "block": 2})
LEAVES = np.random.default_rng(5).integers(0, 40, size=(len(CODES), 4)).astype(np.float64)
QUERIES = np.vstack([np.eye(4), np.ones((1, 4))])
VARIANCES = {"state": 9, "county": 16, "block": 25}
RUNS = 500


def runs(kept: str) -> list[Estimates]:
    """Return the estimates of many runs, with the totals of a level kept."""
    entropy = SeededEntropy(13)
    noise = {
        name: DiscreteGaussian(Fraction(v)).sample(entropy, RUNS * len(SPINE.codes(name)) * len(QUERIES))
        for name, v in VARIANCES.items()
    }
    return [
        estimate(
            SPINE,
            [_level(name, noise[name].reshape(RUNS, -1, len(QUERIES))[run], kept) for name in VARIANCES],
        )
        for run in range(RUNS)
    ]


def _level(name: str, noise: NDArray[np.int64], kept: str) -> Measured:
    x = truth(SPINE, LEAVES, name)
    total = csr_array(np.ones((1, 4))) if name == kept else None
    return Measured.of(
        len(x),
        4,
        queries=csr_array(QUERIES),
        values=x @ QUERIES.T + noise,
        variances=np.full(len(QUERIES), float(VARIANCES[name])),
        invariants=total,
        exact=None if total is None else x.sum(axis=1, keepdims=True),
    )


@pytest.mark.parametrize("kept", ["none", "county"])
def test_intervals_cover_and_estimates_are_unbiased(kept: str) -> None:
    """A mean over 500 runs is off by more than 4.5 standard errors once in 150,000 times."""
    found = runs(kept)
    for name in VARIANCES:
        exact = truth(SPINE, LEAVES, name) @ QUERIES.T
        variance = variances(found[0], name, QUERIES)
        errors = np.stack([each.at(name) @ QUERIES.T - exact for each in found])
        assert (np.abs(errors.mean(axis=0)) <= 4.5 * np.sqrt(variance / RUNS) + 1e-9).all()
        open_ = variance > 0
        assert open_.all() == (kept == "none" or name == "block")  # what adds up to fixed totals is fixed
        ratio = (errors**2).mean(axis=0)[open_] / variance[open_]
        assert 0.9 < ratio.mean() < 1.1
        each = [intervals_at(one, name, QUERIES, 0.9) for one in found]
        covered = [(one.low <= exact) & (exact <= one.high) for one in each]
        assert 0.88 < np.stack(covered)[:, open_].mean() < 0.92


def test_the_interval_of_a_union_covers() -> None:
    nodes = {"county": np.array([1]), "block": np.array([0, 2, 5])}
    exact = QUERIES @ (truth(SPINE, LEAVES, "county")[1] + LEAVES[[0, 2, 5]].sum(axis=0))
    covered = []
    for one in runs("state"):
        each = intervals_of_union(one, nodes, QUERIES, 0.9)
        covered.append((each.low <= exact) & (exact <= each.high))
    assert 0.88 < np.mean(covered) < 0.92


def test_what_is_fixed_is_a_point_and_what_is_open_is_a_line() -> None:
    found = normal_intervals(np.array([3.0, 4.0]), np.array([0.0, np.inf]), 0.9)
    assert found.determined.tolist() == [True, False]
    assert (found.low[0], found.high[0]) == (3, 3)
    assert (found.low[1], found.high[1]) == (-np.inf, np.inf)


@pytest.mark.parametrize("level", [0, 1, 1.5, float("nan")])
def test_a_level_is_a_probability(level: float) -> None:
    with pytest.raises(SpecError, match="give a probability between 0 and 1"):
        normal_intervals(np.zeros(1), np.ones(1), level)
