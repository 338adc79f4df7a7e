"""Halving: sums of cells that are drawn from the whole to the parts.

A node of a binary tree stands for a block of cells with weights, W in all, and with sum S; its left child
weighs L, the right one R = W - L. With S_l the sum of the left child,

    sum_e z_e^2 / w_e  =  S^2 / W + sum over the nodes of (S_l - S L/W)^2 W / (L R),

so, S being known at the roots, the sums S_l are the coordinates of a lattice Gaussian in triangular form:
each is drawn near S L/W with variance sigma^2 L R / W, all nodes of one depth at once (klein.py has the
acceptance). Where a block is not halved but gives up one cell after the other, fewer of the coordinates are
narrow, and more draws are needed one after the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.floats import Floats
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.klein import TINY, Proposal
from holdfast.sampling.numbers.near import draw_near


@dataclass(frozen=True, eq=False)
class Stage:
    """Blocks of successive cells that are split at once: from ``begins`` to ``ends``, at ``middles``.

    ``share`` is L/W of each, and ``width`` the standard deviation of S_l given S at variance 1.
    """

    begins: IntArray
    middles: IntArray
    ends: IntArray
    share: Floats
    width: Floats


def stages(begins: IntArray, ends: IntArray, weights: IntArray, group: int = 1) -> Iterator[Stage]:
    """Yield the splits of some blocks down to single cells.

    Blocks of more than ``group`` cells are halved, smaller ones give up their first cell.
    """
    running = np.concatenate([[0.0], np.cumsum(weights)])
    inner = ends - begins > 1
    begins, ends = begins[inner], ends[inner]
    while begins.size:
        middles = np.where(ends - begins > group, (begins + ends) // 2, begins + 1)
        left, right = running[middles] - running[begins], running[ends] - running[middles]
        whole = left + right
        yield Stage(begins, middles, ends, left / whole, np.sqrt(left * right / whole))
        begins, ends = (
            np.stack([begins, middles], axis=1).ravel(),
            np.stack([middles, ends], axis=1).ravel(),
        )
        inner = ends - begins > 1
        begins, ends = begins[inner], ends[inner]


class Halving:
    """Proposals for vectors of ``cells`` >= 2 integers that sum to zero, with a variance a draw."""

    def __init__(self, cells: int) -> None:
        self._cells, self._parts = cells, Parts(np.array([0]), np.array([cells]))

    @property
    def shapes(self) -> Floats:
        """The widths of all coordinates at variance 1."""
        return self._parts.shapes

    def propose(self, sigma: Floats, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one vector for each standard deviation, and the proposal it came from."""
        sums = np.zeros((sigma.size, self._cells), dtype=np.int64)
        return sums, Proposal.of(*self._parts.split(sums, sigma, entropy))


class Parts:
    """Blocks of cells of equal weight that are split into their cells."""

    def __init__(self, begins: IntArray, ends: IntArray) -> None:
        weights = np.ones(int(ends.max(initial=0)), dtype=np.int64)
        self._stages = tuple(stages(begins, ends, weights))

    @property
    def shapes(self) -> Floats:
        """The widths of all coordinates at variance 1, stretched a little (klein.py)."""
        widths = [stage.width for stage in self._stages]
        return np.concatenate([np.zeros(0), *widths]) * (1 + TINY)

    def split(self, sums: IntArray, sigma: Floats, entropy: Entropy) -> tuple[IntArray, Floats, Floats]:
        """Turn the sum of each block, kept at its first cell, into cells; one vector a row.

        Returns the coordinates, their centres and their widths.
        """
        lefts: list[IntArray] = [np.zeros((sigma.size, 0), dtype=np.int64)]
        centres: list[Floats] = [np.zeros((sigma.size, 0))]
        widths: list[Floats] = [np.zeros((sigma.size, 0))]
        for stage in self._stages:
            centre = sums[:, stage.begins].astype(np.float64) * stage.share
            width = sigma[:, None] * (stage.width * (1 + TINY))
            left = draw_near(centre.ravel(), width.ravel(), entropy).reshape(centre.shape)
            sums[:, stage.middles] = sums[:, stage.begins] - left
            sums[:, stage.begins] = left
            lefts.append(left)
            centres.append(centre)
            widths.append(width)
        return np.concatenate(lefts, axis=1), np.concatenate(centres, axis=1), np.concatenate(widths, axis=1)
