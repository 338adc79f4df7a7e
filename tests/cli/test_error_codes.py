"""Every kind of error has a code for programs, and the page of them lists all."""

import json
import logging
import re
from fractions import Fraction
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.sources import ROOT

import holdfast
from holdfast.cli import exit_codes
from holdfast.ledger.account import Ledger
from holdfast.system.errors import HoldfastError, error_to_dict

PAGE = (ROOT / "docs" / "guides" / "operating.md").read_text(encoding="utf-8")


def _kinds(kind: type[HoldfastError]) -> list[type[HoldfastError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _kinds(below))]


def test_the_page_lists_every_code_and_no_other() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (?:`(\w+)`)? ?\|", PAGE, re.M))
    others = {exit_codes.MEMORY, exit_codes.SYSTEM, exit_codes.USAGE, exit_codes.UNEXPECTED}
    named = {kind.code: kind.__name__ for kind in _kinds(HoldfastError) if "code" in vars(kind)}
    assert len(named) > 10
    assert {code: name for code, name in rows.items() if code not in others} == named
    assert others <= rows.keys()


def test_every_setting_of_the_environment_is_on_the_page() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    used = {
        name
        for text in sources
        for name in re.findall(r'(?:environ.*|envvar=|^[A-Z]+ = )"(HOLDFAST_\w+)"', text, re.M)
    }
    assert used == set(re.findall(r"HOLDFAST_\w+", PAGE))


@pytest.mark.parametrize(
    ("sentence", "where", "hint"),
    [
        (
            "a.toml, [[invariants]] 2 margin is no list: write one.",
            "a.toml, [[invariants]] 2 margin",
            "write one.",
        ),
        ("the path /x/my-table.csv, line 12 has 3 fields.", None, None),
        ("/x/my-table.csv, line 1,012 has 3 fields: write 4.", "/x/my-table.csv, line 1,012", "write 4."),
        ("[privacy] epsilon is 0: give more.", "[privacy] epsilon", "give more."),
        ("a.toml, [privacy] has an unknown key: drop it.", "a.toml, [privacy]", "drop it."),
        ("[[accuracy]] 1 asks for county: leave it out.", "[[accuracy]] 1", "leave it out."),
        ("--epsilon is 'x': give a number.", "--epsilon", "give a number."),
        ("postgresql://host:5432/x cannot be reached: check it.", "postgresql://host:5432/x", "check it."),
        ("nothing was asked for.", None, None),
    ],
)
def test_place_and_way_out_stand_in_the_sentence(sentence: str, where: str | None, hint: str | None) -> None:
    found = error_to_dict("spec", sentence)
    assert (found["where"], found["hint"]) == (where, hint)


def test_an_error_is_json_where_json_was_asked_for_and_nowhere_else(run: Run, tmp_path: Path) -> None:
    sentence = "nix.toml does not exist: check its path."
    outcome = run("plan", "nix.toml", "--json")
    assert outcome.code == 2
    assert json.loads(outcome.out) == {"error": error_to_dict("spec", sentence)}
    assert outcome.err == f"error: {sentence}\n"
    assert run("plan", "nix.toml").out == ""


def test_what_is_logged_names_no_number_of_the_data(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spec, table = holdfast.write_example(tmp_path)
    account = Ledger.create(tmp_path / "a.ledger", standard="pure", budget=Fraction(2))
    with caplog.at_level(logging.DEBUG, logger="holdfast"):
        written = holdfast.release(spec, tmp_path / "out", ledger=account)
        holdfast.verify(written.folder)
    text = caplog.text.replace(str(tmp_path), "")
    assert [word for word in ("prepared", "is charged", "released", "is kept") if word not in text] == []
    counts = {line.rpartition(",")[2] for line in table.read_text(encoding="utf-8").splitlines()[1:]}
    told = [record.getMessage().replace(str(tmp_path), "") for record in caplog.records]
    assert not counts & {number for line in told for number in re.findall(r"\d+", line)} - {"1"}
