"""What is measured of each level, what invariants fix of it, and how the budget is shared."""

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.topdown.small import LEVELS, spec

from holdfast.estimation.hierarchy.variances import variances
from holdfast.mechanisms.topdown.best_linear import best_linear
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy

EVERY = tuple(product(LEVELS, ("age by sex", "total")))


def mechanism(folder: Path, **more: Any) -> TopDown:
    found = prepare(spec(folder, **more)).mechanism
    assert isinstance(found, TopDown)
    return found


def measured(found: TopDown) -> set[tuple[str, str]]:
    design = found.design
    return {(LEVELS[each.of.level], design.queries[each.of.query].name) for each in found.measurements}


@pytest.mark.parametrize(
    ("invariants", "fixed"),
    [
        ([], set()),
        ([{"total": True}], {("state", "total")}),
        ([{"total": True, "level": "tract"}], {(level, "total") for level in LEVELS[:3]}),
        ([{"margin": ["age"], "level": "county"}], {(level, "total") for level in LEVELS[:2]}),
        ([{"where": {"age": "0"}, "level": "block"}], set()),
        (
            [{"where": {"age": "0"}, "level": "block"}, {"where": {"age": "18"}, "level": "tract"}],
            {(level, "total") for level in LEVELS[:3]},
        ),
        (
            [{"margin": ["age", "sex"], "level": "state"}],
            {("state", "total"), ("state", "age by sex")},
        ),
    ],
)
def test_what_invariants_fix_is_not_measured(
    tmp_path: Path, invariants: list[dict[str, Any]], fixed: set[tuple[str, str]]
) -> None:
    found = mechanism(tmp_path, invariants=invariants)
    assert measured(found) == set(EVERY) - fixed
    assert sum(each.loss for each in found.measurements) == 1


def test_a_total_that_no_invariant_publishes_gets_noise(tmp_path: Path) -> None:
    """The number of records is the same in all tables that are compared, but it is not published."""
    found = mechanism(tmp_path, invariants=[])
    (root,) = (each for each in found.measurements if each.of.level == 0 and each.of.query == 1)
    assert root.of.sensitivity == 1
    assert not root.of.attained
    assert root.scale == Fraction(1, 2) / root.loss


def test_only_children_know_what_their_parents_know(tmp_path: Path) -> None:
    asked = spec(tmp_path, invariants=[{"total": True}])
    lines = (tmp_path / "blocks.csv").read_text().splitlines()
    (tmp_path / "blocks.csv").write_text(
        "\n".join(line for line in lines if not line.startswith("92")) + "\n"
    )
    found = prepare(asked).mechanism
    assert isinstance(found, TopDown)
    assert ("county", "total") not in measured(found)


def test_the_sensitivity_is_attained_where_one_record_can_change_alone(tmp_path: Path) -> None:
    alone = mechanism(tmp_path)
    assert all(each.of.attained for each in alone.measurements)
    crossing = [{"margin": ["age"], "level": "block"}, {"margin": ["sex"], "level": "block"}]
    none = mechanism(tmp_path, invariants=crossing)
    assert not any(each.of.attained for each in none.measurements)


def test_shares_go_by_level_and_weight(tmp_path: Path) -> None:
    found = mechanism(
        tmp_path,
        mechanism={
            "name": "topdown",
            "allocation": {"state": "1/10", "county": "1/10", "tract": "0", "block": "8/10"},
            "queries": [{"marginal": ["sex", "age"], "weight": "3"}, {"marginal": []}],
        },
    )
    losses = {(each.of.level, each.of.query): each.loss for each in found.measurements}
    assert losses == {
        (0, 0): Fraction(1, 10),
        (1, 0): Fraction(1, 10),
        (3, 0): Fraction(6, 10),
        (3, 1): Fraction(2, 10),
    }
    assert all(each.scale == 1 / each.loss for each in found.measurements)


def test_a_unit_of_several_records_gets_more_noise(tmp_path: Path) -> None:
    privacy = {"standard": "zcdp", "rho": "1", "adjacency": "unit", "unit": "family", "records_per_unit": 3}
    found = mechanism(tmp_path, privacy=privacy)
    assert found.per_record == Fraction(1, 9)
    assert found.guarantee.intensity.parameters() == {"rho": 1}


def test_optimised_shares_have_less_error_than_equal_ones(tmp_path: Path) -> None:
    """Of the tracts' totals, by the exact variances of the best linear unbiased estimates."""
    aim = [{"level": "tract", "marginal": []}]
    found = {}
    for allocation in ("equal", "optimise"):
        options = {"name": "topdown", "allocation": allocation}
        own = {**options, "optimise_for": aim} if allocation == "optimise" else options
        prepared = prepare(spec(tmp_path, mechanism=own))
        best = prepared.mechanism
        assert isinstance(best, TopDown)
        assert sum(best.allocation.levels) == 1
        values = best.law(prepared.counts).measure(SeededEntropy(1))
        found[allocation] = variances(best_linear(best, values), "tract", np.ones((1, 4))).mean()
    assert found["optimise"] < 0.9 * found["equal"]


def test_what_is_kept_at_two_levels_is_known_once(tmp_path: Path) -> None:
    """Ages of counties tell those of the state: to keep them there, too, changes no best shares."""
    best = {"name": "topdown", "allocation": "optimise"}
    shares = [
        mechanism(
            tmp_path,
            invariants=[{"margin": ["age"], "level": level} for level in levels],
            mechanism=best,
        ).allocation.levels
        for levels in (["county"], ["state", "county"])
    ]
    assert shares[0] == shares[1]
    assert all(shares[0])
