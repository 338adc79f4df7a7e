"""Somebody who looks at a studio with a real browser."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import Browser, ConsoleMessage, Page
from tests.studio.running import running
from website.browser import still

from holdfast.studio.desk import Desk
from holdfast.studio.server import Opened

EXPECTED = (
    "Failed to load resource",
    "htmx:",
    "Response Status Error",
    "Opener-Policy header has been ignored",
)
"""What a console says of refusals, and of a studio that is gone: tests look for what the page says."""


@dataclass(eq=False)
class Guest:
    """Somebody with a page of a studio; all that they do waits until the page is still."""

    page: Page
    desk: Desk
    root: str

    @property
    def folder(self) -> Path:
        """The folder of the studio."""
        return self.desk.place.folder

    @property
    def said(self) -> str:
        """What is read of the view."""
        return " ".join(self.page.inner_text("main").split())

    @property
    def trouble(self) -> str:
        """The sentence of what went wrong."""
        return " ".join(self.page.inner_text("#trouble").split())

    def at(self, view: str) -> "Guest":
        """Go to a view."""
        answer = self.page.goto(f"{self.root}/{view}")
        assert answer is not None
        assert answer.ok, f"{view}: {answer.status}"
        still(self.page)
        return self

    def click(self, selector: str) -> "Guest":
        """Click, and wait for what comes of it."""
        self.page.click(selector)
        still(self.page)
        return self

    def fill(self, fields: Mapping[str, str], click: str = "") -> "Guest":
        """Fill the fields of a form, and send it with a button."""
        for name, value in fields.items():
            one = self.page.locator(f"#{name}")
            if one.evaluate("it => it.tagName") == "SELECT":
                one.select_option(value)
            else:
                one.fill(value)
        return self.click(click) if click else self

    def unchecked(self) -> "Guest":
        """Send forms as they are: the browser holds nothing back."""
        self.page.evaluate("document.querySelectorAll('form').forEach((form) => { form.noValidate = true; })")
        return self

    def another(self) -> "Guest":
        """The same guest in another tab."""
        page = self.page.context.new_page()
        return Guest(page, self.desk, self.root)


@dataclass(eq=False)
class Studios:
    """Studios in this process, each on a port of its own, and contexts of a browser."""

    browser: Browser
    complaints: list[str] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)

    def open(self, target: Path) -> tuple[Desk, Opened]:
        """Open a studio."""
        return self._stack.enter_context(running(target))

    def guest(self, target: Path, **options: Any) -> Guest:
        """Open a studio, and let somebody in."""
        desk, one = self.open(target)
        page = self.page(**options)
        page.goto(one.address)
        return Guest(still(page), desk, one.address.partition("/?")[0])

    def page(self, **options: Any) -> Page:
        """Return a page of somebody who knows nothing."""
        context = self.browser.new_context(**{"reduced_motion": "reduce", **options})
        context.set_default_timeout(120_000)
        context.on("console", self._heard)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self._stack.callback(context.close)
        return context.new_page()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(one in message.text for one in EXPECTED):
            self.complaints.append(message.text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
