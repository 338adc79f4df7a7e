"""Every citation leads somewhere, and every reference is cited.

A citation is `[key]` or `[key, place]`, several separated by semicolons, in a docstring, a comment or a
page of the documentation. Evidence and bounds carry the same without brackets, for certificates to print.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tests.sources import PACKAGE, ROOT, nodes, text_of

SOURCES = sorted(PACKAGE.rglob("*.py"))
STUDIES = sorted((ROOT / "studies").rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(path for folder in ("docs", "studies") for path in sorted((ROOT / folder).rglob("*.md"))),
]

# What a key looks like: a word and a year, words with hyphens, or one of the two that are ours.
KEY = r"(?:[a-z]+\d{4}|[a-z]+(?:-[a-z]+)+|theory|holdfast)"
PLACE = r"[^\[\];]+"
CITATION = re.compile(rf"(?<![\[\w])\[({KEY}(?:, {PLACE})?(?:; {KEY}(?:, {PLACE})?)*)\](?![(\[])")
# Any word before a place, so that a misspelt key of another shape shows as well.
LIKELY = re.compile(
    r"(?<![\[\w])\[([a-z][\w-]*, (?:(?:Theorem|Definition|Proposition|Remark|Lemma|Example|Section|Table)\b"
    r"[^\[\]]*|\d[\d.]*(?:; [^\[\]]*)?))\](?![(\[])"
)
CARRIERS = {"Proved": 1, "Bound": 1, "SemiAdjacency": None}
"""What takes a reference, and the place of that argument when it is not named."""


class Cited(NamedTuple):
    file: Path
    key: str
    place: str


def test_brackets_that_cite_are_told_from_those_that_do_not() -> None:
    for text, found in {
        "as in [theory, 2].": ["theory, 2"],
        "[canonne2020]; [semi-dp, Theorem 16]": ["canonne2020", "semi-dp, Theorem 16"],
        "[semi-dp, Definition 13; theory, 2]": ["semi-dp, Definition 13; theory, 2"],
        "[teory, 2] and [semidp, Theorem 3]": ["teory, 2", "semidp, Theorem 3"],
        "[semi-dp](page.md), x[theory], rows[i, 0], [low, high], [18, 120]": [],
        "[privacy] epsilon, [[invariants]], [data.levels], [sum z = 0], [w, w + 1)": [],
    }.items():
        assert sorted(_brackets(text)) == sorted(found), text


def test_enough_citations_are_found() -> None:
    assert len([c for c in _in_text() if c.file.suffix == ".py"]) >= 20
    assert len([c for c in _in_text() if c.file.suffix == ".md"]) >= 20
    assert len(_carried()) >= 6


def test_every_key_looks_like_one() -> None:
    assert len(_keys()) >= 12
    assert [key for key in _keys() if not re.fullmatch(KEY, key)] == []
    assert len(set(_keys())) == len(_keys())


def test_every_citation_has_its_reference() -> None:
    unknown = [f"{c.file.relative_to(ROOT)}: {c.key}" for c in _all() if c.key not in _keys()]
    assert unknown == []


def test_every_reference_is_cited() -> None:
    assert set(_keys()) - {c.key for c in _all()} == set()


def test_theory_is_cited_by_sections_that_exist() -> None:
    sections = re.findall(r"^## (\d+)\. ", (ROOT / "docs" / "theory.md").read_text(encoding="utf-8"), re.M)
    assert sections == [str(number) for number in range(1, 19)]
    cited = [c for c in _all() if c.key == "theory"]
    assert cited
    assert [c for c in cited if c.place not in sections] == []
    for path in [*SOURCES, *STUDIES, *PAGES]:
        named = re.findall(r"\btheory, (\d+)", text_of(path))
        assert set(named) <= set(sections), path


def test_own_code_is_cited_by_paths_that_exist() -> None:
    assert [c for c in _all() if c.key == "holdfast" and not (PACKAGE / c.place).exists()] == []


def test_files_beside_the_package_are_named_by_paths_that_exist() -> None:
    to_be_written = {"tests/mechanisms/test_neighbours.py"}  # by who follows CONTRIBUTING.md
    for path in [*SOURCES, *PAGES]:
        named = set(re.findall(r"\b((?:tests|studies|benchmarks)/[\w/]+\.py)\b", text_of(path)))
        assert [name for name in named - to_be_written if not (ROOT / name).exists()] == [], path


def test_reasons_in_words_hide_no_citation() -> None:
    key = re.compile(rf"({'|'.join(map(re.escape, _keys()))})\b")
    words = [(path, part) for path in SOURCES for part in _parts_carried(path) if _cited(path, part) is None]
    neither = [(path, part) for path, part in words if " " not in part]
    assert neither == [], "neither a citation nor a sentence"
    assert [(path, part) for path, part in words if key.match(part)] == [], "no comma after the key"


def _all() -> tuple[Cited, ...]:
    return (*_in_text(), *_carried())


@cache
def _keys() -> list[str]:
    text = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    return re.findall(r"^@\w+\{([^,\s]+),", text, re.M)


@cache
def _in_text() -> tuple[Cited, ...]:
    return tuple(chain.from_iterable(map(_cited_in, [*SOURCES, *STUDIES, *PAGES])))


def _cited_in(path: Path) -> Iterator[Cited]:
    text = _prose(path) if path.suffix == ".py" else _without_code(text_of(path))
    for bracket in _brackets(text):
        yield from filter(None, (_cited(path, part) for part in bracket.split("; ")))


def _brackets(text: str) -> set[str]:
    plain = re.sub(r"\s+", " ", text)
    return {match.group(1) for match in chain(CITATION.finditer(plain), LIKELY.finditer(plain))}


def _cited(path: Path, part: str) -> Cited | None:
    match = re.fullmatch(r"([a-z][\w-]*)(?:, (.+))?", part)
    return None if match is None else Cited(path, match[1], match[2] or "")


def _prose(path: Path) -> str:
    """Return the docstrings and comments of a module."""
    source = text_of(path)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [ast.get_docstring(node) or "" for node in nodes(path) if isinstance(node, documented)]
    bracketed = re.search(r"#.*\[", source)  # without one no comment cites, and tokens take long
    tokens = tokenize.generate_tokens(io.StringIO(source).readline) if bracketed else ()
    comments = [token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT]
    return "\n\n".join([*docstrings, " ".join(comments)])


def _without_code(page: str) -> str:
    return re.sub(r"`[^`\n]+`", "", re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S))


@cache
def _carried() -> tuple[Cited, ...]:
    parts = ((path, part) for path in SOURCES for part in _parts_carried(path))
    return tuple(filter(None, (_cited(path, part) for path, part in parts)))


@cache
def _parts_carried(path: Path) -> tuple[str, ...]:
    """Return the parts of the reference strings that a module gives to evidence and bounds."""
    return tuple(_parts_of(path))


def _parts_of(path: Path) -> Iterator[str]:
    named: dict[str, list[ast.expr]] = {}
    for node in nodes(path):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    named.setdefault(target.id, []).append(node.value)
    for call in nodes(path):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in CARRIERS:
            place = CARRIERS[call.func.id]
            given = [keyword.value for keyword in call.keywords if keyword.arg == "reference"]
            # Bounds on numbers have three arguments, and their method cites in brackets.
            given += [] if place is None or len(call.args) > 2 else call.args[place : place + 1]
            for text in chain.from_iterable(_strings(value, named) for value in given):
                yield from text.split("; ")


def _strings(value: ast.expr, named: dict[str, list[ast.expr]]) -> Iterator[str]:
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name):
            for assigned in named.get(node.id, []):
                yield from _strings(assigned, {})
