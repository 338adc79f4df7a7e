"""The published kernels on small supports."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from tests.sampling.chains.cases import (
    TABLE,
    Case,
    Integers,
    double_geometric,
    metropolis,
    support,
    truncated,
)

from holdfast.lab.gibbs_metropolis import Basis, GibbsMetropolis, lattice_basis
from holdfast.lab.independent import FreeCells, IndependentChain, free_cells
from holdfast.lattice.arrays import BoolArray
from holdfast.sampling.chains.kernel import ChainState, LaplaceTarget, non_negative
from holdfast.testing.goodness import two_way

ODD = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]])
"""Solving for the first three cells takes a determinant of 2."""


def coordinates(difference: Integers, basis: Integers) -> Integers:
    solved = np.rint(np.linalg.lstsq(basis.T.astype(float), difference.T, rcond=None)[0].T).astype(np.int64)
    assert (solved @ basis == difference).all()
    return np.asarray(solved)


def joint(target: LaplaceTarget, kind: Basis, rate: Fraction) -> Case:
    points, law = support(target, two_way(2, 3))
    kernel = GibbsMetropolis(lattice_basis(two_way(2, 3), kind), target, rate)

    def at(where: Integers) -> ChainState:
        return kernel.init(coordinates(where - target.centre, kernel.basis))

    difference = points[None] - points[:, None]
    jumps = coordinates(difference.reshape(-1, points.shape[1]), kernel.basis)
    chance = double_geometric(jumps, rate).prod(axis=1).reshape(difference.shape[:2])
    return Case(kernel, at, points, law, metropolis(kernel, at(points), chance))


def independent(cells: FreeCells, target: LaplaceTarget, matrix: Integers, rate: Fraction) -> Case:
    points, law = support(target, matrix)
    kernel = IndependentChain(cells, target, rate)

    def at(where: Integers) -> ChainState:
        return kernel.init((where - target.centre)[:, cells.free])

    row = double_geometric((points - target.centre)[:, cells.free], rate).prod(axis=1)
    chance = np.tile(row, (points.shape[0], 1))
    return Case(kernel, at, points, law, metropolis(kernel, at(points), chance))


def first_above_last_but_one(points: Integers) -> BoolArray:
    return np.asarray(non_negative(points) & (points[:, 0] >= points[:, 4]))


def given_cells() -> Case:
    target = LaplaceTarget(Fraction(1, 2), TABLE, "l1", first_above_last_but_one)
    return independent(free_cells(two_way(2, 3), (1, 3)), target, two_way(2, 3), Fraction(1, 2))


SMALL: dict[str, Callable[[], Case]] = {
    "joint": lambda: joint(truncated(Fraction(1, 2), TABLE), "reduced", Fraction(1)),
    "joint, Smith, l2": lambda: joint(
        LaplaceTarget(Fraction(1), TABLE, "l2", non_negative), "smith", Fraction(3, 2)
    ),
    "independent": lambda: independent(
        free_cells(two_way(2, 3)), truncated(Fraction(1, 2), TABLE), two_way(2, 3), Fraction(3, 5)
    ),
    "independent, given cells": given_cells,
    "independent, determinant 2": lambda: independent(
        free_cells(ODD), truncated(Fraction(1, 2), np.array([5, 5, 5, 3])), ODD, Fraction(1, 2)
    ),
}
