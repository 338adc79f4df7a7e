"""What machines and people do to files, tried: python -m tests.stress [--short] [--seed N] [--only NAME].

Prints a table of what was tried and what held, and exits with 1 if anything did not. With
HOLDFAST_REQUIRE_ALL=1 a trial that is skipped for want of strace fails too.
"""

import argparse
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.stress.nursery import Nursery
from tests.stress.trial import MissingError, Outcome, Setting, SkippedError, Trial

KINDS = ("places", "races", "kills", "faults", "power", "tampering", "fuzz")
SHOWN = 10


@dataclass(frozen=True)
class Line:
    """A trial and what came of it."""

    trial: Trial
    outcome: Outcome
    seconds: float
    skipped: SkippedError | None = None

    @property
    def failed(self) -> bool:
        """Whether anything did not hold, or nothing was tried that could have been."""
        if self.skipped is not None:
            return isinstance(self.skipped, MissingError) and os.environ.get("HOLDFAST_REQUIRE_ALL") == "1"
        return bool(self.outcome.violations) or not self.outcome.tried


def main() -> None:
    """Run the trials, print the table and exit."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress", description=__doc__)
    parser.add_argument("--short", action="store_true", help="the part that runs with every test")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="trials whose kind or name has this in it")
    parser.add_argument("--times", type=int, help="try each so many times")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    options = parser.parse_args()
    os.environ |= {
        "HOLDFAST_PROGRESS": "never",
        "MALLOC_ARENA_MAX": "2",
        "OPENBLAS_NUM_THREADS": "1",
        "POLARS_MAX_THREADS": "1",
    }  # workers have a core each, and their threads share what memory they ask for
    chosen = [trial for trial in trials() if (options.only or "") in f"{trial.kind}: {trial.name}"]
    folder = Path(tempfile.mkdtemp(prefix="holdfast-stress-"))
    lines = list(run(chosen, folder, options))
    if options.json:
        print(json.dumps([as_dict(line) for line in lines], indent=2))
    else:
        print_table(lines)
    wrong = [line for line in lines if line.failed]
    for line in wrong:
        print_violations(line, options.seed)
    if wrong:
        print(f"What was left is in {folder}.", file=sys.stderr)
    else:
        shutil.rmtree(folder)
    sys.exit(1 if wrong or not lines else 0)


def trials() -> list[Trial]:
    """Return all trials, kind by kind."""
    return [trial for kind in KINDS for trial in importlib.import_module(f"tests.stress.{kind}").TRIALS]


def run(chosen: list[Trial], folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Run trials one after the other; each uses all cores."""
    logs = folder / "logs"
    logs.mkdir()
    with Nursery(logs) as nursery:
        for number, trial in enumerate(chosen):
            room = folder / f"{number}-{trial.kind}"
            room.mkdir()
            times = options.times or (trial.short if options.short else trial.full)
            chance = Random(f"{options.seed}/{trial.kind}/{trial.name}")
            started = time.monotonic()
            try:
                line = Line(
                    trial, trial.run(Setting(room, chance, times, nursery)), time.monotonic() - started
                )
            except SkippedError as error:
                line = Line(trial, Outcome(), time.monotonic() - started, error)
            except Exception as error:  # a trial that breaks off found something that it did not expect
                broken = Outcome(1, [f"it broke off with {type(error).__name__}: {error}"])
                line = Line(trial, broken, time.monotonic() - started)
            if sys.stderr.isatty():
                print(shown(line), file=sys.stderr)
            if not line.failed:
                shutil.rmtree(room, ignore_errors=True)
            yield line


def print_table(lines: list[Line]) -> None:
    """Print a row a trial, and the sums."""
    print(f"{'kind':<10} {'what':<44} {'tried':>6} {'held':>6} {'seconds':>8}")
    for line in lines:
        print(shown(line))
    tried, held = (sum(getattr(line.outcome, name) for line in lines) for name in ("tried", "held"))
    print(f"{'all':<10} {'':<44} {tried:>6,} {held:>6,} {sum(line.seconds for line in lines):>8.1f}")


def shown(line: Line) -> str:
    """Return the row of a trial."""
    begin = f"{line.trial.kind:<10} {line.trial.name:<44}"
    if line.skipped:
        return f"{begin} skipped: {line.skipped}"
    note = f"  ({line.outcome.note})" if line.outcome.note else ""
    return f"{begin} {line.outcome.tried:>6,} {line.outcome.held:>6,} {line.seconds:>8.1f}{note}"


def print_violations(line: Line, seed: int) -> None:
    """Say what did not hold, and how to see it again."""
    begin = f"{line.trial.kind}: {line.trial.name}"
    if line.skipped:
        print(f"REQUIRED {begin} was skipped: {line.skipped}", file=sys.stderr)
    for violation in line.outcome.violations[:SHOWN]:
        print(f"VIOLATED {begin}, {violation}", file=sys.stderr)
    if (more := len(line.outcome.violations) - SHOWN) > 0:
        print(f"and {more} more", file=sys.stderr)
    print(f"again: python -m tests.stress --seed {seed} --only '{begin}'", file=sys.stderr)


def as_dict(line: Line) -> dict[str, object]:
    """Return plain values by name."""
    return {
        "kind": line.trial.kind,
        "what": line.trial.name,
        "tried": line.outcome.tried,
        "held": line.outcome.held,
        "seconds": round(line.seconds, 1),
        "skipped": str(line.skipped or ""),
        "note": line.outcome.note,
        "violations": line.outcome.violations,
    }


if __name__ == "__main__":
    main()
