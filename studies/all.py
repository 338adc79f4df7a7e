"""Run all studies, two at a time, and write the report: python -m studies.all [--quick] [--data DIR].

Exit code 0: all numbers are as expected, and what is printed was found or is explained; 1: something is not.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from studies import report
from studies.command import DATA

PARTS = {
    "partially_private": 5,
    "integer_subspace": 6,
    "congenial_dp": 5,
    "topdown": 4,
    "swapping": 4,
    "semi_dp": 5,
}
"""How many parts each study has, those that take longest first."""
DONE = " numbers"
"""What a study says at the end of a part."""


def run(study: str, options: Sequence[str], bar: Progress) -> tuple[int, list[str]]:
    """Run a study, and move its bar by a part at a time; return its exit code and what it said."""
    task = bar.add_task(study, total=PARTS[study])
    command = [sys.executable, "-u", "-m", f"studies.{study}.run", *options]
    said: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:  # noqa: S603
        assert child.stdout is not None
        for line in child.stdout:
            said.append(line.rstrip())
            if DONE in line and line.strip()[:1].isdigit():
                bar.advance(task)
    bar.update(task, completed=PARTS[study])
    return child.returncode, said


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them all."""
    parser = argparse.ArgumentParser(prog="studies.all", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer draws: a few minutes")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--jobs", type=int, default=2, help="how many studies run at once")
    asked = parser.parse_args(arguments)
    options = ["--data", str(asked.data), *(["--quick"] if asked.quick else [])]
    console = Console(highlight=False, soft_wrap=True)
    columns = (TextColumn("{task.description:<18}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar, ThreadPoolExecutor(asked.jobs) as pool:
        ended = dict(zip(PARTS, pool.map(lambda study: run(study, options, bar), PARTS), strict=True))
    for study, (code, said) in ended.items():
        told = [line for line in said if "OFF " in line or "no " in line[:12]] if code else []
        console.print(f"{study}: {'as expected' if code == 0 else f'exit code {code}'}", markup=False)
        for line in told or (said[-5:] if code else []):
            console.print(f"  {line}", markup=False)
    wrong = report.main()
    return 1 if wrong or any(code for code, _ in ended.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
