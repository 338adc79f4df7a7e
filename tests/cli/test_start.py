"""The first steps of a new user: `holdfast init`, `holdfast demo`, and the help."""

import re
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.test_errors import sentence

from holdfast.version import VERSION


def test_the_example_can_be_released_as_it_is(run: Run, tmp_path: Path) -> None:
    outcome = run("init", tmp_path)
    assert outcome.code == 0
    assert f"Next: holdfast release {tmp_path / 'holdfast.toml'} --out release" in outcome.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["children.csv", "holdfast.toml"]
    assert run("release", tmp_path / "holdfast.toml", "--out", tmp_path / "release").code == 0
    assert run("verify", tmp_path / "release").code == 0


def steps(text: str) -> list[str]:
    return re.findall(r"^(?:Next|Then): holdfast (.*)$", text, re.MULTILINE)


def test_what_stands_on_an_earlier_release_tells_all_steps_in_order(run: Run, tmp_path: Path) -> None:
    before = f"release {tmp_path / 'topdown.toml'} --out {tmp_path / 'pl'}"
    after = f"release {tmp_path / 'dhc.toml'} --out {tmp_path / 'dhc'}"
    small = f"init {tmp_path} --topdown small"
    assert steps(run("init", tmp_path, "--topdown", "dhc").out) == [small, before, after]
    assert steps(run(*small.split()).out) == [before]
    for name in ("dhc.toml", "dhc.csv"):
        (tmp_path / name).unlink()
    assert steps(run("init", tmp_path, "--topdown", "dhc").out) == [before, after]
    for name in ("dhc.toml", "dhc.csv"):
        (tmp_path / name).unlink()
    (tmp_path / "pl").mkdir()
    assert steps(run("init", tmp_path, "--topdown", "dhc").out) == [after]


def test_init_overwrites_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "children.csv").write_text("mine")
    outcome = run("init", tmp_path)
    assert outcome.code == 2
    assert "children.csv exists already" in sentence(outcome.err)
    assert [path.name for path in tmp_path.iterdir()] == ["children.csv"]
    assert (tmp_path / "children.csv").read_text() == "mine"


def test_init_needs_a_folder(run: Run, tmp_path: Path) -> None:
    outcome = run("init", tmp_path / "none")
    assert outcome.code == 2
    assert "is not a folder" in sentence(outcome.err)


def test_the_demo_shows_before_and_after(run: Run, tmp_path: Path) -> None:
    outcome = run("demo", "--out", tmp_path / "demo", "--seed", "1")
    assert outcome.code == 0
    assert outcome.err.startswith("warning: THIS RELEASE PROTECTS NOBODY")
    words = " ".join(outcome.out.split())
    assert "Before and after" in words
    assert "Each cell: true count, noise, released count." in words
    rows = [re.split(r" {2,}", line) for line in outcome.out.split("Each cell")[0].splitlines()]
    rows = [["", *row, ""] for row in rows if row[-1].isdigit()]
    totals = {row[1].strip(): int(row[-2]) for row in rows}
    assert totals == {"Alpha": 20, "Beta": 55, "Gamma": 25, "Delta": 35, "Total": 135}
    for row in rows[:-1]:
        released = [int(cell.split("=")[1]) for cell in row[2:-2]]
        true, noise = zip(*(map(int, cell.split("=")[0].split()) for cell in row[2:-2]), strict=True)
        assert released == [t + n for t, n in zip(true, noise, strict=True)]
        assert sum(noise) == 0
    assert "every check holds" in words
    assert str(tmp_path / "demo" / "certificate.html") in outcome.out
    assert run("verify", tmp_path / "demo").code == 0


def test_the_demo_runs_once(run: Run, tmp_path: Path) -> None:
    assert run("demo", "--out", tmp_path / "demo").code == 0
    table = (tmp_path / "demo" / "table.csv").read_bytes()
    again = run("demo", "--out", tmp_path / "demo")
    assert (again.code, again.out) == (2, "")
    assert "exists already" in sentence(again.err)
    assert (tmp_path / "demo" / "table.csv").read_bytes() == table


def test_the_help_names_every_command(run: Run) -> None:
    outcome = run("--help")
    assert outcome.code == 0
    for command in ("init", "release", "verify", "demo", "audit"):
        assert f"\n  {command} " in outcome.out
    assert run("--version").out == f"holdfast {VERSION}\n"
