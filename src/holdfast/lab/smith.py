"""The Smith normal form with its transformations, U A V = D.

D is diagonal and each entry divides the next; U and V are unimodular [schrijver1986, 4.4]. The
entries of U and V outgrow 64 bits easily, so the arrays hold Python integers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray

ExactArray = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Smith:
    """U A V = D with U, V unimodular and D diagonal, each entry dividing the next."""

    U: ExactArray
    D: ExactArray
    V: ExactArray

    @property
    def rank(self) -> int:
        """The number of nonzero diagonal entries."""
        return sum(1 for i in range(min(self.D.shape)) if self.D[i, i] != 0)

    @property
    def kernel(self) -> ExactArray:
        """The last d - rank columns of V: a basis of the integer kernel of A."""
        return self.V[:, self.rank :]


def smith_normal_form(A: IntArray) -> Smith:
    """Return the Smith normal form of A by row and column operations on exact integers."""
    rows, columns = A.shape
    D = A.astype(object)
    U = np.eye(rows, dtype=np.int64).astype(object)
    V = np.eye(columns, dtype=np.int64).astype(object)
    for step in range(min(rows, columns)):
        if not _smallest_to_corner(D, U, V, step):
            break
        while not _corner_alone(D, U, V, step):
            _smallest_to_corner(D, U, V, step)
        if D[step, step] < 0:
            D[step] = -D[step]
            U[step] = -U[step]
    return Smith(U=U, D=D, V=V)


def _smallest_to_corner(D: ExactArray, U: ExactArray, V: ExactArray, step: int) -> bool:
    """Swap the smallest nonzero entry of the rest to (step, step); False when all are zero."""
    rest = [(abs(D[i, j]), i, j) for i, j in np.argwhere(D[step:, step:] != 0) + step]
    if not rest:
        return False
    _, i, j = min(rest)
    D[[step, i]], U[[step, i]] = D[[i, step]], U[[i, step]]
    D[:, [step, j]], V[:, [step, j]] = D[:, [j, step]], V[:, [j, step]]
    return True


def _corner_alone(D: ExactArray, U: ExactArray, V: ExactArray, step: int) -> bool:
    """Reduce by the corner; True when its row and column are clear and it divides the rest."""
    corner = D[step, step]
    for i in range(step + 1, D.shape[0]):
        quotient = D[i, step] // corner
        if quotient:
            D[i] -= quotient * D[step]
            U[i] -= quotient * U[step]
    for j in range(step + 1, D.shape[1]):
        quotient = D[step, j] // corner
        if quotient:
            D[:, j] -= quotient * D[:, step]
            V[:, j] -= quotient * V[:, step]
    if any(D[step + 1 :, step]) or any(D[step, step + 1 :]):
        return False
    for i in range(step + 1, D.shape[0]):
        if any(entry % corner for entry in D[i, step + 1 :]):
            # bring the indivisible row up: the next reduction leaves a smaller corner
            D[step] += D[i]
            U[step] += U[i]
            return False
    return True
