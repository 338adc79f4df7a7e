"""The conditioned mechanism: its enumerated loss, its law, its calibration, and chains by request only."""

from dataclasses import replace
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.data.invariants import margin_block
from holdfast.data.schema import Attributes, Schema
from holdfast.lattice.markov import markov_basis_two_way
from holdfast.lattice.points import lattice_points
from holdfast.mechanisms.conditioned import STEPS, Conditioned, ConditionedOptions, ConditionedRecord
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.mechanism import Traits
from holdfast.mechanisms.truncation.congeniality import Inequalities
from holdfast.privacy.guarantee import Adjacency, Scope, Target
from holdfast.privacy.intensity import Approximate, Pure
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import NormLoss
from holdfast.public import Held, Public
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.testing.goodness import LEVEL, Point, p_value, two_way
from holdfast.testing.losses import losses, record_distances
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

Array = NDArray[np.int64]
ONE = Pure(Fraction(1))


def premises(rows: Array | list[list[int]], table: list[int], adjacency: Adjacency = "semi") -> Premises:
    matrix = np.array(rows, dtype=np.int64)
    universe = Universe.of(csr_array(matrix), matrix @ np.array(table))
    return Premises.of(universe, Scope.of(universe, invariants=("all",), constraints=()), adjacency)


DESIGNS: dict[str, tuple[Array | list[list[int]], list[int]]] = {
    "2 x 3": (two_way(2, 3), [2, 1, 0, 0, 1, 2]),
    "3 x 3": (two_way(3, 3), [1, 1, 0, 0, 1, 0, 1, 0, 0]),
    "two states": ([[1, 1, 0, 0], [0, 0, 1, 1]], [2, 1, 0, 2]),
    "one total": ([[1, 1, 1]], [2, 1, 1]),
    "crossing counts": ([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]], [1, 1, 1, 1]),
    "weights": ([[1, 2, 1, 3], [1, 1, 1, 1]], [1, 2, 1, 1]),
}
LARGER_FIRST = Inequalities(np.array([[1, -1, 0]]), np.array([0]))


def calibrated(on: Premises, inequalities: Inequalities | None = None) -> Conditioned:
    return Conditioned.calibrate(on, intensity=ONE, nonnegative=True, inequalities=inequalities)


def enumerated(mechanism: Conditioned) -> float:
    """Return the largest loss that the guarantee speaks of; releases are tables of the universe."""
    on = mechanism.premises
    tables = conforming_tables(on.universe, 2000)
    releases = tables if mechanism.inequalities is None else tables[mechanism.inequalities.hold(tables)]
    loss, apart = losses(mechanism.law, tables, releases), record_distances(tables)
    if on.adjacency == "unit":
        return float((loss / np.maximum(apart, 1))[apart > 0].max())
    return float(loss[(apart > 0) & (apart <= on.semi_adjacency.worst_case)].max())


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
@pytest.mark.parametrize("name", DESIGNS)
def test_the_enumerated_loss_meets_the_guarantee_tightly(name: str, adjacency: Adjacency) -> None:
    mechanism = calibrated(premises(*DESIGNS[name], adjacency))
    guarantee = mechanism.guarantee
    assert guarantee.meets(Target(adjacency, ONE))
    stated = float(guarantee.intensity.parameters()["epsilon"])
    loss = enumerated(mechanism)
    assert 0.99 * stated <= loss <= stated * (1 + 1e-9)
    assert stated >= 0.99  # and the target is spent
    quieter = replace(mechanism, kappa=mechanism.kappa * Fraction(11, 10))
    assert enumerated(quieter) > stated
    assert enumerated(quieter) > 1


def test_the_enumerated_loss_under_further_inequalities() -> None:
    mechanism = calibrated(premises(*DESIGNS["one total"]), LARGER_FIRST)
    stated = float(mechanism.congeniality.loss)
    assert 0.99 * stated <= enumerated(mechanism) <= stated * (1 + 1e-9) <= 1 + 1e-9
    assert enumerated(replace(mechanism, kappa=mechanism.kappa * Fraction(11, 10))) > stated


def test_a_bounded_gamma_is_safe_where_tables_are_too_many_to_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.mechanisms.truncation.congeniality.TABLES", 0)
    for rows, table in DESIGNS.values():
        mechanism = calibrated(premises(rows, table))
        assert not mechanism.congeniality.exact
        assert 0 < mechanism.congeniality.gamma < 1
        assert enumerated(mechanism) <= 1


def test_calibration_ends_with_a_parameter_that_was_checked() -> None:
    on = premises(*DESIGNS["2 x 3"])
    mechanism = calibrated(on)
    most = ONE.epsilon / on.sensitivity.l1
    assert most / 2 < mechanism.kappa < most
    assert mechanism.congeniality.loss <= 1
    step = most / (2 * STEPS)
    assert replace(mechanism, kappa=mechanism.kappa + step).congeniality.loss > 1


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
def test_half_the_parameter_always_meets_the_target(adjacency: Adjacency) -> None:
    target = Pure(Fraction(1, 3))
    mechanism = Conditioned.calibrate(
        premises(*DESIGNS["one total"], adjacency),
        intensity=target,
        nonnegative=False,
        inequalities=LARGER_FIRST,
    )
    assert mechanism.kappa == Fraction(1, 12)
    assert mechanism.guarantee.intensity == target
    assert mechanism.congeniality.gamma == 1


def asked(**constraints: Any) -> Public:
    schema = Schema(Attributes.of({"row": ("a", "b"), "column": ("x", "y", "z")}))
    table = np.array(DESIGNS["2 x 3"][1])
    rows, columns = (margin_block(schema, (name,), name) for name in ("row", "column"))
    held = tuple(Held(block, block.evaluate(table)) for block in (rows, columns))
    return Public(schema, "count", held, **constraints)


def options(**keys: Any) -> ConditionedOptions:
    return ConditionedOptions(name="conditioned", **keys)


def test_a_spec_without_inequalities_is_sent_to_the_mechanism_with_that_law() -> None:
    """Double geometric noise given A z = 0 is the l1 Laplace law on the lattice, at every point."""
    public = asked()
    for intensity, other in (
        (ONE, "lattice-laplace"),
        (Approximate(ONE.epsilon, Fraction(1, 9)), "lattice-gaussian"),
    ):
        with pytest.raises(SpecError, match=f"set name='{other}', or add nonnegative=True"):
            Conditioned.answer(public, Target("semi", intensity), options())
    laplace = LatticeLaplace.calibrate(public.premises("semi"), norm="l1", intensity=ONE)
    points = lattice_points(public.universe.matrix.toarray(), 3)
    conditioned = -float(laplace.kappa) * np.abs(points).sum(axis=1)  # independent noise, where A z = 0
    assert laplace.noise.log_prob(points) == pytest.approx(conditioned)


def test_an_answer_takes_its_inequalities_from_what_is_public() -> None:
    mechanism = Conditioned.answer(asked(nonnegative=True), Target("semi", ONE), options())
    same = calibrated(premises(*DESIGNS["2 x 3"]))
    assert (mechanism.kappa, mechanism.inequalities, mechanism.nonnegative) == (same.kappa, None, True)
    approximate = Approximate(ONE.epsilon, Fraction(1, 9))
    with pytest.raises(SpecError, match="met by a chain alone"):
        Conditioned.answer(asked(nonnegative=True), Target("semi", approximate), options())
    with pytest.raises(SpecError, match="chain=True draws approximately"):
        Conditioned.answer(asked(nonnegative=True), Target("semi", ONE), options(chain=True))
    with pytest.raises(SpecError, match="moves are those of a chain"):
        options(moves="moves.csv")


def pmf(table: list[int], releases: Array, epsilon: float) -> dict[Point, float]:
    weight = np.exp(-epsilon * np.abs(releases - np.array(table)).sum(axis=1))
    return dict(zip(map(tuple, releases.tolist()), (weight / weight.sum()).tolist(), strict=True))


@pytest.mark.parametrize("name", ["2 x 3", "3 x 3", "two states", "weights"])
def test_releases_have_the_conditioned_law(name: str) -> None:
    rows, table = DESIGNS[name]
    mechanism = calibrated(premises(rows, table))
    releases = conforming_tables(mechanism.premises.universe, 2000)
    draws = mechanism.law(np.array(table)).sample(SeededEntropy(3), 40_000)
    epsilon = float(mechanism.kappa)
    assert p_value(draws, pmf(table, releases, epsilon)) > LEVEL
    assert p_value(draws, pmf(table, releases, 1.5 * epsilon)) < LEVEL / 1000


@pytest.mark.parametrize("nonnegative", [False, True])
def test_releases_keep_further_inequalities(nonnegative: bool) -> None:
    rows, table = [[1, 1, 1]], [2, 3, 1]
    on = premises(rows, table)
    mechanism = Conditioned(on, Fraction(1), nonnegative, LARGER_FIRST)
    assert mechanism.noise is None
    releases = np.array(table) + lattice_points(np.array(rows), 12)
    releases = releases[LARGER_FIRST.hold(releases)]
    if nonnegative:
        releases = releases[(releases >= 0).all(axis=1)]
    draws = mechanism.law(np.array(table)).sample(SeededEntropy(4), 20_000)
    assert (draws[:, 0] >= draws[:, 1]).all()
    assert p_value(draws, pmf(table, releases, 1.0)) > LEVEL
    assert p_value(draws, pmf(table, releases, 1.2)) < LEVEL / 1000


def test_the_evidence_names_gamma_and_the_clock() -> None:
    mechanism = calibrated(premises(*DESIGNS["2 x 3"]))
    claims = [item.claim.words for item in mechanism.guarantee.evidence]
    gamma = f"gamma = {float(mechanism.congeniality.gamma):.3f}"
    assert any(gamma in claim for claim in claims)
    assert any("how long a draw took" in claim for claim in claims)
    assert mechanism.traits == Traits(additive=False, nonnegative=True)
    assert mechanism.record().parameters() == {"epsilon_per_unit": str(mechanism.kappa)}
    (drawn,) = mechanism.methods
    assert drawn.words == "6 cells within bounds, by dynamic programming or rejection"


def test_the_profile_answers_for_every_pair() -> None:
    mechanism = calibrated(premises(*DESIGNS["two states"]))
    profile = mechanism.guarantee.profile
    assert isinstance(profile, NormLoss)
    per_record = enumerated(
        Conditioned(premises(*DESIGNS["two states"], "unit"), mechanism.kappa, nonnegative=True)
    )
    assert 2 * float(profile.kappa) == pytest.approx(per_record, abs=1e-8)


def test_bad_input_is_refused_in_a_sentence() -> None:
    on = premises(*DESIGNS["2 x 3"])
    with pytest.raises(GuaranteeError, match="must be positive"):
        Conditioned(on, Fraction(0), nonnegative=True)
    with pytest.raises(GuaranteeError, match="speak of 3 cells and the table has 6"):
        Conditioned(on, Fraction(1), nonnegative=True, inequalities=LARGER_FIRST)


STAND_INS = [np.array([1, 1, 1, 1, 1, 1]), np.array([2, 1, 0, 0, 1, 2]), np.array([0, 1, 2, 2, 1, 0])]
PLAN: dict[str, Any] = {"distance": 0.01, "runs": 1500, "lag": 10, "max_iterations": 500}


def chained(stand_ins: list[Array] = STAND_INS, moves: Array | None = None) -> Conditioned:
    mechanism = calibrated(premises(two_way(2, 3), [2, 1, 0, 0, 1, 2]))
    moves = markov_basis_two_way(2, 3) if moves is None else moves
    return mechanism.by_chain(moves, stand_ins, entropy=SeededEntropy(8), **PLAN)


def test_a_chain_is_approximate_estimated_and_assumed() -> None:
    mechanism = chained()
    exact = calibrated(mechanism.premises)
    assert exact.walk is None
    guarantee = mechanism.guarantee
    assert isinstance(guarantee.intensity, Approximate)
    assert mechanism.walk is not None
    epsilon = float(exact.congeniality.loss)
    distance = mechanism.walk.length.distance
    assert distance <= 0.01
    assert guarantee.intensity.epsilon == exact.congeniality.loss
    assert float(guarantee.intensity.delta) == pytest.approx((1 + exp(epsilon)) * distance)
    assert guarantee.intensity.delta >= Fraction(distance) * 2
    assert guarantee.profile is None
    kinds = [item.kind for item in guarantee.evidence]
    assert kinds.count("estimated") == 1
    assert any(
        "confidential table" in item.claim.words for item in guarantee.evidence if item.kind == "assumed"
    )
    assert not any("drawn exactly" in item.claim.words for item in guarantee.evidence)
    assert "steps of a Markov chain" in mechanism.methods[0].words
    assert mechanism.traits == Traits("estimated", additive=False, nonnegative=True)


def test_a_chain_draws_close_to_the_law() -> None:
    mechanism = chained()
    table = [2, 1, 0, 0, 1, 2]
    releases = conforming_tables(mechanism.premises.universe, 100)
    draws = mechanism.law(np.array(table)).sample(SeededEntropy(5), 20_000)
    law = pmf(table, releases, float(mechanism.kappa))
    seen = dict.fromkeys(law, 0.0)
    for point in map(tuple, draws.tolist()):
        seen[point] += 1 / len(draws)
    assert mechanism.walk is not None
    apart = sum(abs(seen[point] - law[point]) for point in law) / 2
    assert apart <= mechanism.walk.length.distance + 0.02  # 20,000 draws of 10 releases err by less
    soon = replace(mechanism.walk, length=replace(mechanism.walk.length, iterations=0))
    assert (replace(mechanism, walk=soon).law(np.array(table)).sample(SeededEntropy(5), 9) == table).all()


def test_chains_are_refused_where_they_prove_nothing() -> None:
    mechanism = calibrated(premises(*DESIGNS["one total"]), LARGER_FIRST)
    with pytest.raises(GuaranteeError, match="a chain is offered"):
        mechanism.by_chain(np.array([[1, -1, 0]]), [np.array([2, 1, 1])], entropy=SeededEntropy(1), **PLAN)
    with pytest.raises(GuaranteeError, match="stand-in 0 is no table"):
        chained([np.array([1, 1, 1, 1, 1, 2])])
    with pytest.raises(GuaranteeError, match="does not keep the invariants"):
        chained(moves=np.array([[1, -1, 0, 0, 0, 0]]))


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
def test_the_parameter_may_be_given_instead_of_a_target(adjacency: Adjacency) -> None:
    """epsilon = 1/2 a cell, as in the paper: the guarantee is what it costs, enumerated."""
    public, target = asked(nonnegative=True), Target(adjacency, None)
    found = Conditioned.answer(public, target, options(epsilon_per_unit="1/2"))
    assert (found.kappa, found.given) == (Fraction(1, 2), "by the spec")
    stated = float(found.guarantee.intensity.parameters()["epsilon"])
    assert 0.99 * stated <= enumerated(found) <= stated * (1 + 1e-9)
    assert found.calibration(public, Target(adjacency, ONE)) is None
    record = ConditionedRecord(name="conditioned", additive=False, sampling=(), **found.parameters)
    again = Conditioned.of(record, public, found.guarantee.unit)
    assert (again.kappa, again.given, again.guarantee.intensity) == (
        found.kappa,
        found.given,
        found.guarantee.intensity,
    )


def test_a_parameter_is_for_exact_draws() -> None:
    with pytest.raises(SpecError, match="epsilon_per_unit is that of exact draws"):
        options(epsilon_per_unit="1/2", chain=True)
