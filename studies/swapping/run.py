"""Make the slides' numbers and pictures again, and the same on real households and persons.

    python -m studies.swapping.run [--quick] [--part NAME ...] [--output FOLDER] [--data FOLDER]

Exit codes: 0 all numbers are as expected, 1 some are not, 2 the call is wrong.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from studies.command import DATA, Part, bar, run
from studies.swapping import conversion, cps, massachusetts, rhode_island, what_if

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"
REAL: dict[str, Any] = {"massachusetts": massachusetts, "cps": cps, "rhode_island": rhode_island}
"""Parts that need a file, by the name of their module."""
STAND_IN = "stand_in"
PARTS = ("conversion", "what_if", *REAL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that were asked for and compare them with expected.json."""
    options = _parser().parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    size = "quick" if options.quick else "full"
    return run(_asked(options, console), expected=EXPECTED, output=options.output, size=size, console=console)


def _asked(options: argparse.Namespace, console: Console) -> Iterator[Part]:
    """Yield the parts to run."""
    asked = set(options.part or PARTS)
    if "conversion" in asked:
        points = conversion.QUICK if options.quick else conversion.FULL
        yield Part("conversion", conversion.TITLE, partial(conversion.study, points, bar))
    if "what_if" in asked:
        curve = what_if.QUICK if options.quick else what_if.FULL
        yield Part("what_if", what_if.TITLE, partial(what_if.study, curve, bar))
    for name, part in REAL.items():
        if name not in asked:
            continue
        size = part.QUICK if options.quick else part.FULL
        if (options.data / part.FILE).is_file():
            source = massachusetts.read(options.data) if part is massachusetts else options.data
            yield Part(name, part.TITLE, partial(part.study, source, size, bar))
            continue
        instead = " A stand-in runs instead." if part is massachusetts else ""
        console.print(
            f"\nSkipped: {part.TITLE}. There is no {part.FILE} in {options.data}: give its folder by"
            f" --data.{instead}",
            markup=False,
        )
        if part is massachusetts:
            asked.add(STAND_IN)
    if STAND_IN in asked:
        size = massachusetts.QUICK if options.quick else massachusetts.FULL
        counties = massachusetts.invented()
        yield Part(
            STAND_IN, massachusetts.STAND_IN, partial(massachusetts.study, counties, size, bar, name=STAND_IN)
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="studies.swapping.run", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs: under a minute")
    parser.add_argument(
        "--part",
        nargs="+",
        action="extend",
        choices=(*PARTS, STAND_IN),
        help=f"run these parts only; {STAND_IN} runs by itself where Massachusetts is missing",
    )
    parser.add_argument("--output", type=Path, default=HERE / "output", help="where pictures and numbers go")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the real files")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
