"""Differences, ratios and sums by labels: covered as often as they say, and points on invariants."""

from fractions import Fraction
from functools import cache
from math import ceil, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.mechanisms.topdown.small import spec

import holdfast
from holdfast.inference.contrasts import Contrast, EstimateReport
from holdfast.inference.intervals import intervals, simultaneous
from holdfast.inference.labels import selected
from holdfast.inference.ratios import bounded_ratio, hull, ratios
from holdfast.inference.released_intervals import Estimator
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.forms import Form
from holdfast.lattice.margins import LevelledAxis, MarginStrategy
from holdfast.lattice.points import lattice_points
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.system.errors import SpecError

LEVEL, DRAWS = Fraction(9, 10), 99
# 2 x 3 tables with their total kept: columns are measured nine times as well as cells
AXES = tuple(LevelledAxis(size, (np.arange(size),)) for size in (2, 3))
STRATEGY = MarginStrategy(AXES, ((0, 0),), (((1, 1), Fraction(1, 9)), ((0, 1), Fraction(1))))
TOTAL = csr_array(np.ones((1, 6), dtype=np.int64))
LAW = LatticeGaussianLaw(TOTAL, Fraction(1), form=Form.of(STRATEGY))
EVEN = LatticeGaussianLaw(TOTAL, Fraction(5))
TABLE = np.array([6, 9, 4, 12, 8, 7])
QUERIES = np.array([[1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 1, 0, 0, 0, 0], [2, 0, 0, -1, 0, 0]])


@cache
def enumerated() -> tuple[IntArray, FloatArray]:
    """Return the noises of the law with their probabilities, but for rare ones."""
    points = lattice_points(TOTAL.toarray(), 9)
    cells = points.reshape(-1, 2, 3)
    weight = np.exp(-((points**2).sum(axis=1) / 9 + (cells.sum(axis=1) ** 2).sum(axis=1)) / 2)
    some = weight > 1e-9
    return points[some], weight[some] / weight[some].sum()


def shares(halves: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return with which probability noise is within some half-widths, and strictly within."""
    points, chances = enumerated()
    errors = np.abs(points @ QUERIES.T)
    return chances @ (errors <= halves), chances @ (errors < halves)


@pytest.mark.parametrize("law", [LAW, EVEN])
def test_weighted_noise_is_covered_by_enumeration(law: LatticeGaussianLaw) -> None:
    """The level lies between covering with and without the outermost values, for the right weights only."""
    found = [
        shares(intervals(TABLE, law, TOTAL, csr_array(QUERIES), LEVEL, draws=DRAWS, seed=seed).half_width)
        for seed in range(60)
    ]
    closed, open_ = (np.array(part) for part in zip(*found, strict=True))
    slack = 3 * closed.std(axis=0) / 60**0.5 + 1e-9
    holds = (closed.mean(axis=0) >= 0.9 - slack) & (open_.mean(axis=0) <= 0.9 + slack)
    assert holds.all() == (law is LAW)


def test_weighted_noise_is_covered_together() -> None:
    points, chances = enumerated()
    errors = np.abs(points @ QUERIES.T)
    together = np.array(
        [
            chances @ (errors <= found.half_width).all(axis=1)
            for seed in range(60)
            for found in [simultaneous(TABLE, LAW, TOTAL, csr_array(QUERIES), LEVEL, draws=DRAWS, seed=seed)]
        ]
    )
    slack = 3 * together.std() / 60**0.5
    assert 0.9 - slack <= together.mean() <= 0.96


def inside(A: int, B: int, a: IntArray, b: IntArray, most: int, s: FloatArray) -> BoolArray:
    """Return which numbers agree with the release, by the definition."""
    errors = np.sort(np.abs(a[:, None] - b[:, None] * s), axis=0)[most]
    return np.asarray(np.abs(A - B * s) <= errors * (1 + 1e-12) + 1e-12)


def test_the_interval_of_a_ratio_has_all_that_agrees_and_no_more() -> None:
    rng = np.random.default_rng(8)
    grid = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 4001)])
    for _ in range(120):
        A, B = rng.integers(-10, 40, size=2).tolist()
        noise = rng.integers(-9, 10, size=(2, 19)) * rng.integers(0, 2, size=(2, 19))
        low, high = hull(A, B, noise[0], noise[1], 17)
        some = grid[inside(A, B, noise[0], noise[1], 17, grid)]
        if not some.size:  # perhaps between two points of the grid
            continue
        assert low <= some.min() * (1 + 1e-9)
        assert high >= some.max() * (1 - 1e-9)
        assert (high == inf) == (some.max() == grid[-1])
        step = grid[2] / grid[1] * (1 + 1e-9)
        assert high in (inf, 0.0) or high <= max(some.max() * step, grid[1])
        assert low >= min(some.min() / step, 1e4) or some.min() <= grid[1]


@pytest.mark.parametrize("asked", [LEVEL, Fraction(8, 10)])
def test_a_ratio_is_covered_by_enumeration(asked: Fraction) -> None:
    points, chances = enumerated()
    kept = chances > 2e-5
    points, chances = points[kept], chances[kept] / chances[kept].sum()
    above, below = QUERIES[0], QUERIES[2]
    truth = float(Fraction(int(above @ TABLE), int(below @ TABLE)))
    # numbers of the same joint error are covered alike
    pairs, which = np.unique(points @ np.array([above, below]).T, axis=0, return_inverse=True)
    weight = np.bincount(which.ravel(), chances)
    covered = []
    for seed in range(25):
        errors = LAW.sample(SeededEntropy(seed), 39) @ np.array([above, below]).T
        most = ceil(asked * 40) - 1
        held = [
            low <= truth <= high
            for first, second in pairs.tolist()
            for low, high in [
                hull(
                    int(above @ TABLE) + first, int(below @ TABLE) + second, errors[:, 0], errors[:, 1], most
                )
            ]
        ]
        covered.append(float(weight @ np.array(held)))
    share, slack = np.mean(covered), 3 * np.std(covered) / 5
    assert share >= float(asked) - slack
    assert share < float(asked) + 0.05 + slack


def test_ratios_over_what_is_known_are_exact() -> None:
    kept = csr_array(np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]))
    law = LatticeGaussianLaw(kept, Fraction(4))
    above = csr_array(np.array([[1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]]))
    below = csr_array(np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]))
    release = TABLE + law.sample(SeededEntropy(2), 1)[0]
    (share, fixed), _ = ratios(release, law, kept, (above, below), LEVEL)
    alone = intervals(release, law, kept, above, LEVEL)
    assert (share.low, share.high) == pytest.approx((max(alone.low[0], 0) / 19, alone.high[0] / 19))
    assert (fixed.low, fixed.estimate, fixed.high, fixed.determined) == (19 / 27, 19 / 27, 19 / 27, True)


def test_the_bound_of_a_ratio_of_estimates_leaves_out_what_disagrees_and_little_more(tmp_path: Path) -> None:
    """Beyond the ends all numbers disagree by the law of their own error; short of them they agree."""
    holdfast.release(spec(tmp_path, invariants=[{"total": True}]), tmp_path / "out", seed=4)
    found = Estimator.of(tmp_path / "out")
    assert found.nodes is not None
    leaves = found.nodes.estimates.tables[-1].shape[0]

    def asked(over: FloatArray, under: FloatArray, level: Fraction) -> Any:
        from holdfast.estimation.hierarchy.variances import NodeWeights

        first = over[:, None] * np.array([[1.0, 1.0, 0.0, 0.0]])  # young people of one tract
        second = under[:, None] * np.ones((1, 4))  # all of its county
        return found.laws.combined(
            [
                NodeWeights("tract", np.array([0]), first[None]),
                NodeWeights("county", np.array([0]), second[None]),
            ],
            level,
        )

    assert leaves == 24
    interval = bounded_ratio(asked, LEVEL)
    assert 0 < interval.low < interval.estimate < interval.high < 1
    width = interval.high - interval.low
    outside = np.concatenate(
        [interval.low - width * np.array([1e-6, 0.1, 1]), interval.high + width * np.array([1e-6, 0.1, 10])]
    )
    beyond = asked(np.ones(6), -outside, LEVEL)
    assert (np.abs(beyond.estimate) > beyond.half_width).all()
    within = asked(
        np.ones(2), -np.array([interval.low + 0.02 * width, interval.high - 0.02 * width]), Fraction(91, 100)
    )
    assert (np.abs(within.estimate) <= within.half_width).all()


def report(folder: Path, *contrasts: Contrast, **more: Any) -> EstimateReport:
    return Estimator.of(folder).contrasts(contrasts, **more)


@pytest.fixture(scope="module")
def counties(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("geography")
    holdfast.release(spec(folder), folder / "out", seed=1)
    return folder / "out"


def test_contrasts_of_nodes_are_of_any_levels(counties: Path) -> None:
    one = report(counties, Contrast.difference("tract=911,sex=f", "tract=921,sex=f")).rows[0]
    parts = (
        holdfast.intervals(counties, codes=["911"], where="sex=f"),
        holdfast.intervals(counties, codes=["921"], where="sex=f"),
    )
    first, second = (part.to_frame()["estimate"][0] for part in parts)
    assert one.estimate == pytest.approx(first - second)
    both = report(counties, Contrast.sum([(1, "tract=911"), (1, "tract=912")])).rows[0]
    union = holdfast.intervals(counties, codes=["911", "912"], margin=[]).to_frame()
    assert (both.estimate, both.low, both.high) == pytest.approx(
        (union["estimate"][0], union["low"][0], union["high"][0])
    )
    # tracts of one county add up to a total that is kept: their errors are not independent
    rest = report(counties, Contrast.sum([(1, "tract=911|912|913"), (-1, "county=91")])).rows[0]
    assert (rest.estimate, rest.low, rest.high, rest.kept_exactly) == (0, 0, 0, True)
    share = report(counties, Contrast.ratio("county=91,age=18", {"county": "91"})).rows[0]
    alone = holdfast.intervals(counties, codes=["91"], where={"age": [18, 99]}).to_frame()
    known = holdfast.intervals(counties, codes=["91"], margin=[]).to_frame()["estimate"][0]
    assert (share.low, share.high) == pytest.approx((alone["low"][0] / known, alone["high"][0] / known))


def test_contrasts_have_margins_and_levels(counties: Path) -> None:
    found = report(
        counties,
        Contrast.difference("age=0", "age=18"),
        Contrast.ratio("age=18", "total"),
        margin=["sex"],
        place="county",
        together=True,
    )
    assert found.to_frame().columns == ["of", "county", "sex", "estimate", "low", "high", "kept_exactly"]
    assert found.to_frame().height == 8
    alone = report(counties, Contrast.difference("age=0", "age=18"), margin=["sex"], place="county")
    assert all(a.low > b.low for a, b in zip(alone.rows, found.rows, strict=False))
    of_one = report(counties, Contrast.difference("county=92,age=0", "county=92,age=18"), margin=["sex"])
    assert [row.estimate for row in of_one.rows] == pytest.approx([row.estimate for row in alone.rows[2:]])
    assert [row.low for row in of_one.rows] == pytest.approx([row.low for row in alone.rows[2:]])


@pytest.mark.parametrize(
    ("contrast", "more", "said"),
    [
        (Contrast.difference("tract=911", "tract=9111"), {}, "level '9111', which tract does not have"),
        (Contrast.difference("county=91,tract=921", "total"), {}, "name places that lie in each other"),
        (Contrast.difference("county=91", "county=92"), {"place": "tract"}, "leave one of them out"),
        (Contrast.difference("county=91", "county=92"), {"margin": ["tract"]}, "a level of the geography"),
        (Contrast.difference("sex=f", "sex=f,age=0|18"), {}, "the same selection twice, sex=f"),
        (Contrast.ratio("sexx=f", "total"), {}, "did you mean 'sex'"),
    ],
)
def test_what_makes_no_sense_of_nodes_is_told(
    counties: Path, contrast: Contrast, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(SpecError, match=said):
        report(counties, contrast, **more)


def test_words_are_levels_before_they_are_anything_else() -> None:
    from holdfast.data.schema import Attributes

    levels = Attributes.of({"a": ["x,b=y", "x", "1", "2|3", "2", "3", "1..2"], "b": ["y", "z"]})
    known = {each.name: each for each in levels}
    assert selected("a=x,b=y", known, "where") == {"a": ("x,b=y",)}
    assert selected("b=z,a=x", known, "where") == {"b": ("z",), "a": ("x",)}
    assert selected("a=2|3", known, "where") == {"a": ("2|3",)}
    assert selected("a=1|x", known, "where") == {"a": ("1", "x")}
    assert selected("a=1..2", known, "where") == {"a": ("1..2",)}
    assert selected("a=2..", known, "where") == {"a": ("2", "3")}
    assert selected({"a": [1, 2], "b": "y"}, known, "where") == {"a": ("1", "2"), "b": ("y",)}
    assert selected("total", known, "where") == {}
    with pytest.raises(SpecError, match="has no level: widen it"):
        selected("a=7..9", known, "where")
