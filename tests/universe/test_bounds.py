from collections.abc import Callable

import numpy as np
import pytest

from holdfast.universe.bounds import decomposable_bound, literal_is_two, unimodular_bound
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]


def sets(*names: str) -> tuple[frozenset[str], ...]:
    return tuple(map(frozenset, names))


@pytest.mark.parametrize(
    ("cliques", "value"),
    [
        ((), 1),
        (sets(""), 1),
        (sets("a"), 2),
        (sets("a", "b", ""), 3),
        (sets("ab", "a", "c"), 3),
        (sets("ab", "bc"), 3),
        (sets("ab", "bc", "cd", "de"), 5),
        (sets("abc", "bcd", "ce"), 4),
    ],
)
def test_decomposable_margins_cost_one_more_than_their_number(
    cliques: tuple[frozenset[str], ...], value: int
) -> None:
    bound = decomposable_bound(cliques)
    assert bound is not None
    assert bound.value == value


@pytest.mark.parametrize("cliques", [sets("ab", "bc", "ac"), sets("ab", "bc", "cd", "da"), None])
def test_other_margins_have_no_such_bound(cliques: tuple[frozenset[str], ...] | None) -> None:
    assert decomposable_bound(cliques) is None


def test_the_literal_reading_is_two_for_two_or_for_disjoint_cliques() -> None:
    assert literal_is_two(sets("ab", "bc", "a"))
    assert literal_is_two(sets("ab", "c", "de"))
    assert not literal_is_two(sets("ab", "bc", "cd"))
    assert not literal_is_two(None)


def test_circuits_bound_unimodular_invariants(margins: Design, rows: Design) -> None:
    bound = unimodular_bound(margins(np.ones((4, 5)), [(0,), (1,)], named=False))
    assert bound is not None
    assert bound.value == 5
    assert unimodular_bound(rows([[1, 2, 1], [1, 1, 1]], [1, 1, 1])) is None
