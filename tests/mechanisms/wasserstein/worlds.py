"""Small worlds of the mechanisms of this folder: what they release is written down again by definitions."""

from collections.abc import Mapping
from fractions import Fraction
from math import lgamma
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.wasserstein.exponential import WassersteinExponential
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import Pure
from holdfast.testing.contract import Subject
from holdfast.testing.losses import record_distances
from holdfast.testing.worlds import Case

Floats = NDArray[np.float64]


def exponential(
    folder: Path,
    world: str,
    privacy: Mapping[str, Any],
    options: Mapping[str, Any],
    constraints: Mapping[str, Any],
) -> tuple[WassersteinExponential, Subject]:
    """Prepare an exponential mechanism on a world."""
    subject = Subject.of(Case(world, privacy, options, constraints), WassersteinExponential, folder)
    assert isinstance(subject.mechanism, WassersteinExponential)
    return subject.mechanism, subject


def log_weights(
    mechanism: WassersteinExponential, table: IntArray, releases: IntArray, *, by: float = 1.0
) -> Floats:
    """Return log nu(y) - kappa L(x, y) of releases within bounds, from the definition."""
    z = (releases - table).astype(np.float64)
    if mechanism.loss_.queries is not None:
        z = z @ np.array(mechanism.loss_.queries).T
    size = {
        "l1": np.abs(z).sum(axis=1),
        "l2": np.sqrt((z**2).sum(axis=1)),
        "linf": np.abs(z).max(axis=1),
        "squared": (z**2).sum(axis=1),
    }[mechanism.loss_.kind]
    logs: Floats = -by * float(mechanism.kappa) * size
    for cell, a in enumerate(mechanism.measure.pseudo or ()):
        counts = releases[:, cell].tolist()
        if a:
            logs += [lgamma(k + float(a)) - lgamma(float(a)) - lgamma(k + 1) for k in counts]
        else:
            logs[releases[:, cell] > 0] = -np.inf
    return logs


def spent(guarantee: Guarantee, tables: IntArray, logs: Floats) -> float:
    """Return the largest share of its guarantee that is lost, log weights being a row for each table."""
    assert isinstance(guarantee.intensity, Pure)
    seen = np.isfinite(logs).any(axis=0)
    shares = logs[:, seen] - logsumexp(logs[:, seen], axis=1, keepdims=True)
    lost = np.stack([(row - shares).max(axis=1) for row in shares])
    apart, epsilon = record_distances(tables), float(guarantee.intensity.epsilon)
    if guarantee.unit.adjacency == "unit":
        return max(float((lost[apart == d] / (epsilon * d)).max()) for d in np.unique(apart[apart > 0]))
    return float(lost[(apart > 0) & (apart <= guarantee.unit.distance)].max()) / epsilon


def halves(*numbers: str) -> tuple[Fraction, ...]:
    """Return numbers by their texts."""
    return tuple(map(Fraction, numbers))
