"""Where the commands print."""

import errno
import json
import os
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.cli.arguments import QUIET
from holdfast.progress import doing
from holdfast.visible import visible

UNBOUNDED = 1 << 20
"""Columns where nobody looks: what reads a pipe or a file cuts lines itself."""


class Report(Protocol):
    """What a library function returns to a command."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        ...


class Terminal(Console):
    """A console that shows what would steer it: every text is one line of what can be seen.

    Lines are printed one by one. Styles and frames are rich's own; no text brings any along. Where no
    terminal is, tables are aligned columns without frames, and no line is broken or cut.
    """

    def render_str(self, text: str, **how: Any) -> Text:
        """Return the text as it will be shown; rich passes every plain text through here."""
        return super().render_str(visible(text), **how)

    def print(self, *objects: Any, **how: Any) -> None:
        """Print, tables as the place asks for."""
        if not self.is_terminal and len(objects) == 1 and isinstance(objects[0], Table):
            self._print_plain(objects[0])
        else:
            super().print(*objects, **how)

    def _print_plain(self, table: Table) -> None:
        if table.title is not None:
            super().print(table.title)
            table.title = None
        table.box, table.pad_edge = None, False
        with self.capture() as captured:
            super().print(table)
        for line in captured.get().splitlines():
            super().out(line.rstrip(), highlight=False)

    def status(self, status: Any, **_: Any) -> AbstractContextManager[None]:  # type: ignore[override]
        """Let what is being done be seen as all progress is, on standard error."""
        return doing(str(status).removesuffix(" ..."))

    def on_broken_pipe(self) -> None:
        """Leave the end to `main`; rich would exit with 1, which means violated."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def terminal(*, silent: bool = False) -> Console:
    """Return the console on standard output; names from a spec are shown, never obeyed."""
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
