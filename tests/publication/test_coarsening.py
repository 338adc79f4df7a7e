"""Coarsening is optimal: fifty small designs against every way there is and every population there can be."""

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.publication.designs import tables

from holdfast.publication.coarsening.coarsen import coarsen
from holdfast.publication.coarsening.report import Way
from holdfast.publication.spec import PublicationSpec

Ints = NDArray[np.int64]
NAMES = ("age", "sex", "county")
AGES = ("0-9", "10-19", "20-29", "30+")


class Small:
    """A random population, its tables by some attributes, and all populations of as many people."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        shapes: list[list[int]] = [[3, 2], [4, 2], [3, 3], [2, 2, 2]]
        self.sizes = shapes[rng.integers(len(shapes))]
        self.names = NAMES[: len(self.sizes)]
        self.levels = [AGES[: self.sizes[0]], *([f"{n}{k}" for k in range(3)] for n in self.names[1:])]
        self.people = int(rng.integers(5, 9 if len(self.sizes) == 2 else 7))
        cells = int(np.prod(self.sizes))
        self.truth = np.bincount(rng.integers(0, cells, self.people), minlength=cells)
        every = tables(self.sizes, self.people)
        self.every = every[every.sum(axis=1) == self.people]
        axes = range(len(self.sizes))
        margins = [by for k in range(1, len(axes) + 1) for by in combinations(axes, k)]
        some = rng.permutation(len(margins))[: int(rng.integers(1, 3))]
        self.margins = sorted({margins[-1], *(margins[at] for at in some)})
        self.below, self.narrow = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        asked = (self.truth > 0) & (self.truth < self.below)
        self.asked = np.flatnonzero(asked)

    def sums(self, by: tuple[int, ...], of: Ints) -> Ints:
        """Return the margin of one population, or of each."""
        grid = of.reshape(*of.shape[:-1], *self.sizes)
        skip = of.ndim - 1
        others = tuple(axis + skip for axis in range(len(self.sizes)) if axis not in by)
        found: Ints = grid.sum(axis=others).reshape(*of.shape[:-1], -1)
        return found

    def spec(self, folder: Path, rule: dict[str, Any], **keys: Any) -> PublicationSpec:
        """Write the tables and return their spec; the number of people is public."""
        listed: list[dict[str, Any]] = []
        for number, by in enumerate(self.margins):
            rows = product(*(self.levels[axis][: self.sizes[axis]] for axis in by))
            counts = self.sums(by, self.truth).tolist()
            lines = [",".join([*row, str(count)]) for row, count in zip(rows, counts, strict=True)]
            header = ",".join([*(self.names[axis] for axis in by), "n"])
            (folder / f"{number}.csv").write_text("\n".join([header, *lines]) + "\n")
            listed.append({"path": f"{number}.csv", **rule})
        (folder / "all.csv").write_text(f"{self.names[0]},n\nTotal,{self.people}\n")
        listed.append({"path": "all.csv", "rule": "exact"})
        coarse = {"narrow": self.narrow, "below": self.below, "keep": ["all.csv"], **keys}
        return PublicationSpec.of(
            {"published": listed, "population": {"attributes": list(self.names)}, "coarsen": coarse},
            folder=folder,
        )

    def wide(self, fits: NDArray[np.bool_]) -> bool:
        """Whether every protected cell is wide enough over the populations that fit."""
        left = self.every[fits][:, self.asked]
        return bool((left.max(axis=0) - left.min(axis=0) >= self.narrow).all())


def found(small: Small, folder: Path, method: str, rule: dict[str, Any], **keys: Any) -> Way:
    report = coarsen(small.spec(folder, rule, method=method, **keys))
    names = [tuple(report.truth.asked.named(int(at)).values()) for at in report.truth.protected]
    every = list(product(*(level[:size] for level, size in zip(small.levels, small.sizes, strict=True))))
    assert names == [every[at] for at in small.asked.tolist()]
    return report.ways[0]


def by_cost(costs: list[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    choices = [c for k in range(len(costs) + 1) for c in combinations(range(len(costs)), k)]
    yield from sorted(((sum(costs[at] for at in c), c) for c in choices), key=lambda one: one[0])


def least_suppression(small: Small, cost: str) -> int | None:
    """Return the least that is lost by hiding numbers beside those below the threshold."""
    exact, hidden, primary, costs = [], [], [], []
    for by in small.margins:
        true, sums = small.sums(by, small.truth), small.sums(by, small.every)
        for at, count in enumerate(true.tolist()):
            if count == 0:
                exact.append(sums[:, at] == 0)
                hidden.append(sums[:, at] == 0)
                primary.append(True)
            else:
                exact.append(sums[:, at] == count)
                hidden.append(sums[:, at] >= 1)
                primary.append(count < small.below)
            costs.append(count if cost == "people" else 1)
    free = [at for at, one in enumerate(primary) if not one]
    always = np.logical_and.reduce([hidden[at] for at, one in enumerate(primary) if one], axis=0)
    for lost, choice in by_cost([costs[at] for at in free]):
        fits = always.copy() if isinstance(always, np.ndarray) else np.ones(len(small.every), dtype=np.bool_)
        for place, at in enumerate(free):
            fits &= hidden[at] if place in choice else exact[at]
        if small.wide(fits):
            return lost
    return None


def least_recoding(small: Small) -> int | None:
    """Return the fewest boundaries between neighbours of all attributes that must go."""
    boundaries = [(axis, at) for axis, size in enumerate(small.sizes) for at in range(size - 1)]
    for lost, choice in by_cost([1] * len(boundaries)):
        gone = {boundaries[at] for at in choice}
        block = [
            np.cumsum([0, *((axis, at) not in gone for at in range(size - 1))])
            for axis, size in enumerate(small.sizes)
        ]
        fits = np.ones(len(small.every), dtype=np.bool_)
        for by in small.margins:
            true, sums = small.sums(by, small.truth), small.sums(by, small.every)
            places = list(product(*(range(small.sizes[axis]) for axis in by)))
            groups: dict[tuple[int, ...], list[int]] = {}
            for at, place in enumerate(places):
                key = tuple(int(block[axis][level]) for axis, level in zip(by, place, strict=True))
                groups.setdefault(key, []).append(at)
            for group in groups.values():
                fits &= sums[:, group].sum(axis=1) == true[group].sum()
        if small.wide(fits):
            return lost
    return None


def least_base(small: Small, bases: list[int]) -> int | None:
    """Return the first base to which rounding every number is enough; ties may go either way."""
    for base in bases:
        fits = np.ones(len(small.every), dtype=np.bool_)
        for by in small.margins:
            near = base * ((small.sums(by, small.truth) + base // 2) // base)
            fits &= (np.abs(small.sums(by, small.every) - near) <= base // 2).all(axis=1)
        if small.wide(fits):
            return base
    return None


@pytest.mark.parametrize("first", range(0, 50, 10))
def test_the_least_is_lost(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 10):
        small = Small(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        cost = "people" if seed % 2 else "numbers"
        rule = {"rule": "suppressed", "below": small.below}
        hidden = found(small, folder, "suppression", rule, cost=cost)
        least = least_suppression(small, cost)
        assert (hidden.cost if hidden.tables is not None else None) == least, seed
        assert hidden.optimal == (least is not None), seed
        merged = found(small, folder, "recoding", {"rule": "exact"}, attributes=list(small.names))
        least = least_recoding(small)
        assert (merged.cost if merged.tables is not None else None) == least, seed
        assert merged.optimal == (least is not None), seed
        bases = [2, 3, 5, 7]
        near = found(small, folder, "rounding", {"rule": "exact"}, bases=bases)
        least = least_base(small, bases)
        assert (near.cost if near.tables is not None else None) == least, seed


NESTED = "b0\n@a0\n@a1\nb1\n@a2\n@a3\n"
CHOICES = (
    (0, ((0,), (1,), (2,), (3,))),
    (1, ((0, 1), (2,), (3,))),
    (1, ((0,), (1,), (2, 3))),
    (2, ((0, 1), (2, 3))),
    (3, ((0, 1, 2, 3),)),
)
"""What is lost of four leaves in two branches, and the levels that are left."""


def test_branches_of_a_nested_attribute_are_merged_from_below(tmp_path: Path) -> None:
    lost = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        people, narrow, below = int(rng.integers(4, 9)), int(rng.integers(2, 5)), int(rng.integers(2, 5))
        truth = np.bincount(rng.integers(0, 8, people), minlength=8)
        every = tables([4, 2], people)
        every = every[every.sum(axis=1) == people].reshape(-1, 4, 2)
        grid = truth.reshape(4, 2)
        (folder / "a.hrc").write_text(NESTED)
        rows = [f"a{i},s{j},{grid[i, j]}" for i in range(4) for j in range(2)]
        (folder / "t.csv").write_text("\n".join(["code,sex,n", *rows]) + "\n")
        (folder / "all.csv").write_text(f"code,n\nTotal,{people}\n")
        (folder / "up.csv").write_text(f"code,n\nb0,{grid[:2].sum()}\nb1,{grid[2:].sum()}\n")
        spec = PublicationSpec.of(
            {
                "published": [{"path": path} for path in ("t.csv", "up.csv", "all.csv")],
                "population": {"attributes": ["code", "sex"], "hierarchies": {"code": "a.hrc"}},
                "coarsen": {"narrow": narrow, "below": below, "attributes": ["code"], "keep": ["all.csv"]},
            },
            folder=folder,
        )
        asked = [(i, j) for i in range(4) for j in range(2) if 0 < grid[i, j] < below]
        least = None
        for cost, groups in CHOICES:
            fits = np.ones(len(every), dtype=np.bool_)
            for group in groups:
                fits &= (every[:, group].sum(axis=1) == grid[list(group)].sum(axis=0)).all(axis=1)
            if len(groups) > 1:
                fits &= every[:, :2].sum(axis=(1, 2)) == grid[:2].sum()
            left = every[fits]
            widths = [int(left[:, i, j].max() - left[:, i, j].min()) for i, j in asked]
            if all(width >= narrow for width in widths):
                least = cost
                break
        way = coarsen(spec, method="recoding").ways[0]
        assert (way.cost if way.tables is not None else None) == least, seed
        lost.append(least)
    assert len(set(lost)) >= 4
