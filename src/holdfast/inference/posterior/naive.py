"""The analysis that ignores the noise: the same model, with released counts taken for the true ones.

It is there to compare with. A negative count is taken for 0, and areas have the totals that this leaves.
"""

from dataclasses import replace

import numpy as np

from holdfast.inference.posterior.draws import Draws
from holdfast.inference.posterior.model import CountModel
from holdfast.lattice.arrays import IntArray

WARMUP = 200


def naive(model: CountModel, released: IntArray, *, draws: int, seed: int | None = None) -> Draws:
    """Return draws of the parameters as if the released counts were true, in one chain."""
    generator = np.random.default_rng(seed)
    counts = np.maximum(released, 0)
    if model.kind == "proportions":
        totals = np.bincount(model.stratum, weights=counts, minlength=model.totals.size)
        model = replace(model, totals=totals.astype(np.int64))
    numbers = np.tile(model.medians(), (draws, 1, 1))
    if not model.settled:
        now, sums = model.medians(), np.ascontiguousarray(model.sums(counts))
        for at in range(-WARMUP, draws):
            model.settle(now, sums, generator)
            numbers[max(at, 0)] = now
    tables = np.broadcast_to(counts, (1, draws, counts.size))
    return Draws.of(model, tables, numbers[None], generator, sampler="gibbs")
