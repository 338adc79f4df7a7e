"""One confirmation is one release: whatever is clicked twice, killed or come back to."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.example import written
from tests.studio.visitor import Visitor, words

import holdfast as hf
from holdfast.releases import prepare as road
from holdfast.studio import pending
from holdfast.studio.jobs import Job


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    one = Visitor.at(written(tmp_path))
    yield one
    for job in one.desk.jobs.values():
        job.end()
        job.wait()


def opened(visitor: Visitor, budget: str = "2") -> hf.Ledger:
    assert visitor.post("/release/ledger", {"name": "a", "budget": budget}).status_code == 200
    return hf.Ledger.open(visitor.desk.place.folder / "a.ledger")


def looked(visitor: Visitor, ledger: str = "", out: str = "out") -> str:
    """Look what it takes, and return what the page says."""
    answer = visitor.post("/release/look", {"out": out, "ledger": ledger})
    assert answer.status_code == 200, words(answer)
    visitor.desk.jobs["look"].wait()
    return words(visitor.get("/release"))


def confirmed(visitor: Visitor, nonce: str) -> str:
    answer = visitor.post("/release/draw", {"nonce": nonce})
    if "release" in visitor.desk.jobs:
        visitor.desk.jobs["release"].wait()
    return words(answer)


def test_it_says_in_words_what_is_charged_and_what_remains(visitor: Visitor) -> None:
    account = opened(visitor)
    text = looked(visitor, "a.ledger")
    assert "epsilon 1 is charged to a.ledger" in text
    assert "Then 1 of 2 is spent and 1 is left: enough for about 1 more like it" in text
    assert account.rows() == ()
    assert not (visitor.desk.place.folder / "out").exists()


def test_a_release_is_whole_verifies_and_is_charged_once(visitor: Visitor) -> None:
    account = opened(visitor)
    looked(visitor, "a.ledger")
    nonce = visitor.desk.nonce
    confirmed(visitor, nonce)
    out = visitor.desk.place.folder / "out"
    content = (out / "table.csv").read_bytes()
    for _ in range(3):  # a double click, a reload, another tab
        assert "It is released: out" in confirmed(visitor, nonce)
        assert "It is released: out" in words(visitor.get("/release"))
    assert (out / "table.csv").read_bytes() == content
    assert [row.total for row in account.rows()] == [Fraction(1)]
    assert hf.verify(out).kept
    assert hf.verify_ledger(account.path, releases=[out]).kept
    assert pending.noted(visitor.desk.place) is None
    page = visitor.get("/release/certificate")
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "sha256-" in page.headers["content-security-policy"]
    assert visitor.get("/release/file/table.csv").content == content


@pytest.mark.parametrize("name", ["..%2Fchildren.csv", "%2Fetc%2Fpasswd", "nothing", "%00"])
def test_no_other_file_is_handed_out(visitor: Visitor, name: str) -> None:
    looked(visitor)
    confirmed(visitor, visitor.desk.nonce)
    assert visitor.get(f"/release/file/{name}").status_code == 404


def test_two_tabs_that_confirm_at_once_draw_once(visitor: Visitor) -> None:
    account = opened(visitor)
    looked(visitor, "a.ledger")
    nonce = visitor.desk.nonce
    tabs = [Thread(target=confirmed, args=(visitor, nonce)) for _ in range(4)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert len(account.rows()) == 1


def test_what_was_confirmed_is_what_is_released(visitor: Visitor) -> None:
    looked(visitor)
    visitor.post("/exact/total")
    answer = visitor.post("/release/draw", {"nonce": visitor.desk.nonce})
    assert (answer.status_code, "changed since" in words(answer)) == (422, True)
    assert not (visitor.desk.place.folder / "out").exists()


def test_nothing_is_released_of_whom_nobody_is_named(tmp_path: Path) -> None:
    visitor = Visitor.at(tmp_path)
    visitor.post("/data/demo")
    assert 'value=""' in visitor.get("/data").text
    assert "Nobody is named" in words(visitor.get("/release"))
    assert visitor.post("/release/look", {"out": "out"}).status_code == 422
    assert visitor.post("/data/unit", {"unit": " "}).status_code == 422
    assert visitor.post("/data/unit", {"unit": "<b>"}).status_code == 422
    assert visitor.post("/data/unit", {"unit": "child", "records": "2"}).status_code == 200
    assert "one child" in looked(visitor).lower() or "child" in looked(visitor)


@pytest.mark.parametrize("out", ["", ".", "..", "../x", "a/b", ".hidden", "children.csv", "a\nb", "x" * 300])
def test_a_folder_that_cannot_be_is_refused(visitor: Visitor, out: str) -> None:
    before = sorted(visitor.desk.place.folder.iterdir())
    answer = visitor.post("/release/look", {"out": out})
    if answer.status_code == 200:  # such a long name is refused where it is tried
        visitor.desk.jobs["look"].wait()
        confirmed(visitor, visitor.desk.nonce)
    assert sorted(visitor.desk.place.folder.iterdir()) == before


def test_over_the_budget_is_refused_before_anything(visitor: Visitor) -> None:
    account = opened(visitor, "1/2")
    assert "is not enough" in looked(visitor, "a.ledger")
    assert account.rows() == ()


def test_it_can_be_ended_before_the_charge_at_no_cost(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = opened(visitor)
    looked(visitor, "a.ledger")
    at, go = Event(), Event()
    usual = road.prepare

    def slow(spec: object) -> object:
        at.set()
        go.wait(60)
        return usual(spec)  # type: ignore[arg-type]

    monkeypatch.setattr("holdfast.studio.views.release.prepare", slow)
    tab = Thread(target=confirmed, args=(visitor, visitor.desk.nonce))
    tab.start()
    at.wait(60)
    assert visitor.desk.jobs["release"].end()
    go.set()
    tab.join()
    assert account.rows() == ()
    assert not (visitor.desk.place.folder / "out").exists()
    assert "before anything was charged or drawn" in words(visitor.get("/release"))


def test_it_is_too_late_once_it_is_committed() -> None:
    at, go = Event(), Event()

    def work(job: Job) -> str:
        job.commit()
        at.set()
        go.wait(60)
        job.look()
        return "done"

    job = Job("", work).start()
    at.wait(60)
    assert not job.end()
    go.set()
    job.wait()
    assert (job.result, job.problem) == ("done", "")


KILLED = """
import os, sys
from pathlib import Path
import holdfast.releases.prepared as prepared
from tests.studio.visitor import Visitor
usual = prepared.Drawing.draw
def draw(self):
    if sys.argv[2] == "drawn":
        usual(self)
    os.kill(os.getpid(), 9)
prepared.Drawing.draw = draw
visitor = Visitor.at(Path(sys.argv[1]))
visitor.post("/release/look", {"out": "out", "ledger": "a.ledger"})
visitor.desk.jobs["look"].wait()
visitor.post("/release/draw", {"nonce": visitor.desk.nonce})
visitor.desk.jobs["release"].wait()
"""


@pytest.mark.parametrize("when", ["charged", "drawn"])
def test_a_killed_server_leaves_a_row_that_is_gone_on_with(visitor: Visitor, when: str) -> None:
    account = opened(visitor)
    folder = visitor.desk.place.folder
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", KILLED, folder, when], env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert [row.total for row in account.rows()] == [Fraction(1)]
    assert not (folder / "out").exists()
    back = Visitor.at(folder)
    assert "Row 1 of a.ledger is charged for the folder out" in words(back.get("/release"))
    answer = back.post("/release/resume")
    assert answer.status_code == 200
    back.desk.jobs["release"].wait()
    assert "It is released: out" in words(back.get("/release"))
    assert "nothing to go on with" in words(back.post("/release/resume")) or len(account.rows()) == 1
    assert [row.total for row in account.rows()] == [Fraction(1)]
    assert hf.verify(folder / "out").kept
    assert hf.verify_ledger(account.path, releases=[folder / "out"]).kept


def test_a_note_of_somebody_else_leads_nowhere(visitor: Visitor) -> None:
    folder = visitor.desk.place.folder
    for text in ("{}", "[]", "null", '{"nonce": 1, "spec": "../x", "out": "/etc", "ledger": ""}', "{" * 999):
        (folder / pending.NOTE).write_text(text)
        assert visitor.get("/release").status_code == 200
        assert pending.left(visitor.desk.place) is None
