"""What the subtree of a node tells of its table: queries that are fixed, that are measured, that are open.

Seen from a node's own subtree, the queries q (vectors over the cells) whose answer q'x is known exactly make
a space F, and those with an unbiased estimate a space E around it. The answer of a node is the sum of its
children's, so with the same rows at all nodes of a level

    F = rows of A + F of the level below,      E = F + rows of W + E of the level below.

Both depend on the level alone, and grow from the leaves to the root. Orthonormal bases of F, of the rest of E
and of the rest of all queries come from singular values; rows are scaled to length 1 first. With coordinates
in these bases every information matrix is positive definite: an invariant is never a measurement with a small
variance, and what is not measured is never one with a large one.
"""

from dataclasses import dataclass

import numpy as np

from holdfast.estimation.tree.measured import Measured
from holdfast.lattice.arrays import FloatArray

NEGLIGIBLE = 1e-9
"""Singular values of unit rows below this are rounding."""


@dataclass(frozen=True, eq=False)
class Spaces:
    """Orthonormal bases, one column a query, that together span all queries.

    Attributes:
        fixed: queries with exact answers.
        measured: queries with noisy answers.
        open: queries without an answer.
        solve: from the values of the rows that fix queries to those of the basis ``fixed``.
        given: these rows, in unit length: those of the level below and then the invariants.

    """

    fixed: FloatArray
    measured: FloatArray
    open: FloatArray
    solve: FloatArray
    given: FloatArray


def spaces(measured: Measured, below: Spaces | None) -> Spaces:
    """Return the spaces of a level from its rows and the spaces of the level below, if there is one."""
    cells = measured.cells
    none = np.zeros((cells, 0))
    under_fixed, under_measured = (none, none) if below is None else (below.fixed, below.measured)
    given = np.vstack([under_fixed.T, unit(measured.invariants.toarray())])
    left, sizes, right = np.linalg.svd(given, full_matrices=False)
    rank = int((sizes > NEGLIGIBLE).sum())
    fixed, solve = right[:rank].T, (left[:, :rank] / sizes[:rank]).T
    noisy = np.vstack([under_measured.T, unit(measured.queries.toarray())])
    noisy -= (noisy @ fixed) @ fixed.T
    _, sizes, right = np.linalg.svd(noisy, full_matrices=False)
    known = right[sizes > NEGLIGIBLE].T
    if known.shape[1] == cells:  # nothing is fixed: keep the cells themselves
        return Spaces(fixed, np.eye(cells), none, solve, given)
    _, _, right = np.linalg.svd(np.vstack([fixed.T, known.T, np.zeros((1, cells))]))
    return Spaces(fixed, known, right[fixed.shape[1] + known.shape[1] :].T, solve, given)


def unit(rows: FloatArray) -> FloatArray:
    """Return rows scaled to length 1; rows of zeros stay."""
    return np.asarray(rows / lengths(rows)[:, None])


def lengths(rows: FloatArray) -> FloatArray:
    """Return the lengths of rows, 1 for rows of zeros."""
    found = np.linalg.norm(np.asarray(rows, dtype=np.float64), axis=1)
    return np.where(found > 0, found, 1.0)
