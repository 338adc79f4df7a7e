"""Counts of families that are kept as they are found: a run that was ended goes on after the last of them.

What a task gives follows from the measurements and from the levels above, which another run of the same
measurements finds again. So it is enough to know the level and the place of what was kept. Families that
follow each other are kept together, as soon as all of them are solved: a subtree, or several.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from holdfast.estimation.hierarchy.family import FamilyCounts, FamilyTask
from holdfast.estimation.hierarchy.run import Run
from holdfast.system.shelf import Shelf
from holdfast.version import VERSION

TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")

TOGETHER = 64
"""Tasks whose families are kept in one piece: a million counts or so."""
DIGEST = hashlib.sha256().digest_size


@dataclass(eq=False)
class KeptRun:
    """Runs tasks by another, and keeps the counts of families; what was kept before is not solved again."""

    run: Run
    shelf: Shelf
    _levels: int = field(default=0, init=False)

    def __call__(self, solve: Callable[[TaskT], AnswerT], tasks: Iterable[TaskT]) -> Iterable[AnswerT]:
        """Return the answer of each task, in their order."""
        if solve is not FamilyTask.solve:  # several levels at once: few, and found again
            return self.run(solve, tasks)
        self._levels += 1
        some: Any = tasks
        found: Any = self._families(some, f"level-{self._levels}")
        return found  # type: ignore[no-any-return]

    def _families(self, tasks: Iterable[FamilyTask], level: str) -> Iterator[FamilyCounts]:
        known: Any = tasks if isinstance(tasks, Sized) else list(tasks)
        rest, pieces = iter(known), 0
        while (pieces + 1) * TOGETHER <= len(known):
            kept = self.shelf.get(f"{level}-{pieces}")
            if kept is None or (found := _read(kept)) is None:
                break
            for _ in islice(rest, TOGETHER):
                pass
            yield from found
            pieces += 1
        held: list[FamilyCounts] = []
        for answer in self.run(FamilyTask.solve, _Rest(rest, len(known) - pieces * TOGETHER)):
            held.append(answer)
            if len(held) == TOGETHER:
                self.shelf.put(f"{level}-{pieces}", _written(held))
                held, pieces = [], pieces + 1
            yield answer


@dataclass(frozen=True)
class _Rest:
    """What is left of tasks, and how many these are."""

    tasks: Iterator[FamilyTask]
    number: int

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[FamilyTask]:
        return self.tasks


def _written(answers: Sequence[FamilyCounts]) -> bytes:
    """Return answers as bytes, behind their digest."""
    out = BytesIO()
    counts = np.concatenate([each.counts for each in answers])
    most = np.min_scalar_type(int(counts.max(initial=0)))
    parts: dict[str, Any] = {
        "version": np.array(VERSION),
        "children": np.array([len(each.counts) for each in answers]),
        "families": np.array([each.met.size for each in answers]),
        "counts": counts.astype(most),
        "met": np.concatenate([each.met for each in answers]),
        "objective": np.concatenate([each.objective for each in answers]),
        "gap": np.concatenate([each.gap for each in answers]),
    }
    if answers[0].reals is not None:
        parts["reals"] = np.concatenate([each.reals for each in answers if each.reals is not None])
    np.savez(out, **parts)
    content = out.getvalue()
    return hashlib.sha256(content).digest() + content


def _read(piece: bytes) -> list[FamilyCounts] | None:
    """Return the answers of a piece; None where it is damaged, or of another version."""
    told, content = piece[:DIGEST], piece[DIGEST:]
    if hashlib.sha256(content).digest() != told:
        return None
    with np.load(BytesIO(content), allow_pickle=False) as parts:
        if str(parts["version"]) != VERSION or parts["children"].size != TOGETHER:
            return None
        children = np.cumsum(parts["children"])[:-1]
        families = np.cumsum(parts["families"])[:-1]
        counts = np.split(parts["counts"].astype(np.int64), children)
        met, objective, gap = (np.split(parts[name], families) for name in ("met", "objective", "gap"))
        reals = np.split(parts["reals"], children) if "reals" in parts else [None] * TOGETHER
    return [FamilyCounts(*each) for each in zip(counts, met, objective, gap, reals, strict=True)]
