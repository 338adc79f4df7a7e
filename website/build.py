"""Build the site, offline: python -m website.build [--check].

Pages are gathered and generated into .site/, Zensical renders them into site/, and what is not as it should
be (a link, an anchor, a foreign host, an image without text) ends the build.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from holdfast.version import VERSION
from website.checks import flaws
from website.finish import finish
from website.pages import ROOT, navigation
from website.reference import generated
from website.stage import stage

STAGED, SITE = ROOT / ".site", ROOT / "site"


def build(staged: Path = STAGED, site: Path = SITE) -> list[str]:
    """Build the site into a folder; return what is wrong with it."""
    pages = stage(staged, generated())
    nav = navigation(pages)
    config = staged.parent / f"{staged.name}.yml"
    asked = {
        "INHERIT": os.path.relpath(ROOT / "mkdocs.yml", config.parent),
        "site_name": f"Holdfast {VERSION}",
        "docs_dir": os.path.relpath(staged, config.parent),
        "site_dir": os.path.relpath(site, config.parent),
        "nav": nav,
    }
    config.write_text(json.dumps(asked, indent=1), encoding="utf-8")  # JSON is YAML, too
    environment = {**os.environ, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", str(config)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603
    if ran.returncode:
        return [ran.stdout, ran.stderr]
    finish(site, staged, in_order(nav), VERSION)
    return flaws(site)


def in_order(nav: list[object]) -> list[str]:
    """Return the pages of a navigation, from first to last."""
    found: list[str] = []
    for entry in nav:
        found += [entry] if isinstance(entry, str) else [p for inner in entry.values() for p in inner]  # type: ignore[attr-defined]
    return found


def main() -> None:
    """Build, and say what was built or what is wrong."""
    started = time.monotonic()
    wrong = build()
    for line in wrong:
        print(line)
    if wrong:
        sys.exit(1)
    pages = len(list(SITE.rglob("*.html")))
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) / 1e6
    took = time.monotonic() - started
    print(f"{pages} pages, {size:.1f} MB, {took:.0f} s: open {SITE / 'index.html'}")


if __name__ == "__main__":
    main()
