"""What offices do today, against small tables where all of it can be told by hand."""

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.comparison.habits import habits, invented
from holdfast.public import Public
from holdfast.releases.table import published


def public(*invariants: tuple[str, ...], shape: tuple[int, int] = (3, 4)) -> Public:
    a, b = np.indices(shape).reshape(2, -1)
    frame = pl.DataFrame({"a": a, "b": b, "n": np.ones(a.size, dtype=np.int64)}).cast({"a": str, "b": str})
    spec = hf.Spec(
        data=hf.Data(cells=("a", "b"), count="n"),
        invariants=tuple(hf.Invariant(margin=names) for names in invariants),
        privacy=hf.Privacy(epsilon="1"),
    )
    return published(spec, frame)[0]


COUNTS = np.array([1, 10, 20, 30, 7, 3, 2, 40, 12, 13, 14, 15])


def test_a_suppressed_count_that_is_alone_in_a_sum_is_revealed() -> None:
    found = habits(public(("a",)), COUNTS)[0]
    assert found.revealed == 10  # nine as they are, and the 1 by its row; 3 and 2 hide each other
    assert found.cell == pytest.approx((1 + 1 + 0) / 12)
    assert habits(public(("a",), ("b",)), COUNTS)[0].revealed == 12
    assert habits(public(), COUNTS)[0].revealed == 9


def test_rounding_is_wrong_by_two_at_most_and_reveals_what_meets_its_bounds() -> None:
    found = habits(public(), COUNTS)[1]
    told = 5 * ((COUNTS + 2) // 5)
    assert found.cell == pytest.approx(np.abs(told - COUNTS).mean())
    assert found.margins[("a",)] == pytest.approx(np.abs(np.array([60, 50, 55]) - [61, 52, 54]).mean())
    assert found.revealed == 0
    edge = np.array([12, 12, 12, 12] * 3)  # every count is as large as its rounding allows, and so are sums
    assert habits(public(("a",)), edge)[1].revealed == 12


def test_a_swap_keeps_both_margins_and_moves_no_more_than_it_swaps() -> None:
    found = habits(public(), COUNTS)[2]
    assert found.margins[("a",)] == found.margins[("b",)] == 0
    assert 0 < found.cell <= 2 * round(0.05 * COUNTS.sum()) / 12


def test_invented_counts_are_of_the_shape_alone() -> None:
    one, other = invented(public(("a",))), invented(public(("b",), ("a",)))
    assert np.array_equal(one, other)
    assert one.shape == (12,)
    assert not np.array_equal(one, invented(public(), seed=1))
