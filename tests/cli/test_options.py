"""What every command shares: --json, --quiet, --out, -h, -V, completion, and plain text in a pipe."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.conftest import Run
from tests.cli.test_errors import sentence
from tests.sources import PACKAGE, nodes
from typer.main import get_command

from holdfast.cli.app import app
from holdfast.version import VERSION


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Yield every command that runs, and its options."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))
    if not hasattr(command, "commands"):
        yield path, {name for parameter in command.params for name in parameter.opts}


EVERY = dict(commands(get_command(app)))
NO_OUT = {("ledger", "open")}  # its file is what it is called for
NO_JSON = {("completion",)}  # a script of a shell


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_has_the_same_options(path: tuple[str, ...]) -> None:
    wanted = {"--quiet"} | ({"--out"} if path not in NO_OUT else set())
    wanted |= {"--json"} if path not in NO_JSON else set()
    assert wanted <= EVERY[path]


def test_help_and_version_have_short_names(run: Run) -> None:
    assert run("-V").out == run("--version").out == f"holdfast {VERSION}\n"
    for command in ((), ("release",), ("audit", "universe")):
        outcome = run(*command, "-h")
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out == run(*command, "--help").out


def test_it_is_a_module_that_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "-V"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"holdfast {VERSION}\n"


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    outcome = run()
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == run("-h").out


def test_quiet_prints_nothing_and_json_prints_json(run: Run, example: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    arguments: tuple[str | Path, ...]
    for arguments in (
        ("release", example, "--out", out),
        ("verify", out),
        ("verify", out, "--quick"),
        ("intervals", out),
        ("plan", example),
        ("audit", "universe", example),
        ("keygen", tmp_path / "a.key"),
    ):
        outcome = run(*arguments, "--quiet")
        assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    (tmp_path / "new").mkdir()
    for arguments in (
        ("release", example, "--out", tmp_path / "two"),
        ("demo", "--out", tmp_path / "demo"),
        ("init", tmp_path / "new"),
        ("init", "--full", "--out", tmp_path / "two"),
        ("keygen", tmp_path / "b.key"),
        ("ledger", "open", tmp_path / "account", "--budget", "1"),
        ("ledger", "export", tmp_path / "account", "--json"),
        ("certificate", "schema"),
    ):
        outcome = run(*arguments, "--json", "--quiet")
        assert (outcome.code, outcome.err) == (0, "")
        assert json.loads(outcome.out)


def test_a_report_is_written_once(run: Run, example: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    outcome = run("plan", example, "--out", out)
    assert outcome.out.endswith(f"Wrote {out}\n")
    written, printed = json.loads(out.read_text()), json.loads(run("plan", example, "--json").out)
    for timed in ("seconds", "costs"):  # measured, each time anew
        assert bool(written.pop(timed)) == bool(printed.pop(timed))
    assert written == printed
    before = out.read_bytes()
    assert "exists already" in sentence(run("plan", example, "--out", out).err)
    assert "end it with .json" in sentence(run("plan", example, "--out", tmp_path / "plan.txt").err)
    assert "does not exist" in sentence(run("plan", example, "--out", tmp_path / "no" / "plan.json").err)
    assert out.read_bytes() == before


def test_intervals_are_written_as_tables_and_need_no_page(run: Run, example: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    assert run("release", example, "--out", folder).code == 0
    (folder / "certificate.html").unlink()
    assert run("verify", folder).code == 1
    report = json.loads(run("intervals", folder, "--json").out)
    assert set(report) == {"format", "level", "simultaneous", "draws", "where", "rows"}
    assert report["format"] == "holdfast-intervals/1"
    for name, read in (("i.csv", pl.read_csv), ("i.parquet", pl.read_parquet)):
        outcome = run("intervals", folder, "--out", tmp_path / name)
        assert (outcome.code, outcome.err) == (0, "")
        frame = read(tmp_path / name)
        assert frame.columns == ["county", "education", "estimate", "low", "high", "kept_exactly"]
        assert frame["low"].to_list() == [row["low"] for row in report["rows"]]
        assert "exists already" in sentence(run("intervals", folder, "--out", tmp_path / name).err)


def test_a_pipe_gets_plain_columns_that_are_never_cut(run: Run, tmp_path: Path) -> None:
    long = "a level with a very long name " * 8
    rows = "\n".join(f"{long}{i},{sex},{i + 1}" for i in range(3) for sex in "fm")
    (tmp_path / "data.csv").write_text(f"place,sex,n\n{rows}\n")
    spec = tmp_path / "holdfast.toml"
    spec.write_text(
        '[data]\npath = "data.csv"\ncells = ["place", "sex"]\ncount = "n"\n[[invariants]]\nmargin = ["sex"]\n'
        '[privacy]\nepsilon = "1"\n'
    )
    assert run("release", spec, "--out", tmp_path / "out").code == 0
    shown = run("intervals", tmp_path / "out").out
    assert f"{long}0" in shown
    assert not set(shown) & set("│┃━─┏…")
    assert not any(line != line.rstrip() for line in shown.splitlines())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(run: Run, shell: str) -> None:
    outcome = run("completion", shell)
    assert (outcome.code, outcome.err) == (0, "")
    for path, options in EVERY.items():
        assert path[-1] in outcome.out
        for option in options - {"--output"}:
            assert not option.startswith("--") or option[2:] in outcome.out


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["au"], "audit"),
        (["audit", "un"], "universe"),
        (["release", "--par"], "--parquet"),
        (["ledger", "verify", "--with"], "--without-salt"),
        (["release", "ledger", "--res"], "--resume"),
    ],
)
def test_bash_completes(run: Run, words: list[str], found: str) -> None:
    script = run("completion", "bash").out
    asked = (
        f"COMP_WORDS=(holdfast {' '.join(words)}); COMP_CWORD={len(words)}; _holdfast; echo ${{COMPREPLY[@]}}"
    )
    done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [found]


def test_an_unknown_shell_is_one_sentence(run: Run) -> None:
    assert "choose bash, zsh, fish" in sentence(run("completion", "tcsh").err)


def test_a_processed_table_has_one_folder(run: Run, example: Path, tmp_path: Path) -> None:
    assert run("release", example, "--out", tmp_path / "release").code == 0
    asked = ("postprocess", tmp_path / "release", "--method", "integers-l1", "--bias-draws", "0")
    assert run(*asked, "--output", tmp_path / "one").code == 0
    assert run(*asked, "--out", tmp_path / "two").code == 0
    assert "--out" in sentence(run(*asked).err)


def declared(path: Path) -> Iterator[str]:
    """Yield the help of options and arguments that the functions of a module declare themselves."""
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef):
            for each in (*node.args.args, *node.args.kwonlyargs):
                if each.annotation is not None:
                    yield from re.findall(r"\bhelp=(.+)\)", ast.unparse(each.annotation))


def test_what_commands_share_is_declared_once() -> None:
    """One option has one declaration, in `arguments.py`: its help then says the same wherever it is read."""
    found = [text for path in sorted((PACKAGE / "cli").glob("*.py")) for text in declared(path)]
    assert len(found) > 100
    assert [text for text, times in Counter(found).items() if times > 1] == []
