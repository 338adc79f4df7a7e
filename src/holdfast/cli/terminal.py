"""Where the commands print."""

from rich.console import Console


def terminal() -> Console:
    """Return the console on standard output; names from a spec are printed as they are."""
    return Console(highlight=False, markup=False, emoji=False)
