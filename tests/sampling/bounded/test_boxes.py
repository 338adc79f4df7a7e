"""Laws on grids by boxes, against all of their points."""

from dataclasses import dataclass

import flint
import numpy as np
import pytest
from scipy.special import logsumexp

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.bounded import boxes
from holdfast.sampling.bounded.boxes import BoxedLaw
from holdfast.sampling.entropy import SeededEntropy
from holdfast.testing.goodness import LEVEL, p_value

DRAWS = 10_000


@dataclass(frozen=True)
class Hill:
    """exp(-rate times the largest distance of a coordinate from a top); bounds may be rough on purpose."""

    sizes: tuple[int, ...]
    top: tuple[int, ...]
    rate: float = 0.25
    rough: float = 0.0
    off: float = 1e-12

    def _largest(self, points: IntArray) -> IntArray:
        return np.asarray(np.abs(points - np.array(self.top)).max(axis=1))

    def log_density(self, points: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the log density, and how far off it is said to be."""
        found = -self.rate * self._largest(points).astype(np.float64)
        return found, np.full(found.shape, self.off)

    def ball(self, point: IntArray) -> flint.arb:
        """Return a ball around it."""
        return -flint.arb(self.rate) * int(self._largest(point[None])[0])

    def upper(self, first: IntArray, last: IntArray) -> FloatArray:
        """Return what it is at most in a box, and more."""
        top = np.array(self.top)
        nearest = np.maximum(np.maximum(first - top, top - last), 0).max(axis=1)
        return np.asarray(-self.rate * nearest + self.rough)


def listed(hill: Hill, *, by: float = 1.0) -> dict[tuple[int, ...], float]:
    points = np.stack(np.meshgrid(*map(np.arange, hill.sizes), indexing="ij"), axis=-1)
    points = points.reshape(-1, len(hill.sizes))
    logs = by * hill.log_density(points)[0]
    return dict(zip(map(tuple, points.tolist()), np.exp(logs - logsumexp(logs)).tolist(), strict=True))


HILLS = {
    "a line": Hill((60,), (7,)),
    "a plane": Hill((30, 9), (29, 4), 0.5),
    "a cube": Hill((6, 7, 8), (0, 3, 9), 0.75),
    "rough bounds": Hill((30, 9), (3, 4), 0.5, rough=1.5),
    "one point": Hill((1,), (0,)),
    "floats that decide nothing": Hill((20,), (7,), off=2.0),
}


@pytest.mark.parametrize("name", HILLS)
def test_draws_follow_the_listed_law(name: str) -> None:
    hill = HILLS[name]
    law = BoxedLaw(hill)
    size = 300 if hill.off > 1 else DRAWS  # each of these is decided by balls
    drawn = law.sample(SeededEntropy(1), size)
    assert np.isfinite(law.log_prob(drawn)).all()
    if hill.sizes != (1,):
        assert p_value(drawn, listed(hill)) > LEVEL
    if size == DRAWS and hill.sizes != (1,):
        assert p_value(drawn, listed(hill, by=1.2)) < LEVEL / 1000


@pytest.mark.parametrize("most", [1, 4, 100])
def test_however_many_boxes_there_are(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "MOST_BOXES", most)
    hill = HILLS["a plane"]
    law = BoxedLaw(hill)
    assert p_value(law.sample(SeededEntropy(2), DRAWS), listed(hill)) > LEVEL


def test_boxes_are_a_partition() -> None:
    hill = Hill((50, 40), (12, 30), 2.0)
    first, last, bounds = BoxedLaw(hill)._boxes
    seen = np.zeros(hill.sizes, dtype=np.int64)
    for low, high, bound in zip(first, last, bounds, strict=True):
        seen[low[0] : high[0] + 1, low[1] : high[1] + 1] += 1
        assert hill.upper(low[None], high[None])[0] == bound
    assert (seen == 1).all()
    assert first.shape[0] > 4


def test_a_bound_that_is_too_low_is_noticed() -> None:
    """A density above its bound is an error, and never a wrong draw."""
    with pytest.raises(ArithmeticError, match="not between 0 and 1"):
        BoxedLaw(Hill((60,), (7,), rough=-1.0)).sample(SeededEntropy(3), 1000)


def test_points_off_the_grid_have_no_chance() -> None:
    law = BoxedLaw(HILLS["a plane"])
    assert np.isneginf(law.log_prob(np.array([[30, 0], [-1, 3], [0, 9]]))).all()
    assert law.acceptance > 0.1
