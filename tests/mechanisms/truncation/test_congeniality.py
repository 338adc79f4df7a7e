"""The cost of conditioning: exact on small universes, bounded elsewhere, and as the paper's examples say."""

from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.mechanisms.truncation.congeniality import Conditioning, Inequalities, congeniality
from holdfast.privacy.guarantee import Adjacency, Scope
from holdfast.privacy.premises import Premises
from holdfast.system.errors import GuaranteeError
from holdfast.testing.goodness import two_way
from holdfast.universe.sensitivity import Sensitivity
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

Array = NDArray[np.int64]
EPSILONS = [Fraction(1, 10), Fraction(1, 2), Fraction(2)]


def premises(rows: Array | list[list[int]], table: list[int], adjacency: Adjacency = "semi") -> Premises:
    matrix = np.array(rows, dtype=np.int64)
    universe = Universe.of(csr_array(matrix), matrix @ np.array(table))
    return Premises.of(universe, Scope.of(universe, invariants=("all",), constraints=()), adjacency)


DESIGNS: dict[str, tuple[Array | list[list[int]], list[int]]] = {
    "2 x 2": (two_way(2, 2), [3, 1, 1, 2]),
    "2 x 3": (two_way(2, 3), [2, 1, 0, 0, 1, 2]),
    "2 x 4": (two_way(2, 4), [1, 1, 2, 0, 1, 2, 0, 1]),
    "3 x 3": (two_way(3, 3), [1, 1, 0, 0, 1, 1, 1, 0, 1]),
    "two states": ([[1, 1, 0, 0], [0, 0, 1, 1]], [2, 1, 0, 2]),
    "one total": ([[1, 1, 1]], [2, 3, 1]),
    "crossing counts": ([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]], [1, 1, 1, 1]),
    "weights": ([[1, 2, 1, 3], [1, 1, 1, 1]], [1, 2, 1, 1]),
    "two kinds of blocks": ([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], [2, 1, 1, 1, 1]),
    "no total": ([[1, 2, 3]], [2, 1, 1]),
}


def enumerated(on: Premises, epsilon: float, releases: Array | None = None) -> float:
    """Return the largest loss of the truncated law by its definition, in floats."""
    tables = conforming_tables(on.universe, 5000)
    releases = tables if releases is None else releases
    weight = -epsilon * np.abs(tables[:, None, :] - releases[None, :, :]).sum(axis=2)
    log_prob = weight - np.log(np.exp(weight).sum(axis=1, keepdims=True))
    apart = np.abs(tables[:, None, :] - tables[None, :, :]).sum(axis=2) / 2
    sizes = tables.sum(axis=1)
    apart[sizes[:, None] != sizes[None, :]] = np.inf
    loss = np.array([(row - log_prob).max(axis=1) for row in log_prob])
    if on.adjacency == "unit":
        return float((loss / np.maximum(apart, 1))[(apart > 0) & (apart < np.inf)].max())
    return float(loss[(apart > 0) & (apart <= on.semi_adjacency.worst_case)].max())


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
@pytest.mark.parametrize("name", DESIGNS)
def test_small_universes_are_answered_exactly_and_others_safely(name: str, adjacency: Adjacency) -> None:
    on = premises(*DESIGNS[name], adjacency)
    listed = Conditioning.of(on, nonnegative=True)
    bounded = Conditioning.of(on, nonnegative=True, tables=0)
    for epsilon in EPSILONS:
        loss = enumerated(on, float(epsilon))
        exact, bound = listed.at(epsilon), bounded.at(epsilon)
        assert exact.exact
        assert float(exact.loss) == pytest.approx(loss, abs=3e-9)
        assert exact.loss >= Fraction(loss) - Fraction(1, 10**9)
        assert not bound.exact
        assert exact.loss <= bound.loss <= 2 * bound.base  # [congenial-dp, Theorem 2.1]
        assert 0 <= exact.gamma <= bound.gamma <= 1
        if bounded.parts[0][0].how.startswith("the normaliser was bounded along") and name != "no total":
            assert bound.gamma < 1 or (adjacency == "unit" and name == "weights")


def test_the_profile_covers_every_pair() -> None:
    for rows, table in DESIGNS.values():
        on = premises(rows, table, "unit")
        for tables in (None, 0):
            conditioning = Conditioning.of(on, nonnegative=True, tables=tables)
            assert 2 * float(conditioning.per_unit(Fraction(1, 2))) >= enumerated(on, 0.5) - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_along_lines_holds_for_any_two_tables(seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix = random.integers(0, 3, (2, 5))
    matrix[0] = 1
    tables = conforming_tables(Universe.of(csr_array(matrix), matrix @ random.integers(0, 3, 5)), 5000)
    apart = np.abs(tables[:, None, :] - tables[None, :, :]).sum(axis=2)
    for epsilon in (0.05, 0.3, 1.0, 3.0):
        log_c = np.log(np.exp(-epsilon * apart).sum(axis=1))
        bound = np.log(1 + np.exp(epsilon * (apart - 2)) - np.exp(-2 * epsilon))
        grown = np.abs(log_c[:, None] - log_c[None, :])
        assert (grown <= bound + 1e-12)[apart > 0].all()


def test_equalities_cost_nothing() -> None:
    cost = congeniality(premises(*DESIGNS["2 x 3"]), Fraction(1, 4), nonnegative=False)
    assert cost.gamma == 0
    assert cost.exact
    assert cost.loss == 1


def test_the_papers_histogram_of_two_bins() -> None:
    """[congenial-dp, Example 4.1]: Lap(2 / epsilon) in each bin, so epsilon / 2 a unit, given the total."""
    epsilon = Fraction(1)
    cost = congeniality(premises([[1, 1]], [7, 5]), epsilon / 2, nonnegative=False)
    assert cost.loss == epsilon
    assert cost.charged(epsilon, 2) == Fraction(-1, 2)  # a record removed and one added: two steps
    assert cost.charged(epsilon, 1) == cost.gamma == 0  # one record replaced


def test_a_release_of_one_possible_value_loses_nothing() -> None:
    """[congenial-dp, Example 5.2]."""
    only = Inequalities(np.array([[1, 0], [-1, 0]]), np.array([5, -5]))
    cost = congeniality(premises([[1, 1]], [7, 3]), Fraction(1, 2), nonnegative=True, inequalities=only)
    assert cost.loss == 0
    assert cost.gamma == -1


def test_two_bins_kept_non_negative_in_closed_form() -> None:
    """C(x) is (1 + b - b^(x + 1) - b^(n - x + 1)) / (1 - b), b = exp(-2 epsilon): x = 0 and 1 differ most."""
    b, n = exp(-1), 20
    grown = log((1 + b - b**2 - b**n) / (1 - b ** (n + 1)))
    cost = congeniality(premises([[1, 1]], [10, 10]), Fraction(1, 2), nonnegative=True)
    assert float(cost.gamma) == pytest.approx(grown, abs=1e-8)


def test_inequalities_are_summed_over_the_releases_that_are_left() -> None:
    on = premises([[1, 1, 1]], [3, 2, 1])
    more = Inequalities(np.array([[1, -1, 0]]), np.array([0]))
    tables = conforming_tables(on.universe, 100)
    for epsilon in EPSILONS:
        loss = enumerated(on, float(epsilon), tables[more.hold(tables)])
        exact = congeniality(on, epsilon, nonnegative=True, inequalities=more)
        assert float(exact.loss) == pytest.approx(loss, abs=3e-9)
        for nonnegative, tables_listed in ((False, None), (True, 0)):
            conditioning = Conditioning.of(
                on, nonnegative=nonnegative, inequalities=more, tables=tables_listed
            )
            bound = conditioning.at(epsilon)
            assert bound.gamma == pytest.approx(1)
            assert bound.loss >= exact.loss


def test_cells_in_no_invariant() -> None:
    """One cell is 0, then 1, and another gives its record: 1 + a - a^2, far from the other's border."""
    universe = Universe.of(csr_array((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64))
    on = Premises(universe, Scope.of(universe, invariants=(), constraints=()), "semi")
    assert (on.semi_adjacency.worst_case, on.sensitivity) == (1, Sensitivity(2, 2, 1, exact=True))
    a = exp(-0.5)
    cost = congeniality(on, Fraction(1, 2), nonnegative=True)
    assert float(cost.loss) == pytest.approx(1 + log(1 + a - a * a))
    one_cell = (1 + a - a ** (np.arange(42) + 1)) / (1 - a)
    more = one_cell[1:] / one_cell[:-1]
    assert float(cost.loss) == pytest.approx(1 + log(more.max() / more.min()), abs=1e-6)


def test_free_cells_beside_invariants_that_fix_no_sum() -> None:
    on = premises([[1, 2, 0, 0]], [2, 1, 1, 0])
    bound = Conditioning.of(on, nonnegative=True)
    assert not bound.at(Fraction(1, 2)).exact
    # releases far away weigh nothing: the free cells are listed up to 12
    tied = np.array([[4, 0], [2, 1], [0, 2]])
    free = np.array(list(product(range(13), repeat=2)))
    releases = np.array([[*t, *f] for t in tied for f in free])
    tables = releases[(releases[:, 2:] <= 3).all(axis=1)]
    for epsilon in (0.5, 2.0):
        weight = np.exp(-epsilon * np.abs(tables[:, None, :] - releases[None, :, :]).sum(axis=2))
        log_c = np.log(weight.sum(axis=1))
        apart = np.abs(tables[:, None, :] - tables[None, :, :]).sum(axis=2)
        same = tables.sum(axis=1)[:, None] == tables.sum(axis=1)[None, :]
        near = same & (apart > 0) & (apart <= 2 * on.semi_adjacency.worst_case)
        loss = (epsilon * apart + log_c[None, :] - log_c[:, None])[near].max()
        assert float(bound.at(Fraction(epsilon)).loss) >= loss - 1e-6


def test_many_alike_blocks_cost_no_more_than_the_records_that_change() -> None:
    blocks = np.eye(50, dtype=np.int64).repeat(3, axis=1)
    on = premises(blocks, [400, 1, 2] * 50)
    cost = Conditioning.of(on, nonnegative=True)
    assert len(cost.parts) == 1
    b = exp(-1)
    assert on.semi_adjacency.worst_case == 2
    assert float(cost.at(Fraction(1, 2)).loss) == pytest.approx(2 + 2 * log(2 - b))


def test_what_cannot_be_is_refused_in_a_sentence() -> None:
    on = premises([[1, 1]], [1, 1])
    with pytest.raises(GuaranteeError, match="must be positive"):
        congeniality(on, Fraction(0), nonnegative=True)
    with pytest.raises(GuaranteeError, match="keeps the inequalities"):
        congeniality(
            on,
            Fraction(1),
            nonnegative=True,
            inequalities=Inequalities(np.array([[1, 0]]), np.array([3])),
        )
    with pytest.raises(GuaranteeError, match="one row of coefficients"):
        Inequalities(np.array([[1, 0]]), np.array([3, 4]))
