"""`holdfast init`: a commented example that runs as it is."""

from pathlib import Path

from holdfast.cli.reports import print_values
from holdfast.cli.terminal import terminal
from holdfast.spec.example import write_example


def run(folder: Path, *, full: bool, as_json: bool) -> None:
    """Write the example files, none of which may exist."""
    spec, *tables = write_example(folder, full=full)
    if as_json:
        print_values(spec=spec, files=[str(path) for path in (spec, *tables)])
        return
    console = terminal()
    console.print(f"Wrote {spec} and its {_tables(tables)}.", soft_wrap=True)
    console.print(f"Next: holdfast release {spec} --out release", soft_wrap=True)


def _tables(paths: list[Path]) -> str:
    names = " and ".join(map(str, paths))
    return f"table {names}" if len(paths) == 1 else f"tables {names}"
