"""Releases within public bounds: what they lose by enumeration, between all tables that are compared."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logsumexp
from tests.universe.designs import Design, random_design

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.conditioned import Conditioned
from holdfast.mechanisms.mechanism import Law
from holdfast.mechanisms.truncation.congeniality import Conditioning, Inequalities
from holdfast.mechanisms.truncation.spread import Twice
from holdfast.mechanisms.wasserstein.cost import SAME, KappaCosts
from holdfast.mechanisms.wasserstein.laws import SamplingDesign as Weights
from holdfast.mechanisms.wasserstein.loss import LossKind, TableLoss
from holdfast.mechanisms.wasserstein.measure import BaseMeasure
from holdfast.privacy.guarantee import Adjacency, Scope
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import GuaranteeError, SamplingError
from holdfast.testing.goodness import LEVEL, p_value
from holdfast.universe.limits import Limits
from holdfast.universe.tables import conforming_tables, looks_alike
from holdfast.universe.universe import Universe


def lost(laws: list[Law], tables: IntArray, distance: int | None) -> float:
    """Return the largest log ratio of two laws at most so many records apart; for None, per record.

    The tables are all releases, and laws may know their log probabilities up to a constant.
    """
    logs = np.array([law.log_prob(tables) for law in laws])
    logs -= logsumexp(logs, axis=1, keepdims=True)
    apart = np.abs(tables[:, None, :] - tables[None, :, :]).sum(axis=2) // 2
    told = (apart > 0) & (tables.sum(axis=1)[:, None] == tables.sum(axis=1)[None, :])
    ratio = np.array([(row - logs).max(axis=1) for row in logs])
    if distance is None:
        return float((ratio / np.maximum(apart, 1))[told].max())
    return float(ratio[told & (apart <= distance)].max(initial=0.0))


def premises_of(universe: Universe, adjacency: Adjacency) -> Premises:
    return Premises.of(universe, Scope.of(universe, invariants=(), constraints=()), adjacency)


def prepared(design: Design, adjacency: Adjacency) -> tuple[Premises, Inequalities] | None:
    """Return what a mechanism needs; None where a release is refused, as it would be vacuous."""
    limits = Limits(csr_array(design.B), design.b)
    universe = Universe.of(csr_array(design.A), design.t, limits=limits, occupied=True)
    scope, tables = Scope.of(universe, invariants=(), constraints=()), np.array(design.tables)
    premises = Premises(universe, scope, adjacency)
    apart = np.abs(tables[:, None, :] - tables[None, :, :]).sum(axis=2)
    same = (apart > 0) & (tables.sum(axis=1)[:, None] == tables.sum(axis=1)[None, :])
    if (same & ((adjacency == "unit") | (apart <= 2 * premises.unit.distance))).any():
        return premises.checked(), Inequalities(design.B, design.b)
    with pytest.raises(GuaranteeError, match="vacuous"):
        premises.checked()
    return None


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
@pytest.mark.parametrize("seed", range(12))
def test_no_release_loses_more_than_its_guarantee(seed: int, adjacency: Adjacency) -> None:
    found = prepared(random_design(seed, cells=4), adjacency)
    if found is None:
        return
    premises, inequalities = found
    tables = conforming_tables(premises.universe, 1000)
    distance = None if adjacency == "unit" else premises.unit.distance
    mechanism = Conditioned.calibrate(
        premises, intensity=Pure(Fraction(1)), nonnegative=True, inequalities=inequalities
    )
    epsilon = float(mechanism.guarantee.intensity.parameters()["epsilon"])
    assert epsilon <= 1
    assert lost([mechanism.law(table) for table in tables], tables, distance) <= epsilon + 1e-9
    kinds: tuple[LossKind, ...] = ("l1", "l2", "linf")
    for kind in kinds:
        loss = TableLoss(kind)
        base = BaseMeasure(premises.universe, "congenial", nonnegative=True, inequalities=inequalities)
        cost, weights = (
            KappaCosts(premises, loss, base).at(Fraction(1, 2)),
            Weights(loss, base, Fraction(1, 2)),
        )
        assert lost([weights.law(table) for table in tables], tables, distance) <= float(cost.epsilon) + 1e-9


BITS = {
    "one total": (np.ones((1, 6), dtype=np.int64), [1, 1, 0, 0, 0, 1]),
    "two strata": (
        np.kron(np.eye(2, dtype=np.int64), np.ones((1, 4), dtype=np.int64)),
        [1, 0, 0, 1, 1, 0, 0, 0],
    ),
    "nested": (np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]), [1, 0, 0, 1, 1, 0]),
    "free": (np.zeros((0, 5), dtype=np.int64), [1, 0, 1, 0, 0]),
}


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
@pytest.mark.parametrize("name", BITS)
def test_bits_with_fixed_sums_cost_nothing(name: str, adjacency: Adjacency) -> None:
    """The normaliser is the same for all tables, by enumeration, and no factor is paid for it."""
    matrix, table = BITS[name]
    counts = np.array(table)
    rows, least = -np.eye(counts.size, dtype=np.int64), -np.ones(counts.size, dtype=np.int64)
    universe = Universe.of(csr_array(matrix), matrix @ counts, limits=Limits(csr_array(rows), least))
    assert looks_alike(universe)
    tables = conforming_tables(universe, 1000)
    apart = np.abs(tables[:, None, :] - tables[None, :, :])
    for size in (apart.sum(axis=2), apart.max(axis=2), (apart**2).sum(axis=2)):
        sums = np.exp(-size / 2).sum(axis=1)
        assert np.ptp(sums) < 1e-9 * sums.max()
    premises, inequalities = premises_of(universe, adjacency), Inequalities(rows, least)
    cost = Conditioning.of(premises, nonnegative=True, inequalities=inequalities).at(Fraction(1, 2))
    assert cost.gamma == 0
    assert cost.exact
    base = BaseMeasure(universe, "congenial", nonnegative=True, inequalities=inequalities)
    assert KappaCosts(premises, TableLoss("linf"), base).at(Fraction(1)).how == SAME
    mechanism = Conditioned(premises, Fraction(1, 2), nonnegative=True, inequalities=inequalities)
    laws = [mechanism.law(one) for one in tables]
    distance = None if adjacency == "unit" else premises.unit.distance
    assert lost(laws, tables, distance) == pytest.approx(float(cost.loss), abs=1e-9)


def test_tables_of_more_counts_or_crossing_sums_do_not_look_alike() -> None:
    total = csr_array(np.ones((1, 4), dtype=np.int64))
    bits = Limits(csr_array(-np.eye(4, dtype=np.int64)), -np.ones(4, dtype=np.int64))
    assert looks_alike(Universe.of(total, np.array([2]), limits=bits))
    assert not looks_alike(Universe.of(total, np.array([3]), limits=Limits(bits.rows, 2 * bits.least)))
    assert not looks_alike(Universe.of(total, np.array([2])))
    pair = Limits(csr_array(np.array([[-1, -1, 0, 0]])), np.array([-1]))
    assert not looks_alike(Universe.of(total, np.array([2]), limits=pair))


def test_bounds_out_of_reach_leave_the_cost_as_it_is() -> None:
    total, counts = csr_array(np.ones((1, 30), dtype=np.int64)), np.array([4])
    rows = -np.eye(30, dtype=np.int64)
    plain = Conditioning.of(premises_of(Universe.of(total, counts), "semi"), nonnegative=True)
    for most, same in ((4, True), (3, False)):
        least = np.full(30, -most)
        universe = Universe.of(total, counts, limits=Limits(csr_array(rows), least))
        found = Conditioning.of(
            premises_of(universe, "semi"), nonnegative=True, inequalities=Inequalities(rows, least)
        )
        assert (found.at(Fraction(1)).loss == plain.at(Fraction(1)).loss) is same
        assert isinstance(found.parts[0][0], Twice) is not same


@pytest.mark.parametrize("known", [True, False])
def test_few_releases_are_listed_where_noise_hardly_ever_keeps_its_bounds(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = np.eye(8, dtype=np.int64)
    rows, least = np.concatenate([each, -each]), np.repeat([50, -51], 8)
    table = np.repeat([50, 51], 4)
    matrix = csr_array(np.stack([np.ones(8, dtype=np.int64), each[0] + each[4]]))
    limits = Limits(csr_array(rows), least) if known else None
    universe = Universe.of(matrix, matrix @ table, limits=limits, occupied=True)
    mechanism = Conditioned(premises_of(universe, "unit"), Fraction(1, 2), True, Inequalities(rows, least))
    if not known:  # the tables without bounds are too many to list
        assert mechanism._releases is None
        return
    rare = replace(mechanism, kappa=Fraction(1, 10**5))
    rare.require_drawable([table])
    with monkeypatch.context() as unlisted:
        unlisted.setattr(Conditioned, "_releases", None)
        with pytest.raises(SamplingError, match="not every table"):
            replace(rare).require_drawable([table])
    assert [drawn.words for drawn in mechanism.methods] == ["8 cells, from a list of all releases"]
    releases = conforming_tables(universe, 100)
    assert len(releases) == 40
    law = mechanism.law(table)
    weights = np.exp(-np.abs(releases - table).sum(axis=1) / 2)
    assert np.exp(law.log_prob(releases)) == pytest.approx(weights / weights.sum())
    draws = law.sample(SeededEntropy(3), 20_000)
    shares = dict(zip(map(tuple, releases.tolist()), (weights / weights.sum()).tolist(), strict=True))
    assert p_value(draws, shares) > LEVEL
    other = np.exp(-np.abs(releases - table).sum(axis=1) * 0.6)
    wrong = dict(zip(shares, (other / other.sum()).tolist(), strict=True))
    assert p_value(draws, wrong) < LEVEL / 1000


def test_a_list_stands_for_inequalities_that_tables_may_break() -> None:
    matrix = csr_array(np.ones((1, 3), dtype=np.int64))
    universe = Universe.of(matrix, np.array([4]))
    first = Inequalities(np.array([[1, -1, 0]]), np.array([0]))
    mechanism = Conditioned(premises_of(universe, "semi"), Fraction(1, 2), True, first)
    tables = conforming_tables(universe, 100)
    found = mechanism.law(np.array([2, 1, 1])).log_prob(tables)
    assert (np.isfinite(found) == (tables[:, 0] >= tables[:, 1])).all()
