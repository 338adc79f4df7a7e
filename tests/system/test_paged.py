"""Large arrays in files: the numbers of any other array, and little memory."""

import mmap
from pathlib import Path
from threading import active_count

import numpy as np
import pytest

from holdfast.data.schema import Attributes, Schema
from holdfast.data.table import Table
from holdfast.lattice.arrays import narrow
from holdfast.system import paged as room
from holdfast.system.paged import is_paged, paged

SIZE = 3 * room.LARGE // 8


def held() -> int:
    """Return the bytes of files that this process has pages of."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("RssFile:")).split()[1])


def test_small_ones_are_held_and_large_ones_stand_in_a_file() -> None:
    small, large = paged(10, np.int64), paged((2, SIZE // 2), np.int32)
    assert not is_paged(small)
    assert is_paged(large)
    assert large.shape == (2, SIZE // 2)
    assert large.dtype == np.int32
    assert not small.any()
    assert not large.any()


def test_numbers_stay_when_pages_are_let_go_of() -> None:
    values = paged(SIZE, np.int64)
    for _ in range(3):
        values += np.arange(SIZE)
        assert room.WATCH.let_go()
    assert np.array_equal(values, 3 * np.arange(SIZE))
    assert np.array_equal(values[5:][::7], 3 * np.arange(SIZE)[5:][::7])


def test_a_file_of_others_is_not_one_of_these(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "theirs", dtype=np.int64, mode="w+", shape=4)
    assert not is_paged(mapped)
    assert is_paged(paged(SIZE, np.int64)[3:])


def test_what_is_not_looked_at_is_not_held() -> None:
    before = held()
    values = paged(SIZE, np.int64)
    values[:] = 1
    room.WATCH.let_go()
    assert held() < before + values.nbytes // 8
    assert values.sum() == SIZE


def test_the_watch_ends_with_the_last_array() -> None:
    watch, before = room.Watch(), active_count()
    pages = mmap.mmap(-1, mmap.PAGESIZE)
    watch.see_to(pages)
    assert watch.let_go()
    del pages
    assert not watch.let_go()
    pages = mmap.mmap(-1, mmap.PAGESIZE)
    watch.see_to(pages)
    assert active_count() > before


def test_without_room_for_a_file_all_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    values = paged(SIZE, np.int64)
    assert not is_paged(values)
    assert values.size == SIZE


def test_a_table_takes_what_nobody_changes_as_it_is() -> None:
    schema = Schema(Attributes.of({"cell": [f"{at}" for at in range(1000)], "other": ["a", "b"]}))
    whole = paged(SIZE, np.int64)
    given = whole[: schema.size]
    given.setflags(write=False)
    assert not np.shares_memory(Table(schema, given).counts, given)  # what it is a part of may change
    whole.setflags(write=False)
    assert np.shares_memory(Table(schema, given).counts, given)


def test_few_bits_are_kept_in_a_file_too() -> None:
    values = paged(SIZE * 2, np.int64)
    values[-1] = 70_000
    kept = narrow(values)
    assert kept.dtype == np.int32
    assert is_paged(kept)
    assert np.array_equal(kept, values)


def test_numbers_that_do_not_fit_are_refused() -> None:
    schema = Schema(Attributes.of({"cell": ["a", "b"]}))
    with pytest.raises(ValueError, match="64-bit"):
        Table(schema, np.array([1, 2**63], dtype=np.uint64))
    assert Table(schema, np.array([0, 2**63 - 1], dtype=np.uint64)).total == 2**63 - 1
