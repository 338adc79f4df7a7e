"""What a trial is: something tried many times, of which every single time must hold."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from os import cpu_count
from pathlib import Path
from random import Random
from typing import TypeVar

from tests.stress.nursery import Nursery

CORES = cpu_count() or 1
Item = TypeVar("Item")


class SkippedError(Exception):
    """This machine does not permit a trial; says why."""


class MissingError(SkippedError):
    """A tool is missing that could be installed: an error where everything is required."""


@dataclass
class Outcome:
    """How often something was tried, and what did not hold."""

    tried: int = 0
    violations: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def held(self) -> int:
        """How often all was as it should be."""
        return self.tried - len(self.violations)

    def count(self, problems: Iterable[str], what: str) -> None:
        """Add one time, with everything that was wrong about it."""
        self.tried += 1
        if wrong := "; ".join(problems):
            self.violations.append(f"{what}: {wrong}")


@dataclass(frozen=True)
class Setting:
    """Where a trial takes place: an empty folder, a source of chance, and how often it is tried."""

    folder: Path
    chance: Random
    times: int
    nursery: Nursery

    def room(self, name: object) -> Path:
        """Return a new folder."""
        room = self.folder / str(name)
        room.mkdir(parents=True)
        return room


@dataclass(frozen=True)
class Trial:
    """Something to try: so many times in the short part, and in the full one."""

    name: str
    short: int
    full: int
    run: Callable[[Setting], Outcome]

    @property
    def kind(self) -> str:
        """The file that it is in."""
        return self.run.__module__.rpartition(".")[2]


def tried(
    items: Iterable[Item], one: Callable[[Item], Iterable[str]], *, at_once: int = 2 * CORES
) -> Outcome:
    """Try every item, some at once; an item says what it is and yields what was wrong."""
    outcome = Outcome()
    listed = list(items)
    with ThreadPoolExecutor(at_once) as pool:
        for item, problems in zip(
            listed, pool.map(lambda item: list(_caught(one, item)), listed), strict=True
        ):
            outcome.count(problems, str(item))
    return outcome


def _caught(one: Callable[[Item], Iterable[str]], item: Item) -> Iterable[str]:
    """An error of what checks is a violation too: nothing may be there that cannot be looked at."""
    try:
        yield from one(item)
    except SkippedError:
        raise
    except Exception as error:
        yield f"looking at what is left raised {type(error).__name__}: {error}"
