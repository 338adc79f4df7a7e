"""`holdfast init`: a commented example that runs as it is."""

from pathlib import Path

from holdfast.cli.terminal import terminal
from holdfast.errors import SpecError
from holdfast.spec.example import EXAMPLE_DATA, EXAMPLE_SPEC

FILES = {"holdfast.toml": EXAMPLE_SPEC, "children.csv": EXAMPLE_DATA}


def run(folder: Path) -> None:
    """Write the example files, none of which may exist."""
    if not folder.is_dir():
        raise SpecError(f"{folder} is not a folder: create it first.")
    for name in FILES:
        if (folder / name).exists():
            raise SpecError(f"{folder / name} exists already: name another folder, nothing is overwritten.")
    try:
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{folder} cannot be written ({error.strerror}): name another folder.") from None
    console = terminal()
    console.print(
        f"Wrote {folder / 'holdfast.toml'} and its table {folder / 'children.csv'}.", soft_wrap=True
    )
    console.print(f"Next: holdfast release {folder / 'holdfast.toml'} --out release", soft_wrap=True)
