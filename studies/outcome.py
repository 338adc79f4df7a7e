"""What a part of the study hands back: numbers with their errors, sentences, and pictures."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, TypeVar

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

T = TypeVar("T")
Bar = Callable[[Iterable[T], str], Iterator[T]]
"""Runs through a list and shows how far it has come."""


@dataclass(frozen=True)
class Number:
    """A result and its standard error, 0 where nothing was drawn; ``truth`` where a formula gives it."""

    value: float
    error: float = 0.0
    truth: float | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """One part. ``speeds`` depend on the machine and are not compared with anything."""

    numbers: dict[str, Number]
    lines: tuple[str, ...]
    pictures: dict[str, Figure]
    speeds: dict[str, float] = field(default_factory=dict)


def mean(sample: NDArray[Any], truth: float | None = None) -> Number:
    """Return the mean of independent numbers."""
    values = np.asarray(sample, dtype=np.float64)
    return Number(float(values.mean()), float(values.std(ddof=1)) / sqrt(values.size), truth)


def variance(sample: NDArray[Any], truth: float | None = None) -> Number:
    """Return the variance of independent numbers; its error is that of the mean of squares."""
    values = np.asarray(sample, dtype=np.float64)
    return mean((values - values.mean()) ** 2, truth)
