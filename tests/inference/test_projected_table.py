"""Powers before and after projection against listed releases."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.inference.projected_power import best_test
from holdfast.inference.projected_table import Matrix, orthogonal, projected_table, require_projection
from holdfast.system.errors import SpecError
from holdfast.testing.goodness import two_way
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

RATE, REACH = 2.0, 9


def universe(rows: object, table: list[int]) -> Universe:
    matrix = np.asarray(rows, dtype=np.int64)
    return Universe.of(csr_array(matrix), matrix @ np.array(table))


PAIR = universe([[1, 1]], [2, 1])
SQUARE = universe(two_way(2, 2), [1, 1, 1, 1])


def whole(*rows: tuple[object, ...]) -> Matrix:
    return tuple(tuple(Fraction(str(entry)) for entry in row) for row in rows)


def listed(matrix: Matrix | None, u: tuple[int, ...]) -> float:
    """Return the power from all values of the noise in a box, after a projection or without."""
    base: dict[tuple[Fraction, ...], float] = {}
    other: dict[tuple[Fraction, ...], float] = {}
    for z in product(range(-REACH, REACH + 1), repeat=len(u)):
        chance = exp(-RATE * sum(map(abs, z)))
        for law, shift in ((base, (0,) * len(u)), (other, u)):
            seen = (
                z if matrix is None else [sum(p * v for p, v in zip(row, z, strict=True)) for row in matrix]
            )
            key = tuple(Fraction(v) + s for v, s in zip(seen, shift, strict=True))
            law[key] = law.get(key, 0.0) + chance
    keys = sorted({*base, *other})
    one, two = (np.array([law.get(key, 0.0) for key in keys]) for law in (base, other))
    return float(best_test(one / one.sum(), two / two.sum(), 0.05) @ (two / two.sum()))


@pytest.mark.parametrize(
    "matrix", [orthogonal(PAIR), whole((1, 0), (-1, 0)), whole(("3/4", "-1/4"), ("-3/4", "1/4"))]
)
def test_two_counts_with_their_sum(matrix: Matrix) -> None:
    """The L1 projections of Example 4.1, and the orthogonal one."""
    report = projected_table(
        PAIR, matrix, conforming_tables(PAIR, 50), rate=RATE, level=0.05, distance=2, name="own"
    )
    assert [(one.difference, one.records, one.pairs) for one in report.powers if one.records == 1] == [
        ((1, -1), 1, 3)
    ]
    assert {one.records for one in report.powers} == {1, 2}
    for one in report.powers:
        assert one.released == pytest.approx(listed(None, one.difference), abs=1e-6)
        assert one.projected == pytest.approx(listed(matrix, one.difference), abs=1e-6)
        assert one.lost >= -1e-9


def test_a_square_is_projected_onto_one_dimension() -> None:
    matrix = orthogonal(SQUARE)
    assert matrix[0] == (Fraction(1, 4), Fraction(-1, 4), Fraction(-1, 4), Fraction(1, 4))
    report = projected_table(
        SQUARE, matrix, conforming_tables(SQUARE, 50), rate=0.5, level=0.05, distance=2, name="l2"
    )
    assert [one.difference for one in report.powers] == [(1, -1, -1, 1)]
    assert report.powers[0].lost > 0
    assert report.to_dict()["powers"][0]["lost"] == report.powers[0].lost


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (whole((1, 0), (0, 1)), "does not keep the invariants"),
        (whole((0, 0), (0, 0)), "moves tables"),
        (whole((1, 0)), "2 rows of 2 numbers"),
    ],
)
def test_what_is_no_projection_is_refused(matrix: Matrix, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        require_projection(matrix, PAIR)


def test_too_many_releases_are_refused() -> None:
    free = universe(np.zeros((0, 4)), [1, 0, 0, 0])
    tables = np.array([[1, 0, 0, 0], [0, 1, 0, 0]])
    with pytest.raises(SpecError, match="too many to be listed"):
        projected_table(free, orthogonal(free), tables, rate=0.01, level=0.05, distance=1, name="l2")
