"""The run functions of `holdfast ledger`."""

import csv
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer
from tests.example import written
from tests.ledger.accounts import filled, tamper
from tests.ledger.releases import accounted

import holdfast
from holdfast.cli.ledger import export, open_ledger, show, verify
from holdfast.ledger.account import Ledger
from holdfast.ledger.chain import salt_path
from holdfast.system.errors import HoldfastError, LedgerError, ReleaseError


@pytest.mark.parametrize(
    ("option", "standard", "said"),
    [
        ("budget", "pure", "epsilon 0.5 (1/2)"),
        ("rho", "zcdp", "rho 0.5 (1/2)"),
        ("mu", "gaussian", "mu 0.5 (1/2)"),
    ],
)
def test_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, standard: str, said: str
) -> None:
    given: dict[str, Any] = {option: "0.5"}
    open_ledger(tmp_path / "a", **given)
    assert said in (out := capsys.readouterr().out)
    assert f"{tmp_path / 'a'}.salt" in out
    ledger = Ledger.open(tmp_path / "a")
    assert (ledger.standard, str(ledger.budget)) == (standard, "1/2")


@pytest.mark.parametrize(
    ("budget", "rho", "message"),
    [
        (None, None, "exactly one"),
        ("1", "1", "exactly one"),
        ("0", None, "positive"),
        ("-1/2", None, "positive"),
        ("much", None, "--budget is 'much', which is not a number"),
        ("1/0", None, "division by zero"),
        ("", None, "not a number"),
    ],
)
def test_open_refuses(tmp_path: Path, budget: str | None, rho: str | None, message: str) -> None:
    with pytest.raises(HoldfastError, match=message):
        open_ledger(tmp_path / "a", budget=budget, rho=rho, mu=None)
    assert not list(tmp_path.iterdir())


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = filled(tmp_path / "a")
    show(tmp_path / "a", as_json=False)
    out = capsys.readouterr().out
    charge = ledger.rows()[1].charge
    for text in ("epsilon 5", "1.08333 (13/12)", "3.91667 (47/12)", charge.scope[:12], charge.dataset[:12]):
        assert text in out
    show(tmp_path / "a", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["budget"], told["spent"], told["left"]) == ("5", "13/12", "47/12")
    assert [row["intensity"] for row in told["rows"]] == ["1/2", "1/3", "1/4"]
    assert {row["file"] for row in told["rows"]} == {charge.dataset[:12]}


def test_an_account_of_epsilon_is_shown_without_what_computes(tmp_path: Path) -> None:
    filled(tmp_path / "a")
    program = (
        "import sys; from holdfast.cli import main\n"
        "try: main()\n"
        "finally: print(*[name for name in ('flint', 'numpy', 'scipy') if name in sys.modules], 'loaded')"
    )
    words = ("ledger", "show", tmp_path / "a")
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"


def test_show_of_nothing_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "a", rows=0)
    show(tmp_path / "a", as_json=False)
    assert "No release is charged yet." in capsys.readouterr().out


def test_show_says_what_was_released(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "a").complete(2, certificate="a" * 64, release=None)
    show(tmp_path / "a", as_json=False)
    lines = capsys.readouterr().out.splitlines()[-3:]
    assert [line.strip().split("  ")[-1].strip() for line in lines] == [
        "not released: --resume 1",
        "released",
        "not released: --resume 3",
    ]
    show(tmp_path / "a", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert [row["released"] for row in told["rows"]] == [False, True, False]
    assert [(one["index"], one["row"]) for one in told["completions"]] == [(1, 2)]
    assert told["warnings"] == []
    (tmp_path / "a.salt").chmod(0o644)
    show(tmp_path / "a", as_json=True)
    caught = capsys.readouterr()
    assert caught.err.startswith(f"warning: {tmp_path / 'a.salt'} is open to others")
    assert len(json.loads(caught.out)["warnings"]) == 1


def test_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accounted(tmp_path / "a", rows=3)
    verify(tmp_path / "a", [], as_json=False)
    caught = capsys.readouterr()
    assert "3 rows, every check holds." in caught.out
    assert caught.err == ""
    salt_path(tmp_path / "a").unlink()
    with pytest.raises(LedgerError, match=r"a\.salt is missing.*without_salt=True"):
        verify(tmp_path / "a", [], as_json=False)
    verify(tmp_path / "a", [], without_salt=True, as_json=False)
    assert "the seals are not checked" in capsys.readouterr().out
    tamper(tmp_path / "a", "UPDATE charges SET total = '1/1000'")
    with pytest.raises(typer.Exit) as caught_exit:
        verify(tmp_path / "a", [], without_salt=True, as_json=False)
    assert caught_exit.value.exit_code == 1
    assert "VIOLATED row 1: its content does not have its hash" in capsys.readouterr().out
    with pytest.raises(typer.Exit):
        verify(tmp_path / "a", [], without_salt=True, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["kept"], told["rows"], told["sealed"]) == (False, 3, False)
    assert (told["completions"], told["warnings"], told["releases"]) == (0, [], [])
    with pytest.raises(LedgerError, match="does not exist"):
        verify(tmp_path / "b", [], as_json=False)


def test_a_salt_that_cannot_be_read_is_said_to_be_that(tmp_path: Path) -> None:
    filled(tmp_path / "a")
    with (
        patch.object(Path, "read_text", side_effect=PermissionError(13, "Permission denied")),
        pytest.raises(LedgerError, match=r"a\.salt cannot be read \(Permission denied\): it is the salt"),
    ):
        verify(tmp_path / "a", [], as_json=False)
    salt_path(tmp_path / "a").unlink()
    salt_path(tmp_path / "a").mkdir()
    with pytest.raises(LedgerError, match=r"a\.salt is a folder: it should be the salt of the ledger"):
        verify(tmp_path / "a", [], as_json=False)


def test_verify_holds_releases_against_the_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    account = Ledger.create(tmp_path / "account", standard="pure", budget=Fraction(3))
    release = holdfast.release(written(tmp_path), tmp_path / "out", ledger=account).folder
    verify(account.path, [release], as_json=False)
    assert "1 row, every check holds." in capsys.readouterr().out
    accounted(tmp_path / "other", rows=3)
    with pytest.raises(typer.Exit):
        verify(tmp_path / "other", [release], as_json=True)
    (told,) = json.loads(capsys.readouterr().out)["releases"]
    assert (told["row"], told["kept"], len(told["problems"])) == (1, False, 1)


def test_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "a")
    export(tmp_path / "a", csv=False, out=None)
    assert [row["index"] for row in json.loads(capsys.readouterr().out)] == [0, 1, 2, 3]
    export(tmp_path / "a", csv=True, out=tmp_path / "a.csv")
    assert "Wrote" in capsys.readouterr().out
    lines = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert [line["total"] for line in lines] == ["", "1/2", "5/6", "13/12"]
    with pytest.raises(ReleaseError, match="exists already"):
        export(tmp_path / "a", csv=True, out=tmp_path / "a.csv")
    with pytest.raises(ReleaseError, match="cannot be written"):
        export(tmp_path / "a", csv=True, out=tmp_path / "no" / "a.csv")
