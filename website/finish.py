"""What a built site still lacks: search from files, no foreign host, every page as Markdown, llms.txt."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

SHIM = re.compile(r"https://unpkg\.com/iframe-worker/shim")
FOREIGN = re.compile(r"https?://(?!www\.w3\.org/)[A-Za-z0-9.-]+\.[a-z]{2,}[A-Za-z0-9./_@-]*")
ABOUT = (
    "> Publish some statistics exactly; protect everyone behind the rest, and say truthfully how strongly."
    " A Python library and command line for differential privacy beside exact counts."
)
MARKDOWN = '<link rel="alternate" type="text/markdown" href="{name}.md"></head>'


def finish(site: Path, staged: Path, pages: Sequence[str], version: str) -> None:
    """Make a built site complete."""
    for html in sorted(site.rglob("*.html")):
        if html.parent.name == "assets":  # the page that verifies, as it is
            continue
        text = html.read_text(encoding="utf-8")
        up = os.path.relpath(site / "assets", html.parent)
        text = SHIM.sub(f"{up}/search-from-files.js", text)
        if html.name != "404.html":
            text = text.replace("</head>", MARKDOWN.format(name=html.stem), 1)
        text = text.replace("<head>", f'<head><meta name="holdfast-version" content="{version}">', 1)
        html.write_text(text, encoding="utf-8")
    for script in [*site.rglob("*.js"), *site.rglob("*.css")]:  # parts that are not used, and licences
        if "javascripts" in script.parts or "stylesheets" in script.parts:
            text = script.read_text(encoding="utf-8")
            script.write_text(FOREIGN.sub("about:blank", text), encoding="utf-8")
    for page in pages:
        shutil.copyfile(staged / page, site / page)
    (site / "llms.txt").write_text(_llms(staged, pages, version), encoding="utf-8")
    (site / "search.json").unlink(missing_ok=True)  # search.js has the same, and works from files
    (site / "sitemap.xml").unlink(missing_ok=True)


def title_of(text: str) -> str:
    """Return the first heading of a page."""
    return re.search(r"^# (.*)$", text, re.M)[1]  # type: ignore[index]


def _summary(text: str) -> str:
    """Return the first sentence below the first heading."""
    body = text.partition("\n# ")[2] if not text.startswith("# ") else text
    paragraphs = re.split(r"\n\s*\n", body.partition("\n")[2].strip())
    plain = next((p for p in paragraphs if re.match(r"[\w*`\[]", p)), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(plain.split()))
    return re.split(r"(?<=[.!?:]) ", plain)[0]


def _llms(staged: Path, pages: Sequence[str], version: str) -> str:
    """Return what llms.txt says: what this is, and every page as Markdown."""
    lines = [
        f"# Holdfast {version}",
        "",
        ABOUT,
        "",
    ]
    section = None
    for page in pages:
        folder = page.partition("/")[0] if "/" in page else "start"
        if folder != section:
            section = folder
            lines += ["", f"## {section.replace('-', ' ').capitalize()}", ""]
        text = (staged / page).read_text(encoding="utf-8")
        lines.append(f"- [{title_of(text)}]({page}): {_summary(text)}")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"
