"""Exact laws of l1 noise by Fourier sums: the normaliser, the mean norm, and the law of each cell.

Weights a^|z|, a = exp(-epsilon), have the transform phi(x) = (1 - a^2) / (1 - 2 a cos x + a^2), and so

    Z = sum over A z = 0 of a^||z||_1 = mean over the torus of prod_e phi(theta A_e).

Without its own factor this is the transform of what the other cells make of A z; one cell has to make up for
it, so P(z_e = s) = a^|s| / Z times the mean of exp(i s theta A_e) times the product over the others.

The mean over a grid with ``side`` points an angle is the sum over A z = 0 modulo the side: off by what is
left of the weights where A z is as large as the side.

For two-way margins the torus has too many dimensions. There rows are independent but for their columns'
sums, so one row takes the place of a cell: f is the transform of its weights given that it sums to zero, and
Z = mean of f^rows over the angles of all columns but one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoiseLaw:
    """What is known of noise prop. to exp(-epsilon ||z||_1).

    Attributes:
        normaliser: Z, the sum of all weights.
        cells: for each kind of cell the law of its noise, at 0, 1, 2, ...; it is symmetric.
        mean_norm: E ||z||_1.

    """

    normaliser: float
    cells: dict[str, Floats]
    mean_norm: float


def crossing_law(
    matrix: IntArray, kinds: Mapping[str, Sequence[int]], epsilon: Fraction, side: int = 160
) -> NoiseLaw:
    """Return the law for few counts over some cells; ``kinds`` names the cells that are alike."""
    rate, noise = float(epsilon), np.arange(side // 2)
    phi = _phi(rate, side)
    columns, times = np.unique(matrix, axis=1, return_counts=True)
    product = np.ones((side,) * matrix.shape[0])
    for column, power in zip(columns.T, times, strict=True):
        product *= (phi**power)[_angle(column, side)]
    normaliser = float(product.mean())
    laws = {}
    for kind, cells in kinds.items():
        angle = _angle(matrix[:, cells[0]], side)
        by_angle = np.bincount(angle.ravel(), product.ravel(), side) / phi / product.size
        laws[kind] = np.exp(-rate * noise) * np.fft.fft(by_angle).real[noise] / normaliser
    return NoiseLaw(normaliser, laws, sum(len(kinds[kind]) * mean_size(law) for kind, law in laws.items()))


def margins_law(rows: int, columns: int, epsilon: Fraction, side: int = 96) -> NoiseLaw:
    """Return the law for both margins of a two-way table; all its cells are alike."""
    rate, noise = float(epsilon), np.arange(side // 2)
    entry = np.fft.ifftshift(np.arange(-(side // 2), side - side // 2))
    entries = np.meshgrid(*[entry] * (columns - 1), indexing="ij", sparse=True)
    last = np.abs(sum(entries, np.array(0)))
    weights = np.exp(-rate * sum((np.abs(e) for e in entries), last))
    f = np.fft.fftn(weights).real
    normaliser = float((f**rows).mean())
    # the other rows sum to what the first one lacks; their law is even, so no sign is needed
    others = np.fft.ifftn(f ** (rows - 1)).real
    law = (weights * others).reshape(side, -1).sum(axis=1)[noise] / normaliser
    return NoiseLaw(normaliser, {"every cell": law}, rows * columns * mean_size(law))


def mean_size(law: Floats) -> float:
    """Return E |z| of a symmetric law on 0, 1, 2, ..."""
    return float(2 * np.arange(law.size) @ law)


def _phi(rate: float, side: int) -> Floats:
    """Return the transform of a^|z| at the angles of the grid."""
    a, angle = np.exp(-rate), 2 * np.pi * np.arange(side) / side
    return np.asarray((1 - a * a) / (1 - 2 * a * np.cos(angle) + a * a))


def _angle(column: IntArray, side: int) -> IntArray:
    """Return theta A_e at every point of the grid, in steps."""
    places = np.meshgrid(*[np.arange(side)] * column.size, indexing="ij", sparse=True)
    found = sum((made * place for made, place in zip(column, places, strict=True)), np.array(0))
    return np.broadcast_to(found % side, (side,) * column.size)
