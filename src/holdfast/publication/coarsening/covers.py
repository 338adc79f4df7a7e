"""The cheapest choice that meets needs which become known by asking: a program that grows, and its bound.

Elements can be given up, each at a cost. A **need** says that what is given up of some elements is worth so
much, sum_e w_e x_e >= n with x_e 0 or 1; it is found where a choice is not enough, and every choice that is
enough has it. The cheapest choice that meets all needs known so far costs no more than the cheapest that is
enough [theory, 15]. When it is enough itself it is the answer; when rounds run out it is a lower bound, and
a choice that was mended stands beside it. Most needs are found first where elements are given up in part:
then the programs are linear, and each round is quick.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.programs.solver import UNBOUNDED, Program, Sides, Status, suggest
from holdfast.system.progress import look

ROUNDS, PARTLY = 80, 150
"""Rounds with elements that are given up as a whole, and before them in part."""
MENDED = 6
"""So many rounds from one choice that is mended to the next."""
NODES = 400_000
"""Nodes of the search for one cheapest choice, times its elements: a deterministic limit."""
SLACK = 1e-6


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
LacksPartly = Callable[[FloatArray], Sequence[Need]]
"""Takes elements that are given up in part; returns needs that are not met so."""


def cheapest(
    costs: IntArray,
    lacks: Lacks,
    *,
    partly: LacksPartly | None = None,
    always: Sequence[Need] = (),
    first: Sequence[tuple[int, int]] = (),
    rounds: int = ROUNDS,
) -> CheapestChoice:
    """Return the cheapest choice that lacks nothing; in pairs of ``first`` the second needs the first.

    What is true of every cheapest choice is ``always`` needed.
    """
    needs: list[Need] = list(always)
    everything = np.ones(costs.size, dtype=np.bool_)
    if lacks(everything):
        return CheapestChoice(None, 0, UNBOUNDED, 0)
    chosen, bound = np.zeros(costs.size, dtype=np.bool_), 0
    best: BoolArray | None = None
    if partly is not None:
        bound = _begun(costs, needs, partly, first)
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
        if partly is not None and turn % MENDED == 0:
            best = _cheaper(costs, best, _mended(costs, lacks, chosen, first))
        if best is not None and int(costs[best].sum()) == bound:
            return CheapestChoice(best, bound, bound, turn)
        if int(costs[chosen].sum()) > proved:
            break  # the programs have become too hard
    best = _cheaper(costs, best, _mended(costs, lacks, chosen, first))
    return CheapestChoice(best, int(costs[best].sum()), bound, rounds)


def _cheaper(costs: IntArray, one: BoolArray | None, other: BoolArray) -> BoolArray:
    return other if one is None or costs[other].sum() < costs[one].sum() else one


def _begun(costs: IntArray, needs: list[Need], partly: LacksPartly, first: Sequence[tuple[int, int]]) -> int:
    """Find needs where elements are given up in part; return a cost below which nothing is enough."""
    given, bound, count = np.zeros(costs.size), 0.0, len(needs)
    for _ in range(PARTLY):
        look()
        fresh = [one for one in partly(given) if one.worth @ given[one.elements] < one.least * (1 - SLACK)]
        if not fresh:
            break
        needs += fresh
        matrix, least = _rows(costs.size, needs, first)
        rows = Sides.of(least, np.full(least.size, UNBOUNDED))
        columns = Sides.of(np.zeros(costs.size, dtype=np.int64), np.ones(costs.size, dtype=np.int64))
        found = suggest(costs.astype(np.float64), matrix, rows, columns)
        if found is None:
            break
        given = np.clip(found, 0.0, 1.0)
        bound = float(costs @ given)
    begun = needs[count:]
    needs[count:] = [
        one for one in begun if one.worth @ given[one.elements] < one.least * (1 + SLACK) + SLACK
    ]
    return max(0, ceil(bound - SLACK * max(1.0, bound)))


def _rows(count: int, needs: Sequence[Need], first: Sequence[tuple[int, int]]) -> tuple[csr_array, IntArray]:
    """Return needs as rows of a program: what they are worth, and the least of each."""
    row = [np.full(one.elements.size, at) for at, one in enumerate(needs)]
    column, worth = [one.elements for one in needs], [one.worth for one in needs]
    least = [one.least for one in needs]
    for at, (inner, outer) in enumerate(first, len(needs)):
        row.append(np.array([at, at]))
        column.append(np.array([inner, outer]))
        worth.append(np.array([1, -1]))
        least.append(0)
    entries = np.concatenate(worth), (np.concatenate(row), np.concatenate(column))
    return csr_array(entries, shape=(len(least), count)), np.array(least, dtype=np.int64)


def _solve(
    costs: IntArray, needs: Sequence[Need], first: Sequence[tuple[int, int]]
) -> tuple[BoolArray, int] | None:
    """Return the cheapest choice that meets needs, and a cost below which none does."""
    if not needs and not first:
        return np.zeros(costs.size, dtype=np.bool_), 0
    matrix, ends = _rows(costs.size, needs, first)
    most, nodes = np.ones(costs.size, dtype=np.int64), max(50, NODES // costs.size)
    program = Program(matrix, ends, np.full(ends.size, UNBOUNDED), most=most, nodes=nodes)
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
