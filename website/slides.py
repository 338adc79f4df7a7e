"""The slides as a PDF, one page a slide, printed by Chromium without a window: python -m website.slides [FILE.pdf].

The deck is docs/decide/slides.md: what stands between lines of `---` is a slide, what stands before the first is not.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown import markdown

from website.pages import DOCS, ROOT

DECK = DOCS / "decide" / "slides.md"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
STYLE = """
@page { size: 10in 5.625in; margin: 0; }
body { color: #1b1f23; font-family: system-ui, sans-serif; font-size: 20pt; line-height: 1.4; margin: 0; }
section { box-sizing: border-box; break-after: page; height: 5.62in; overflow: hidden; padding: 0.5in 0.7in; }
section:last-child { break-after: auto; }
h2 { border-bottom: 3px solid #1d6f6a; color: #14524e; font-size: 28pt; margin: 0 0 0.3in; }
table { border-collapse: collapse; } td, th { border: 1px solid #999; padding: 0.08in 0.25in; }
pre { background: #f3f5f5; font-size: 16pt; padding: 0.2in; } img { max-height: 3.9in; max-width: 100%; }
"""


def slides() -> list[str]:
    """Return the slides as HTML."""
    _, *each = re.split(r"^---$", DECK.read_text(encoding="utf-8"), flags=re.M)
    return [f"<section>{markdown(text.strip(), extensions=['tables'])}</section>" for text in each]


def write(pdf: Path) -> int:
    """Print the slides to a file; return how many there are."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("error: the slides are printed by Chromium, which is not installed: install it.")
    deck = slides()
    head = f'<meta charset="utf-8"><base href="{DECK.as_uri()}"><title>Holdfast</title><style>{STYLE}</style>'
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "slides.html"
        page.write_text(f'<!doctype html><html lang="en">{head}{"".join(deck)}</html>', encoding="utf-8")
        own = (
            f"--user-data-dir={folder}/browser",
            "--no-pdf-header-footer",
            f"--print-to-pdf={pdf.resolve()}",
        )
        subprocess.run([browser, *QUIET, *own, page.as_uri()], check=True, capture_output=True, timeout=120)  # noqa: S603
    return len(deck)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "slides.pdf"
    print(f"{write(target)} slides: {target}")
