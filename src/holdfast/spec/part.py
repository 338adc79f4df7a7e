"""A part of a spec: a frozen record that says in one sentence what is wrong with it."""

import reprlib
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from holdfast.errors import SpecError
from holdfast.spec.closest import closest


class Part(BaseModel):
    """The base of every section: frozen, no unknown keys, errors as SpecError."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    section: ClassVar[tuple[str, ...]] = ()
    any_key: ClassVar[bool] = False
    """Whether unknown keys are left to somebody else."""

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
        if isinstance(values, Mapping) and not cls.any_key:
            for key in values:
                if key not in cls.model_fields:
                    raise ValueError(f"has an unknown key {key!r}: {closest(str(key), cls.model_fields)}")
        return values


def _sentence(error: ErrorDetails, section: tuple[str, ...]) -> str:
    text = f"{_place((*section, *error['loc']))} {_complaint(error)}"
    return text if text.endswith((".", "?")) else f"{text}."


def _place(path: tuple[int | str, ...]) -> str:
    """Where in the file: ("privacy", "epsilon") is "[privacy] epsilon"."""
    if not path:
        return "the spec"
    head, *rest = path
    if head == "data" and rest[:1] == ["levels"]:
        head, *rest = "data.levels", *rest[1:]
    title = "[[invariants]]" if head == "invariants" else f"[{head}]"
    steps = [str(step + 1) if isinstance(step, int) else step for step in rest]
    return " ".join([title, *steps])


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
    else:
        expected = f"be right ({error['msg']})"
    return f"must {expected}, not {reprlib.repr(given)}"
