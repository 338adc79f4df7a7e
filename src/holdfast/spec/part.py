"""A part of a spec: a frozen record that says in one sentence what is wrong with it."""

import re
import reprlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from holdfast.errors import HoldfastError, SpecError
from holdfast.spec.closest import closest

Text = Annotated[str, Field(strict=True)]


class Part(BaseModel):
    """The base of every section: frozen, no unknown keys, errors as SpecError."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    section: ClassVar[tuple[str, ...]] = ()
    in_file: ClassVar[bool] = False
    """Whether its errors speak of a file in any case: who reads it knows whether there is one."""
    any_key: ClassVar[bool] = False
    """Whether unknown keys are left to somebody else."""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            sentence = _sentence(error.errors()[0], self.section)
            raise SpecError(
                sentence if self.in_file or _OF_A_FILE.get() else as_arguments(sentence)
            ) from None
        except SpecError as error:
            if not (self.in_file or _OF_A_FILE.get()):
                error.args = (as_arguments(str(error)),)
            raise

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


_OF_A_FILE: ContextVar[bool] = ContextVar("of a file", default=False)


@contextmanager
def of_a_file() -> Iterator[None]:
    """Let errors speak of sections and keys of TOML, where a spec is read from a file."""
    token = _OF_A_FILE.set(True)
    try:
        yield
    finally:
        _OF_A_FILE.reset(token)


@contextmanager
def spoken_of(file: str) -> Iterator[None]:
    """Let errors name the file of a spec with the place in it, or speak of arguments where it has none."""
    try:
        yield
    except HoldfastError as error:
        if not file:
            error.args = (as_arguments(str(error)),)
        elif str(error).startswith("["):
            error.args = (f"{file}, {error}",)
        raise


def as_arguments(sentence: str) -> str:
    """Return a sentence about a file of TOML as one about a spec that was made in Python.

    >>> as_arguments("[privacy] epsilon is 0: see [[invariants]] 2 margin and [data.levels] sex.")
    "privacy.epsilon is 0: see invariants[1].margin and data.levels['sex']."
    """
    sentence = re.sub(r"\[data\.levels\] (\w+)", r"data.levels['\1']", sentence)
    sentence = re.sub(
        r"\[\[([a-z.]+)\]\] (\d+)( (?=margin|where|weights|name|total|equals|at_least))?",
        lambda match: f"{match[1]}[{int(match[2]) - 1}]{'.' if match[3] else ''}",
        sentence,
    )
    sentence = re.sub(rf"\[\[?({_SECTIONS})\]?\] (?=({_KEYS})\b)", r"\1.", sentence)
    return re.sub(rf"\[\[?({_SECTIONS})\]?\]", r"\1", sentence)


_SECTIONS = (
    r"data\.levels|data\.geography|data|invariants|constraints\.inequalities|constraints|privacy|mechanism|publication|tables|"
    r"budget"
)
_KEYS = (
    "path|cells|count|levels|name|unit|standard|epsilon|delta|rho|mu|adjacency|distance|norm|structural_zeros|"
    "nonnegative|inequalities|epsilon_per_unit|chain|moves|within|separator|encoding|missing|aggregate|recode|"
    "records_per_unit|laws|margin|where|weights|total|equals|at_least|at_most|level|geography|column|prefixes|"
    "columns|allocation|queries|optimise_for|division|id|persons|stratify|swap|rate|nulls|bound|loss|base|prior_count|"
    "prior_where|prior|concentration|floors|floor|estimate|of|on|event|low|high|steps"
)


LISTS = ("invariants", "tables", "laws", "outcomes", "people")
"""The sections that a file may have several of."""


def _place(path: tuple[int | str, ...]) -> str:
    """Where in the file: ("privacy", "epsilon") is "[privacy] epsilon"."""
    if not path:
        return "the spec"
    head, *rest = path
    if head == "data" and rest[:1] in (["levels"], ["recode"], ["geography"]):
        head, *rest = f"data.{rest[0]}", *rest[1:]
    title = f"[[{head}]]" if head in LISTS else f"[{head}]"
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
