"""A file in several groups is swapped as it would be in one."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.mechanisms.swapping.small import counts, households, typed

from holdfast.data import parquet
from holdfast.data.microdata import open_microdata
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping import embedded
from holdfast.mechanisms.swapping.embedded import (
    Swap,
    Swapped,
    group_bounds,
    group_of,
    group_size,
    record_memory,
    require_room,
    swapped_groups,
)
from holdfast.mechanisms.swapping.public import survey
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import DataError
from holdfast.testing.goodness import LEVEL, p_value

COLUMNS = ColumnRoles(("state", "size"), ("county",), ("tenure", "income"))


def drawn(table: pa.Table, columns: ColumnRoles = COLUMNS, seed: int | None = 1) -> list[Swapped]:
    data = open_microdata(table)
    return list(swapped_groups(data, survey(data, columns, nulls=True), Swap(columns, Fraction(1, 2), seed)))


def whole(groups: list[Swapped]) -> pa.Table:
    return pa.concat_tables([one.records for one in groups])


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "GROUP", 40)
    monkeypatch.setattr(parquet, "BATCH", 17)


def test_several_groups_are_one_group_from_one_seed(several: None) -> None:
    table = households(300)
    groups = drawn(table)
    assert len(groups) > 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "GROUP", 1000)
        (one,) = drawn(table)
    assert whole(groups).equals(one.records)
    assert np.concatenate([part.sizes for part in groups]).tolist() == one.sizes.tolist()
    assert np.concatenate([part.moved for part in groups]).tolist() == one.moved.tolist()


@pytest.mark.usefixtures("several")
def test_several_groups_keep_what_one_keeps() -> None:
    table = households(300)
    found = whole(drawn(table, seed=None))
    for names in (("state", "size", "county"), ("state", "size", "tenure", "income")):
        assert counts(found, names) == counts(table, names)


@pytest.mark.usefixtures("several")
def test_several_groups_have_the_law_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of records: exchanged with probability p^2 / (p^2 + (1 - p)^2) = 1/2 at p = 1/2."""
    source = SeededEntropy(3)
    monkeypatch.setattr(embedded, "SystemEntropy", lambda: source)
    monkeypatch.setattr(embedded, "GROUP", 2000)
    number = 10_000
    table = pa.table(
        {
            "state": [at // 2 for at in range(2 * number)],
            "size": [1] * (2 * number),
            "county": [at % 2 for at in range(2 * number)],
            "tenure": [at % 2 for at in range(2 * number)],
            "income": [0] * (2 * number),
        }
    )
    monkeypatch.setattr(parquet, "BATCH", 3000)
    found = whole(drawn(table, seed=None))
    moved = (np.array(found.column("county")) != np.array(found.column("tenure")))[::2]  # of each pair, one
    assert p_value(moved[:, None].astype(np.int64), {(0,): 0.5, (1,): 0.5}) > LEVEL
    assert p_value(moved[:, None].astype(np.int64), {(0,): 0.55, (1,): 0.45}) < LEVEL / 1000


@pytest.mark.usefixtures("several")
def test_columns_of_every_type_pass_through_several_groups() -> None:
    table = typed(240)
    own = table.set_column(0, "s", pa.array([f"{at % 12}" for at in range(240)]))
    held = tuple(name for name in own.column_names if name not in ("s", "c"))
    columns = ColumnRoles(("s",), ("c",), held)
    groups = drawn(own, columns)
    assert len(groups) > 3
    found = whole(groups).cast(own.schema)
    assert counts(found, ("s", *held)) == counts(own, ("s", *held))


def test_groups_are_ranges_of_whole_strata() -> None:
    found = survey(open_microdata(households(300)), COLUMNS, nulls=False)
    bounds = group_bounds(found, 100)
    assert len(bounds) >= 2
    assert set(bounds.tolist()) <= set(found.words.tolist())
    places = group_of(found.words, bounds)
    assert (np.diff(places) >= 0).all()
    assert set(places.tolist()) == set(range(len(bounds) + 1))
    assert len(group_bounds(found)) == 0
    assert len(group_bounds(found, 1)) <= found.sizes.size - 1


def test_a_stratum_beyond_memory_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    data = open_microdata(households(300))
    found = survey(data, COLUMNS, nulls=False)
    require_room(data, found)
    monkeypatch.setattr(embedded, "free_memory", lambda: 1000)
    with pytest.raises(DataError, match=f"the largest stratum has {found.largest} records"):
        require_room(data, found)
    monkeypatch.setattr(embedded, "free_memory", lambda: None)
    require_room(data, found)


def test_wide_records_and_little_memory_make_smaller_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = pa.schema([("a", pa.int64())])
    wide = pa.schema([(f"c{i}", pa.int64()) for i in range(500)])
    monkeypatch.setattr(embedded, "free_memory", lambda: None)
    assert group_size(narrow) == embedded.GROUP
    assert group_size(wide) * record_memory(wide) == pytest.approx(embedded.GROUP_MEMORY, rel=0.01)
    monkeypatch.setattr(embedded, "free_memory", lambda: 2 * 10**6)
    assert group_size(narrow) * record_memory(narrow) == pytest.approx(10**6, rel=0.01)
