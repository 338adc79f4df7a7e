"""What the commands of studies share: parts are run, drawn, written down and compared with expected.json."""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from matplotlib import rc_context
from rich.console import Console
from rich.progress import track

from studies.expected import violations
from studies.outcome import Outcome
from studies.picture import STYLE

DATA = Path(__file__).parents[2] / "shared" / "data"
"""Where real tables are looked for: beside the project."""
STAND_IN = "_stand_in"
"""What is added to the name of a part where its file is missing."""

T = TypeVar("T")


class Part(NamedTuple):
    """A part that was asked for: its name in expected.json, what it is, and how it is made."""

    name: str
    title: str
    study: Callable[[], Outcome]


def with_stand_ins(
    modules: Mapping[str, Any], asked: Sequence[str], options: argparse.Namespace, console: Console
) -> Iterator[Part]:
    """Yield the parts among modules that were asked for; a stand-in where the file of one is missing."""
    for name, part in modules.items():
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


def run(parts: Iterable[Part], *, expected: Path, output: Path, size: str, console: Console) -> int:
    """Run parts, write their pictures and numbers.json; 1 where a number is not as expected, else 0."""
    output.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for part in parts:
        console.print(f"\n[bold]{part.title}[/bold]")
        started = time.perf_counter()
        with rc_context(STYLE):
            outcome = part.study()
        for picture, figure in outcome.pictures.items():
            figure.savefig(output / f"{picture}.png")
        for line in outcome.lines:
            console.print(f"  {line}", markup=False)
        off = violations(expected, part.name, outcome.numbers, size)
        verdict = "all as expected" if not off else f"{len(off)} not as expected"
        pictures = ", ".join(f"{picture}.png" for picture in outcome.pictures)
        console.print(
            f"  {len(outcome.numbers)} numbers, {verdict}; {pictures}; {time.perf_counter() - started:.1f} s."
        )
        for line in off:
            console.print(f"  OFF {line}", markup=False)
        wrong += off
        found[part.name] = {
            "numbers": {k: asdict(n) for k, n in outcome.numbers.items()},
            "speeds": outcome.speeds,
        }
    text = json.dumps({"size": size, "parts": found}, indent=1)
    (output / "numbers.json").write_text(text + "\n", encoding="utf-8")
    console.print(f"\nPictures and numbers.json are in {output}.", markup=False)
    return 1 if wrong else 0


def bar(things: Iterable[T], what: str) -> Iterator[T]:
    """Run through a list and show how far it has come."""
    listed = things if isinstance(things, Sequence) else list(things)
    yield from track(listed, description=f"  {what}", update_period=0.2)
