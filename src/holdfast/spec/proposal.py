"""A proposal of a spec: values and comments, written as TOML for a curator to correct."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from holdfast.spec.shape import Derived, Wide
from holdfast.system.text import visible

TOTAL = "total"
"""What is kept where the number of all records is."""
HEAD = (
    "# A first spec, from a look at the data. Read it, correct it, then: holdfast plan, holdfast release.",
    "# Names and levels below come from the confidential data, and a release publishes them: take out what",
    "# must not be known, and declare what everybody knows.",
    "",
    "[data]",
)
MOST_LEVELS = 1_000
"""Levels that are written out."""
WIDTH = 100


@dataclass(frozen=True, repr=False)
class DataProposal:
    """What a file seems to be, as [data] says it; its levels are confidential."""

    levels: Mapping[str, tuple[str, ...]]
    """The cells and their levels, in order."""
    count: str | None
    within: Mapping[str, str]
    prefixes: Mapping[str, int] = field(default_factory=dict)
    """The levels of a geography in the codes of a column, root first."""
    codes: str | None = None
    """The column of these codes."""
    missing: tuple[str, ...] = ()
    aggregate: bool = False
    omit: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Rows that are sums of others, by the column and the levels that tell."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Columns that are not used, and why."""
    wide: Wide | None = None
    derive: Mapping[str, Derived] = field(default_factory=dict)
    thousands: str = ""
    doubts: tuple[str, ...] = ()
    """What was guessed and may be otherwise, a sentence each."""


def data_lines(found: DataProposal, source: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of [data] and its sections; the source is told as [data] has it, by its keys."""
    yield from HEAD
    for key, value in source.items():
        guess = "   # a guess: look at letters with accents" if key == "encoding" else ""
        yield f"{key} = {_text(value)}{guess}"
    yield f"cells = {_list(tuple(found.levels))}"
    if found.count is None:
        yield "# every row is one record: there is no count column"
    else:
        yield f"count = {_text(found.count)}"
    yield from _handling(found)
    if found.thousands:
        yield f"thousands = {_text(found.thousands)}   # the sign between the thousands of counts"
    if found.left_out:
        yield "# Left out:"
        yield from (f"#   {visible(name)}: {visible(why)}." for name, why in found.left_out.items())
    if found.codes is not None:
        yield ""
        yield "[data.geography]   # the first characters of a code name the levels above it"
        yield f"column = {_text(found.codes)}"
        yield f"prefixes = {_table(found.prefixes, str)}"
    yield from _shape(found)
    if found.levels:
        yield ""
        yield "[data.levels]   # from the data; add those that could be there and are not"
    for name, levels in found.levels.items():
        if len(levels) <= MOST_LEVELS:
            yield f"{_key(name)} = {_list(levels)}"
        else:
            yield f"# {visible(name)}: {len(levels):,} levels, taken from the data"


def _shape(found: DataProposal) -> Iterator[str]:
    """Yield the sections of columns that are made of others."""
    if found.derive:
        yield ""
        yield "[data.derive]   # parts of dates"
    for name, one in found.derive.items():
        order = {} if one.order is None else {"order": one.order}
        yield f"{_key(name)} = {_table({'from': one.source, 'part': one.part, **order}, _text)}"
    wide = found.wide
    if wide is not None and wide.pattern is not None:
        yield ""
        yield f"[data.wide]   # a column for each group, and {visible(found.count or '')} is made of them"
        yield f"pattern = {_text(wide.pattern)}"
        for name, difference in wide.differences.items():
            yield f"{_key(name)} = {_text(difference)}   # who is counted in both is counted once"
    elif wide is not None:
        yield ""
        yield f"[data.wide.columns]   # each counts a group, and {visible(found.count or '')} is made of them"
        yield from (f"{_key(name)} = {_table(levels, _text)}" for name, levels in wide.columns.items())


def _handling(found: DataProposal) -> Iterator[str]:
    """Yield what is done with rows, codes of missing values and nested attributes."""
    if found.aggregate:
        yield "aggregate = true   # counts of a cell that is on several rows are summed"
    if found.missing:
        yield f'missing = {_list(found.missing)}   # these look like "not known", and become one level'
    if found.omit:
        yield f"omit = {_table(found.omit, _list)}   # rows that are sums of others"
    if found.within:
        yield f"within = {_table(found.within, _text)}   # each lies in one of the other"


def kept_lines(keep: Sequence[str]) -> Iterator[str]:
    """Yield the invariants of what is published exactly."""
    for name in dict.fromkeys(keep):
        yield "[[invariants]]   # published exactly"
        yield "total = true" if name == TOTAL else f"margin = {_list((name,))}"
        yield ""


def target_lines(
    standard: str, budget: str, value: Fraction, mechanism: str, *, unit: str, readers: str
) -> Iterator[str]:
    """Yield the sections of who is protected, how strongly, and by which mechanism."""
    yield "[privacy]"
    yield "# Who is protected? The person behind one record, unless you name another unit; where one may have"
    yield '# several records, say so: unit = "person" and records_per_unit = 5.'
    yield f"unit = {_text(unit)}"
    yield f'standard = "{standard}"'
    if readers:
        yield f"# for {visible(readers)}"
    yield f'{budget} = "{value}"   # smaller protects more; see the errors below'
    yield ""
    yield "[mechanism]"
    yield f'name = "{mechanism}"'


def _text(text: str) -> str:
    """Return a text as TOML has it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isalnum() and plain.isascii() else _text(name)


def _table(values: Mapping[str, Any], words: Callable[[Any], str]) -> str:
    return f"{{ {', '.join(f'{_key(name)} = {words(value)}' for name, value in values.items())} }}"


def _list(items: Sequence[str]) -> str:
    """Return a list, on several lines where one is too long."""
    texts = [_text(item) for item in items]
    line = f"[{', '.join(texts)}]"
    if len(line) <= WIDTH:
        return line
    lines, current = [], ""
    for text in texts:
        if current and len(current) + len(text) > WIDTH:
            lines.append(current)
            current = ""
        current += f"{text}, "
    return "[\n" + "".join(f"    {one.rstrip()}\n" for one in (*lines, current)) + "]"
