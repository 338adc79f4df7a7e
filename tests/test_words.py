"""Messages are worded for who reads: below spec, studio and command line nobody knows of flags and keys."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sources import PACKAGE, nodes

EDGES = {"cli", "spec", "studio"}
FLAG = re.compile(r"(?<![\w-])--[a-z]")
KEY = re.compile(r"\[\[?[a-z_]+(\.[a-z_]+)*\]|\[\[\.|double brackets")
ASSIGNED = re.compile(r"""\b[a-z_]+ = (["'\[{]|true\b|false\b)|\b(set|add|write|with) [a-z_]+ = ?$""")
COMMAND = re.compile(r"\bholdfast [a-z]")
TEXTS = {"str", "str | None", "Iterator[str]", "tuple[str, ...]", "SpecError", "GuaranteeError"}
"""What functions return that word what others raise."""


def said(path: Path) -> Iterator[str]:
    """Yield the texts of a module that are no docstrings."""
    alone = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_no_room_below_speaks_of_flags_or_keys() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in EDGES]
    assert len(files) > 300
    assert [
        (path, text) for path in files for text in said(path) if FLAG.search(text) or KEY.search(text)
    ] == []


def messages(path: Path) -> Iterator[str]:
    """Yield the texts of a module's raise statements, and of functions that return or yield text alone.

    What such a function says is raised elsewhere, or warned of; claims are words of a page, for all readers.
    """
    for node in nodes(path):
        wording = isinstance(node, ast.FunctionDef) and not node.decorator_list and _gives_text(node)
        if wording or isinstance(node, ast.Raise):
            docstring = ast.get_docstring(node, clean=False) if isinstance(node, ast.FunctionDef) else None
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value != docstring:
                    yield part.value


def _gives_text(node: ast.FunctionDef) -> bool:
    return node.returns is not None and ast.unparse(node.returns) in TEXTS


def test_no_message_from_below_assigns_or_commands() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in EDGES]
    found = [(path, text) for path in files for text in messages(path)]
    assert len(found) > 2000
    assert [one for one in found if ASSIGNED.search(one[1]) or COMMAND.search(one[1])] == []


@pytest.mark.parametrize(
    "said",
    [
        """raise SpecError('no such law: set adjacency = "unit".')""",
        """raise SpecError(f"{name} is not drawn: add chain = true.")""",
        """raise SpecError(f"{name} is not drawn: set name = {other!r}.")""",
        """raise LedgerError(f"{path} has no such row: see `holdfast ledger show`.")""",
        """def way(name: str) -> str:\n    return f'take {name}, with areas = ["county"]'""",
    ],
)
def test_an_assignment_and_a_command_are_seen(tmp_path: Path, said: str) -> None:
    (tmp_path / "saying.py").write_text(said + "\n")
    assert any(ASSIGNED.search(text) or COMMAND.search(text) for text in messages(tmp_path / "saying.py"))


def test_a_flag_and_a_key_are_seen(tmp_path: Path) -> None:
    (tmp_path / "saying.py").write_text(
        '"""--docstring"""\na = f"use --out {b}"\nc = "set [data] of"\nd = "write [[...]]"\n'
    )
    assert [
        bool(FLAG.search(text)) + 2 * bool(KEY.search(text)) for text in said(tmp_path / "saying.py")
    ] == [2, 2, 1]
