"""For everybody: no violation that axe knows of, by keys alone, enlarged, without motion, in any colours."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from tests.studio.browser.guest import Guest, Studios
from tests.studio.browser.worlds import world
from website.browser import still

from holdfast.studio.views import VIEWS

NAMES = [view.name for view in VIEWS]
SIZES = ((1280, 800), (640, 400), (390, 844), (320, 640))
"""A page of 1280 that is enlarged twice has 640, and one that is enlarged four times 320."""


@pytest.fixture
def curator(studios: Studios, tmp_path: Path) -> Guest:
    """Somebody with a release, an account, and another spec before them."""
    folder = world("demo")(tmp_path)
    guest = studios.guest(folder).at("exact")
    for cell in ("cell-1-1", "cell-1-2", "cell-1-3"):
        guest.click(f"#{cell}")
    return guest


def violations(page: Page) -> list[str]:
    """Return what axe finds, of any impact."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [f"{one['id']} ({one['impact']}): {node['html'][:200]}" for one in found for node in one["nodes"]]


def test_what_axe_would_find_is_found(guest: Guest) -> None:
    guest.page.evaluate("document.querySelector('label').remove()")
    assert violations(guest.page)


def everywhere(guest: Guest) -> Iterator[str]:
    """Walk through all views, then through what stands before and after a release."""
    for name in NAMES:
        guest.at(name)
        yield name
    guest.at("release").click("#look")
    yield "what a release takes"
    guest.click("#draw").page.locator("iframe").wait_for()
    yield "what was released"
    for name in NAMES:
        if name not in ("data", "exact", "accuracy", "release"):
            guest.at(name)
            yield f"{name}, with a release"
    guest.at("accuracy").click("#compare")
    yield "mechanisms side by side"


def wrong(page: Page, name: str) -> Iterator[str]:
    """Yield what axe finds of a view in light and dark, and where it is wider than its window."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for one in violations(page):
            yield f"{name}, {scheme}: {one}"
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        if (over := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
            yield f"{name} at {width}: {over} are cut off"
    page.set_viewport_size({"width": 1280, "height": 800})


def test_axe_finds_nothing_in_light_and_dark_and_nothing_is_cut_off(curator: Guest) -> None:
    assert [one for name in everywhere(curator) for one in wrong(curator.page, name)] == []


@pytest.mark.parametrize("name", ["geography", "microdata", "several"])
def test_views_of_every_kind_of_spec_are_as_free_of_faults(
    studios: Studios, tmp_path: Path, name: str
) -> None:
    guest, found = studios.guest(world(name)(tmp_path)), list[str]()
    for view in ("data", "exact", "accuracy"):
        found += wrong(guest.at(view).page, view)
        if view == "data" and name != "microdata":
            found += wrong(guest.click("#counts").page, "confidential counts")
        if view == "exact" and name == "several":
            found += wrong(guest.click("#table-2").click("#cell-3").page, "a table of one attribute")
        if view == "accuracy" and name == "microdata":
            found += wrong(guest.click("#compare").page, "what is not compared")
    assert found == []


CUT = """() => [...document.querySelectorAll(".scroll:has(.stacked)")]
  .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.getAttribute("aria-label"))"""


@pytest.mark.parametrize("name", ["demo", "microdata"])
def test_comparisons_are_lists_on_a_phone(studios: Studios, tmp_path: Path, name: str) -> None:
    folder = world(name)(tmp_path)
    if name == "microdata":
        spec = folder / "holdfast.toml"
        spec.write_text(
            spec.read_text().replace("[data]\n", '[data]\ncells = ["town", "tenure"]\n').replace('"2"', '"6"')
        )
    guest = studios.guest(folder).at("accuracy").click("#compare")
    page = guest.page
    page.wait_for_selector("table.stacked")
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate(CUT) == []
        assert page.locator(".stacked td.value:not([data-label])").count() == 0


def test_reasons_are_as_wide_as_the_comparison(studios: Studios, tmp_path: Path) -> None:
    page = studios.guest(world("demo")(tmp_path)).at("accuracy").click("#compare").page
    heads = page.locator(".ways thead th").all_inner_texts()
    assert heads[:4] == ["Way", "guarantee", "revealed", "a cell"]
    boxes = page.locator(".ways .why span").all()
    assert boxes
    assert all((box.bounding_box() or {"height": 1e9})["height"] < 80 for box in boxes)


def test_errors_have_a_place_that_is_read_aloud(curator: Guest) -> None:
    curator.at("accuracy").unchecked().fill({"budget": "-1"}, "#budget-take")
    assert curator.trouble
    assert curator.page.get_attribute("#trouble", "role") == "alert"
    assert violations(curator.page) == []
    curator.click("#target-add")
    assert curator.trouble == ""
    assert curator.page.get_attribute("#said", "aria-live") == "polite"
    assert curator.page.inner_text("#said")


def test_a_release_is_made_by_keys_alone(guest: Guest) -> None:
    page = guest.page

    def reach(selector: str) -> None:
        """Walk to a control by the tabulator, as far as the page goes."""
        for _ in range(200):
            if page.evaluate("(sought) => document.activeElement.matches(sought)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{selector} cannot be reached")

    def press(key: str) -> None:
        page.keyboard.press(key)
        still(page)

    def go(view: str) -> None:
        reach(f"nav a[href='/{view}']")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        still(page)

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reach("#demo")
    press("Enter")
    reach("#unit")
    page.keyboard.type("child")
    press("Enter")
    go("exact")
    reach("#head-1")
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.id") == "cell-1-2"
    press("Space")
    assert page.get_attribute("#cell-1-2", "aria-pressed") == "true"
    assert page.evaluate("document.activeElement.id") == "cell-1-2"  # where it was before
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert outline == "3px"
    go("release")
    reach("#look")
    press("Enter")
    reach("#draw")
    press("Enter")
    page.locator("iframe").wait_for()
    assert (guest.folder / "release" / "certificate.json").is_file()


def test_nothing_moves_for_those_who_want_no_motion(curator: Guest) -> None:
    moving = "() => [...document.querySelectorAll('*')].filter((one) => { const s = getComputedStyle(one);"
    moving += " return parseFloat(s.transitionDuration) > 0 || s.animationName !== 'none'; }).length"
    assert curator.page.evaluate(moving) == 0
    curator.page.emulate_media(reduced_motion="no-preference")
    assert curator.page.evaluate(moving) > 0


def test_in_forced_colours_what_is_exact_and_what_is_revealed_are_told_apart(curator: Guest) -> None:
    page = curator.page
    page.emulate_media(forced_colors="active")
    look = """(id) => { const s = getComputedStyle(document.getElementById(id));
        return [s.backgroundColor, s.borderTopStyle, s.borderTopWidth].join(" "); }"""
    looks = [page.evaluate(look, cell) for cell in ("cell-1-1", "cell-1-4", "cell-2-1")]
    assert len(set(looks)) == 3
    said = [page.inner_text(f"#{cell} [aria-hidden]") for cell in ("cell-1-1", "cell-1-4")]
    assert said == ["exact", "shown"]
