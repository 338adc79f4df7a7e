"""What every mechanism must pass: a newcomer adds one entry to MECHANISMS.

The loss is enumerated on small universes: it never exceeds the guarantee, and a guarantee from exact
quantities is within one percent of it. A mechanism with ten percent less noise must fail.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tests.goodness import lattice_points, two_way

from holdfast.audit.loss import losses, record_distances
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.privacy.guarantee import Scope, Target
from holdfast.privacy.intensity import Pure
from holdfast.sampling.entropy import SeededEntropy
from holdfast.universe.enumerate import conforming_tables
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.universe import Universe

Per = Literal["semi", "unit"]
EPSILON = Fraction(12)
"""Strong enough that the outputs left out of the enumeration weigh less than 1e-7."""


def universe(rows: NDArray[np.int64], table: list[int]) -> Universe:
    return Universe.of(csr_array(rows), rows @ np.array(table))


UNIVERSES: dict[str, Universe] = {
    "2 x 2, (2,1)/(2,1)": universe(two_way(2, 2), [1, 1, 1, 0]),
    "2 x 2, (3,2)/(4,1)": universe(two_way(2, 2), [3, 0, 1, 1]),
    "3 x 3, all margins 1": universe(two_way(3, 3), [1, 0, 0, 0, 1, 0, 0, 0, 1]),
    "2 x 3": universe(two_way(2, 3), [2, 1, 0, 0, 1, 2]),
    "two states": universe(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), [2, 1, 0, 2]),
    "one total": universe(np.array([[1, 1, 1]]), [2, 1, 1]),
    "crossing counts": universe(np.array([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]), [1, 1, 1, 1]),
    "weights": universe(np.array([[1, 2, 1], [1, 1, 1]]), [1, 1, 1]),
}


Build = Callable[[Universe, Per, Fraction], LatticeLaplace]


def lattice_laplace(norm: Literal["l1", "l2"]) -> Build:
    def build(on: Universe, per: Per, epsilon: Fraction) -> LatticeLaplace:
        adjacency = semi_adjacency(on)
        return LatticeLaplace.calibrate(
            on,
            Scope.of(on, invariants=("all",), constraints=()),
            adjacency,
            sensitivity(on, adjacency.worst_case),
            per=per,
            norm=norm,
            intensity=Pure(epsilon),
        )

    return build


MECHANISMS: dict[str, Build] = {
    "lattice-laplace l1": lattice_laplace("l1"),
    "lattice-laplace l2": lattice_laplace("l2"),
}


def enumerated(mechanism: LatticeLaplace, on: Universe, per: Per) -> float:
    """Return the largest loss that the guarantee speaks of."""
    tables = conforming_tables(on, 2000)
    outputs = tables[0] + lattice_points(on.matrix.toarray(), 8)
    loss = losses(mechanism.law, tables, outputs)
    apart = record_distances(tables)
    if per == "unit":
        return float((loss / np.maximum(apart, 1))[apart > 0].max())
    return float(loss[(apart > 0) & (apart <= semi_adjacency(on).worst_case)].max())


@pytest.mark.parametrize("per", ["semi", "unit"])
@pytest.mark.parametrize("name", UNIVERSES)
@pytest.mark.parametrize("kind", MECHANISMS)
def test_the_enumerated_loss_meets_the_guarantee_tightly(kind: str, name: str, per: Per) -> None:
    on = UNIVERSES[name]
    mechanism = MECHANISMS[kind](on, per, EPSILON)
    guarantee = mechanism.guarantee
    stated = float(guarantee.intensity.parameters()["epsilon"])
    assert guarantee.meets(Target(per, Pure(EPSILON)))
    loss = enumerated(mechanism, on, per)
    assert loss <= stated * (1 + 1e-6)
    if per == "semi" or kind == "lattice-laplace l1":  # the l2 ratio per record is a bound
        assert loss >= 0.99 * stated
        quieter = replace(mechanism, kappa=mechanism.kappa * Fraction(11, 10))
        assert enumerated(quieter, on, per) > stated


@pytest.mark.parametrize("name", UNIVERSES)
@pytest.mark.parametrize("kind", MECHANISMS)
def test_every_release_keeps_the_invariants(kind: str, name: str) -> None:
    on = UNIVERSES[name]
    table = conforming_tables(on, 2000)[0]
    releases = MECHANISMS[kind](on, "semi", Fraction(1)).law(table).sample(SeededEntropy(1), 500)
    assert np.array_equal(on.matrix @ releases.T, np.repeat(on.values[:, None], 500, axis=1))
    assert (releases != table).any()
