"""What comes from outside is shown and never obeyed: names that steer terminals, pipes, bombs, formulas."""

import ast
import json
import os
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.certificate.falsify import write
from tests.cli.conftest import Run
from tests.cli.test_errors import BUDGET, DATA, ROWS, WEIGHTS, sentence, spec

import holdfast.cli
from holdfast.cli import main
from holdfast.cli.console import Terminal

EVIL = "a\x1b[2J\x07\x08\x9b31m\u202eb\u2066\u200b\u2028c\td"
SEEN = r"a\x1b[2J\x07\x08\x9b31m\u202eb\u2066\u200b\u2028c\td"
PRINTS = ("print", "add_row", "add_column")
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069]")
"""All that steers, but for the newlines between the program's own lines."""


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """Return a spec whose names, levels and folder would all steer a terminal."""
    folder = tmp_path / f"{EVIL}\n\r"
    folder.mkdir()
    rows = [
        f'"{EVIL}{EVIL}",young,3',
        f'"{EVIL}\nkept",young,4',
        f'"{EVIL}{EVIL}",old,4',
        f'"{EVIL}\nkept",old,5',
    ]
    (folder / "data.csv").write_text("\n".join([f"{EVIL},age,{EVIL}n", *rows]) + "\n", newline="")
    name = json.dumps(EVIL)
    (folder / "s.toml").write_text(
        f'[data]\npath = "data.csv"\ncells = [{name}, "age"]\ncount = {json.dumps(EVIL + "n")}\n'
        f'[privacy]\nepsilon = "1"\n[[invariants]]\nmargin = [{name}]\n'
        f'[[invariants]]\nwhere = {{ age = "old" }}\nname = {json.dumps(EVIL + chr(10) + "kept    all")}\n'
    )
    (folder / "m.toml").write_text(
        f'[model]\nkind = "proportions"\nareas = [{name}]\n[sampler]\ndraws = 16\nwarmup = 0\n'
    )
    return folder


def test_no_command_lets_names_steer_the_terminal(run: Run, evil: Path) -> None:
    toml, out = evil / "s.toml", evil / f"{EVIL}-out"
    commands: tuple[tuple[str | Path, ...], ...] = (
        ("ledger", "open", evil / "l.db", "--budget", "5"),
        ("release", toml, "--out", out, "--ledger", evil / "l.db"),
        ("plan", toml),
        ("compare", toml, "--mechanisms", "lattice-laplace", "--draws", "20"),
        ("audit", "universe", toml),
        ("audit", "exposure", toml),
        ("audit", "guarantee", toml, "--epsilon", "1"),
        ("verify", out),
        ("intervals", out),
        ("intervals", out, "--where", f"{EVIL}={EVIL}{EVIL}"),
        ("postprocess", out, "--method", "integers-l1", "--output", evil / "pp", "--bias-draws", "0"),
        ("infer", out, "--model", evil / "m.toml", "--out", evil / "posterior"),
        ("ledger", "show", evil / "l.db"),
        ("ledger", "verify", evil / "l.db", "--release", out),
        ("ledger", "export", evil / "l.db"),
        ("verify", out, "--json"),
        ("intervals", out, "--json"),
    )
    for command in commands:
        outcome = run(*command)
        assert outcome.code == 0, outcome.err
        assert not FORBIDDEN.search(outcome.out + outcome.err), command
        assert not re.search(r"^kept    all", outcome.out, re.M)  # a line that is none of the program's
    assert SEEN in run("verify", out).out


def test_errors_show_names_and_stay_one_line(run: Run, evil: Path) -> None:
    wrong: tuple[tuple[str | Path, ...], ...] = (
        ("plan", evil / "none.toml"),
        ("verify", evil),
        ("intervals", evil / "s.toml"),
        ("ledger", "show", evil / "none.db"),
        ("audit", "guarantee", "--epsilon", f"1{EVIL}"),
        ("init", evil / "s.toml"),
    )
    for command in wrong:
        outcome = run(*command)
        assert outcome.code == 2
        assert not FORBIDDEN.search(sentence(outcome.err))
        assert r"\x1b" in outcome.err
    for usage in (("plan", f"--{EVIL}"), (EVIL,), ("compare", "s.toml", "--draws", EVIL)):
        outcome = run(*usage)
        assert outcome.code == 2
        assert not FORBIDDEN.search(outcome.err)


def test_on_a_terminal_only_the_programs_own_colours_show(
    run: Run, evil: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = evil / "out"
    assert run("release", evil / "s.toml", "--out", out).code == 0
    (out / "table.csv").write_text("changed")
    monkeypatch.setenv("FORCE_COLOR", "1")
    outcome = run("verify", out)
    assert outcome.code == 1
    assert "\x1b[" in outcome.out
    assert not FORBIDDEN.search(re.sub(r"\x1b\[[0-9;]*m", "", outcome.out))


def test_a_console_shows_what_tables_and_lines_hold(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.table import Table

    table = Table(title=EVIL, caption=EVIL)
    table.add_column(EVIL, footer=EVIL)
    table.add_row(EVIL)
    console = Terminal(highlight=False, markup=False, emoji=False, width=200)
    console.print(table)
    console.print(EVIL, EVIL, soft_wrap=True)
    shown = capsys.readouterr().out
    assert shown.count(SEEN) == 6
    assert not FORBIDDEN.search(shown)


def test_commands_print_line_by_line() -> None:
    """A newline in a text is shown as one from outside would be, so no command prints any."""
    cli = Path(holdfast.cli.__file__).parent
    printed = [
        (path.name, node.lineno)
        for path in sorted(cli.glob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in PRINTS
        for argument in call.args
        for node in ast.walk(argument)
        if isinstance(node, ast.Constant) and "\n" in str(node.value)
    ]
    assert printed == []


# Names in certificates, and files that are none


@pytest.fixture
def release(run: Run, example: Path) -> Path:
    out = example.parent / "out"
    assert run("release", example, "--out", out).code == 0
    return out


USERS: tuple[Callable[[Path], tuple[str | Path, ...]], ...] = (
    lambda folder: ("intervals", folder),
    lambda folder: (
        *("postprocess", folder, "--method", "integers-l1", "--bias-draws", "0"),
        *("--output", folder.parent / "pp"),
    ),
)


@pytest.mark.parametrize(
    "name",
    ["table./../../secret.csv", "../table.csv", "/table.csv", "table.\\x.csv", "..", "", "table.\x1b.csv"],
)
def test_names_that_lead_out_of_the_folder_are_violations(run: Run, release: Path, name: str) -> None:
    (release.parent / "secret.csv").write_text("secret")
    path = release / "certificate.json"
    path.write_text(path.read_text().replace('"table.csv"', json.dumps(name)))
    for command in USERS:
        outcome = run(*command(release))
        assert outcome.code == 1
        assert "VIOLATED" in outcome.out
        assert "secret" not in outcome.out.replace("secret.csv", "")
        assert not FORBIDDEN.search(outcome.out)
    assert not (release.parent / "pp").exists()


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "socket"])
def test_what_is_no_plain_file_is_no_part_of_a_release(run: Run, release: Path, kind: str) -> None:
    for name in ("table.csv", "certificate.html"):
        path, kept = release / name, (release / name).read_bytes()
        path.unlink()
        put_special(path, kind)
        for command in USERS:
            outcome = run(*command(release))
            assert (outcome.code, outcome.err) == (1, "")
        path.rmdir() if kind == "folder" else path.unlink()
        path.write_bytes(kept)
    (release / "certificate.json").unlink()
    put_special(release / "certificate.json", kind)
    for command in USERS:
        outcome = run(*command(release))
        assert outcome.code == 2
        assert "a release is made of plain files" in sentence(outcome.err)


def put_special(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        here = Path.cwd()
        os.chdir(path.parent)  # the address of a socket is short
        try:
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(path.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "socket"])
def test_pipes_and_devices_are_not_waited_for(run: Run, tmp_path: Path, kind: str) -> None:
    (tmp_path / "data.csv").write_text(ROWS)
    place = tmp_path / "x.csv"
    put_special(place, kind)
    chain = 'mechanism = { name = "conditioned", chain = true, moves = "x.csv" }\n'
    moves = f"{chain}constraints = {{ nonnegative = true }}\n"
    specs = {
        "data": spec(data=DATA.replace("data.csv", "x.csv")),
        "weights": spec(WEIGHTS.replace("w.csv", "x.csv")),
        "moves": moves + spec("[[invariants]]\ntotal = true\n", budget=APPROXIMATE),
    }
    for name, text in specs.items():
        (tmp_path / f"{name}.toml").write_text(text)
        outcome = run("release", tmp_path / f"{name}.toml", "--out", tmp_path / "out")
        assert outcome.code == 2
        assert "x.csv" in sentence(outcome.err)
    for command in (
        ("plan", place),
        ("ledger", "show", place),
        ("release", tmp_path / "data.toml", "--out", place),
    ):
        outcome = run(*command)
        assert outcome.code == 2
        assert "x.csv" in sentence(outcome.err)
    assert run("ledger", "open", tmp_path / "l.db", "--budget", "1").code == 0
    (tmp_path / "l.db.salt").unlink()
    put_special(tmp_path / "l.db.salt", kind)
    (tmp_path / "good.toml").write_text(spec())
    outcome = run("release", tmp_path / "good.toml", "--out", tmp_path / "out", "--ledger", tmp_path / "l.db")
    assert "l.db.salt is" in sentence(outcome.err)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/stdin"])
def test_devices_are_no_specs(run: Run, device: str) -> None:
    outcome = run("plan", device)
    assert outcome.code == 2
    assert "name the spec file" in sentence(outcome.err)


def test_a_spec_is_no_bomb(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    (tmp_path / "data.csv").write_text(ROWS)
    many = "0x" + "f" * 20_000
    texts = {
        "more than 10 MB": "#" * (10 * 2**20 + 1),
        "is not TOML": "a" + "\0" * 5,
        "not TOML (": "x = " + "{a=" * 3000,
        "epsilon is or has a number that does not fit 64 bits": spec(budget=f"[privacy]\nepsilon = {many}\n"),
        "equals is or has": spec(f"[[invariants]]\ntotal = true\nequals = {many}\n"),
        "age is or has": spec(f"[[invariants]]\nwhere = {{ age = [0, {many}] }}\n"),
        "at_least is or has": spec(
            '[mechanism]\nname = "conditioned"\n'
            f"[[constraints.inequalities]]\ntotal = true\nat_least = {many}\n"
        ),
        "distance is or has": spec(budget=BUDGET + f"distance = {many}\n"),
        "must be": spec(data=DATA.replace('"data.csv"', f"[{'1,' * 100_000}]")),
        "cannot be read": spec(data=DATA.replace("data.csv", r"\u0000.csv")),
    }
    for words, text in texts.items():
        path.write_text(text)
        outcome = run("release", path, "--out", tmp_path / "out")
        assert outcome.code == 2, words
        assert words in sentence(outcome.err)
        assert len(outcome.err) < 600
    assert not (tmp_path / "out").exists()


# Numbers

APPROXIMATE = '[privacy]\nstandard = "approximate"\nepsilon = "1"\ndelta = "1e-9"\n'

NINES = "9" * 5000
NO_NUMBERS = (
    "1e999",
    "1e-999999999",
    "nan",
    "inf",
    "\uff11",
    "1_000",
    "0x10",
    "1/0",
    "-1",
    "",
    NINES,
    f"1/{NINES}",
)


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_numbers_beyond_reach_get_a_sentence(run: Run, release: Path, text: str) -> None:
    for command in (
        ("audit", "guarantee", f"--epsilon={text}"),
        ("audit", "guarantee", "--rho=1", f"--delta={text}"),
        ("audit", "compose", "--delta=1e-10", f"--mu={text}"),
        ("audit", "swapping", "--stratum-size=9", f"--rate={text}"),
        ("audit", "swapping", "--stratum-size=9", f"--epsilon={text}"),
        ("ledger", "open", release / "l.db", f"--budget={text}"),
        ("intervals", release, f"--level={text}"),
        ("test", "odds-ratio", "1", "2", "3", "4", "--epsilon", text),
        ("test", "odds-ratio", "1", "2", "3", text, "--epsilon", "1"),
    ):
        outcome = run(*command)
        assert outcome.code == 2, command
        assert len(sentence(outcome.err)) < 200
    assert not (release / "l.db").exists()


@pytest.mark.parametrize("text", ["1e3", "nan", "\uff11", "1_000", "0x10", " 1", "-1", NINES, "9" * 19])
def test_whole_numbers_are_digits(run: Run, text: str) -> None:
    for command in (
        ("demo", f"--seed={text}"),
        ("audit", "guarantee", "--epsilon=1", f"--semi-adjacency={text}"),
        ("audit", "swapping", f"--stratum-size={text}"),
        ("compare", "s.toml", f"--draws={text}"),
    ):
        outcome = run(*command)
        assert outcome.code == 2
        assert "invalid value" in sentence(outcome.err)
        assert len(outcome.err) < 400


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_budgets_of_a_spec_beyond_reach(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "data.csv").write_text(ROWS)
    for key in ("epsilon", "delta"):
        (tmp_path / "s.toml").write_text(
            spec(budget=APPROXIMATE).replace(f'{key} = "1', f'{key} = "{text}"\n#')
        )
        outcome = run("plan", tmp_path / "s.toml")
        assert outcome.code == 2
        assert f"[privacy] {key} is" in sentence(outcome.err)
        assert len(outcome.err) < 400


@pytest.mark.parametrize(
    "count", ["1e3", "nan", "inf", "\uff11", "1_000", "0x10", "9" * 30, "1e999", "--1", "1,5"]
)
def test_counts_are_digits(run: Run, tmp_path: Path, count: str) -> None:
    (tmp_path / "data.csv").write_text(ROWS + f'x,old,"{count}"\n')
    (tmp_path / "s.toml").write_text(spec())
    outcome = run("audit", "universe", tmp_path / "s.toml")
    assert outcome.code == 2
    assert "data.csv, row 6, column 'n'" in sentence(outcome.err)


# Parquet


def test_a_released_parquet_table_has_as_many_rows_as_cells(run: Run, example: Path) -> None:
    out = example.parent / "out"
    assert run("release", example, "--out", out, "--parquet").code == 0
    frame = pl.read_parquet(out / "table.parquet")
    pl.concat([frame, frame[:1]]).write_parquet(out / "table.parquet")
    outcome = run("intervals", out)
    assert outcome.code == 1
    assert "table.parquet is not the certified file: it is not read" in outcome.out
    content = json.loads((out / "certificate.json").read_text())
    write(out, content, page=False)  # with every hash made right
    assert "says that it has 17 rows, more than the 16" in run("intervals", out).out


def test_a_parquet_bomb_is_not_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.toml").write_text(spec(data=DATA.replace("csv", "parquet")))
    pl.DataFrame({"sex": ["f"] * 2000, "age": ["old"] * 2000, "n": [1] * 2000}).write_parquet(
        tmp_path / "data.parquet"
    )
    monkeypatch.setattr("holdfast.data.read.MOST_CELLS", 1000)
    monkeypatch.setattr(pl, "read_parquet", None)
    outcome = run("plan", tmp_path / "s.toml")
    assert outcome.code == 2
    assert "says that it has 2,000 rows, more than the 1,000" in sentence(outcome.err)


def test_damaged_parquet_files_get_a_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where polars panics and would write a trace past Python."""
    (tmp_path / "s.toml").write_text(spec(data=DATA.replace("csv", "parquet")))
    path = tmp_path / "data.parquet"
    pl.DataFrame({"sex": ["f", "m"] * 2, "age": ["o", "o", "y", "y"], "n": [1, 2, 3, 4]}).write_parquet(
        path, compression="uncompressed", statistics=False
    )
    whole = path.read_bytes()
    for place in range(0, len(whole), 9):
        for damaged in (whole[:place], whole[:place] + b"\xff" + whole[place + 1 :]):
            path.write_bytes(damaged)
            monkeypatch.setattr(sys, "argv", ["holdfast", "audit", "universe", str(tmp_path / "s.toml")])
            with pytest.raises(SystemExit) as caught:
                main()
            err = capfd.readouterr().err
            assert caught.value.code in (0, 2)
            assert sentence(err) if caught.value.code else err == ""


# Formulas


def formulas(folder: Path) -> Path:
    (folder / "data.csv").write_text("=sex,age,n\n=1+1,'old,3\n=1+1,-3,4\n@x,'old,2\n@x,-3,5\n")
    path = folder / "s.toml"
    path.write_text(spec('[[invariants]]\nmargin = ["=sex"]\n', data=DATA.replace("sex", "=sex")))
    return path


def test_names_that_a_spreadsheet_would_run_are_told(run: Run, tmp_path: Path) -> None:
    outcome = run("release", formulas(tmp_path), "--out", tmp_path / "out")
    assert outcome.code == 0
    assert outcome.err.startswith("warning: a spreadsheet would run the name '=sex' and 2 more in table.csv")
    assert outcome.err.count("\n") == 1
    assert "--quote-formulas" in outcome.err
    assert run("verify", tmp_path / "out").code == 0


def test_they_are_quoted_if_asked_and_read_as_they_are(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = run("release", formulas(tmp_path), "--out", out, "--quote-formulas")
    assert (outcome.code, outcome.err) == (0, "")
    lines = (out / "table.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in lines] == [
        *("'=sex,age", "'=1+1,''old", "'=1+1,-3", "'@x,''old", "'@x,-3")
    ]
    assert json.loads((out / "certificate.json").read_text())["quoted_formulas"] is True
    assert run("verify", out).code == 0
    cells = [row["cell"] for row in json.loads(run("intervals", out, "--json").out)["rows"]]
    assert cells[:2] == [{"=sex": "=1+1", "age": "'old"}, {"=sex": "=1+1", "age": "-3"}]
    processed = run(
        "postprocess", out, "--method", "integers-l1", "--output", tmp_path / "pp", "--bias-draws", "0"
    )
    assert processed.code == 0
    assert (tmp_path / "pp" / "table.csv").read_text().startswith("'=sex,age,n\n'=1+1,''old,")
    assert run("verify", tmp_path / "pp").code == 0


def test_parquet_runs_nothing(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = run("release", formulas(tmp_path), "--out", out, "--parquet", "--quote-formulas")
    assert (outcome.code, outcome.err) == (0, "")
    assert pl.read_parquet(out / "table.parquet")["=sex"].unique().sort().to_list() == ["=1+1", "@x"]
    assert "quoted_formulas" not in json.loads((out / "certificate.json").read_text())
    assert run("verify", out).code == 0
