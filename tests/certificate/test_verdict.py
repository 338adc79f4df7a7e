"""What epsilon means: the numbers against Bayes and the best guess, the words, and the warnings."""

import json
import re
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm
from tests.certificate.falsify import write
from tests.small_releases import released

from holdfast.certificate.model import Certificate
from holdfast.certificate.page import render
from holdfast.certificate.verdict import level_of, rightly_guessed
from holdfast.certificate.warnings import UNREADABLE, WORDS, warnings_of
from holdfast.privacy.guarantee import promise, times
from holdfast.privacy.intensity import Approximate, GaussianDP, Pure, ZeroConcentrated
from holdfast.privacy.posterior import posterior_distance
from holdfast.releases.prepare import prepare
from holdfast.spec.model import Spec
from holdfast.verification.verify import verify

TABLE = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "v"] * 2, "n": [3, 4, 5, 6]})


def certified(*, invariants: list[dict[str, Any]] | None = None, **keys: Any) -> Certificate:
    """Return the certificate of a small table, by keys of [privacy] or of [mechanism]."""
    mechanism = keys.pop("mechanism", {})
    asked = {
        "data": {"cells": ["a", "b"], "count": "n"},
        "invariants": [{"total": True}] if invariants is None else invariants,
        "privacy": keys,
        "mechanism": mechanism,
    }
    return prepare(Spec.of(asked), TABLE).table.certify(secure=False)


def right_at_best(one: Any, other: Any) -> float:
    """Return how often the best guess between two laws is right, from even odds."""
    return float(np.maximum(one, other).sum() / 2)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_randomised_response_attains_the_pure_bound(epsilon: str) -> None:
    truth = exp(float(Fraction(epsilon)))
    one, other = np.array([truth, 1]) / (1 + truth), np.array([1, truth]) / (1 + truth)
    assert rightly_guessed(Pure(Fraction(epsilon))) == pytest.approx(right_at_best(one, other))
    delta = 0.05  # which of two is true is told outright with probability delta
    pairs = [np.array([delta, 0, *((1 - delta) * one)]), np.array([0, delta, *((1 - delta) * other)])]
    found = rightly_guessed(Approximate(Fraction(epsilon), Fraction(1, 20)))
    assert found == pytest.approx(right_at_best(*pairs))


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_normal_noise_attains_the_gaussian_bound_and_keeps_to_that_of_rho(mu: float) -> None:
    x = np.linspace(-30, 30 + mu, 60_001)
    attained = right_at_best(norm.pdf(x), norm.pdf(x - mu)) * float(x[1] - x[0])
    assert rightly_guessed(GaussianDP(Fraction(mu))) == pytest.approx(attained, abs=1e-6)
    bound = rightly_guessed(ZeroConcentrated(Fraction(mu) ** 2 / 2))
    assert attained <= bound <= (1 + sqrt(mu**2 / 4)) / 2 + 1e-12


def test_levels_are_those_of_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "epsilon.md").read_text(encoding="utf-8")
    for right, level in ((0.75, "strong"), (0.9, "moderate"), (0.99, "weak"), (0.991, "none")):
        assert level_of(right, right) == level
        assert f"| {level} |" in guide


@pytest.mark.parametrize("mu", ["1/20", "2/5", "1"])
def test_nobody_becomes_surer_than_is_said_but_for_what_is_said(mu: str) -> None:
    """The loss of normal noise is N(mu^2 / 2, mu^2), so that the chance to become surer is known."""
    both = [{"margin": ["a"]}, {"margin": ["b"]}]
    verdict = certified(
        standard="gaussian", mu=mu, mechanism={"name": "noisy-count"}, invariants=both
    ).verdict
    assert verdict is not None
    at, size = np.log(verdict.sure / (1 - verdict.sure)), float(Fraction(mu))
    assert norm.sf(at, size**2 / 2, size) <= 1e-9
    assert norm.sf(at - 0.2, size**2 / 2, size) > 1e-10
    assert "but for a probability of 1e-09" in verdict.meaning.words


@pytest.mark.parametrize("rho", ["1/1000", "1/80", "1/20", "1/10", "1/2", "3"])
def test_no_good_word_stands_beside_a_bad_number(rho: str) -> None:
    verdict = certified(standard="zcdp", rho=rho, mechanism={"name": "lattice-gaussian"}).verdict
    assert verdict is not None
    said = [float(share) for share in re.findall(r"([\d.]+) % sure", verdict.meaning.words)] or [100.0]
    limit = {"strong": 75.0, "moderate": 90.0, "weak": 100.0}[verdict.level]
    assert max(said) <= limit
    assert verdict.level == level_of(verdict.right, verdict.sure)


def test_an_epsilon_of_zero_changes_nothing() -> None:
    assert times(Fraction(0)) == "1"
    assert times(Fraction(1, 10**9)) == "1.000000002"
    assert promise(Pure(Fraction(0))) == "every release is exactly as likely under one as under the other."


def test_the_words_say_how_sure_one_can_become() -> None:
    verdict = certified(epsilon="1").verdict
    assert verdict is not None
    assert (verdict.level, verdict.right, verdict.warnings) == ("strong", 0.7311, ())
    assert "50 %, can become at most 73.2 % sure of one of them" in verdict.meaning.words
    assert float(posterior_distance(1.0).tight) <= 0.463
    assert "is within 46.3 percentage points of what it would be with other data" in verdict.meaning.words
    apart = certified(epsilon="1", adjacency="unit").verdict  # of a record: other data may take more of them
    assert apart is not None
    assert "percentage points" not in apart.meaning.words
    zcdp = certified(standard="zcdp", rho="1/8", mechanism={"name": "lattice-gaussian"}).verdict
    assert zcdp is not None
    assert "right with a probability of at most 60 %" in zcdp.meaning.words
    assert zcdp.meaning.words.endswith("but for a probability of 1e-09.")


@pytest.mark.parametrize(
    "keys",
    [
        {"epsilon": "1000"},
        {"mechanism": {"epsilon_per_unit": "1000000"}},
        {"epsilon": "1000", "mechanism": {"norm": "l2"}},
        {"epsilon": "1000", "invariants": [{"margin": ["a"]}, {"margin": ["b"]}]},
        {"epsilon": "1000", "invariants": []},
    ],
)
def test_noise_that_changes_nothing_is_called_so(keys: dict[str, Any]) -> None:
    certificate = certified(**keys)
    verdict = certificate.verdict
    assert verdict is not None
    assert verdict.level == "none"
    assert verdict.unchanged is not None
    assert verdict.unchanged.everything.low > 0.999
    assert "hardly changes anything" in verdict.warnings[0].words
    assert "all but certain" in verdict.meaning.words
    page = render(certificate)
    assert "noise that protects" not in page
    assert "too little to protect the people behind" in page
    assert "This noise protects hardly anyone" in page


def test_ordinary_noise_is_not_warned_of() -> None:
    page = render(certified(epsilon="1"))
    assert "noise that protects the people" in page
    assert "with one of" not in page
    assert "hardly" not in page


@pytest.mark.parametrize(
    "kind", ["lattice-laplace", "lattice-laplace, nothing kept", "conditioned", "household"]
)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("level", "moderate"),
        ("right", 0.5),
        ("meaning", {"id": "next-to-nothing", "parameters": {}}),
        ("warnings", [{"id": "next-to-nothing", "parameters": {}}]),
        ("unchanged", None),
    ],
)
def test_a_better_verdict_is_found(kind: str, field: str, value: Any, tmp_path: Path) -> None:
    folder = released(kind).write(tmp_path / "release")
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    before = content["verdict"][field]
    content["verdict"][field] = value
    write(folder, content, page=True)
    wrong = [check.name for check in verify(folder).checks if not check.holds]
    assert wrong == ([] if before == value else ["verdict"])


def test_no_warning_is_lost_because_it_cannot_be_read() -> None:
    """Every warning of a verdict has words that load nothing, and another one is told all the same."""
    assert {"hardly-changed", "next-to-nothing"} == set(WORDS)
    content = {"randomness": {"secure": True}, "verdict": {"warnings": [{"id": "another", "parameters": {}}]}}
    assert warnings_of(content) == (UNREADABLE,)
