"""Posterior variances of a release and of its projection [partially-private-data, Lemma 14]."""

from collections.abc import Sequence

import numpy as np

from holdfast.calculus import expected_variance
from holdfast.inference.projected_power import ProjectedValues, ProjectionDesign, ProjectionNoise


def projected_variance(
    n: int,
    rate: float,
    thetas: Sequence[float],
    *,
    design: ProjectionDesign = "bounds",
    noise: ProjectionNoise = "geometric",
) -> tuple[float, float]:
    """Return the expected posterior variance of theta from a release, and from its projection.

    All ``thetas`` are equally likely beforehand. The second is never smaller [partially-private-data, Lemma
    14], and no larger where the projection is sufficient.
    """
    world, values = ProjectedValues(n, rate, design, noise, (0, n)), np.asarray(thetas, dtype=np.float64)
    prior = np.full(values.size, 1 / values.size)
    laws = np.stack([world.law(theta) for theta in thetas])
    short = np.stack([np.bincount(world.place, weights=law) for law in laws]).astype(np.float64)
    return expected_variance(values, prior, laws), expected_variance(values, prior, short)
