"""Tables of one count against its weights, and the bound that nothing may pass."""

from fractions import Fraction
from itertools import count, takewhile

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.bounded import weighted_cell
from holdfast.sampling.bounded.weighted_cell import CellTable, Child, WeightedCell
from holdfast.sampling.decisions import Real, ball_of, real, toss_coins
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, p_value

RATES = st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1, 4), Fraction(2)])


@st.composite
def cells(draw: st.DrawFn) -> WeightedCell:
    """Draw a cell whose weights can be listed."""
    a = draw(st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(1, 2), Fraction(7, 2), Fraction(200)]))
    low = draw(st.sampled_from([0, 2, 7]))
    return WeightedCell(
        x=draw(st.sampled_from([0, 1, 5, 100])),
        a=a,
        linear=draw(RATES),
        square=draw(RATES),
        low=low,
        high=low + draw(st.sampled_from([0, 3, 40, 1000])),
        tilt=draw(st.sampled_from([0.0, 0.125, -0.3, -1.5])),
    )


def accepted(table: CellTable, size: int, seed: int) -> IntArray:
    """Draw counts of a table, and accept them as a law does."""
    entropy = SeededEntropy(seed)
    counts, logs = table.draw(size, entropy)
    some = np.flatnonzero(logs > -np.inf)
    counts, logs = counts[some], logs[some]
    bound = table.bound

    def chance(k: int) -> flint.arb:
        return (table.exact(k) - ball_of(bound)).exp()

    def exact(i: int) -> Real:
        return real(lambda: chance(int(counts[i])))

    return counts[toss_coins(logs, table.off(counts), exact, entropy)]


def shares(cell: WeightedCell, counts: IntArray) -> dict[tuple[int, ...], float]:
    """Return the law of a cell from gamma functions of many digits."""
    with flint.ctx.workprec(200):
        logs = np.array([float(cell.ball(int(k)).mid()) for k in counts])
    weights = np.exp(logs - logs.max())
    return {(int(k),): float(w) for k, w in zip(counts, weights / weights.sum(), strict=True)}


@settings(deadline=None, max_examples=60)
@given(cell=cells(), bins=st.sampled_from([4, 64, 8192]), depth=st.sampled_from([2.0, 10.0, 44.0]))
def test_nothing_passes_the_bound(cell: WeightedCell, bins: int, depth: float) -> None:
    """The bound holds for every count, also where bins are wide and tails are heavy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighted_cell, "BINS", bins)
        patch.setattr(weighted_cell, "DEPTH", depth)
        table = CellTable(cell)
        assert cell.low is not None
        assert cell.high is not None
        for k in range(cell.low, cell.high + 1):
            assert float(table.exact(k).mid()) <= table.bound
        counts, logs = table.draw(200, SeededEntropy(1))
        for k, value in zip(counts.tolist(), logs.tolist(), strict=True):
            if not cell.low <= k <= cell.high:
                assert value == -np.inf
            else:
                gap = abs(float(table.exact(k).mid()) - table.bound - value)
                assert gap <= table.off(counts)
                assert gap < 1e-9


@pytest.mark.parametrize("bins", [4, 8192])
@pytest.mark.parametrize(
    "cell",
    [
        WeightedCell(5, Fraction(1, 2), Fraction(1, 4), low=0, high=30),
        WeightedCell(20, Fraction(30), Fraction(1, 10), Fraction(1, 100), low=3, high=200, tilt=-0.6),
        WeightedCell(3, linear=Fraction(1, 2)),
        WeightedCell(3, linear=Fraction(1, 3), low=-4),
        WeightedCell(0, square=Fraction(1, 50), high=6),
        WeightedCell(40, Fraction(1, 10), Fraction(1, 20), low=0, high=100, tilt=-0.06),
    ],
)
def test_counts_follow_their_weights(cell: WeightedCell, bins: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few bins and heavy tails as with many; and they follow no law with another rate."""
    monkeypatch.setattr(weighted_cell, "BINS", bins)
    monkeypatch.setattr(weighted_cell, "DEPTH", 4.0 if bins < 10 else 44.0)
    drawn = accepted(CellTable(cell), 40_000, seed=2)
    assert drawn.size > 2000
    counts = np.arange(-300 if cell.low is None else cell.low, 300 if cell.high is None else cell.high + 1)
    assert p_value(drawn[:, None], shares(cell, counts)) > LEVEL
    other = WeightedCell(
        cell.x, cell.a, cell.linear * 6 / 5, cell.square * 6 / 5, cell.low, cell.high, cell.tilt
    )
    assert p_value(drawn[:, None], shares(other, counts)) < LEVEL


def test_a_child_stays_below_its_parent() -> None:
    """The part of a child's table within reach is paid for by the parent: the pair has the product's law."""
    parent = WeightedCell(4, Fraction(2), Fraction(1, 2), low=0, high=12)
    child = WeightedCell(3, linear=Fraction(1), low=0, high=12)
    below = CellTable(child, whole=True)
    table = CellTable(parent, [Child(below, 1)])
    entropy, size = SeededEntropy(3), 40_000
    counts, logs = table.draw(size, entropy)
    others, more = below.draw(size, entropy, counts - 1)
    logs = logs + more
    kept = np.flatnonzero(logs > -np.inf)
    kept = kept[toss_coins(logs[kept], 1e-9, lambda _: real(lambda: flint.arb(0)), entropy)]
    assert (counts[kept] - others[kept] >= 1).all()
    one, other = np.arange(13), np.arange(13)
    law: dict[tuple[int, ...], float] = {
        (int(c), int(d)): shares(parent, one)[(int(c),)] * shares(child, other)[(int(d),)]
        for c in one
        for d in other
        if c - d >= 1
    }
    total = sum(law.values())
    law = {pair: share / total for pair, share in law.items()}
    assert p_value(np.column_stack([counts[kept], others[kept]]), law) > LEVEL


def test_what_does_not_fall_is_refused() -> None:
    with pytest.raises(SamplingError, match="spreads over too many values"):
        CellTable(WeightedCell(3, low=0))
    with pytest.raises(ValueError, match="not negative"):
        WeightedCell(-1, Fraction(2), low=0)
    with pytest.raises(ValueError, match="positive"):
        WeightedCell(1, Fraction(0), low=0)


def test_a_tail_without_bound_is_drawn_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero words stand for 64 blocks more, and every count has the chance that the table says."""
    monkeypatch.setattr(weighted_cell, "DEPTH", 1.0)
    table = CellTable(WeightedCell(0, linear=Fraction(1, 4)))
    counts, _ = table.draw(20_000, SeededEntropy(5))
    seen = np.bincount(np.abs(counts))
    assert seen.size > 30
    beyond = list(takewhile(lambda k: k < 40, count(0)))
    chances = [float((table.cell.ball(k) - table.exact(k)).exp().mid()) for k in beyond]
    law = {(k,): (1 if k == 0 else 2) * chance for k, chance in zip(beyond, chances, strict=True)}
    assert p_value(np.abs(counts)[:, None], law) > LEVEL
