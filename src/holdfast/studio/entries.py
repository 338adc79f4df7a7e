"""Entries of a list in the text of a spec, wherever its writer put them: invariants, or targets of accuracy.

One comes or goes, others stay as they are. Those of one table are sections of their own, `[[invariants]]`, or
a list, `invariants = [...]`; those of one of several tables stand in its section, as such a list or as
`[[tables.invariants]]`.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from holdfast.studio.edits import (
    Statement,
    block,
    checked,
    cut,
    put,
    statements,
    with_block,
    with_value,
    without_block,
    words,
)

NOTES = {"invariants": "published exactly"}
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\])*"|\'[^\']*\'|#[^\n]*|[\[\]{},]|\s+|[^\s\[\]{},#"\']+',
    re.DOTALL,
)
_COMMA = re.compile(r"(?:\s|#[^\n]*\n)*,")
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?\n")


def with_entry(text: str, key: str, values: Mapping[str, object], table: int | None = None) -> str:
    r"""Return the text with one more entry: of the table at a place, where there are several.

    >>> text = '[[tables]]\ninvariants = [\n  { total = true }, # all\n]'
    >>> print(with_entry(text, "invariants", {"margin": ["sex"]}, 0))
    [[tables]]
    invariants = [
      { total = true }, # all
      { margin = ["sex"] },
    ]
    """
    lines = text.split("\n")
    every = statements(lines)
    listed = _list(every, key, table)
    if listed is None and table is None:
        return with_block(text, key, values, NOTES.get(key, ""))
    wanted = tomllib.loads(text)
    _holder(wanted, table).setdefault(key, []).append(dict(values))
    if listed is not None:
        return _edited(lines, listed, lambda raw: with_element(raw, words(values)), wanted)
    own = _blocks(every, key, table or 0)
    if not own:
        return with_value(text, "tables", key, [dict(values)], number=table or 0)
    lines[own[-1].end : own[-1].end] = ["", *block(f"tables.{key}", values, NOTES.get(key, ""))]
    return checked("\n".join(lines), wanted)


def without_entry(text: str, key: str, place: int, table: int | None = None) -> str:
    r"""Return the text without the entry at a place: of the table at a place, where there are several.

    >>> print(without_entry('invariants = [{ total = true }, { margin = ["sex"] }]  # kept', "invariants", 0))
    invariants = [{ margin = ["sex"] }]  # kept
    """
    lines = text.split("\n")
    every = statements(lines)
    listed = _list(every, key, table)
    if listed is None and table is None:
        return without_block(text, key, place)
    wanted = tomllib.loads(text)
    del _holder(wanted, table)[key][place]
    if listed is not None:
        return _edited(lines, listed, lambda raw: without_element(raw, place), wanted)
    return cut(text, f"tables.{key}", _number(every, key, place, table or 0), wanted)


def with_entry_value(
    text: str, key: str, place: int, name: str, value: object, table: int | None = None
) -> str:
    r"""Return the text with another value in the entry at a place.

    >>> print(with_entry_value("[[accuracy]]\nwithin = 5  # people", "accuracy", 0, "within", 6))
    [[accuracy]]
    within = 6  # people
    """
    lines = text.split("\n")
    every = statements(lines)
    listed = _list(every, key, table)
    wanted = tomllib.loads(text)
    entry = _holder(wanted, table)[key][place]
    entry[name] = value
    if listed is not None:
        return _edited(lines, listed, lambda raw: with_other_element(raw, place, words(entry)), wanted)
    section, number = (key, place) if table is None else (f"tables.{key}", _number(every, key, place, table))
    return put(text, section, name, value, wanted, number=number)


def _number(every: Sequence[Statement], key: str, place: int, table: int) -> int:
    """Return which of all sections of its name the entry at a place of one of several tables is."""
    heads = [one for one in every if one.section == f"tables.{key}" and one.key is None]
    own = _blocks(every, key, table)
    return place + next((number for number, one in enumerate(heads) if one in own), 0)


def _holder(values: dict[str, Any], table: int | None) -> dict[str, Any]:
    found: dict[str, Any] = values if table is None else values["tables"][table]
    return found


def _list(every: Sequence[Statement], key: str, table: int | None) -> Statement | None:
    """Return where the entries are written as a list, if they are."""
    section = ("", 0) if table is None else ("tables", table)
    return next((one for one in every if (one.section, one.number) == section and one.key == key), None)


def _blocks(every: Sequence[Statement], key: str, table: int) -> Sequence[Statement]:
    """Return the statements of the sections of entries that belong to one of several tables."""
    heads = [one.begin for one in every if one.section == "tables" and one.key is None]
    begin = heads[table]
    end = next((head for head in heads if head > begin), None)
    name = f"tables.{key}"
    return [
        one
        for one in every
        if (one.section == name or one.section.startswith(f"{name}."))
        and one.begin > begin
        and (end is None or one.begin < end)
    ]


def _edited(lines: list[str], there: Statement, edit: Callable[[str], str], wanted: Mapping[str, Any]) -> str:
    """Return the lines with another list in the place of one."""
    whole = "\n".join(lines[there.begin : there.end])
    at = whole.index("[", whole.index("="))
    lines[there.begin : there.end] = [whole[:at] + edit(whole[at:])]
    return checked("\n".join(lines), wanted)


def elements(raw: str) -> list[tuple[int, int]]:
    """Return where the elements of a list begin and end, whose text begins with its bracket.

    >>> raw = '[{ a = "]," }, # b, c' + chr(10) + "  [1, 2]]"
    >>> [raw[begin:end] for begin, end in elements(raw)]
    ['{ a = "]," }', '[1, 2]']
    """
    found: list[tuple[int, int]] = []
    depth, begin, end = 0, None, 0
    for token in _TOKEN.finditer(raw):
        word = token[0]
        if word.isspace() or word.startswith("#"):
            continue
        if depth == 1 and word in {",", "]"}:
            if begin is not None:
                found.append((begin, end))
            if word == "]":
                break
            begin = None
            continue
        if depth == 1 and begin is None:
            begin = token.start()
        depth += (word in {"[", "{"}) - (word in {"]", "}"})
        end = token.end()
    return found


def with_element(raw: str, new: str) -> str:
    """Return the text of a list with one more element, on a line of its own where the last one has one."""
    spans = elements(raw)
    if not spans:
        return f"[{new}{raw[1:]}"
    begin, end = spans[-1]
    comma = _COMMA.match(raw, end)
    after = comma.end() if comma else end
    head = raw[:after] + ("" if comma else ",")
    indent = _indent(raw, begin)
    if indent is None:
        return f"{head} {new}{raw[after:]}"
    rest = _REST_OF_LINE.match(raw, after)
    if rest is None:
        return f"{head}\n{indent}{new}{raw[after:]}"
    return f"{head}{rest[0]}{indent}{new}{',' if comma else ''}\n{raw[rest.end() :]}"


def without_element(raw: str, place: int) -> str:
    """Return the text of a list without one of its elements, and without the line that it had for itself."""
    spans = elements(raw)
    begin, end = spans[place]
    comma = _COMMA.match(raw, end)
    if comma is not None:
        end = comma.end()
    elif place:
        before = _COMMA.match(raw, spans[place - 1][1])
        if before is not None:
            cut_at = before.end() - 1
            raw = raw[:cut_at] + raw[cut_at + 1 :]
            begin, end = begin - 1, end - 1
    indent, rest = _indent(raw, begin), _REST_OF_LINE.match(raw, end)
    if indent is not None and rest is not None:
        return raw[: begin - len(indent)] + raw[rest.end() :]
    if place:
        return raw[:begin].rstrip(" ") + raw[end:]
    return raw[:begin] + (raw[end:].lstrip(" ") if comma else raw[end:])


def with_other_element(raw: str, place: int, new: str) -> str:
    """Return the text of a list with another element at a place.

    >>> with_other_element("[1, 2, 3]", 1, "9")
    '[1, 9, 3]'
    """
    begin, end = elements(raw)[place]
    return raw[:begin] + new + raw[end:]


def _indent(raw: str, begin: int) -> str | None:
    """Return the space before an element that begins its line; None where something else does."""
    line = raw.rfind("\n", 0, begin) + 1
    indent = raw[line:begin]
    return indent if line and not indent.strip() else None
