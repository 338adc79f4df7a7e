"""The Gaussian law of whole margins with weights, level by level: what is rejected is rejected early.

Tables are proposed level by level (tree_levels.py), with the probability prod exp(-(c - m)^2 / (2 s^2)) /
rho_s(m), and kept with the probability a of klein.py, a product:

    a  =  prod over levels l of a_l  x  exp(sum (c - m)^2 / (2 s^2) - z'Fz / (2 sigma^2) - SLACK),
    a_l  =  product of rho_s(m) / rho_s(0) over the coordinates of the level.

a_l is known once its level is drawn. So its coin is tossed at once, and a proposal whose coin shows tails is
given up: all of it, back to the top, before what is below is drawn. All coins show heads with the chance a,
so what is left has the law [theory, 6]. The last factor is nearly 1, and needs the cells. Most proposals are
lost in the upper levels, which have few numbers: many of them are tried at a time, and the leaves are drawn
about once.

Only the levels' tables are held. Where floats do not decide the last coin, they are added up again, and each
coordinate is read back from them: its centre and its width are the same floats, made by the same steps.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, prod, sqrt

import flint
import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.forms import Form
from holdfast.lattice.margins import MarginStrategy
from holdfast.sampling.decisions import Real, ball_of, real, toss_coins
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.grid import FoundCoordinates
from holdfast.sampling.lattice.kernel_gaussian import COST, HOPELESS, PILOT, PILOT_SUMS
from holdfast.sampling.lattice.klein import FARTHEST, SLACK, check_width
from holdfast.sampling.lattice.tree_levels import NEARLY_ALL, TreeLevel, TreeLevels
from holdfast.sampling.lattice.tree_nodes import Given, Piece
from holdfast.sampling.numbers.gaussian import SUM_ERROR, log_sum_ratio, sum_ratio_ball
from holdfast.sampling.rejection import rows_at_once

AT_LEAST = 1 << 13
"""Numbers that are drawn at once before any is saved: fewer take no less time."""
LEAST = 1e-300
"""A share of proposals that is too small for floats, in place of 0."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of one level that are still kept, one a row, and sum (c - m)^2 / (2 s^2) of each so far."""

    tables: IntArray
    squares: FloatArray

    def __len__(self) -> int:
        return len(self.tables)

    def take(self, some: IntArray | BoolArray | slice) -> "Tables":
        """Return some of them."""
        return Tables(self.tables[some], self.squares[some])


class TreeGaussian:
    """Exact draws of exp(-z'Fz / (2 sigma^2)) where margins are kept, F of whole margins with one tree."""

    floats = True

    def __init__(self, margins: MarginStrategy, sigma_squared: Fraction) -> None:
        self._twice, self._sigma = 2 * sigma_squared, float(sigma_squared) ** 0.5
        self._form, self._tree = Form.of(margins), TreeLevels(margins, sigma=self._sigma)
        self._levels = self._tree.levels
        widths = (each for level in self._levels for piece in level.pieces for each in piece.widths())
        check_width(self._sigma * max((float(each.max()) for each in widths), default=0.0))
        self.shares = tuple(self._predict())
        """The share of the proposals of each level that is kept, expected."""
        self.acceptance = self._from(0)
        self.work = COST * sum(level.numbers / self._from(at) for at, level in enumerate(self._levels))

    def _from(self, at: int) -> float:
        """Return the share of what is proposed at a level that is kept there and below."""
        return max(prod(self.shares[at:]), LEAST)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row.

        Whatever has come farthest goes on first, in the order in which it was proposed.
        """
        waiting = [self._tables(0)] * len(self._levels)
        kept: list[IntArray] = []
        missing = size
        while missing or not kept:
            at = max((at for at, each in enumerate(waiting) if len(each)), default=0)
            number = self._at_once(at, missing)
            if not len(waiting[at]):
                waiting[at] = self._tables(number)
            some, waiting[at] = waiting[at].take(slice(number)), waiting[at].take(slice(number, None))
            found = self._thinned(self._levels[at], some, entropy)
            if at + 1 < len(waiting):
                waiting[at + 1] = found
            else:
                kept.append(self._finished(found, entropy)[:missing])
                missing -= len(kept[-1])
        return np.concatenate(kept) if len(kept) > 1 else kept[0]

    def _tables(self, size: int) -> Tables:
        return Tables(self._tree.begin(size), np.zeros(size))

    def _at_once(self, at: int, missing: int) -> int:
        """Return how many tables of a level are drawn at once: of small ones enough, likely."""
        share, numbers = self._from(at), self._levels[at].numbers
        surely = (missing + 3 * sqrt(missing * (1 - min(share, 1.0)))) / share
        likely = min(surely, max(missing / share, AT_LEAST / numbers), rows_at_once(numbers))
        return max(ceil(likely), 1)

    def _thinned(self, level: TreeLevel, above: Tables, entropy: Entropy) -> Tables:
        """Draw the tables of a level, and return those that its coins keep."""
        below: IntArray = np.empty((len(above), *level.shape), dtype=np.int64)
        for piece in level.pieces:
            drawn, found = self._draw(level, piece, Given(above.tables), entropy)
            below[..., piece.below] = drawn
            squares, chance, margin = _weighed(found, len(above))
            above = Tables(above.tables, above.squares + squares)
            heads = toss_coins(chance, margin, _ratios(found), entropy)
            if not heads.all():
                above, below = above.take(heads), below[heads]
        return Tables(below, above.squares)

    def _finished(self, found: Tables, entropy: Entropy) -> IntArray:
        """Return the cells of tables, those that the last coin keeps."""
        cells = self._tree.in_place(found.tables)
        form, off = self._form.rounded(cells)
        twice = float(self._twice)
        chance = found.squares - form / twice - SLACK
        if not np.all(chance <= -SLACK / 2):
            raise ArithmeticError("a proposal of a lattice Gaussian law falls short of it")
        margin = self._error * found.squares + 2.0**-47 * (form / twice) + off / twice + 2.0**-44

        def exact(i: int) -> Real:
            exponent = self._form.exact(cells[i]) / self._twice
            return real(lambda: self._last_ball(found.tables[i : i + 1], exponent))

        heads = toss_coins(chance, margin, exact, entropy)
        return cells if heads.all() else cells[heads]

    @cached_property
    def _error(self) -> float:
        """A bound on the error of a sum (c - m)^2 / (2 s^2), relative to it: piece by piece, term by term."""
        pieces = [level.numbers_of(piece) for level in self._levels for piece in level.pieces]
        return 2.0**-52 * (16 + len(pieces) + max(pieces, default=0))

    def _last_ball(self, tables: IntArray, exponent: Fraction) -> flint.arb:
        """Return a ball around the chance of the last coin, at the working precision."""
        total = -ball_of(exponent) - ball_of(SLACK)
        above = self._tree.begin(1)
        for level, below in zip(self._levels, self._tree.sums(tables), strict=True):
            for piece in level.pieces:
                for part in self._draw(level, piece, Given(above, below), None)[1]:
                    for c, m, s in zip(*(each.ravel().tolist() for each in part), strict=True):
                        total += (flint.arb(c) - ball_of(m)) ** 2 / (2 * ball_of(s) ** 2)
            above = below
        return total.exp()

    def _draw(
        self, level: TreeLevel, piece: Piece, given: Given, entropy: Entropy | None
    ) -> tuple[IntArray, FoundCoordinates]:
        return level.draw(piece, given, np.full(len(given.above), self._sigma), entropy)

    def _predict(self) -> Iterator[float]:
        """Estimate the share that each level keeps: by a seeded pilot, down to the last that loses some."""
        likely = [level.likely(self._sigma) for level in self._levels]
        last = max((at for at, each in enumerate(likely) if each <= NEARLY_ALL), default=-1)
        if min(likely, default=0.0) < HOPELESS:
            last = -1
        entropy, tables, shares = SeededEntropy(0), self._tree.begin(PILOT), np.ones(PILOT)
        for at, level in enumerate(self._levels):
            if at > last:
                yield max(exp(likely[at]), LEAST)
                continue
            size = max(1, min(PILOT, PILOT_SUMS // level.numbers))
            places = (np.arange(size) + 0.5) / size * shares.sum()
            above = tables[np.searchsorted(np.cumsum(shares), places)]  # in proportion to their shares
            parts = [self._draw(level, piece, Given(above), entropy) for piece in level.pieces]
            tables = np.concatenate([drawn for drawn, _ in parts], axis=-1)
            shares = np.exp(np.sum([_weighed(found, size)[1] for _, found in parts], axis=0))
            shares = np.maximum(shares, LEAST)
            yield float(shares.mean())


def _weighed(found: FoundCoordinates, rows: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sum (c - m)^2 / (2 s^2) and log a_l of each row, and a bound on the error of the latter."""
    if not found:
        return np.zeros(rows), np.zeros(rows), np.zeros(rows)
    c, m, s = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    if np.abs(c).max(initial=0) >= FARTHEST:
        raise ArithmeticError("a coordinate of a lattice Gaussian law is beyond the integers of floats")
    squares = (((c - m) / s) ** 2).sum(axis=1) / 2
    chance = log_sum_ratio(m.ravel(), s.ravel()).reshape(m.shape).sum(axis=1)
    return squares, chance, m.shape[1] * (SUM_ERROR + 2.0**-50 * np.abs(chance))


def _ratios(found: FoundCoordinates) -> Callable[[int], Real]:
    """Return what tells the product of rho_s(m) / rho_s(0) over the coordinates of a row."""

    def exact(row: int) -> Real:
        def ball() -> flint.arb:
            product = flint.arb(1)
            for _, m, s in found:
                for centre, width in zip(m[row].tolist(), s[row].tolist(), strict=True):
                    product *= sum_ratio_ball(centre, width)
            return product

        return real(ball)

    return exact
