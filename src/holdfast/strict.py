"""JSON from outside: read in one place, and no deeper than anything that is written here.

A text can nest farther than a program can follow. What does is refused before anything walks through it.
"""

import json
from typing import Any

DEEPEST = 64
"""Lists and objects within each other; no file of Holdfast has a quarter of it."""
TOO_DEEP = "is nested too deeply"


def read_json(text: str, **hooks: Any) -> Any:
    """Return the value of a JSON text; ValueError where it is none, or nested too deeply.

    ``hooks`` are those of `json.loads`.

    >>> read_json('{"a": [1]}')
    {'a': [1]}
    """
    try:
        value = json.loads(text, **hooks)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    require_shallow(value)
    return value


def require_shallow(value: object) -> None:
    """Raise ValueError where lists and objects are within each other too often.

    >>> require_shallow([[[]]])
    """
    held = [value] if isinstance(value, list | dict) else []
    for _ in range(DEEPEST):
        held = [
            inner
            for outer in held
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, list | dict)
        ]
    if held:
        raise ValueError(TOO_DEEP)
