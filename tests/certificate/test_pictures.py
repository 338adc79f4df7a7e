import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.certificate.pictures import CUT, MOST_COLUMNS, Bar, bars, noise_picture, within


def geometric(ratio: float, reach: int) -> list[float]:
    weights = [ratio ** abs(move) for move in range(-reach, reach + 1)]
    total = sum(weights)
    return [weight / total for weight in weights]


def test_bars_start_at_zero_on_one_scale() -> None:
    assert bars([20, 0, 80]) == [Bar(0, 25), Bar(0, 0), Bar(0, 100)]
    assert bars([-1, 3]) == [Bar(0, 25), Bar(25, 75)]
    assert bars([-2, -4]) == [Bar(50, 50), Bar(0, 100)]
    assert bars([0, 0]) == [Bar(0, 0), Bar(0, 0)]
    assert bars([]) == []


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1))
def test_bars_stay_inside(values: list[int]) -> None:
    for bar in bars(values):
        assert bar.left >= 0
        assert bar.width >= 0
        assert bar.left + bar.width <= 100 + 1e-9


@pytest.mark.parametrize(("ratio", "group"), [(0.3, 1), (0.74, 1), (0.95, 5), (0.999, 227)])
def test_columns_hold_the_law_around_zero(ratio: float, group: int) -> None:
    reach = 20_000
    shares = geometric(ratio, reach)
    picture = noise_picture(-reach, shares)
    assert picture.group == group
    assert len(picture.columns) <= MOST_COLUMNS
    assert picture.columns[0].low == -picture.columns[-1].high == -picture.reach
    assert sum(column.share for column in picture.columns) == pytest.approx(1 - picture.beyond)
    assert picture.beyond <= CUT
    middle = picture.columns[len(picture.columns) // 2]
    assert middle.low <= 0 <= middle.high
    assert middle.high - middle.low + 1 == group
    assert middle.height == max(column.height for column in picture.columns) <= 100
    assert middle.left + middle.width / 2 == pytest.approx(50)


def test_ticks_are_round_and_true() -> None:
    picture = noise_picture(-40, geometric(0.74, 40))
    assert [tick.value for tick in picture.moves] == [-20, -10, 0, 10, 20]
    by_move = {column.low: column.left + column.width / 2 for column in picture.columns}
    for tick in picture.moves:
        assert tick.at == pytest.approx(by_move[int(tick.value)])
    assert [tick.value for tick in picture.shares] == pytest.approx([0.05, 0.1, 0.15])
    top = picture.columns[len(picture.columns) // 2]
    assert top.share / top.height == pytest.approx(picture.shares[0].value / picture.shares[0].at)


def test_a_law_on_one_side_keeps_a_symmetric_axis() -> None:
    picture = noise_picture(5, [0.5, 0.5])
    assert (picture.columns[0].low, picture.columns[-1].high) == (-6, 6)
    assert [column.low for column in picture.columns if column.share] == [5, 6]


def test_no_noise_is_one_column() -> None:
    picture = noise_picture(0, [1.0])
    assert [column.share for column in picture.columns] == [0, 0, 0, 1, 0, 0, 0]
    assert picture.beyond == 0


def test_within_is_the_smallest_distance() -> None:
    shares = [0.05, 0.2, 0.5, 0.2, 0.05]
    assert [within(-2, shares, part) for part in (0.4, 0.5, 0.51, 0.9, 0.91, 1.0)] == [0, 0, 1, 1, 2, 2]
