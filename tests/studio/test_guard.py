"""Who is let in, from where, with how much; and what every answer tells a browser."""

from pathlib import Path

import httpx
import pytest
from tests.studio.visitor import HOST, Visitor

from holdfast.studio.desk import Desk
from holdfast.studio.guard import MOST_FORM, MOST_UPLOAD, PAUSE, Keys

PASSWORD = "-".join(["long", "enough", "to", "be", "one"])
OURS = {"origin": f"http://{HOST}"}


@pytest.fixture
def stranger(tmp_path: Path) -> Visitor:
    return Visitor(Desk.at(tmp_path))


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor.at(tmp_path)


@pytest.mark.parametrize(
    "path", ["/", "/data", "/static/studio.css", "/static/htmx.min.js", "/nothing", "/spec"]
)
def test_without_the_cookie_everything_is_refused(stranger: Visitor, path: str) -> None:
    for method in ("GET", "HEAD", "POST"):
        assert stranger.send(method, path, OURS).status_code == 403


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_has(stranger: Visitor) -> None:
    answer = stranger.get(f"/?token={stranger.keys.token}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert stranger.keys.token not in said
    assert stranger.get("/data").status_code == 200


def test_the_token_works_once(stranger: Visitor) -> None:
    address = f"/?token={stranger.keys.token}"
    assert stranger.get(address).status_code == 303
    assert stranger.get(address).status_code == 303  # a reload of who has the cookie
    stranger.cookies.clear()
    assert stranger.get(address).status_code == 403


@pytest.mark.parametrize("token", ["", "x", "é", "0" * 10_000])
def test_a_wrong_token_is_refused(stranger: Visitor, token: str) -> None:
    answer = stranger.get(f"/?token={token}")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("cookie", ["", "x", "x" * 5000])
def test_a_wrong_cookie_is_refused(stranger: Visitor, cookie: str) -> None:
    stranger.cookies["holdfast-8000"] = cookie
    assert stranger.get("/data").status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.example",
            "evil.example:8000",
            "localhost",
            "localhost:8001",
            "localhost.evil.example:8000",
            "",
        ),
        *(
            "192.168.0.7:8000",
            "localhost:8000:8000",
            "[::1",
            "localhost:99999999",
            "localhost:8000@evil.example",
        ),
    ],
)
def test_another_host_is_refused(visitor: Visitor, host: str) -> None:
    """A name that was led to this machine is not the studio's, whatever cookie comes with it."""
    assert visitor.get("/data", {"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "LOCALHOST:8000"])
def test_this_machine_is_answered(visitor: Visitor, host: str) -> None:
    assert visitor.get("/data", {"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "https://localhost:8000"},
        {"origin": "http://localhost:8001"},
        {"origin": "http://localhost:8000.evil.example"},
        {"origin": "http://localhost:8000", "sec-fetch-site": "cross-site"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
    ],
)
def test_a_change_that_another_page_asks_for_is_refused(visitor: Visitor, headers: dict[str, str]) -> None:
    assert visitor.send("POST", "/data/demo", headers).status_code == 403
    assert list(visitor.desk.place.folder.iterdir()) == []


@pytest.mark.parametrize(
    "headers",
    [OURS, {**OURS, "sec-fetch-site": "same-origin"}, {"origin": "null", "sec-fetch-site": "same-origin"}],
)
def test_a_change_of_its_own_page_is_made(visitor: Visitor, headers: dict[str, str]) -> None:
    assert visitor.send("POST", "/data/demo", headers).status_code == 200


def test_another_page_cannot_look(visitor: Visitor) -> None:
    assert visitor.get("/data", {"origin": "http://evil.example"}).status_code == 403
    assert visitor.get("/data", {"sec-fetch-site": "cross-site"}).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(visitor: Visitor, method: str) -> None:
    assert visitor.send(method, "/data", OURS).status_code == 405


def of_every_kind(visitor: Visitor) -> list[httpx.Response]:
    refused = [visitor.get("/data", {"host": "evil.example"}), visitor.send("POST", "/spec", {})]
    pages = [visitor.get(path) for path in ("/", "/data", "/nothing", "/static/studio.css")]
    return [*refused, *pages, visitor.post("/data/open", {"spec": "../x"})]


def test_every_answer_tells_browsers_the_same(visitor: Visitor) -> None:
    for answer in of_every_kind(visitor):
        assert answer.headers["content-security-policy"].startswith("default-src 'self';")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_pages_have_no_inline_script_or_style(visitor: Visitor) -> None:
    visitor.post("/data/demo")
    for view in visitor.app.app.state.views:  # type: ignore[attr-defined]
        text = visitor.get(view.path).text
        assert "<style" not in text
        assert " style=" not in text
        assert " onclick=" not in text
        assert "hx-on" not in text
        assert "js:" not in text
        assert text.count("<script") == text.count('<script src="/static/')


def test_a_body_that_is_too_long_is_refused_before_it_is_read(visitor: Visitor) -> None:
    for path, most in (("/spec", MOST_FORM), ("/data/upload", MOST_UPLOAD)):
        asked = 0

        async def body() -> object:
            nonlocal asked
            asked += 1
            yield b"x"

        headers = {**OURS, "content-length": str(most + 1)}
        answer = visitor.send("POST", path, headers, content=body())
        assert (answer.status_code, asked) == (413, 0)


def test_a_body_without_a_length_is_counted(visitor: Visitor) -> None:
    async def body() -> object:
        for _ in range(MOST_FORM // 2**20 + 5):
            yield b"x" * 2**20

    assert visitor.send("POST", "/spec", OURS, content=body()).status_code == 413


def exposed(folder: Path) -> Visitor:
    keys = Keys(password=PASSWORD)
    return Visitor(Desk.at(folder), keys, {"any_address": True, "names": ["desk.office"]})


def test_other_machines_enter_with_the_password_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.studio.guard.PAUSE", PAUSE / 1000)
    visitor = exposed(tmp_path)
    elsewhere = {"host": "192.168.0.7:8000", "origin": "http://192.168.0.7:8000"}
    assert visitor.get("/data", elsewhere).status_code == 403
    assert "password" in visitor.get("/", elsewhere).text
    assert visitor.send("POST", "/enter", elsewhere, data={"password": "x"}).status_code == 403
    assert visitor.get("/data", {**elsewhere, "host": "evil.example:8000"}).status_code == 403
    answer = visitor.send("POST", "/enter", elsewhere, data={"password": PASSWORD})
    assert answer.status_code == 303
    assert visitor.get("/data", elsewhere).status_code == 200
    assert visitor.get("/data", {"host": "desk.office:8000"}).status_code == 200


def test_guesses_come_to_an_end(tmp_path: Path) -> None:
    keys = exposed(tmp_path).keys
    assert [keys.enter(str(number)) for number in range(20)] == [None] * 20
    assert keys.enter(PASSWORD) is None
