"""Messages are worded for who reads: below the spec and the command line nobody knows of flags and keys."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.sources import PACKAGE, nodes

EDGES = {"cli", "spec"}
FLAG = re.compile(r"(?<![\w-])--[a-z]")
KEY = re.compile(r"\[\[?[a-z_]+(\.[a-z_]+)*\]")


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


def test_a_flag_and_a_key_are_seen(tmp_path: Path) -> None:
    (tmp_path / "saying.py").write_text('"""--docstring"""\na = f"use --out {b}"\nc = "set [data] of"\n')
    assert [
        bool(FLAG.search(text)) + 2 * bool(KEY.search(text)) for text in said(tmp_path / "saying.py")
    ] == [2, 1]
