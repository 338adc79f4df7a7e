"""The loss of epsilon-TP by listing everything: datasets, laws given secrets, releases."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import inf, log
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Key = TypeVar("Key", bound=Hashable)
Floats = NDArray[Any]


def given(prior: Mapping[Key, float], secret: Iterable[Key]) -> dict[Key, float]:
    """Return the law given a secret, a set of datasets; empty where it has no chance."""
    mass = {key: prior[key] for key in secret if prior.get(key, 0) > 0}
    return {key: value / sum(mass.values()) for key, value in mass.items()}


def release(law: Mapping[Key, float], mechanism: Mapping[Key, Floats]) -> Floats:
    """Return the law of the release when the data follow a law."""
    return np.asarray(sum(mass * mechanism[key] for key, mass in law.items()))


def loss(one: Floats, other: Floats) -> float:
    """Return the largest log ratio, in both directions."""
    worst = 0.0
    for p, q in zip(one, other, strict=True):
        if (p > 0) != (q > 0):
            return inf
        if p > 0:
            worst = max(worst, abs(log(p / q)))
    return worst


def tp_loss(
    priors: Iterable[Mapping[Key, float]],
    pairs: Sequence[tuple[set[Key], set[Key]]],
    mechanism: Mapping[Key, Floats],
) -> float:
    """Return the smallest epsilon of epsilon-TP [partially-private-data, Definition 3]."""
    worst = 0.0
    for prior in priors:
        for one, other in pairs:
            laws = given(prior, one), given(prior, other)
            if all(laws):
                worst = max(worst, loss(*(release(law, mechanism) for law in laws)))
    return worst


def secrets(datasets: Sequence[tuple[int, ...]]) -> list[tuple[set[tuple[int, ...]], set[tuple[int, ...]]]]:
    """Return the pairs of values of each person, as sets of datasets."""
    found = []
    for person in range(len(datasets[0])):
        by_value: dict[int, set[tuple[int, ...]]] = {}
        for dataset in datasets:
            by_value.setdefault(dataset[person], set()).add(dataset)
        values = sorted(by_value)
        found += [(by_value[v], by_value[w]) for v in values for w in values if v < w]
    return found


def distance(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of records that differ."""
    return sum(x != y for x, y in zip(one, other, strict=True))


def randomised(
    datasets: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]], epsilon: float
) -> dict[tuple[int, ...], Floats]:
    """Return the mechanism with mass proportional to exp(-epsilon d(x, y)), over some outputs."""
    found = {}
    for dataset in datasets:
        mass = np.exp([-epsilon * distance(dataset, output) for output in outputs])
        found[dataset] = mass / mass.sum()
    return found
