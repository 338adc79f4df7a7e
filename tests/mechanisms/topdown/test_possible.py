"""Possible releases of invented counts: estimates that keep what is kept, summed as a reader sums them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.topdown.small import spec

from holdfast.mechanisms.topdown import estimate
from holdfast.releases.prepare import prepare

NUMBER = 3


def made(folder: Path) -> Any:
    table = prepare(spec(folder)).table
    return table.mechanism.possible(table.public, NUMBER)


def test_they_are_whole_seeded_and_keep_the_totals_of_counties(tmp_path: Path) -> None:
    one = made(tmp_path)
    assert one.whole
    assert len(one.tables) == NUMBER
    assert all(table.min() >= 0 for table in one.tables)
    assert any((table != one.truth).any() for table in one.tables)
    labels, truth, tables = one.sums(("county",))
    assert labels == ["91", "92"]
    assert (tables == truth).all()
    again = made(tmp_path)
    assert all(np.array_equal(a, b) for a, b in zip(one.tables, again.tables, strict=True))


@pytest.mark.parametrize("names", [(), ("tract",), ("age",), ("tract", "sex"), ("block", "age", "sex")])
def test_sums_are_those_of_the_tables(names: tuple[str, ...], tmp_path: Path) -> None:
    one = made(tmp_path)
    blocks, cells = one.regions.places["block"], one.regions.cells
    asked: dict[str, list[int]] = {}
    for leaf, block in enumerate(blocks):
        for cell in range(one.truth.shape[1]):
            levels = dict(zip(cells.names, cells.cell(cell), strict=True))
            told = {"block": block, "tract": block[:3], **levels}
            sums = asked.setdefault(", ".join(told[name] for name in names) or "total", [0] * (NUMBER + 1))
            for place, table in enumerate((one.truth, *one.tables)):
                sums[place] += int(table[leaf, cell])
    labels, truth, tables = one.sums(names)
    found = {label: [int(truth[at]), *map(int, tables[:, at])] for at, label in enumerate(labels)}
    assert found == asked


def test_of_a_large_geography_a_part_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "MOST_POSSIBLE", 20)
    one = made(tmp_path)
    assert not one.whole
    assert one.truth.shape == (5, 4)
    assert not one.asks(("area",))
