"""A real browser without a window: for pictures of pages, and for tests of them."""

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
"""It asks no network for anything of its own."""
STILL = """() => window.htmx && document.readyState === "complete"
  && !document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling, [hx-trigger^='load delay']")"""
"""Whether a page of the studio waits for nothing more."""


@contextmanager
def browsing(*flags: str) -> "Iterator[Browser]":
    """Open a browser, and close it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=[*QUIET, *flags])
        try:
            yield browser
        finally:
            browser.close()


def still(page: "Page") -> "Page":
    """Return a page of the studio once it waits for nothing more."""
    page.wait_for_function(STILL, timeout=120_000)
    return page
