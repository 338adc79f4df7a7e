"""Level by level: early rejection leaves the law, and what decides the last coin is read back."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.sampling.lattice.test_weighted import GEOGRAPHY, enumerated, kept_rows, plain, strategy, tree

from holdfast.lattice.arrays import BoolArray, FloatArray
from holdfast.lattice.forms import Form
from holdfast.lattice.margins import MarginStrategy
from holdfast.sampling.decisions import Real
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice import by_levels, tree_levels
from holdfast.sampling.lattice.by_levels import TreeGaussian
from holdfast.sampling.lattice.tree_nodes import Given
from holdfast.testing.goodness import LEVEL, p_value

NARROW = [
    # three levels, unequal nodes; the upper levels are narrow, and lose most proposals
    strategy((tree([0, 0, 0, 1], [0, 0, 1, 2]),), [(0,)], {(3,): "1/2", (2,): 3, (1,): "1/3"}),
    strategy((tree([0, 0, 1, 1]),), [], {(2,): "1/2", (1,): 3, (0,): "1/2"}),
    # margins that are kept cross, at two levels of the tree
    strategy((tree([0, 1, 1]), *plain(2)), [(1, 0), (0, 1)], {(2, 1): "1/2", (2, 0): 2}),
    strategy((tree([0, 0, 1]), *plain(2)), [(0, 1)], {(2, 1): 1, (1, 0): 1}),
    # the other axes are plain from some level on, one of them only
    strategy((tree([0, 1, 1]), *plain(2)), [(0, 0), (1, 0)], {(2, 1): "1/2", (1, 1): 4}),
    strategy(
        (tree([0, 1]), *plain(2, 2)), [(0, 1, 1), (1, 0, 1)], {(1, 1, 1): 1, (1, 0, 1): 3, (0, 1, 0): 2}
    ),
]


def law_of(margins: MarginStrategy, sigma_squared: Fraction = Fraction(4, 5)) -> TreeGaussian:
    return TreeGaussian(margins, sigma_squared)


@pytest.mark.parametrize("piece", [1, tree_levels.PIECE])
@pytest.mark.parametrize("margins", NARROW)
def test_draws_follow_the_enumerated_law(
    margins: MarginStrategy, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_levels, "PIECE", piece)
    draws = law_of(margins).sample(SeededEntropy(8), 30_000)
    matrix, form = kept_rows(margins), Form.of(margins)
    assert not (matrix @ draws.T).any()
    assert p_value(draws, enumerated(matrix, form, 5 / 8, "squared", 6)) > LEVEL
    for at, (reading, strength) in enumerate(margins.measured):
        if margins.is_kept(reading):
            continue
        stronger = [*margins.measured]
        stronger[at] = reading, 2 * strength
        other = Form.of(MarginStrategy(margins.axes, margins.kept, tuple(stronger)))
        assert p_value(draws, enumerated(matrix, other, 5 / 8, "squared", 6)) < LEVEL / 1000


def test_what_is_given_up_early_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were no coin tossed on the way, the law would be another one."""
    margins = NARROW[1]
    monkeypatch.setattr(by_levels, "toss_coins", lambda chance, *_: np.ones(chance.size, dtype=np.bool_))
    draws = law_of(margins).sample(SeededEntropy(8), 30_000)
    known = enumerated(kept_rows(margins), Form.of(margins), 5 / 8, "squared", 6)
    assert p_value(draws, known) < LEVEL / 1000


@pytest.mark.parametrize("margins", NARROW)
def test_the_share_that_is_kept_is_foreseen_level_by_level(margins: MarginStrategy) -> None:
    law = law_of(margins)
    assert law.acceptance == pytest.approx(np.prod(law.shares))
    assert law.work > 0
    entropy, size = SeededEntropy(9), 4000
    kept = law._tables(size)
    for level, share in zip(law._levels, law.shares, strict=True):
        before = len(kept)
        kept = law._thinned(level, kept, entropy)
        assert len(kept) / before == pytest.approx(share, abs=0.08)


@pytest.mark.parametrize("piece", [5, tree_levels.PIECE])
@pytest.mark.parametrize(
    "margins",
    [
        *NARROW,
        strategy((GEOGRAPHY, *plain(3)), [(1, 0)], {(3, 1): 1, (2, 1): 2, (2, 0): 3, (0, 1): "1/2"}),
        strategy((*plain(2), GEOGRAPHY, *plain(3)), [(1, 1, 0), (0, 0, 1)], {(1, 3, 1): 1, (1, 1, 1): 2}),
    ],
)
def test_coins_that_floats_do_not_decide_are_the_same(
    margins: MarginStrategy, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coordinates are read back from tables, digit by digit, and enclosures hold what floats say."""
    monkeypatch.setattr(tree_levels, "PIECE", piece)
    seen: list[float] = []

    def tossed(chance: FloatArray, margin: FloatArray, exact: Callable[[int], Real], _: object) -> BoolArray:
        low, high = exact(0)(60)
        told, off = float(np.exp(chance[0])), 2.0**-40 + 2 * float(margin[0])
        assert low * 2.0**-60 - off <= told <= high * 2.0**-60 + off
        seen.append(told)
        return np.ones(chance.size, dtype=np.bool_)

    law = law_of(margins, Fraction(3))
    monkeypatch.setattr(by_levels, "toss_coins", tossed)
    (draw,) = law.sample(SeededEntropy(10), 1)
    assert not (kept_rows(margins) @ draw).any()
    assert len(seen) == 1 + sum(len(level.pieces) for level in law._levels)

    above, entropy = law._tree.begin(2), SeededEntropy(11)
    for level in law._levels:
        sigma, parts = np.full(2, 1.7), []
        for each in level.pieces:
            tables, found = level.draw(each, Given(above), sigma, entropy)
            parts.append(tables)
            below = np.zeros((2, *level.shape), dtype=np.int64)
            below[..., each.below] = tables
            again, read = level.draw(each, Given(above, below), sigma, None)
            assert np.array_equal(again, tables)
            for one, other in zip(found, read, strict=True):
                assert all(map(np.array_equal, one, other))
        above = np.concatenate(parts, axis=-1)


def test_noise_too_narrow_for_a_pilot_is_known_to_be() -> None:
    law = law_of(strategy((tree([k // 2 for k in range(400)]),), [(0,)], {(2,): 9, (1,): 1}), Fraction(1, 9))
    assert law.acceptance < 1e-10
    assert law.work > 1e12
