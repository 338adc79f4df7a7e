"""What the commands say of data on standard error."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run

NESTED = "county,tract,sex,n\n" + "".join(f"{'AB'[t > 2]},{t},{s},{t + 1}\n" for t in range(6) for s in "fm")
SPEC = """
[data]
path = "data.csv"
cells = ["county", "tract", "sex"]
count = "n"
{more}
[[invariants]]
margin = ["county"]
[privacy]
epsilon = "1"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(NESTED)
    (tmp_path / "plain.toml").write_text(SPEC.format(more=""))
    (tmp_path / "nested.toml").write_text(SPEC.format(more='within = { tract = "county" }'))
    return tmp_path


@pytest.mark.parametrize("command", ["plan", "audit universe", "audit exposure", "release"])
def test_attributes_that_look_nested_are_warned_of(run: Run, folder: Path, command: str) -> None:
    for name, warned in (("plain", True), ("nested", False)):
        out = ["--out", folder / f"out-{name}"] if command == "release" else []
        done = run(*command.split(), folder / f"{name}.toml", *out)
        assert done.code == 0
        said = "24 cells are made where 12 are real"
        assert (said in done.err and done.err.startswith("warning: ")) is warned
        assert said not in done.out


def test_a_tract_in_two_counties_is_refused_and_nothing_is_written(run: Run, folder: Path) -> None:
    (folder / "data.csv").write_text(NESTED + "B,1,x,4\n")
    done = run("release", folder / "nested.toml", "--out", folder / "out")
    assert done.code == 2
    assert "tract '1' lies in county 'A' and in county 'B'" in done.err
    assert done.err.count("\n") == 1
    assert not (folder / "out").exists()


def test_another_separator_is_named(run: Run, folder: Path) -> None:
    (folder / "data.csv").write_text(NESTED.replace(",", ";"))
    done = run("release", folder / "nested.toml", "--out", folder / "out")
    assert done.code == 2
    assert 'set separator = ";" in [data]' in done.err
