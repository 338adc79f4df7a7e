"""Random small trees with all kinds of constraints that some true counts keep."""

from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.estimation.hierarchy.descent import Descent
from holdfast.estimation.hierarchy.level import Level, LevelQuery
from holdfast.programs.solver import UNBOUNDED

Table = NDArray[np.int64]
SHAPES = ((2, 2), (2, 3), (3, 3), (2, 2, 2), (4,), (1,))


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree, what is known of its levels, and the counts it was made of."""

    parents: tuple[Table, ...]
    levels: tuple[Level, ...]
    truth: tuple[Table, ...]


def rows(matrix: object) -> csr_array:
    return csr_array(np.asarray(matrix, dtype=np.int64))


def margin(shape: tuple[int, ...], kept: tuple[int, ...]) -> csr_array:
    """Return the sums over all attributes but some."""
    found: NDArray[np.floating] = np.ones((1, 1))
    for axis, size in enumerate(shape):
        found = np.kron(found, np.eye(size) if axis in kept else np.ones((1, size)))
    return rows(found)


def asked(
    level: int, truth: Table, generator: np.random.Generator, shape: tuple[int, ...], *, ranges: bool
) -> Level:
    """Return queries and constraints of a level, drawn at random; the truth keeps the latter."""
    margins = [
        margin(shape, kept) for size in range(len(shape)) for kept in combinations(range(len(shape)), size)
    ]
    queries = [each for each in margins if generator.random() < 0.5]
    if generator.random() < 0.7:
        queries.append(margin(shape, tuple(range(len(shape)))))
    if generator.random() < 0.1:
        queries = []
    invariants = [each.toarray() for each in margins if generator.random() < 0.25]
    spread = float(generator.choice([1, 5, 15]))
    low = np.maximum(truth - generator.integers(0, 3, truth.shape), 0)
    high = np.where(
        generator.random(truth.shape) < 0.3, UNBOUNDED, truth + generator.integers(0, 3, truth.shape)
    )
    some = rows(generator.random((2, truth.shape[1])) < 0.5)
    sums = truth @ some.toarray().T
    ranged = ranges and generator.random() < 0.3
    return Level.of(
        f"level {level}",
        *truth.shape,
        queries=[LevelQuery(each, float(generator.choice([0.1, 1, 3]))) for each in queries],
        answers=[
            truth @ each.toarray().T + np.rint(generator.normal(0, spread, (len(truth), each.shape[0])))
            for each in queries
        ],
        invariants=rows(np.vstack(invariants)) if invariants else None,
        values=truth @ np.vstack(invariants).T if invariants else None,
        ranges=some if ranged else None,
        least=np.maximum(sums - generator.integers(0, 3, sums.shape), 0) if ranged else None,
        most=np.where(generator.random(sums.shape) < 0.3, UNBOUNDED, sums + 1) if ranged else None,
        low=low if generator.random() < 0.25 else None,
        high=high if generator.random() < 0.25 else None,
    )


def grown(seed: int, *, depth: int | None = None, widest: int = 4, ranges: bool = True) -> Tree:
    """Return a random tree of up to four levels."""
    generator = np.random.default_rng(seed)
    shape = SHAPES[int(generator.integers(len(SHAPES)))]
    parents: list[Table] = []
    for _ in range(int(generator.integers(0, 4)) if depth is None else depth):
        nodes = len(parents[-1]) if parents else 1
        parents.append(np.repeat(np.arange(nodes), generator.integers(1, widest + 1, nodes)))
    leaves = len(parents[-1]) if parents else 1
    truth = [generator.poisson(generator.choice([0.3, 2, 10]), (leaves, prod(shape)))]
    for parent in reversed(parents):
        truth.insert(0, added(parent, truth[0]))
    levels = [asked(place, each, generator, shape, ranges=ranges) for place, each in enumerate(truth)]
    return Tree(tuple(parents), tuple(levels), tuple(truth))


def added(parent: Table, counts: Table) -> Table:
    """Return the sums over the children of each node."""
    found = np.zeros((int(parent.max()) + 1, counts.shape[1]), dtype=np.int64)
    np.add.at(found, parent, counts)
    return found


def keeps(tree: Tree, found: Descent) -> bool:
    """Whether counts are whole, not negative, add up, and are all that is asked for."""
    sums = all(
        np.array_equal(added(parent, below), above)
        for parent, above, below in zip(tree.parents, found.counts, found.counts[1:], strict=False)
    )
    return sums and all(
        counts.dtype == np.int64 and kept(level, counts)
        for level, counts in zip(tree.levels, found.counts, strict=True)
    )


def kept(level: Level, counts: Table) -> bool:
    """Whether counts keep the constraints of a level, asked one by one."""
    for node, line in enumerate(counts):
        sums, between = level.invariants.toarray() @ line, level.ranges.toarray() @ line
        if (line < 0).any() or (sums != level.values[node]).any():
            return False
        if (between < level.least[node]).any() or (between > level.most[node]).any():
            return False
        if level.low is not None and (line < level.low[node]).any():
            return False
        if level.high is not None and (line > level.high[node]).any():
            return False
    return True
