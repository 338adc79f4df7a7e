"""The geography of a spec, and what may name its levels."""

from typing import Any

import pytest

from holdfast.spec.data import Geography
from holdfast.spec.model import Spec
from holdfast.system.errors import SpecError

PREFIXES = {"column": "block", "prefixes": {"state": 2, "county": 5}}


def spec(geography: dict[str, Any] | None = None, **more: Any) -> Spec:
    data = {"path": "x.csv", "cells": ["age"], "geography": geography or PREFIXES, **more.pop("data", {})}
    return Spec.of({"data": data, **more})


def test_levels_are_attributes_before_the_cells_and_lie_in_each_other() -> None:
    data = spec().data
    assert data.attributes == ("state", "county", "age")
    assert data.nested == {"county": "state"}
    assert spec({"columns": ["nation", "state"]}).data.attributes == ("nation", "state", "age")


def test_cells_may_be_left_out_beside_a_geography() -> None:
    assert spec(data={"cells": []}).data.attributes == ("state", "county")


@pytest.mark.parametrize(
    ("geography", "said"),
    [
        ({"column": "block"}, r"\[data\.geography\] has no prefixes"),
        ({"prefixes": {"state": 2}}, "has no column"),
        ({"column": "b", "prefixes": {"state": 2}, "columns": ["a"]}, "needs one of two"),
        ({"columns": ["a", "a"]}, r"\[data\.geography\] columns names 'a' twice"),
        ({"column": "b", "prefixes": {"state": 5, "county": 5}}, "no more than 'state': list the root first"),
        ({"column": "b", "prefixes": {"state": -1}}, "less than 0"),
        ({"column": "b", "prefixes": {"age": 2}}, "has a level 'age', which is also in cells"),
        ({"column": "b", "prefixes": {"state": "2"}}, "must be a whole number"),
        ({"colum": "b"}, "unknown key 'colum': did you mean 'column'"),
    ],
)
def test_what_no_geography_is_told_in_a_sentence(geography: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        spec(geography)


def test_invariants_and_bounds_have_levels() -> None:
    found = spec(
        invariants=[
            {"total": True, "level": "county"},
            {"margin": ["age"], "level": "state"},
            {"where": {"age": "0"}, "level": "county"},
        ],
        constraints={"inequalities": [{"total": True, "level": "county", "at_most": 9}]},
    )
    assert [each.attributes for each in found.invariants] == [("county",), ("state", "age"), ("county",)]
    assert [each.kind for each in found.invariants] == ["margin"] * 3
    assert found.constraints.inequalities[0].attributes == ("county",)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"invariants": [{"total": True, "level": "county", "equals": 3}]}, "one value for each node"),
        (
            {"invariants": [{"total": True, "level": "conty"}]},
            r"\[\[invariants\]\] 1 level is 'conty', which is no level of \[data.geography\]: did you mean",
        ),
        ({"constraints": {"inequalities": [{"total": True}]}}, "has no bound: give it at_least or at_most"),
        (
            {"constraints": {"inequalities": [{"total": True, "at_least": 2, "at_most": 1}]}},
            "nothing is between them",
        ),
    ],
)
def test_wrong_levels_and_bounds_are_told(more: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        spec(**more)


def test_a_level_needs_a_geography() -> None:
    with pytest.raises(SpecError, match=r"no level of \[data.geography\]: add \[data.geography\]"):
        Spec.of({"data": {"path": "x", "cells": ["a"]}, "invariants": [{"total": True, "level": "a"}]})


def test_from_python_places_are_arguments() -> None:
    with pytest.raises(SpecError, match=r"^data.geography has no prefixes"):
        Geography(column="b")
