"""The chances that noise leaves things as they are, against sums over all noise within reach."""

from collections.abc import Callable
from itertools import product
from math import tanh

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tests.small_releases import prepared

from holdfast.mechanisms.errors.zero_noise import on_lattice
from holdfast.sampling.entropy import SeededEntropy

LAWS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "laplace": lambda steps: -1.2 * np.abs(steps),
    "gaussian": lambda steps: -(steps**2) / 1.9,
}
SYSTEMS = {
    "free": np.zeros((0, 3), dtype=np.int64),
    "one total": np.array([[1, 1, 1]]),
    "a total and free cells": np.array([[1, 1, 0, 0]]),
    "two totals": np.array([[1, 1, 0, 0], [0, 0, 1, 1]]),
    "a fixed cell": np.array([[1, 0, 0], [0, 1, 1]]),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_chances_are_those_of_all_noise(law: str, system: str) -> None:
    matrix, reach = SYSTEMS[system], 13
    steps = np.array(list(product(range(-reach, reach + 1), repeat=matrix.shape[1])))
    steps = steps[~(matrix @ steps.T).any(axis=0)]
    weights = np.exp(LAWS[law](steps.astype(np.float64)).sum(axis=1))
    weights /= weights.sum()
    found = on_lattice(csr_array(matrix), LAWS[law])
    assert found is not None
    assert found.cell is not None
    movable = [cell for cell in range(matrix.shape[1]) if steps[:, cell].any()]
    stays = [weights[steps[:, cell] == 0].sum() for cell in movable]
    assert found.cell.low == found.cell.high == pytest.approx(np.mean(stays), abs=1e-5)
    assert found.everything.low == pytest.approx(weights[~steps.any(axis=1)].sum(), rel=1e-5)


def test_a_million_cells_and_absurd_noise_are_answered() -> None:
    wide = csr_array(np.ones((1, 10**6), dtype=np.int64))
    found = on_lattice(wide, lambda steps: -0.5 * np.abs(steps))
    assert found is not None
    assert found.cell is not None
    assert found.cell.low == pytest.approx(tanh(0.25), rel=1e-5)
    assert found.everything.high < 1e-300
    none = on_lattice(wide, lambda steps: -1e18 * np.abs(steps))
    assert none is not None
    assert none.everything.low == 1.0
    assert on_lattice(wide, lambda steps: -1e-9 * np.abs(steps)) is None


def test_crossings_and_weights_are_left_open() -> None:
    for matrix in ([[1, 1, 0, 0], [0, 1, 1, 0]], [[1, 2, 1, 0]]):
        assert on_lattice(csr_array(np.array(matrix)), LAWS["laplace"]) is None


@pytest.mark.parametrize("kind", ["lattice-laplace, nothing kept", "noisy-count"])
def test_draws_stay_as_often_as_the_law_says(kind: str) -> None:
    """At four standard errors: a wrong law of another rate would be far off."""
    ready = prepared(kind)
    known = ready.mechanism.unchanged
    assert known is not None
    assert known.cell is not None
    truth = ready.table.reading.table.counts
    truth = truth[0::4] if kind == "noisy-count" else truth
    drawn = np.rint(ready.sample(SeededEntropy(3), 4000))
    share = float((drawn == truth).mean())
    assert share == pytest.approx(known.cell.low, abs=4 * np.sqrt(known.cell.low / 4000))
    assert share != pytest.approx(known.cell.low / 2, abs=4 * np.sqrt(known.cell.low / 4000))


def test_bounds_only_make_it_likelier_that_a_table_stays() -> None:
    found = prepared("conditioned, inequalities").mechanism.unchanged
    assert found is not None
    assert found.cell is None
    assert 0 < found.everything.low < found.everything.high == 1.0
