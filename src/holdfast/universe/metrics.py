"""How records of two tables are counted apart: by those that are others, or by those that come and go.

All that a guarantee asks of a universe depends on it [theory, 2; theory, 14].
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.spec.privacy import Neighbours
from holdfast.universe.presence import (
    largest_circuit,
    only_table,
    presence_adjacency,
    presence_part,
    presence_sensitivity,
    presence_space,
    presence_spread,
)
from holdfast.universe.semi_adjacency import SemiAdjacency, semi_adjacency
from holdfast.universe.sensitivity import Sensitivity, largest_part, sensitivity
from holdfast.universe.space import sensitivity_space
from holdfast.universe.spread import spread
from holdfast.universe.universe import Universe
from holdfast.universe.vacuous import one_table


@dataclass(frozen=True)
class Metric:
    """A distance of tables, and what follows from it.

    Attributes:
        step: ||u||_1 of two tables one step apart.
        semi_adjacency: how many steps one record takes, by a search of limited work at the most.
        sensitivity: the largest norms of differences of tables so many steps apart.
        space: all of them.
        part: the largest sum of |u| over some cells among them.
        spread: the largest squared ||u||_2 for each step.
        longest: how many steps apart tables are at most whose difference falls apart no further, if known.
        one_table: whether no two different tables are any number of steps apart.

    """

    step: int
    semi_adjacency: Callable[[Universe, int | None], SemiAdjacency]
    sensitivity: Callable[[Universe, int], Sensitivity]
    space: Callable[[Universe, int], IntArray]
    part: Callable[[Universe, int, BoolArray, Sensitivity], int]
    spread: Callable[[Universe], Fraction]
    longest: Callable[[Universe], int | None]
    one_table: Callable[[Universe], bool]


def _records(universe: Universe) -> int | None:
    size = largest_circuit(universe, same_size=True)
    return None if size is None else size // 2


METRICS: dict[Neighbours, Metric] = {
    "replace": Metric(
        2, semi_adjacency, sensitivity, sensitivity_space, largest_part, spread, _records, one_table
    ),
    "add-remove": Metric(
        1,
        presence_adjacency,
        presence_sensitivity,
        presence_space,
        presence_part,
        presence_spread,
        largest_circuit,
        only_table,
    ),
}
