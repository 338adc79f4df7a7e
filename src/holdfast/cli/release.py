"""`holdfast release`."""

from pathlib import Path

from rich.console import Console

from holdfast.certificate.write import refuse_to_overwrite
from holdfast.cli.summary import print_summary
from holdfast.release import prepare
from holdfast.sampling.entropy import SeededEntropy


def run(spec: Path, out: Path, *, parquet: bool, seed: int | None) -> None:
    """Prepare, draw, write, and say what was done."""
    refuse_to_overwrite(out)
    console = Console(highlight=False)
    with console.status("Working out what can be protected ..."):
        prepared = prepare(spec)
    with console.status("Drawing and certifying ..."):
        release = prepared.release(None if seed is None else SeededEntropy(seed))
        folder = release.write(out, parquet=parquet)
    print_summary(release.certificate.content, console)
    for path in sorted(folder.iterdir()):
        console.print(f"Wrote {path}", soft_wrap=True)
