"""Where the commands print."""

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

import typer

from holdfast.cli.arguments import QUIET
from holdfast.system.text import visible

if TYPE_CHECKING:
    from rich.console import Console

UNBOUNDED = 1 << 20
"""Columns where nobody looks: what reads a pipe or a file cuts lines itself."""


class Report(Protocol):
    """What a library function returns to a command."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        ...


def terminal(*, silent: bool = False) -> "Console":
    """Return the console on standard output; names from a spec are shown, never obeyed."""
    from holdfast.cli.console import Terminal

    console = Terminal(highlight=False, markup=False, emoji=False, quiet=silent or QUIET.get())
    if not console.is_terminal:
        console.width = UNBOUNDED
    return console


def warn(sentence: str) -> None:
    """Tell what the user should know, beside the result, in one line."""
    sys.stderr.write(f"warning: {visible(sentence)}\n")


def warn_each(sentences: Iterable[str]) -> None:
    """Tell each of some sentences."""
    for sentence in sentences:
        warn(sentence)


def json_of(report: Report) -> str:
    """Return a report for machines."""
    return json.dumps(report.to_dict(), indent=2)


def print_json(report: Report) -> None:
    """Print a report for machines."""
    typer.echo(json_of(report))
