"""What post-processing maps to one value: releases that differ, and look alike afterwards.

A projection onto what is public sends many releases to the same point of its boundary. What told them apart
is lost to whoever reads the processed table, however well the noise is known [partially-private-data,
Section 4.3]. A value is **contracted** to a bound where it is at the bound after processing, and was not
before.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holdfast.lattice.arrays import BoolArray, FloatArray
from holdfast.system.errors import DataError


def contracted(released: ArrayLike, processed: ArrayLike, bound: ArrayLike = 0) -> BoolArray:
    """Return which values are at a bound after processing, and were not before.

    >>> contracted([-3, 0, 2, 5], [0, 0, 0, 4]).tolist()
    [True, False, True, False]
    """
    before, after = np.asarray(released), np.asarray(processed)
    if before.shape != after.shape:
        raise DataError(
            f"released values of shape {before.shape} were processed to {after.shape}: give the same values."
        )
    return np.asarray((after == bound) & (before != bound))


@dataclass(frozen=True, eq=False)
class Contractions:
    """Contracted values of cases and deaths, one replicate a row, one place a column.

    ``rates``: all cases died after processing, and not before; places without cases have no rate.
    """

    case_zeros: BoolArray
    death_zeros: BoolArray
    rates: BoolArray

    def counts(self) -> dict[str, int]:
        """Return how many values are contracted, by kind."""
        return {name: int(flags.sum()) for name, flags in self._kinds()}

    def shares(self) -> dict[str, FloatArray]:
        """Return the share of replicates in which the value of each place is contracted."""
        return {name: np.atleast_2d(flags).mean(axis=0) for name, flags in self._kinds()}

    def to_dict(self) -> dict[str, Any]:
        """Return counts and the number of values that they are of."""
        return {**self.counts(), "values": int(self.rates.size)}

    def _kinds(self) -> tuple[tuple[str, BoolArray], ...]:
        return (
            ("contracted_case_zeros", self.case_zeros),
            ("contracted_death_zeros", self.death_zeros),
            ("contracted_rates", self.rates),
        )


def contractions(
    cases: ArrayLike, deaths: ArrayLike, processed_cases: ArrayLike, processed_deaths: ArrayLike
) -> Contractions:
    """Return what processing contracts of cases, of deaths, and of the share of cases that survive."""
    alive = contracted(
        np.asarray(cases) - np.asarray(deaths), np.asarray(processed_cases) - np.asarray(processed_deaths)
    )
    return Contractions(
        contracted(cases, processed_cases),
        contracted(deaths, processed_deaths),
        np.asarray(alive & (np.asarray(processed_cases) > 0)),
    )
