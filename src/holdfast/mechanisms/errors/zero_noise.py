"""How likely noise leaves a cell, or everything, as it is.

Lattice noise is zero with probability w(0) / sum of w(z) over the lattice. The lattice is a product over the
connected components of the invariants, and so is the law in l1 or of a Gaussian. A component without a row
is one free cell, with weight Z_1 = sum of w(k). One under a plain total weighs

    Z_n = sum of w(z_1) ... w(z_n) over z_1 + ... + z_n = 0 = (1 / M) sum over t of phi(t)^n,

phi being the discrete Fourier transform of w at M angles: exact but for sums that reach M, which is chosen
so that these weigh nothing. One cell of it stays with probability w(0) Z_(n-1) / Z_n. Other components are
not summed here: what is not worked out is None.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray
from holdfast.lattice.spread import SpreadColumns
from holdfast.sampling.lattice.kernel_gaussian import is_total
from holdfast.sampling.lattice.plan import groups

MOST_ANGLES = 1 << 20
NOTHING = 45.0
"""A weight of exp(-45) beside 1 is no part of a float."""

LogWeights = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Chance:
    """A probability, between two bounds that are equal where it is known."""

    low: float
    high: float


@dataclass(frozen=True)
class ZeroNoiseChances:
    """The chance that a cell which noise can move is not moved, on average over these, and that none is."""

    cell: Chance | None
    everything: Chance


def on_lattice(matrix: csr_array | SpreadColumns, log_weight: LogWeights) -> ZeroNoiseChances | None:
    """Return the chances of a product law on the kernel of a full-rank matrix; None where it has crossings.

    ``log_weight`` is log w, which is 0 at 0 and falls to either side.
    """
    logs, stay, cells = 0.0, 0.0, 0
    for system, members in groups(matrix):
        rows, width = system.shape
        if rows >= width:
            continue  # the invariants fix every cell
        if rows and not is_total(system):
            return None
        total = _total(width, log_weight) if rows else _free(log_weight)
        if total is None:
            return None
        one, whole = total
        copies = members.shape[0] if rows else members.size
        logs += copies * whole
        stay += exp(one) * copies * (width if rows else 1)
        cells += copies * (width if rows else 1)
    if not cells:
        return None
    cell = stay / cells
    return ZeroNoiseChances(Chance(cell, cell), Chance(exp(logs), exp(logs)))


def _free(log_weight: LogWeights) -> tuple[float, float] | None:
    """Return the log probability that one free cell stays, twice."""
    weights = _weights(log_weight)
    if weights is None:
        return None
    stays = -log(float(weights.sum()))
    return stays, stays


def _total(width: int, log_weight: LogWeights) -> tuple[float, float] | None:
    """Return the log probabilities that one cell under a total stays, and that all of them do."""
    weights = _weights(log_weight)
    if weights is None:
        return None
    reach = weights.size // 2
    steps = np.arange(-reach, reach + 1)
    variance = float((weights * steps**2).sum() / weights.sum())
    angles = 1 << int(max(2.0 * weights.size, 2 * sqrt(2 * NOTHING * width * variance), 8)).bit_length()
    if angles > MOST_ANGLES:
        return None
    around = np.zeros(angles)
    around[steps % angles] = weights
    phi = np.maximum(np.fft.rfft(around).real, 1e-300)
    twice = np.full(phi.size, 2.0)  # angles come in pairs, but for the first and the last
    twice[[0, -1]] = 1.0
    size = np.log(phi)

    def log_sum(cells: int) -> float:
        """Return log Z_n."""
        terms = cells * size + np.log(twice)
        most = float(terms.max())
        return most + log(float(np.exp(terms - most).sum())) - log(angles)

    whole = log_sum(width)
    return min(log_sum(width - 1) - whole, 0.0), min(-whole, 0.0)


def _weights(log_weight: LogWeights) -> FloatArray | None:
    """Return w(-K), ..., w(K) for the least K beyond which nothing weighs; None where K is too large."""
    reach = 1
    while float(log_weight(np.array([reach + 1.0]))[0]) > -NOTHING:
        reach *= 2
        if 2 * reach > MOST_ANGLES:
            return None
    return np.exp(log_weight(np.arange(-reach, reach + 1, dtype=np.float64)))
