"""What mechanisms say of themselves in a certificate, and what they find in the files of a release.

Here are the base of its sections, and what several mechanisms have in common.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from pydantic import StrictFloat, StrictStr

from holdfast.data.sections import Section
from holdfast.data.table import PublicTable
from holdfast.privacy.conversion import gdp_to_epsilon, zcdp_to_epsilon
from holdfast.privacy.intensity import (
    Approximate,
    Functional,
    GaussianDP,
    GaussianNoise,
    Intensity,
    Pure,
    ZeroConcentrated,
)
from holdfast.privacy.tight import tight
from holdfast.spec.privacy import ProtectedUnit

SMALL_DELTA = 1e-10


class MechanismDetails(Section):
    """What a mechanism says of itself in a certificate beside its record."""

    def rows(self, record: Any, whom: ProtectedUnit) -> dict[str, list[str]]:
        """Return what a summary says of it, by the titles of its rows."""
        del record, whom
        return {}

    @property
    def simulated(self) -> int:
        """How many cells were estimated to tell of it."""
        return 0


class EpsilonAt(Section):
    """An epsilon at a small delta, for readers of other standards."""

    delta: StrictStr
    epsilon: StrictFloat


def epsilon_at(intensity: Intensity) -> EpsilonAt | None:
    """Return an epsilon at a small delta, for readers of other standards than pure and approximate."""
    match intensity:
        case Pure() | Approximate():
            return None
        case GaussianNoise():
            epsilon = tight(intensity).epsilon_at(SMALL_DELTA)
        case ZeroConcentrated(rho):
            epsilon = zcdp_to_epsilon(rho=float(rho), delta=SMALL_DELTA).value
        case GaussianDP(mu):
            epsilon = gdp_to_epsilon(mu=float(mu), delta=SMALL_DELTA).value
        case Functional(f):
            epsilon = f.epsilon_at(SMALL_DELTA)
    return EpsilonAt(delta=f"{SMALL_DELTA:g}", epsilon=ceil(epsilon * 10**6) / 10**6)


@dataclass(frozen=True)
class ReleasedFiles:
    """The files of a released table, by the names of the outputs, as its certificate names them."""

    folder: Path
    names: Mapping[str, str]
    table: PublicTable
    measured: str | None
    """The digest of what was measured, from the head of the certificate."""
    quoted_formulas: bool
    among_others: bool = False
    """Whether the head speaks of other tables, too."""

    def path(self, output: str) -> Path:
        """Return where an output stands."""
        return self.folder / self.names[output]
