"""JSON is read no deeper than it is written, and the depth is that of the text."""

import json

import pytest

from holdfast.system.text import DEEPEST, read_json, require_shallow


def test_what_is_written_is_read() -> None:
    value = {"a": [1, {"b": None}], "c": "[[[["}
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize("opened", ["[", '{"a":'])
def test_the_deepest_that_is_read(opened: str) -> None:
    closed = {"[": "]"}.get(opened, "}")
    inner = "1" if opened != "[" else ""
    read_json(opened * DEEPEST + inner + closed * DEEPEST)
    for depth in (DEEPEST + 1, 985, 10**5):
        with pytest.raises(ValueError, match="is nested too deeply"):
            read_json(opened * depth + inner + closed * depth)


def test_what_is_long_is_not_deep() -> None:
    require_shallow([[1]] * 10_000)
    require_shallow("[" * 10_000)
