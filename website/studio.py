"""Pictures of the studio for its guide: python -m website.studio [FOLDER] [--every].

The example is gone through as a curator would, and each view is pictured: twelve pictures for the guide, in
light, dark, on a phone and in print; with --every each view in all five ways, to be looked at.
"""

import argparse
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from PIL import Image

from holdfast.ledger.account import Ledger
from holdfast.spec.values import parse_rational
from holdfast.studio.desk import Desk
from holdfast.studio.server import opened
from website.browser import browsing, still
from website.pages import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES = ROOT / "docs" / "images" / "studio"
WAYS: Mapping[str, tuple[int, int, str, str]] = {
    "": (1280, 800, "light", "screen"),
    "-dark": (1280, 800, "dark", "screen"),
    "-phone": (390, 844, "light", "screen"),
    "-phone-dark": (390, 844, "dark", "screen"),
    "-print": (794, 1123, "light", "print"),
}
PHONE = 500
"""Pictures less wide than this are of a phone."""
KEPT = (
    *("data", "exact", "exact-dark", "exact-phone", "accuracy", "confirm", "released", "account"),
    *("check", "answer", "audits", "audits-dark"),
)
"""The pictures that the guide shows."""


@dataclass(frozen=True)
class Scene:
    """What is pictured: a view, after some clicks, from the top or from an element on, on a phone another."""

    name: str
    view: str
    clicks: tuple[str, ...] = ()
    top: str = ""
    phone: str = ""


SCENES = (
    Scene("data", "data"),
    Scene("exact", "exact", ("#cell-1-1", "#cell-1-2", "#cell-1-3"), phone="#picture"),
    Scene("accuracy", "accuracy", (), "#budgets"),
    Scene("compared", "accuracy", ("#compare",), "#side"),
    Scene("release", "release"),
    Scene("confirm", "release", ("#look",)),
    Scene("released", "release", ("#draw",)),
    Scene("account", "account"),
    Scene("check", "check", ("#check-it",)),
    Scene("answer", "use", ("#cell-2-1",)),
    Scene("audits", "audits"),
)


@contextmanager
def example(page: "Page") -> Iterator[str]:
    """Open a studio of the example in a new folder, and let the page in; yield its address."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "children"
        folder.mkdir()
        Ledger.create(folder / "children.ledger", standard="pure", budget=parse_rational("3"))
        studio = opened(Desk.at(folder))
        thread = Thread(target=studio.run, daemon=True)
        thread.start()
        try:
            page.goto(studio.address)
            still(page).click("#demo")
            still(page).fill("#unit", "child")
            page.click("#unit-save")
            still(page)
            yield studio.address.partition("/?")[0]
        finally:
            studio.stop()
            thread.join()


def walked(page: "Page", pictured: Callable[[str, str, bytes], None]) -> None:
    """Go through all scenes, and hand each picture over with its name and its way."""
    with example(page) as root:
        for scene in SCENES:
            page.goto(f"{root}/{scene.view}")
            for click in scene.clicks:
                still(page).click(click)
            still(page)
            if scene.name == "released":
                page.frame_locator("iframe").locator("h1").wait_for()
            for way, (width, height, scheme, media) in WAYS.items():
                page.set_viewport_size({"width": width, "height": height})
                page.emulate_media(color_scheme=scheme, media=media)  # type: ignore[arg-type]
                top = (scene.phone if width < PHONE else "") or scene.top
                page.evaluate(
                    "(top) => top ? document.querySelector(top).scrollIntoView() : scrollTo(0, 0)", top
                )
                pictured(scene.name, way, page.screenshot(full_page=media == "print"))
            page.set_viewport_size({"width": 1280, "height": 800})
            page.emulate_media(color_scheme="light", media="screen")


def small(picture: bytes) -> Image.Image:
    """Return a picture with few colours, which is a small file; rare ones, as of a frame, stay."""
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    return whole.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


def main() -> None:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=PICTURES)
    parser.add_argument("--every", action="store_true", help="each view in each way")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)

    def pictured(name: str, way: str, picture: bytes) -> None:
        if asked.every or f"{name}{way}" in KEPT:
            small(picture).save(asked.folder / f"{name}{way}.png", optimize=True)

    with browsing() as browser:
        page = browser.new_page(reduced_motion="reduce")
        page.set_default_timeout(120_000)
        walked(page, pictured)


if __name__ == "__main__":
    main()
