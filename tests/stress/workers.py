"""Many inputs to library functions, in a process a core: memory is limited, and an alarm ends what hangs.

What an input may take is counted in seconds of a processor, so that a busy machine raises no alarm.
"""

import importlib
import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.stress.trial import CORES, Outcome, Setting

from holdfast.registry import find, names
from holdfast.system.errors import HoldfastError

SECONDS = 20
"""An input that takes a processor longer hangs."""
WAITING = 300
"""An input that waits longer hangs, by the clock."""
STUCK = 600
"""A job without an answer after so many seconds is stuck where no alarm is heard."""
MEMORY = 2 << 30
CHUNK = 20


class HungError(BaseException):
    """The alarm went off; no handler of errors may take it for one."""


@dataclass(frozen=True)
class Bench:
    """Where one input is tried: material that is only read, an empty folder, and a source of chance."""

    material: Path
    folder: Path
    chance: Random


Attempt = Callable[[Bench], str | None]
"""Tries one input; returns what did not hold. A HoldfastError of one line is an answer like any other."""


@dataclass(frozen=True)
class Job:
    """Some inputs of one kind, by number."""

    attempt: Attempt
    seed: str
    numbers: Sequence[int]
    material: Path
    kept: Path


def inputs(setting: Setting, attempts: Sequence[Attempt], material: Path) -> Outcome:
    """Try so many inputs in all, in worker processes; keep those that violate."""
    kept = setting.folder / "violations"
    seed = f"{setting.chance.random()}"
    jobs = [
        Job(
            attempts[part % len(attempts)],
            f"{seed}/{part}",
            range(start, min(start + CHUNK, setting.times)),
            material,
            kept,
        )
        for part, start in enumerate(range(0, setting.times, CHUNK))
    ]
    outcome = Outcome()
    alone = []  # where a worker died: which job it had is seen when each has workers of its own
    for job, found in answers(jobs):
        outcome.tried += len(job.numbers)
        if found is None:
            alone.append(job)
        outcome.violations += found or []
    for job in alone:
        for _, found in answers([job]):
            died = [f"{job.attempt.__name__} {job.seed}: its process ended, or hears no alarm"]
            outcome.violations += died if found is None else found
    return outcome


def answers(jobs: list[Job]) -> Iterator[tuple[Job, list[str] | None]]:
    """Yield each job with what did not hold, None where its workers were lost."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(CORES, len(jobs)), spawn, _limit) as pool:
        waiting = [(job, pool.submit(work, job)) for job in jobs]
        for job, answer in waiting:
            try:
                yield job, answer.result(STUCK)
            except (BrokenExecutor, TimeoutError):
                for process in list(pool._processes.values()):
                    process.kill()
                yield job, None


def _limit() -> None:
    """Leave a worker so much more memory than it has, and no voice.

    What is loaded late is loaded first: a library that finds no room is no fault of an input.
    """
    import resource

    for name in ("releases.prepare", "estimation.conforming", "ledger.verify", "verification.verify", "laws"):
        importlib.import_module(f"holdfast.{name}")
    for name in names():
        find(name)
    size = Path("/proc/self/statm")
    if size.exists():
        used = int(size.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY,) * 2)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 2)  # what a panic of another library says of itself
    for late in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(late, _hung)


def _hung(*_: object) -> None:
    raise HungError


def work(job: Job) -> list[str]:
    """Try the inputs of a job, and return what did not hold."""
    found = []
    for number in job.numbers:
        folder = Path(tempfile.mkdtemp(prefix="input-"))
        try:
            wrong = _tried(job.attempt, Bench(job.material, folder, Random(f"{job.seed}/{number}")))
            if wrong is not None:
                saved = job.kept / f"{job.attempt.__name__}-{number}"
                shutil.copytree(folder, saved, symlinks=True, dirs_exist_ok=True, ignore=_pipes)
                found.append(f"{job.attempt.__name__} {number}: {wrong} [input: {saved}]")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return found


def _pipes(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_fifo()]


def _tried(attempt: Attempt, bench: Bench) -> str | None:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(WAITING)
    try:
        return attempt(bench)
    except HoldfastError as error:
        lines = str(error).splitlines()
        return None if len(lines) == 1 else f"not one sentence: {error!r}"
    except HungError:
        return f"longer than {SECONDS} s of a processor, or {WAITING} s in all"
    except BaseException as error:
        return f"{type(error).__module__}.{type(error).__name__}: {str(error)[:200]!r} at {_where(error)}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def _where(error: BaseException) -> str:
    import traceback

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "holdfast" in frame.filename]
    return ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-2:])
