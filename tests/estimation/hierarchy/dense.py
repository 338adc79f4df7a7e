"""Small trees with random measurements, and least squares over all leaves as one dense problem."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.sparse import csr_array

from holdfast.data.geography import Spine
from holdfast.data.schema import Attributes
from holdfast.estimation.hierarchy.linear import LevelMeasurements

Floats = NDArray[np.float64]


def close(found: Floats, exact: Floats) -> None:
    """Assert that numbers agree to 1e-9, infinite ones with each other."""
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9)


def tree(rng: np.random.Generator, depth: int, most: int = 3) -> Spine:
    """Return a tree of so many levels, each node with up to so many children."""
    sizes, parents = [1], []
    for _ in range(depth - 1):
        children = rng.integers(1, most + 1, size=sizes[-1])
        parents.append(np.repeat(np.arange(sizes[-1]), children))
        sizes.append(int(children.sum()))
    levels = Attributes.of({f"l{i}": [f"{i}.{n}" for n in range(size)] for i, size in enumerate(sizes)})
    return Spine(levels, tuple(parents))


@dataclass(frozen=True, eq=False)
class Dense:
    """All leaf tables as one vector: queries of any nodes, their estimates and their covariance."""

    spine: Spine
    cells: int
    solution: Floats
    covariance: Floats
    known: Floats
    """Projection onto the queries with an estimate."""

    def rows(self, level: str, query: Floats) -> Floats:
        """Return a query of each node of a level, over all leaves and cells."""
        return over_leaves(self.spine, level, query[None])

    def estimate(self, rows: Floats) -> Floats:
        return np.asarray(rows @ self.solution)

    def variance(self, rows: Floats) -> Floats:
        """Return variances, infinite where a query has no estimate."""
        found = np.einsum("ij,jk,ik->i", rows, self.covariance, rows)
        is_open = np.abs(rows - rows @ self.known).max(axis=1) > 1e-7
        return np.where(is_open, np.inf, found)


def over_leaves(spine: Spine, level: str, matrix: Floats) -> Floats:
    """Return the rows of a matrix at each node of a level, node by node, over all leaves and cells."""
    node = spine.ancestors(level)
    inside = (node[None, :] == np.arange(len(spine.codes(level)))[:, None]).astype(np.float64)
    return np.kron(inside, matrix)


def dense(spine: Spine, measured: list[LevelMeasurements]) -> Dense:
    names, cells = spine.levels.names, measured[0].cells
    pairs = list(zip(names, measured, strict=True))
    M = np.vstack([over_leaves(spine, name, level.queries.toarray()) for name, level in pairs])
    y = np.concatenate([level.values.ravel() for level in measured])
    V = np.concatenate([level.variances[level.kind].ravel() for level in measured])
    M, y, V = M[np.isfinite(V)], y[np.isfinite(V)], V[np.isfinite(V)]
    B = np.vstack([over_leaves(spine, name, level.invariants.toarray()) for name, level in pairs])
    b = np.concatenate([level.exact.ravel() for level in measured])
    first = np.linalg.lstsq(B, b, rcond=None)[0] if b.size else np.zeros(B.shape[1])
    N = null_space(B) if b.size else np.eye(B.shape[1])
    H = (M @ N) / np.sqrt(V)[:, None]
    left, sizes, right = np.linalg.svd(H, full_matrices=False)
    kept = sizes > 1e-9 * max(1.0, sizes.max(initial=0))
    onto = right[kept] @ N.T
    rest = (y - M @ first) / np.sqrt(V)
    solution = first + onto.T @ ((left[:, kept].T @ rest) / sizes[kept])
    known = onto.T @ onto + (np.eye(N.shape[0]) - N @ N.T)
    return Dense(spine, cells, solution, (onto.T / sizes[kept] ** 2) @ onto, known)


@dataclass(frozen=True, eq=False)
class Problem:
    spine: Spine
    leaves: Floats
    measured: list[LevelMeasurements]

    def truth(self, level: str) -> Floats:
        return truth(self.spine, self.leaves, level)

    def without_invariants(self) -> list[LevelMeasurements]:
        return [
            LevelMeasurements.of(
                len(each.values),
                each.cells,
                queries=each.queries,
                values=each.values,
                variances=each.variances,
                kind=each.kind,
            )
            for each in self.measured
        ]


def truth(spine: Spine, leaves: Floats, level: str) -> Floats:
    found = np.zeros((len(spine.codes(level)), leaves.shape[1]))
    np.add.at(found, spine.ancestors(level), leaves)
    return found


def problem(seed: int, *, detailed: bool, kinds: int = 1) -> Problem:
    """Return a random problem; where all leaves are measured in detail no query is open.

    Nodes of several ``kinds`` have other variances; above leaves in detail some queries have none at some.
    """
    rng = np.random.default_rng(seed)
    spine, cells = tree(rng, int(rng.integers(1, 5))), int(rng.integers(1, 6))
    leaves = rng.integers(0, 50, size=(len(spine.levels.each[-1].levels), cells)).astype(np.float64)
    measured = []
    for place, name in enumerate(spine.levels.names):
        x = truth(spine, leaves, name)
        W = rng.integers(-1, 3, size=(int(rng.integers(0, 4)), cells)).astype(np.float64)
        if detailed and place == len(spine.levels) - 1:
            W = np.vstack([np.eye(cells), W])
        A = rng.integers(0, 2, size=(int(rng.integers(0, 3)), cells)).astype(np.float64)
        v = rng.uniform(0.5, 30, size=(min(kinds, len(x)), len(W)))
        kind = np.arange(len(x)) % len(v)
        values = x @ W.T + rng.normal(size=(len(x), len(W))) * np.sqrt(v[kind])
        if detailed and kinds > 1 and place < len(spine.levels) - 1:
            v[rng.random(v.shape) < 0.3] = np.inf
            values = np.where(np.isfinite(v[kind]), values, 0)
        measured.append(
            LevelMeasurements.of(
                len(x),
                cells,
                queries=csr_array(W),
                values=values,
                variances=v,
                invariants=csr_array(A),
                exact=x @ A.T,
                kind=kind,
            )
        )
    return Problem(spine, leaves, measured)
