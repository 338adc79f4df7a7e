"""One of each kind of tradeoff function, for tests that hold for all."""

import numpy as np

from holdfast.privacy.conversion import zcdp_to_tradeoff
from holdfast.privacy.tradeoff import (
    EpsilonDelta,
    Gaussian,
    Tradeoff,
    envelope,
    group,
    symmetrise,
    tensor,
    tradeoff_of,
    tradeoff_of_lattice,
)
from holdfast.privacy.tradeoff.composition import LossDistributions

WINDOW = np.arange(-30, 31)
LOPSIDED = tradeoff_of(np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.3, 0.4, 0.2]))

KINDS: dict[str, Tradeoff] = {
    "perfect": Gaussian(0.0),
    "gaussian": Gaussian(1.3),
    "sharp gaussian": Gaussian(6.0),
    "blunt gaussian": Gaussian(1e-4),
    "pure": EpsilonDelta(1.5),
    "approximate": EpsilonDelta(0.7, 0.01),
    "exposed": EpsilonDelta(0.0, 1.0),
    "finite": LOPSIDED,
    "inverse": LOPSIDED.inverse(),
    "symmetrised": symmetrise(LOPSIDED),
    "lattice": tradeoff_of_lattice(-0.5 * np.abs(WINDOW), -0.5 * np.abs(WINDOW - 1), 1e-6),
    "tangents": Gaussian(1.3).pieces(),
    "group": group(EpsilonDelta(0.4, 0.001), 3),
    "finite group": group(LOPSIDED, 2),
    "product": tensor(LOPSIDED, EpsilonDelta(0.5), LOPSIDED),
    "mixed": tensor(LOPSIDED, Gaussian(0.8)),
    "losses": LossDistributions.of([LOPSIDED, Gaussian(0.8)]).tradeoff(),
    "envelope": envelope([EpsilonDelta(2.0), EpsilonDelta(0.5, 0.1), Gaussian(0.9)]),
    "zcdp": zcdp_to_tradeoff(rho=0.4),
}
