"""`holdfast init`: a commented example that runs as it is."""

from pathlib import Path

from holdfast.cli.terminal import terminal
from holdfast.spec.example import write_example


def run(folder: Path) -> None:
    """Write the example files, none of which may exist."""
    spec, table = write_example(folder)
    console = terminal()
    console.print(f"Wrote {spec} and its table {table}.", soft_wrap=True)
    console.print(f"Next: holdfast release {spec} --out release", soft_wrap=True)
