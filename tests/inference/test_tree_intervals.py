"""Intervals cover with their level at least, by exact summation and over many runs, and hardly with more."""

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.mechanisms.topdown.small import LEVELS, spec

from holdfast.estimation.hierarchy.coefficients import EstimateTree
from holdfast.estimation.hierarchy.variances import NodeWeights, variances
from holdfast.inference.node_intervals import laws_of
from holdfast.inference.noise_sums import SMOOTH, SPENT
from holdfast.inference.tree_intervals import NodeLaws
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.topdown.best_linear import MeasuredNodes, best_linear
from holdfast.mechanisms.topdown.measurements import Measurement
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import SpecError

HALF, USUAL = Fraction(1, 2), Fraction(9, 10)


def small(folder: Path, privacy: dict[str, str], kept: str | None) -> TopDown:
    """Return a tree of a root, two nodes and three leaves with one count each."""
    (folder / "three.csv").write_text("place,people\n11,3\n12,4\n23,5\n")
    asked: dict[str, Any] = {
        "data": {
            "path": "three.csv",
            "cells": [],
            "count": "people",
            "geography": {"column": "place", "prefixes": {"all": 0, "part": 1, "place": 2}},
        },
        "privacy": {"adjacency": "unit", **privacy},
        "mechanism": {"name": "topdown", "allocation": {"all": "1/5", "part": "2/5", "place": "2/5"}},
    }
    if kept is not None:
        asked["invariants"] = [{"total": True, "level": kept}]
        asked["mechanism"]["allocation"] = {"all": "0", "part": "1/2", "place": "1/2"}
    mechanism = prepare(Spec.of(asked, folder=folder)).mechanism
    assert isinstance(mechanism, TopDown)
    return mechanism


def responses(
    mechanism: TopDown, levels: tuple[str, ...], queries: FloatArray
) -> dict[str, list[tuple[Measurement, FloatArray]]]:
    """Return by how much one more in each measurement moves the estimates of each level, nodes by queries."""
    sizes = mechanism.design.regions.sizes
    rows = [mechanism.design.queries[each.of.query].rows.shape[0] for each in mechanism.measurements]
    zero = tuple(
        np.zeros((sizes[each.of.level], number), dtype=np.int64)
        for each, number in zip(mechanism.measurements, rows, strict=True)
    )
    base = best_linear(mechanism, zero)
    found: dict[str, list[tuple[Measurement, FloatArray]]] = {level: [] for level in levels}
    for place, each in enumerate(mechanism.measurements):
        for at in np.ndindex(zero[place].shape):
            moved = [part.copy() for part in zero]
            moved[place][at] = 1
            there = best_linear(mechanism, tuple(moved))
            for level, some in found.items():
                some.append((each, (there.at(level) - base.at(level)) @ queries.T))
    return found


def laws(mechanism: TopDown) -> NodeLaws:
    sizes, design = mechanism.design.regions.sizes, mechanism.design
    zero = tuple(
        np.zeros((sizes[each.of.level], design.queries[each.of.query].rows.shape[0]), dtype=np.int64)
        for each in mechanism.measurements
    )
    return laws_of(MeasuredNodes.of(mechanism, zero))


def enumerated(noises: list[tuple[Measurement, float]]) -> tuple[FloatArray, FloatArray]:
    """Return the sizes of all errors, and their probabilities, by going through all noises.

    Errors that are the same to 9 digits are one, and those below 1e-12 are left out.
    """
    value: FloatArray = np.zeros(1)
    chance: FloatArray = np.ones(1)
    for each, size in noises:
        if abs(size) > 1e-12:
            z = np.arange(-400, 401)
            weight = np.exp(each.log_weight(z.astype(float)))
            weight /= weight.sum()
            z, weight = z[weight > 1e-12], weight[weight > 1e-12]
            sums = np.add.outer(value, size * z).round(9)
            value, which = np.unique(sums, return_inverse=True)
            chance = np.bincount(which.ravel(), np.multiply.outer(chance, weight).ravel()).astype(float)
            value, chance = value[chance > 1e-12], chance[chance > 1e-12]
    return np.abs(value), chance


@pytest.mark.parametrize("kept", [None, "all"])
@pytest.mark.parametrize(
    "privacy",
    [
        {"epsilon": "4"},
        {"epsilon": "8"},
        {"epsilon": "30"},
        {"standard": "zcdp", "rho": "1/2"},
        {"standard": "zcdp", "rho": "3"},
        {"standard": "zcdp", "rho": "20"},
    ],
)
def test_no_coverage_is_below_its_level_nor_far_above(
    tmp_path: Path, privacy: dict[str, str], kept: str | None
) -> None:
    """All errors are summed over all noises. Where it is exact no shorter interval covers as much; elsewhere
    one that is shorter by 2 d covers less than the level and what the bounds of errors take."""
    mechanism = small(tmp_path, privacy, kept)
    queries, each = np.ones((1, 1)), laws(mechanism)
    seen = set()
    for level, moved in responses(mechanism, ("all", "part", "place"), queries).items():
        for probability in (HALF, USUAL, Fraction(99, 100)):
            found = each.at(level, queries, probability)
            for node in range(len(found.estimate)):
                if found.determined[node, 0]:
                    assert found.half_width[node, 0] == 0
                    continue
                noises = [(one, float(by[node, 0])) for one, by in moved]
                error, chance = enumerated(noises)
                half, sigma = found.half_width[node, 0], float(np.sqrt(found.variance[node, 0]))
                assert chance[error <= half].sum() >= float(probability) - 1e-6
                exact = bool(found.exact[node, 0])
                seen.add(exact)
                less = half - (1e-5 if exact else 2 * SMOOTH + 1e-3) * sigma
                most = float(probability) + (0 if exact else SPENT * float(1 - probability)) + 1e-6
                assert chance[error <= less].sum() < most
    assert seen


def test_intervals_of_a_normal_law_would_cover_too_little(tmp_path: Path) -> None:
    """One narrow noise: rho 1/2 at the level 1/2 has its ends at 1, where a normal law has them inside."""
    asked = {"standard": "zcdp", "rho": "1/2", "adjacency": "unit"}
    (tmp_path / "one.csv").write_text("sex,people\nf,3\nm,4\n")
    told = {
        "data": {"path": "one.csv", "cells": ["sex"], "count": "people"},
        "privacy": asked,
        "mechanism": {"name": "topdown", "queries": [{"marginal": ["sex"]}]},
    }
    mechanism = prepare(Spec.of(told, folder=tmp_path)).mechanism
    assert isinstance(mechanism, TopDown)
    found = laws(mechanism).at("table", np.eye(2), HALF)
    assert found.exact.all()
    assert np.allclose(found.half_width, 1)
    assert (0.6745 * np.sqrt(found.variance) < 1).all()


PURE, CONCENTRATED = {"epsilon": "4"}, {"standard": "zcdp", "rho": "1/2"}


class Runs(NamedTuple):
    """A mechanism, its true counts by level, and what it estimates of them, one run a seed."""

    mechanism: TopDown
    truth: dict[str, IntArray]
    estimates: dict[str, FloatArray]


@pytest.fixture(scope="module", params=[PURE, CONCENTRATED], ids=["pure", "concentrated"])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    prepared, mechanism = ready(tmp_path_factory.mktemp("runs"), privacy=request.param)
    law = mechanism.law(prepared.counts)
    tables = mechanism.design.regions.sums(prepared.table.reading.table.counts)
    each = [best_linear(mechanism, law.measure(SeededEntropy(seed))) for seed in range(500)]
    estimates = {level: np.stack([one.at(level) for one in each]) for level in LEVELS}
    return Runs(mechanism, dict(zip(LEVELS, tables, strict=True)), estimates)


@pytest.mark.parametrize("probability", [HALF, USUAL])
def test_coverage_over_seeded_runs(runs: Runs, probability: Fraction) -> None:
    """Over 500 runs, all nodes and cells: a mean off by 4.5 of its standard errors is chance once in 1e5."""
    queries = np.vstack([np.eye(4), np.ones((1, 4))])
    for level, truth in runs.truth.items():
        found = laws(runs.mechanism).at(level, queries, probability)
        errors = np.abs((runs.estimates[level] - truth) @ queries.T)
        open_ = ~found.determined
        assert (errors[:, ~open_] < 1e-6).all()
        shares = (errors <= found.half_width)[:, open_].mean(axis=1)
        mean, off = float(shares.mean()), float(shares.std() / np.sqrt(len(shares)))
        assert mean >= float(probability) - 4.5 * off, level
        assert mean <= float(probability) + 0.02 + 4.5 * off, level


def ready(folder: Path, **more: Any) -> tuple[Prepared, TopDown]:
    prepared = prepare(spec(folder, **more))
    assert isinstance(prepared.mechanism, TopDown)
    return prepared, prepared.mechanism


@pytest.mark.parametrize("invariants", [[], [{"total": True, "level": "county"}]])
def test_coefficients_are_what_measurements_do(tmp_path: Path, invariants: list[dict[str, Any]]) -> None:
    _, mechanism = ready(tmp_path, invariants=invariants)
    each, queries = laws(mechanism), np.vstack([np.eye(4), np.ones((1, 4))])
    for level, moved in responses(mechanism, LEVELS[1:3], queries).items():
        variance = variances(each.estimates, level, queries)
        for node, negligible in product((0,), (0.0, 1e-3)):
            some = [query for query in range(5) if 0 < variance[node, query] < np.inf]
            part = NodeWeights(level, np.array([node]), queries[None][:, some])
            sums = each._sums(EstimateTree(each.estimates), [part], negligible)
            for query, one in zip(some, sums, strict=True):
                assert np.isclose(one.variance, variance[node, query], rtol=1e-7)
                if negligible == 0:
                    known = sorted(abs(float(by[node, query])) for _, by in moved)
                    listed = np.sort(np.repeat(one.size, one.times))
                    assert np.allclose(listed, known[len(known) - listed.size :], atol=1e-8)
                    assert max(known[: len(known) - listed.size], default=0) < 1e-7
                else:
                    assert one.rest <= 0.5 * one.variance
                    assert one.largest <= negligible * one.variance * (1 + 1e-9)


def test_subtrees_that_are_not_entered_leave_intervals_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, mechanism = ready(tmp_path)
    each, queries = laws(mechanism), np.eye(4)[:1]
    whole = each.at("block", queries, USUAL)
    monkeypatch.setattr("holdfast.inference.tree_intervals.SMALL", 0)
    monkeypatch.setattr("holdfast.inference.tree_intervals.NEGLIGIBLE", (1e-2, 1e-4, 0.0))
    parts = laws(mechanism).at("block", queries, USUAL)
    sigma = np.sqrt(whole.variance)
    assert (parts.half_width >= whole.half_width - 2 * SMOOTH * sigma).all()
    assert (parts.half_width <= whole.half_width + 2 * SMOOTH * sigma).all()


def test_unions_are_covered_too(runs: Runs) -> None:
    blocks = np.array([5, 13, 20])
    leaves = runs.truth["block"]
    truth = leaves[:4].sum() + leaves[blocks].sum()
    some = {"tract": np.array([0]), "block": blocks}
    half = laws(runs.mechanism).union(some, np.ones((1, 4)), USUAL).half_width[0]
    values = runs.estimates["tract"][:, 0].sum(axis=1) + runs.estimates["block"][:, blocks].sum(axis=(1, 2))
    assert 0.84 < np.mean(np.abs(values - truth) <= half) < 0.96  # 4.5 standard errors of 500 runs


def test_what_is_fixed_is_a_point_and_what_is_open_is_a_line(tmp_path: Path) -> None:
    _, mechanism = ready(tmp_path, mechanism={"name": "topdown", "queries": [{"marginal": ["age"]}]})
    county = laws(mechanism).at("county", np.vstack([np.ones((1, 4)), np.eye(4)[:1]]), USUAL)
    assert county.determined[:, 0].all()
    assert (county.low[:, 0] == county.high[:, 0]).all()
    assert np.isinf(county.half_width[:, 1]).all()


@pytest.mark.parametrize("level", [0, 1, 1.5])
def test_a_level_is_a_probability(tmp_path: Path, level: float) -> None:
    _, mechanism = ready(tmp_path)
    with pytest.raises(SpecError, match="give a probability between 0 and 1"):
        laws(mechanism).at("block", np.eye(4), Fraction(level))
