"""Where the commands print."""

import errno
import json
import os
import sys
from typing import Any, Protocol

import typer
from rich.console import Console
from rich.text import Text

from holdfast.visible import visible


class Report(Protocol):
    """What a library function returns to a command."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        ...


class Terminal(Console):
    """A console that shows what would steer it: every text is one line of what can be seen.

    Lines are printed one by one. Styles and frames are rich's own; no text brings any along.
    """

    def render_str(self, text: str, **how: Any) -> Text:
        """Return the text as it will be shown; rich passes every plain text through here."""
        return super().render_str(visible(text), **how)

    def on_broken_pipe(self) -> None:
        """Leave the end to `main`; rich would exit with 1, which means violated."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def terminal() -> Console:
    """Return the console on standard output; names from a spec are shown, never obeyed."""
    return Terminal(highlight=False, markup=False, emoji=False)


def warn(sentence: str) -> None:
    """Tell what the user should know, beside the result, in one line."""
    sys.stderr.write(f"warning: {visible(sentence)}\n")


def print_json(report: Report) -> None:
    """Print a report for machines."""
    typer.echo(json.dumps(report.to_dict(), indent=2))
