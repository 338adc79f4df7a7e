"""Who visits the studio without a browser: what is sent and what comes back, header by header."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import httpx

from holdfast.studio.app import studio
from holdfast.studio.desk import Desk
from holdfast.studio.guard import Keys

HOST = "localhost:8000"


@dataclass
class Visitor:
    """One who has a desk, and a cookie once they came with the token."""

    desk: Desk
    keys: Keys = field(default_factory=Keys)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.app = studio(self.desk, self.keys, port=8000, **self.options)
        self.cookies: dict[str, str] = {}

    @classmethod
    def at(cls, target: Path) -> "Visitor":
        """Return one who was let in."""
        one = cls(Desk.at(target))
        assert one.get(f"/?token={one.keys.token}").status_code == 303
        return one

    def send(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> httpx.Response:
        """Send a request, and return the answer."""

        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
                cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
                usual = {"cookie": cookies} if cookies else {}
                return await client.request(method, path, headers={**usual, **(headers or {})}, **more)

        answer = asyncio.run(sent())
        for name, value in answer.cookies.items():
            self.cookies[name] = value
        return answer

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Look at a page."""
        return self.send("GET", path, headers)

    def post(self, path: str, data: Mapping[str, Any] | None = None, **more: Any) -> httpx.Response:
        """Send a form as htmx does."""
        headers = {"origin": f"http://{HOST}", "hx-request": "true", **more.pop("headers", {})}
        return self.send("POST", path, headers, data=data, **more)


def words(answer: httpx.Response) -> str:
    """Return what is read of a page, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())
