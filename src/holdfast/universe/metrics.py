"""How records of two tables are counted apart: by those that are others, or by those that come and go.

All that a guarantee asks of a universe depends on it [theory, 2; theory, 14].
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.spec.privacy import Neighbours
from holdfast.universe.presence import (
    only_table,
    presence_adjacency,
    presence_part,
    presence_sensitivity,
    presence_space,
    presence_spread,
)
from holdfast.universe.semi_adjacency import SemiAdjacency, semi_adjacency
from holdfast.universe.sensitivity import Sensitivity, largest_part, sensitivity, spread
from holdfast.universe.space import sensitivity_space
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
        one_table: whether no two different tables are any number of steps apart.

    """

    step: int
    semi_adjacency: Callable[[Universe, int | None], SemiAdjacency]
    sensitivity: Callable[[Universe, int], Sensitivity]
    space: Callable[[Universe, int], IntArray]
    part: Callable[[Universe, int, BoolArray, Sensitivity], int]
    spread: Callable[[Universe], Fraction]
    one_table: Callable[[Universe], bool]


METRICS: dict[Neighbours, Metric] = {
    "replace": Metric(2, semi_adjacency, sensitivity, sensitivity_space, largest_part, spread, one_table),
    "add-remove": Metric(
        1,
        presence_adjacency,
        presence_sensitivity,
        presence_space,
        presence_part,
        presence_spread,
        only_table,
    ),
}
