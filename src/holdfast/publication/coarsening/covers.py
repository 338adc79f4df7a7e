"""The cheapest choice that meets needs which become known by asking: a program that grows, and its bound.

Elements can be given up, each at a cost. A **need** says that what is given up of some elements is worth so
much, sum_e w_e x_e >= n with x_e 0 or 1; it is found where a choice is not enough, and every choice that is
enough has it. The cheapest choice that meets all needs known so far costs no more than the cheapest that is
enough [theory, 15]. When it is enough itself it is the answer; when rounds run out it is a lower bound, and
a choice that was mended stands beside it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.programs.solver import UNBOUNDED, Program, Status
from holdfast.system.progress import look

ROUNDS = 80
NODES = 20_000
"""Nodes of the search for one cheapest choice: a deterministic limit."""


@dataclass(frozen=True, eq=False)
class Need:
    """What is given up of some elements must be worth at least so much."""

    elements: IntArray
    worth: IntArray
    least: int

    def met(self, chosen: BoolArray) -> bool:
        """Whether a choice is worth enough."""
        return bool(self.worth[chosen[self.elements]].sum() >= self.least)


@dataclass(frozen=True, eq=False)
class CheapestChoice:
    """Elements that are given up, and a cost below which nothing is enough; None where nothing is."""

    elements: BoolArray | None
    cost: int
    bound: int
    rounds: int

    @property
    def optimal(self) -> bool:
        """Whether nothing cheaper is enough."""
        return self.elements is not None and self.cost == self.bound


Lacks = Callable[[BoolArray], Sequence[Need]]
"""Takes a choice; returns needs that it does not meet, none where it is enough."""


def cheapest(
    costs: IntArray, lacks: Lacks, *, first: Sequence[tuple[int, int]] = (), rounds: int = ROUNDS
) -> CheapestChoice:
    """Return the cheapest choice that lacks nothing; in pairs of ``first`` the second needs the first."""
    needs: list[Need] = []
    everything = np.ones(costs.size, dtype=np.bool_)
    if lacks(everything):
        return CheapestChoice(None, 0, UNBOUNDED, 0)
    chosen, bound = np.zeros(costs.size, dtype=np.bool_), 0
    for turn in range(rounds):
        look()
        fresh = lacks(chosen)
        if not fresh and int(costs[chosen].sum()) == bound:
            return CheapestChoice(chosen, bound, bound, turn)
        if not fresh:
            break  # it is enough, and not proved to be the cheapest
        needs += fresh
        solved = _solve(costs, needs, first)
        if solved is None:
            break
        chosen, proved = solved
        bound = max(bound, proved)
    mended = _mended(costs, lacks, chosen, first)
    return CheapestChoice(mended, int(costs[mended].sum()), bound, rounds)


def _solve(
    costs: IntArray, needs: Sequence[Need], first: Sequence[tuple[int, int]]
) -> tuple[BoolArray, int] | None:
    """Return the cheapest choice that meets needs, and a cost below which none does."""
    row = [np.full(one.elements.size, at) for at, one in enumerate(needs)]
    column, worth = [one.elements for one in needs], [one.worth for one in needs]
    least = [one.least for one in needs]
    for at, (inner, outer) in enumerate(first, len(needs)):
        row.append(np.array([at, at]))
        column.append(np.array([inner, outer]))
        worth.append(np.array([1, -1]))
        least.append(0)
    entries = np.concatenate(worth), (np.concatenate(row), np.concatenate(column))
    matrix = csr_array(entries, shape=(len(least), costs.size))
    ends = np.array(least, dtype=np.int64)
    program = Program(
        matrix, ends, np.full(ends.size, UNBOUNDED), most=np.ones(costs.size, dtype=np.int64), nodes=NODES
    )
    found = program.solve(maximise=-costs)
    if found.point is None:
        return None
    cost = int(costs @ found.point)
    bound = cost if found.status is Status.SOLVED else 0 if found.bound is None else max(0, -found.bound)
    return found.point > 0, bound


def _mended(costs: IntArray, lacks: Lacks, chosen: BoolArray, first: Sequence[tuple[int, int]]) -> BoolArray:
    """Return a choice that is enough: needs are met cheaply, then what is not needed is taken back."""
    chosen = chosen.copy()
    while fresh := lacks(chosen):
        look()
        for need in fresh:
            while not need.met(chosen):
                open_ = ~chosen[need.elements]
                value = np.where(open_, need.worth / np.maximum(costs[need.elements], 1), -1.0)
                chosen[need.elements[int(np.argmax(value))]] = True
                _closed(chosen, first)
    for element in np.argsort(-costs, kind="stable").tolist():
        if not chosen[element] or any(inner == element and chosen[outer] for inner, outer in first):
            continue
        chosen[element] = False
        if lacks(chosen):
            chosen[element] = True
    return chosen


def _closed(chosen: BoolArray, first: Sequence[tuple[int, int]]) -> None:
    """Give up what other elements need to be given up first."""
    changed = True
    while changed:
        changed = False
        for inner, outer in first:
            if chosen[outer] and not chosen[inner]:
                chosen[inner] = changed = True
