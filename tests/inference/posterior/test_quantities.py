"""Exposures and earlier counts, by the attributes that their file has."""

from pathlib import Path

import pytest

from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.inference.posterior.problem import read_numbers
from holdfast.system.errors import DataError

SCHEMA = Schema(Attributes.of({"county": ("A", "B"), "sex": ("f", "m")}), Runs.of({3}))


def written(folder: Path, text: str) -> Path:
    path = folder / "numbers.csv"
    path.write_text(text)
    return path


def test_cells_that_agree_have_the_same_number(tmp_path: Path) -> None:
    path = written(tmp_path, "county,people\nB,20.5\nA,10\n")
    assert read_numbers(path, "people", SCHEMA).tolist() == [10, 10, 20.5, 0]  # a structural zero has none
    path = written(tmp_path, "sex,county,people\nf,A,1\nm,A,2\nf,B,3\n")
    assert read_numbers(path, "people", SCHEMA).tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("town,people\nA,1\n", "no column of an attribute"),
        ("county,peeple\nA,1\n", "did you mean 'peeple'"),
        ("county,people\nA,1\n", "no 'people' for the cell county = 'B'"),
        ("county,people\nA,1\nB,-2\n", "row 3, column 'people' is '-2'"),
        ("county,people\nA,1\nB,much\n", "is 'much'"),
        ("county,people\nA,1\nB,nan\n", "is 'nan'"),
        ("county,people\nA,1\nB,\n", "row 3, column 'people' is empty"),
        ("county,people\nA,1\nB,1e300\n", "is '1e300'"),
        ("county,people\n", "no 'people' for the cell county = 'A'"),
        ("county,people\nA,1\nB,2\nA,3\n", "has the levels of row 2"),
        ("county,people\nA,1\nC,2\n", "not declared"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_numbers(written(tmp_path, text), "people", SCHEMA)
