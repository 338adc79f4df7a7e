from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.data.table import Table
from holdfast.system.errors import DataError, SpecError

SCHEMA = Schema(Attributes.of({"sex": ("f", "m"), "age": ("0", "1", "2")}))


def table(counts: list[int]) -> Table:
    return Table(SCHEMA, np.array(counts))


@given(data=st.data())
def test_a_margin_is_a_sum_over_cells(tables: SearchStrategy[Table], data: st.DataObject) -> None:
    some = data.draw(tables)
    order = data.draw(st.permutations(some.schema.names))
    names = order[: data.draw(st.integers(0, len(order)))]
    axes = [some.schema.axis(name) for name in names]
    expected = [
        sum(
            int(some.counts[cell])
            for cell in range(some.schema.size)
            if tuple(some.schema.cell(cell)[axis] for axis in axes) == levels
        )
        for levels in product(*(some.schema.attribute(name).levels for name in names))
    ]
    assert some.margin(names).tolist() == expected
    assert some.total == some.margin(())[0]


def test_counts_are_copied_and_read_only() -> None:
    counts = np.arange(6)
    some = Table(SCHEMA, counts)
    counts[0] = 9
    assert some.counts[0] == 0
    assert some.counts.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        some.counts[0] = 1


def test_equality_is_by_value() -> None:
    assert table([1, 2, 3, 4, 5, -6]) == table([1, 2, 3, 4, 5, -6])
    assert hash(table([1] * 6)) == hash(table([1] * 6))
    assert table([1, 2, 3, 4, 5, 6]) != table([1, 2, 3, 4, 5, 7])
    assert table([0] * 6) != "a table"


def test_confidential_counts_are_never_shown() -> None:
    some = table([717, 817, 917, 718, 818, 918])
    assert repr(some) == str(some) == "<confidential table: sex (2), age (3); 6 cells>"


def test_refuses_what_is_no_count() -> None:
    with pytest.raises(TypeError, match="integers"):
        Table(SCHEMA, np.zeros(6))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shape"):
        table([1, 2])
    with pytest.raises(DataError, match="the cell sex = 'f', age = '2' holds a count"):
        Table(Schema(SCHEMA.attributes, Runs.of({2})), np.ones(6, dtype=np.int64))
    with pytest.raises(ValueError, match="64-bit"):
        Table(SCHEMA, np.full(6, 2**63, dtype=np.uint64))


def test_refuses_a_margin_it_cannot_make() -> None:
    with pytest.raises(SpecError, match="did you mean 'sex'"):
        table([0] * 6).margin(("sexx",))
    with pytest.raises(ValueError, match="distinct"):
        table([0] * 6).margin(("sex", "sex"))
