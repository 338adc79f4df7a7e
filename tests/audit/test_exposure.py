import json
from pathlib import Path

import pytest

from holdfast import audit
from holdfast.cli.universe import exposure as command

SPEC = """
[data]
path = "data.csv"
cells = ["town", "sex"]
count = "n"
[data.levels]
town = ["A", "B", "C"]
sex = ["f", "m"]
[[invariants]]
margin = ["town"]
[[invariants]]
margin = ["sex"]
[constraints]
structural_zeros = [{ town = "C", sex = "f" }]
[privacy]
standard = "pure"
epsilon = "1"
[mechanism]
name = "lattice-laplace"
"""
DATA = "town,sex,n\nA,f,2\nA,m,1\nB,f,1\nB,m,0\nC,m,4\n"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(DATA)
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def test_determined_cells_and_intervals_are_named(spec: Path) -> None:
    report = audit.exposure(spec).to_dict()
    assert report["for_the_curator_only"] is True
    assert report["exact"] is True
    # C has men only, so its 4 are known; A and B share 3 women and 1 man
    assert report["determined"] == [{"cell": {"town": "C", "sex": "m"}, "value": 4}]
    assert report["people_exposed"] == 4
    by_cell = {tuple(item["cell"].values()): (item["low"], item["high"]) for item in report["intervals"]}
    assert by_cell == {("A", "f"): (2, 3), ("A", "m"): (0, 1), ("B", "f"): (0, 1), ("B", "m"): (0, 1)}
    assert report["nearly_revealed"] == report["intervals"]


def test_text_says_who_may_see_it(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(spec, as_json=False, out=None)
    text = capsys.readouterr().out
    assert "For the curator only" in text
    assert "1 of 5 cells" in text
    assert "4 records" in text


def test_json_says_who_may_see_it(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(spec, as_json=True, out=None)
    assert json.loads(capsys.readouterr().out) == audit.exposure(spec).to_dict()
