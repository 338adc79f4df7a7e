"""Pages of others in the same browser: they see nothing of a studio, and change nothing in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.studio.browser.guest import Guest, Studios
from tests.studio.browser.worlds import world

TRICKS = """<!DOCTYPE html><title>evil</title><p id="seen">waiting</p>
<form id="form" method="post" action="{root}/exact/total"></form>
<iframe id="frame" src="{root}/data"></iframe>
<script>
(async () => {{
  const seen = [];
  const tried = async (name, what) => {{
    try {{ seen.push(`${{name}} ${{await what()}}`); }} catch (error) {{ seen.push(`${{name}} refused`); }}
  }};
  const posted = {{ method: "POST", credentials: "include" }};
  await tried("read", async () => (await fetch("{root}/data", {{ credentials: "include" }})).status);
  await tried("post", async () => (await fetch("{root}/exact/total", posted)).status);
  const blindly = {{ ...posted, mode: "no-cors" }};
  await tried("blind", async () => (await fetch("{root}/exact/total", blindly)).status);
  await tried("script", () => new Promise((found, not) => {{
    const script = document.createElement("script");
    script.src = "{root}/static/studio.js"; script.onload = () => found("ran"); script.onerror = not;
    document.head.append(script);
  }}));
  await tried("frame", async () =>
    document.getElementById("frame").contentDocument.body.innerText.includes("Data") ? "read" : "refused");
  document.getElementById("seen").textContent = seen.join(", ");
}})();
</script>"""


@contextmanager
def served(text: str) -> Iterator[str]:
    """Serve a page on another port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def curator(studios: Studios, tmp_path: Path) -> Guest:
    return studios.guest(world("demo")(tmp_path)).at("exact")


def spec(guest: Guest) -> str:
    return (guest.folder / "holdfast.toml").read_text()


@pytest.mark.parametrize("name", ["127.0.0.1", "evil.example"])
def test_a_page_of_another_site_or_port_gets_nothing(curator: Guest, studios: Studios, name: str) -> None:
    """The cookie goes along to other ports of the same name: who asks is looked at, too."""
    before = spec(curator)
    with served(TRICKS.format(root=curator.root)) as host:
        page = curator.another().page
        page.goto(f"http://{name}:{host.partition(':')[2]}/")
        page.wait_for_function("() => document.getElementById('seen').textContent !== 'waiting'")
        seen = page.inner_text("#seen")
        assert seen == "read refused, post refused, blind refused, script refused, frame refused", seen
        page.evaluate("document.getElementById('form').submit()")
        page.wait_for_url(f"{curator.root}/**")
        assert "from another page" in page.content()
    assert spec(curator) == before
    studios.complaints.clear()  # a browser tells of all that was refused


def test_a_name_that_somebody_led_here_is_not_the_studio(curator: Guest, studios: Studios) -> None:
    port = curator.root.rpartition(":")[2]
    page = curator.another().page
    answer = page.goto(f"http://evil.example:{port}/data")
    assert answer is not None
    assert answer.status == 403
    assert "not the address of the studio" in page.content()


def test_the_token_is_for_one_browser(studios: Studios, tmp_path: Path) -> None:
    _, one = studios.open(world("demo")(tmp_path))
    root = one.address.partition("/?")[0]
    own, other = studios.page(), studios.page()
    for page, address, status in (
        (own, f"{root}/data", 403),
        (own, f"{root}/?token=wrong", 403),
        (own, one.address, 200),
        (other, one.address, 403),
        (own, one.address, 200),
        (own, f"{root}/data", 200),
    ):
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == status
    assert "token" not in own.url
    assert own.evaluate("document.cookie") == ""
    kept = "JSON.stringify([{...localStorage}, {...sessionStorage}])"
    assert own.evaluate(kept) in ("[{},{}]", '[{},{"htmx-current-path-for-history":"/data"}]')


def test_a_studio_that_forgot_a_page_says_so(curator: Guest) -> None:
    before = spec(curator)
    curator.page.context.clear_cookies()
    curator.page.click("#total")
    curator.page.locator("#trouble", has_text="does not know this page any more").wait_for()
    assert spec(curator) == before
