"""epsilon-TP as a value: what it says, what implies it and what it implies, against enumeration."""

from fractions import Fraction
from itertools import combinations, product
from math import exp, log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tests.privacy.pufferfish.enumerated import distance, given, loss, randomised, release, secrets, tp_loss
from tests.small_releases import prepared

from holdfast.mechanisms.conditioned import Conditioned
from holdfast.privacy.guarantee import Guarantee, Scope, Unit
from holdfast.privacy.intensity import Approximate, Pure
from holdfast.privacy.pufferfish import (
    COUNT,
    DeltaZ,
    Framework,
    LawClass,
    Stated,
    TPGuarantee,
    conditioned_intensity,
    delta_of_tables,
    framework_of_tables,
    semantics,
    tp_of_tables,
)
from holdfast.privacy.pufferfish.families import CorrelatedMean, DependentCounts, Family, ListedCounts
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.errors import GuaranteeError
from holdfast.testing.goodness import two_way
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

Dataset = tuple[int, ...]
MARGINS = np.array(two_way(2, 2))
TWO_WAY = Universe.of(csr_array(MARGINS), np.array([2, 1, 2]))
SCOPE = Scope.of(TWO_WAY, invariants=("rows", "columns"), constraints=())
TOTAL = Scope.of(
    Universe.of(csr_array(np.ones((1, 4), dtype=np.int64)), np.array([3])),
    invariants=("total",),
    constraints=(),
)


def semi(epsilon: str, distance: int = 3, scope: Scope = SCOPE, adjacency: str = "semi") -> Guarantee:
    return Guarantee(scope, Unit("record", adjacency, distance), Pure(Fraction(epsilon)), ())  # type: ignore[arg-type]


def of_pairs(epsilon: str, distance: int = 3) -> TPGuarantee:
    framework = framework_of_tables(SCOPE, "pairs", distance=distance)
    return TPGuarantee(framework, Pure(Fraction(epsilon)), (), delta_of_tables(framework))


def tp(epsilon: str, laws: str, scope: Scope = SCOPE) -> TPGuarantee:
    return TPGuarantee(framework_of_tables(scope, laws), Pure(Fraction(epsilon)), ())  # type: ignore[arg-type]


def datasets(scope: Scope, people: int = 3) -> list[Dataset]:
    """Return the labelled datasets of a scope: the cell of each person."""
    universe = scope.universe
    found = []
    for cells in product(range(universe.cells), repeat=people):
        table = np.bincount(cells, minlength=universe.cells)
        if np.array_equal(universe.matrix @ table, universe.values):
            found.append(cells)
    return found


def on_tables(data: list[Dataset], rng: np.random.Generator) -> dict[Dataset, NDArray[np.float64]]:
    """Return a random mechanism with three releases that sees tables only."""
    by_table: dict[Dataset, NDArray[np.float64]] = {}
    return {x: by_table.setdefault(tuple(sorted(x)), rng.dirichlet(np.full(3, 2.0))) for x in data}


def test_the_statement_says_what_it_is_relative_to() -> None:
    guarantee = of_pairs("1/2")
    assert guarantee.statement == (
        "Given what is public (rows and columns), for each record, any two possible cells, and whichever law"
        " the data follow among even chances of two tables that agree with it, at most 3 records apart, no"
        " release is more than exp(0.5) = 1.65 times as likely under one secret as under the other."
    )
    told = guarantee.to_dict()
    assert told["standard"] == "tp"
    assert told["framework"]["public"]["data"]["digest"] == SCOPE.digest
    assert told["framework"]["laws"]["kind"] == "pairs"
    assert told["delta_z"]["value"] == "3"


def test_frameworks_are_told_apart_by_their_data() -> None:
    one, other = of_pairs("1").framework, of_pairs("2").framework
    assert one.digest == other.digest
    assert one.digest != of_pairs("1", 2).framework.digest
    assert one.digest != framework_of_tables(SCOPE, "everything").digest
    renamed = Framework(Stated("other words", one.public.data), one.secrets, one.pairs, one.laws)
    assert renamed.digest == one.digest


@pytest.mark.parametrize("seed", range(15))
def test_pairs_are_semi_adjacency_in_other_words(seed: int) -> None:
    """The smallest epsilon of both, of a random mechanism on all datasets with two margins."""
    data = datasets(SCOPE)
    mechanism = on_tables(data, np.random.default_rng(seed))
    near = [(x, y) for x, y in combinations(data, 2) if distance(x, y) <= 3]
    priors = [{x: 1 / 2, y: 1 / 2} for x, y in near]
    by_tables = max(loss(mechanism[x], mechanism[y]) for x, y in near)
    assert tp_loss(priors, secrets(data), mechanism) == pytest.approx(by_tables)
    assert of_pairs("1").implies(semi("1"))
    assert of_pairs("1").implied_by(semi("1"))
    assert not of_pairs("1").implies(semi("1/2"))
    assert not of_pairs("1/2").implied_by(semi("1"))


@pytest.mark.parametrize(("scope", "piece"), [(SCOPE, 2), (TOTAL, 1)])
def test_independent_records_imply_semi_dp_by_chains(scope: Scope, piece: int) -> None:
    apart = {distance(x, y) for x, y in combinations(datasets(scope), 2)}
    assert apart & {1, 2, 3}
    for near in apart & {1, 2, 3}:
        found = tp("1", "independent", scope)._between(Unit("record", "semi", near), scope)
        assert found == Pure(Fraction(max(1, near // piece)))


@pytest.mark.parametrize("seed", range(15))
def test_the_bound_by_chains_is_met_for_every_mechanism(seed: int) -> None:
    """Product laws on two values a person are enough: all smallest changes are among those drawn."""
    data = datasets(SCOPE)
    rng = np.random.default_rng(seed)
    mechanism, pairs, conforming = on_tables(data, rng), secrets(data), set(data)
    epsilon = 0.0
    for x, y in rng.choice(len(data), size=(150, 2)):
        choices = [sorted({a, b}) for a, b in zip(data[x], data[y], strict=True)]
        points = [point for point in product(*choices) if point in conforming]
        epsilon = max(epsilon, tp_loss([dict.fromkeys(points, 1 / len(points))], pairs, mechanism))
    for x, y in combinations(data, 2):
        if (near := distance(x, y)) <= 3:
            assert loss(mechanism[x], mechanism[y]) <= max(1, near // 2) * epsilon + 1e-9


def test_independent_records_are_not_implied_by_semi_dp() -> None:
    """A cycle of three values with a fixed histogram: 2 records apart each is protected, 3 are moved."""
    histogram = Scope.of(
        Universe.of(csr_array(np.eye(3, dtype=np.int64)), np.array([1, 1, 1])),
        invariants=("all",),
        constraints=(),
    )
    framework = framework_of_tables(histogram, "independent")
    assert delta_of_tables(framework).value == 3
    with pytest.raises(
        GuaranteeError, match="moves up to 3 records, and the guarantee speaks of tables at most 2"
    ):
        TPGuarantee.of(semi("1", 2, histogram), framework, delta_of_tables(framework))


def test_a_guarantee_for_each_record_is_scaled_to_delta_z() -> None:
    framework = framework_of_tables(SCOPE, "independent")
    found = TPGuarantee.of(semi("1/2", 1, adjacency="unit"), framework, delta_of_tables(framework))
    assert found.amount == Fraction(3, 2)
    assert found.pointwise
    assert found.implied_by(semi("1/2", 1, adjacency="unit"))
    free = framework_of_tables(TOTAL, "independent")
    assert delta_of_tables(free) == DeltaZ(Fraction(1), exact=True, evidence=delta_of_tables(free).evidence)


@pytest.mark.parametrize("seed", range(10))
def test_what_holds_between_tables_holds_for_secrets(seed: int) -> None:
    """Random laws on conforming datasets, and a mechanism that loses 0.5 a record."""
    rng, data = np.random.default_rng(seed), datasets(SCOPE)
    prior = dict(zip(data, rng.dirichlet(np.full(len(data), 0.3)), strict=True))
    mechanism = randomised(data, data, 0.25)  # its normaliser costs as much again at most
    framework = framework_of_tables(SCOPE, "everything")
    claimed = TPGuarantee.of(semi("1/2", 1, adjacency="unit"), framework, delta_of_tables(framework))
    assert tp_loss([prior], secrets(data), mechanism) <= float(claimed.amount)


@pytest.mark.parametrize("seed", range(5))
def test_posterior_odds_stay_within_epsilon_and_reach_it(seed: int) -> None:
    """Lemma 4, both ways: the largest change of odds over all releases is the loss of epsilon-TP."""
    rng, data = np.random.default_rng(seed), datasets(SCOPE)
    prior = dict(zip(data, rng.dirichlet(np.ones(len(data))), strict=True))
    mechanism = on_tables(data, rng)
    epsilon = tp_loss([prior], secrets(data), mechanism)
    changes = []
    for one, other in secrets(data):
        before = [sum(prior[x] for x in secret) for secret in (one, other)]
        after = [sum(prior[x] * mechanism[x] for x in secret) for secret in (one, other)]
        changes += np.abs(np.log(after[0] / after[1]) - log(before[0] / before[1])).tolist()
    assert max(changes) == pytest.approx(epsilon)
    laws = [release(given(prior, secret), mechanism) for secret in secrets(data)[0]]
    assert loss(*laws) <= epsilon + 1e-12


def test_bounds_of_beliefs_can_be_plotted() -> None:
    told = semantics(of_pairs("1"), [0.0, 0.5, 0.9]).to_dict()
    assert told["low"] == pytest.approx([0, 1 / (1 + exp(1)), 0.9 / (0.9 + 0.1 * exp(1))])
    assert told["high"] == pytest.approx([0, exp(1) / (1 + exp(1)), 0.9 * exp(1) / (0.9 * exp(1) + 0.1)])
    assert len(semantics(of_pairs("1")).prior) == 9


def family(model: Family, epsilon: str) -> TPGuarantee:
    return TPGuarantee(model.framework, Pure(Fraction(epsilon)), model.delta.evidence, model.delta)


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (DependentCounts(9, THIRD, HALF), DependentCounts(9, HALF, HALF)),
        (DependentCounts(9, THIRD, HALF, "any"), DependentCounts(9, THIRD, HALF)),
        (CorrelatedMean(9, HALF, HALF), CorrelatedMean(9, HALF, THIRD)),
        (
            ListedCounts((((HALF, HALF), (HALF, HALF)), ((HALF, HALF), (THIRD, 1 - THIRD)))),
            ListedCounts((((HALF, HALF), (THIRD, 1 - THIRD)),)),
        ),
    ],
)
def test_wider_classes_imply_narrower_ones(wide: Family, narrow: Family) -> None:
    assert family(wide, "1").implies(family(narrow, "1"))
    assert not family(wide, "2").implies(family(narrow, "1"))
    assert not family(narrow, "1").implies(family(wide, "1"))
    assert wide.delta.finite >= narrow.delta.finite


def test_everything_implies_every_class_on_the_same_public_facts() -> None:
    every = tp("1", "everything")
    assert every.implies(of_pairs("1"))
    assert every.implies(tp("2", "independent"))
    assert every.implies(semi("1", 7))
    assert every.implies(semi("1", 1, adjacency="unit"))
    assert of_pairs("1", 3).implies(of_pairs("1", 2))
    assert not of_pairs("1", 2).implies(of_pairs("1", 3))


def test_what_is_not_comparable_says_why() -> None:
    with pytest.raises(GuaranteeError, match="neither is known to cover"):
        of_pairs("1").implies(tp("1", "independent"))
    with pytest.raises(GuaranteeError, match="neither is known to cover"):
        family(DependentCounts(9, THIRD, HALF), "1").implies(family(DependentCounts(8, THIRD, HALF), "1"))
    with pytest.raises(GuaranteeError, match="only mixtures of them are compared"):
        family(DependentCounts(9, THIRD, HALF), "1").implies(semi("1"))
    with pytest.raises(GuaranteeError, match="further apart"):
        of_pairs("1").implies(semi("1", 4))
    with pytest.raises(GuaranteeError, match="further apart"):
        of_pairs("1").implies(semi("1", 1, adjacency="unit"))
    with pytest.raises(GuaranteeError, match="more to be public"):
        tp("1", "everything").implies(semi("1", scope=TOTAL))
    with pytest.raises(GuaranteeError, match="not stated"):
        tp("1", "everything").implied_by(semi("1"))
    weak = Guarantee(SCOPE, Unit("record", "semi", 3), Approximate(Fraction(1), Fraction(1, 10)), ())
    with pytest.raises(GuaranteeError, match="'approximate' is neither"):
        of_pairs("1").implied_by(weak)
    with pytest.raises(GuaranteeError, match="not one of tables"):
        family(DependentCounts(9, THIRD, HALF), "1").implied_by(semi("1"))
    framework = framework_of_tables(TOTAL, "pairs", distance=2)
    with pytest.raises(GuaranteeError, match="may leave the tables"):
        TPGuarantee.of(semi("1"), framework, delta_of_tables(framework))


def test_guarantees_that_cannot_be_are_refused() -> None:
    with pytest.raises(GuaranteeError, match="infinite"):
        family(CorrelatedMean(5, HALF, Fraction(1)), "1")
    with pytest.raises(GuaranteeError, match="not negative"):
        of_pairs("-1")
    with pytest.raises(GuaranteeError, match="state it"):
        TPGuarantee(of_pairs("1").framework, Pure(Fraction(1)), (), None, pointwise=True)
    with pytest.raises(GuaranteeError, match="belongs to the class of pairs"):
        framework_of_tables(SCOPE, "pairs")
    with pytest.raises(GuaranteeError, match="single records"):
        framework_of_tables(SCOPE, "everything", whom=ProtectedUnit("household", 4))
    with pytest.raises(GuaranteeError, match="not of tables"):
        delta_of_tables(Framework(Stated("z"), Stated("s"), Stated("p"), LawClass("l"), COUNT))
    open_total = Scope.of(
        Universe.of(csr_array(np.array([[1, 1, 0, 0]])), np.array([2])), invariants=("first",), constraints=()
    )
    with pytest.raises(GuaranteeError, match="how many records there are is not public"):
        delta_of_tables(framework_of_tables(open_total, "everything"))


def test_conditioning_as_it_is_released_is_within_what_is_stated() -> None:
    """`conditioned` keeps counts at or above zero: every release is a conforming table, so all are listed.

    Its loss over pairs of secrets is within the stated epsilon, and within Lemma 8 as it is mended: 2 kappa a
    record for the base, (1 + gamma) for the condition, 3 records for Delta_z.
    """
    mechanism = prepared("conditioned").mechanism
    assert isinstance(mechanism, Conditioned)
    promise = tp_of_tables(mechanism.guarantee, "pairs")
    tables = conforming_tables(mechanism.premises.universe, 1000)
    laws = [np.exp(mechanism.law(table).log_prob(tables)) for table in tables]
    laws = [law / law.sum() for law in laws]
    near = [
        loss(laws[i], laws[j])
        for i, j in combinations(range(len(tables)), 2)
        if np.abs(tables[i] - tables[j]).sum() // 2 <= promise.framework.laws.data["distance"]
    ]
    stated = float(promise.amount)
    assert stated / 2 < max(near) <= stated
    assert promise.delta is not None
    mended = conditioned_intensity(Pure(2 * mechanism.kappa), promise.delta)
    assert stated <= float(mended.epsilon) + 1e-9


def test_inequalities_may_tie_records_that_are_independent() -> None:
    """One of two people is in a0: then one moves with the other, though the total alone ties nobody."""
    assert tp_of_tables(semi("1", 1, TOTAL), "independent").delta == delta_of_tables(
        framework_of_tables(TOTAL, "independent")
    )
    with pytest.raises(GuaranteeError, match="inequalities may tie records"):
        tp_of_tables(semi("1", 1, TOTAL), "independent", bounded=True)
    assert tp_of_tables(semi("1", 1, TOTAL), "pairs", bounded=True).amount == 1
