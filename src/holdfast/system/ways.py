"""Ways out of an error in the words of who reads: arguments in Python, keys of a file, flags in a terminal.

A message names what to change by `option`, `setting`, `assigned` and `command`, wherever it is raised. Who
reads is said once, at the edge: by the command line (`in_a_terminal`), and by what reads files (`of_a_file`,
`about`); where neither has, a program reads.

>>> option("resume", 3), setting("privacy", "distance"), setting("invariants", 2, "margin")
('resume=3', 'privacy.distance', 'invariants[1].margin')
>>> with in_a_terminal():
...     option("resume", 3), setting("privacy", "distance"), setting("invariants", 2, "margin")
('--resume 3', '[privacy] distance', '[[invariants]] 2 margin')
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from holdfast.system.errors import HoldfastError

_TERMINAL: ContextVar[bool] = ContextVar("in a terminal", default=False)
_FILE: ContextVar[bool] = ContextVar("of a file", default=False)
LISTS = frozenset(
    {
        *("invariants", "tables", "laws", "outcomes", "people", "accuracy", "published"),
        *("constraints.inequalities", "mechanism.queries", "mechanism.optimise_for", "tables.invariants"),
        *("constraints.across", "published"),
    }
)
"""The sections that a file may have several of."""
NAMED = frozenset({"data.levels", "data.recode"})
"""The sections whose keys are names of attributes."""


@contextmanager
def in_a_terminal() -> Iterator[None]:
    """Let messages speak of flags, and of sections and keys of TOML: specs are files there."""
    token = _TERMINAL.set(True)
    try:
        yield
    finally:
        _TERMINAL.reset(token)


@contextmanager
def of_a_file(really: bool = True) -> Iterator[None]:
    """Let messages speak of sections and keys of TOML, where values are read from a file."""
    token = _FILE.set(really)
    try:
        yield
    finally:
        _FILE.reset(token)


@contextmanager
def about(file: str) -> Iterator[None]:
    """Let messages speak of a spec as it was given; errors name its file, if it has one, with the place."""
    with of_a_file(bool(file)):
        try:
            yield
        except HoldfastError as error:
            if str(error).startswith("["):
                error.args = (f"{file}, {error}",)
            raise


def option(name: str, value: object = None) -> str:
    """Return what a command and the function of its name take, by its argument's name; True for a switch.

    >>> option("table"), option("without_salt", True), option("engine", "spark")
    ('the argument table', 'without_salt=True', "engine='spark'")
    """
    if _TERMINAL.get():
        flag = f"--{name.replace('_', '-')}"
        return flag if value is None or value is True else f"{flag} {value}"
    return f"the argument {name}" if value is None else f"{name}={value!r}"


def setting(section: str, *path: str | int) -> str:
    """Return a place in a spec: a section, or what is in it by names and by numbers from 1.

    >>> setting("privacy"), setting("data.levels", "sex"), setting("constraints", "structural_zeros", 1)
    ('privacy', "data.levels['sex']", 'constraints.structural_zeros[0]')
    """
    if _FILE.get() or _TERMINAL.get():
        title = f"[[{section}]]" if section in LISTS else f"[{section}]"
        return " ".join([title, *map(str, path)])
    place = section
    for step in path:
        if isinstance(step, int):
            place += f"[{step - 1}]"
        else:
            place += f"[{step!r}]" if place in NAMED else f".{step}"
    return place


def assigned(name: str, value: object = None, *, words: str = "") -> str:
    """Return a key of a file with its value, or an argument with it; words say its value already.

    >>> assigned("adjacency", "unit"), assigned("chain", True), assigned("mean", {"median": 1, "factor": 3})
    ('adjacency="unit"', 'chain=True', 'mean={"median": 1, "factor": 3}')
    >>> with of_a_file():
    ...     assigned("chain", True), assigned("areas", ["sex"]), assigned("mean", {"median": 1, "factor": 3})
    ('chain = true', 'areas = ["sex"]', 'mean = { median = 1, factor = 3 }')
    """
    return f"{name}{' = ' if _FILE.get() or _TERMINAL.get() else '='}{words or valued(value)}"


def valued(value: object) -> str:
    """Return a value as a file writes it, or as a program does.

    >>> valued([{"marginal": ["age"]}]), valued(False)
    ('[{"marginal": ["age"]}]', 'False')
    """
    if isinstance(value, bool):
        return str(value).lower() if _FILE.get() or _TERMINAL.get() else str(value)
    if isinstance(value, Mapping):
        return table_of({key: valued(one) for key, one in value.items()})
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"[{', '.join(map(valued, value))}]" if isinstance(value, Sequence) else str(value)


def table_of(words: Mapping[str, str]) -> str:
    """Return a table of values that are in words.

    >>> table_of({"age group": "1"})
    '{"age group": 1}'
    >>> with of_a_file():
    ...     table_of({"age group": "1", "age": "2"})
    '{ "age group" = 1, age = 2 }'
    """
    if _FILE.get() or _TERMINAL.get():
        return f"{{ {', '.join(f'{_key(name)} = {said}' for name, said in words.items())} }}"
    return f"{{{', '.join(f'{valued(name)}: {said}' for name, said in words.items())}}}"


def _key(name: str) -> str:
    """Return a name as a key of TOML."""
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else valued(name)


def in_a_list(section: str) -> str:
    """Return how a table is written that is one of several of its section.

    >>> in_a_list("accuracy")
    'write a list of them, [{...}]'
    >>> with of_a_file():
    ...     in_a_list("accuracy")
    'write each under its own [[accuracy]]'
    """
    if _FILE.get() or _TERMINAL.get():
        return f"write each under its own {setting(section)}"
    return "write a list of them, [{...}]"


COMMANDS = {"keygen": "generate_keys", "ledger show": "Ledger.rows"}
"""The commands whose functions are named otherwise."""


def command(name: str) -> str:
    """Return the name of a command, or of the function that does the same.

    >>> command("keygen"), command("plan")
    ('holdfast.generate_keys', 'holdfast.plan')
    >>> with in_a_terminal():
    ...     command("keygen")
    'holdfast keygen'
    """
    return f"holdfast {name}" if _TERMINAL.get() else f"holdfast.{COMMANDS.get(name, name)}"
