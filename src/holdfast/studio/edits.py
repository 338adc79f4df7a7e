"""Edits of the text of a spec, each as small as it can be: comments, order and blank lines stay.

A text is read as statements, each a header of a section or a key with its value, with the lines that it
takes; what is between them is never touched. Whether an edit did what it was for is seen by reading the
values of the new text: specs that are written in another way than by sections (dotted keys, tables on one
line) are refused, and left to their writer.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.system.errors import SpecError
from holdfast.system.ways import of_a_file, table_of, valued

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
LATER = ("constraints", "accuracy", "privacy", "publication", "mechanism")
"""Sections before which a new invariant is written; a new section is written before those that follow it."""


@dataclass(frozen=True)
class Statement:
    """A header, or a key with its value, and the lines it takes: from ``begin``, ``end`` not among them."""

    section: str
    number: int
    """Which of the sections of this name it belongs to, from 0."""
    key: str | None
    begin: int
    end: int


def statements(lines: Sequence[str]) -> list[Statement]:
    """Return the statements of a text that is TOML.

    >>> [one.key for one in statements(["# a", "[data]", "cells = [", '  "a", # b', "]", "[[x]]"])]
    [None, 'cells', None]
    """
    found: list[Statement] = []
    section, number, seen, at = "", 0, dict[str, int](), 0
    while at < len(lines):
        line = lines[at]
        if not line.strip() or line.lstrip().startswith("#"):
            at += 1
            continue
        if header := _HEADER.fullmatch(line):
            section = header[2].strip()
            number = seen[section] = seen.get(section, -1) + 1
            found.append(Statement(section, number, None, at, at + 1))
            at += 1
            continue
        end = _end(lines, at)
        key = next(iter(tomllib.loads("\n".join(lines[at:end]))), "")
        found.append(Statement(section, number, key, at, end))
        at = end
    return found


def _end(lines: Sequence[str], begin: int) -> int:
    """Return where the value that begins on a line ends."""
    for end in range(begin + 1, len(lines) + 1):
        last = lines[end - 1]
        if end > begin + 1 and not any(sign in last for sign in "]}\"'"):
            continue  # such a line ends nothing that takes several lines
        try:
            tomllib.loads("\n".join(lines[begin:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    raise SpecError("the spec is not TOML: correct its text first.")


def with_value(text: str, section: str, key: str, value: object, *, number: int = 0, note: str = "") -> str:
    r"""Return the text with a value of a section; None takes the key out. A new key may have a note.

    >>> print(with_value('[privacy]\nunit = ""   # who?', "privacy", "unit", "record"))
    [privacy]
    unit = "record"   # who?
    """
    wanted = tomllib.loads(text)
    _set(wanted, section, number, key, value)
    return put(text, section, key, value, wanted, number=number, note=note)


def put(
    text: str,
    section: str,
    key: str,
    value: object,
    wanted: Mapping[str, Any],
    *,
    number: int = 0,
    note: str = "",
) -> str:
    """Return the text with a value of a section, which makes its values those that are wanted."""
    lines = text.split("\n")
    every = statements(lines)
    own = [one for one in every if (one.section, one.number) == (section, number)]
    there = next((one for one in own if one.key == key), None)
    if there is not None:
        comment = _comment(lines, there)
        new = [] if value is None else [f"{_key(key)} = {words(value)}{comment}"]
        lines[there.begin : there.end] = new
    elif value is not None:
        new = [f"{_key(key)} = {words(value)}{f'   # {note}' if note else ''}"]
        if own:
            at = own[-1].end
        else:
            at = _place(lines, every, section)
            new = [f"[{section}]", *new, ""]
            if at == len(lines) and lines[-1].strip():
                new.insert(0, "")
        lines[at:at] = new
    return checked("\n".join(lines), wanted)


def set_aside(text: str, section: str, key: str) -> str:
    r"""Return the text with a key turned into a comment; the text as it is where there is no such key.

    >>> print(set_aside('[privacy]\nepsilon = "1"   # one', "privacy", "epsilon"))
    [privacy]
    # epsilon = "1"   # one
    """
    lines = text.split("\n")
    there = next((one for one in statements(lines) if (one.section, one.key) == (section, key)), None)
    if there is None:
        return text
    wanted = tomllib.loads(text)
    _set(wanted, section, 0, key, None)
    for at in range(there.begin, there.end):
        lines[at] = f"# {lines[at]}"
    return checked("\n".join(lines), wanted)


def with_block(text: str, section: str, values: Mapping[str, object], note: str = "") -> str:
    """Return the text with one more section of a list, such as an invariant."""
    lines = text.split("\n")
    every = statements(lines)
    wanted = tomllib.loads(text)
    wanted.setdefault(section, []).append(dict(values))
    own = [one for one in every if one.section == section or one.section.startswith(f"{section}.")]
    new = block(section, values, note)
    if own:
        at, new = own[-1].end, ["", *new]
    else:
        at, new = _place(lines, every, section), [*new, ""]
        if at == len(lines) and lines[-1].strip():
            new.insert(0, "")
    lines[at:at] = new
    return checked("\n".join(lines), wanted)


def block(section: str, values: Mapping[str, object], note: str = "") -> list[str]:
    """Return the lines of one section of a list."""
    head = f"[[{section}]]{f'   # {note}' if note else ''}"
    return [head, *(f"{_key(key)} = {words(value)}" for key, value in values.items())]


def without_block(text: str, section: str, number: int) -> str:
    """Return the text without one of the sections of a list; comments around it stay."""
    wanted = tomllib.loads(text)
    del wanted[section][number]
    if not wanted[section]:
        del wanted[section]
    return cut(text, section, number, wanted)


def cut(text: str, section: str, number: int, wanted: Mapping[str, Any]) -> str:
    """Return the text without the section of a name that comes at this place; the values are as wanted."""
    lines = text.split("\n")
    every = statements(lines)
    heads = [one for one in every if one.section == section and one.key is None]
    if number >= len(heads):
        raise otherwise()
    head = heads[number]
    follow = [one for one in every if one.begin > head.begin]
    last = head
    for one in follow:
        if (one.section == section and one.number == number) or one.section.startswith(f"{section}."):
            last = one
        else:
            break
    drop = {at for one in every if head.begin <= one.begin <= last.begin for at in range(one.begin, one.end)}
    kept = [line for at, line in enumerate(lines) if at not in drop]
    if 0 < head.begin < len(kept) and not kept[head.begin].strip() and not kept[head.begin - 1].strip():
        del kept[head.begin]
    return checked("\n".join(kept), wanted)


def words(value: object) -> str:
    """Return a value as TOML has it.

    >>> print(words({"county": ["Alpha", "B c"], "on": True}))
    { county = ["Alpha", "B c"], on = true }
    """
    with of_a_file():
        if isinstance(value, Mapping):
            said = table_of({str(name): words(one) for name, one in value.items()})
        else:
            said = valued(value)
    return said.replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else words(name)


def _comment(lines: Sequence[str], there: Statement) -> str:
    """Return the comment behind a value, with the space before it."""
    whole = "\n".join(lines[there.begin : there.end])
    value = tomllib.loads(whole)
    for sign in re.finditer(r"\s*#", whole):
        try:
            if tomllib.loads(whole[: sign.start()]) == value and "\n" not in whole[sign.start() :].strip(
                "\n"
            ):
                return whole[sign.start() :]
        except tomllib.TOMLDecodeError:
            continue
    return ""


def _place(lines: Sequence[str], every: Sequence[Statement], section: str) -> int:
    """Return the line before which a new section goes: the first that follows it, with the comments above."""
    after = LATER[LATER.index(section) + 1 :] if section in LATER else LATER
    at = next((one.begin for one in every if one.key is None and one.section.split(".")[0] in after), None)
    if at is None:
        return len(lines)
    while at and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    return at


def _set(values: dict[str, Any], section: str, number: int, key: str, value: object) -> None:
    """Say what the values are to be."""
    place: Any = values
    for name in section.split("."):
        place = place.setdefault(name, {}) if isinstance(place, dict) else {}
        if isinstance(place, list):
            place = place[number]
    if not isinstance(place, dict):
        raise otherwise()
    if value is None:
        place.pop(key, None)
    else:
        place[key] = value


def checked(text: str, wanted: Mapping[str, Any]) -> str:
    """Return a text whose values are as they are to be; SpecError where they are not."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise otherwise() from None
    if _plain(found) != _plain(wanted):
        raise otherwise()
    return text


def _plain(value: object) -> object:
    """Return values without what is empty, and lists for sequences."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items() if one not in ({}, [])}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value


def otherwise() -> SpecError:
    """Say that a spec is written in a way that is not edited here."""
    return SpecError(
        "the spec is written with dotted keys or tables on one line, which the form does not edit: change its"
        " text, or write it by sections."
    )
