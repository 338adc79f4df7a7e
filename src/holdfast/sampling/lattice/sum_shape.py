"""Proposals for the Gaussian laws of all variances on one lattice: sums of cells first.

Cells with equal columns of A take part in the same invariants, and matter through their sum alone. The sums
are proposed coordinate by coordinate (klein.py): by halving every axis where whole margins cross (grid.py),
else in the coordinates that elimination leaves free, or of a reduced basis where that takes more than
integers. The cells of each sum follow, by halving (`HalvedBlocks`) or exactly (by_halves.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.components import Patterns, patterns
from holdfast.lattice.kernel import reduced_basis, solve_in_order
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.klein import TINY, Factor, Proposal, factor, propose
from holdfast.sampling.numbers.gaussian import draw_near
from holdfast.system.errors import SamplingError


@dataclass(frozen=True, eq=False)
class HalvingStage:
    """Blocks of successive cells that are split at once: from ``begins`` to ``ends``, at ``middles``.

    A node of a binary tree stands for a block of cells with weights, W in all, and with sum S; its left child
    weighs L, the right one R = W - L. With S_l the sum of the left child,

        sum_e z_e^2 / w_e  =  S^2 / W + sum over the nodes of (S_l - S L/W)^2 W / (L R),

    so, S being known at the roots, the sums S_l are the coordinates of a lattice Gaussian in triangular form:
    each is drawn near S L/W with variance sigma^2 L R / W, all nodes of one depth at once (klein.py has the
    acceptance). Where a block is not halved but gives up one cell after the other, fewer of the coordinates
    are narrow, and more draws are needed one after the other.

    ``share`` is L/W of each, and ``width`` the standard deviation of S_l given S at variance 1.
    """

    begins: IntArray
    middles: IntArray
    ends: IntArray
    share: FloatArray
    width: FloatArray

    def centres(self, running: FloatArray, sums: IntArray) -> tuple[FloatArray, IntArray]:
        """Return where left children are expected, and the sums of their parents, kept at their first cells.

        ``running`` has, for each row, the sums of the means of the cells before each.
        """
        before, totals = running.take(self.begins, axis=1), sums.take(self.begins, axis=1)
        left, beyond = running.take(self.middles, axis=1), running.take(self.ends, axis=1)
        left -= before
        beyond -= before
        share = self.share.reshape(-1, *(1 for _ in running.shape[2:]))
        left += share * np.subtract(totals, beyond, out=beyond)
        return left, totals


def stages(
    begins: IntArray, ends: IntArray, weights: IntArray | FloatArray, group: int = 1
) -> Iterator[HalvingStage]:
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
        yield HalvingStage(begins, middles, ends, left / whole, np.sqrt(left * right / whole))
        begins, ends = (
            np.stack([begins, middles], axis=1).ravel(),
            np.stack([middles, ends], axis=1).ravel(),
        )
        inner = ends - begins > 1
        begins, ends = begins[inner], ends[inner]


class Halving:
    """Proposals for vectors of ``cells`` >= 2 integers that sum to zero, with a variance a draw."""

    def __init__(self, cells: int) -> None:
        self._cells, self._parts = cells, HalvedBlocks(np.array([0]), np.array([cells]))

    @property
    def shapes(self) -> FloatArray:
        """The widths of all coordinates at variance 1."""
        return self._parts.shapes

    def propose(self, sigma: FloatArray, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one vector for each standard deviation, and the proposal it came from."""
        sums = np.zeros((sigma.size, self._cells), dtype=np.int64)
        return sums, Proposal.of(*self._parts.split(sums, sigma, entropy))


class HalvedBlocks:
    """Blocks of cells of equal weight that are split into their cells."""

    def __init__(self, begins: IntArray, ends: IntArray) -> None:
        weights = np.ones(int(ends.max(initial=0)), dtype=np.int64)
        self._stages = tuple(stages(begins, ends, weights))

    @property
    def shapes(self) -> FloatArray:
        """The widths of all coordinates at variance 1, stretched a little (klein.py)."""
        widths = [stage.width for stage in self._stages]
        return np.concatenate([np.zeros(0), *widths]) * (1 + TINY)

    def split(
        self, sums: IntArray, sigma: FloatArray, entropy: Entropy
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Turn the sum of each block, kept at its first cell, into cells; one vector a row.

        Returns the coordinates, their centres and their widths.
        """
        lefts: list[IntArray] = [np.zeros((sigma.size, 0), dtype=np.int64)]
        centres: list[FloatArray] = [np.zeros((sigma.size, 0))]
        widths: list[FloatArray] = [np.zeros((sigma.size, 0))]
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


MOST_KINDS, MOST_ENTRIES = 1500, 1 << 21
"""Different columns of invariants whose quadratic form is dense, and entries of their matrix:
limits of memory, 18 MB and 16 MB, and of the time of a factor, which grows with the cube."""


class SumShape(ABC):
    """Sums over ``sizes`` cells each; ``order`` is the cells of a vector, one sum's after another's."""

    def __init__(self, sizes: IntArray, order: IntArray) -> None:
        ends = np.cumsum(sizes)
        self.sizes, self._order = sizes, order
        self._begins, self._parts = ends - sizes, HalvedBlocks(ends - sizes, ends)

    @property
    @abstractmethod
    def sum_shapes(self) -> FloatArray:
        """The widths of the coordinates of the sums at variance 1."""

    @abstractmethod
    def propose_sums(self, sigma: FloatArray, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return the sums for each standard deviation, and the proposal they came from."""

    @property
    def shapes(self) -> FloatArray:
        """The widths of all coordinates at variance 1."""
        return np.concatenate([self.sum_shapes, self._parts.shapes])

    def propose(self, sigma: FloatArray, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one vector for each standard deviation, and the proposal it came from."""
        sums, proposal = self.propose_sums(sigma, entropy)
        cells = np.zeros((sigma.size, self._order.size), dtype=np.int64)
        cells[:, self._begins] = sums
        parts = Proposal.of(*self._parts.split(cells, sigma, entropy))
        return self.in_place(cells), Proposal.joined([proposal, parts], sigma.size)

    def in_place(self, drawn: IntArray) -> IntArray:
        """Return vectors in the order of their cells, from those with the cells of one sum after another."""
        cells = np.empty_like(drawn)
        cells[:, self._order] = drawn
        return cells


class Crossing(SumShape):
    """Proposals on the kernel of any full-rank integer matrix with few different columns."""

    def __init__(self, kinds: Patterns) -> None:
        super().__init__(kinds.size, np.argsort(kinds.of_cell, kind="stable"))
        columns, weights = kinds.columns.toarray(), np.sqrt(kinds.size)
        solved = solve_in_order(columns, np.arange(kinds.count)[None])
        if solved is None:
            self._basis = reduced_basis(columns).T
            form = self._basis.T @ (self._basis / kinds.size[:, None])
            least = np.linalg.eigvalsh(form)[0] if form.size else 1.0  # no sum is free
            self._factor = factor(form, 0.5 * float(least), kinds.count)
            return
        free, closing = solved.free[0], solved.closing[0]
        self._basis = np.zeros((kinds.count, free.size), dtype=np.int64)
        self._basis[free, np.arange(free.size)] = 1
        self._basis[closing] = -solved.coefficients[0]
        # scaled by the widths of the free sums, the form has eigenvalues of 1 and more
        scaled = self._basis[closing] * weights[free] / weights[closing][:, None]
        unit = factor(scaled.T @ scaled + np.eye(free.size), 1.0, kinds.count)
        lower = unit.lower * (weights[free][:, None] / weights[free])
        self._factor = Factor(lower, unit.widths * weights[free])

    @property
    def sum_shapes(self) -> FloatArray:
        """The widths of the coordinates of the sums at variance 1."""
        return self._factor.widths

    def propose_sums(self, sigma: FloatArray, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return the sums for each standard deviation, and the proposal they came from."""
        widths = sigma[:, None] * self._factor.widths
        proposal = propose(self._factor.lower, widths, entropy, sigma.size)
        return proposal.coordinates @ self._basis.T, proposal


def crossing(system: csr_array) -> Crossing:
    """Return proposals on the kernel of a full-rank integer matrix.

    Raises SamplingError where it has too many different columns for dense algebra.
    """
    rows, cells = system.shape
    kinds = patterns(system)
    if kinds.count > MOST_KINDS or rows * kinds.count > MOST_ENTRIES:
        raise SamplingError(
            f"the invariants tie {cells:,} cells of {kinds.count:,} kinds together in other ways than whole"
            f" margins do, and Gaussian or l2 noise can then be drawn for {MOST_KINDS:,} kinds at most: keep"
            " whole margins, fewer invariants or coarser attributes."
        )
    return Crossing(kinds)
