"""Random small publications, and what follows from them by listing every population there can be."""

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Design(NamedTuple):
    """A publication as a spec, and all populations that could have been published so, one a row."""

    values: dict[str, Any]
    attributes: dict[str, list[str]]
    populations: Ints
    truth: Ints


def published(rule: dict[str, Any], count: int) -> set[str]:
    """Return what a rule may print for a count: written forwards, apart from how the program reads it."""
    match rule["rule"]:
        case "exact":
            return {str(count)}
        case "rounded":
            base = rule["base"]
            below, above = base * (count // base), -base * (-count // base)
            match rule.get("method", "nearest"):
                case "down":
                    return {str(below)}
                case "up":
                    return {str(above)}
                case "random":
                    return {str(below), str(above)}
            nearest = min(count - below, above - count)
            return {str(v) for v in (below, above) if abs(v - count) == nearest}
        case "suppressed":
            least = 1 if rule["zeros"] == "shown" else 0
            if rule.get("secondary") == "*":
                return {"*", str(count)} if count >= max(rule["below"], least) or count < least else {"*"}
            return {"*"} if least <= count < rule["below"] else {str(count)}
        case "top-coded":
            return {str(count)} if count < rule["top"] else {str(rule["top"]), f"{rule['top']}+"}
    raise AssertionError(rule)


def tables(sizes: list[int], total: int) -> Ints:
    """Return all tables of no more than so many people."""
    cells = int(np.prod(sizes))

    def fill(cells: int, left: int) -> Iterator[list[int]]:
        if cells == 0:
            yield []
            return
        for count in range(left + 1):
            for rest in fill(cells - 1, left - count):
                yield [count, *rest]

    return np.array(list(fill(cells, total)), dtype=np.int64)


RULES: list[dict[str, Any]] = [
    {"rule": "exact"},
    {"rule": "rounded", "base": 3},
    {"rule": "rounded", "base": 4},
    {"rule": "rounded", "base": 3, "method": "random"},
    {"rule": "rounded", "base": 2, "method": "up"},
    {"rule": "rounded", "base": 3, "method": "down"},
    {"rule": "suppressed", "below": 3, "zeros": "shown"},
    {"rule": "suppressed", "below": 2, "zeros": "hidden"},
    {"rule": "suppressed", "below": 3, "zeros": "hidden", "secondary": "*"},
    {"rule": "top-coded", "top": 2},
]


def design(seed: int, folder: Path) -> Design:
    """Write the files of a random publication, and list all populations that fit it."""
    rng = np.random.default_rng(seed)
    shapes = [(2, 2), (2, 3), (2, 2, 2), (3, 2)]
    sizes = list(shapes[rng.integers(len(shapes))])
    names = ["county", "sex", "age"][: len(sizes)]
    attributes = {name: [f"{name}{k}" for k in range(size)] for name, size in zip(names, sizes, strict=True)}
    truth = np.zeros(int(np.prod(sizes)), dtype=np.int64)
    people = int(rng.integers(1, 7))
    np.add.at(truth, rng.integers(0, truth.size, people), 1)
    every = tables(sizes, people)
    fits = np.ones(len(every), dtype=np.bool_)
    grids = every.reshape(-1, *sizes)
    listed = []
    margins = [by for size in range(1, len(sizes) + 1) for by in combinations(range(len(sizes)), size)]
    chosen = [(0,), *(margins[rng.integers(len(margins))] for _ in range(int(rng.integers(1, 5))))]
    missing = tuple(sorted(set(range(len(sizes))) - {axis for by in chosen for axis in by}))
    for number, by in enumerate([*chosen, missing] if missing else chosen):
        rule = RULES[rng.integers(len(RULES))] if number else RULES[0]  # the first one bounds them all
        others = tuple(axis + 1 for axis in range(len(sizes)) if axis not in by)
        sums = grids.sum(axis=others).reshape(len(every), -1)
        true = truth.reshape(sizes).sum(axis=tuple(axis - 1 for axis in others)).ravel()
        rows = []
        for at, levels in enumerate(product(*(attributes[names[axis]] for axis in by))):
            choices = sorted(published(rule, int(true[at])))
            token = choices[rng.integers(len(choices))]
            fits &= np.array([token in published(rule, value) for value in range(people + 1)])[sums[:, at]]
            rows.append(",".join([*levels, token]))
        header = ",".join([*(names[axis] for axis in by), "people"])
        (folder / f"{number}.csv").write_text("\n".join([header, *rows]) + "\n")
        listed.append(
            {"path": f"{number}.csv", "attributes": [names[axis] for axis in by], "count": "people", **rule}
        )
    values: dict[str, Any] = {"published": listed, "population": {"attributes": names}}
    return Design(values, attributes, every[fits], truth)


def group_facts(found: Design, fact: str, largest: int) -> set[tuple[Any, ...]]:
    """Return what is true of everyone in a group of no more than so many, in every population."""
    names = list(found.attributes)
    cells = list(product(*found.attributes.values()))
    others = [name for name in names if name != fact]
    told: list[tuple[set[str], set[int]]] = []
    facts = set()
    for size in range(len(others), -1, -1):
        for by in combinations(others, size):
            for levels in product(*(found.attributes[name] for name in by)):
                inside = [
                    at
                    for at, cell in enumerate(cells)
                    if all(cell[names.index(n)] == one for n, one in zip(by, levels, strict=True))
                ]
                ever = {at for at in inside if found.populations[:, at].any()}
                had = {cells[at][names.index(fact)] for at in ever}
                people = found.populations[:, inside].sum(axis=1)
                if len(had) != 1 or people.min() < 1 or people.max() > largest:
                    continue
                if any(set(by) < finer and one <= ever for finer, one in told):
                    continue
                facts.add(
                    (tuple(zip(by, levels, strict=True)), had.pop(), int(people.min()), int(people.max()))
                )
                told.append((set(by), ever))
    return facts
