"""Run the study: python -m studies.semi_dp.run [--quick] [--output FOLDER] [--data FOLDER] [--part NAME].

Exit code 0: all numbers are within their tolerances of `expected.json`; 1: some are not.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from studies.semi_dp import data, figure_2, figure_3, pictures, power, real_costs, real_tests
from studies.semi_dp.numbers import Number, discrepancies, read_expected, write

SEED = 7
OUTPUT = Path(__file__).with_name("output")
SLOW = "Occupation: father x son"
"""An 8 x 8 table, left out where it has to be quick."""


@dataclass(frozen=True)
class Effort:
    """How much is simulated: replicates as in the paper, and draws for the mean behind them."""

    replicates: int
    draws: int
    tests: int
    real_draws: int
    slow: bool


FULL = Effort(replicates=30, draws=1_000, tests=10_000, real_draws=60, slow=True)
QUICK = Effort(replicates=10, draws=120, tests=1_000, real_draws=20, slow=False)


@dataclass(frozen=True)
class Part:
    """One part of the study: what it does, in how many steps, and the picture of its numbers."""

    name: str
    says: str
    steps: int
    run: Callable[[Callable[[], None]], Iterator[Number]]
    draw: Callable[[Sequence[Number], Path], None]


def parts(effort: Effort, seed: int, folder: Path, console: Console) -> Iterator[Part]:
    """Return the parts that can run; real tables only where they are."""
    yield Part(
        figure_2.PART,
        f"Gaussian mechanisms, k = 2 to 10, models I and II, {effort.replicates} replicates",
        2 * len(figure_2.SIZES),
        lambda advance: figure_2.run(seed, effort.replicates, effort.draws, advance),
        pictures.draw_figure_2,
    )
    yield Part(
        figure_3.PART,
        f"K-norm mechanisms, k = 2 and 3, models I and II, {effort.replicates} replicates",
        2 * len(figure_3.SIZES) * len(figure_3.EPSILONS),
        lambda advance: figure_3.run(seed, effort.replicates, effort.draws, advance),
        pictures.draw_figure_3,
    )
    yield Part(
        power.PART,
        f"power of tests of an odds ratio, by summation and {effort.tests:,} simulated tests",
        len(power.DESIGNS) * len(figure_3.EPSILONS),
        lambda advance: power.run(seed, effort.tests, advance),
        pictures.draw_power,
    )
    absent = data.missing(folder)
    if absent:
        console.print(
            f"real tables: skipped, {folder} has no {' and no '.join(absent)}: give --data FOLDER",
            soft_wrap=True,
        )
        return
    tables = data.two_way_tables(folder)
    if not effort.slow:
        del tables[SLOW]
    yield Part(
        real_costs.PART,
        f"the same mechanisms on {len(tables)} real tables",
        len(tables),
        lambda advance: real_costs.run(tables, seed, effort.replicates, effort.real_draws, advance),
        pictures.draw_real_costs,
    )
    pairs = data.two_by_two_tables(folder)
    yield Part(
        real_tests.PART,
        f"the same tests on {len(pairs)} real tables",
        len(pairs),
        lambda advance: real_tests.run(pairs, advance),
        pictures.draw_real_tests,
    )


def study(
    effort: Effort, *, seed: int, output: Path, folder: Path, only: Sequence[str], console: Console
) -> list[Number]:
    """Run the parts, draw their pictures, write and return their numbers."""
    output.mkdir(parents=True, exist_ok=True)
    numbers: list[Number] = []
    for part in parts(effort, seed, folder, console):
        if only and part.name not in only:
            continue
        found = _with_progress(part, console)
        picture = output / f"{part.name.replace(' ', '_')}.png"
        with pictures.style():
            part.draw(found, picture)
        console.print(f"  {len(found)} numbers; {picture}", soft_wrap=True)
        numbers += found
    write(numbers, output / "numbers.json")
    return numbers


def _with_progress(part: Part, console: Console) -> list[Number]:
    console.print(f"[bold]{part.name}[/bold]: {part.says}")
    columns = (TextColumn(" "), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=part.steps)
        return list(part.run(lambda: progress.advance(task)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="studies.semi_dp.run", description="The figures of semi-dp.")
    parser.add_argument("--quick", action="store_true", help="fewer replicates and draws; under 40 seconds")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where pictures and numbers.json go")
    parser.add_argument("--data", type=Path, default=data.DEFAULT, help="the folder of the real tables")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--part", action="append", default=[], help="run this part only; may be repeated")
    given = parser.parse_args(arguments)
    console = Console()
    numbers = study(
        QUICK if given.quick else FULL,
        seed=given.seed,
        output=given.output,
        folder=given.data,
        only=given.part,
        console=console,
    )
    wrong = discrepancies(numbers, read_expected())
    for sentence in wrong:
        console.print(f"not as expected: {sentence}", soft_wrap=True)
    if not wrong:
        console.print("all numbers are as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
