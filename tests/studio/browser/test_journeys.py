"""From the data to a release that others check and use, by clicks alone, for specs of every kind."""

from pathlib import Path

import pytest
from tests.studio.browser.guest import Guest, Studios
from tests.studio.browser.worlds import COUNTIES, world
from website.browser import still

import holdfast as hf


def released(guest: Guest, ledger: str = "") -> Path:
    """Release what the spec says, look at the certificate, and take the files."""
    guest.at("release")
    if ledger:
        guest.click("#open-account summary")
        guest.fill({"account-name": ledger, "account-budget": "10"}, "#account-open")
        guest.fill({"ledger": f"{ledger}.ledger"})
    guest.click("#look")
    assert guest.page.locator("#draw").count() == 1, guest.said
    guest.click("#draw")
    guest.page.frame_locator("iframe").get_by_role("heading", name="Certificate of release").wait_for()
    out = guest.folder / "release"
    for link in guest.page.locator("a[download]").all():
        with guest.page.expect_download() as coming:
            link.click()
        name = coming.value.suggested_filename
        assert Path(coming.value.path()).read_bytes() == (out / name).read_bytes()
    assert hf.verify(out).kept
    assert guest.at("account").trouble == ""
    assert f"{ledger}.ledger" in guest.said
    assert "by 1 release" in guest.said
    assert "Every check holds" in guest.at("check").click("#check-it").said
    assert guest.at("use").trouble == ""
    return out


def test_the_example_from_nothing_to_its_use(guest: Guest) -> None:
    guest.click("#demo")
    assert "16" in guest.said
    assert guest.page.input_value("#unit") == ""
    assert guest.at("release").page.locator("#look").count() == 0  # nobody is named yet
    guest.at("data").fill({"unit": "child"}, "#unit-save")
    assert 'unit = "child"' in guest.page.input_value("#spec-text")
    guest.at("exact").click("#cell-1-1")
    assert guest.page.get_attribute("#cell-1-1", "aria-pressed") == "true"
    assert 'where = { county = "Alpha", education = "Low" }' in guest.page.input_value("#spec-text")
    assert "8 numbers are left open" in guest.page.inner_text("#sentence")
    guest.click("#cell-1-1")
    assert "9 numbers are left open" in guest.page.inner_text("#sentence")
    guest.at("accuracy").fill({"within": "5", "level": "95"}, "#target-add")
    assert "this one binds" in guest.said
    released(guest, "budget")
    guest.click("#cell-2-1")
    assert "Do not say" in guest.said
    assert len(hf.Ledger.open(guest.folder / "budget.ledger").rows()) == 1


def test_102_counties_from_a_file_of_the_browser(guest: Guest) -> None:
    guest.page.set_input_files(
        "#upload", {"name": "counties.csv", "mimeType": "text/csv", "buffer": COUNTIES.encode()}
    )
    guest.click("#upload-send")
    assert (guest.folder / "counties.csv").read_text() == COUNTIES
    assert "County 001" in guest.said
    guest.fill({"unit": "person"}, "#unit-save")
    guest.at("exact").click("#single-1")
    assert guest.page.get_attribute("#single-1", "aria-pressed") == "true"
    assert "moves 2 people" in guest.page.inner_text("#sentence")
    released(guest, "people")


@pytest.mark.parametrize("name", ["geography", "microdata", "several"])
def test_specs_of_every_kind_are_looked_at_and_released(studios: Studios, tmp_path: Path, name: str) -> None:
    guest = studios.guest(world(name)(tmp_path))
    for view in ("exact", "accuracy"):
        assert guest.at(view).trouble == ""
        assert "Looking through" not in guest.said
    released(guest, "people")


def test_each_of_several_tables_is_clicked_on(studios: Studios, tmp_path: Path) -> None:
    guest = studios.guest(world("several")(tmp_path)).at("exact").click("#head-1").click("#table-2")
    assert guest.page.get_attribute("#table-2", "aria-pressed") == "true"
    guest.click("#single-1")
    text = guest.page.input_value("#spec-text")
    assert 'invariants = [{ margin = ["sex"] }, { where = { age = "0-17" } }]' in text
    assert 'invariants = [{ margin = ["county"] }]' in text
    guest.click("#single-1").at("accuracy")
    assert "places has 0.25 (1/4) of it" in guest.said
    assert "places" not in guest.page.url
    guest.click("#table-1")
    assert "ages has 0.75 (3/4) of it" in guest.said


def test_a_target_is_dragged_by_keys(guest: Guest) -> None:
    guest.click("#demo").fill({"unit": "child"}, "#unit-save")
    guest.at("accuracy").fill({"within": "5", "level": "95"}, "#target-add")
    before = guest.page.inner_text(".targets")
    guest.page.focus("#aim-slider-1")
    guest.page.keyboard.press("ArrowRight")
    still(guest.page)
    assert "within = 6" in guest.page.input_value("#spec-text")
    assert guest.page.inner_text(".targets") != before
    assert guest.page.evaluate("document.activeElement.id") == "aim-slider-1"
