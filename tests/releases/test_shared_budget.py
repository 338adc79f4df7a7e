"""Budgets of several tables that follow from accuracy: the least of which every part is enough."""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.releases.people_and_units import asked as of_files
from tests.releases.people_and_units import people, units
from tests.releases.several_tables import SPEC, write_people
from tests.releases.test_several import seal

import holdfast as hf
from holdfast.mechanisms.catalogue import at_target, target_of
from holdfast.mechanisms.errors.simulated import count_errors
from holdfast.releases.prepare import prepare
from holdfast.releases.several import Together
from holdfast.spec.files import FilesSpec
from holdfast.spec.load import read_any_spec, read_toml
from holdfast.spec.tables import TablesSpec
from holdfast.studio.edits import words
from holdfast.system.errors import SpecError

SECTIONS: Mapping[str, Mapping[str, Any]] = {
    "pure": {"privacy": {}, "mechanism": {"name": "lattice-laplace"}},
    "zcdp": {"privacy": {"standard": "zcdp"}, "mechanism": {"name": "lattice-gaussian"}},
    "gaussian": {"privacy": {"standard": "gaussian"}, "mechanism": {"name": "lattice-gaussian"}},
    "approximate": {
        "privacy": {"standard": "approximate", "delta": "1e-6"},
        "mechanism": {"name": "lattice-gaussian"},
    },
    "by accuracy": {
        "privacy": {"standard": "zcdp"},
        "mechanism": {"name": "lattice-gaussian", "optimise_for": "accuracy"},
    },
}
AGES = [{"marginal": ["age"], "within": 9}, {"cells": True, "within": 8}]
SEXES = [{"cells": True, "within": 8}]


def values(folder: Path, ages: Any = AGES, sexes: Any = SEXES, **sections: Any) -> dict[str, Any]:
    _, found = read_toml(write_people(folder))
    found |= {"budget": {"division": "weights"}, **sections}
    for table, weight, targets in zip(found["tables"], ("2", "1"), (ages, sexes), strict=True):
        table |= {"weight": weight, **({"accuracy": targets} if targets else {})}
    return found


def spec(folder: Path, *given: Any, **sections: Any) -> TablesSpec:
    return TablesSpec.of(values(folder, *given, **sections), folder=folder)


@pytest.mark.parametrize("case", SECTIONS)
def test_every_target_holds_and_the_binding_one_not_with_less(case: str, tmp_path: Path) -> None:
    together = prepare(spec(tmp_path, **SECTIONS[case])).together
    assert isinstance(together, Together)
    budget = together.budget
    assert budget is not None
    assert budget.value == max(one.value for one in budget.tables.values())
    assert getattr(together.spec.privacy, budget.name) == budget.value
    for name, table in together.tables.items():
        own = budget.tables[name]
        assert table.budget == own
        found = count_errors(table.mechanism, table.public, [goal.of for goal in own.goals])
        assert found is not None
        for goal, errors in zip(own.goals, found, strict=True):
            assert errors.within(goal.level) <= goal.within
    table, one = together.tables[budget.table], budget.tables[budget.table]
    less = table.spending(budget.value * Fraction(9, 10))
    weaker = at_target(table.mechanism, table.public, target_of(less))
    assert weaker is not None
    goal = one.goals[one.binds]
    (errors,) = count_errors(weaker, table.public, [goal.of]) or ()
    assert errors.within(goal.level) > goal.within


@pytest.mark.parametrize("case", ["pure", "zcdp"])
def test_what_a_target_needs_of_all_tables_is_what_it_needs_alone_by_its_part(
    case: str, tmp_path: Path
) -> None:
    """Both tables keep the same margin, so that each alone is calibrated for the same distance."""
    given = values(tmp_path, **SECTIONS[case])
    together = prepare(TablesSpec.of(given, folder=tmp_path)).together
    assert isinstance(together, Together)
    assert together.budget is not None
    for table, fraction in zip(given["tables"], (Fraction(2, 3), Fraction(1, 3)), strict=True):
        alone = hf.Spec.of(
            {
                "data": {**given["data"], "cells": table["cells"]},
                **SECTIONS[case],
                **{key: table[key] for key in ("invariants", "accuracy")},
            },
            folder=tmp_path,
        )
        found = prepare(alone).table.budget
        assert found is not None
        shared = together.budget.tables[table["name"]]
        ratios = [a * fraction / b for a, b in zip(shared.needs, found.needs, strict=True)]
        assert all(abs(one - 1) < Fraction(1, 1000) for one in ratios)


def test_a_table_without_targets_has_its_part_of_what_others_need(tmp_path: Path) -> None:
    report = hf.plan(spec(tmp_path, AGES, None, **SECTIONS["pure"]))
    assert report.budget is not None
    told = report.to_dict()
    assert told["budget"] == {
        "epsilon": str(report.budget.value),
        "binding_table": "age_by_county",
        "binding_target": report.budget.tables["age_by_county"].binds + 1,
    }
    assert Fraction(told["tables"]["sex_by_county"]["part"]["epsilon"]) == report.budget.value / 3
    assert "budget" not in told["tables"]["sex_by_county"]
    needs = [Fraction(one["needs"]) for one in told["tables"]["age_by_county"]["budget"]["targets"]]
    assert max(needs) == report.budget.value


@pytest.mark.parametrize("case", ["pure", "gaussian"])
def test_errors_at_another_budget_are_those_of_that_budget(case: str, tmp_path: Path) -> None:
    """What divides in squares does so here as well."""
    name = {"pure": "epsilon", "gaussian": "mu"}[case]
    section = SECTIONS[case]
    both = {
        budget: TablesSpec.of(
            values(tmp_path, None, None, **{**section, "privacy": {**section["privacy"], name: budget}}),
            folder=tmp_path,
        )
        for budget in ("1/2", "2")
    }
    other = hf.plan(both["1/2"], what_if={name: ["2"]})
    for table, plan in hf.plan(both["2"]).parts.items():
        assert other.parts[table].what_if[0].expected == plan.expected


def test_a_release_states_its_targets_and_a_larger_budget_for_them_is_found_out(tmp_path: Path) -> None:
    out = tmp_path / "out"
    hf.release(spec(tmp_path, **SECTIONS["zcdp"]), out)
    found = hf.verify(out)
    assert found.kept
    assert {"all tables: accuracy", "age_by_county: accuracy"} <= {check.name for check in found.checks}
    certificate = json.loads((out / "certificate.json").read_text())
    rho = Fraction(certificate["target"]["rho"])
    for factor, broken in ((Fraction(11, 10), "all tables: accuracy"), (Fraction(9, 10), "accuracy")):
        given = {**SECTIONS["zcdp"], "privacy": {"standard": "zcdp", "rho": str(rho * factor)}}
        forged = tmp_path / f"forged{broken[:3]}"
        hf.release(spec(tmp_path, None, None, **given), forged)
        content = json.loads((forged / "certificate.json").read_text())
        for part, honest in zip(content["parts"], certificate["parts"], strict=True):
            part["accuracy"] = honest["accuracy"]
        seal(content, forged)
        told = hf.verify(forged)
        assert not told.kept
        assert any(broken in check.name and not check.holds for check in told.checks)


def test_tables_of_several_files_have_budgets_of_their_own_that_follow(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(people())
    (tmp_path / "units.csv").write_text(units())
    target = [{"level": "county", "within": 4}]
    found = prepare(
        FilesSpec.of(of_files(people={"accuracy": target, "privacy": {"unit": "person"}}), folder=tmp_path)
    )
    parts = {name: found.parts[name] for name in ("people", "units")}
    budget = getattr(parts["people"], "budget", None)
    assert budget is not None
    assert parts["people"].spec.privacy.rho == budget.value
    assert parts["units"].spec.privacy.rho == Fraction(1, 10)
    assert getattr(parts["units"], "budget", None) is None
    assert found.plan().to_dict()["tables"]["people"]["budget"]["rho"] == str(budget.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"accuracy": SEXES}, r"the spec has accuracy beside \[\[tables\]\]: move them into the tables"),
        ({"privacy": {"epsilon": "1"}}, r"\[privacy\] epsilon is given, and so is the accuracy"),
        (
            {"table": {"accuracy": [{"within": 3}]}},
            r"\[\[tables\]\] 'age_by_county': \[\[accuracy\]\] 1 names",
        ),
        (
            {"table": {"accuracy": [{"marginal": ["sex"], "within": 3}]}},
            r"\[\[tables\]\] 'age_by_county': \[\[accuracy\]\] 1 marginal names 'sex'",
        ),
        (
            {"table": {"accuracy": [{"marginal": ["county"], "within": 3}]}},
            r"\[\[tables\]\] 'age_by_county': \[\[accuracy\]\] 1 asks for county, which the invariants keep",
        ),
        (
            {"table": {"mechanism": {"name": "conditioned"}, "constraints": {"nonnegative": True}}},
            r"\[\[tables\]\] 'age_by_county': how far counts of conditioned are off is not told",
        ),
    ],
)
def test_what_cannot_be_worked_out_is_refused_in_a_sentence(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    given = values(tmp_path, privacy={})
    given["tables"][0] |= change.pop("table", {})
    path = tmp_path / "asked.toml"
    path.write_text(toml(given | change))
    with pytest.raises(SpecError, match=said) as refused:
        prepare(read_any_spec(path))
    assert len(re.findall(r"\.(\s|$)", str(refused.value))) == 1


def toml(given: Mapping[str, Any]) -> str:
    """Return the values as text, with every table on one line."""
    return "\n".join(
        f"{key} = [{', '.join(map(words, value))}]" if isinstance(value, list) else f"{key} = {words(value)}"
        for key, value in given.items()
    )


def test_sections_under_their_table_are_read(tmp_path: Path) -> None:
    text = SPEC.replace('epsilon = "1"', "").replace(
        '[[tables]]\nname = "sex', '[[tables.accuracy]]\ncells = true\nwithin = 9\n\n[[tables]]\nname = "sex'
    )
    found = read_any_spec(write_people(tmp_path, text))
    assert isinstance(found, TablesSpec)
    assert [len(one.accuracy) for one in found.specs] == [1, 0]
    assert found.by_accuracy
