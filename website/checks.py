"""What a reader would stumble over: links and anchors that lead nowhere, foreign hosts, images without text."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

OWN = re.compile(
    r"(www\.w3\.org|(?:[\w.-]+\.)?example\.(?:org|com|gov|net|edu)|localhost|127\.0\.0\.1|\[::1\])(?::\d+)?"
)
HOST = re.compile(r"(?:https?:)?//([\w.:\[\]-]+)")
NAMED = re.compile(r"https?://([\w.:\[\]-]*\w)")


class Page(HTMLParser):
    """What a page links to and shows, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.bare: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "img" and not given.get("alt", "").strip():
            self.bare.append(given.get("src", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag != "a":
            self.loads += [
                given[name] for name in ("src", "href", "action", "data", "poster") if name in given
            ]


def flaws(site: Path) -> list[str]:
    """Return a sentence for each flaw of a built site."""
    files = [path for path in sorted(site.rglob("*.html")) if path.parent != site / "assets"]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    pages = {path: Page(text) for path, text in texts.items()}
    found: list[str] = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name}: the image {source} has no text" for source in page.bare]
        hosts = {host for host in NAMED.findall(texts[path]) if not OWN.fullmatch(host)}
        hosts |= {host for link in page.loads for host in HOST.findall(link[:200]) if not OWN.fullmatch(host)}
        found += [f"{name} names the foreign host {host}" for host in sorted(hosts)]
        if path.name != "404.html":
            found += [
                f"{name}: {link} leads nowhere" for link in page.links if not _leads(site, path, link, pages)
            ]
            found += [
                f"{name}: {link} is not there" for link in page.loads if not _leads(site, path, link, pages)
            ]
    return found


def _leads(site: Path, path: Path, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme:  # hosts are looked at on their own
        return parts.scheme in ("http", "https", "mailto", "data")
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return False
    known = pages.get(target) or pages.get(site / target.relative_to(site.resolve()))
    return not parts.fragment or known is None or unquote(parts.fragment) in known.anchors
