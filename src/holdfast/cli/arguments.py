"""Arguments that commands share: each is declared once, with its help and the parser of its words."""

import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.system.errors import SpecError

if TYPE_CHECKING:
    from holdfast.privacy.intensity import Intensity

QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
"""Whether a command is to print nothing but warnings, errors and what machines read."""
SEVERAL = {"--geography": None, "--within": None, "--difference": 2, "--ratio": 2, "--keep": 1_000}
"""Options that take several words, any number or so many, which the parser takes one at a time.

Of many no last word is a folder."""
_DIGITS = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def be_quiet(wanted: bool) -> None:
    """Take the option --quiet."""
    QUIET.set(wanted)


def whole(least: int, most: int) -> Callable[[str | int], int]:
    """Return the parser of an option that takes whole numbers within bounds, in digits.

    >>> whole(0, 100)("12")
    12
    """

    def parse(given: str | int) -> int:
        text = str(given)
        if not _DIGITS.fullmatch(text):
            shown = text if len(text) <= 40 else f"{text[:18]}...{text[-18:]}"
            raise typer.BadParameter(f"{shown!r} is not a whole number in digits.")
        if not least <= int(text) <= most:
            raise typer.BadParameter(f"{text} is not in the range from {least:,} to {most:,}.")
        return int(text)

    return parse


SEED, DRAWS, RECORDS, ROW = whole(0, 2**63 - 1), whole(0, 10**7), whole(1, 2**53), whole(1, 2**53)
JOBS = whole(1, 10**4)
SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a TOML file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", callback=be_quiet, help="Print no words and no progress: warnings and errors only."
    ),
]
"""Taken by its callback: commands need not look at it."""
ReportFile = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the JSON to this new .json file.")
]
RowsFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write all rows to a new .csv, .parquet or .json."),
]
NoProtection = Annotated[
    bool,
    typer.Option(
        "--accept-no-protection", help="Release even if the guarantee is no protection to speak of."
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Take doubts about the data for errors.")]
ReleaseFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release.")]
LedgerFile = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger, an SQLite file.")]
TableName = Annotated[str | None, typer.Option(metavar="NAME", help="Which table, of a release of several.")]
ReleaseSeed = Annotated[
    int | None,
    typer.Option(
        parser=SEED, metavar="N", help="For tests and studies only: what is drawn with it is NOT private."
    ),
]
SimulationSeed = Annotated[int, typer.Option(parser=SEED, metavar="N", help="The seed of the simulation.")]
ChargedLedger = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Charge what is released to this ledger first.")
]


def drawing(what: str = "it") -> Any:
    """Return the option that draws something to a file."""
    return typer.Option(metavar="FILE", help=f"Draw {what} to this .png, .svg or .pdf file.")


def number(option: str, text: str) -> Fraction:
    """Return a positive number from an option."""
    from holdfast.spec.values import LARGEST, SMALLEST, parse_rational, short

    try:
        value = parse_rational(text)
    except ValueError:
        raise SpecError(f"{option} is {short(text)!r}: give a number such as 1, 1/2 or 1e-10.") from None
    if value <= 0:
        raise SpecError(f"{option} is {short(text)}: give a positive number.")
    if not SMALLEST <= value <= LARGEST:
        raise SpecError(f"{option} is {short(text)}, out of reach: give a number from 1e-300 to 1e300.")
    return value


def optional(option: str, text: str | None) -> Fraction | None:
    """Return a positive number from an option that may be left out."""
    return None if text is None else number(option, text)


def positive_float(option: str, text: str) -> float:
    """Return a positive number from an option as a float."""
    return float(number(option, text))


def intensity_of(
    *, epsilon: Fraction | None, delta: Fraction | None, rho: Fraction | None, mu: Fraction | None
) -> "tuple[Intensity, Fraction | None]":
    """Return the one intensity that was given, and the delta to read it at."""
    from holdfast.privacy.intensity import Approximate, GaussianDP, Pure, ZeroConcentrated

    if sum(value is not None for value in (epsilon, rho, mu)) != 1:
        raise SpecError("give exactly one of --epsilon, --rho and --mu (and --delta where it is needed).")
    if rho is not None:
        return ZeroConcentrated(rho), delta
    if mu is not None:
        return GaussianDP(mu), delta
    if epsilon is None:
        raise AssertionError("one of the three is given")
    return (Pure(epsilon), None) if delta is None else (Approximate(epsilon, delta), delta)


def one_by_one(arguments: Sequence[str]) -> list[str]:
    """Return arguments in which each word of such an option has the option before it.

    The folder of the command comes first; where it does not, it is the last word.

    >>> one_by_one(["intervals", "DIR", "--geography", "44001", "44003", "--json"])
    ['intervals', 'DIR', '--geography', '44001', '--geography', '44003', '--json']
    >>> one_by_one(["intervals", "--ratio", "sex=f", "total", "DIR", "--json"])
    ['intervals', '--ratio', 'sex=f', '--ratio', 'total', 'DIR', '--json']
    """
    found: list[str] = []
    option, rest, told = None, list(arguments), 0
    folder_first = len(arguments) > 1 and not arguments[1].startswith("-")
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            option = word if word in SEVERAL else None
            found.append(word)
            told = 0
            continue
        most = None if option is None else SEVERAL[option]
        last = most is None and not rest and not folder_first
        if option is None or not told or told == most or last:
            found.append(word)
        else:
            found += [option, word]
        told += 1
    return found
