"""Which pages the site has, where each comes from, and in which order they stand."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

ELSEWHERE = {
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "studies/README.md": "studies/index.md",
    "verify/README.md": "guides/holdfast-verify.md",
    "src/holdfast/sampling/README.md": "theory/sampling.md",
    "src/holdfast/privacy/README.md": "theory/privacy.md",
}
"""Pages that stand outside of docs, by the path that the site gives them."""

GENERATED = (
    *(f"reference/{name}.md" for name in ("index", "spec", "commands", "errors", "certificate", "outputs")),
    *("reference/settings.md", "reference/python.md"),
    *("theory/documents.md", "theory/references.md", "decisions/index.md"),
)
"""Pages that are made from the program when the site is built."""

SECTIONS = {
    "Tutorials": "tutorials",
    "Gallery": "gallery",
    "Guides": "guides",
    "Reference": "reference",
    "Theory": "theory",
    "For decision makers": "decide",
    "Coming from": "coming-from",
    "Standards": "standards",
    "Studies": "studies",
    "Project": "project",
    "Decisions": "decisions",
}
"""The folder of each section, in the order of the site."""

ORDER = {
    "tutorials": (
        "your-own-table",
        "what-must-be-exact",
        "from-accuracy-to-a-budget",
        "several-tables",
        "a-geography",
        "swapping-a-file",
        "analysing-a-release",
        "checking-a-release",
        "auditing-what-you-publish",
        "people-and-units",
        "the-studio",
    ),
    "gallery": (
        "county-health-counts",
        "school-enrolment",
        "births-by-month",
        "block-groups",
        "survey-table",
        "two-by-two-trial",
        "regression-beside-exact-counts",
        "census-audit",
        "swapped-households",
        "two-tables-of-one-file",
        "yearly-releases",
        "posterior-of-rates",
    ),
    "guides": (
        "spec",
        "data",
        "epsilon",
        "mechanisms",
        "tables",
        "topdown",
        "measurements",
        "swapping",
        "inference",
    ),
    "reference": ("spec", "commands", "errors", "certificate", "outputs", "settings", "python"),
    "theory": (
        "theory",
        "notation",
        "statements",
        "documents",
        "sharp-edges",
        "corrections",
        "sampling",
        "privacy",
        "references",
    ),
    "decide": ("brief", "slides", "questions", "glossary"),
}
"""Pages that come first in their section; the others follow by name."""


def sources() -> dict[str, Path]:
    """Return every page that is written by hand: its path on the site, and its file."""
    found = {_on_site(path): path for path in sorted(DOCS.rglob("*.md"))}
    found |= {place: ROOT / name for name, place in ELSEWHERE.items()}
    studies = sorted((ROOT / "studies").glob("*/README.md"))
    return found | {f"studies/{path.parent.name}.md": path for path in studies}


def _on_site(path: Path) -> str:
    relative = path.relative_to(DOCS)
    if relative.as_posix() == "theory.md":
        return "theory/theory.md"
    if relative.as_posix() == "scale.md":
        return "guides/scale.md"
    if relative.parts[0] == "gallery" and relative.name == "README.md":
        return f"gallery/{relative.parts[1]}.md"
    return relative.as_posix()


def navigation(pages: Iterator[str] | list[str]) -> list[object]:
    """Return the order of all pages, as the site's configuration has it."""
    there = sorted(pages)
    nav: list[object] = ["index.md"]
    for title, folder in SECTIONS.items():
        inside = [page for page in there if page.startswith(f"{folder}/")]
        first = {f"{folder}/{name}.md": place for place, name in enumerate(ORDER.get(folder, ()))}
        ordered = sorted(inside, key=lambda page: (not page.endswith("/index.md"), first.get(page, 99), page))
        if ordered:
            nav.append({title: ordered})
    return nav
