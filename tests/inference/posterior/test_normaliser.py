"""Normalisers are sums over all releases, and chains that are corrected for them have the posterior."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from tests.inference.posterior.small import posterior

from holdfast.certificate.public import mechanism_of, public_of
from holdfast.certificate.read import read_certificate
from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.model_spec import ModelSpec
from holdfast.inference.posterior.problem import Problem, problem_of
from holdfast.inference.posterior.table_constraints import released_table
from holdfast.inference.posterior.walking import Correcting
from holdfast.inference.posterior.whole_tables import importance, rejection
from holdfast.mechanisms.truncation.laws import ListedReleases, WeightedTotals, WithinBounds
from holdfast.mechanisms.truncation.totals import Normaliser, Power, TotalNormaliser
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, Point, p_value

NONE = np.zeros(4, dtype=np.int64)


def summed(
    total: int,
    pseudo: NDArray[np.float64],
    rate: float,
    power: int,
    low: NDArray[np.int64],
    x: NDArray[np.int64],
) -> float:
    every = np.array([y for y in product(range(total + 1), repeat=x.size) if sum(y) == total])
    every = every[(every >= low).all(axis=1)]
    logs = (gammaln(every + pseudo) - gammaln(every + 1.0)).sum(axis=1)
    return float(logsumexp(logs - rate * (np.abs(every - x) ** power).sum(axis=1)))


@pytest.mark.parametrize("low", [NONE, np.array([2, 0, 1, 0])])
@pytest.mark.parametrize("pseudo", [(1, 1, 1, 1), (0.3, 2, 5, 0.7), (10, 40, 5, 30)])
@pytest.mark.parametrize(("power", "rate"), [(1, 0.4), (1, 0.02), (2, 0.2), (2, 3.0)])
def test_a_coefficient_is_the_sum(
    power: Power, rate: float, pseudo: tuple[float, ...], low: NDArray[np.int64]
) -> None:
    generator, weights = np.random.default_rng(1), np.array(pseudo, dtype=np.float64)
    for total in (4, 13):
        centre = low + generator.multinomial(total - int(low.sum()), np.ones(4) / 4)
        found = TotalNormaliser(total, weights, rate, power, low, centre)
        for _ in range(3):
            x = low + generator.multinomial(total - int(low.sum()), np.ones(4) / 4)
            assert found.log(x) == pytest.approx(summed(total, weights, rate, power, low, x), abs=1e-9)


def test_totals_multiply() -> None:
    total_of, x = np.array([0, 1, 0, 1]), np.array([2, 4, 1, 3])
    pseudo = np.array([0.5, 2.0, 1.0, 3.0])
    whole = Normaliser.of(total_of, np.array([3, 7]), NONE, x, pseudo, rate=0.5, power=1)
    parts = [summed(3, pseudo[[0, 2]], 0.5, 1, NONE[:2], x[[0, 2]])]
    parts.append(summed(7, pseudo[[1, 3]], 0.5, 1, NONE[:2], x[[1, 3]]))
    assert whole.log(x) == pytest.approx(sum(parts), abs=1e-9)


def test_large_totals_do_not_depend_on_the_plan() -> None:
    """Another slope and twice the points give the same, for 67 counties under a strong prior."""
    generator = np.random.default_rng(2)
    share = generator.dirichlet(np.ones(67))
    pseudo, x = 0.5 + 60_000 * share, generator.multinomial(60_000, share)
    low = np.zeros(67, dtype=np.int64)
    one = TotalNormaliser(60_000, pseudo, 0.1, 1, low, x)
    other = TotalNormaliser(60_000, pseudo, 0.1, 1, low, x)
    slope, points = one._plan
    object.__setattr__(other, "_plan", (slope + 0.01, 2 * points))
    assert one.log(x) == pytest.approx(other.log(x), abs=1e-6)


@pytest.mark.parametrize("seed", range(24))
def test_past_counts_that_contradict_the_table(seed: int) -> None:
    """Coefficients far below the largest terms, against sums of logarithms in which nothing cancels."""
    generator = np.random.default_rng(seed)
    cells, total = int(generator.integers(2, 5)), int(generator.choice([3, 60, 300]))
    pseudo = generator.choice([0.01, 0.5, 1.0, 50.0, 1e5], cells)
    rate, power = float(generator.choice([0.02, 0.5, 4.0])), int(generator.choice([1, 2]))
    centre, x = (generator.multinomial(total, generator.dirichlet(np.ones(cells) / 2)) for _ in range(2))
    counts, found = np.arange(total + 1), np.where(np.arange(total + 1) == 0, 0.0, -np.inf)
    for a, own in zip(pseudo, x, strict=True):
        terms = gammaln(counts + a) - gammaln(counts + 1.0) - rate * np.abs(counts - own) ** float(power)
        found = np.array([logsumexp(found[: n + 1] + terms[n::-1]) for n in counts])
    one = TotalNormaliser(total, pseudo, rate, power, np.zeros_like(x), centre)  # type: ignore[arg-type]
    assert one.log(x) == pytest.approx(found[-1], rel=1e-12, abs=1e-6)
    assert one._alone(x) == pytest.approx(found[-1], rel=1e-12, abs=1e-6)


def test_what_is_too_large_to_multiply_is_refused() -> None:
    low = np.zeros(2, dtype=np.int64)
    x = np.array([500_000, 9_500_000])
    with pytest.raises(SamplingError, match="past counts and release are so far apart"):
        TotalNormaliser(10_000_000, np.array([0.5, 1e7]), 2.0, 1, low, x)._alone(x)


def test_a_prior_that_contradicts_the_table_has_its_wide_posterior(tmp_path: Path) -> None:
    """Past counts outweigh the noise, so the release tells little: the posterior is much wider than it."""
    (tmp_path / "data.csv").write_text("level,n\na,200\nb,100\n")
    (tmp_path / "past.csv").write_text("level,n\na,0\nb,1000\n")
    asked = Spec.of(
        {
            "data": {"path": "data.csv", "cells": ["level"], "count": "n"},
            "invariants": [{"total": True}],
            "constraints": {"nonnegative": True},
            "privacy": {"epsilon": "4"},
            "mechanism": {"name": "wasserstein-exponential", "prior": "past.csv"},
        },
        folder=tmp_path,
    )
    out = prepare(asked).release(SeededEntropy(4)).write(tmp_path / "out")
    of = problem_of(ModelSpec.of({"model": {"kind": "counts"}}), released_table(out))
    assert isinstance(of.likelihood, WeightedTotals)
    every = np.stack([np.arange(301), 300 - np.arange(301)], axis=1)
    weights = gammaln(every + np.array([0.5, 1000.0])) - gammaln(every + 1.0)
    logs = weights.sum(axis=1) - np.abs(every[:, :1] - every[:, 0]) * 2 * of.likelihood.form.rate
    law = logs[np.arange(301), of.released[0]] - logsumexp(logs, axis=1)  # a flat prior on tables
    law = np.exp(law - logsumexp(law))
    mean = law @ every[:, 0]
    deviation = np.sqrt(law @ (every[:, 0] - mean) ** 2)
    assert deviation > 30
    drawn = gibbs(of, draws=2000, thin=2, warmup=200, seed=1).tables[..., 0]
    assert drawn.mean() == pytest.approx(mean, abs=0.2 * deviation)
    assert drawn.std() == pytest.approx(deviation, rel=0.15)


WASSERSTEIN = {"name": "wasserstein-exponential", "prior": "past.csv", "concentration": "1/2"}
RELEASES: dict[str, tuple[dict[str, Any], type]] = {
    "conditioned": ({"name": "conditioned"}, WeightedTotals),
    "prior, l1": (WASSERSTEIN, WeightedTotals),
    "prior, squared": ({**WASSERSTEIN, "loss": "squared"}, WeightedTotals),
    "prior, l2": ({**WASSERSTEIN, "loss": "l2"}, ListedReleases),
}


def made(name: str, folder: Path, epsilon: str = "1", **constraints: Any) -> Problem:
    (folder / "data.csv").write_text("level,n\na,4\nb,0\nc,2\nd,3\n")
    (folder / "past.csv").write_text("level,n\na,3\nb,1\nc,4\nd,0\n")
    asked = Spec.of(
        {
            "data": {"path": "data.csv", "cells": ["level"], "count": "n"},
            "invariants": [{"total": True}],
            "constraints": {"nonnegative": True, **constraints},
            "privacy": {"epsilon": "8" if name == "prior, squared" else epsilon},
            "mechanism": RELEASES[name][0],
        },
        folder=folder,
    )
    out = prepare(asked).release(SeededEntropy(3), accept_no_protection=True).write(folder / "out")
    model = {"model": {"kind": "rates", "areas": ["level"]}, "prior": {"mean": 2.0, "shape": 0.8}}
    return problem_of(ModelSpec.of(model), released_table(out))


Enumerated = Callable[[str], tuple[Problem, dict[Point, float]]]


@pytest.fixture(scope="module")
def enumerated(tmp_path_factory: pytest.TempPathFactory) -> Enumerated:
    """A problem by its name, with its posterior."""

    @cache
    def found(name: str) -> tuple[Problem, dict[Point, float]]:
        folder = tmp_path_factory.mktemp("normaliser")
        of = made(name, folder)
        return of, posterior(of, 9, listed_law(of, folder))

    return found


@pytest.mark.parametrize("name", RELEASES)
def test_samplers_have_the_enumerated_posterior(name: str, enumerated: Enumerated) -> None:
    """The law of each table is summed over all releases by the mechanism's own log probabilities."""
    of, law = enumerated(name)
    assert isinstance(of.likelihood, RELEASES[name][1])
    drawn = gibbs(of, draws=1200, thin=4, warmup=50, seed=1)
    assert of.constraints.hold(drawn.tables.reshape(1200, -1)).all()
    assert p_value(drawn.tables.reshape(1200, -1), law) > LEVEL
    assert p_value(rejection(of, draws=1000, seed=2).tables[0], law) > LEVEL
    weighted = importance(of, draws=1000, seed=3)
    assert weighted.statistics["effective_draws"] > 100


@pytest.mark.parametrize("name", ["conditioned", "prior, l1"])
def test_leaving_the_normaliser_out_is_noticed(name: str, enumerated: Enumerated) -> None:
    of, right = enumerated(name)
    assert isinstance(of.mover, Correcting)
    form = of.likelihood.form  # type: ignore[union-attr]
    assert form is not None
    wrong = posterior(of, 9, lambda x: -form.rate * np.abs(of.released - x).sum(axis=1).astype(np.float64))
    drawn = gibbs(of, draws=2400, thin=3, warmup=50, seed=4).tables.reshape(2400, -1)
    assert p_value(drawn, right) > LEVEL
    assert p_value(drawn, wrong) < LEVEL / 100


def test_floors_of_single_cells_are_lower_ends(tmp_path: Path) -> None:
    of = made("conditioned", tmp_path, inequalities=[{"where": {"level": "a"}, "at_least": 2}])
    assert isinstance(of.likelihood, WeightedTotals)
    assert of.likelihood.normaliser.parts[0].low.tolist() == [2, 0, 0, 0]
    drawn = gibbs(of, draws=1200, thin=4, warmup=50, seed=5).tables.reshape(1200, -1)
    assert (drawn[:, 0] >= 2).all()
    assert p_value(drawn, posterior(of, 9, listed_law(of, tmp_path))) > LEVEL


def test_sums_of_cells_are_bounded_another_way(tmp_path: Path) -> None:
    asked = [{"where": {"level": ["a", "b"]}, "at_least": 3}]
    of = made("conditioned", tmp_path, inequalities=asked)
    assert isinstance(of.likelihood, WithinBounds)
    assert of.likelihood.noise.epsilon > Fraction(0)


def test_bounds_that_noise_seldom_keeps_are_listed(tmp_path: Path) -> None:
    """A sum of cells is bounded, and noise is wide: all releases are summed, as by the law itself."""
    of = made(
        "conditioned", tmp_path, epsilon="1/8", inequalities=[{"where": {"level": ["a", "b"]}, "at_least": 3}]
    )
    assert isinstance(of.likelihood, ListedReleases)
    law = posterior(of, 9, of.likelihood.log_prob)
    tables = np.array(list(law))
    kept = np.array([y for y in product(range(10), repeat=4) if sum(y) == 9 and y[0] + y[1] >= 3])
    certificate = read_certificate(tmp_path / "out")
    rate = float(mechanism_of(certificate, public_of(certificate)).kappa)  # type: ignore[attr-defined]
    weights = -rate * np.abs(kept - tables[:, None]).sum(axis=2)
    own = -rate * np.abs(of.released - tables).sum(axis=1) - logsumexp(weights, axis=1)
    assert np.allclose(of.likelihood.log_prob(tables), own)
    assert (tables[:, 0] + tables[:, 1] >= 3).all()
    drawn = gibbs(of, draws=1000, thin=8, warmup=50, seed=6).tables.reshape(1000, -1)
    assert p_value(drawn, law) > LEVEL


def listed_law(of: Problem, folder: Path) -> Any:
    """Return log p(y | x) from the mechanism's own law of each table, summed over all releases."""
    certificate = read_certificate(folder / "out")
    mechanism = mechanism_of(certificate, public_of(certificate))
    every = np.array([y for y in product(range(10), repeat=4) if sum(y) == 9])
    return ListedReleases(
        lambda x, y: mechanism.law(x).log_prob(y), of.released, np.arange(4), every
    ).log_prob
