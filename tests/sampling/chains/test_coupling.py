"""Laws by chains: their length from public stand-ins, held against the exact distance of a small chain."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.markov import markov_basis_two_way
from holdfast.sampling.chains import coupling
from holdfast.sampling.chains.coupling import chain_length, runs_for
from holdfast.sampling.chains.kernel import ChainLaw, LaplaceTarget, MarkovWalk, non_negative
from holdfast.sampling.chains.row_pairs import RowPairs
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, p_value, two_way
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

Array = NDArray[np.int64]
MARGINS = two_way(2, 3)
CENTRE = np.array([2, 1, 0, 0, 1, 2])
TABLES = conforming_tables(Universe.of(csr_array(MARGINS), MARGINS @ CENTRE), 100)
EPSILON, JUMP = Fraction(1, 4), Fraction(1)


def walk(centre: Array) -> MarkovWalk:
    return MarkovWalk(markov_basis_two_way(2, 3), LaplaceTarget(EPSILON, centre, "l1", non_negative), JUMP)


def target(centre: Array) -> NDArray[np.float64]:
    weight = np.exp(-float(EPSILON) * np.abs(TABLES - centre).sum(axis=1))
    return np.asarray(weight / weight.sum())


def transitions(centre: Array) -> NDArray[np.float64]:
    """Return the matrix of the walk, by its definition."""
    place = {tuple(table): i for i, table in enumerate(TABLES.tolist())}
    law, moves = target(centre), markov_basis_two_way(2, 3)
    steps = np.arange(-40, 41)
    share = np.exp(-float(JUMP) * np.abs(steps))
    share /= share.sum()
    matrix = np.zeros((len(TABLES), len(TABLES)))
    for i, table in enumerate(TABLES):
        for move in moves:
            for step, chance in zip(steps, share, strict=True):
                j = place.get(tuple((table + step * move).tolist()))
                if j is not None:
                    matrix[i, j] += chance / len(moves) * min(1.0, law[j] / law[i])
        matrix[i, i] += 1 - matrix[i].sum()
    return matrix


def exact_distance(centre: Array, iterations: int) -> float:
    """Return the total variation distance of the chain from its target."""
    start = (centre == TABLES).all(axis=1).astype(np.float64)
    after = start @ np.linalg.matrix_power(transitions(centre), iterations)
    return float(np.abs(after - target(centre)).sum() / 2)


def length_for(distance: float, runs: int = 2000) -> tuple[int, float]:
    found = chain_length(
        [walk(table) for table in TABLES[:3]],
        distance=distance,
        lag=10,
        runs=runs,
        max_iterations=2000,
        entropy=SeededEntropy(11),
    )
    assert found.stand_ins == 3
    assert found.distance <= distance
    return found.iterations, found.distance


def test_the_bound_covers_the_exact_distance_at_every_stand_in() -> None:
    iterations, distance = length_for(0.02)
    for table in TABLES[:3]:
        assert exact_distance(table, iterations) <= distance
    assert max(exact_distance(table, iterations // 6) for table in TABLES[:3]) > distance


def test_a_closer_law_takes_longer() -> None:
    assert length_for(0.02)[0] > length_for(0.1)[0]


def test_the_draws_have_the_law_after_that_many_steps() -> None:
    law = ChainLaw(walk(CENTRE), 5)
    start = (TABLES == CENTRE).all(axis=1).astype(np.float64)
    draws = law.sample(SeededEntropy(3), 30_000)

    def after(steps: int) -> dict[tuple[int, ...], float]:
        shares = start @ np.linalg.matrix_power(transitions(CENTRE), steps)
        return dict(zip(map(tuple, TABLES.tolist()), shares.tolist(), strict=True))

    assert p_value(draws, after(5)) > LEVEL
    assert p_value(draws, after(4)) < LEVEL / 1000
    assert p_value(draws, after(200)) < LEVEL / 1000  # the target is still some way off


def test_lag_and_runs_follow_from_the_distance() -> None:
    table = np.array([2, 0, 1, 1, 0, 3, 1, 1, 0, 2, 2, 0, 1, 0, 1, 2])
    kernel = RowPairs(np.arange(16).reshape(4, 4), LaplaceTarget(EPSILON, table, "l1", non_negative))
    found = chain_length([kernel], distance=0.01, max_iterations=500, entropy=SeededEntropy(2))
    assert found.distance <= 0.01
    assert 1 < found.lag < 20
    assert 1000 < found.runs < 1100
    assert found.lag < found.iterations < 40
    # twice as long makes no difference that is seen
    ends = [
        ChainLaw(kernel, n).sample(SeededEntropy(n), 4000) for n in (found.iterations, 2 * found.iterations)
    ]
    far = [np.abs(end - table).sum(axis=1) for end in ends]
    assert abs(far[0].mean() - far[1].mean()) < 4 * far[1].std() / 4000**0.5


def test_a_distance_that_takes_too_many_runs_is_refused_at_once() -> None:
    with pytest.raises(SamplingError, match="larger delta"):
        chain_length([walk(CENTRE)], distance=1e-6, max_iterations=1000, entropy=SeededEntropy(1))


def test_pairs_that_never_meet_are_noticed_by_a_few() -> None:
    with pytest.raises(SamplingError, match="of 100 pairs of chains did not meet in 3 iterations"):
        chain_length([walk(CENTRE)], distance=1e-3, max_iterations=3, entropy=SeededEntropy(1))


def test_the_log_probability_is_that_of_the_target() -> None:
    law = ChainLaw(walk(CENTRE), 5)
    log_prob = law.log_prob(TABLES)
    assert np.allclose(np.exp(log_prob) / np.exp(log_prob).sum(), target(CENTRE))
    assert np.isneginf(law.log_prob(CENTRE[None] - 3)).all()


def test_what_the_runs_cannot_show_is_refused() -> None:
    with pytest.raises(SamplingError, match="use more runs"):
        length_for(1e-6, runs=100)
    with pytest.raises(SamplingError, match="at least one stand-in"):
        chain_length([], distance=0.1, lag=1, runs=100, max_iterations=10, entropy=SeededEntropy(1))
    with pytest.raises(SamplingError, match="not between 0 and 1"):
        chain_length([walk(CENTRE)], distance=0, max_iterations=10, entropy=SeededEntropy(1))


def test_runs_are_doubled_until_they_can_show_the_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    found = chain_length([walk(CENTRE)], distance=0.05, max_iterations=1000, entropy=SeededEntropy(0))
    assert found.distance <= 0.05
    assert found.runs == 2 * runs_for(0.05)  # which allow for shorter tails than this chain has
    assert exact_distance(CENTRE, found.iterations) <= found.distance
    monkeypatch.setattr(coupling, "MOST_RUNS", runs_for(0.05))
    with pytest.raises(SamplingError, match="ask for a larger delta"):
        chain_length([walk(CENTRE)], distance=0.05, max_iterations=1000, entropy=SeededEntropy(0))
