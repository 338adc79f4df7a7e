"""The pages of errors and settings: codes from the guide that is tested, sentences from the source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import holdfast
from holdfast.system.errors import HoldfastError
from website.pages import DOCS

PACKAGE = Path(holdfast.__file__).parent
HEAD = """# Errors

Every error is one sentence: the place, what is wrong, the way out. With `--json`, and in Python, it has a code that stays
where the sentence gets better ([guide](../guides/operating.md#errors-for-programs)). The exit code is 2, nothing is written
and nothing is charged.

## Codes

"""
SENTENCES = """
## Sentences

What the program says, by code; `...` stands for names and numbers. What stands after the last colon is the way out.
"""


def page() -> str:
    """Return the page of errors."""
    table = _table("code | in Python")
    found = sorted(set(sentences()))
    lines = [HEAD.rstrip("\n"), "", table.replace("what is wrong", "cause").replace("what helps", "cure")]
    lines += [SENTENCES]
    for code in dict.fromkeys(code for code, _ in found):
        lines += [f"### {code}", ""]
        lines += [f"- {_escaped(sentence)}" for each, sentence in found if each == code]
        lines += [""]
    return "\n".join(lines)


def settings_page() -> str:
    """Return the page of settings."""
    return (
        "# Settings\n\nThe environment has these, and no other of Holdfast's own. Everything else is said in a spec or on"
        f" a command line.\n\n{_table('variable')}\n"
    )


def _table(start: str) -> str:
    """Return the table of the guide that starts so; its links are those of a guide, seen from here."""
    guide = (DOCS / "guides" / "operating.md").read_text(encoding="utf-8")
    table = re.search(rf"^\| {re.escape(start)} .*?\n\n", guide, re.M | re.S)
    assert table is not None
    return re.sub(r"\]\((?=[\w-]+\.md)", "](../guides/", table[0].strip())


def _kinds(kind: type[HoldfastError]) -> Iterator[type[HoldfastError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


def sentences() -> Iterator[tuple[str, str]]:
    """Yield every sentence that is raised, with its code."""
    codes = {kind.__name__: kind.code for kind in _kinds(HoldfastError)}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                name = getattr(node.exc.func, "id", "")
                text = _text(node.exc.args[0])
                if name in codes and text and len(text.replace("...", "")) > 20:
                    yield codes[name], text


def _text(node: ast.expr) -> str:
    """Return a text with dots in place of what is only known when it runs."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "..." for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return "..."


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(text.split()))
