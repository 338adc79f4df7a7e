"""JSON values by their place, keys and numbers from the outside in; and the certificate of a folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.certificate.text import canonical

Place = tuple[str | int, ...]
ABSURD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    float("nan"),
    "",
    "x",
    "\ud800",
    [],
    [[]],
    [None],
    {},
    {"a": 1},
]
LONG = ("expected_error", "noise", "shares")
"""Hundreds of numbers of one kind: the first of them stands for all."""


def places(content: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every value in JSON with its place, lists and objects included, the whole first."""
    yield place, content
    if isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from places(value, (*place, key))


def at(content: Any, place: Place) -> Any:
    """Return the value at a place."""
    for step in place:
        content = content[step]
    return content


def changed(content: Any, place: Place, value: object) -> Any:
    """Return a copy with another value at a place."""
    if not place:
        return value
    copy = json.loads(json.dumps(content))
    *outer, last = place
    at(copy, tuple(outer))[last] = value
    return copy


def tried(content: dict[str, Any]) -> list[Place]:
    """Return the places of a certificate where a change is tried: all but the seal and long lists."""
    return [
        place
        for place, _ in places(content)
        if place not in ((), ("digest",), ("format",)) and not (place[:3] == LONG and place[3:] > (0,))
    ]


def content_of(release: Path) -> dict[str, Any]:
    content = json.loads((release / "certificate.json").read_text())
    assert isinstance(content, dict)
    return content


def put(release: Path, content: dict[str, Any]) -> None:
    """Write a record as certificates are written."""
    text = canonical(content)
    (release / "certificate.json").write_bytes(text.encode("utf-8", "backslashreplace"))
