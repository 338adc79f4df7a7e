"""Release cases and deaths of Pennsylvania by what is public of them, and infer rates from the releases.

    python -m studies.partially_private.run [--quick] [--part NAME ...] [--output FOLDER] [--data FOLDER]

Exit codes: 0 all numbers are as expected, 1 some are not, 2 the call is wrong.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from studies.command import DATA, Part, bar, run
from studies.partially_private import dependence, power, rates, synthesis

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"
REAL: dict[str, Any] = {"synthesis": synthesis, "rates": rates}
"""Parts by the name of their module that have a file, and a stand-in for it."""
COMPUTED: dict[str, Any] = {"dependence": dependence, "power": power}
"""Parts that need no file."""
STAND_IN = "_stand_in"
"""What is added to the name of a part where its file is missing."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that were asked for and compare them with expected.json."""
    options = _parser().parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    size = "quick" if options.quick else "full"
    return run(_asked(options, console), expected=EXPECTED, output=options.output, size=size, console=console)


def _asked(options: argparse.Namespace, console: Console) -> Iterator[Part]:
    """Yield the parts to run."""
    asked = options.part or [*REAL, *COMPUTED]
    for name, part in REAL.items():
        size = part.QUICK if options.quick else part.FULL
        missing = name in asked and not (options.data / part.FILE).is_file()
        if missing:
            console.print(
                f"\nThere is no {part.FILE} in {options.data}: a stand-in runs instead. Give its folder by"
                " --data.",
                markup=False,
            )
        elif name in asked:
            yield Part(name, part.TITLE, partial(part.study, part.read(options.data), size, bar))
        if missing or name + STAND_IN in asked:
            told = name + STAND_IN
            yield Part(told, part.STAND_IN, partial(part.study, part.invented(), size, bar, name=told))
    for name, part in COMPUTED.items():
        if name in asked:
            size = part.QUICK if options.quick else part.FULL
            yield Part(name, part.TITLE, partial(part.study, size, bar))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="studies.partially_private.run", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="one month and few draws: about a minute")
    parser.add_argument(
        "--part",
        nargs="+",
        action="extend",
        choices=(*REAL, *COMPUTED, *(name + STAND_IN for name in REAL)),
        help="run these parts only; a stand-in runs by itself where the file is missing",
    )
    parser.add_argument("--output", type=Path, default=HERE / "output", help="where pictures and numbers go")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the real file")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
