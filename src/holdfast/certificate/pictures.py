"""The geometry of the page's pictures, in percent of the room they are given; the template draws them.

Lengths are relative and text is not, so a picture fits a telephone and a sheet of paper, and stays legible.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

MOST_COLUMNS = 61
FEWEST_STEPS = 3
"""The noise axis reaches at least this many steps to either side."""
CUT = 0.001
"""The share of cells that may lie beyond the ends of the noise axis."""


@dataclass(frozen=True)
class Bar:
    """A horizontal bar from zero to a value."""

    left: float
    width: float


@dataclass(frozen=True)
class Column:
    """An upright bar: the share of the values low to high."""

    left: float
    width: float
    height: float
    low: int
    high: int
    share: float


@dataclass(frozen=True)
class Tick:
    """A place on an axis, with its number."""

    at: float
    value: float


@dataclass(frozen=True)
class NoisePicture:
    """How far the noise moves a cell: shares over a symmetric axis.

    ``group`` neighbouring values share a column; ``beyond`` is the share that the axis leaves out.
    """

    columns: tuple[Column, ...]
    moves: tuple[Tick, ...]
    shares: tuple[Tick, ...]
    group: int
    reach: int
    beyond: float


def bars(values: Sequence[float]) -> list[Bar]:
    """Return one bar a value, on one scale that holds zero and all of them."""
    low, high = min((0, *values)), max((0, *values))
    span = (high - low) or 1
    return [Bar(100 * (min(value, 0) - low) / span, 100 * abs(value) / span) for value in values]


def noise_picture(first: int, shares: Sequence[float], unit: int = 1) -> NoisePicture:
    """Return the picture of a law with the shares of first, first + 1, ... in steps of an odd unit."""
    share = dict(enumerate(shares, start=first))
    trimmed = within(first, shares, 1 - CUT)
    half = ceil((2 * trimmed + 1) / MOST_COLUMNS) // 2
    group = 2 * half + 1  # odd, so that a column is centred on zero
    steps = max(ceil((trimmed - half) / group), FEWEST_STEPS)
    reach = steps * group + half
    middles = range(-steps * group, steps * group + 1, group)
    totals = [sum(share.get(move, 0.0) for move in range(m - half, m + half + 1)) for m in middles]
    step = _round_step(max(totals) / 4)
    top = step * max(ceil(max(totals) / step), 1)
    width = 100 / len(totals)
    columns = tuple(
        Column(
            i * width,
            width,
            100 * total / top,
            (middle - half) * unit - unit // 2,
            (middle + half) * unit + unit // 2,
            total,
        )
        for i, (middle, total) in enumerate(zip(middles, totals, strict=True))
    )
    group, reach = group * unit, reach * unit + unit // 2
    stride = max(round(_round_step(reach / 3)), 1)
    moves = range(-(reach // stride) * stride, reach + 1, stride)
    return NoisePicture(
        columns=columns,
        moves=tuple(Tick(100 * (move + reach + 0.5) / (2 * reach + 1), move) for move in moves),
        shares=tuple(Tick(100 * i * step / top, i * step) for i in range(1, round(top / step) + 1)),
        group=group,
        reach=reach,
        beyond=max(1 - sum(totals), 0.0),
    )


def within(first: int, shares: Sequence[float], part: float) -> int:
    """Return the smallest distance that holds at least this part of a law around zero."""
    weight: dict[int, float] = {}
    for move, share in enumerate(shares, start=first):
        weight[abs(move)] = weight.get(abs(move), 0.0) + share
    held, need = 0.0, part * sum(weight.values()) - 1e-12
    for distance in sorted(weight):
        held += weight[distance]
        if held >= need:
            return distance
    return max(weight)


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, ... times a power of ten that is not below ``least``."""
    power = 10.0 ** floor(log10(least)) if least > 0 else 1.0
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))
