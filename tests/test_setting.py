from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.errors import InvariantError
from holdfast.setting import Setting, publish
from holdfast.spec import Spec
from holdfast.tables.read import read_table

ROWS = "sex,age,n\nf,young,3\nf,old,4\nm,young,2\nm,old,5\n"
MARGINS = [{"margin": ["sex"]}, {"margin": ["age"]}]


def setting(folder: Path, rows: str = ROWS, **sections: Any) -> Setting:
    (folder / "data.csv").write_text(rows)
    data = {"path": "data.csv", "cells": ["sex", "age"], "count": "n"}
    spec = Spec.of({"data": data, "privacy": {"epsilon": "1"}, **sections}, folder=folder)
    reading = read_table(spec)
    return publish(spec, reading.table, reading.inferred)


def test_invariants_are_evaluated_in_the_order_of_the_spec(tmp_path: Path) -> None:
    public = setting(tmp_path, invariants=[*MARGINS, {"where": {"sex": "m"}, "name": "men"}, {"total": True}])
    assert [block.name for block in public.invariants] == ["sex", "age", "men", "total"]
    assert [value.tolist() for value in public.values] == [[7, 7], [5, 9], [7], [14]]
    assert public.scope.invariants == ("sex", "age", "men", "total")
    assert public.inferred == ("sex", "age")
    # Of the six numbers three are independent.
    assert (public.universe.cells, public.universe.rank, public.universe.dimension) == (4, 3, 1)


def test_without_invariants_everything_is_open(tmp_path: Path) -> None:
    public = setting(tmp_path)
    assert (public.invariants, public.values) == ((), ())
    assert (public.universe.rank, public.universe.dimension) == (0, 4)


def test_structural_zeros_are_no_cells_of_the_universe(tmp_path: Path) -> None:
    zeros = {"structural_zeros": [{"sex": "m", "age": "old"}]}
    public = setting(tmp_path, ROWS.replace("m,old,5", "m,old,0"), invariants=MARGINS, constraints=zeros)
    assert public.schema.size == 4
    assert public.universe.cells == 3
    assert "1 cell is a structural zero" in public.scope.constraints


def test_it_depends_on_the_table_through_the_invariants_alone(tmp_path: Path) -> None:
    one = setting(tmp_path, invariants=MARGINS)
    same = setting(tmp_path, "sex,age,n\nf,young,5\nf,old,2\nm,young,0\nm,old,7\n", invariants=MARGINS)
    other = setting(tmp_path, "sex,age,n\nf,young,5\nf,old,2\nm,young,0\nm,old,8\n", invariants=MARGINS)
    assert one.scope == same.scope
    assert one.scope != other.scope
    np.testing.assert_array_equal(one.universe.values, same.universe.values)
    np.testing.assert_array_equal(one.universe.matrix.toarray(), same.universe.matrix.toarray())


@pytest.mark.parametrize("invariant", [{"total": True}, {"where": {"sex": ["f", "m"]}}])
def test_a_value_published_before_must_be_the_value(tmp_path: Path, invariant: dict[str, Any]) -> None:
    setting(tmp_path, invariants=[{**invariant, "equals": 14}])
    with pytest.raises(InvariantError, match="says equals = 15, but the data give 14: correct one of them"):
        setting(tmp_path, invariants=[{**invariant, "equals": 15}])
