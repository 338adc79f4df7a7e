"""The tables of the numerical section [semi-dp, Section 5.2], and the universe of their margins.

A k x k table of n = 500 records. Model I: all cells equally likely. Model II: the probabilities of the cells,
row by row, are proportional to 1, 2, ..., k^2.
"""

from typing import Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.privacy.guarantee import Scope
from holdfast.privacy.premises import Premises
from holdfast.sampling.entropy import SeededEntropy
from holdfast.universe.universe import Universe

Model = Literal["I", "II"]
MODELS: tuple[Model, ...] = ("I", "II")
RECORDS = 500
INVARIANTS = ("row totals", "column totals")


def generator(seed: int, *names: object) -> np.random.Generator:
    """Return a source of its own for each name, so that no part depends on what ran before it."""
    return np.random.default_rng([seed, crc32(repr(names).encode())])


def entropy(source: np.random.Generator) -> SeededEntropy:
    """Return a source of random words that another source fixes."""
    return SeededEntropy(int(source.integers(2**63)))


def model_table(model: Model, k: int, seed: int) -> NDArray[np.int64]:
    """Return the one k x k table of a model that a seed fixes."""
    weights = np.ones(k * k) if model == "I" else np.arange(1.0, k * k + 1)
    draw = generator(seed, "table", model, k).multinomial(RECORDS, weights / weights.sum())
    return np.asarray(draw.reshape(k, k), dtype=np.int64)


def both_margins(table: NDArray[np.int64]) -> Premises:
    """Return the universe of a two-way table's margins, with its semi-adjacency and sensitivity."""
    rows, columns = np.indices(table.shape).reshape(2, -1)
    matrix = np.vstack(
        [rows == i for i in range(table.shape[0])] + [columns == j for j in range(table.shape[1])]
    )
    margins = matrix.astype(np.int64)
    universe = Universe.of(
        csr_array(margins), margins @ table.ravel(), (frozenset({"row"}), frozenset({"column"}))
    )
    return Premises.of(universe, Scope.of(universe, invariants=INVARIANTS, constraints=()), "semi")
