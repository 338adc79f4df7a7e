"""Release real blocks and counties from the top down, and see what non-negative counts are off by.

    python -m studies.topdown.run [--quick] [--part NAME ...] [--output FOLDER] [--data FOLDER]

Exit codes: 0 all numbers are as expected, 1 some are not, 2 the call is wrong.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from threadpoolctl import threadpool_limits

from studies.command import DATA, STAND_IN, run, with_stand_ins
from studies.topdown import cook, coverage, illinois, rhode_island

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"
PARTS: dict[str, Any] = {
    "rhode_island": rhode_island,
    "illinois": illinois,
    "coverage": coverage,
    "cook": cook,
}
"""Parts by the name of their module. Each has a file, and a stand-in for it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that were asked for and compare them with expected.json."""
    options = _parser().parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    size = "quick" if options.quick else "full"
    with threadpool_limits(1):  # matrices are small: threads would only wait for each other
        asked = with_stand_ins(PARTS, options.part or list(PARTS), options, console)
        return run(asked, expected=EXPECTED, output=options.output, size=size, console=console)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="studies.topdown.run", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs: a minute or two")
    parser.add_argument(
        "--part",
        nargs="+",
        action="extend",
        choices=(*PARTS, *(name + STAND_IN for name in PARTS)),
        help="run these parts only; a stand-in runs by itself where the file of its part is missing",
    )
    parser.add_argument("--output", type=Path, default=HERE / "output", help="where pictures and numbers go")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the real files")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
