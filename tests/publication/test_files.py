"""Published files of every kind say what they print: rules, hierarchies, and what is no table."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from holdfast.publication.report import PublicationReport, audit, audit_of
from holdfast.publication.spec import PublicationSpec, rule_of
from holdfast.system.errors import DataError, HoldfastError, SpecError

DATASET: dict[str, Any] = {
    "class": "dataset",
    "id": ["county", "sex"],
    "size": [2, 2],
    "dimension": {
        "county": {"category": {"index": ["A", "B"], "label": {"A": "Alder", "B": "Birch"}}},
        "sex": {"category": {"index": {"m": 1, "f": 0}}},
    },
    "value": [10, None, 5, 7],
    "status": {"1": "*"},
}


def cells(report: PublicationReport) -> dict[str, tuple[int, int | None]]:
    found = report.to_dict()["cells"]
    return {" ".join(one["levels"].values()): (one["least"], one["largest"]) for one in found}


def read(folder: Path, text: str, rule: str) -> dict[str, tuple[int, int | None]]:
    (folder / "t.csv").write_text(text)
    return cells(audit_of(folder / "t.csv", rule_of(rule), remedied=False))


@pytest.mark.parametrize(
    ("rule", "token", "ends"),
    [
        ("exact", "7", (7, 7)),
        ("rounded:5", "10", (8, 12)),
        ("rounded:4", "8", (6, 10)),
        ("rounded:5", "0", (0, 2)),
        ("rounded:3:random", "6", (4, 8)),
        ("rounded:5:up", "10", (6, 10)),
        ("rounded:5:down", "10", (10, 14)),
        ("suppressed:10", "*", (1, 9)),
        ("suppressed:10:hidden", "*", (0, 9)),
        ("top-coded:20", "20+", (20, None)),
        ("top-coded:20", "20", (20, None)),
        ("top-coded:20", "19", (19, 19)),
        ("coarsened", "5-9", (5, 9)),
        ("coarsened", "<10", (0, 9)),
        ("coarsened", "100+", (100, None)),
        ("drb", "4", (1, 7)),
        ("drb", "0", (0, 0)),
    ],
)
def test_a_number_says_what_its_rule_says(
    rule: str, token: str, ends: tuple[int, int | None], tmp_path: Path
) -> None:
    assert (
        read(tmp_path, f"county,n\nA,{token}\nB,0\n" if rule == "drb" else f"county,n\nA,{token}\n", rule)[
            "A"
        ]
        == ends
    )


def test_the_rounding_of_the_board_goes_by_size(tmp_path: Path) -> None:
    found = read(tmp_path, "a,n\nx,<15\ny,20\nz,150\nw,1200\n", "drb")
    assert found == {"x": (0, 14), "y": (15, 25), "z": (125, 175), "w": (1150, 1250)}
    spec = {"published": [{"path": "t.csv", "rule": "drb"}]}
    assert cells(audit(PublicationSpec.of(spec, folder=tmp_path), remedied=False)) == found


def test_a_second_symbol_says_that_a_count_is_large(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,n\nx,*\ny,c\nz,12\n")
    rule = rule_of("suppressed:10")
    found = cells(audit_of(tmp_path / "t.csv", rule | {"secondary": "c"}, remedied=False))
    assert found == {"x": (1, 9), "y": (10, None), "z": (12, 12)}
    (tmp_path / "t.csv").write_text("a,n\nx,*\ny,*\nz,12\n")
    assert cells(audit_of(tmp_path / "t.csv", rule | {"secondary": "*"}, remedied=False))["x"] == (1, None)


def test_parquet_and_json_stat_are_read_as_csv_is(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"county": ["Alder", "Alder", "Birch", "Birch"], "sex": ["f", "m"] * 2, "n": [10, None, 5, 7]}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.json").write_text(json.dumps(DATASET))
    sparse = {**DATASET, "value": {"0": 10, "2": 5, "3": 7}}
    (tmp_path / "sparse.json").write_text(json.dumps({"dataset": sparse}))
    rule = rule_of("suppressed:5")
    parquet = cells(audit_of(tmp_path / "t.parquet", rule | {"symbol": ""}, remedied=False))
    assert parquet == {"Alder f": (10, 10), "Alder m": (1, 4), "Birch f": (5, 5), "Birch m": (7, 7)}
    for name in ("t.json", "sparse.json"):
        assert cells(audit_of(tmp_path / name, rule, remedied=False)) == parquet


def spec_of(folder: Path, *tables: tuple[str, str, str], **population: Any) -> PublicationSpec:
    listed = []
    for number, (text, rule, name) in enumerate(tables):
        path = name or f"{number}.csv"
        (folder / path).write_text(text)
        listed.append({"path": path, **rule_of(rule)})
    return PublicationSpec.of({"published": listed, "population": population}, folder=folder)


def test_levels_that_hold_others_are_their_sums(tmp_path: Path) -> None:
    (tmp_path / "r.hrc").write_text("North\n@N1\n@N2\nSouth\n@S1\n@@S1a\n@@S1b\n")
    inner = ("region,n\nN1,*\nN2,15\nS1a,*\nS1b,12\n", "suppressed:10", "")
    outer = ("region,n\nNorth,20\nSouth,20\n", "exact", "")
    nested = spec_of(tmp_path, inner, outer, hierarchies={"region": "r.hrc"})
    assert cells(audit(nested, remedied=False)) == {
        "N1": (5, 5),
        "N2": (15, 15),
        "S1a": (8, 8),
        "S1b": (12, 12),
    }
    codes = spec_of(
        tmp_path,
        ("t,n\n00101,*\n00102,15\n00201,7\n", "suppressed:7", ""),
        ("t,n\n001,20\n002,7\n", "exact", ""),
    )
    assert cells(audit(codes, remedied=False)) == {"00101": (5, 5), "00102": (15, 15), "00201": (7, 7)}
    zeros = spec_of(tmp_path, ("t,n\n000,7\n001,*\n", "suppressed:7", ""), ("t,n\n00,11\n", "exact", ""))
    assert cells(audit(zeros, remedied=False)) == {"000": (7, 7), "001": (4, 4)}
    ages = spec_of(
        tmp_path, ("age,n\nUnder 5,3\n5-17,*\n18+,9\n", "suppressed:3", ""), ("age,n\n0-17,5\n", "exact", "")
    )
    assert cells(audit(ages, remedied=False))["5-17"] == (2, 2)


def test_what_can_be_no_table_is_one_sentence(tmp_path: Path) -> None:
    good = "county,n\nA,10\nB,25\n"
    (tmp_path / "r.hrc").write_text("North\n@A\n")
    (tmp_path / "deep.hrc").write_text("North\n@@A\n")
    for text, rule, error in (
        ("county,n\nA,3\nA,4\n", "exact", "row 3 lists a cell a second time"),
        ("county,n\nA,-3\n", "exact", "which is no count"),
        ("county,n\nA,7\n", "rounded:5", "no multiple of 5"),
        ("county,n\nA,7\n", "suppressed:10", "should be suppressed"),
        ("county,n\nA,101\n", "top-coded:100", "cut off at 100"),
        ("county,n\n", "exact", "has no row"),
        ("county,n\n,4\n", "exact", "has no 'county'"),
    ):
        with pytest.raises(DataError, match=error):
            read(tmp_path, text, rule)
    for population, error in (
        ({"hierarchies": {"county": "r.hrc"}}, "has no level 'B' of county"),
        ({"hierarchies": {"county": "deep.hrc"}}, "more than one level below"),
        ({"hierarchies": {"county": "none.hrc"}}, "does not exist"),
        ({"hierarchies": {"region": "r.hrc"}}, "which no table has"),
        ({"attributes": ["county", "age"]}, "'age', which no table has"),
        ({"group": {"facts": "age"}}, "no attribute of the population"),
    ):
        with pytest.raises(SpecError, match=error):
            audit(spec_of(tmp_path, (good, "exact", ""), **population))
    (tmp_path / "t.json").write_text('{"class": "collection"}')
    for name in ("t.json", "t.txt", "none.csv", "."):
        with pytest.raises(HoldfastError):
            audit_of(tmp_path / name)
