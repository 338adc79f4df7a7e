"""Which exact numbers to drop: what each would give back, and which few together free a cell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.spec.model import Spec
from holdfast.studio.desk import Desk
from holdfast.studio.figures import EXPOSED, Figures, Revealed, figures, revealed

WAIT_FOR_LESS = 20.0
"""Seconds that all of it may take."""
MOST_NAMED, MOST_TOGETHER, MOST_SETS = 5, 24, 3
"""Cells that are named; invariants of which some are looked for that free a cell together, and how many such
sets are told."""


@dataclass(frozen=True)
class Choice:
    """An invariant of the spec: its place, and what it says in one sentence."""

    number: int
    name: str
    sentence: str
    values: int


@dataclass(frozen=True)
class Without:
    """What is so without some of the invariants."""

    names: tuple[str, ...]
    figures: Figures
    freed: IntArray | None
    """The cells that are not revealed any more; None where that is not known yet."""
    cells: tuple[str, ...] = ()


def freed(desk: Desk, spec: Spec, choices: Sequence[Choice]) -> dict[str, Any]:
    """Return what each invariant would give back, and the few that free a cell which no single one frees."""
    public, end = desk.public(spec), monotonic() + WAIT_FOR_LESS

    def rest() -> float:
        return max(0.0, end - monotonic())

    def less(dropped: frozenset[int]) -> tuple[Spec, Revealed | None]:
        kept = tuple(one for place, one in enumerate(spec.invariants) if place not in dropped)
        smaller = spec.model_copy(update={"invariants": kept})
        return smaller, revealed(desk, smaller, rest())

    now, seen = figures(desk, spec, rest()), revealed(desk, spec, rest())

    def without(some: Sequence[Choice]) -> Without:
        smaller, other = less(frozenset(one.number for one in some))
        cells = None
        if seen is not None and other is not None:
            cells = np.flatnonzero((seen.paint == EXPOSED) & (other.paint != EXPOSED))
        told = () if cells is None else tuple(public.schema.in_words(int(one)) for one in cells[:MOST_NAMED])
        return Without(tuple(one.name for one in some), figures(desk, smaller, rest()), cells, told)

    rows = [without([one]) for one in choices]
    several: list[Without] = []
    held = _held(seen, rows)
    while held.size and len(several) < MOST_SETS and len(choices) <= MOST_TOGETHER:
        several.append(without(_few(choices, int(held[0]), less)))
        found = several[-1].freed
        held = held[1:] if found is None else np.setdiff1d(held[1:], found)
    return {"rows": [*rows, *(row for row in several if row.names)], "now": now}


def _held(seen: Revealed | None, rows: Sequence[Without]) -> IntArray:
    """Return the cells that are revealed whichever one invariant is dropped; none where that is not known."""
    if seen is None:
        return np.zeros(0, dtype=np.int64)
    held = np.flatnonzero(seen.paint == EXPOSED)
    for row in rows:
        held = held[:0] if row.freed is None else np.setdiff1d(held, row.freed)
    return held


def _few(
    choices: Sequence[Choice], cell: int, less: Callable[[frozenset[int]], tuple[Spec, Revealed | None]]
) -> Sequence[Choice]:
    """Return some invariants, none of them needlessly, without which a cell is free; none where none do.

    All are dropped, and each comes back without which the cell stays free: what is left cannot be less.
    """
    dropped = list(choices)

    def free(some: Sequence[Choice]) -> bool:
        found = less(frozenset(one.number for one in some))[1]
        return found is not None and found.paint[cell] != EXPOSED

    if not free(dropped):
        return ()
    for one in choices:
        others = [each for each in dropped if each is not one]
        if free(others):
            dropped = others
    return dropped
