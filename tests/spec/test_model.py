import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from holdfast.mechanisms.lattice_laplace import LatticeLaplaceOptions
from holdfast.spec.constraints import Constraints, Invariant, Weights
from holdfast.spec.data import Data
from holdfast.spec.mechanism import MechanismChoice
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import SpecError

DATA = {"path": "children.csv", "cells": ["county", "education"], "count": "children"}
PURE = {"epsilon": "1"}


def spec_with(**sections: Any) -> dict[str, Any]:
    return {"data": DATA, "privacy": PURE, **sections}


def invariant(**keys: Any) -> dict[str, Any]:
    return spec_with(invariants=[{"margin": ["county"]}, keys])


def privacy(**keys: Any) -> dict[str, Any]:
    return spec_with(privacy=keys)


def data(**keys: Any) -> dict[str, Any]:
    return spec_with(data={**DATA, **keys})


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({}, "[data]", "is missing"),
    (spec_with(data=5), "[data]", "table of keys"),
    (spec_with(privcy={}), "the spec", "did you mean 'privacy'?"),
    (spec_with(folder="/"), "the spec", "unknown section 'folder'"),
    (spec_with(data={"path": "a.csv"}), "[data] cells", "is missing"),
    (data(path=""), "[data] path", "is empty"),
    (data(path=3), "[data] path", "text in quotes"),
    (data(cell=["a"]), "[data]", "did you mean 'cells'?"),
    (data(cells="county"), "[data] cells", "square brackets"),
    (data(cells=[]), "[data] cells", "at least one"),
    (data(cells=["a", ""]), "[data] cells", "empty name"),
    (data(cells=["a", "a"]), "[data] cells", "'a' twice"),
    (data(cells=["a", 1]), "[data] cells 2", "text in quotes"),
    (data(count="county"), "[data] count", "also among cells"),
    (data(count=""), "[data] count", "leave it out"),
    (data(levels={"conty": ["a"]}), "[data.levels]", "did you mean 'county'?"),
    (data(levels={"county": []}), "[data.levels] county", "is empty"),
    (data(levels={"county": ["a", "a"]}), "[data.levels] county", "'a' twice"),
    (data(levels={"county": [""]}), "[data.levels] county", "empty level"),
    (data(levels={"county": [1]}), "[data.levels] county 1", "text in quotes"),
    (spec_with(invariants={"total": True}), "[[invariants]]", "its own [[invariants]]"),
    (spec_with(invariants=[5]), "[[invariants]] 1", "table of keys"),
    (invariant(), "[[invariants]] 2", "says nothing"),
    (invariant(total=False), "[[invariants]] 2", "says nothing"),
    (invariant(total="yes"), "[[invariants]] 2 total", "true or false"),
    (invariant(margin=[]), "[[invariants]] 2 margin", "total = true"),
    (invariant(margin="county"), "[[invariants]] 2 margin", "square brackets"),
    (invariant(margin=["county", "county"]), "[[invariants]] 2 margin", "twice"),
    (invariant(margin=["conty"]), "[[invariants]] 2 margin", "did you mean 'county'?"),
    (invariant(where={"conty": "a"}), "[[invariants]] 2 where", "did you mean 'county'?"),
    (invariant(where={"county": 5}), "[[invariants]] 2 where county", "level in quotes"),
    (invariant(where={}), "[[invariants]] 2 where", "selects nothing"),
    (invariant(total=True, where={"county": "a"}), "[[invariants]] 2", "total and where"),
    (invariant(total=True, margin=["county"]), "[[invariants]] 2", "margin and total"),
    (invariant(weights={"fil": "w.csv"}), "[[invariants]] 2 weights", "did you mean 'file'?"),
    (invariant(total=True, equals=1.5), "[[invariants]] 2 equals", "whole number"),
    (invariant(margin=["county"], equals=1), "[[invariants]] 2", "has equals"),
    (invariant(total=True, name=""), "[[invariants]] 2 name", "is empty"),
    (invariant(totl=True), "[[invariants]] 2", "did you mean 'total'?"),
    (
        spec_with(constraints={"nonnegative": "yes"}),
        "[constraints] nonnegative",
        "true or false",
    ),
    (
        spec_with(constraints={"structural_zeros": [{"county": "a"}, {"sex": "a"}]}),
        "[constraints] structural_zeros 2",
        "not among the cells",
    ),
    (privacy(epsilon=0.5), "[privacy] epsilon", 'as in "0.5"'),
    (privacy(epsilon=0), "[privacy] epsilon is 0:", 'give a positive budget such as "1"'),
    (privacy(epsilon="-1/2"), "[privacy] epsilon is -1/2", "positive budget"),
    (privacy(epsilon="1e-31"), "[privacy] epsilon", 'from "1e-30" to "1e6"'),
    (privacy(epsilon="1e999"), "[privacy] epsilon", "out of reach"),
    (privacy(standard="approximate", epsilon="1", delta="1e-301"), "[privacy] delta", "probability"),
    (privacy(epsilon="much"), "[privacy] epsilon", "not a number"),
    (privacy(epsilon=True), "[privacy] epsilon", "is true"),
    (privacy(epsilon="1", delta="1e-10"), "[privacy] delta", "does not belong"),
    (privacy(standard="pur"), "[privacy] standard", "'pure'"),
    (privacy(standard="approximate", epsilon="1"), "[privacy] delta", "is missing"),
    (privacy(standard="approximate", epsilon="1", delta="1"), "[privacy] delta", "probability"),
    (privacy(standard="approximate", epsilon="1", delta=0), "[privacy] delta", "probability"),
    (privacy(standard="zcdp"), "[privacy] rho", "is missing"),
    (privacy(standard="zcdp", rho="1", mu="1"), "[privacy] mu", "does not belong"),
    (privacy(standard="zcdp", rho=0), "[privacy] rho", "positive"),
    (privacy(standard="gaussian"), "[privacy] mu", "is missing"),
    (privacy(unit=""), "[privacy] unit", "is empty"),
    (privacy(unit="house\nhold"), "[privacy] unit", "more than words"),
    (privacy(unit="<b>person</b>"), "[privacy] unit", "more than words"),
    (privacy(unit="a" * 200), "[privacy] unit", "200 letters"),
    (privacy(unit=7), "[privacy] unit", "text in quotes"),
    (privacy(records_per_unit=0), "[privacy] records_per_unit", "from 1 to"),
    (privacy(records_per_unit="3"), "[privacy] records_per_unit", "a whole number"),
    (spec_with(publication={"url": "javascript:alert(1)"}), "[publication] url", "https://"),
    (spec_with(publication={"title": "a\nb"}), "[publication] title", "line break"),
    (spec_with(publication={"title": ""}), "[publication] title", "is empty"),
    (spec_with(publication={"formats": ["excel"]}), "[publication] formats", "no format"),
    (spec_with(publication={"formats": ["xlsx", "xlsx"]}), "[publication] formats", "twice"),
    (spec_with(publication={"formats": ["in-toto"]}), "[publication] formats", "export it"),
    (spec_with(publication={"licence": 4}), "[publication] licence", "text in quotes"),
    (spec_with(publication={"heading": "x"}), "[publication]", "unknown key"),
    (privacy(epsilon="1", adjacency="full"), "[privacy] adjacency", "'semi'"),
    (privacy(epsilon="1", distance=0), "[privacy] distance", "at least 1"),
    (privacy(epsilon="1", distance="2"), "[privacy] distance", "whole number"),
    (privacy(epsilon="1", distance=2, adjacency="unit"), "[privacy] distance", 'adjacency = "semi"'),
    (spec_with(mechanism={"name": 5}), "[mechanism] name", "text in quotes"),
    (spec_with(mechanism="lattice-laplace"), "[mechanism]", "table of keys"),
]


@pytest.mark.parametrize(("values", "place", "words"), WRONG)
def test_what_is_wrong_is_one_sentence_with_its_place(values: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        Spec.of(values)
    message = str(caught.value)
    assert message.startswith(place)
    assert words in message
    assert "\n" not in message
    assert "pydantic" not in message


def test_is_made_in_python() -> None:
    spec = Spec(
        data=Data(path="children.csv", cells=("county", "education"), count="children"),
        invariants=(
            Invariant(margin=("county",)),
            Invariant(where={"education": ["Low", "High"]}, equals=3),
            Invariant(weights=Weights(file="w.csv")),
            Invariant(margin=("county",), where={"education": "Low"}),
            Invariant(total=True),
        ),
        constraints=Constraints(structural_zeros=({"county": "Alpha"},)),
        privacy=Privacy(epsilon="1/2"),
    )
    kinds = [item.kind for item in spec.invariants]
    assert kinds == ["margin", "where", "weights", "margin", "total"]
    assert spec.privacy.epsilon == Fraction(1, 2)
    assert spec.mechanism == MechanismChoice(name="lattice-laplace")


def test_plain_values_round_trip() -> None:
    spec = Spec.of(
        spec_with(
            invariants=[{"where": {"county": "Alpha", "education": [1, 2.5]}, "name": "some"}],
            constraints={"structural_zeros": [{"county": ["Alpha", "Beta"]}]},
            privacy={"standard": "approximate", "epsilon": "0.25", "delta": "1e-10", "distance": 4},
            mechanism={"name": "conditioned", "chain": True, "moves": "moves.txt"},
        )
    )
    plain = spec.model_dump(mode="json")
    assert plain["privacy"]["epsilon"] == "1/4"
    assert plain["invariants"][0]["where"] == {"county": ["Alpha"], "education": [1, 2.5]}
    assert "folder" not in plain
    assert Spec.of(plain) == spec


def test_keys_of_a_mechanism_are_left_to_it() -> None:
    """So that a pure budget may follow from one of them."""
    spec = Spec.of({"data": DATA, "mechanism": {"epsilon_per_unit": "1/4"}})
    assert spec.privacy.epsilon is None
    assert spec.mechanism == LatticeLaplaceOptions(epsilon_per_unit=Fraction(1, 4))


def test_paths_are_relative_to_the_folder() -> None:
    spec = Spec.of(spec_with(), folder=Path("/somewhere"))
    assert spec.data_path == Path("/somewhere/children.csv")
    assert spec.resolve("/else/w.csv") == Path("/else/w.csv")


def test_a_path_is_needed_where_there_is_no_frame() -> None:
    spec = Spec.of(spec_with(data={"cells": ["county"]}))
    with pytest.raises(
        SpecError, match=r"^data\.path is missing: name a .csv or .parquet file or a database,"
    ):
        _ = spec.data_path


def test_a_part_alone_names_its_section() -> None:
    with pytest.raises(SpecError, match=r"^privacy\.epsilon is 0"):
        Privacy(epsilon=0)
    with pytest.raises(SpecError, match=r"^invariants\.margin is empty"):
        Invariant(margin=())


def test_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Privacy(epsilon="1").epsilon = Fraction(2)


def test_is_light_to_import() -> None:
    code = "import sys, holdfast.spec; print({'polars', 'scipy', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
