"""Measurements of a hierarchy have the enumerated posterior, at the leaves and at levels above."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.infer import infer
from holdfast.inference.posterior.model_spec import ModelSpec
from holdfast.inference.posterior.problem import Problem, problem_of
from holdfast.inference.posterior.table_constraints import TableConstraints, released_table
from holdfast.inference.posterior.whole_tables import importance, rejection
from holdfast.mechanisms.likelihood import NoisySums
from holdfast.mechanisms.topdown.measurements import MeasurementLaw
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.mechanisms.topdown.nodes import Nodes
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import ReleaseError, SamplingError, SpecError
from holdfast.testing.goodness import LEVEL, p_value

Tables = NDArray[np.int64]
ROWS = "state,county,tract,sex,n\nS,A,1,f,1\nS,A,1,m,1\nS,A,2,f,1\nS,B,3,f,2\nS,B,3,m,1\n"
GAUSSIAN = {"standard": "zcdp", "rho": "1/2", "adjacency": "unit"}
LAPLACE = {"epsilon": "2", "adjacency": "unit"}
TOTALS = [{"total": True, "level": "county"}]
BY_LEVEL = [{"total": True, "level": "tract"}, {"margin": ["sex"], "level": "state"}]
ZEROS = {"structural_zeros": [{"tract": "2", "sex": "m"}]}
BOUNDS = {
    "inequalities": [
        {"total": True, "level": "tract", "at_least": 1, "at_most": 4},
        {"where": {"sex": "f"}, "level": "county", "at_most": 3},
    ],
}
CASES: dict[str, dict[str, Any]] = {
    "totals of counties": {"invariants": TOTALS, "privacy": GAUSSIAN},
    "discrete Laplace": {"invariants": TOTALS, "privacy": LAPLACE},
    "invariants of two levels": {"invariants": BY_LEVEL, "privacy": GAUSSIAN},
    "bounds": {"invariants": [{"total": True}], "constraints": BOUNDS, "privacy": GAUSSIAN},
    "zeros": {"invariants": TOTALS, "constraints": ZEROS, "privacy": GAUSSIAN},
    "bounds and zeros": {
        "invariants": [{"total": True}],
        "constraints": {**BOUNDS, **ZEROS},
        "privacy": GAUSSIAN,
    },
}
RATES: dict[str, Any] = {
    "model": {"kind": "rates", "areas": ["county"], "by": ["sex"]},
    "prior": {"mean": 1.2, "shape": 0.8},
}


def prepared(name: str, folder: Path) -> Prepared:
    (folder / "data.csv").write_text(ROWS)
    data = {
        "path": "data.csv",
        "cells": ["sex"],
        "count": "n",
        "geography": {"columns": ["state", "county", "tract"]},
    }
    asked = {"data": data, "mechanism": {"name": "topdown"}, **CASES[name]}
    return prepare(Spec.of(asked, folder=folder))


def known(of: Prepared) -> Tables:
    """Return every table of the leaves that agrees with all that is public, cell by cell."""
    public = of.public
    every = np.array(list(product(range(7), repeat=6)), dtype=np.int64)
    kept = (every[:, ~public.schema.possible] == 0).all(axis=1)
    for held in public.invariants:
        kept &= (every @ held.block.matrix.T.toarray() == held.values).all(axis=1)
    for floor in public.inequalities:
        sums = every @ floor.block.matrix.T.toarray()
        kept &= (sums >= (floor.at_least or 0)).all(axis=1)
        kept &= (sums <= (10 if floor.at_most is None else floor.at_most)).all(axis=1)
    return np.asarray(every[kept])


def nodes_of(of: Prepared, level: str) -> Nodes:
    assert isinstance(of.mechanism, TopDown)
    return Nodes(of.public, of.mechanism, of.mechanism.design.regions.levels.index(level))


def released(name: str, level: str, folder: Path) -> tuple[Prepared, Problem]:
    of = prepared(name, folder)
    out = of.release(SeededEntropy(5)).write(folder / "out")
    model = ModelSpec.of({**RATES, "model": {**RATES["model"], "level": level}})
    return of, problem_of(model, released_table(out, level=level))


def enumerated(of: Prepared, problem: Problem, level: str, folder: Path) -> dict[tuple[int, ...], float]:
    """Return the posterior of the tables of a level by the mechanism's own law of the leaves."""
    nodes, mechanism = nodes_of(of, level), of.mechanism
    assert isinstance(mechanism, TopDown)
    frame = pl.read_parquet(folder / "out" / "measurements.parquet")
    places = {name: place for place, name in enumerate(mechanism.design.regions.levels)}
    above = np.array([places[name] <= nodes.place for name in frame["level"]])
    measurements = [each for each in mechanism.measurements if each.of.level <= nodes.place]
    found: dict[tuple[int, ...], float] = {}
    numbers = problem.model.medians()[None]
    for leaves in known(of):
        table = nodes.sums(leaves)[nodes.possible]
        law = MeasurementLaw(mechanism.design, measurements, leaves)
        told = law.log_prob(frame["value"].to_numpy()[None, above])[0]
        found[tuple(table.tolist())] = float(problem.model.log_prob(table[None], numbers)[0] + told)
    logs = np.array(list(found.values()))
    shares = np.exp(logs - logs.max())
    return dict(zip(found, (shares / shares.sum()).tolist(), strict=True))


def tables(problem: Problem, draws: int, seed: int) -> Tables:
    drawn = gibbs(problem, draws=draws, thin=8, warmup=50, seed=seed).tables.reshape(draws, -1)
    assert problem.constraints.hold(drawn).all()
    return np.asarray(drawn)


@pytest.mark.parametrize(
    ("name", "level"),
    # zeros of tracts with bounds of tracts say more of counties than their sums do
    [pair for pair in product(CASES, ["tract", "county"]) if pair != ("bounds and zeros", "county")],
)
def test_measurements_have_the_enumerated_posterior(name: str, level: str, tmp_path: Path) -> None:
    of, problem = released(name, level, tmp_path)
    assert isinstance(problem.likelihood, NoisySums)
    law = enumerated(of, problem, level, tmp_path)
    assert len(law) > 1
    assert p_value(tables(problem, 2000, 1), law) > LEVEL


def test_all_samplers_have_it(tmp_path: Path) -> None:
    of, problem = released("totals of counties", "tract", tmp_path)
    law = enumerated(of, problem, "tract", tmp_path)
    assert p_value(rejection(problem, draws=300, seed=2).tables[0], law) > LEVEL
    weighted = importance(problem, draws=8000, seed=3)
    assert weighted.log_weights is not None
    weights = np.exp(weighted.log_weights[0] - weighted.log_weights.max())
    mean = np.array(list(law.values())) @ np.array(list(law))
    error = np.sqrt(np.array(list(law.values())) @ (np.array(list(law)) - mean) ** 2)
    found = weights @ weighted.tables[0] / weights.sum()
    assert (np.abs(found - mean) < 4 * error / np.sqrt(weighted.statistics["effective_draws"])).all()


def test_a_level_left_out_is_noticed(tmp_path: Path) -> None:
    """Draws that ignore the measurements of the leaves have another law, and the test says so."""
    of, problem = released("totals of counties", "tract", tmp_path)
    law, told = enumerated(of, problem, "tract", tmp_path), problem.likelihood
    assert isinstance(told, NoisySums)
    above = np.flatnonzero(np.diff(told.queries.indptr) > 1)
    fewer = NoisySums(told.queries[above], told.values[above], told.norm, told.rates[above])
    other = Problem(problem.model, problem.constraints, fewer, problem.released)
    assert p_value(tables(other, 2000, 1), law) < LEVEL / 100


@pytest.mark.parametrize("name", CASES)
def test_facts_of_a_level_are_those_of_the_leaves_added_up(name: str, tmp_path: Path) -> None:
    of = prepared(name, tmp_path)
    leaves = known(of)
    public = TableConstraints.of_release(of.public)
    assert public.hold(leaves[:, of.public.possible]).all()
    for level in ("state", "county", "tract"):
        nodes = nodes_of(of, level)
        added = np.unique([nodes.sums(table)[nodes.possible] for table in leaves], axis=0)
        assert TableConstraints.of(*nodes.known).hold(added).all()
        every = TableConstraints.of(*nodes.known).tables(5000)
        assert every is not None
        if level == "tract":
            assert len(every) == len(added)  # nothing more than what is public
        assert nodes.levels == ("state", "county", "tract")[: nodes.place + 1]
        assert nodes.schema.names == (*nodes.levels, "sex")


def test_a_level_is_its_posterior_with_names_and_totals(tmp_path: Path) -> None:
    prepared("totals of counties", tmp_path).release(SeededEntropy(1)).write(tmp_path / "out")
    model = {**RATES, "model": {**RATES["model"], "level": "county"}, "sampler": {"draws": 400}}
    found = infer(tmp_path / "out", model, seed=1)
    count = next(one for one in found.quantities if one.name == "count")
    assert count.named.levels == (("S", "A", "f"), ("S", "A", "m"), ("S", "B", "f"), ("S", "B", "m"))
    assert (found.draws.tables.reshape(400, 2, 2).sum(axis=2) == 3).all()
    bounded = {"inequalities": [{"where": {"sex": "m"}, "level": "county", "at_least": 1}]}
    within = infer(tmp_path / "out", {**model, "constraints": bounded}, seed=1)
    assert (within.draws.tables.reshape(400, 2, 2)[..., 1] >= 1).all()


def test_levels_that_cannot_be_are_one_sentence(tmp_path: Path) -> None:
    case = {**CASES["totals of counties"], "mechanism": {"name": "topdown", "allocation": {"tract": "1"}}}
    case["mechanism"]["allocation"] |= {"state": "0", "county": "0"}
    (tmp_path / "data.csv").write_text(ROWS)
    data = {"path": "data.csv", "cells": ["sex"], "count": "n"}
    data["geography"] = {"columns": ["state", "county", "tract"]}  # type: ignore[assignment]
    out = prepare(Spec.of({"data": data, **case}, folder=tmp_path)).release(SeededEntropy(1))
    folder = out.write(tmp_path / "out")
    with pytest.raises(ReleaseError, match="nothing was measured at the level county or above"):
        infer(folder, {**RATES, "model": {**RATES["model"], "level": "county"}})
    with pytest.raises(SpecError, match="no level: did you mean 'county'"):
        infer(folder, {**RATES, "model": {**RATES["model"], "level": "conty"}})
    with pytest.raises(SamplingError, match='proposals="prior"'):
        infer(folder, {**RATES, "sampler": {"name": "importance", "proposals": "noise"}})
