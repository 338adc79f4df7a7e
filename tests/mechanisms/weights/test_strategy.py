"""Queries that weigh noise on a lattice: their form, what is lost, what is refused, who else knows of it."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.small_releases import released

from holdfast import postprocess, verify
from holdfast.certificate.public import mechanism_of
from holdfast.inference.intervals import intervals
from holdfast.ledger.account import Ledger
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.likelihood import AddedNoise, NoisySums
from holdfast.mechanisms.weights.queries import WeightedQuery, WeightedQueryRecord
from holdfast.mechanisms.weights.strategy import Strategy
from holdfast.privacy.composition import parallel
from holdfast.privacy.guarantee import Adjacency
from holdfast.privacy.intensity import GaussianNoise, Pure, ZeroConcentrated
from holdfast.privacy.profile import FormLoss, profile_of
from holdfast.public import Public
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.mechanism import MechanismChoice
from holdfast.spec.model import Spec
from holdfast.system.errors import SamplingError, SpecError
from holdfast.testing.contract import Subject, the_loss_is_within_the_guarantee
from holdfast.testing.worlds import WORLDS, Case, World
from holdfast.universe.sensitivity import Sensitivity, sensitivity

ASKED: dict[str, list[list[str]]] = {
    "2 x 2": [["row"], ["row", "column"]],
    "2 x 3": [["column"], ["row", "column"]],
    "3 x 3": [["row"], ["row", "column"]],
    "two states": [["column"], ["row", "column"]],
    "two groups": [["score"], ["group", "score"]],
    "a structural zero": [["column"], ["row", "column"]],
    "two strata": [["row"], ["column"], ["stratum", "row", "column"]],
    "a geography": [["sex"], ["state"], ["state", "sex"]],
    "cases and deaths": [["county"], ["kind"], ["county", "kind"]],
    "weights": [["level"]],
    "selections": [["level"]],
}


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
@pytest.mark.parametrize("world", ASKED)
def test_the_enumerated_divergence_is_the_guarantee(world: str, adjacency: Adjacency, tmp_path: Path) -> None:
    """Half of the largest u'Fu over sigma^2, by record or at the distance of one person; less noise fails."""
    queries: list[dict[str, Any]] = [
        {"marginal": marginal, "weight": str(weight)} for weight, marginal in enumerate(ASKED[world], 1)
    ]
    if world in ("weights", "selections"):
        queries.append({"where": {"level": ["a", "b"]}})
    reach = 4 if world == "two groups" else 6
    privacy = {"standard": "zcdp", "rho": "4", "adjacency": adjacency}
    case = Case(world, privacy, {"queries": queries}, reach=reach)
    the_loss_is_within_the_guarantee(Subject.of(case, LatticeGaussian, tmp_path))


def test_weights_at_every_node_of_a_level_lose_what_is_stated(tmp_path: Path) -> None:
    """The difference of the sexes in every state."""
    world = World(
        {"nation": "n", "state": "ab", "sex": "xy"},
        (2, 1, 1, 1),
        ({"total": True, "level": "state"},),
        weights="invariant,sex,weight\nd,x,1\nd,y,-1\n",
        geography=("nation", "state"),
    )
    queries = [{"weights": {"file": "weights.csv"}, "level": "state"}, {"marginal": ["sex"]}]
    case = Case(world, {"standard": "zcdp", "rho": "4"}, {"queries": queries})
    subject = Subject.of(case, LatticeGaussian, tmp_path)
    assert [len(query.entries or ()) for query in subject.mechanism.parameters["queries"]] == [4, 0]
    the_loss_is_within_the_guarantee(subject)


def public_of(world: World | str, tmp_path: Path, **privacy: Any) -> Public:
    case = Case(world, {"standard": "zcdp", "rho": "1", **privacy})
    return prepare(case.spec(LatticeGaussian, tmp_path)).public


def strategy(public: Public, *queries: dict[str, Any]) -> Strategy:
    found = Strategy.of_queries(public, [WeightedQuery(**query) for query in queries])
    assert found is not None
    return found


def test_the_detailed_query_alone_is_the_usual_noise(tmp_path: Path) -> None:
    public = public_of("two states", tmp_path)
    form = strategy(public, {"marginal": ["row", "column"], "weight": "7"}).form
    assert np.array_equal(form.gram(), np.eye(4))
    premises, rho = public.premises("semi"), ZeroConcentrated(Fraction(1, 2))
    usual = LatticeGaussian.calibrate(premises, intensity=rho)
    weighted = LatticeGaussian.calibrate(
        premises, intensity=rho, strategy=strategy(public, {"marginal": ["column", "row"]})
    )
    assert weighted.sigma_squared == usual.sigma_squared
    assert weighted.guarantee.intensity == usual.guarantee.intensity == GaussianNoise.of(Fraction(1, 2))
    points = usual.noise.sample(SeededEntropy(1), 20)
    assert np.allclose(weighted.noise.log_prob(points), usual.noise.log_prob(points))


def test_weights_are_shares_of_the_budget(tmp_path: Path) -> None:
    """1 / s^2 is in proportion to the share over what one record moves, and what is fixed has no share."""
    public = public_of("two states", tmp_path)
    found = strategy(
        public,
        {"marginal": ["column"], "weight": "3"},
        {"marginal": ["row", "column"]},
        {"where": {"column": "x"}, "weight": "2"},
        {"marginal": ["row"], "weight": "100"},
        {"marginal": [], "weight": "100"},
    )
    assert [c for _, c in found.form.parts] == [Fraction(2, 3), Fraction(1, 2), Fraction(1, 6)]
    assert found.words == "column = x (2), column (3), row by column (1)"


def test_a_total_that_is_not_kept_counts_as_one_record_more(tmp_path: Path) -> None:
    public = public_of(World({"row": "ab", "column": "xy"}, (2, 1, 0, 2), ()), tmp_path)
    form = strategy(public, {"marginal": []}, {"marginal": ["row", "column"]}).form
    assert [c for _, c in form.parts] == [Fraction(1), Fraction(1, 2)]


def test_a_certificate_has_one_order_of_queries(tmp_path: Path) -> None:
    public = public_of("two states", tmp_path)
    one = {"where": {"row": ["b", "a"], "column": "x"}}
    found = strategy(public, {"marginal": ["column", "row"]}, {"marginal": ["column"]}, one).queries
    assert [query.marginal for query in found] == [(), ("column",), ("row", "column")]
    assert found[0].where == {"row": ("a", "b"), "column": ("x",)}
    again = Strategy.recorded(public, found)
    assert again is not None
    assert again.queries == found
    for other in (
        found[::-1],
        (*found, found[0]),
        (found[0].model_copy(update={"where": {"row": ("b", "a"), "column": ("x",)}}),),
    ):
        with pytest.raises(SpecError, match="are not in their order, or some are there twice"):
            Strategy.recorded(public, other)
    fixed = WeightedQueryRecord(marginal=("row",), weight=Fraction(1))
    with pytest.raises(SpecError, match="is fixed by the invariants, and has no noise"):
        Strategy.recorded(public, (found[0], fixed, *found[1:]))
    with pytest.raises(SpecError, match="column has no level 'q'"):
        Strategy.recorded(public, (found[0].model_copy(update={"where": {"column": ("q",)}}),))


REFUSED = [
    ("two states", [{"marginal": ["column"]}], r"say nothing of row by column, so that noise there has"),
    ("two states", [{"marginal": ["row"]}], r"asks for nothing but what the invariants fix"),
    ("two states", [{"where": {"column": "x"}}], r"say nothing of some differences .* add the detailed"),
    ("two states", [{"marginal": ["colum", "row"]}], r"marginal names 'colum', .* did you mean 'column'"),
    ("two states", [{"marginal": ["row"], "level": "row"}], r"is no level of the geography: leave it out"),
    ("a geography", [{"marginal": [], "level": "stat"}], r"'stat' is no level of the geography: .*'state'"),
    ("two states", [{"where": {"column": "q"}}], r"where"),
    (
        "two states",
        [{"marginal": ["row", "column"]}, {"marginal": ["column", "row"], "weight": "2"}],
        r"asks for what one before it asks for: keep one",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("world", "queries", "said"), REFUSED)
def test_what_is_refused(world: str, queries: list[dict[str, Any]], said: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=said) as refused:
        strategy(public_of(world, tmp_path), *queries)
    assert str(refused.value).count(". ") == 0


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"marginal": ["row"], "weight": "0"}, r"weight is 0: give a positive number"),
        ({"marginal": ["row"], "weight": "-1"}, r"weight is -1: give a positive number"),
        ({"weight": "1"}, r"asks for nothing: give it marginal, level, where or weights"),
        ({"weights": {"file": "w.csv"}, "marginal": ["row"]}, r"has weights beside marginal or where"),
        ({"marginal": ["row", "row"]}, r"names 'row' twice"),
        ({"margin": ["row"]}, r"unknown key 'margin'"),
    ],
)
def test_queries_that_make_no_sense(query: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        WeightedQuery(**query)


def test_only_the_l2_norm_is_weighted() -> None:
    with pytest.raises(SpecError, match=r'queries go with the l2 norm: set norm="l2", or leave them out'):
        MechanismChoice("lattice-laplace", queries=[{"marginal": ["row"]}])
    with pytest.raises(SpecError, match=r"queries is one table: write a list of them"):
        MechanismChoice("lattice-gaussian", queries={"marginal": ["row"]})


def county_spec(tmp_path: Path, queries: list[dict[str, Any]], **more: Any) -> Spec:
    """Tracts of unequal counties by sex: one to five tracts in each of 12 counties."""
    rng, rows = np.random.default_rng(4), []
    for county in range(12):
        for tract in range(1 + county % 5):
            rows += [f"c{county:02},c{county:02}t{tract},{sex},{rng.integers(1, 30)}" for sex in "fm"]
    (tmp_path / "data.csv").write_text("county,tract,sex,n\n" + "\n".join(rows) + "\n")
    data = {"path": "data.csv", "cells": ["county", "tract", "sex"], "count": "n", **more}
    return Spec.of(
        {
            "data": data,
            "invariants": [{"margin": ["county"]}],
            "privacy": {"standard": "zcdp", "rho": "1/8"},
            "mechanism": {"name": "lattice-gaussian", "queries": queries},
        },
        folder=tmp_path,
    )


def test_attributes_that_lie_in_each_other_are_drawn_by_halves(tmp_path: Path) -> None:
    queries: list[dict[str, Any]] = [
        {"marginal": ["tract", "sex"]},
        {"marginal": ["county", "sex"], "weight": "4"},
        {"marginal": ["sex"], "weight": "4"},
    ]
    ready = prepare(county_spec(tmp_path, queries, within={"tract": "county"}))
    mechanism = ready.table.mechanism
    assert "weighted margins, by halving every axis" in mechanism.methods[0].words
    assert mechanism.guarantee.intensity == GaussianNoise.of(Fraction(1, 8))
    assert mechanism.noise is not None
    assert mechanism.form is not None
    draws = mechanism.noise.sample(SeededEntropy(8), 3000)
    matrix = ready.public.universe.matrix
    assert not (matrix @ draws.T).any()
    # the covariance of the best linear estimate of measurements, by dense algebra
    rows = mechanism.form.rows.toarray().astype(np.float64)
    inner = rows.T @ (rows * np.array([float(c) for c in mechanism.form.strengths])[:, None])
    kernel = np.linalg.svd(matrix.toarray())[2][matrix.shape[0] :].T
    wanted = (
        float(mechanism.parameters["sigma_squared"])
        * kernel
        @ np.linalg.inv(kernel.T @ inner @ kernel)
        @ kernel.T
    )
    for part, _ in mechanism.form.parts:
        sums = np.asarray(part @ draws.T, dtype=np.float64)
        assert (sums**2).mean() == pytest.approx(np.diagonal(part @ wanted @ part.T).mean(), rel=0.1)


def test_a_selection_of_a_large_table_is_refused_in_one_sentence(tmp_path: Path) -> None:
    levels = {"row": "abcdefghijklmnopqrstuvwxyz", "column": "abcdefghijklmnopqrstuvwxyz", "k": "xyz"}
    world = World(levels, (1,) * (26 * 26 * 3), ({"total": True},))
    with pytest.raises(SamplingError, match=r"drawn for 1,500 cells at most, and this table has 2,028: ask"):
        strategy(public_of(world, tmp_path), {"where": {"k": "x"}}, {"marginal": ["row", "column", "k"]})


@pytest.fixture
def weighted(tmp_path: Path) -> LatticeGaussian:
    case = Case("two states", {"standard": "zcdp", "rho": "1/4"}, {"queries": [
        {"marginal": ["column"], "weight": "3"}, {"marginal": ["row", "column"]}
    ]})  # fmt: skip
    mechanism = Subject.of(case, LatticeGaussian, tmp_path).mechanism
    assert isinstance(mechanism, LatticeGaussian)
    return mechanism


def test_intervals_are_those_of_its_law(weighted: LatticeGaussian) -> None:
    """They cover with the level: over all noise, by the enumerated law."""
    matrix, released = weighted.premises.universe.matrix, np.array([2, 1, 0, 2])
    asked = csr_array(np.array([[1, 0, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0]]))
    found = intervals(released, weighted.noise, matrix, asked, 0.9, seed=1)
    steps = np.arange(-60, 61)
    points = np.array([[a, -a, b, -b] for a in steps for b in steps])
    share = np.exp(weighted.noise.log_prob(points))
    share /= share.sum()
    for row, half, fixed in zip(asked.toarray(), found.half_width, found.determined, strict=True):
        covered = share[np.abs(points @ row) <= half].sum()
        assert covered >= 0.89
        if not fixed:
            assert share[np.abs(points @ row) <= half - 1].sum() < 0.905
    assert found.determined.tolist() == [False, False, True]


def test_a_posterior_takes_its_law_as_noisy_sums(weighted: LatticeGaussian) -> None:
    released = np.array([2, 1, 0, 2])
    likelihood = weighted.likelihood(released)
    assert isinstance(likelihood, NoisySums)
    tables = np.array([[2, 1, 0, 2], [3, 0, 1, 1], [1, 2, 2, 0]])
    assert np.allclose(likelihood.log_prob(tables), weighted.noise.log_prob(released - tables))
    assert AddedNoise(weighted.noise, released, np.arange(4)).form is None


def test_its_loss_is_known_at_every_distance(weighted: LatticeGaussian) -> None:
    profile, universe = weighted.guarantee.profile, weighted.premises.universe
    assert isinstance(profile, FormLoss)
    assert profile_of(profile.to_dict()) == profile
    assert weighted.form is not None
    for distance in (1, 2, 3):
        space = sensitivity(universe, distance)
        stated = profile.at(distance, space)
        assert isinstance(stated, ZeroConcentrated)
        moves = np.array(
            [[a, -a, b, -b] for a in range(-3, 4) for b in range(-3, 4) if abs(a) + abs(b) <= distance]
        )
        assert weighted.form.largest(moves) / (2 * weighted.sigma_squared) == stated.rho
    assert profile.per_record(Fraction(2), longest=1) == profile.at(1, sensitivity(universe, 1))
    other = FormLoss("pure", Fraction(4), Fraction(1))
    assert other.at(1, Sensitivity(4, 8, 2, exact=True)) == Pure(Fraction(2))
    assert other.at(3, Sensitivity(4, 9, 3, exact=True)) == Pure(Fraction(3))
    assert profile_of(other.to_dict()) == other


def test_strata_compose(weighted: LatticeGaussian) -> None:
    together = parallel([weighted.guarantee, weighted.guarantee])
    assert together.intensity == weighted.guarantee.intensity


def test_a_table_is_processed_in_the_norm_of_its_noise(tmp_path: Path) -> None:
    release = released("lattice-gaussian, weighted").write(tmp_path / "release")
    processed = postprocess(release, "nonnegative-weighted", tmp_path / "tidy", bias_draws=10)
    assert (processed.table.values >= 0).all()
    assert verify(tmp_path / "tidy", release=release).kept
    plain = postprocess(release, "nonnegative-l2", tmp_path / "plain", bias_draws=0)
    published = processed.published
    form = mechanism_of(published.certificate, published.public).form
    assert form is not None

    def far(table: np.ndarray[Any, np.dtype[np.float64]]) -> float:
        moved = table - published.table.counts
        return float(moved @ form.gram() @ moved)

    assert far(processed.table.values) <= far(plain.table.values) + 1e-4


def test_a_ledger_asks_for_its_loss_at_other_distances(tmp_path: Path) -> None:
    """Rows kept in one release and columns in another: one person's change takes three records of both."""
    ledger = Ledger.create(tmp_path / "account.ledger", standard="zcdp", budget=Fraction(1000))
    queries = [{"marginal": ["row", "column"]}, {"marginal": ["column"]}, {"marginal": ["row"]}]
    total = Fraction(0)
    for kept in ("row", "column"):
        world = World({"row": "abc", "column": "xyz"}, (3, 1, 2, 2, 3, 1, 1, 2, 3), ({"margin": [kept]},))
        case = Case(world, {"standard": "zcdp", "rho": "1"}, {"queries": queries})
        ready = prepare(case.spec(LatticeGaussian, tmp_path))
        ready.release(SeededEntropy(1), ledger=ledger, accept_no_protection=True)
        profile = ready.table.mechanism.guarantee.profile
        assert isinstance(profile, FormLoss)
        total += min(profile.record * 9, profile.largest * 6)  # 3 records, ||u||^2 = 6 with both kept
    assert ledger.spent() == total


def test_worlds_are_those_that_are_known() -> None:
    assert set(ASKED) <= set(WORLDS)
