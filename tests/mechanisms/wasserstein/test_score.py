"""Scores: how far records move them, bounds on boxes, and floats beside balls."""

from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.wasserstein.score import (
    SMALL,
    LinearScore,
    LogisticScore,
    ParameterGrid,
    QuantileScore,
    Score,
    ScoreDensity,
)

NAMES = ["mean", "quantile", "linear", "logistic", "two predictors", "left out"]


def score_of(name: str, steps: int = 40) -> Score:
    """Return a score of people with a response of 0, 1 or 2 (0 or 1), and predictors between -1 and 1."""
    one, nothing = Fraction(1), Fraction(0)
    sets: tuple[IntArray, ...]
    ends = [Fraction(-1), Fraction(1, 3), one]
    if name in ("mean", "quantile"):
        responses = tuple(map(Fraction, range(3)))
        sets, grid = (np.arange(3),), ParameterGrid((Fraction(-1),), (Fraction(5, 2),), steps)
        if name == "mean":
            return LinearScore(((one,),) * 3, responses, sets, grid)
        return QuantileScore(((one,),) * 3, responses, sets, grid, level=Fraction(1, 3))
    predictors = 2 if name == "two predictors" else 1
    kinds = list(product(map(Fraction, range(2)), *[ends] * predictors))
    rows = tuple((one, *f) for _, *f in kinds)
    responses = tuple(r for r, *_ in kinds)
    among = sorted({k[1:] for k in kinds})
    sets = tuple(np.flatnonzero([k[1:] == key for k in kinds]) for key in among)
    grid = ParameterGrid((Fraction(-2),) * (1 + predictors), (Fraction(3),) * (1 + predictors), steps)
    if name == "left out":
        rows, responses = (*rows, (nothing,) * 2), (*responses, nothing)
        sets = (np.arange(len(rows)),)
    kind = LinearScore if name in ("linear", "left out") else LogisticScore
    return kind(rows, responses, sets, grid)


def density_of(name: str, counts: IntArray, kappa: str = "1/2") -> ScoreDensity:
    score = score_of(name)
    return ScoreDensity(score, counts, Fraction(kappa), score.reach * SMALL)


@st.composite
def boxes(draw: st.DrawFn) -> tuple[ScoreDensity, IntArray, IntArray]:
    """Draw a density and a box of its grid."""
    name = draw(st.sampled_from(NAMES))
    kinds = len(score_of(name).features)
    counts = np.array(draw(st.lists(st.sampled_from([0, 1, 7, 10_000]), min_size=kinds, max_size=kinds)))
    density = density_of(name, counts, draw(st.sampled_from(["1/100", "1", "40"])))
    ends = [sorted(draw(st.tuples(st.integers(0, 40), st.integers(0, 40)))) for _ in density.sizes]
    return density, np.array([[low for low, _ in ends]]), np.array([[high for _, high in ends]])


@settings(deadline=None, max_examples=80)
@given(boxes(), st.integers(0, 2**32))
def test_no_point_of_a_box_is_above_its_bound(
    box: tuple[ScoreDensity, IntArray, IntArray], seed: int
) -> None:
    density, first, last = box
    bound = density.upper(first, last)[0]
    points = np.random.default_rng(seed).integers(first, last, (300, first.shape[1]), endpoint=True)
    points = np.concatenate([points, first, last])
    logs, off = density.log_density(points)
    assert (logs <= bound + off).all()
    with flint.ctx.workprec(120):
        assert all(float(density.ball(point).mid()) <= bound for point in points[-8:])


@settings(deadline=None, max_examples=60)
@given(boxes())
def test_floats_are_no_farther_off_than_they_say(box: tuple[ScoreDensity, IntArray, IntArray]) -> None:
    density, first, last = box
    points = np.concatenate([first, last, (first + last) // 2])
    logs, off = density.log_density(points)
    with flint.ctx.workprec(200):
        exact = [density.ball(point) for point in points]
        assert all(abs(float(ball - log)) <= o for ball, log, o in zip(exact, logs, off, strict=True))
    records = 1 + int(density.counts.sum())
    assert (off < 1e-6 * (1 + np.abs(logs) + float(density.kappa) * records)).all()


@pytest.mark.parametrize("name", NAMES)
def test_one_record_moves_the_weight_by_kappa_at_most(name: str) -> None:
    """For every change of one record within its set, at every point; and somewhere it does."""
    score = score_of(name)
    points = np.stack(np.meshgrid(*[np.arange(0, 41, 4)] * len(score.grid.low), indexing="ij"), axis=-1)
    points = points.reshape(-1, len(score.grid.low))
    counts = np.full(len(score.features), 2)
    base = density_of(name, counts, "1").log_density(points)[0]
    most = 0.0
    for members in score.sets:
        for one, other in product(members.tolist(), repeat=2):
            moved = counts.copy()
            moved[one] -= 1
            moved[other] += 1
            change = np.abs(density_of(name, moved, "1").log_density(points)[0] - base)
            most = max(most, float(change.max()))
    assert 0.5 < most <= 1 + 1e-9


def test_a_score_that_records_do_not_move_says_so() -> None:
    one = (Fraction(1),)
    grid = ParameterGrid((Fraction(0),), (Fraction(1),), 4)
    still = LinearScore((one, one), (Fraction(0), Fraction(1)), (np.array([0]), np.array([1])), grid)
    assert not still.moves
    assert LinearScore((one, one), (Fraction(0), Fraction(1)), (np.array([0, 1]),), grid).moves
    assert still.reach == 2


def test_the_gradient_of_a_quantile_is_the_nearest_to_zero() -> None:
    """Four people at 0, one at 1, five at 2: the median is anything from 1 to 2, and no point is better."""
    score = score_of("quantile", steps=7)
    half = QuantileScore(score.features, score.response, score.sets, score.grid, level=Fraction(1, 2))
    density = ScoreDensity(half, np.array([4, 1, 5]), Fraction(1), half.reach * SMALL)
    logs = density.log_density(np.arange(8)[:, None])[0]  # points -1, -1/2, 0, 1/2, 1, 3/2, 2, 5/2
    assert logs[2:7].tolist() == [-1.0, -1.0, 0.0, 0.0, 0.0]
    assert logs[0] < -1000  # nobody can be below 0, so nobody is protected by an estimate there
    assert logs[7] < -1000
