"""The report: all that five documents state has its place, which exists; what is printed is compared."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from studies.report import Made, page, verdict
from studies.semi_dp.numbers import read_expected
from tests.sources import PACKAGE, ROOT, tree

from studies import all as everything
from studies import report

STATEMENTS: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(
    (ROOT / "studies" / "statements.toml").read_text(encoding="utf-8")
)
EXHIBITS: list[dict[str, Any]] = tomllib.loads(
    (ROOT / "studies" / "exhibits.toml").read_text(encoding="utf-8")
)["exhibit"]
COUNTED = {
    "semi-dp": {"Statement": 47, "Example": 8, "Algorithm": 6, "Figure": 3},
    "integer-subspace-dp": {"Statement": 16, "Algorithm": 3, "Figure": 2, "Table": 2},
    "partially-private-data": {"Statement": 17, "Example": 4, "Algorithm": 2, "Figure": 4},
}
"""How far each document counts. Definitions, results and remarks share a count, in one examples as well."""


def kind(document: str, name: str) -> str:
    first = name.split(maxsplit=1)[0]
    apart = {"Algorithm", "Figure", "Table"} | ({"Example"} if document != "integer-subspace-dp" else set())
    return first if first in apart else "Statement"


@pytest.mark.parametrize("document", COUNTED)
def test_every_number_of_a_document_is_there(document: str) -> None:
    found: dict[str, list[int]] = {}
    for name in STATEMENTS[document]:
        found.setdefault(kind(document, name), []).append(int(name.split()[1]))
    assert {each: sorted(numbers) for each, numbers in found.items()} == {
        each: list(range(1, most + 1)) for each, most in COUNTED[document].items()
    }


def places() -> Iterator[tuple[str, str]]:
    for document, rows in STATEMENTS.items():
        for name, row in rows.items():
            assert row.get("where") or row.get("why"), f"{document}, {name}"
            yield from ((f"{document}, {name}", place) for place in row.get("where", ()))


def defined(body: list[ast.stmt]) -> set[str]:
    names = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_every_function_and_file_that_is_named_exists() -> None:
    missing = []
    for statement, place in places():
        file, _, name = place.partition(":")
        outside = file.partition("/")[0] in ("docs", "studies", "tests")
        path = (ROOT if outside else PACKAGE) / file
        if not path.exists() or (name and name not in defined(tree(path).body)):
            missing.append(f"{statement}: {place}")
    assert len(list(places())) > 200
    assert missing == []


def test_every_figure_and_table_is_an_exhibit() -> None:
    shown = {(one["document"], one["name"]) for one in EXHIBITS}
    assert len(shown) == len(EXHIBITS)
    assert shown == {
        (document, name)
        for document, rows in STATEMENTS.items()
        for name in rows
        if name.split()[0] in ("Figure", "Table")
    }
    assert {one["document"] for one in EXHIBITS} == set(report.TITLES) == set(STATEMENTS)


def expected(study: str) -> dict[str, set[str]]:
    """Return the names of the numbers of each part."""
    if study == "semi_dp":
        return {
            part: {f"{name}, {setting}" for name, settings in series.items() for setting in settings}
            for part, series in read_expected().items()
        }
    parts = json.loads((ROOT / "studies" / study / "expected.json").read_text(encoding="utf-8"))["parts"]
    return {part: set(numbers) for part, numbers in parts.items()}


def test_what_is_printed_is_held_against_numbers_that_studies_make() -> None:
    for one in EXHIBITS:
        if "study" not in one:
            assert one["differs"], one["name"]
            continue
        names = expected(one["study"])[one["part"]]
        assert {row[2] for row in one.get("printed", ())} <= names, one["name"]
        assert one.get("printed") or one["differs"], one["name"]
    assert sum(len(one.get("printed", ())) for one in EXHIBITS) >= 20


SHOWN = {"name": "Table 1", "part": "p", "printed": [["a", 1.0, "x", 0.1]]}


@pytest.mark.parametrize(
    ("more", "ours", "off", "said"),
    [
        ({}, {"x": 1.05}, [], "passed"),
        ({}, {"x": 1.2}, [], "wrong"),
        ({}, {}, [], "wrong"),
        ({"differs": "why"}, {"x": 1.2}, [], "explained"),
        ({"differs": "why"}, {"x": 1.0}, ["not as expected"], "wrong"),
        ({}, {"x": 1.0}, ["not as expected"], "wrong"),
    ],
)
def test_a_number_is_as_printed_explained_or_wrong(
    more: dict[str, str], ours: dict[str, float], off: list[str], said: str
) -> None:
    assert verdict({**SHOWN, **more}, Made("full", {"p": ours}, {"p": off}))[0] == said


def test_a_part_that_was_not_run_is_neither_right_nor_wrong() -> None:
    assert verdict(SHOWN, None)[0] == verdict(SHOWN, Made("full", {}, {}))[0] == "not made"


def test_the_page_has_it_all_whatever_was_run() -> None:
    text, _ = page()
    for rows in STATEMENTS.values():
        assert [name for name in rows if name not in text] == []
    assert re.findall(r"https?://", text) == []


def test_all_studies_are_run_and_reported() -> None:
    there = {path.parent.name for path in (ROOT / "studies").glob("*/run.py")}
    assert set(everything.PARTS) == set(report.STUDIES) == there


def test_names_of_code_are_marked_as_such_and_nothing_else_is_markup() -> None:
    text, _ = page()
    assert "<code>holdfast.universe</code>" in text
    assert "`" not in text
    assert report._words("a < `b<c>`") == "a &lt; <code>b&lt;c&gt;</code>"
