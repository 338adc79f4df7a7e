"""The page of Python: every public name, its signature, its docstring, and where a tested page uses it."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from website.finish import title_of
from website.pages import sources
from website.reference.shared import SHARED

ROOMS = (
    "holdfast",
    "holdfast.audit",
    "holdfast.calculus",
    "holdfast.workshop",
    "holdfast.lab",
    "holdfast.testing.contract",
)
HEAD = """# Python

The public names, room by room; files behind them may move, names stay. The [guide](../guides/python.md) walks through them.
Every example is run by the tests. Those of docstrings, which `help` shows as well, begin with these lines:

```python
{shared}```
"""


def page() -> str:
    """Return the page."""
    examples = list(_examples())
    lines = [HEAD.format(shared=SHARED)]
    for room in ROOMS:
        try:
            module = import_module(room)
        except ModuleNotFoundError:
            continue
        about = " ".join((inspect.getdoc(module) or "").partition("\n\n")[0].split())
        lines += [f"## {room}", "", about, ""]
        for name in sorted(getattr(module, "__all__", ()), key=str.lower):
            lines += _entry(room, name, getattr(module, name), examples)
    return "\n".join(lines)


def _entry(room: str, name: str, value: Any, examples: list[tuple[str, str, str]]) -> list[str]:
    lines = [f"### {room.rpartition('.')[2]}.{name}", ""]
    if callable(value):
        lines += ["```python", f"{name}{_signature(value)}", "```", ""]
    doc = inspect.getdoc(value) or ""
    text, _, _ = doc.partition("\n>>> ")
    shown = re.findall(r"^>>> .*(?:\n(?!\s*$).*)*", doc, re.M)
    if isinstance(value, type) or callable(value):
        lines += [_prose(text.strip()), ""]
    elif isinstance(value, str | int | tuple):
        lines += [f"`{str(value)[:200]}`", ""]
    used = [
        (place, code)
        for place, head, code in examples
        if re.search(rf"(?<![\w]){name}\b", code) and head is not None
    ]
    if shown:
        lines += ["```python", *"\n".join(shown).splitlines(), "```", ""]
    elif used:
        place, code = min(used, key=lambda one: (len(one[1]) > 160, len(one[1])))
        lines += ["```python", *code.splitlines(), "```", "", f"From [{_title(place)}](../{place}).", ""]
    return lines


def _prose(text: str) -> str:
    """Return a docstring as Markdown: indented blocks stay, brackets that cite stay."""
    return re.sub(r"``([^`]+)``", r"`\1`", re.sub(r"<(\w)", r"\\<\1", text))


def _signature(value: Any) -> str:
    if fields := getattr(value, "model_fields", None):
        keys = [
            name if field.is_required() else f"{name}={_default(field)}" for name, field in fields.items()
        ]
        text = f"(*, {', '.join(keys)})"
        return (
            text
            if len(text) <= 100
            else text.replace(", ", ",\n    ").replace("(", "(\n    ", 1)[:-1] + "\n)"
        )
    try:
        text = str(inspect.signature(value, eval_str=False))
    except (ValueError, TypeError):
        return "(...)"
    text = re.sub(r"<[^>]*>", "...", text).replace("''", '""').replace("'", "")
    text = re.sub(r"\b(?:holdfast|numpy|collections|pathlib|typing|fractions)(?:\.\w+)*\.(\w+)", r"\1", text)
    return (
        text
        if len(text) <= 100
        else text.replace(", ", ",\n    ").replace("(", "(\n    ", 1).replace(") ->", "\n) ->")
    )


def _default(field: Any) -> str:
    return (
        "..."
        if field.default_factory is not None
        else re.sub(r"^(\w+)\(.*\)$", r"\1(...)", repr(field.default))
    )


def _title(place: str) -> str:
    return title_of(sources()[place].read_text(encoding="utf-8"))


def _examples() -> Iterator[tuple[str, str, str]]:
    """Yield page, language and statement of every example of Python on a page."""
    for place, path in sources().items():
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
            for one in re.findall(r"^>>> .*(?:\n\.\.\. .*)*(?:\n(?!>>> )(?!\s*$).*)*", block, re.M):
                yield place, "python", one
