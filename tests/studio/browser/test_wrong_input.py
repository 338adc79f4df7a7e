"""What is typed wrong is one sentence where the visitor is, and changes nothing; names are never obeyed."""

from pathlib import Path

import pytest
from tests.studio.browser.guest import Guest, Studios
from tests.studio.browser.worlds import world
from website.browser import still

import holdfast as hf

WILD = [
    '<script>alert("1")</script>',
    "=cmd()|' /C calc'!A0",
    "\u202eevil\u2067",
    'O\'Neil & "sons"',
    "{{ 7*7 }}",
]


@pytest.fixture
def curator(studios: Studios, tmp_path: Path) -> Guest:
    return studios.guest(world("demo")(tmp_path))


def test_every_step_refuses_what_cannot_be(curator: Guest) -> None:
    spec = curator.folder / "holdfast.toml"
    before, there = spec.read_text(), sorted(curator.folder.iterdir())
    steps: tuple[tuple[str, dict[str, str], str], ...] = (
        ("data", {"unit": " "}, "#unit-save"),
        ("data", {"unit": "<b>"}, "#unit-save"),
        ("data", {"unit": "child", "records": "0"}, "#unit-save"),
        ("data", {}, "#upload-send"),
        ("data", {"spec-text": "[data\n"}, "#spec-save"),
        ("exact", {}, "#select-keep"),
        ("accuracy", {"within": "-5"}, "#target-add"),
        ("accuracy", {"within": "5", "level": "100"}, "#target-add"),
        ("accuracy", {"budget": "much"}, "#budget-take"),
        ("release", {"out": "../elsewhere"}, "#look"),
        ("release", {"out": "children.csv"}, "#look"),
        ("account", {"account-name": "../a", "account-budget": "1"}, "#account-open"),
        ("account", {"account-name": "a", "account-budget": "one"}, "#account-open"),
    )
    for view, fields, button in steps:
        curator.at(view).unchecked().fill(fields, button)
        assert curator.trouble.endswith("."), (view, fields, curator.said)
        assert "fault" not in curator.trouble
        assert spec.read_text() == before
        assert sorted(curator.folder.iterdir()) == there
    curator.at("exact").click("#total")  # and then all goes on
    assert curator.trouble == ""


def test_a_file_that_is_too_large_is_told_of_before_any_of_it_is_sent(curator: Guest, tmp_path: Path) -> None:
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(2 * 2**30 + 1)  # it takes no room
    sent: list[str] = []
    curator.page.on("request", lambda request: sent.append(request.url))
    curator.page.set_input_files("#upload", large)
    curator.click("#upload-send")
    assert "more than the studio takes" in curator.trouble
    assert [url for url in sent if url.endswith("/upload")] == []
    assert not (curator.folder / "large.csv").exists()


def test_names_are_shown_and_never_obeyed(guest: Guest) -> None:
    rows = [(name, place) for name in WILD for place in ("here", "there")]
    quoted = (
        '"' + name.replace('"', '""') + f'",{place},{number}\n'
        for number, (name, place) in enumerate(rows, 5)
    )
    text = "<img src=x onerror=alert(2)>,place,n\n" + "".join(quoted)
    guest.page.on("dialog", lambda dialog: pytest.fail(f"a name was obeyed: {dialog.message}"))
    guest.page.set_input_files(
        "#upload", {"name": "<i>wild</i>.csv", "mimeType": "text/csv", "buffer": text.encode()}
    )
    guest.click("#upload-send")
    assert guest.trouble == ""
    guest.fill({"unit": "person"}, "#unit-save")
    assert "<script>alert" in guest.said
    assert "{{ 7*7 }}" in guest.said
    for number in range(1, len(WILD) + 1):
        guest.at("exact").click(f"#cell-{number}-1")
        assert guest.trouble == ""
        assert guest.page.get_attribute(f"#cell-{number}-1", "aria-pressed") == "true"
        guest.click(f"#cell-{number}-1")
    assert guest.page.locator("main img, main script, main i").count() == 0
    assert guest.at("accuracy").trouble == ""
    for out, wish in (("plain", "no"), ("quoted", "yes")):
        guest.at("release").fill({"out": out, "quoted": wish}, "#look").click("#draw")
        still(guest.page).locator("iframe").wait_for()
        table = (guest.folder / out / "table.csv").read_text()
        assert ("'=cmd()" in table) == (wish == "yes")
        assert "=cmd()" in table
        assert hf.verify(guest.folder / out).kept
        guest.page.press("#another", "Enter")  # Chromium may miss a click right below a sandboxed frame
        guest.page.locator("#out").wait_for()
