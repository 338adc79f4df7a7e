"""A part of a spec: a frozen record that says in one sentence what is wrong with it."""

import reprlib
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import setting

Text = Annotated[str, Field(strict=True)]


class Part(BaseModel):
    """The base of every section: frozen, no unknown keys, errors as SpecError."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    section: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise SpecError(_sentence(error.errors()[0], self.section)) from None

    # Nested parts are then validated in place, so that an error knows its whole path.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: object) -> object:
        if isinstance(values, Mapping):
            for key in values:
                if key not in cls.model_fields:
                    raise ValueError(f"has an unknown key {key!r}: {closest(str(key), cls.model_fields)}")
        return values


class PlacedError(ValueError):
    """A whole sentence with its place, among the errors of a section that it lies in."""


def _sentence(error: ErrorDetails, section: tuple[str, ...]) -> str:
    if isinstance(whole := error.get("ctx", {}).get("error"), PlacedError):
        return str(whole)
    path, complaint = (*section, *error["loc"]), _complaint(error)
    first, _, rest = complaint.partition(" ")
    if isinstance(error["input"], Mapping) and first in error["input"]:  # a section that complains of a key
        path, complaint = (*path, first), rest
    text = f"{_place(path)} {complaint}"
    return text if text.endswith((".", "?")) else f"{text}."


def _place(path: tuple[int | str, ...]) -> str:
    """Where in the spec: ("privacy", "epsilon") is "[privacy] epsilon" of a file."""
    if not path:
        return "the spec"
    head, *rest = path
    if head == "data" and rest[:1] in (["levels"], ["recode"], ["geography"]):
        head, *rest = f"data.{rest[0]}", *rest[1:]
    head = "constraints.across" if head == "across" else head
    return setting(str(head), *(step + 1 if isinstance(step, int) else step for step in rest))


_EXPECTED = {
    "string_type": "text in quotes",
    "tuple_type": "a list in square brackets",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "dict_type": "a table of keys",
    "mapping_type": "a table of keys",
    "model_type": "a table of keys",
    "model_attributes_type": "a table of keys",
    "path_type": "a path in quotes",
}


def _expected(message: str) -> str:
    """Return what is said of a value that is none of the above, without what speaks of a program.

    >>> _expected("Input should be greater than or equal to 1")
    'be greater than or equal to 1'
    """
    return (
        message.removeprefix("Input should ")
        if message.startswith("Input should ")
        else f"be right ({message})"
    )


def _complaint(error: ErrorDetails) -> str:
    kind, given = error["type"], error["input"]
    if kind == "missing":
        return "is missing: add it to the spec"
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if kind == "literal_error":
        expected = f"be one of {error['ctx']['expected']}"
    elif kind in _EXPECTED:
        expected = f"be {_EXPECTED[kind]}"
    elif kind in ("too_short", "string_too_short") and error["ctx"]["min_length"] == 1:
        expected = "not be empty"
    elif kind in ("too_long", "string_too_long"):
        expected = f"have at most {error['ctx']['max_length']:,} entries"
    else:
        expected = _expected(error["msg"])
    return f"must {expected}, not {reprlib.repr(given)}"
