"""`l1`, `l2`, `linf`: real noise by the size of a norm, for studies [semi-dp, Algorithms 4, 5 and 6].

The density is proportional to exp(-kappa ||z||) on a span S of dimension s: pure with epsilon = kappa Delta,
Delta the largest norm in the sensitivity space, by the triangle inequality [semi-dp, Proposition 7]. Two
spaces:

* ``cells``: S is all of R^d, as the paper draws. Algorithm 4 is independent Laplace noise in every cell and
  does nothing about the invariants: none is kept. The paper calibrates by group privacy, Delta being a times
  that of one record: 2, the root of 2, and 1 [semi-dp, Section 5.2].
* ``span``: S is the span of S_a and Delta is that of S_a itself, so that only the norm differs from `k-norm`.

Samplers, with R ~ Gamma(k) of rate kappa:

* l2: R in a uniform direction, k = s. A projected normal vector has a uniform direction in S.
* linf: R times a uniform point of the cube cut by S, k = s + 1. The cube and S are products over the
  components of A, so each component is drawn by itself: as many of its cells as its dimension uniformly in
  [-1, 1], the others solved for, and all kept when these are in [-1, 1] as well.
* l1: a product over components, too. As in integers [theory, 6], cells are split into strata, single
  cells and closing ones, which are solved for; z is kept with probability exp(-kappa ||z_closing||_1). In
  a stratum of n cells with sum 0, z = x - y with exponential x, y given equal sums: the sum m has density
  proportional to m^(2 n - 2) exp(-2 kappa m), which is Gamma(2 n - 1), and x / m, y / m are uniform on the
  simplex.

With no invariants these are Algorithms 4, 5 and 6 as printed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaincinv

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.components import components
from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.projected_gaussian import FLOATING, NullSpace, normals, uniforms
from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.privacy.roots import ceil_root, floor_root
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.rejection import Split, splits
from holdfast.sampling.rejection import first_accepted, rows_at_once
from holdfast.system.errors import SamplingError

BallNorm = Literal["l1", "l2", "linf"]
Space = Literal["cells", "span"]

PILOT = 4096
MOST_WORK = 1e7
"""Numbers that may be proposed in search of one draw: about a second."""
MOST_SYSTEM = 60_000
"""Entries of a crossing system that is worth splitting."""


@dataclass(frozen=True, eq=False)
class NormBlock:
    """Cells that are drawn together, by rejection; ``propose`` returns the proposals that were kept."""

    cells: IntArray
    propose: Callable[[Entropy, int], FloatArray]
    certain: bool = False

    @cached_property
    def acceptance(self) -> float:
        """The share that is kept, from a seeded pilot."""
        if self.certain:
            return 1.0
        tried = PILOT
        while not (kept := self.propose(SeededEntropy(0), tried).shape[0]):
            tried *= 8
            if tried * self.cells.size > MOST_WORK:
                raise SamplingError(
                    f"no draw in {tried // 8:,} is kept for a block of {self.cells.size:,} cells: use a"
                    " smaller table, or the l2 norm."
                )
        return int(kept) / tried

    def sample(self, entropy: Entropy, size: int) -> FloatArray:
        """Return ``size`` draws: the first of a long sequence of proposals that are kept."""
        most = rows_at_once(self.cells.size)
        return first_accepted(lambda n: self.propose(entropy, n), size, chance=self.acceptance, most=most)


@dataclass(frozen=True, eq=False)
class NormLaw:
    """The density proportional to exp(-kappa ||z||) on a span."""

    span: NullSpace
    norm: BallNorm
    kappa: Fraction

    def sample(self, entropy: Entropy, size: int) -> FloatArray:
        """Return ``size`` independent draws, one a row."""
        if self.norm == "l2":
            direction = self.span.project(normals(entropy, size, self.span.cells))
            direction /= np.sqrt((direction**2).sum(axis=1, keepdims=True))
            return direction * self._radius(self.span.dimension, entropy, size)
        draws = np.empty((size, self.span.cells))
        for block in self._blocks:
            draws[:, block.cells] = block.sample(entropy, size)
        if self.norm == "l1":  # drawn at kappa = 1
            return draws / float(self.kappa)
        return draws * self._radius(self.span.dimension + 1, entropy, size)

    def log_prob(self, points: FloatArray) -> FloatArray:
        """Return -kappa ||z|| for each row, minus infinity off the span."""
        order = {"l1": 1, "l2": 2, "linf": np.inf}[self.norm]
        sizes = np.linalg.norm(points, ord=order, axis=1)
        return np.where(self.span.holds(points), -float(self.kappa) * sizes, -np.inf)

    def _radius(self, shape: int, entropy: Entropy, size: int) -> FloatArray:
        return _gamma(shape, entropy, size)[:, None] / float(self.kappa)

    @cached_property
    def _blocks(self) -> tuple[NormBlock, ...]:
        return tuple(self._each_block())

    def _each_block(self) -> Iterator[NormBlock]:
        matrix = self.span.matrix
        untied = np.setdiff1d(np.arange(self.span.cells), matrix.indices)
        if untied.size:
            draw = _laplace if self.norm == "l1" else _cube
            yield NormBlock(untied, lambda entropy, size: draw(entropy, size, untied.size), certain=True)
        for part in components(matrix):
            if not part.rows.size:
                continue
            if part.rows.size > 1 and part.rows.size * part.cells.size > MOST_SYSTEM:
                raise SamplingError(
                    f"{part.cells.size:,} cells are tied together, too many for {self.norm} noise: use a"
                    " smaller table, or the l2 norm."
                )
            rows = np.asarray(matrix[part.rows][:, part.cells].toarray())
            yield _cut_cube(part.cells, rows) if self.norm == "linf" else _split_laplace(part.cells, rows)


@dataclass(frozen=True, eq=False)
class NormBall:
    """The mechanism of a norm, in floats. Not for releases."""

    premises: Premises
    norm: BallNorm
    kappa: Fraction
    space: Space = "span"

    @classmethod
    def calibrate(
        cls, premises: Premises, *, norm: BallNorm, intensity: Pure, space: Space = "span"
    ) -> "NormBall":
        """Return the mechanism whose guarantee meets the intensity, kappa = epsilon / Delta."""
        square = _squared_stretch(premises, norm, space)
        kappa = floor_root(intensity.epsilon**2 / square)
        if ceil_root(kappa**2 * square) > intensity.epsilon:  # an irrational root: round once more
            kappa *= 1 - Fraction(1, 10**10)
        return cls(premises, norm, kappa, space)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon is kappa Delta [semi-dp, Proposition 7], rounded up where that is irrational."""
        premises = self.premises
        epsilon = ceil_root(self.kappa**2 * _squared_stretch(premises, self.norm, self.space))
        return Guarantee(premises.scope, premises.unit, Pure(epsilon), tuple(self._evidence()))

    @cached_property
    def noise(self) -> NormLaw:
        """The law of the noise, which every table shares."""
        cells = self.premises.universe.cells
        every = NullSpace(csr_array((0, cells), dtype=np.int64))
        return NormLaw(NullSpace.of(self.premises) if self.space == "span" else every, self.norm, self.kappa)

    def _evidence(self) -> Iterator[Evidence]:
        premises = self.premises
        yield Proved(_loses(self.kappa, self.norm), "semi-dp, Proposition 7; semi-dp, Proposition 26")
        if self.space == "span" and self.norm != "linf":
            yield from premises.evidence(self.norm)
        else:
            if premises.adjacency == "semi":
                yield from premises.evidence()
            square = _squared_stretch(premises, self.norm, self.space)
            differ = _differ(premises.unit.distance, square, self.norm)
            if self.space == "span":
                yield Proved(differ, "theory, 3")
            else:
                yield Proved(differ, "theory, 1")
        yield FLOATING


@claim("real-norm-noise")
def _loses(kappa: Fraction, norm: BallNorm) -> str:
    return (
        f"noise with density proportional to exp(-{kappa} ||z||), in the {norm} norm, loses at most {kappa}"
        " for each unit of the norm between two tables"
    )


@claim("tables-in-real-norm")
def _differ(distance: int, squared: Fraction, norm: BallNorm) -> str:
    apart = "one record" if distance == 1 else f"{distance} records"
    return f"tables {apart} apart differ by at most the root of {squared} in {norm}"


def _squared_stretch(premises: Premises, norm: BallNorm, space: Space) -> Fraction:
    """Return the square of the largest norm between the tables that a guarantee compares."""
    if space == "cells":
        # a records by group privacy: each takes 1 from a cell and adds it to another [theory, 1]
        return {"l1": 4, "l2": 2, "linf": 1}[norm] * Fraction(premises.unit.distance) ** 2
    if norm == "linf":
        # per record of distance no cell moves by more than 1, as the number of records is the same
        return Fraction(premises.sensitivity.linf if premises.adjacency == "semi" else 1) ** 2
    return premises.squared_stretch(norm)


def _gamma(shape: int, entropy: Entropy, size: int) -> FloatArray:
    return np.asarray(gammaincinv(shape, uniforms(entropy, size)))


def _laplace(entropy: Entropy, size: int, cells: int) -> FloatArray:
    """Return Laplace numbers of scale 1: the sign of a centred uniform, and the log of what is left."""
    centred = 2 * uniforms(entropy, size, cells) - 1
    return np.asarray(-np.sign(centred) * np.log1p(-np.abs(centred)))


def _cube(entropy: Entropy, size: int, cells: int) -> FloatArray:
    return 2 * uniforms(entropy, size, cells) - 1


def _simplex(entropy: Entropy, size: int, cells: int) -> FloatArray:
    """Return uniform points of the simplex: exponential numbers over their sum."""
    parts = -np.log(uniforms(entropy, size, cells))
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))


def _one_total(entropy: Entropy, size: int, cells: int) -> FloatArray:
    """Return Laplace numbers of scale 1, given that they sum to 0."""
    total = _gamma(2 * cells - 1, entropy, size)[:, None] / 2
    return total * (_simplex(entropy, size, cells) - _simplex(entropy, size, cells))


def _split_laplace(cells: IntArray, rows: IntArray) -> NormBlock:
    """Return the l1 law of a component at kappa = 1: strata and single cells drawn, closing cells solved."""
    if rows.shape[0] == 1 and (rows == 1).all():
        return NormBlock(cells, lambda entropy, size: _one_total(entropy, size, cells.size), certain=True)
    split = next(splits(rows))

    def propose(entropy: Entropy, size: int) -> FloatArray:
        parts = [_one_total(entropy, size, stratum.size) for stratum in split.strata]
        free = np.concatenate([*parts, _laplace(entropy, size, split.single.size)], axis=1)
        closing = free @ (split.solve.T / split.determinant)
        kept = uniforms(entropy, size) < np.exp(-np.abs(closing).sum(axis=1))
        return _joined(split, free[kept], closing[kept])

    return NormBlock(cells, propose)


def _joined(split: Split, free: FloatArray, closing: FloatArray) -> FloatArray:
    points = np.empty((free.shape[0], free.shape[1] + closing.shape[1]))
    points[:, split.free], points[:, split.closing] = free, closing
    return points


def _cut_cube(cells: IntArray, rows: IntArray) -> NormBlock:
    """Return the uniform law on the points of a component's cube with A z = 0."""
    solved = independent_rows(csr_array(rows.T))
    free = np.setdiff1d(np.arange(cells.size), solved)
    back = -np.linalg.solve(rows[:, solved].astype(np.float64), rows[:, free].astype(np.float64))

    def propose(entropy: Entropy, size: int) -> FloatArray:
        points = np.empty((size, cells.size))
        points[:, free] = _cube(entropy, size, free.size)
        points[:, solved] = points[:, free] @ back.T
        return points[(np.abs(points[:, solved]) <= 1).all(axis=1)]

    return NormBlock(cells, propose)
