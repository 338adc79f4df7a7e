"""Releases of swapped records held against the account that they were charged to."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.releases import digest as sha256
from tests.ledger.releases import records
from tests.ledger.swaps import Swap
from tests.ledger.test_verify_releases import content, released, rewrite
from typer import Exit

from holdfast.certificate.text import FORMAT, canonical, digest
from holdfast.cli import ledger as command
from holdfast.ledger import Ledger, ledger_report
from holdfast.ledger.charge import records_charge
from holdfast.ledger.composition import spend
from holdfast.ledger.verify import verify_ledger
from holdfast.privacy.guarantee import Unit
from holdfast.privacy.intensity import Pure
from holdfast.spec.example import write_example

FILE = records("000", "010", "011", "101", "110", "111")
SWAP = Swap(("a", "b", "c"), ("a",), ("b",))
EPSILON = SWAP.epsilon(FILE)
SCOPE = sha256("scope")


@dataclass(frozen=True)
class Made:
    """A ledger, and a release of swapped records in a folder."""

    ledger: Ledger
    folder: Path

    def problems(self) -> tuple[str, ...]:
        return verify_ledger(self.ledger.path, releases=[self.folder]).problems


def write(ledger: Ledger, folder: Path, *, complete: bool = True) -> Path:
    """Charge a swap, and write it as a release is written."""
    guarantee = {
        "intensity": {"epsilon": str(EPSILON)},
        "standard": "pure",
        "scope": {"induced": ["a x b", "a x c"], "digest": SCOPE},
        "unit": {"name": "record", "adjacency": "unit", "distance": 1},
    }
    part = {"kind": "records", "name": "microdata", "outputs": ["microdata"]}
    settled = {"format": FORMAT, "guarantee": guarantee, "parts": [part]}
    charge = records_charge(
        dataset=ledger.fingerprint(hashlib.sha256(b"file").digest()),
        stratify=SWAP.stratify,
        swap=SWAP.swap,
        held=SWAP.held,
        intensity=Pure(EPSILON),
        unit=Unit("record", "unit", 1),
        scope=SCOPE,
        stated=guarantee,
        certificate=digest(settled),
    )
    row = ledger.charge(charge, spend)
    folder.mkdir()
    texts = {"microdata.csv": "a,b,c\n0,0,0\n", "certificate.html": "<p>swapped</p>\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    body = {
        **settled,
        "ledger": {"row": row.index, "hash": row.hash},
        "files": {n: sha256(t) for n, t in texts.items()},
    }
    (folder / "certificate.json").write_text(canonical({**body, "digest": digest(body)}))
    if complete:
        ledger.complete(row.index, certificate=digest(settled), release=digest(body))
    return folder


@pytest.fixture
def made(tmp_path: Path) -> Made:
    ledger = Ledger.create(tmp_path / "a.ledger", standard="pure", budget=Fraction(20))
    return Made(ledger, write(ledger, tmp_path / "swapped"))


def test_a_swapped_release_is_found_in_its_account(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    second = write(made.ledger, made.folder.with_name("second"))
    check = verify_ledger(made.ledger.path, releases=[made.folder, second])
    assert (check.kept, check.rows, check.completions, check.warnings) == (True, 2, 2, ())
    assert [(one["row"], one["notes"]) for one in check.releases] == [(1, []), (2, [])]
    command.verify(made.ledger.path, [made.folder], as_json=False)
    assert "2 rows, every check holds" in capsys.readouterr().out


def test_tables_and_swapped_releases_stand_in_one_account(tmp_path: Path) -> None:
    write_example(tmp_path)
    spec = tmp_path / "holdfast.toml"
    spec.write_text(spec.read_text().replace('adjacency = "semi"', 'adjacency = "unit"'))
    ledger = Ledger.create(tmp_path / "a.ledger", standard="pure", budget=Fraction(20))
    folders = [released(ledger, "table"), write(ledger, tmp_path / "swapped"), released(ledger, "again", 2)]
    assert ledger.spent() == 2 + EPSILON
    assert verify_ledger(ledger.path, releases=folders).kept


def test_an_account_shows_its_swapped_releases(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    command.show(made.ledger.path, as_json=False)
    out = capsys.readouterr().out
    (line,) = (line for line in out.splitlines() if line.lstrip().startswith("1 "))
    assert SCOPE[:12] in line
    assert line.rstrip().endswith("released")
    (row,) = ledger_report(made.ledger.path).to_dict()["rows"]
    assert (row["intensity"], row["total"]) == (str(EPSILON), str(EPSILON))
    assert (row["detail"]["swap"], row["detail"]["stratify"], row["detail"]["held"]) == (["b"], ["a"], ["c"])


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda c: c["guarantee"]["intensity"].update(epsilon="1/2"), "the intensity of its guarantee"),
        (lambda c: c["guarantee"]["unit"].update(distance=2), "the unit of its guarantee"),
        (lambda c: c["guarantee"]["scope"].update(digest="0" * 64), "the scope of its guarantee"),
        (lambda c: c.update(created="2020-01-01"), "row 1 was completed with another certificate"),
        (
            lambda c: c["files"].update({"microdata.csv": "0" * 64}),
            "row 1 was completed with another release",
        ),
        (lambda c: c["files"].update({"../a.ledger": "0" * 64}), "no release has a file of this name"),
        (lambda c: c.update(files={}), "files: the certificate does not name one file for each output"),
        (lambda c: c["ledger"].update(hash="0" * 64), "row 1 is not the one that it was charged as"),
        (lambda c: c["ledger"].update(row=2), "there is no row 2"),
        (lambda c: c.update(ledger=None), "its certificate names no row of a ledger"),
    ],
)
def test_what_a_swapped_release_says_and_its_row_does_not_is_found(
    made: Made, change: Callable[[dict[str, Any]], None], found: str
) -> None:
    assert made.problems() == ()
    changed = content(made.folder)
    change(changed)
    rewrite(made.folder, changed)
    assert any(found in problem for problem in made.problems()), made.problems()


def test_a_changed_file_is_found(made: Made) -> None:
    with (made.folder / "microdata.csv").open("a") as file:
        file.write("1,1,1\n")
    assert made.problems() == (f"{made.folder}: microdata.csv unchanged: its SHA-256 differs",)
    (made.folder / "microdata.csv").unlink()
    assert made.problems() == (f"{made.folder}: microdata.csv unchanged: the file is missing",)
    with pytest.raises(Exit):
        command.verify(made.ledger.path, [made.folder], as_json=False)


def test_a_changed_certificate_is_found(made: Made) -> None:
    path = made.folder / "certificate.json"
    path.write_text(json.dumps({**content(made.folder), "digest": "0" * 64}))
    assert [problem.partition(": ")[2] for problem in made.problems()] == [
        "certificate unchanged: its digest differs",
        "certificate text: it is not in the one form that certificates are written in",
    ]


def test_a_swapped_release_without_completion_is_found(made: Made) -> None:
    folder = write(made.ledger, made.folder.with_name("second"), complete=False)
    (problem,) = verify_ledger(made.ledger.path, releases=[folder]).problems
    assert problem == f"{folder}: row 2 has no completion, and here is its release"
