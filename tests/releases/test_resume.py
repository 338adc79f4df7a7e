"""A charge whose release fails is told, and its row is drawn for again: once, if nothing of it was seen."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.example import written
from tests.strangers import as_root, can, give_away

import holdfast
import holdfast.releases.handover
import holdfast.releases.prepared
from holdfast.certificate.read import read_certificate
from holdfast.certificate.sign import generate_keys
from holdfast.ledger import Ledger
from holdfast.ledger.verify import verify_ledger
from holdfast.mechanisms.mechanism import TableMechanism
from holdfast.releases.prepare import prepare
from holdfast.releases.resume import ChargedError
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.drafts import Draft, draft_path
from holdfast.system.errors import HoldfastError, ReleaseError
from holdfast.system.files import PREFIX
from holdfast.verification.verify import verify


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "account.db", standard="pure", budget=Fraction(3))


def drafts(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{PREFIX}*"))


def full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def stop(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


def test_a_release_is_complete_before_it_has_its_name(
    spec: Path, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, seen = Draft.publish, []

    def look(draft: Draft) -> None:
        completion = ledger.completion(1)
        assert completion is not None
        assert not (tmp_path / "out").exists()
        assert completion.release == read_certificate(draft.path).digest
        seen.append(completion)
        publish(draft)

    monkeypatch.setattr(Draft, "publish", look)
    done = holdfast.release(spec, tmp_path / "out", ledger=ledger)
    assert done.certificate.digest == seen[0].release == read_certificate(tmp_path / "out").digest
    assert seen[0].certificate == done.certificate.settled == ledger.row(1).charge.certificate
    assert verify(tmp_path / "out").kept
    assert verify_ledger(ledger.path).kept
    assert not drafts(tmp_path)


STEPS: list[tuple[object, str]] = [
    (TableMechanism, "outputs"),
    (holdfast.releases.handover, "write_outputs"),
    (Draft, "free"),
    (Draft, "seal"),
    (Ledger, "complete"),
]


@pytest.mark.parametrize(("place", "step"), STEPS)
@pytest.mark.parametrize("failure", [full, stop])
def test_a_failure_after_the_charge_is_told_and_resumed(
    spec: Path,
    ledger: Ledger,
    tmp_path: Path,
    *,
    place: object,
    step: str,
    failure: Callable[..., Any],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, step, failure)
        with pytest.raises(ChargedError, match=r"row 1 of .*account\.db is charged, .*resume=1"):
            holdfast.release(spec, tmp_path / "out", ledger=ledger)
    assert not (tmp_path / "out").exists()
    assert not drafts(tmp_path)
    assert ledger.spent() == 1
    done = holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1)
    assert done.row == ledger.row(1)
    assert ledger.spent() == 1
    assert verify(tmp_path / "out").kept
    assert verify_ledger(ledger.path).kept
    with pytest.raises(ReleaseError, match="was released on"):
        holdfast.release(spec, tmp_path / "again", ledger=ledger, resume=1)
    assert not (tmp_path / "again").exists()
    assert len(ledger.rows()) == 1


def test_a_whole_release_without_its_name_gets_it(
    spec: Path, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draft, "publish", full)
        with pytest.raises(ChargedError, match=r"its release is whole in .* resume=1"):
            holdfast.release(spec, tmp_path / "out", ledger=ledger)
    (draft,) = drafts(tmp_path)
    digest = read_certificate(draft).digest
    # neither another release to that name nor one beside it throws it away
    with pytest.raises(ReleaseError, match=r"row 1 of a ledger .*resume=1"):
        holdfast.release(spec, tmp_path / "out", ledger=ledger)
    holdfast.release(spec, tmp_path / "beside", ledger=ledger)
    holdfast.release(spec, tmp_path / "uncharged")
    assert drafts(tmp_path) == [draft]
    monkeypatch.setattr(TableMechanism, "outputs", stop)  # nothing is drawn again
    holdfast.release(spec, tmp_path / "late", ledger=ledger, resume=1)
    assert read_certificate(tmp_path / "late").digest == digest
    assert verify(tmp_path / "late").kept
    assert not drafts(tmp_path)
    with pytest.raises(ReleaseError, match="was released on"):
        holdfast.release(spec, tmp_path / "more", ledger=ledger, resume=1)


KILLED = """
import os, sys
import holdfast
from holdfast.ledger.account import Ledger
Ledger.complete = lambda *_, **__: os.kill(os.getpid(), 9)
holdfast.release(sys.argv[1], sys.argv[2], ledger=sys.argv[3])
"""
"""Killed between the certificate and the completion."""


@as_root
def test_nobody_sees_a_draft_before_its_completion(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    """Killed before the completion: the table is on the disk, another is drawn for the same charge."""
    before = os.umask(0)
    try:
        run = subprocess.run([sys.executable, "-c", KILLED, spec, tmp_path / "out", ledger.path], check=False)
        assert run.returncode == -9
        (draft,) = drafts(tmp_path)
        assert (draft / "table.csv").read_bytes()
        assert not can("cat", f"{draft.name}/table.csv", within=tmp_path)
        assert not can("ls", draft.name, within=tmp_path)
        holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1)
        assert can("cat", "out/table.csv", within=tmp_path)
    finally:
        os.umask(before)


def test_what_is_complete_and_killed_before_its_name_is_named_for_all(
    spec: Path, ledger: Ledger, tmp_path: Path
) -> None:
    killed = KILLED.replace("Ledger.complete", "holdfast.system.drafts.publish").replace(
        "import os", "import holdfast.system.drafts, os"
    )
    run = subprocess.run([sys.executable, "-c", killed, spec, tmp_path / "out", ledger.path], check=False)
    assert run.returncode == -9
    assert ledger.completion(1) is not None
    (draft,) = drafts(tmp_path)
    assert draft.stat().st_mode & 0o077 == 0
    digest = read_certificate(draft).digest
    before = os.umask(0o027)
    try:
        holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1)
    finally:
        os.umask(before)
    assert read_certificate(tmp_path / "out").digest == digest
    assert (tmp_path / "out").stat().st_mode & 0o7777 == 0o750


@as_root
def test_a_whole_draft_that_others_exchanged_is_not_named(
    spec: Path, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Draft, "publish", full)
        with pytest.raises(ChargedError):
            holdfast.release(spec, tmp_path / "out", ledger=ledger)
    (draft,) = drafts(tmp_path)
    shutil.copytree(draft, tmp_path / "copy")
    shutil.rmtree(draft)
    give_away((tmp_path / "copy").rename(draft))
    with pytest.raises(ReleaseError, match="belongs to another user"):
        holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1)
    assert not (tmp_path / "out").exists()


def test_a_draft_of_the_row_is_destroyed_wherever_it_is(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run = subprocess.run([sys.executable, "-c", KILLED, spec, elsewhere / "out", ledger.path], check=False)
    assert run.returncode == -9
    assert (draft_path(elsewhere / "out") / "certificate.json").exists()
    holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1)
    assert not drafts(elsewhere)
    assert ledger.spent() == 1


def test_a_row_that_is_being_drawn_is_not_resumed(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    outputs = TableMechanism.outputs

    def meanwhile(*given: Any) -> Any:
        with pytest.raises(ReleaseError, match="is being drawn by another run"):
            holdfast.release(spec, tmp_path / "other", ledger=ledger, resume=1)
        return outputs(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableMechanism, "outputs", meanwhile)
        holdfast.release(spec, tmp_path / "out", ledger=ledger)
    assert not (tmp_path / "other").exists()


def test_of_two_that_resume_one_row_one_wins(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableMechanism, "outputs", stop)
        with pytest.raises(ChargedError):
            holdfast.release(spec, tmp_path / "out", ledger=ledger)
    complete = Ledger.complete

    def overtaken(account: Ledger, row: int, **digests: Any) -> Any:
        complete(account, row, certificate="0" * 64, release="1" * 64)
        return complete(account, row, **digests)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "complete", overtaken)
        with pytest.raises(ChargedError, match="was released by another run meanwhile"):
            holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1)
    assert not (tmp_path / "out").exists()
    assert not drafts(tmp_path)


def test_a_whole_release_of_another_row_is_spared(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    """Two rows were drafted under one name: the first was not drawn, the second only lacks its name."""
    for step, name in ((TableMechanism, "outputs"), (Draft, "publish")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(step, name, stop)
            with pytest.raises(ChargedError):
                holdfast.release(spec, tmp_path / "out", ledger=ledger)
    first = holdfast.release(spec, tmp_path / "one", ledger=ledger, resume=1)
    assert first.left == 1  # of 3, with both rows charged
    assert len(drafts(tmp_path)) == 1
    holdfast.release(spec, tmp_path / "two", ledger=ledger, resume=2)
    assert verify_ledger(ledger.path, releases=[tmp_path / "one", tmp_path / "two"]).kept
    assert not drafts(tmp_path)


def test_a_whole_release_is_named_only_as_it_was_asked_for(
    spec: Path, ledger: Ledger, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draft, "publish", stop)
        with pytest.raises(ChargedError):
            holdfast.release(spec, tmp_path / "out", ledger=ledger)
    with pytest.raises(ReleaseError, match="not as is asked now"):
        holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1, parquet=True)
    weaker = written(tmp_path, ('epsilon = "1" ', 'epsilon = "2" '))
    with pytest.raises(ReleaseError, match="not as is asked now"):
        holdfast.release(weaker, tmp_path / "out", ledger=ledger, resume=1)
    with pytest.raises(ReleaseError, match="without a seed"):
        holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1, seed=1)
    written(tmp_path)
    private, public = generate_keys(tmp_path / "key")
    holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1, key=private)
    assert verify(tmp_path / "out", public_key=public).kept
    assert not drafts(tmp_path)


def test_only_the_same_release_is_drawn_for_a_row(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableMechanism, "outputs", stop)
        with pytest.raises(ChargedError):
            holdfast.release(spec, tmp_path / "out", ledger=ledger)
    weaker = written(tmp_path, ('epsilon = "1" ', 'epsilon = "2" '))
    with pytest.raises(HoldfastError, match="row 1"):
        holdfast.release(weaker, tmp_path / "out", ledger=ledger, resume=1)
    written(tmp_path)
    (tmp_path / "children.csv").write_text((tmp_path / "children.csv").read_text().replace("15", "16", 1))
    with pytest.raises(HoldfastError, match="row 1"):
        holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1)
    for row in (0, 2, 10**9):
        with pytest.raises(HoldfastError):
            holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=row)
    with pytest.raises(ReleaseError, match="name the ledger too"):
        holdfast.release(spec, tmp_path / "out", resume=1)
    assert not (tmp_path / "out").exists()
    assert ledger.completion(1) is None
    assert ledger.spent() == 1


def test_what_is_handed_over_in_memory_was_seen(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    release = prepare(spec).release(SeededEntropy(1), ledger=ledger)
    completion = ledger.completion(1)
    assert completion is not None
    assert completion.release is None
    with pytest.raises(ReleaseError, match="was released on"):
        holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1)
    release.write(tmp_path / "out")
    assert verify(tmp_path / "out").kept


def test_a_failure_in_memory_is_resumed_as_files(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableMechanism, "outputs", stop)
        with pytest.raises(ChargedError, match="nothing was released by this run"):
            prepare(spec).release(ledger=ledger)
    assert holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1).row == ledger.row(1)
    assert ledger.spent() == 1


@pytest.mark.parametrize(
    "step",
    [
        (holdfast.releases.handover, "write_page"),
        (Draft, "reserve"),
        (TableMechanism, "law"),
        (Draft, "__init__"),
    ],
)
def test_what_fails_before_the_charge_costs_nothing(
    spec: Path, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[object, str]
) -> None:
    from holdfast.mechanisms.lattice_laplace import LatticeLaplace

    place, name = step
    monkeypatch.setattr(LatticeLaplace if place is TableMechanism else place, name, full)
    with pytest.raises((OSError, ReleaseError)):
        holdfast.release(spec, tmp_path / "out", ledger=ledger)
    assert ledger.spent() == 0
    assert not drafts(tmp_path)
    assert not (tmp_path / "out").exists()
