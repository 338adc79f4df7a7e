"""Who may speak to the studio, and what a browser may do with its pages: all of it in this one place.

* **Whose request.** The address that is printed has a token, which is exchanged once for a cookie that no
  script reads and no other site sends. Without the cookie every answer is 403. With a password, which other
  machines need, a page asks for that.
* **From where.** A name that somebody has led to this machine is not the name of the studio: Host must be an
  address or a name of this machine (against DNS rebinding). Origin and Sec-Fetch-Site, where a browser sends
  them, must be those of the studio itself, and what changes anything must have one of the two (against
  requests that another page makes).
* **What pages may do.** They load what the studio serves, and run no inline script and no inline style.
  Nothing is kept by a browser, framed elsewhere or sniffed, and no address is told to others.
* **How much.** A body has a limit by its path, which is refused by its stated length before it is read, and
  counted where it states none.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'; object-src 'none'"
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
MOST_FORM, MOST_UPLOAD = 12 * 2**20, 2 * 2**30
"""Bytes of a form, which may hold a spec, and of a file."""
UPLOADS = "/upload"
"""How the paths end that take files."""
STRANGER = (
    "This page is for whoever started the studio: open the address that it printed, which works once, or"
    " start it again."
)
MOST_TRIES, PAUSE = 20, 1.0
"""Wrong passwords until the studio has to be started again, and the seconds that each takes."""
PATIENCE = 10.0
"""Seconds in which a stranger has to have sent a password."""


class TooLargeError(Exception):
    """A body has more bytes than its path takes."""


@dataclass(eq=False)
class Keys:
    """Who was let in: the token, which works once, the password, if there is one, and the cookies."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    password: str | None = field(default=None, repr=False)
    cookies: set[str] = field(default_factory=set, repr=False)
    used: bool = False
    wrong: int = 0

    def exchange(self, token: str) -> str | None:
        """Return a new cookie for the token; None where it is another, or was exchanged before."""
        if self.used or not hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        self.used = True
        return self._cookie()

    def enter(self, password: str) -> str | None:
        """Return a new cookie for the password; None where it is another, or too many were wrong."""
        known = hashlib.sha256((self.password or "").encode()).digest()
        given = hashlib.sha256(password.encode()).digest()
        if self.password is None or self.wrong >= MOST_TRIES or not hmac.compare_digest(known, given):
            self.wrong += 1
            return None
        return self._cookie()

    def knows(self, cookie: str | None) -> bool:
        """Whether a cookie was given out."""
        given = (cookie or "").encode()
        return any(hmac.compare_digest(given, one.encode()) for one in tuple(self.cookies))

    def _cookie(self) -> str:
        cookie = secrets.token_urlsafe(32)
        self.cookies.add(cookie)
        return cookie


class Guard:
    """Stands before the pages, and answers itself where nobody else may."""

    def __init__(self, app: ASGIApp, keys: Keys, *, port: int, names: Iterable[str] = (), any_address: bool):
        self.app, self.keys, self.port = app, keys, port
        self.names = frozenset({"localhost", *(name.lower() for name in names)})
        self.any_address = any_address
        self.cookie = f"holdfast-{port}"  # browsers share cookies among the ports of a machine
        self.door = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        request = Request(scope, receive)

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._stopped(request) or await self._unknown(request)
        if answer is not None:
            await answer(scope, receive, sealed)
            return
        await self.app(scope, _counted(receive, most_bytes(request.url.path)), sealed)

    def _stopped(self, request: Request) -> Response | None:
        """Refuse what does not come from a page of the studio, and what is too large."""
        headers = request.headers
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Only GET and POST are answered.", 405)
        if not self._ours(headers.getlist("host")):
            return PlainTextResponse("This is not the address of the studio.", 403)
        if not from_here(headers, changing=request.method == "POST"):
            return PlainTextResponse("This request comes from another page.", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most_bytes(request.url.path):
            return too_large()
        return None

    def _ours(self, hosts: list[str]) -> bool:
        """Whether Host names this machine: by an address, or by a name that nobody else gives out."""
        if len(hosts) != 1:
            return False
        name, port = split_host(hosts[0])
        if port != self.port:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self.names
        return self.any_address or address.is_loopback

    async def _unknown(self, request: Request) -> Response | None:
        """Let in who has the token, the cookie or the password; None where they may go on."""
        path, known = request.url.path, self.keys.knows(request.cookies.get(self.cookie))
        if request.method == "GET" and path == "/" and "token" in request.query_params:
            if known:
                return RedirectResponse("/", 303)
            return self._let_in(self.keys.exchange(request.query_params["token"]))
        if known:
            return RedirectResponse("/", 303) if path == "/enter" else None
        if self.keys.password is None:
            return PlainTextResponse(STRANGER, 403)
        if path == "/enter" and request.method == "POST":
            return await self._entered(request)
        if path == "/static/certificate.css":
            return None
        return HTMLResponse(_door(""), 403)

    async def _entered(self, request: Request) -> Response:
        body = bytearray()
        try:
            async with asyncio.timeout(PATIENCE):
                async for part in request.stream():
                    body += part
                    if len(body) > 10_000:
                        return too_large()
        except TimeoutError:
            return PlainTextResponse("That took too long.", 408, headers={"connection": "close"})
        try:
            given = parse_qs(body.decode()).get("password", [""])[0]
        except ValueError:
            given = ""
        async with self.door:  # one at a time, so that guesses take their time
            cookie = self.keys.enter(given)
            if cookie is None:
                await asyncio.sleep(PAUSE)
                return HTMLResponse(_door("That is not the password."), 403)
        return self._let_in(cookie)

    def _let_in(self, cookie: str | None) -> Response:
        if cookie is None:
            return PlainTextResponse(STRANGER, 403)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.cookie, cookie, httponly=True, samesite="strict", path="/")
        return answer


def split_host(host: str) -> tuple[str, int]:
    """Return the name and the port of a Host header; port 0 where it has none that is one.

    >>> split_host("localhost:80"), split_host("[::1]:8000"), split_host("Example"), split_host("a:b")
    (('localhost', 80), ('::1', 8000), ('example', 80), ('a:b', 0))
    """
    name, colon, port = host.strip().lower().rpartition(":")
    if not colon or port.endswith("]"):
        name, port = host.strip().lower(), "80"
    if not port.isascii() or not port.isdecimal() or len(port) > 5:
        return host.lower(), 0
    return name.removeprefix("[").removesuffix("]"), int(port)


def from_here(headers: Headers, *, changing: bool) -> bool:
    """Whether a request comes from a page of the studio, or from nobody's page where it changes nothing.

    Browsers say "null" for Origin in a form of a page that tells nobody where it is, as these pages are: then
    Sec-Fetch-Site must vouch for it.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if site not in (None, "same-origin", "none"):
        return False
    if origin is None or (origin == "null" and site == "same-origin"):
        return not changing or site == "same-origin"
    return origin == f"http://{headers.get('host', '')}"


def most_bytes(path: str) -> int:
    """Return how many bytes a body may have."""
    return MOST_UPLOAD if path.endswith(UPLOADS) else MOST_FORM


def too_large() -> Response:
    """Refuse a body."""
    return PlainTextResponse(
        "That is more than the studio takes from a browser: put the file into its folder, and choose it.",
        413,
        headers={"connection": "close"},
    )


def _counted(receive: Receive, most: int) -> Receive:
    """Count a body that does not say how long it is."""
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLargeError
        return message

    return counting


def _door(said: str) -> str:
    """Return the page that asks for the password; ``said`` is plain text of ours."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Holdfast studio</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/static/certificate.css"></head><body><main><h1>Holdfast studio</h1>'
        f'<p role="alert">{said}</p><form method="post" action="/enter">'
        '<p><label for="password">Password</label> '
        '<input id="password" name="password" type="password" autocomplete="current-password" required>'
        " <button>Enter</button></p></form></main></body></html>"
    )
