"""The Gaussian law on integer vectors that sum to zero, by halving.

A node of a binary tree stands for a block of n cells with sum S; its left child has l of them, the right one
r = n - l. With S_l the sum of the left child,

    sum_e z_e^2  =  S^2 / n + sum over the nodes of (S_l - S l/n)^2 n / (l r),

so, S being 0 at the root, the sums S_l are the coordinates of a lattice Gaussian in triangular form: each is
drawn near S l/n with variance sigma^2 l r / n, all nodes of one depth at once (klein.py has the acceptance).
"""

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.floats import Floats
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.klein import TINY, Proposal
from holdfast.sampling.numbers.near import draw_near


class Halving:
    """Proposals for vectors of ``cells`` >= 2 integers that sum to zero, with a variance a draw."""

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._levels: list[tuple[IntArray, IntArray, IntArray]] = []
        begins, ends = np.array([0]), np.array([cells])
        while begins.size:
            middles = (begins + ends) // 2
            self._levels.append((begins, middles, ends))
            begins, ends = (
                np.stack([begins, middles], axis=1).ravel(),
                np.stack([middles, ends], axis=1).ravel(),
            )
            inner = ends - begins > 1
            begins, ends = begins[inner], ends[inner]

    @property
    def shapes(self) -> Floats:
        """The widths of all coordinates at variance 1."""
        return np.concatenate([_units(*level) for level in self._levels])

    def propose(self, sigma: Floats, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one vector for each standard deviation, and the proposal it came from."""
        size = sigma.size
        sums = np.zeros((size, self._cells), dtype=np.int64)  # the sum of a block, kept at its first cell
        lefts: list[IntArray] = []
        near: list[tuple[Floats, Floats]] = []
        for begins, middles, ends in self._levels:
            share = (middles - begins) / (ends - begins)
            centres = sums[:, begins].astype(np.float64) * share
            widths = sigma[:, None] * _units(begins, middles, ends)
            left = draw_near(centres.ravel(), widths.ravel(), entropy).reshape(centres.shape)
            sums[:, middles] = sums[:, begins] - left
            sums[:, begins] = left
            lefts.append(left)
            near.append((centres, widths))
        centres, widths = (np.concatenate(parts, axis=1) for parts in zip(*near, strict=True))
        return sums, Proposal.of(np.concatenate(lefts, axis=1), centres, widths)


def _units(begins: IntArray, middles: IntArray, ends: IntArray) -> Floats:
    """Return the widths of the sums of left children at variance 1, stretched a little (klein.py)."""
    left, right = middles - begins, ends - middles
    return np.sqrt(left * right / (left + right)) * (1 + TINY)
