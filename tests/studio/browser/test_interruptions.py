"""Clicked twice, in two tabs, left, reloaded, killed: a release is made once, and told of truly."""

import os
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Page
from tests.studio.browser.guest import Guest, Studios
from tests.studio.browser.worlds import world
from website.browser import still

import holdfast as hf
from holdfast.releases import prepare as road

LOOKED = "#look"


@pytest.fixture
def curator(studios: Studios, tmp_path: Path) -> Guest:
    """Somebody before the confirmation of a release that an account is charged for."""
    folder = world("demo")(tmp_path)
    hf.Ledger.create(folder / "a.ledger", standard="pure", budget=Fraction(3))
    guest = studios.guest(folder).at("release").click(LOOKED)
    assert guest.page.locator("#draw").count() == 1, guest.said
    return guest


def rows(guest: Guest) -> int:
    return len(hf.Ledger.open(guest.folder / "a.ledger").rows())


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Event, Event]]:
    """A release that has come as far as its preparation, and goes on when it is told to."""
    at, go = Event(), Event()
    usual = road.prepare

    def slow(spec: object) -> object:
        at.set()
        go.wait(120)
        return usual(spec)  # type: ignore[arg-type]

    monkeypatch.setattr("holdfast.studio.views.release.prepare", slow)
    yield at, go
    go.set()


def begun(page: Page) -> None:
    """Click, and see that it is under way."""
    page.click("#draw")
    page.locator("#end").wait_for()


def test_a_double_click_is_one_release(curator: Guest) -> None:
    curator.page.dblclick("#draw")
    still(curator.page)
    curator.page.locator("iframe").wait_for()
    assert rows(curator) == 1


def test_two_tabs_are_one_release(curator: Guest, gate: tuple[Event, Event]) -> None:
    other = curator.another().at("release")
    begun(curator.page)
    other.page.click("#draw")
    other.page.locator("#end").wait_for()
    gate[1].set()
    for tab in (curator, other):
        tab.page.locator("iframe").wait_for()
        assert "It is released: release" in tab.said
    assert rows(curator) == 1


def test_reloads_and_going_back_draw_nothing_twice(curator: Guest, gate: tuple[Event, Event]) -> None:
    begun(curator.page)
    curator.page.reload()
    curator.page.locator("#end").wait_for()
    curator.page.goto(f"{curator.root}/data")
    curator.page.go_back()
    curator.page.locator("#end").wait_for()
    gate[1].set()
    curator.page.locator("iframe").wait_for()
    for _ in range(2):
        curator.page.reload()
        still(curator.page).locator("iframe").wait_for()
    curator.at("data").page.go_back()
    assert "It is released: release" in Guest(still(curator.page), curator.desk, curator.root).said
    assert rows(curator) == 1


def test_it_is_ended_before_the_charge_at_no_cost(curator: Guest, gate: tuple[Event, Event]) -> None:
    begun(curator.page)
    curator.page.click("#end")
    gate[1].set()
    still(curator.page)
    assert "before anything was charged or drawn" in curator.said
    assert rows(curator) == 0
    assert not (curator.folder / "release").exists()


def test_a_spec_that_changed_meanwhile_is_not_what_was_confirmed(curator: Guest) -> None:
    other = curator.another().at("exact").click("#total")
    if curator.page.locator("#draw").count():  # the page may have heard of it already
        curator.click("#draw")
        assert "look again what the release takes" in curator.trouble
    assert rows(curator) == 0
    assert "total = true" in other.page.input_value("#spec-text")


SERVED = """
import os, sys
from pathlib import Path
import holdfast.releases.prepared as prepared
from holdfast.studio.desk import Desk
from holdfast.studio.server import opened
usual = prepared.Drawing.draw
def draw(self):
    if sys.argv[2] == "drawn":
        usual(self)
    os.kill(os.getpid(), 9)
prepared.Drawing.draw = draw
studio = opened(Desk.at(Path(sys.argv[1])))
print(studio.address, flush=True)
studio.run()
"""


@pytest.mark.parametrize("when", ["charged", "drawn"])
def test_a_killed_studio_says_what_was_left_and_goes_on(studios: Studios, tmp_path: Path, when: str) -> None:
    folder = world("demo")(tmp_path)
    hf.Ledger.create(folder / "a.ledger", standard="pure", budget=Fraction(3))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", SERVED, str(folder), when]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        page = studios.page()
        page.goto(server.stdout.readline().strip())
        page.goto(page.url.rpartition("/")[0] + "/release")
        still(page).click(LOOKED)
        still(page).click("#draw")
        page.locator("#trouble", has_text="The studio does not answer").wait_for()
    assert server.returncode == -9
    assert not (folder / "release").exists()
    back = studios.guest(folder).at("release")
    assert "Row 1 of a.ledger is charged for the folder release" in back.said
    back.click("#resume").page.locator("iframe").wait_for()
    assert "It is released: release" in back.said
    assert rows(back) == 1
    assert hf.verify(folder / "release").kept
    assert hf.verify_ledger(folder / "a.ledger", releases=[folder / "release"]).kept
