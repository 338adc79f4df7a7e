"""What a swap did, for the curator's eyes only: as counted by hand."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mechanisms.swapping.small import asked, households, released, typed

import holdfast
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping import utility
from holdfast.mechanisms.swapping.utility import CLASSES, FOR_WHOM, MOST_COLUMNS, SwapMonitor


def report(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "out-utility.json").read_text())
    assert isinstance(found, dict)
    return found


def test_the_report_is_beside_the_release_and_says_for_whom(tmp_path: Path) -> None:
    done = released(tmp_path, households(300))
    found = report(tmp_path)
    assert done.report == tmp_path / "out-utility.json"
    assert next(iter(found)) == "for"
    assert found["for"] == FOR_WHOM
    assert "curator's eyes only" in FOR_WHOM
    assert not list((tmp_path / "out").glob("*utility*"))


def test_errors_are_those_by_hand(tmp_path: Path) -> None:
    before = households(300)
    released(tmp_path, before)
    after = pq.read_table(tmp_path / "out/microdata.parquet")
    found = report(tmp_path)

    def cells(table: pa.Table) -> Counter[tuple[Any, ...]]:
        return Counter(
            zip(table.column("county").to_pylist(), table.column("tenure").to_pylist(), strict=True)
        )

    true, swapped = cells(before), cells(after)
    errors = [abs(swapped[cell] - count) / count for cell, count in true.items()]
    (table,) = (one for one in found["two_way_tables"] if one["columns"] == ["county", "tenure"])
    assert table["cells"] == len(true)
    assert table["mean_absolute_percentage_error"] == pytest.approx(100 * sum(errors) / len(errors))
    assert table["cells_changed"] == sum(error > 0 for error in errors)
    assert table["cells_changed"] > 0


def test_shares_are_of_all_records(tmp_path: Path) -> None:
    released(tmp_path, households(300))
    found = report(tmp_path)
    by_size = found["moved_by_stratum_size"]
    assert found["records"] == sum(one["records"] for one in by_size) == 300
    assert found["moved"] == pytest.approx(sum(one["share"] * one["records"] for one in by_size))
    assert found["share_moved"] == found["moved"] / 300
    assert 0.3 < found["share_moved"] < 0.7
    assert by_size[0] == {"smallest": 1, "largest": 1, "strata": 1, "records": 1, "share": 0.0}
    assert sorted(CLASSES) == list(CLASSES)


def test_columns_with_few_levels_are_compared() -> None:
    table = typed(300)
    held = tuple(name for name in table.column_names if name not in ("s", "c"))
    watch = SwapMonitor.of(ColumnRoles(("s",), ("c",), held), table)
    compared = [tally.attributes[1] for tally in watch.before]
    assert len(compared) == MOST_COLUMNS
    assert not set(compared) & {"h", "double", "bytes", "list", "struct", "uuid", "nothing"}


@pytest.mark.parametrize("name", ["after", "records", "count", "share", "stratum", "id", "key"])
def test_columns_of_any_name_are_compared(name: str, tmp_path: Path) -> None:
    table = households().rename_columns(["state", "size", name, "tenure", "income"])
    released(tmp_path, table, mechanism={"swap": [name]})
    assert [name, "tenure"] in [one["columns"] for one in report(tmp_path)["two_way_tables"]]


def test_a_path_of_ones_own(tmp_path: Path) -> None:
    pq.write_table(households(), tmp_path / "households.parquet")
    spec = asked(tmp_path, "households.parquet")
    done = holdfast.release(
        spec, tmp_path / "out", seed=1, utility=tmp_path / "mine.json", accept_no_protection=True
    )
    assert done.report == tmp_path / "mine.json"
    assert not (tmp_path / "out-utility.json").exists()


def test_tables_of_too_many_cells_are_left_out_the_largest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = households(300)
    table = table.append_column("rooms", pa.array([at % 8 for at in range(300)]))
    released(tmp_path, table)
    every = {tuple(one["columns"]): one["cells"] for one in report(tmp_path)["two_way_tables"]}
    largest = max(every, key=lambda pair: every[pair])
    assert largest == ("county", "rooms")
    assert report(tmp_path)["two_way_tables_left_out"] == []
    (tmp_path / "again").mkdir()
    monkeypatch.setattr(utility, "MOST_CELLS", every[largest])
    released(tmp_path / "again", table)
    found = report(tmp_path / "again")
    assert found["two_way_tables_left_out"] == [["county", "rooms"]]
    assert [one["columns"] for one in found["two_way_tables"]] == [["county", "tenure"]]
