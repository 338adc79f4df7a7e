"""From a spec to a mechanism: what each can meet, and what is refused in a sentence."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.calibration import CATALOGUE
from holdfast.certificate.verify import verify
from holdfast.errors import GuaranteeError, HoldfastError, SpecError
from holdfast.privacy.intensity import Approximate, Intensity, Pure, ZeroConcentrated
from holdfast.release import Prepared, prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.example import EXAMPLE_DATA, EXAMPLE_SPEC
from holdfast.spec.model import Spec

Prepare = Callable[..., Prepared]


@pytest.fixture
def prepared(tmp_path: Path) -> Prepare:
    (tmp_path / "children.csv").write_text(EXAMPLE_DATA, encoding="utf-8")
    (tmp_path / "holdfast.toml").write_text(EXAMPLE_SPEC, encoding="utf-8")
    spec = Spec.read(tmp_path / "holdfast.toml")

    def call(
        mechanism: dict[str, Any],
        privacy: dict[str, Any],
        *,
        nonnegative: bool = False,
        inequalities: tuple[dict[str, Any], ...] = (),
    ) -> Prepared:
        values = spec.model_dump(exclude={"folder"})
        values |= {"mechanism": mechanism, "privacy": privacy}
        values["constraints"] = {"nonnegative": nonnegative, "inequalities": inequalities}
        return prepare(Spec.of(values, folder=tmp_path))

    return call


ZCDP = {"standard": "zcdp", "rho": "1/2"}
PURE = {"epsilon": "1"}
SMALL = {"standard": "approximate", "epsilon": "1", "delta": "1e-9"}


@pytest.mark.parametrize(
    ("name", "privacy", "nonnegative", "intensity"),
    [
        ("lattice-laplace", PURE, False, Pure(Fraction(1))),
        ("k-norm", PURE, False, Pure(Fraction(1))),
        ("conditioned", PURE, False, Pure(Fraction(1))),
        ("lattice-gaussian", ZCDP, False, ZeroConcentrated(Fraction(1, 2))),
        ("conditioned", ZCDP, False, ZeroConcentrated(Fraction(1, 2))),
    ],
)
def test_a_release_has_the_strength_that_was_asked_for(
    prepared: Prepare, name: str, privacy: dict[str, Any], nonnegative: bool, intensity: Intensity
) -> None:
    ready = prepared({"name": name}, privacy, nonnegative=nonnegative)
    assert ready.mechanism.guarantee.intensity == intensity
    release = ready.release(SeededEntropy(1))
    assert release.certificate.content["mechanism"]["name"] == name
    assert np.array_equal(ready.setting.universe.matrix @ release.table.counts, ready.setting.universe.values)


def test_an_approximate_target_is_met_by_zcdp(prepared: Prepare) -> None:
    guarantee = prepared({"name": "lattice-gaussian"}, SMALL).mechanism.guarantee
    rho = guarantee.intensity.parameters()["rho"]
    assert Fraction(149, 10_000) < rho < Fraction(15, 1000)  # what implies (1, 1e-9)


def test_no_count_is_negative_where_that_is_asked_for(prepared: Prepare) -> None:
    ready = prepared({"name": "conditioned"}, PURE, nonnegative=True)
    assert ready.mechanism.noise is None
    assert ready.accuracy is None
    assert (ready.sample(200, SeededEntropy(1)) >= 0).all()


LOW = {"where": {"county": ["Alpha", "Beta"], "education": "Low"}, "at_least": 30}
"""The confidential table has 35 there."""


def test_inequalities_are_kept_and_paid_for(prepared: Prepare) -> None:
    ready = prepared({"name": "conditioned"}, PURE, nonnegative=True, inequalities=(LOW,))
    counts = ready.sample(100, SeededEntropy(1)).reshape(-1, 4, 4)
    assert (counts[:, :2, 0].sum(axis=1) >= 30).all()
    assert (counts >= 0).all()
    guarantee = ready.mechanism.guarantee
    assert guarantee.intensity == Pure(Fraction(1))
    assert any("gamma = 1" in item.claim for item in guarantee.evidence)  # too many tables to list


@pytest.mark.parametrize(
    ("mechanism", "inequality", "said"),
    [
        ("lattice-laplace", LOW, "conditioned alone"),
        ("conditioned", {"where": {"county": "Omega"}, "at_least": 1}, "inequalities"),
        ("conditioned", {"where": {"region": "Alpha"}, "at_least": 1}, "not among the cells"),
        ("conditioned", {"total": True, "at_least": 1, "equals": 5}, "equals"),
        ("conditioned", {"total": True}, "at_least"),
        ("conditioned", {"at_least": 1}, "says nothing"),
    ],
)
def test_wrong_inequalities_are_refused(
    prepared: Prepare, mechanism: str, inequality: dict[str, Any], said: str
) -> None:
    with pytest.raises(HoldfastError, match=said) as refused:
        prepared({"name": mechanism}, PURE, inequalities=(inequality,))
    assert "\n" not in str(refused.value)


def test_a_negative_count_is_found_where_none_may_be(prepared: Prepare, tmp_path: Path) -> None:
    ready = prepared({"name": "conditioned"}, PURE, nonnegative=True)
    folder = ready.release(SeededEntropy(1)).write(tmp_path / "release")
    assert any(check.name == "counts at least 0" and check.holds for check in verify(folder).checks)
    table = folder / "table.csv"
    first, second = (int(line.rsplit(",", 1)[1]) for line in table.read_text().splitlines()[1:3])
    changed = table.read_text().replace(f"Low,{first}\n", f"Low,{first + second + 1}\n", 1)
    table.write_text(changed.replace(f"Medium,{second}\n", "Medium,-1\n", 1))
    assert [c.name for c in verify(folder).checks if not c.holds and "0" in c.name] == ["counts at least 0"]


def test_a_chain_is_never_pure(prepared: Prepare) -> None:
    privacy = {"standard": "approximate", "epsilon": "1", "delta": "1/10"}
    ready = prepared({"name": "conditioned", "chain": True}, privacy, nonnegative=True)
    guarantee = ready.mechanism.guarantee
    assert isinstance(guarantee.intensity, Approximate)
    assert 0 < guarantee.intensity.delta <= Fraction(1, 10)
    assert {item.kind for item in guarantee.evidence} == {"proved", "estimated", "assumed"}
    assert (ready.sample(5, SeededEntropy(1)) >= 0).all()


def test_real_noise_is_for_studies(prepared: Prepare) -> None:
    ready = prepared({"name": "projected-gaussian"}, ZCDP)
    sample = ready.sample(3, SeededEntropy(1))
    assert np.allclose(ready.setting.universe.matrix @ sample.T, ready.setting.universe.values[:, None])
    evidence = ready.certify(secure=False).content["guarantee"]["evidence"]
    assert any(item["kind"] == "assumed" and "float" in item["claim"] + item["reason"] for item in evidence)
    with pytest.raises(GuaranteeError, match="lattice-gaussian"):
        ready.release(SeededEntropy(1))


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], bool, str]] = {
    "an unknown name": ({"name": "k-nrom"}, PURE, False, "did you mean 'k-norm'"),
    "a standard it does not meet": ({"name": "k-norm"}, ZCDP, False, 'standard = "pure"'),
    "negative counts": ({"name": "k-norm"}, PURE, True, "'conditioned'"),
    "a base of another": ({"name": "k-norm", "base": "double-geometric"}, PURE, False, "base belongs to"),
    "moves without a chain": ({"name": "conditioned", "moves": "m.txt"}, PURE, True, "chain = true"),
    "a pure chain": ({"name": "conditioned", "chain": True}, PURE, True, "approximate"),
    "no truncated Gaussian": ({"name": "conditioned"}, ZCDP, True, "negative"),
    "per unit of another": ({"name": "k-norm", "epsilon_per_unit": "1"}, PURE, False, "belongs to"),
    "k-norm per record": ({"name": "k-norm"}, {**PURE, "adjacency": "unit"}, False, "semi"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_met_is_refused_in_a_sentence(prepared: Prepare, case: str) -> None:
    mechanism, privacy, nonnegative, said = REFUSED[case]
    with pytest.raises(HoldfastError, match=said) as refused:
        prepared(mechanism, privacy, nonnegative=nonnegative)
    assert "\n" not in str(refused.value)


def test_every_mechanism_of_the_catalogue_says_what_it_meets() -> None:
    assert all(entry.standards for entry in CATALOGUE.values())
    assert [name for name, entry in CATALOGUE.items() if entry.real] == ["projected-gaussian"]
    with pytest.raises(SpecError):
        Spec.of({"data": {"path": "x.csv", "cells": ["a"]}})
