"""Draws of a posterior, by chain: tables, rates or proportions, and the numbers of the prior."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from holdfast.errors import SamplingError
from holdfast.inference.posterior.asked import Sampler
from holdfast.inference.posterior.model import CountModel, Numbers
from holdfast.lattice.arrays import FloatArray, IntArray

BATCH = 1 << 22
"""Parameters that are drawn at once."""
MOST_VALUES = 100_000_000
"""Numbers that are kept at most, over all draws: 4 GB, with what is told of them."""


def require_memory(model: CountModel, draws: int) -> None:
    """Raise SamplingError where so many draws are not to be kept."""
    each = model.cells + model.groups
    if draws * each > MOST_VALUES:
        raise SamplingError(
            f"{draws:,} draws of {each:,} numbers do not fit the memory: ask for {MOST_VALUES // each:,} or"
            " fewer."
        )


@dataclass(frozen=True, eq=False)
class Draws:
    """What was drawn, chains x draws x numbers.

    Attributes:
        sampler: which sampler it was.
        tables: the counts of cells; every draw agrees with all that is public.
        parameters: the rates or proportions of groups.
        numbers: the logarithms of the numbers of the prior, by pool.
        log_weights: of importance sampling, chains x draws; None where all draws count alike.
        told: what else is to be known of the sampler, by name.

    """

    sampler: Sampler
    tables: IntArray
    parameters: FloatArray
    numbers: Numbers
    log_weights: FloatArray | None = None
    told: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: CountModel,
        tables: IntArray,
        numbers: Numbers,
        generator: np.random.Generator,
        *,
        sampler: Sampler,
        log_weights: FloatArray | None = None,
        told: Mapping[str, float] | None = None,
    ) -> "Draws":
        """Draw the parameters of tables and numbers."""
        parameters = np.empty((*tables.shape[:2], model.groups))
        size = max(1, BATCH // max(model.groups, 1))
        for chain in range(tables.shape[0]):
            for begin in range(0, tables.shape[1], size):
                part = (chain, slice(begin, begin + size))
                parameters[part] = model.draw_parameters(tables[part], numbers[part], generator)
        return cls(sampler, tables, parameters, numbers, log_weights, told or {})

    @property
    def size(self) -> int:
        """The number of draws, over all chains."""
        return int(self.tables.shape[0] * self.tables.shape[1])
