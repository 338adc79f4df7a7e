"""Releases held against the account that they were charged to."""

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.certificate.text import digest
from holdfast.ledger.account import Ledger
from holdfast.ledger.chain import salt_path
from holdfast.ledger.composition import spend
from holdfast.ledger.verify import verify_ledger
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.example import write_example
from holdfast.system.errors import LedgerError, ReleaseError


@pytest.fixture
def account(tmp_path: Path) -> Ledger:
    write_example(tmp_path)
    return Ledger.create(tmp_path / "a.ledger", standard="pure", budget=Fraction(20))


def released(account: Ledger, out: str, seed: int = 1, *, row: int | None = None) -> Path:
    """Charge, draw, complete and write."""
    spec, folder = account.path.with_name("holdfast.toml"), account.path.with_name(out)
    source = seed if row is None else None  # a row is resumed without a seed
    return holdfast.release(spec, folder, seed=source, ledger=account, resume=row).folder


def content(folder: Path) -> dict[str, Any]:
    told = json.loads((folder / "certificate.json").read_text())
    assert isinstance(told, dict)
    return told


def rewrite(folder: Path, changed: dict[str, Any]) -> None:
    """Write a certificate with a digest that is right."""
    body = {name: value for name, value in changed.items() if name != "digest"}
    (folder / "certificate.json").write_text(json.dumps({**body, "digest": digest(body)}))


def test_releases_are_found_in_their_account(account: Ledger) -> None:
    folders = [released(account, name, seed) for seed, name in enumerate(("one", "two"))]
    check = verify_ledger(account.path, releases=folders)
    assert (check.kept, check.problems, check.rows, check.completions) == (True, (), 2, 2)
    assert [(one["row"], one["kept"], one["notes"]) for one in check.releases] == [
        (1, True, []),
        (2, True, []),
    ]


def test_a_copy_before_the_last_row_that_was_charged_on_is_found(account: Ledger) -> None:
    first = released(account, "one")
    copy = account.path.with_name("copy.ledger")
    shutil.copy(account.path, copy)
    shutil.copy(salt_path(account.path), salt_path(copy))
    here, there = released(account, "here", 2), released(Ledger.open(copy), "there", 3)
    for path, own, other in ((account.path, here, there), (copy, there, here)):
        assert verify_ledger(path, releases=[first, own]).kept
        check = verify_ledger(path, releases=[first, own, other])
        assert check.problems[0].startswith(f"{other}: row 2 is not the one that it was charged as")
        assert [one["kept"] for one in check.releases] == [True, True, False]


def test_a_copy_that_was_not_charged_on_is_found(account: Ledger) -> None:
    older = account.path.read_bytes()
    folder = released(account, "one")
    account.path.write_bytes(older)
    assert verify_ledger(account.path).kept
    assert verify_ledger(account.path, releases=[folder]).problems == (
        f"{folder}: there is no row 1, which it was charged as",
    )


def test_a_release_whose_row_is_not_complete_is_found(account: Ledger) -> None:
    released(account, "one")
    account.charge(account.row(1).charge, spend)
    charged = account.path.read_bytes()
    folder = released(account, "two", row=2)
    assert verify_ledger(account.path, releases=[folder]).kept
    account.path.write_bytes(charged)
    assert verify_ledger(account.path).kept
    (problem,) = verify_ledger(account.path, releases=[folder]).problems
    assert problem == f"{folder}: row 2 has no completion, and here is its release"


def test_two_releases_of_one_row_are_found(account: Ledger) -> None:
    one = released(account, "one", 1)
    shutil.copytree(one, two := one.with_name("two"))
    assert verify_ledger(account.path, releases=[one, two]).kept  # a copy is the same release
    table = (two / "table.csv").read_text()
    other = released(Ledger.create(one.with_name("b"), standard="pure", budget=Fraction(9)), "other", 7)
    assert (other / "table.csv").read_text() != table
    forged = {**content(other), "ledger": content(one)["ledger"]}
    rewrite(other, forged)
    problems = verify_ledger(account.path, releases=[one, other]).problems
    assert f"{one}: {other} is another release that was charged as row 1" in problems
    assert any(each.startswith(f"{other}: row 1 was completed with another release") for each in problems)


def test_two_releases_of_a_row_that_was_handed_over_in_memory_are_found(account: Ledger) -> None:
    drawn = prepare(account.path.with_name("holdfast.toml")).release(SeededEntropy(1), ledger=account)
    one = drawn.write(account.path.with_name("one"))
    check = verify_ledger(account.path, releases=[one])
    assert check.kept
    assert check.releases[0]["notes"] == [
        "row 1 was handed over in memory: nothing tells which files it became"
    ]
    two = released(Ledger.create(one.with_name("b"), standard="pure", budget=Fraction(9)), "two", 2)
    same = {**content(one), "files": content(two)["files"]}
    rewrite(two, same)
    problems = verify_ledger(account.path, releases=[one, two]).problems
    assert len([each for each in problems if "is another release that was charged as row 1" in each]) == 2


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda c: c["guarantee"]["intensity"].update(epsilon="1/2"), "the intensity of its guarantee"),
        (lambda c: c["guarantee"]["unit"].update(distance=1), "the unit of its guarantee"),
        (lambda c: c["guarantee"]["scope"].update(digest="0" * 64), "the scope of its guarantee"),
        (lambda c: c["guarantee"].update(standard="zcdp"), "the standard of its guarantee"),
        (lambda c: c.update(created="2020-01-01"), "row 1 was completed with another certificate"),
        (lambda c: c["files"].update({"table.csv": "0" * 64}), "row 1 was completed with another release"),
        (lambda c: c["ledger"].update(hash="0" * 64), "row 1 is not the one that it was charged as"),
        (lambda c: c["ledger"].update(row=2), "there is no row 2"),
        (lambda c: c.update(ledger=None), "its certificate names no row of a ledger"),
    ],
)
def test_what_a_release_says_and_its_row_does_not_is_found(account: Ledger, change: Any, found: str) -> None:
    folder = released(account, "one")
    changed = content(folder)
    change(changed)
    rewrite(folder, changed)
    check = verify_ledger(account.path, releases=[folder])
    assert any(found in problem for problem in check.problems), check.problems
    assert not check.kept


def test_a_file_that_differs_is_found(account: Ledger) -> None:
    folder = released(account, "one")
    with (folder / "table.csv").open("a") as file:
        file.write("\n")
    problems = verify_ledger(account.path, releases=[folder]).problems
    assert f"{folder}: table.csv unchanged: its SHA-256 differs" in problems


def test_what_is_no_release_is_an_error(account: Ledger, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="name the folder of a release"):
        verify_ledger(account.path, releases=[tmp_path / "nothing"])
    salt_path(account.path).unlink()
    with pytest.raises(LedgerError, match="without_salt=True"):
        verify_ledger(account.path)
    check = verify_ledger(account.path, without_salt=True)
    assert (check.kept, check.sealed) == (True, False)


def test_files_that_others_can_read_are_warned_of(account: Ledger) -> None:
    assert verify_ledger(account.path).warnings == ()
    account.path.chmod(0o640)
    salt_path(account.path).chmod(0o604)
    check = verify_ledger(account.path)
    assert check.kept
    assert [warning.split(" ", 1)[1] for warning in check.warnings] == [
        "is open to others than its owner (mode 640): set mode 600",
        "is open to others than its owner (mode 604): set mode 600",
    ]
