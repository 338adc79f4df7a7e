"""Estimates on small universes: what they lose and what they draw, against lists; and what they estimate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from tests.mechanisms.wasserstein.worlds import spent

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.wasserstein.gradient import KNormGradient
from holdfast.outputs import EstimateOutput
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import GuaranteeError, HoldfastError, SpecError
from holdfast.testing.goodness import LEVEL, p_value
from holdfast.universe.tables import conforming_tables
from holdfast.verification.verify import verify

Floats = NDArray[np.float64]
DRAWS = 8000
TOTAL, SEX = [{"total": True}], [{"margin": ["sex"]}]
CROSSING = [{"margin": ["sex"]}, {"margin": ["visits"]}]
EACH = {"epsilon": "1", "adjacency": "unit"}


@dataclass(frozen=True)
class Study:
    """A small file of people: sex, age (10 or 30) and visits (0, 1, 2), and what is estimated of them."""

    options: Mapping[str, Any]
    invariants: list[dict[str, Any]] = field(default_factory=lambda: SEX)
    privacy: Mapping[str, Any] = field(default_factory=lambda: {"epsilon": "2"})
    cells: tuple[str, ...] = ("sex", "visits")
    counts: tuple[int, ...] = (1, 1, 0, 0, 1, 1)

    def prepared(self, folder: Path, **changed: Any) -> Prepared:
        """Prepare its release."""
        levels = {"sex": ["f", "m"], "age": ["10", "30"], "visits": ["0", "1", "2"]}
        rows = [""]
        for name in self.cells:
            rows = [f"{row}{level}," for row in rows for level in levels[name]]
        lines = [f"{row}{count}" for row, count in zip(rows, self.counts, strict=True)]
        (folder / "people.csv").write_text("\n".join([",".join([*self.cells, "n"]), *lines]) + "\n")
        return prepare(
            Spec.of(
                {
                    "data": {
                        "path": "people.csv",
                        "cells": list(self.cells),
                        "count": "n",
                        "levels": {name: levels[name] for name in self.cells},
                    },
                    "invariants": self.invariants,
                    "privacy": {**self.privacy, **changed},
                    "mechanism": {"name": "wasserstein-k-norm-gradient", "steps": 12, **self.options},
                },
                folder=folder,
            )
        )


ALL = ("sex", "age", "visits")
SOME = (1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0)
LINEAR = {"estimate": "linear", "of": "visits", "on": ["age"], "steps": 6}
LOGISTIC = {"estimate": "logistic", "of": "sex", "on": ["visits"], "event": "f", "steps": 6, "bound": "2"}
STUDIES = {
    "mean": Study({"of": "visits"}),
    "mean, nothing kept": Study({"of": "visits"}, []),
    "mean, each": Study({"of": "visits"}, TOTAL, EACH),
    "mean of some": Study({"of": "visits", "where": {"sex": "f"}}, TOTAL),
    "mean of some, kept": Study({"of": "visits", "where": {"sex": "f"}}, SEX),
    "mean, farther": Study({"of": "visits"}, SEX, {"epsilon": "2", "distance": 3}),
    "quantile": Study({"estimate": "quantile", "of": "visits", "level": "1/3"}),
    "quantile, each": Study({"estimate": "quantile", "of": "visits"}, TOTAL, EACH),
    "quantile of some": Study({"estimate": "quantile", "of": "visits", "where": {"sex": "m"}}, TOTAL),
    "linear": Study(LINEAR, [{"margin": ["sex", "age"]}], cells=ALL, counts=SOME),
    "linear, total": Study(LINEAR, TOTAL, cells=("age", "visits")),
    "linear of some": Study({**LINEAR, "where": {"age": "10"}}, TOTAL, cells=("age", "visits")),
    "logistic": Study(LOGISTIC, [{"margin": ["visits"]}]),
    "logistic, crossing": Study(LOGISTIC, CROSSING, {"epsilon": "8"}),
    "logistic, each": Study(LOGISTIC, TOTAL, EACH),
}


def log_weights(mechanism: KNormGradient, table: IntArray, *, by: float = 1.0) -> Floats:
    """Write -kappa ||G|| / s down again for every point of the grid, from the definition."""
    score, model = mechanism.model.score, mechanism.model
    points = grid(mechanism)
    x = np.bincount(model.kind, weights=table, minlength=len(score.features))
    f = np.array([[float(value) for value in row] for row in score.features])
    r = np.array([float(value) for value in score.response])
    found = []
    for index in points:
        theta = score.grid.point(index)
        if mechanism.options.estimate == "quantile":
            level = float(mechanism.options.level or Fraction(1, 2))
            ends = [np.array([r_ < theta[0], r_ <= theta[0]]) - level for r_ in score.response]
            low, high = (f[:, 0] * np.array(ends)[:, side] for side in (0, 1))
            size = max(float(low @ x), -float(high @ x), 0.0)
            gs = [low[:, None], high[:, None]]
        else:
            values = f @ np.array([float(value) for value in theta])
            fitted = expit(values) if mechanism.options.estimate == "logistic" else values
            g = f * (fitted - r)[:, None]
            size, gs = float(np.abs(x @ g).max()), [g]
        s = max(float(np.ptp(g[members], axis=0).max()) for g in gs for members in score.sets)
        found.append(-by * float(mechanism.kappa) * size / max(s, float(model.least)))
    return np.array(found)


def grid(mechanism: KNormGradient) -> IntArray:
    """List the points of the grid."""
    sizes = mechanism.model.score.grid.sizes
    return np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), axis=-1).reshape(-1, len(sizes))


def ready(name: str, folder: Path, **changed: Any) -> tuple[KNormGradient, Prepared, IntArray]:
    """Prepare a study; and list the tables that may be compared with its own."""
    made = STUDIES[name].prepared(folder, **changed)
    assert isinstance(made.mechanism, KNormGradient)
    counts = made.table.reading.table.counts[made.public.possible]
    universe = made.public.universe
    if universe.total is not None:
        return made.mechanism, made, conforming_tables(universe, 2000)
    # nothing is kept: all tables with as many records
    total = int(counts.sum())
    every = np.stack(np.meshgrid(*[np.arange(total + 1)] * counts.size, indexing="ij"), axis=-1)
    tables = every.reshape(-1, counts.size)
    return made.mechanism, made, tables[tables.sum(axis=1) == total]


@pytest.mark.parametrize("name", STUDIES)
def test_no_pair_of_tables_loses_more_than_epsilon(name: str, tmp_path: Path) -> None:
    """On all points of the grid, for all pairs of tables that are compared; and draws are of that law."""
    mechanism, made, tables = ready(name, tmp_path)
    assert tables.shape[0] > 2
    tables = tables[:: max(1, tables.shape[0] // 150)]
    logs = np.stack([log_weights(mechanism, table) for table in tables])
    assert spent(mechanism.guarantee, tables, logs) <= 1 + 1e-9
    counts = made.table.reading.table.counts[made.public.possible]
    own, points = log_weights(mechanism, counts), grid(mechanism)
    law = mechanism.law(counts)
    assert np.allclose(law.boxes.log_prob(points), own, atol=1e-9, rtol=1e-9)
    drawn = law.boxes.sample(SeededEntropy(1), DRAWS)
    listed = list(map(tuple, points.tolist()))
    assert p_value(drawn, dict(zip(listed, np.exp(own - logsumexp(own)).tolist(), strict=True))) > LEVEL
    wrong = 2 * own
    other = dict(zip(listed, np.exp(wrong - logsumexp(wrong)).tolist(), strict=True))
    assert p_value(drawn, other) < LEVEL / 1000


def test_ten_percent_less_noise_loses_more_than_epsilon(tmp_path: Path) -> None:
    """On two points, one of which is unlikely, a record moves both exponents by kappa, against each other."""
    study = Study({"of": "visits", "steps": 1}, TOTAL, {"epsilon": "16"}, counts=(0, 0, 2, 0, 1, 1))
    made = study.prepared(tmp_path)
    mechanism = made.mechanism
    assert isinstance(mechanism, KNormGradient)
    tables = conforming_tables(made.public.universe, 200)
    logs, more = (np.stack([log_weights(mechanism, table, by=by) for table in tables]) for by in (1.0, 1.1))
    assert 0.99 < spent(mechanism.guarantee, tables, logs) <= 1
    assert spent(mechanism.guarantee, tables, more) > 1.05


def test_invariants_make_records_move_less(tmp_path: Path) -> None:
    """Ages kept by sex: a record changes its visits alone, so its pattern's range is s."""
    kept = Study(LINEAR, [{"margin": ["sex", "age"]}], cells=ALL, counts=SOME).prepared(tmp_path).mechanism
    free = Study(LINEAR, TOTAL, cells=ALL, counts=SOME).prepared(tmp_path).mechanism
    assert isinstance(kept, KNormGradient)
    assert isinstance(free, KNormGradient)
    assert kept.model.within
    assert not free.model.within or len(free.model.score.sets) == 1
    assert sorted(len(members) for members in kept.model.score.sets) == [3, 3]
    said = [claim.claim.words for claim in kept.guarantee.evidence]
    assert any("within its own pattern of invariants" in claim for claim in said)
    crossing = Study(LOGISTIC, CROSSING).prepared(tmp_path).mechanism
    assert any("from any kind to any other" in claim.claim.words for claim in crossing.guarantee.evidence)


@pytest.mark.parametrize("level", ["1/10", "1/2", "9/10"])
def test_quantiles_of_ties_are_levels(level: str, tmp_path: Path) -> None:
    """With many records and a large epsilon the quantile is that of the data, however many share it."""
    study = Study(
        {"estimate": "quantile", "of": "visits", "level": level},
        TOTAL,
        {"epsilon": "2"},
        counts=(100, 300, 100, 100, 300, 100),
    )
    made = study.prepared(tmp_path)
    drawn = made.mechanism.law(made.table.reading.table.counts).sample(SeededEntropy(2), 200)
    people = np.repeat([0, 1, 2], [200, 600, 200])
    truth = np.quantile(people, float(Fraction(level)), method="inverted_cdf")
    assert (drawn == truth).mean() > 0.99


def test_estimates_are_those_of_the_data_at_a_large_epsilon(tmp_path: Path) -> None:
    """Least squares and maximum likelihood, written down again; the intercept is at the middle age."""
    counts = (400, 300, 200, 100, 300, 500, 300, 350, 250, 200, 250, 450)
    age = np.tile(np.repeat([10.0, 30.0], 3), 2) - 20
    visits = np.tile([0.0, 1.0, 2.0], 4)
    design = np.stack([np.ones(12), age], axis=1)
    weights = np.array(counts, dtype=np.float64)
    truth = np.linalg.solve(design.T * weights @ design, design.T @ (weights * visits))
    study = Study({**LINEAR, "steps": 4096}, SEX, {"epsilon": "50"}, ALL, counts)
    made = study.prepared(tmp_path)
    drawn = made.mechanism.law(made.table.reading.table.counts).sample(SeededEntropy(3), 50)
    assert np.abs(drawn - truth).max() < 0.01
    (caveat,) = made.mechanism.caveats(made.public)
    assert "The intercept is that at age = 20, the middle of the levels." in caveat.words
    event = np.repeat([1.0, 0.0], 6)
    theta = np.zeros(2)
    for _ in range(30):
        p = expit(design @ theta)
        slopes = design.T * (weights * p * (1 - p)) @ design
        theta += np.linalg.solve(slopes, design.T @ (weights * (event - p)))
    options = {"estimate": "logistic", "of": "sex", "on": ["age"], "event": "f", "steps": 4096}
    made = Study(options, [{"margin": ["age"]}], {"epsilon": "50"}, ALL, counts).prepared(tmp_path)
    drawn = made.mechanism.law(made.table.reading.table.counts).sample(SeededEntropy(4), 50)
    assert np.abs(drawn - theta).max() < 0.02


def test_a_release_keeps_counts_and_verifies(tmp_path: Path) -> None:
    """One certificate: demographic counts that are exact, and coefficients that are private."""
    made = STUDIES["linear"].prepared(tmp_path)
    release = made.release(SeededEntropy(5), accept_no_protection=True)
    folder = release.write(tmp_path / "out")
    assert verify(folder).kept
    read = EstimateOutput.read(folder / "estimate.csv")
    assert read.names == ("intercept", "age")
    assert read == release.outputs["estimate"]
    assert (folder / "certificate.html").read_text().count("wasserstein-k-norm-gradient")
    (folder / "estimate.csv").write_text("estimate,value\nintercept,0.25\nage,7\n")
    assert not verify(folder).kept


REFUSED: dict[str, tuple[Study, str]] = {
    "an unknown estimate": (Study({"estimate": "mode", "of": "visits"}), "estimate"),
    "nothing to estimate": (Study({}), "of is missing"),
    "an attribute that is not there": (Study({"of": "visit"}), "'visit', which is no attribute"),
    "words": (Study({"of": "sex"}), "whose level 'f' is no number"),
    "no predictors": (Study({"estimate": "linear", "of": "visits"}), "no predictors"),
    "predictors of a mean": (Study({"of": "visits", "on": ["age"]}), "on does not go with"),
    "a level of 1": (Study({"estimate": "quantile", "of": "visits", "level": "1"}), "level is 1"),
    "low above high": (Study({"of": "visits", "low": "2", "high": "1"}), "low = 2 is not below high = 1"),
    "too many steps": (Study({"of": "visits", "steps": 1 << 21}), "from 1 to 1,048,576"),
    "no steps": (Study({"of": "visits", "steps": 0}), "from 1 to 1,048,576"),
    "three outcomes": (
        Study({"estimate": "logistic", "of": "visits", "on": ["sex"]}),
        "has 3 levels: a logistic regression takes two",
    ),
    "a response on itself": (Study({**LINEAR, "on": ["visits"]}), "name an attribute twice"),
    "a predictor twice": (Study({**LINEAR, "on": ["age", "age"]}), "name an attribute twice"),
    "too many predictors": (Study({**LOGISTIC, "on": ["a", "b", "c", "d"]}), "and 3 are the most that are"),
    "an unknown event": (Study({**LOGISTIC, "event": "x"}), "event = 'x' is no level of sex"),
    "an unknown place": (Study({"of": "visits", "where": {"place": "x"}}), "place"),
    "zcdp": (Study({"of": "visits"}, SEX, {"standard": "zcdp", "rho": "1"}), "pure"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    study, match = REFUSED[name]
    with pytest.raises(HoldfastError) as caught:
        study.prepared(tmp_path)
    assert match in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_follows_from_the_invariants_is_not_estimated(tmp_path: Path) -> None:
    with pytest.raises(GuaranteeError, match="it follows from what is published"):
        Study({"of": "visits"}, [{"margin": ["visits"]}]).prepared(tmp_path)
    (tmp_path / "one.csv").write_text("age,visits,n\n10,0,1\n10,1,2\n")
    spec = {
        "data": {"path": "one.csv", "cells": ["age", "visits"], "count": "n"},
        "invariants": TOTAL,
        "privacy": {"epsilon": "1"},
        "mechanism": {"name": "wasserstein-k-norm-gradient", **LINEAR},
    }
    with pytest.raises(SpecError, match="which has one level"):
        prepare(Spec.of(spec, folder=tmp_path))
