"""A browser for the tests of a module, and for each test a studio on a port of its own.

The loop of events that Playwright runs would be in the way of other tests: it ends with the module.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.studio.browser.guest import Guest, Studios
from website.browser import BROWSER, browsing

NAMES = "--host-resolver-rules=MAP evil.example 127.0.0.1"
"""Somebody else's name leads to this machine."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if BROWSER is None and "HOLDFAST_REQUIRE_ALL" not in os.environ:
        pytest.skip("Chromium is not installed")
    with browsing(NAMES) as found:
        yield found


@pytest.fixture
def studios(browser: Browser) -> Iterator[Studios]:
    """Studios that are opened, and who looks at them; nothing may be wrong in any console."""
    with Studios(browser) as found:
        yield found
    assert found.complaints == []


@pytest.fixture
def guest(studios: Studios, tmp_path: Path) -> Guest:
    """Somebody in the studio of a new folder."""
    (tmp_path / "desk").mkdir()
    return studios.guest(tmp_path / "desk")
