"""Gather the pages in one folder: links that lead out of it lead to where their pages stand on the site.

Citations such as [semi-dp, Theorem 16] become links to the reference, [theory, 2] to its section.
"""

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from website.gallery import archive, completed, projects
from website.pages import DOCS, ROOT, sources

KEY = r"(?:[a-z]+\d{4}|[a-z]+(?:-[a-z]+)+|theory|holdfast)"
CITED = re.compile(rf"(?<![\[\w`])\[({KEY}(?:, [^\[\];`]+)?(?:; {KEY}(?:, [^\[\];`]+)?)*)\](?![(\[])")
LINK = re.compile(r"\]\(([^)\s]+)\)|(src|href)=\"([^\"]+)\"")
CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.M | re.S)
FILES = {ROOT / "verify" / "verify.html": "assets/verify.html", ROOT / "LICENSE": "assets/LICENSE.txt"}
"""Files that pages link to and that come along."""


def stage(folder: Path, generated: Mapping[str, str]) -> list[str]:
    """Fill a new folder with all pages and what they show; return the paths of the pages."""
    shutil.rmtree(folder, ignore_errors=True)
    written = sources()
    places = {path.resolve(): place for place, path in written.items()}
    places |= {(DOCS / "decisions").resolve(): "decisions/index.md", ROOT.resolve() / "README.md": "index.md"}
    places |= {(ROOT / "docs" / "references.bib").resolve(): "theory/references.md"}
    places |= {path.resolve(): place for path, place in FILES.items()}
    places |= {path.parent: place for path, place in places.items() if path.name == "README.md"}
    for path in sorted(DOCS.rglob("*")):
        if path.is_file() and path.suffix not in (".md", ".bib", ".pyc"):
            places[path.resolve()] = path.relative_to(DOCS).as_posix()
            _copy(path, folder / path.relative_to(DOCS))
    for path, place in FILES.items():
        _copy(path, folder / place)
    for project in projects():
        places[project.resolve() / f"{project.name}.zip"] = f"gallery/{project.name}/{project.name}.zip"
        (folder / "gallery" / project.name / f"{project.name}.zip").write_bytes(archive(project))
    for path in sorted((ROOT / "website" / "theme").iterdir()):
        _copy(path, folder / "assets" / path.name)
    sections = _sections((DOCS / "theory.md").read_text(encoding="utf-8"))
    texts = {place: (path.read_text(encoding="utf-8"), path.parent) for place, path in written.items()}
    for project in projects():
        place = f"gallery/{project.name}.md"
        texts[place] = (completed(project, texts[place][0]), project)
    texts |= {place: (text, DOCS / PurePosixPath(place).parent) for place, text in generated.items()}
    on_site = {(DOCS / place).resolve(): place for place in texts}
    for place, (text, parent) in texts.items():
        lead = _leading(place, parent, on_site | places)
        new = folder / place
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(_rewritten(text, place, lead, sections), encoding="utf-8")
    return sorted(texts)


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, to)


def _sections(theory: str) -> dict[str, str]:
    """Return the anchor of each section of the theory by its number."""
    heads = re.findall(r"^## ((\d+)\. .*)$", theory, re.M)
    return {number: re.sub(r"[^\w\s-]", "", head).lower().replace(" ", "-") for head, number in heads}


def _leading(place: str, parent: Path, places: Mapping[Path, str]) -> Callable[[str], str | None]:
    """Return what leads a link of a page to its target on the site; None where that is not on it."""

    def lead(link: str) -> str | None:
        if re.match(r"[a-z]+:|#", link):
            return link
        path, _, anchor = link.partition("#")
        target = places.get((parent / path).resolve())
        if target is None:  # outside of the site; a link to nothing stays, and is found by the checks
            return None if (parent / path).exists() else link
        return os.path.relpath(target, PurePosixPath(place).parent) + (f"#{anchor}" if anchor else "")

    return lead


def _rewritten(text: str, place: str, lead: Callable[[str], str | None], sections: Mapping[str, str]) -> str:
    def linked(match: re.Match[str]) -> str:
        found = lead(match[1] or match[3])
        if match[1]:
            return f"]({found})" if found else "](#out-of-site)"
        return f'{match[2]}="{found or match[3]}"'

    def cited(match: re.Match[str]) -> str:
        up = "../" * (len(PurePosixPath(place).parts) - 1)
        return f"[{'; '.join(_citation(part, up, sections) for part in match[1].split('; '))}]"

    pieces = CODE.split(text)
    for i in range(0, len(pieces), 2):  # those between code
        pieces[i] = LINK.sub(linked, pieces[i])
        pieces[i] = CITED.sub(cited, pieces[i]) if place != "theory/references.md" else pieces[i]
    return re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(#out-of-site\)", r"\1", "".join(pieces))


def _citation(part: str, up: str, sections: Mapping[str, str]) -> str:
    key, _, place = part.partition(", ")
    if key == "theory":
        return f"[{part}]({up}theory/theory.md#{sections.get(place, '')})"
    return part if key == "holdfast" else f"[{part}]({up}theory/references.md#{key})"
