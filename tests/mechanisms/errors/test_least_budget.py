"""Budgets that follow from accuracy: met by the noise that they buy, and not by a tenth less."""

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.mechanisms.errors.test_laws import PURE, QUERIES, SIZES, ZCDP
from tests.mechanisms.topdown.small import spec as topdown_spec

import holdfast as hf
from holdfast.mechanisms.catalogue import at_target, target_of
from holdfast.mechanisms.errors.counts import Counts
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import HoldfastError, SpecError

DRAWS = 20_000
FAR = 4.0
"""Standard errors of a share; eight comparisons at this distance fail once in 4,000."""
TARGETS: list[Mapping[str, Any]] = [
    {"marginal": ["b"], "within": 12, "level": 0.9},
    {"cells": True, "within": "2 %", "of": 200, "probability": "0.95"},
]


def values(mechanism: Mapping[str, Any], targets: Any = TARGETS, **privacy: str) -> dict[str, Any]:
    return {
        "data": {"path": "table.csv", "cells": list(SIZES), "count": "n"},
        "invariants": [{"margin": ["a"]}],
        "accuracy": targets,
        "privacy": privacy,
        "mechanism": mechanism,
    }


def frame() -> pl.DataFrame:
    cells = [(a, b, c) for a in "vwxyz" for b in "fm" for c in "123"]
    return pl.DataFrame(cells, schema=list(SIZES), orient="row").with_columns(
        pl.Series("n", np.arange(30) * 7 % 23)
    )


def asked(mechanism: Mapping[str, Any], targets: Any = TARGETS, **privacy: str) -> Prepared:
    return prepare(Spec.of(values(mechanism, targets, **privacy)), frame())


GAUSSIAN = {"name": "lattice-gaussian"}
BY_ACCURACY = {"optimise_for": "accuracy"}
CASES: dict[str, tuple[Mapping[str, Any], Mapping[str, str]]] = {
    "gaussian": (GAUSSIAN, {"standard": "zcdp"}),
    "weighted": ({**GAUSSIAN, "queries": QUERIES}, {"standard": "zcdp"}),
    "approximate": (GAUSSIAN, {"standard": "approximate", "delta": "1e-6"}),
    "l1": ({"name": "lattice-laplace"}, {"standard": "pure"}),
    "l2": ({"name": "lattice-laplace", "norm": "l2"}, {}),
    "gaussian, by accuracy": ({**GAUSSIAN, **BY_ACCURACY}, {"standard": "zcdp"}),
    "l2, by accuracy": ({"name": "lattice-laplace", "norm": "l2", **BY_ACCURACY}, {}),
    "anchored": ({"name": "anchored-laplace"}, {}),
}


def off(prepared: Prepared, mechanism: Any, goal: Any) -> float:
    """Return how often the count that is off most is within what a goal allows."""
    draws = mechanism.noise.sample(SeededEntropy(6), DRAWS)
    sizes = np.abs(np.asarray(goal.of.rows(prepared.public) @ draws.T))
    return float((sizes <= float(goal.within)).mean(axis=1).min())


@pytest.mark.parametrize("case", CASES)
def test_targets_are_met_and_the_binding_one_not_by_a_tenth_less(case: str) -> None:
    mechanism, privacy = CASES[case]
    prepared = asked(mechanism, **privacy)
    budget = prepared.table.budget
    assert budget is not None
    for goal in budget.goals:
        level = float(goal.level)
        assert off(prepared, prepared.mechanism, goal) > level - FAR * np.sqrt(level * (1 - level) / DRAWS)
    goal = budget.goals[budget.binds]
    assert goal.of == Counts(tuple(SIZES)) or "optimise_for" in mechanism
    assert isinstance(prepared.spec, Spec)
    less = prepared.spec.privacy.spending(budget.value * Fraction(9, 10))
    weaker = at_target(prepared.mechanism, prepared.public, target_of(less))
    level = float(goal.level)
    assert off(prepared, weaker, goal) < level - FAR * np.sqrt(level * (1 - level) / DRAWS)


def test_the_shape_that_accuracy_decides_has_the_least_budget_and_proves_it(tmp_path: Path) -> None:
    """Less than noise alike in all cells, than weights by hand and by margins; a certificate shows it."""
    accurate = [
        {"marginal": ["b"], "within": 9},
        {"marginal": ["c"], "within": 9},
        {"cells": True, "within": 7},
    ]
    shapes: list[Mapping[str, Any]] = [
        BY_ACCURACY,
        {},
        {"optimise_for": "all margins up to two"},
        {"queries": [{"marginal": ["b"]}, {"marginal": ["c"]}, {"marginal": list(SIZES), "weight": "3"}]},
    ]
    found = [asked({**GAUSSIAN, **shape}, accurate, standard="zcdp").table for shape in shapes]
    best, *others = [table.budget.value for table in found if table.budget is not None]
    assert best < min(others) * Fraction(99, 100)
    needs = [float(need / best) for need in found[0].budget.needs] if found[0].budget else []
    assert sum(need > 0.99 for need in needs) > 1  # several targets bind at an optimum
    spec = Spec.of(values({**GAUSSIAN, **BY_ACCURACY}, accurate, standard="zcdp"))
    hf.release(spec, tmp_path / "out", data=frame())
    assert hf.verify(tmp_path / "out").kept
    path = tmp_path / "out" / "certificate.json"
    whole = path.read_text()
    for changed in ("/accuracy/0/within", "/mechanism/optimum/queries/0/weight"):
        content = json.loads(whole)
        *above, last = changed.split("/")[1:]
        place = content["parts"][0]
        for key in above:
            place = place[int(key)] if key.isdigit() else place[key]
        place[last] = str(Fraction(place[last]) * 2)
        path.write_text(json.dumps(content))
        assert not hf.verify(tmp_path / "out").kept


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ([], "is best for what .* asks for, and there is none"),
        ([{"marginal": ["b"], "where": {"c": ["1"]}, "within": 9}], "leave out its where"),
    ],
)
def test_accuracy_that_gives_no_shape_is_refused(targets: Any, said: str) -> None:
    with pytest.raises(SpecError, match=said) as refused:
        asked({**GAUSSIAN, **BY_ACCURACY}, targets, standard="zcdp", **({} if targets else {"rho": "1"}))
    assert str(refused.value).count(". ") == 0
    both: Any = [{"accuracy": True}, {"marginal": ["b"]}]
    with pytest.raises(SpecError, match="accuracy beside margins"):
        asked({**GAUSSIAN, "optimise_for": both}, standard="zcdp")


@pytest.mark.parametrize("privacy", [{"standard": "zcdp"}, {"standard": "pure"}])
def test_estimates_of_a_geography_are_as_accurate_as_asked(
    privacy: Mapping[str, str], tmp_path: Path
) -> None:
    targets = [{"level": "tract", "within": 6}, {"level": "tract", "marginal": ["sex"], "within": 20}]
    spec = topdown_spec(tmp_path, accuracy=targets, privacy={**privacy, "adjacency": "unit"})
    prepared = prepare(spec)
    budget = prepared.table.budget
    assert budget is not None
    assert budget.to_dict()["binds"] == ["tract"]
    rows = {tuple(row["of"]): row for row in prepared.plan().to_dict()["expected_error"]}
    assert rows["tract",]["within_95"] == pytest.approx(6, rel=1e-2)
    assert rows["tract", "sex"]["within_95"] < 20


def test_the_plan_tells_what_binds_and_what_more_would_cost() -> None:
    report = asked(GAUSSIAN, standard="zcdp").plan().to_dict()
    budget = report["budget"]
    assert budget["binds"] == list(SIZES)
    assert budget["binding_target"] == 2
    assert Fraction(budget["rho"]) == max(Fraction(each["needs"]) for each in budget["targets"])
    assert all(Fraction(each["one_less"]) > Fraction(each["needs"]) for each in budget["targets"])
    assert report["expected_error"][-1]["within_95"] == 4
    where = [{"marginal": ["b"], "where": {"c": ["1", "2"]}, "within": 9}]
    of_some = asked(GAUSSIAN, where, standard="zcdp").plan().to_dict()
    assert of_some["expected_error"][-1]["where"] == {"c": ["1", "2"]}
    assert of_some["expected_error"][-1]["within_95"] == 9


def test_a_release_spends_the_budget_and_its_certificate_is_derived(tmp_path: Path) -> None:
    spec = Spec.of(values(GAUSSIAN, standard="zcdp"))
    hf.release(spec, tmp_path / "out", data=frame())
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert [goal["level"] for goal in certificate["parts"][0]["accuracy"]] == ["9/10", "19/20"]
    assert Fraction(certificate["target"]["rho"]) > 0
    assert "as accurate as was asked" in (tmp_path / "out" / "certificate.html").read_text()
    told = {check.name: check for check in hf.verify(tmp_path / "out").checks}
    assert all(check.holds for check in told.values())
    assert "is the least for 2 targets" in told["accuracy"].detail


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"within": 0}, "1 within is 0"),
        ({"within": "x"}, "not a number"),
        ({"level": 1}, "1 level is 1: give a probability"),
        ({"level": "town"}, "no level of the geography"),
        ({"marginal": ["d"]}, "'d', which is no attribute"),
        ({"marginal": ["a"]}, "asks for a, which the invariants keep exactly"),
        ({"within": "2 %"}, "a share is of a public size"),
        ({"of": 5}, "of goes with a share"),
        ({"cells": True}, "cells are all of them"),
        ({"probability": 0.5, "level": 0.5}, "keep one of the two numbers"),
        ({"tolerance": 5}, "unknown key"),
    ],
)
def test_what_cannot_be_asked_is_refused(change: Mapping[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        asked(GAUSSIAN, [{"marginal": ["b"], "within": 5, **change}], standard="zcdp")


def test_a_budget_beside_accuracy_and_none_at_all_are_refused() -> None:
    with pytest.raises(SpecError, match="rho is given, and so is the accuracy"):
        asked(GAUSSIAN, **ZCDP)
    with pytest.raises(SpecError, match="rho is missing"):
        asked(GAUSSIAN, [], standard="zcdp")
    with pytest.raises(SpecError, match="epsilon is given"):
        asked({"name": "lattice-laplace"}, **PURE)
    with pytest.raises(SpecError, match="settles the noise, and so does"):
        asked({"name": "lattice-laplace", "epsilon_per_unit": "1/9"})
    with pytest.raises(SpecError, match=r"is one table: write each under its own \[\[accuracy\]\]"):
        asked(GAUSSIAN, TARGETS[0], standard="zcdp")


def test_what_no_budget_meets_is_refused(tmp_path: Path) -> None:
    targets = [{"level": "tract", "marginal": ["age"], "within": 5}]
    queries = [{"marginal": []}, {"marginal": ["sex"]}]
    spec = topdown_spec(
        tmp_path,
        accuracy=targets,
        privacy={"standard": "zcdp"},
        mechanism={"name": "topdown", "queries": queries},
    )
    with pytest.raises(SpecError, match="which nothing measures at any budget"):
        prepare(spec)
    with pytest.raises(SpecError, match="which no budget meets"):
        prepare(
            topdown_spec(
                tmp_path, accuracy=[{"cells": True, "within": "1e-200"}], privacy={"standard": "zcdp"}
            )
        )
    bounded = {**values({"name": "conditioned"}), "constraints": {"nonnegative": True}}
    with pytest.raises(HoldfastError, match="is not told here at any budget"):
        prepare(Spec.of(bounded), frame())


def test_noise_that_takes_long_to_simulate_is_not_simulated_at_one_budget_after_another() -> None:
    spec = values({"name": "k-norm"}, [{"cells": True, "within": 20}])
    spec["invariants"] = [{"margin": ["a"]}, {"margin": ["b", "c"]}]
    with pytest.raises(SpecError, match="takes too long to be simulated at one budget after another"):
        prepare(Spec.of(spec), frame())


@pytest.mark.parametrize("level", ["0.9", "0.95"])
def test_what_is_simulated_holds_and_not_but_for_the_error_of_the_simulation(level: str) -> None:
    """Other draws, 40,000 of them, find each count within as often as was asked, at four standard errors."""
    spec = values({"name": "lattice-laplace"}, [{"cells": True, "within": 12, "level": level}])
    spec["data"] = {**spec["data"], "cells": ["a", "b"]}
    spec["invariants"] = [{"margin": ["a"]}, {"margin": ["b"]}]
    prepared = prepare(Spec.of(spec), frame().group_by("a", "b", maintain_order=True).agg(pl.sum("n")))
    budget = prepared.table.budget
    assert budget is not None
    assert budget.draws == (4_000,)
    noise = prepared.mechanism.noise
    assert noise is not None
    sizes = np.abs(noise.sample(SeededEntropy(6), 40_000))
    shares = (sizes <= 12).mean(axis=0)
    error = np.sqrt(float(level) * (1 - float(level)) / 40_000)
    assert shares.min() > float(level) + FAR * error


def test_a_probability_that_draws_cannot_show_is_refused() -> None:
    spec = values({"name": "lattice-laplace"}, [{"cells": True, "within": 40, "level": "0.9999"}])
    spec["invariants"] = [{"margin": ["a"]}, {"margin": ["b", "c"]}]
    with pytest.raises(SpecError, match="is more than 4,000 draws can show: ask for a smaller probability"):
        prepare(Spec.of(spec), frame())


def test_the_plan_and_a_verification_tell_what_was_simulated(tmp_path: Path) -> None:
    asked_of = values({"name": "lattice-laplace"}, [{"cells": True, "within": 12, "level": "0.9"}])
    asked_of["invariants"] = [{"margin": ["a"]}, {"margin": ["b", "c"]}]
    spec = Spec.of(asked_of)
    budget = prepare(spec, frame()).plan().parts["table"].budget
    assert budget is not None
    assert budget.words()[1].endswith("; simulated, shown by 4,000 draws with a confidence of 99.9 %.")
    (target,) = budget.to_dict()["targets"]
    assert (target["draws"], target["confidence"]) == (4_000, "999/1000")
    hf.release(spec, tmp_path / "out", data=frame())
    (check,) = (one for one in hf.verify(tmp_path / "out").checks if one.name == "accuracy")
    assert check.holds
    assert check.detail.endswith(
        "is the least for 1 target, as is shown by 4,000 draws with a confidence of 99.9 %"
    )
