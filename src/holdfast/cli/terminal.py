"""Where the commands print."""

import json
from typing import Any, Protocol

import typer
from rich.console import Console


class Report(Protocol):
    """What a library function returns to a command."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        ...


def terminal() -> Console:
    """Return the console on standard output; names from a spec are printed as they are."""
    return Console(highlight=False, markup=False, emoji=False)


def print_json(report: Report) -> None:
    """Print a report for machines."""
    typer.echo(json.dumps(report.to_dict(), indent=2))
