"""What noise within a bound loses, against lists of the whole law."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.lattice.points import lattice_points
from holdfast.mechanisms.cut.inside import shares
from holdfast.mechanisms.cut.noise import CutNoise
from holdfast.mechanisms.cut.profile import CutBounds, CutListed, CutSums
from holdfast.mechanisms.cut.weights import Weighing
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.testing.contract import Subject
from holdfast.testing.worlds import Case, World

BOTH = ({"margin": ["row"]}, {"margin": ["column"]})
ROWS = ({"margin": ["row"]},)
TOTAL = ({"total": True},)
NINE = {"row": "abc", "column": "xyz"}
TABLE = (2, 1, 3, 1, 4, 2, 3, 0, 5)
TARGET = {"standard": "approximate", "epsilon": "6", "delta": "1/5"}
WEIGHTED = {"queries": [{"marginal": ["column"], "weight": "3"}, {"marginal": ["row", "column"]}]}
GAUSSIAN, LAPLACE = LatticeGaussian, LatticeLaplace


def cut_of(world: World, kind: Any, bound: int, folder: Path, **keys: Any) -> tuple[Any, CutNoise]:
    """Return a mechanism within a bound, and what is known of its noise."""
    privacy = keys.pop("privacy", TARGET)
    mechanism: Any = Subject.of(Case(world, privacy, {"bound": bound, **keys}), kind, folder).mechanism
    return mechanism, mechanism.cut


@pytest.mark.parametrize(("kind", "keys"), [(GAUSSIAN, {}), (LAPLACE, {}), (LAPLACE, {"norm": "l2"})])
def test_bounds_are_above_the_list_and_not_far(kind: Any, keys: dict[str, Any], tmp_path: Path) -> None:
    """At most twice the enumerated delta of Gaussian noise, where the edge is what is lost."""
    _, cut = cut_of(World(NINE, TABLE, BOTH), kind, 8, tmp_path, **keys)
    listed, bounds = cut.profile, CutBounds(cut.premises, cut.shape, 8)
    assert isinstance(listed, CutListed)
    for width in (1.0, 1.4, 2.0):
        noise = Weighing(cut.shape, cut._strength(width))
        for epsilon in map(Fraction, (1, 6, 12)):
            assert listed.delta(noise, epsilon) <= bounds.delta(noise, epsilon)
    if kind is GAUSSIAN:
        noise = Weighing(cut.shape, cut._strength(2.0))
        assert bounds.delta(noise, Fraction(6)) < 2.1 * listed.delta(noise, Fraction(6))


@pytest.mark.parametrize("kind", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize(
    ("kept", "privacy"),
    [
        (ROWS, {}),
        (ROWS, {"adjacency": "unit"}),
        (ROWS, {"neighbours": "add-remove"}),
        (ROWS, {"neighbours": "add-remove", "distance": 4}),
        (TOTAL, {}),
        (TOTAL, {"distance": 2}),
        (TOTAL, {"adjacency": "unit"}),
        (TOTAL, {"neighbours": "add-remove", "distance": 4}),
        ((), {"neighbours": "add-remove"}),
        ((), {"neighbours": "add-remove", "distance": 4}),
    ],
)
def test_sums_are_the_list(kind: Any, privacy: dict[str, Any], kept: tuple[Any, ...], tmp_path: Path) -> None:
    """Two ways to the same number, that share nothing but the law."""
    world = World({"row": "ab", "column": "xy"}, (9, 8, 7, 9), kept)
    _, cut = cut_of(world, kind, 5, tmp_path, privacy={**TARGET, "delta": "1/2", **privacy})
    sums, listed = cut.profile, CutListed.of(cut.premises, cut.shape, 5)
    assert isinstance(sums, CutSums)
    assert listed is not None
    for width in (0.8, 1.5, 4.0):
        noise = Weighing(cut.shape, cut._strength(width))
        for epsilon in (Fraction(1, 2), Fraction(2), Fraction(5)):
            found = sums.delta(noise, epsilon)
            assert found == pytest.approx(listed.delta(noise, epsilon), rel=1e-7)


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (GAUSSIAN, {}),
        (GAUSSIAN, WEIGHTED),
        (LAPLACE, {}),
        (LAPLACE, {"norm": "l2"}),
        (LAPLACE, {"norm": "l2", **WEIGHTED}),
    ],
)
@pytest.mark.parametrize("kept", [BOTH, ROWS])
def test_tails_and_what_is_inside_are_bounds(
    kind: Any, keys: dict[str, Any], kept: tuple[Any, ...], tmp_path: Path
) -> None:
    world = World({"row": "ab", "column": "xy"}, (9, 8, 7, 9), kept)
    mechanism, cut = cut_of(world, kind, 6, tmp_path, privacy={**TARGET, "delta": "1/2"}, **keys)
    points = lattice_points(cut.premises.universe.matrix.toarray(), 60 if kept == BOTH else 24)
    for width in (0.7, 1.5, 3.0):
        noise = Weighing(cut.shape, cut._strength(width))
        law = np.exp(noise.log_weight(cut.shape.sizes(points)))
        law /= law.sum()
        for t in (1, 2, 4, 7):
            found = max(float(law[points[:, cell] >= t].sum()) for cell in range(4))
            assert found <= noise.beyond(t)
            assert noise.beyond(t) <= 0.5 * (1 + 1e-6)
        known = list(shares(cut.premises.universe.matrix, mechanism.noise.whole.plan.blocks, noise, 6))
        inside = float(law[(np.abs(points) <= 6).all(axis=1)].sum())
        parts = 2 if len(known) == 1 and mechanism.noise.whole.plan.blocks[0].cells.shape[0] == 2 else 1
        assert np.prod(known) ** parts <= inside + 1e-6
        assert width > 2 or np.prod(known) > 0.5


def test_the_loss_of_a_large_total_is_that_of_many_free_cells(tmp_path: Path) -> None:
    """One cell hardly matters to a hundred thousand: so the Fourier sum is right far out, too."""
    world = World({"row": "ab", "column": "xy"}, (9, 8, 7, 9), ROWS)
    _, cut = cut_of(world, GAUSSIAN, 20, tmp_path)
    noise = Weighing(cut.shape, Fraction(16))
    one = CutSums(((((-1, 1), 100_000),),), 20).delta(noise, Fraction(1))
    free = CutSums(((((-1, 1), None),),), 20).delta(noise, Fraction(1))
    assert one == pytest.approx(free, rel=1e-3)
