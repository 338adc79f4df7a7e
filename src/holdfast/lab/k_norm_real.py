"""The K-norm law on the real span of the moves, for studies: in floats, never for a release.

The density is proportional to exp(-epsilon ||z||_K). Two exact algorithms:

* ``envelope``: z is drawn with density proportional to exp(-(epsilon / M) ||z||_1) and kept with probability
  exp(-(epsilon ||z||_K - epsilon ||z||_1 / M)), with M = max ||u||_1 as for the law on the lattice.
* ``bounding_box``: [semi-dp, Algorithm 3] itself. A uniform point of the box of coordinates around K is kept
  when it is in K, and multiplied by R ~ Gamma(s + 1, epsilon), s the dimension of the span. Few points of a
  box lie in K: it is here to be compared with.

The l1 density on r x c tables with zero margins comes from its Fourier transform. exp(-|z|) is a mixture of
N(0, tau) over exponential tau, and its transform is proportional to phi(x) = 1 / (1 + x^2). Zero margins are
an integral over theta in R^(r + c), where x_e = theta_row - theta_column for the cell e:

1. theta has density proportional to prod phi(x_e). A cell is in a uniform spanning tree of the complete
   bipartite graph with probability p = (r + c - 1) / (r c), so by the weighted AM-GM inequality prod phi(x_e)
   is at most the mean over trees of prod_{e in tree} phi(x_e)^(1/p): draw a tree, draw its x_e, and accept
   with the ratio. The mean over trees is a determinant, by the matrix-tree theorem.
2. tau_e given theta is exponential with rate (1 + x_e^2) / 2, independently.
3. z given tau is Gaussian with variances tau given zero margins.
"""

from collections.abc import Callable
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.programs.decompose import Decompose
from holdfast.system.errors import SamplingError
from holdfast.universe.hull.norm import HullNorm

Floats = NDArray[np.float64]

BATCH = 2_000
"""Proposals made at once."""
MOST_PROPOSALS = 10_000_000


class RealKNorm:
    """Density proportional to exp(-epsilon ||z||_K) on the span of the norm's moves. Not for releases."""

    def __init__(self, norm: HullNorm, epsilon: float) -> None:
        self.norm, self.epsilon = norm, epsilon
        on_coordinates = csr_array(norm.moves.vectors.tocsc()[:, norm.coordinates])
        self._program = Decompose(on_coordinates, norm.moves.independent)

    def norms(self, points: Floats) -> Floats:
        """Return ||z||_K of each row, a real point of the span, as the solver gives it."""
        scales = np.abs(points).sum(axis=1)
        if self.norm.additive:
            return np.asarray(scales / self.norm.l1)
        chosen = points[:, self.norm.coordinates]
        found = [self._program.solve(point / scale) for point, scale in zip(chosen, scales, strict=True)]
        return np.asarray(scales * [np.abs(one.coefficients).sum() for one in found])

    def envelope(self, generator: np.random.Generator, size: int) -> tuple[Floats, float]:
        """Return ``size`` draws of a two-way table, one a row, and the share of proposals that was kept."""
        table = self.norm.moves.table
        if table is None:
            raise SamplingError("the l1 envelope is for two-way tables: use bounding_box.")

        def propose(count: int) -> Floats:
            draws = zero_margin_laplace(table, self.norm.moves.cells, generator, count)
            return draws * (self.norm.l1 / self.epsilon)

        def keep(draws: Floats) -> NDArray[np.bool_]:
            excess = self.epsilon * (self.norms(draws) - np.abs(draws).sum(axis=1) / self.norm.l1)
            return np.asarray(generator.random(excess.size) < np.exp(-excess))

        return _kept(propose, keep, size)

    def bounding_box(self, generator: np.random.Generator, size: int) -> tuple[Floats, float]:
        """Return ``size`` draws, one a row, and the share of points of the box that was in K."""
        moves, coordinates = self.norm.moves, self.norm.coordinates
        basis = moves.basis
        reach = abs(moves.vectors.tocsc()[:, coordinates]).max(axis=0).toarray().ravel()
        back = np.linalg.solve(basis[:, coordinates].astype(np.float64), basis.astype(np.float64))
        ball, share = _kept(
            lambda count: (generator.uniform(-1, 1, (count, reach.size)) * reach) @ back,
            lambda points: self.norms(points) <= 1,
            size,
        )
        radius = generator.gamma(self.norm.dimension + 1, 1 / self.epsilon, size)
        return ball * radius[:, None], share


def zero_margin_laplace(table: IntArray, cells: int, generator: np.random.Generator, size: int) -> Floats:
    """Return draws with density proportional to exp(-||z||_1) on tables with zero margins, in floats."""
    rows, columns = table.shape
    incidence = _incidence(rows, columns)
    power = rows * columns / (rows + columns - 1)  # 1 / p
    log_trees = (columns - 1) * log(rows) + (rows - 1) * log(columns)

    def propose(count: int) -> Floats:
        theta = _tree_angles(rows, columns, power, generator, count)
        return (theta[:, :rows, None] - theta[:, None, rows:]).reshape(count, -1)

    def keep(x: Floats) -> NDArray[np.bool_]:
        log_phi = -np.log1p(x * x)
        weighted = (incidence * np.exp(power * log_phi)[:, None, :]) @ incidence.T
        ratio = log_phi.sum(axis=1) + log_trees - np.linalg.slogdet(weighted)[1]
        return np.asarray(np.log(generator.random(x.shape[0])) < ratio)

    x, _ = _kept(propose, keep, size)
    tau = generator.exponential(2 / (1 + x * x))
    free = generator.standard_normal(x.shape) * np.sqrt(tau)
    weighted = (incidence * tau[:, None, :]) @ incidence.T
    shares = np.linalg.solve(weighted, (free @ incidence.T)[..., None])[..., 0]
    draws = np.zeros((size, cells))
    draws[:, table.ravel()] = free - tau * (shares @ incidence)
    return draws


def _tree_angles(rows: int, columns: int, power: float, generator: np.random.Generator, size: int) -> Floats:
    """Return theta along uniform spanning trees, found by random walks; the first row is at 0.

    The edges by which a walk first enters its vertices are a uniform spanning tree. The density of x on an
    edge is proportional to (1 + x^2)^-power: Student's t with 2 power - 1 degrees of freedom, scaled.
    """
    nu = 2 * power - 1
    every = np.arange(size)
    theta = np.zeros((size, rows + columns))
    seen = np.zeros((size, rows + columns), dtype=np.bool_)
    seen[:, 0] = True
    at, in_row = np.zeros(size, dtype=np.int64), True
    while not seen.all():
        to = rows + generator.integers(columns, size=size) if in_row else generator.integers(rows, size=size)
        step = generator.standard_t(nu, size) / np.sqrt(nu)
        theta[every, to] = np.where(seen[every, to], theta[every, to], theta[every, at] + step)
        seen[every, to] = True
        at, in_row = to, not in_row
    return theta


def _incidence(rows: int, columns: int) -> Floats:
    """Return the signed incidence of rows and columns with cells, without the first row."""
    i, j = (part.ravel() for part in np.indices((rows, columns)))
    incidence = np.zeros((rows + columns, rows * columns))
    incidence[i, np.arange(i.size)] = 1
    incidence[rows + j, np.arange(i.size)] = -1
    return incidence[1:]


def _kept(
    propose: Callable[[int], Floats], keep: Callable[[Floats], NDArray[np.bool_]], size: int
) -> tuple[Floats, float]:
    """Return the first ``size`` proposals that are kept, and the share kept so far."""
    kept: list[Floats] = []
    found = tried = 0
    while found < size:
        if tried >= MOST_PROPOSALS:
            raise SamplingError(f"{tried:,} proposals gave {found} draws: use a smaller table.")
        share = (found + 1) / (tried + 1)
        points = propose(int(min(BATCH, (size - found) / share * 1.2 + 16)))
        chosen = points[keep(points)]
        kept.append(chosen)
        found, tried = found + chosen.shape[0], tried + points.shape[0]
    return np.concatenate(kept)[:size], found / tried
