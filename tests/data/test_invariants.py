import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from holdfast.data.invariants import InvariantBlock, invariant_blocks
from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.data.selection import select
from holdfast.data.table import Table
from holdfast.spec.constraints import Invariant
from holdfast.spec.data import Data
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import DataError, SpecError

SCHEMA = Schema(Attributes.of({"sex": ("f", "m"), "age": ("0", "1", "2")}), Runs.of({1}))


def spec_of(schema: Schema, *invariants: Invariant) -> Spec:
    data = Data(path="data.csv", cells=schema.names)
    return Spec(data=data, invariants=invariants, privacy=Privacy(epsilon="1"))


def blocks(*invariants: Invariant) -> tuple[InvariantBlock, ...]:
    return invariant_blocks(spec_of(SCHEMA, *invariants), SCHEMA)


@given(data=st.data())
def test_a_margins_rows_give_the_margin(tables: SearchStrategy[Table], data: st.DataObject) -> None:
    table = data.draw(tables)
    names = tuple(data.draw(st.permutations(table.schema.names)))
    names = names[: data.draw(st.integers(1, len(names)))]
    spec = spec_of(table.schema, Invariant(margin=names), Invariant(total=True))
    margin, total = invariant_blocks(spec, table.schema)
    assert margin.evaluate(table.counts).tolist() == table.margin(names).tolist()
    assert total.evaluate(table.counts).tolist() == [table.total]
    assert margin.matrix.dtype == np.int64
    assert len(margin.labels) == margin.matrix.shape[0]


@given(data=st.data())
def test_a_margin_within_a_selection(tables: SearchStrategy[Table], data: st.DataObject) -> None:
    table = data.draw(tables)
    schema = table.schema
    chosen = data.draw(st.sampled_from(schema.attributes.each))
    levels = data.draw(st.lists(st.sampled_from(chosen.levels), min_size=1, unique=True))
    name = data.draw(st.sampled_from(schema.names))
    where = {chosen.name: levels}
    spec = spec_of(schema, Invariant(margin=(name,), where=where), Invariant(where=where))
    margin, single = invariant_blocks(spec, schema)
    selected = select(schema, where)
    within = Table(schema, np.where(selected, table.counts, 0)).margin((name,))
    kept = sorted(set(schema.codes(name)[selected].tolist()))
    assert margin.evaluate(table.counts).tolist() == within[kept].tolist()
    assert single.evaluate(table.counts).tolist() == [table.counts[selected].sum()]
    for block in (margin, single):
        again = InvariantBlock.from_dict(json.loads(json.dumps(block.to_dict())), schema)
        assert_same(again, block)


def assert_same(block: InvariantBlock, other: InvariantBlock) -> None:
    assert block.to_dict() == other.to_dict()
    assert block.matrix.shape == other.matrix.shape
    assert block.matrix.dtype == other.matrix.dtype == np.int64
    assert np.array_equal(block.matrix.toarray(), other.matrix.toarray())


def test_names_and_labels_are_readable() -> None:
    found = blocks(
        Invariant(margin=("sex",)),
        Invariant(margin=("age", "sex")),
        Invariant(total=True, equals=5),
        Invariant(where={"age": [1, 9], "sex": "f"}),
        Invariant(where={"age": ["0", "2"]}, name="ends"),
        Invariant(margin=("age",), where={"age": ["1", "2"]}),
    )
    assert [(block.name, block.kind, block.labels[-1]) for block in found] == [
        ("sex", "margin", "sex = m"),
        ("age by sex", "margin", "age = 2, sex = m"),
        ("total", "total", "total"),
        ("age 1 or over and sex = f", "where", "age 1 or over and sex = f"),
        ("ends", "where", "age = 0 or 2"),
        ("age within age = 1 or 2", "margin", "age = 2 within age = 1 or 2"),
    ]
    assert [block.equals for block in found] == [None, None, 5, None, None, None]
    assert found[-1].labels == ("age = 1 within age = 1 or 2", "age = 2 within age = 1 or 2")


def test_many_levels_are_not_all_named() -> None:
    schema = Schema(Attributes.of({"age": map(str, range(20))}))
    spec = spec_of(schema, Invariant(where={"age": [str(age) for age in range(9)]}))
    assert invariant_blocks(spec, schema)[0].labels == ("age 8 or under",)
    spec = spec_of(schema, Invariant(where={"age": [str(age) for age in range(0, 18, 2)]}))
    assert invariant_blocks(spec, schema)[0].labels == ("age = 0 or 8 other levels",)


def test_structural_zeros_have_no_weight() -> None:
    (total,) = blocks(Invariant(total=True))
    assert total.matrix.toarray().tolist() == [[1, 0, 1, 1, 1, 1]]


WEIGHTS = "invariant,sex,age,weight\nscore,f,0,2\nscore,m,2,-3\nscore,f,1,7\nother,m,0,1\n"


def weights_spec(spec_for: Callable[..., Spec], content: str, name: str = "data.csv") -> Spec:
    return spec_for(content, {"cells": ["sex", "age"]}, invariants=[{"weights": {"file": name}}])


def test_weights_come_from_a_file(spec_for: Callable[..., Spec]) -> None:
    (block,) = invariant_blocks(weights_spec(spec_for, WEIGHTS), SCHEMA)
    assert (block.name, block.kind, block.labels) == ("data", "weights", ("score", "other"))
    assert block.matrix.toarray().tolist() == [[2, 0, 0, 0, 0, -3], [0, 0, 0, 1, 0, 0]]
    assert_same(InvariantBlock.from_dict(json.loads(json.dumps(block.to_dict())), SCHEMA), block)


def test_a_sum_that_does_not_fit_is_refused(spec_for: Callable[..., Spec]) -> None:
    content = f"invariant,sex,age,weight\nscore,f,0,{2**61}\nscore,m,0,1\n"
    (block,) = invariant_blocks(weights_spec(spec_for, content), SCHEMA)
    assert block.evaluate(np.array([1, 0, 0, 5, 0, 0])).tolist() == [2**61 + 5]
    with pytest.raises(SpecError, match="'data' does not fit 64 bits"):
        block.evaluate(np.array([9, 0, 0, 0, 0, 0]))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"labels": ["one"]},
        {"cells": [0, 5, 6]},
        {"cells": [0, 5, -1]},
        {"weights": [2, -3, 1.5]},
        {"weights": [2, -3]},
        {"rows": [0, 0, 2]},
        {"where": 5},
        {"equals": "5"},
        {"weights": [2, -3, 2**70]},
    ],
)
def test_refuses_a_damaged_description(spec_for: Callable[..., Spec], change: dict[str, Any]) -> None:
    (block,) = invariant_blocks(weights_spec(spec_for, WEIGHTS), SCHEMA)
    with pytest.raises(SpecError, match="damaged"):
        InvariantBlock.from_dict({**block.to_dict(), **change}, SCHEMA)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (WEIGHTS + "score,f,0,5\n", "row 6 repeats the invariant and cell of row 2"),
        (WEIGHTS + "score,x,0,5\n", "row 6, column 'sex' has the level 'x'"),
        (WEIGHTS + ",f,2,5\n", "row 6, column 'invariant' has no level"),
        (WEIGHTS + "score,f,2,0.5\n", "row 6, column 'weight' is 0.5"),
        ("invariant,sex,age,weights\n", "no column 'weight': did you mean 'weights'?"),
        ("invariant,sex,age,weight\n", "has no rows"),
    ],
)
def test_names_the_wrong_weight(spec_for: Callable[..., Spec], content: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        invariant_blocks(weights_spec(spec_for, content), SCHEMA)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_have_columns_of_their_own(spec_for: Callable[..., Spec]) -> None:
    schema = Schema(Attributes.of({"weight": ("f", "m")}))
    spec = spec_for(WEIGHTS, {"cells": ["weight"]}, invariants=[{"weights": {"file": "data.csv"}}])
    with pytest.raises(SpecError, match="rename the attribute"):
        invariant_blocks(spec, schema)


def test_names_are_given_once() -> None:
    with pytest.raises(SpecError, match=r"^invariants\[1\] has the name 'total'"):
        blocks(Invariant(total=True), Invariant(margin=("sex",), name="total"))


def test_a_wrong_level_is_placed() -> None:
    with pytest.raises(SpecError, match=r"^invariants\[1\]\.where sex names .* 'x'"):
        blocks(Invariant(total=True), Invariant(where={"sex": "x"}))


def test_a_million_cells_have_one_entry_each() -> None:
    sizes = {"county": 3000, "age": 20, "sex": 2, "education": 9}
    schema = Schema(Attributes.of({name: map(str, range(size)) for name, size in sizes.items()}))
    (block,) = invariant_blocks(spec_of(schema, Invariant(margin=("county",))), schema)
    assert block.matrix.shape == (3000, 1_080_000)
    assert block.matrix.nnz == 1_080_000
    assert np.array_equal(block.evaluate(np.ones(schema.size, dtype=np.int64)), np.full(3000, 360))
