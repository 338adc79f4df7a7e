"""Make the paper's numbers and pictures again.

    python -m studies.congenial_dp.run [--quick] [--parts 1 2 3 4 5] [--output FOLDER] [--data FOLDER]

Exit codes: 0 all numbers are as expected, 1 some are not, 2 the call is wrong.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from studies.command import DATA, Part, bar, run
from studies.congenial_dp import california, density, distances, sampler, table_1, two_bins

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"
SIMULATED: dict[str, tuple[int, Any]] = {
    "table_1": (1, table_1),
    "sampler": (2, sampler),
    "distances": (2, distances),
    "two_bins": (3, two_bins),
    "density": (4, density),
}
"""Parts by the name of their module, with the number that --parts takes."""
REAL = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that were asked for and compare them with expected.json."""
    options = _parser().parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    size = "quick" if options.quick else "full"
    return run(_asked(options, console), expected=EXPECTED, output=options.output, size=size, console=console)


def _asked(options: argparse.Namespace, console: Console) -> Iterator[Part]:
    """Yield the parts to run."""
    for name, (number, part) in SIMULATED.items():
        if number in options.parts:
            size = part.QUICK if options.quick else part.FULL
            yield Part(name, part.TITLE, partial(part.study, size, bar))
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
    yield Part("california", california.TITLE, partial(california.study, options.data, real_size, bar))


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
    parser.add_argument("--output", type=Path, default=HERE / "output", help="where pictures and numbers go")
    parser.add_argument("--data", type=Path, default=DATA, help=f"the folder that holds {california.FILE}")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
