"""Tables of several files are brought to the places of the one that has all, and misspelt codes are found."""

from pathlib import Path

import pytest

from holdfast.data.places import on_one_geography
from holdfast.data.read import ReadTable, read_table
from holdfast.spec.files import FilesSpec
from holdfast.system.errors import DataError

PREFIXES = {"state": 1, "tract": 2, "block": 3}
ALL = "block,kind,n\n911,a,1\n912,b,2\n913,a,4\n921,a,3\n922,b,5\n"


def placed(folder: Path, *texts: str) -> tuple[dict[str, ReadTable], dict[str, ReadTable]]:
    """Return tables of some files by themselves, and on one geography."""
    names = [f"t{place}" for place in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        (folder / f"{name}.csv").write_text(text)
    spec = FilesSpec.of(
        {
            "data": {"geography": {"column": "block", "prefixes": PREFIXES}},
            "privacy": {"standard": "zcdp", "adjacency": "unit"},
            "mechanism": {"name": "topdown"},
            "tables": [
                {
                    "name": name,
                    "cells": ["kind"],
                    "data": {"path": f"{name}.csv", "count": "n"},
                    "privacy": {"unit": unit, "rho": "1"},
                }
                for name, unit in zip(names, ("person", "building", "car"), strict=False)
            ],
        },
        folder=folder,
    )
    specs = dict(zip(spec.names, spec.specs, strict=True))
    alone = {name: read_table(one) for name, one in specs.items()}
    return alone, on_one_geography(specs, alone)


def test_a_table_that_leaves_out_places_counts_nothing_there(tmp_path: Path) -> None:
    alone, found = placed(tmp_path, ALL, "block,kind,n\n922,a,7\n911,a,6\n")
    assert found["t0"] is alone["t0"]
    block = found["t1"].table.schema.attribute("block")
    assert block == alone["t0"].table.schema.attribute("block")
    assert found["t1"].table.counts.tolist() == [6, 0, 0, 0, 7]


def test_its_columns_are_known_by_their_own_rows(tmp_path: Path) -> None:
    """A ledger tells a file by its columns: how many of its rows have each value, whatever others have."""
    alone, found = placed(tmp_path, ALL, "block,kind,n\n922,a,7\n911,a,6\n")
    assert found["t1"].marks == alone["t1"].marks
    assert found["t1"].rows["block"].tolist() == [1, 0, 0, 0, 1]
    assert found["t1"].identity == alone["t1"].identity


def test_how_many_places_were_left_out_is_a_warning(tmp_path: Path) -> None:
    _, found = placed(tmp_path, ALL, "block,kind,n\n912,a,6\n922,a,7\n")
    assert found["t0"].warnings == ()
    (said,) = found["t1"].warnings
    assert said.endswith(
        "t1.csv leaves out 3 of the 5 places of the table 't0', block '911', '913', '921': nothing is counted"
        " there, unless a code is misspelt."
    )
    _, found = placed(tmp_path, ALL, ALL.replace(",a,", ",c,"))
    assert not any(one.warnings for one in found.values())


@pytest.mark.parametrize("code", ["9x1", "999"])
def test_a_place_around_which_no_other_table_has_any_is_refused(tmp_path: Path, code: str) -> None:
    some = "block,kind,n\n911,a,6\n922,a,7\n"
    with pytest.raises(DataError, match=rf"t0.csv has the block '{code}', and no other .* '{code[:2]}': "):
        placed(tmp_path, f"{ALL}{code},a,1\n", some)
    _, found = placed(tmp_path, f"{ALL}{code},a,1\n", some, f"block,kind,n\n911,a,1\n{code},a,0\n")
    assert len(found["t1"].rows["block"]) == 6


def test_one_table_has_the_places_of_all(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has the block '914', which the table 't0' does not have: "):
        placed(tmp_path, ALL, "block,kind,n\n914,a,6\n922,a,7\n")
