"""Make the paper's numbers and pictures again, exact laws and draws beside them.

    python -m studies.integer_subspace.run [--quick] [--parts 1 2 3 4 5 6] [--output FOLDER] [--data FOLDER]

Exit codes: 0 all numbers are as expected, 1 some are not, 2 the call is wrong.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from threadpoolctl import threadpool_limits

from studies.command import DATA, Part, bar, run
from studies.integer_subspace import cost, counties, crossing, delinquent, illinois, tails

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"
SIMULATED: dict[str, Any] = {
    "crossing": crossing,
    "delinquent": delinquent,
    "tails": tails,
    "counties": counties,
    "cost": cost,
}
"""Parts by the name of their module; --parts counts them from 1."""
REAL = len(SIMULATED) + 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that were asked for and compare them with expected.json."""
    options = _parser().parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    size = "quick" if options.quick else "full"
    with threadpool_limits(1):  # matrices are small: threads would only wait for each other
        return run(
            _asked(options, console), expected=EXPECTED, output=options.output, size=size, console=console
        )


def _asked(options: argparse.Namespace, console: Console) -> Iterator[Part]:
    """Yield the parts to run."""
    for number, (name, part) in enumerate(SIMULATED.items(), 1):
        if number in options.parts:
            size = part.QUICK if options.quick else part.FULL
            yield Part(name, part.TITLE, partial(part.study, size, bar))
    if REAL not in options.parts:
        return
    if not (options.data / illinois.FILE).is_file():
        console.print(
            f"\nSkipped: {illinois.TITLE}. There is no {illinois.FILE} in {options.data}: give its folder by"
            " --data.",
            markup=False,
        )
        return
    real_size = illinois.QUICK if options.quick else illinois.FULL
    yield Part("illinois", illinois.TITLE, partial(illinois.study, options.data, real_size, bar))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="studies.integer_subspace.run", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer draws: under a minute")
    parser.add_argument(
        "--parts",
        type=int,
        nargs="+",
        choices=range(1, REAL + 1),
        default=list(range(1, REAL + 1)),
        help="1 crossing counts, 2 Table 1 and Figure 1, 3 tail bounds, 4 counties, 5 costs, 6 Illinois",
    )
    parser.add_argument("--output", type=Path, default=HERE / "output", help="where pictures and numbers go")
    parser.add_argument("--data", type=Path, default=DATA, help=f"the folder that holds {illinois.FILE}")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
