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

from studies.command import DATA, STAND_IN, Part, bar, run, with_stand_ins
from studies.partially_private import asymptotics, dependence, power, rates, synthesis

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"
REAL: dict[str, Any] = {"synthesis": synthesis, "rates": rates}
"""Parts by the name of their module that have a file, and a stand-in for it."""
COMPUTED: dict[str, Any] = {"dependence": dependence, "power": power, "asymptotics": asymptotics}
"""Parts that need no file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that were asked for and compare them with expected.json."""
    options = _parser().parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    size = "quick" if options.quick else "full"
    return run(_asked(options, console), expected=EXPECTED, output=options.output, size=size, console=console)


def _asked(options: argparse.Namespace, console: Console) -> Iterator[Part]:
    """Yield the parts to run."""
    asked = options.part or [*REAL, *COMPUTED]
    yield from with_stand_ins(REAL, asked, options, console)
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
