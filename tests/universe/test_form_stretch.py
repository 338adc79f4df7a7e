"""The largest u'Fu, against all pairs of tables."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from holdfast.lattice.forms import Form
from holdfast.lattice.margins import LevelledAxis, MarginStrategy, Reading
from holdfast.universe.form_stretch import Stretch, per_record, within
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe


def plain(shape: tuple[int, ...], kept: list[Reading], measured: dict[Reading, str | int]) -> MarginStrategy:
    axes = tuple(LevelledAxis(size, (np.arange(size),)) for size in shape)
    return MarginStrategy(axes, tuple(kept), tuple((r, Fraction(c)) for r, c in measured.items()))


def universe_of(margins: MarginStrategy, counts: list[int]) -> Universe:
    rows = [csr_array((0, len(counts)), dtype=np.int64), *map(margins.rows, margins.kept)]
    matrix = csr_array(vstack(rows, format="csr"))
    return Universe.of(matrix, matrix @ np.array(counts), occupied=True)


def truth(universe: Universe, form: Form) -> dict[int, Fraction]:
    """Return the largest u'Fu of tables so many records apart."""
    found: dict[int, Fraction] = {}
    tables = conforming_tables(universe, 3000)
    for one, other in combinations(tables, 2):
        if one.sum() == other.sum():
            d = int(np.abs(one - other).sum()) // 2
            found[d] = max(found.get(d, Fraction(0)), form.exact(one - other))
    return found


SMALL = [
    pytest.param(plain((2, 3), [(1, 0)], {(0, 1): 2, (1, 1): 1}), [2, 1, 0, 2, 1, 1], True, id="rows kept"),
    pytest.param(
        plain((2, 3), [(0, 0)], {(0, 1): 2, (1, 1): "1/3", (1, 0): 1}),
        [1, 1, 1, 1, 0, 0],
        True,
        id="total kept",
    ),
    pytest.param(
        plain((2, 3), [(1, 0), (0, 1)], {(1, 1): 1, (0, 1): 5}), [2, 1, 0, 1, 1, 2], True, id="both kept"
    ),
    pytest.param(
        plain((3, 3), [(1, 0), (0, 1)], {(1, 1): "2/7"}), [2, 1, 0, 1, 1, 1, 0, 1, 2], True, id="3 x 3"
    ),
    pytest.param(
        plain((2, 2, 2), [(1, 0, 0), (0, 1, 0)], {(1, 1, 1): 1, (1, 1, 0): 3, (0, 0, 1): 1}),
        [1, 1, 1, 0, 0, 1, 1, 0],
        False,
        id="2 x 2 x 2",
    ),
]


@pytest.mark.parametrize(("margins", "counts", "tight"), SMALL)
def test_it_is_that_of_all_pairs_of_tables(
    margins: MarginStrategy, counts: list[int], *, tight: bool
) -> None:
    universe, form = universe_of(margins, counts), Form.of(margins)
    assert form.measures(universe.matrix)
    largest = truth(universe, form)
    for a in range(2, 4):
        found = within(universe, form, a, sensitivity(universe, a))
        assert found == Stretch(max(v for d, v in largest.items() if d <= a), exact=True)
    each = max(v / d**2 for d, v in largest.items())
    bound = per_record(universe, form)
    assert each <= bound
    assert not tight or each == bound


@pytest.mark.parametrize(("margins", "counts", "tight"), SMALL)
def test_it_is_the_same_without_knowing_of_margins(
    margins: MarginStrategy, counts: list[int], *, tight: bool
) -> None:
    universe, form = universe_of(margins, counts), Form(Form.of(margins).parts)
    known = within(universe, Form.of(margins), 3, sensitivity(universe, 3))
    assert within(universe, form, 3, sensitivity(universe, 3)) == known
    assert form.measures(universe.matrix)
    if tight:
        assert per_record(universe, form) == per_record(universe, Form.of(margins))


def test_identity_is_the_usual_sensitivity() -> None:
    margins = plain((5, 4), [(1, 0), (0, 1)], {(1, 1): 1})
    counts = np.arange(20) + 5
    universe, form = universe_of(margins, counts.tolist()), Form.of(margins)
    space = sensitivity(universe, 3)
    assert within(universe, form, 3, space) == Stretch(Fraction(space.l2_squared), exact=True)
    assert per_record(universe, form) == 1


def test_a_large_table_with_counties_kept_is_exact() -> None:
    margins = plain((58, 2, 23), [(1, 0, 0)], {(1, 1, 1): "1/2", (0, 1, 1): "1/4", (1, 0, 1): "1/4"})
    counts = np.full(58 * 2 * 23, 9)
    universe, form = universe_of(margins, counts.tolist()), Form.of(margins)
    assert within(universe, form, 2, sensitivity(universe, 2)) == Stretch(Fraction(8), exact=True)
    assert per_record(universe, form) == 2


def test_moves_between_few_levels_stand_for_all() -> None:
    margins = plain((30, 20), [(1, 0), (0, 1)], {(1, 1): 1, (1, 0): 1})
    counts = np.full(600, 3)
    universe, form = universe_of(margins, counts.tolist()), Form.of(margins)
    assert within(universe, form, 3, sensitivity(universe, 3)) == Stretch(Fraction(6), exact=True)


def test_a_tree_of_unequal_nodes() -> None:
    """A level of counties with 1 and 3 tracts, and two sexes: against all pairs of tables."""
    tree = LevelledAxis.of(4, [np.array([0, 1, 1, 1])])
    assert tree is not None
    axes = (tree, LevelledAxis(2, (np.arange(2),)))
    margins = MarginStrategy(
        axes, ((0, 0),), (((2, 1), Fraction(1)), ((1, 0), Fraction(2)), ((1, 1), Fraction(1, 3)))
    )
    universe, form = universe_of(margins, [1, 0, 1, 0, 0, 1, 0, 0]), Form.of(margins)
    largest = truth(universe, form)
    found = within(universe, form, 2, sensitivity(universe, 2))
    assert found == Stretch(max(v for d, v in largest.items() if d <= 2), exact=True)
    assert per_record(universe, form) == max(v / d**2 for d, v in largest.items())


def test_a_large_tree_with_nested_totals_is_exact() -> None:
    """Sixty counties of one to five tracts, by age: the records of a county may all move within it."""
    counties = np.repeat(np.arange(60), 1 + np.arange(60) % 5)
    tree = LevelledAxis.of(counties.size, [counties, counties // 10])
    assert tree is not None
    axes = (tree, LevelledAxis(7, (np.arange(7),)))
    measured = (((3, 1), Fraction(1, 2)), ((2, 1), Fraction(1, 3)), ((1, 0), Fraction(1, 6)))
    margins = MarginStrategy(axes, ((1, 0),), measured)
    universe, form = universe_of(margins, [1] * (7 * counties.size)), Form.of(margins)
    found = within(universe, form, 2, sensitivity(universe, 2))
    assert found == Stretch(8 * (Fraction(1, 2) + Fraction(1, 3)), exact=True)


def test_what_no_query_sees_is_told() -> None:
    assert plain((2, 3), [(1, 0)], {(0, 1): 1}).unmeasured == (1, 1)
    assert plain((2, 3), [(1, 0), (0, 1)], {(1, 1): 1}).unmeasured is None
    assert plain((2, 3), [], {(1, 0): 1, (0, 1): 1}).unmeasured == (1, 1)
    form = Form(((csr_array(np.array([[1, 0, 0], [0, 1, 1]])), Fraction(1)),))
    assert not form.measures(csr_array(np.ones((1, 3), dtype=np.int64)))
    assert form.measures(csr_array(np.array([[0, 1, -1]])))
