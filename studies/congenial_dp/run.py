"""Make the paper's numbers and pictures again.

    python -m studies.congenial_dp.run [--quick] [--parts 1 2 3 4 5] [--output FOLDER] [--data FOLDER]

Exit codes: 0 all numbers are as expected, 1 some are not, 2 the call is wrong.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from matplotlib import rc_context
from rich.console import Console
from rich.progress import track

from studies.congenial_dp import california, density, distances, sampler, table_1, two_bins
from studies.congenial_dp.expected import violations
from studies.congenial_dp.outcome import Outcome
from studies.congenial_dp.picture import STYLE

HERE = Path(__file__).parent
OUTPUT = HERE / "output"
DATA = HERE.parents[2] / "shared" / "data"
SIMULATED: dict[str, tuple[int, Any]] = {
    "table_1": (1, table_1),
    "sampler": (2, sampler),
    "distances": (2, distances),
    "two_bins": (3, two_bins),
    "density": (4, density),
}
"""Parts by the name of their module, with the number that --parts takes."""
REAL = 5

T = TypeVar("T")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that were asked for and compare them with expected.json."""
    options = _parser().parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, soft_wrap=True)
    size = "quick" if options.quick else "full"
    parts: dict[str, Any] = {}
    wrong: list[str] = []
    for name, title, study in _asked(options, console):
        console.print(f"\n[bold]{title}[/bold]")
        started = time.perf_counter()
        with rc_context(STYLE):
            outcome = study()
        for picture, figure in outcome.pictures.items():
            figure.savefig(options.output / f"{picture}.png")
        for line in outcome.lines:
            console.print(f"  {line}", markup=False)
        off = violations(name, outcome.numbers, size)
        verdict = "all as expected" if not off else f"{len(off)} not as expected"
        pictures = ", ".join(f"{picture}.png" for picture in outcome.pictures)
        console.print(
            f"  {len(outcome.numbers)} numbers, {verdict}; {pictures}; {time.perf_counter() - started:.1f} s."
        )
        for line in off:
            console.print(f"  OFF {line}", markup=False)
        wrong += off
        parts[name] = {
            "numbers": {k: asdict(n) for k, n in outcome.numbers.items()},
            "speeds": outcome.speeds,
        }
    text = json.dumps({"size": size, "parts": parts}, indent=1)
    (options.output / "numbers.json").write_text(text + "\n", encoding="utf-8")
    console.print(f"\nPictures and numbers.json are in {options.output}.", markup=False)
    return 1 if wrong else 0


def _asked(options: argparse.Namespace, console: Console) -> Iterator[tuple[str, str, Callable[[], Outcome]]]:
    """Yield the parts to run."""
    for name, (number, part) in SIMULATED.items():
        if number in options.parts:
            size = part.QUICK if options.quick else part.FULL
            yield name, part.TITLE, partial(part.study, size, _bar)
    if REAL not in options.parts:
        return
    if not (options.data / california.FILE).is_file():
        console.print(
            f"\nSkipped: {california.TITLE}. There is no {california.FILE} in {options.data}: give its"
            " folder by --data.",
            markup=False,
        )
        return
    real_size = california.QUICK if options.quick else california.FULL
    yield "california", california.TITLE, partial(california.study, options.data, real_size, _bar)


def _bar(things: Iterable[T], what: str) -> Iterator[T]:
    listed = things if isinstance(things, Sequence) else list(things)
    yield from track(listed, description=f"  {what}", update_period=0.2)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="studies.congenial_dp.run", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer draws: under a minute")
    parser.add_argument(
        "--parts",
        type=int,
        nargs="+",
        choices=range(1, REAL + 1),
        default=list(range(1, REAL + 1)),
        help="1 Table 1, 2 Figures 1-3, 3 Table 2, 4 Equation A.1, 5 California",
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where pictures and numbers go")
    parser.add_argument("--data", type=Path, default=DATA, help=f"the folder that holds {california.FILE}")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
