"""Specs of several tables: what they become, and what is wrong with them in one sentence."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.spec.load import read_any_spec, read_spec
from holdfast.spec.tables import TablesSpec
from holdfast.system.errors import SpecError

ONE = {"name": "a", "cells": ["x", "y"], "invariants": [{"margin": ["x"]}]}
TWO = {"name": "b", "cells": ["x", "z"], "mechanism": {"name": "k-norm"}}


def spec(**sections: Any) -> TablesSpec:
    shared = {"data": {"path": "p.csv", "levels": {"x": ["1", "2"], "z": ["1"]}}, "privacy": {"epsilon": "1"}}
    return TablesSpec.of({**shared, "tables": [ONE, TWO], **sections})


def test_each_table_is_a_spec_of_its_own() -> None:
    one, two = spec(mechanism={"name": "lattice-gaussian"}).specs
    assert (one.data.cells, two.data.cells) == (("x", "y"), ("x", "z"))
    assert (set(one.data.levels), set(two.data.levels)) == ({"x"}, {"x", "z"})
    assert (one.mechanism.name, two.mechanism.name) == ("lattice-gaussian", "k-norm")
    assert (len(one.invariants), len(two.invariants)) == (1, 0)
    assert one.data.path == two.data.path == "p.csv"


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"tables": []}, "[[tables]] is empty"),
        ({"tables": {"name": "a"}}, "[[tables]] is one table"),
        ({"tables": ["a"]}, "[[tables]] 1 must be a table of keys"),
        ({"tables": [{"name": "a"}]}, "[[tables]] 1 'a' has no cells"),
        ({"tables": [{"cells": ["x"]}]}, "[[tables]] 1 name is missing"),
        ({"tables": [ONE, {**TWO, "name": "A"}]}, "two tables of the name 'A'"),
        ({"tables": [{**ONE, "name": "../a"}, TWO]}, "'../a', which is no name for a file"),
        ({"tables": [{**ONE, "name": "a?"}, TWO]}, "no name for a file"),
        ({"tables": [{**ONE, "name": "nul"}, TWO]}, "no name for a file"),
        ({"tables": [{**ONE, "name": ""}, TWO]}, "no name for a file"),
        ({"tables": [{**ONE, "name": "a" * 200}, TWO]}, "no name for a file"),
        ({"tables": [{**ONE, "name": "certificate"}, TWO]}, "which is taken"),
        ({"tables": [{**ONE, "weight": 0}, TWO], "budget": {"division": "weights"}}, "weight is 0: give a"),
        ({"tables": [{**ONE, "weight": "-1"}, TWO], "budget": {"division": "weights"}}, "weight is -1"),
        ({"tables": [{**ONE, "weight": 2}, TWO]}, "equal division does not use"),
        ({"tables": [{**ONE, "weigth": 2}, TWO]}, "did you mean 'weight'?"),
        (
            {"tables": [{**ONE, "invariants": [{"margin": ["q"]}]}, TWO]},
            "'a': [[invariants]] 1 margin names",
        ),
        ({"budget": {"division": "half"}}, "[budget] division must be one of"),
        ({"data": {"path": "p.csv", "cells": ["x"]}}, "[data] has cells and there are [[tables]]"),
        (
            {"data": {"path": "p.csv", "levels": {"q": ["1"]}}},
            "levels names 'q', which is not among",
        ),
        ({"invariants": [{"total": True}]}, "as [[tables.invariants]]"),
        ({"constraints": {"nonnegative": True}}, "as [tables.constraints]"),
        ({"tabels": 1}, "did you mean 'tables'?"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(sections: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec(**sections)
    assert words in str(caught.value)
    assert str(caught.value).endswith((".", "?"))


def test_what_is_for_one_table_says_so(tmp_path: Path) -> None:
    path = tmp_path / "tables.toml"
    path.write_text('[data]\npath = "p.csv"\n[[tables]]\nname = "a"\ncells = ["x"]\n')
    assert isinstance(read_any_spec(path), TablesSpec)
    with pytest.raises(SpecError, match=r"tables.toml has tables, and this is for a spec"):
        read_spec(path)
