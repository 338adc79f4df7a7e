"""What comes over a socket, as an attacker would send it: it is refused, and nothing is left behind."""

import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.studio.running import running
from tests.studio.visitor import Visitor, words

from holdfast.studio import uploads
from holdfast.studio.guard import MOST_UPLOAD
from holdfast.studio.place import Incoming


@dataclass
class Wire:
    """A studio, as it is reached by its port; ``cookie`` is that of somebody who was let in."""

    port: int
    folder: Path
    cookie: str = ""

    def send(self, *parts: bytes, cut: bool = False) -> bytes:
        """Send bytes as they are, and return all that comes back; ``cut`` ends the connection before that."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as line:
            for part in parts:
                line.sendall(part)
            if cut:
                line.shutdown(socket.SHUT_WR)
            found = b""
            try:
                while block := line.recv(65536):
                    found += block
            except ConnectionResetError:
                pass
            return found

    @property
    def left(self) -> list[Path]:
        """What is in the folder, hidden files among it."""
        return list(self.folder.iterdir())

    def head(self, first: str, *more: str, host: str | None = None) -> bytes:
        """Return the head of a request of a page of the studio."""
        own = f"127.0.0.1:{self.port}"
        lines = [first, f"Host: {own if host is None else host}", f"Origin: http://{own}"]
        lines += [f"Cookie: holdfast-{self.port}={self.cookie}", "Connection: close", *more]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def asked(self, path: str, *more: str) -> bytes:
        """Return the answer to who looks at a path."""
        return self.send(self.head(f"GET {path} HTTP/1.1", *more))


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    folder = tmp_path_factory.mktemp("desk")
    with running(folder) as (_, studio):
        port, token = re.findall(r":(\d+)/\?token=(.*)", studio.address)[0]
        one = Wire(int(port), folder)
        came = one.asked(f"/?token={token}").decode()
        one.cookie = re.findall(r"holdfast-\d+=([^;]+)", came)[0]
        assert status(one.asked("/data")) == 200
        yield one


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def test_a_request_without_a_host_is_refused(wire: Wire) -> None:
    cookie = f"Cookie: holdfast-{wire.port}={wire.cookie}\r\n\r\n"
    assert status(wire.send(f"GET /data HTTP/1.0\r\n{cookie}".encode())) == 403
    assert status(wire.send(f"GET /data HTTP/1.1\r\n{cookie}".encode())) in (400, 403)
    two = wire.head("GET /data HTTP/1.1", "Host: evil.example")
    assert status(wire.send(two)) in (400, 403)


@pytest.mark.parametrize(
    "path",
    [
        "/../../../etc/passwd",
        "/static/../guard.py",
        "/static/%2e%2e%2fguard.py",
        "/static/..%5cguard.py",
        "/release/file/..%2f..%2fetc%2fpasswd",
        "/release/file/%00",
        "//evil.example/data",
        "/release/file/" + "x" * 5000,
        "/account/export/..%2fx",
    ],
)
def test_no_path_leads_out_of_the_studio(wire: Wire, path: str) -> None:
    answer = wire.asked(path)
    assert status(answer) in (400, 404)
    assert b"root:" not in answer
    assert b"location: //" not in answer.lower()


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"])
def test_no_header_makes_a_look_a_change(wire: Wire, name: str) -> None:
    assert status(wire.asked("/data/demo", f"{name}: POST")) == 404 or status(wire.asked("/data/demo")) == 405
    assert wire.left == []


def test_no_other_origin_is_ever_allowed(wire: Wire) -> None:
    asked = wire.head("GET /data HTTP/1.1").replace(
        b"Origin: http://127.0.0.1", b"Origin: http://evil.example"
    )
    for answer in (wire.send(asked), wire.asked("/data")):
        head = answer.partition(b"\r\n\r\n")[0].lower()
        assert b"access-control" not in head
        assert b"frame-ancestors 'self'" in head
        assert b"x-frame-options: sameorigin" in head
        assert b"referrer-policy: no-referrer" in head
        assert b"cache-control: no-store" in head


def test_a_cookie_that_somebody_else_chose_opens_nothing(wire: Wire) -> None:
    chosen = Wire(wire.port, wire.folder, "chosen")
    assert status(chosen.asked("/data")) == 403
    both = wire.head("GET /data HTTP/1.1").replace(
        b"Cookie: ", f"Cookie: holdfast-{wire.port}=chosen; ".encode()
    )
    assert b"set-cookie" not in wire.send(both).lower()


def test_an_upload_that_is_too_large_is_refused_before_any_of_it_is_read(wire: Wire) -> None:
    head = wire.head("POST /data/upload HTTP/1.1", f"Content-Length: {MOST_UPLOAD + 1}", FORM)
    assert status(wire.send(head)) == 413
    assert wire.left == []


FORM = "Content-Type: multipart/form-data; boundary=frontier"
PART = b'--frontier\r\nContent-Disposition: form-data; name="upload"; filename="x.csv"\r\n\r\n'


@pytest.mark.parametrize("length", ["-1", "1e3", "0x10", "", "9" * 4000])
def test_a_length_that_is_none_is_refused(wire: Wire, length: str) -> None:
    head = wire.head("POST /data/upload HTTP/1.1", f"Content-Length: {length}", FORM)
    assert status(wire.send(head, PART)) in (400, 413)


def test_an_upload_without_a_length_is_refused(wire: Wire) -> None:
    head = wire.head("POST /data/upload HTTP/1.1", "Transfer-Encoding: chunked", FORM)
    answer = wire.send(head, b"%x\r\n%s\r\n0\r\n\r\n" % (len(PART), PART))
    assert status(answer) == 422
    assert wire.left == []


def test_an_upload_that_breaks_off_leaves_nothing(wire: Wire) -> None:
    head = wire.head("POST /data/upload HTTP/1.1", "Content-Length: 1000000", FORM)
    wire.send(head, PART, b"a,b\n" * 1000, cut=True)
    assert status(wire.asked("/data")) == 200
    assert wire.left == []


def test_many_fields_beside_a_file_do_not_fill_the_memory(tmp_path: Path) -> None:
    visitor = Visitor.at(tmp_path)
    part = '--frontier\r\nContent-Disposition: form-data; name="x"\r\n\r\n'
    headers = {"content-type": "multipart/form-data; boundary=frontier"}
    for body in ((part + "y" * 90_000 + "\r\n") * 3, (part + "\r\n") * (uploads.MOST_FILES + 1)):
        answer = visitor.post("/data/upload", content=f"{body}--frontier--".encode(), headers=headers)
        assert answer.status_code == 422
        assert "more" in words(answer)


def test_a_file_of_the_browser_is_never_whole_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written at once is a block of the connection, whatever the file has."""
    written: list[int] = []
    usual = Incoming.write

    def watched(self: Incoming, part: bytes) -> None:
        written.append(len(part))
        usual(self, part)

    monkeypatch.setattr(Incoming, "write", watched)
    with running(tmp_path) as (_, studio):
        port, token = re.findall(r":(\d+)/\?token=(.*)", studio.address)[0]
        wire = Wire(int(port), tmp_path)
        wire.cookie = re.findall(r"holdfast-\d+=([^;]+)", wire.asked(f"/?token={token}").decode())[0]
        body = PART + b"a,b\n" + b"1,2\n" * 2_000_000 + b"\r\n--frontier--\r\n"
        head = wire.head("POST /data/upload HTTP/1.1", f"Content-Length: {len(body)}", FORM)
        wire.send(head, body)
    assert (tmp_path / "x.csv").stat().st_size == 4 * 2_000_001
    assert sum(written) == 4 * 2_000_001
    assert max(written) <= 2**18


@pytest.mark.parametrize("name", ["x" * 300, "é" * 200, "a/" * 90 + "b", "\u202e.toml", "con\0", "a\x7fb"])
@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/data/open", "spec"),
        ("/data/choose", "file"),
        ("/check/release", "release"),
        ("/release/look", "out"),
    ],
)
def test_wild_names_are_one_sentence(tmp_path: Path, name: str, path: str, field: str) -> None:
    visitor = Visitor.at(tmp_path)
    answer = visitor.post(path, {field: name})
    assert answer.status_code == 422, words(answer)
    assert "fault" not in words(answer)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    os.mkfifo(tmp_path / "pipe.csv")
    visitor = Visitor.at(tmp_path)
    assert visitor.post("/data/open", {"spec": "pipe.toml"}).status_code == 422
    assert visitor.post("/data/choose", {"file": "pipe.csv"}).status_code == 422
    assert visitor.get("/data").status_code == 200
    assert (visitor.desk.place.specs, visitor.desk.place.data) == ([], [])


def test_a_slow_password_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.studio.guard.PATIENCE", 0.05)
    monkeypatch.setattr("holdfast.studio.server.EVERYWHERE", "127.0.0.1")
    with running(tmp_path, "-".join(["long", "enough"])) as (_, studio):
        wire = Wire(int(re.findall(r":(\d+)/", studio.address)[0]), tmp_path)
        line = socket.create_connection(("127.0.0.1", wire.port), timeout=60)
        with line:
            line.sendall(wire.head("POST /enter HTTP/1.1", "Content-Length: 50") + b"password=")
            assert status(line.recv(65536)) == 408
