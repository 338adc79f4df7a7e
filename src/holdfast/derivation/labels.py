"""What an invariant is called, held against what it counts: a label must not say anything else."""

import re
from collections.abc import Mapping

from holdfast.data.invariants import InvariantBlock, margin_labels, margin_matrix
from holdfast.data.levels import number, range_words
from holdfast.data.schema import Schema


def misnamed(block: InvariantBlock, schema: Schema) -> str:
    """Return what is wrong with the kind or the labels of an invariant, "" where they say what is counted."""
    kind = (
        "weights"
        if block.kind == "weights"
        else "margin"
        if block.attributes
        else "where"
        if block.where
        else "total"
    )
    if not block.name:
        return "it has no name"
    if block.kind != kind or (kind == "weights" and (block.attributes or block.where)):
        return f"the certificate claims the kind {block.kind!r}, and what follows is {kind!r}"
    if kind == "weights":
        return ""
    first = block.labels[0] if block.labels else ""
    words = first.rpartition(" within ")[2] if kind == "margin" and block.where else first
    if block.where and not _says(words, block.where, schema):
        return f"the label {first!r} does not say what is selected"
    if kind == "margin":
        kept = margin_matrix(schema, block.attributes, block.where)[1]
        follows = margin_labels(schema, block.attributes, kept, words if block.where else "")
    else:
        follows = (words,) if block.where else ("total",)
    for said, right in zip(block.labels, follows, strict=True):
        if said != right:
            return f"the certificate claims the label {said!r}, and what follows is {right!r}"
    return ""


def _range(place: int, ranged: str | None) -> str:
    """Return a pattern of the words for a range: those of neighbouring levels, or any two numbers."""
    own = re.escape(ranged) if ranged is not None else "(?!)"
    return f"(?P<range_{place}>{own})|(?P<low_{place}>\\S+) to (?P<high_{place}>\\S+)"


def _says(words: str, where: Mapping[str, tuple[str, ...]], schema: Schema) -> bool:
    """Whether words say what a selection picks, by levels or by ranges."""
    ranged = {name: range_words(levels, schema.attribute(name).levels) for name, levels in where.items()}
    pattern = " and ".join(
        f"{re.escape(name)} (?:= (?P<levels_{place}>.*)|{_range(place, ranged[name])})"
        for place, name in enumerate(where)
    )
    found = re.fullmatch(pattern, words, re.DOTALL)
    if found is None:
        return False
    for place, (name, levels) in enumerate(where.items()):
        said, low, high = (found[f"{end}_{place}"] for end in ("levels", "low", "high"))
        if found[f"range_{place}"] is not None:
            continue
        if said is not None:
            listed = " or ".join(levels), f"{levels[0]} or {len(levels) - 1} other levels"
            if said != listed[len(levels) > 4] or len(set(levels)) < len(levels):
                return False
            continue
        ends, known = (number(low), number(high)), [number(level) for level in schema.attribute(name).levels]
        if None in (*ends, *known):
            return False
        every = zip(known, schema.attribute(name).levels, strict=True)
        if tuple(level for value, level in every if ends[0] <= value <= ends[1]) != levels:  # type: ignore[operator]
            return False
    return True
