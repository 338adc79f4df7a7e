"""Small confidential tables, and cases of a mechanism on one of them: few enough outputs to list them all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.spec.model import Spec


@dataclass(frozen=True)
class World:
    """A small confidential table, with what is kept of it.

    Attributes:
        levels: the levels of each attribute, in letters.
        counts: the table in row-major order.
        invariants: as a spec gives them.
        constraints: as a spec gives them: structural zeros.
        weights: the file weights.csv, where an invariant or a loss names it.
        past: the file past.csv of public counts, in row-major order, where a prior names it.
        geography: the attributes that are levels of a geography, root first.

    """

    levels: Mapping[str, str]
    counts: tuple[int, ...]
    invariants: tuple[Mapping[str, Any], ...]
    constraints: Mapping[str, Any] = field(default_factory=dict)
    weights: str = ""
    past: tuple[int, ...] = ()
    geography: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{', '.join(self.levels)}: {self.counts}"


BOTH = ({"margin": ["row"]}, {"margin": ["column"]})
WORLDS = {
    "2 x 2": World({"row": "ab", "column": "xy"}, (3, 0, 1, 1), BOTH),
    "three records": World({"row": "ab", "column": "xy"}, (1, 1, 1, 0), BOTH),
    "equal margins": World({"row": "ab", "column": "xy"}, (2, 2, 2, 2), BOTH),
    "2 x 3": World({"row": "ab", "column": "xyz"}, (2, 1, 0, 0, 1, 2), BOTH),
    "3 x 3": World({"row": "abc", "column": "xyz"}, (1, 0, 0, 0, 1, 0, 0, 0, 1), BOTH),
    "two states": World({"row": "ab", "column": "xy"}, (2, 1, 0, 2), ({"margin": ["row"]},)),
    "one total": World(
        {"level": "abc"},
        (2, 1, 1),
        ({"total": True, "equals": 4},),
        weights="invariant,level,weight\ntwice,a,2\nboth,a,1\nboth,b,1\nc,c,1\nb,b,3\n",
        past=(5, 0, 3),
    ),
    "bits": World({"row": "ab", "column": "xyz"}, (1, 0, 1, 0, 1, 0), ({"margin": ["row"]},)),
    "scores": World({"score": "0123"}, (1, 0, 2, 1), ({"total": True},)),
    "two groups": World({"group": "01", "score": "012"}, (2, 1, 0, 0, 1, 2), ({"margin": ["group"]},)),
    "two arms": World({"arm": "01", "cured": "ny"}, (2, 1, 0, 3), ({"margin": ["arm"]},)),
    "cases and deaths": World(
        {"county": "pq", "kind": "cd"},
        (3, 1, 1, 0),
        ({"where": {"kind": "c"}, "name": "cases"}, {"where": {"kind": "d"}, "name": "deaths"}),
        weights="invariant,county,kind,weight\np,p,c,1\np,p,d,-1\nq,q,c,1\nq,q,d,-1\n",
        past=(4, 9, 0, 9),
    ),
    "selections": World(
        {"level": "abcd"},
        (1, 1, 1, 1),
        ({"where": {"level": ["a", "b", "c"]}}, {"where": {"level": ["b", "d"]}}, {"total": True}),
    ),
    "weights": World(
        {"level": "abc"},
        (1, 1, 1),
        ({"total": True}, {"weights": {"file": "weights.csv"}}),
        weights="invariant,level,weight\npoints,a,1\npoints,b,2\npoints,c,1\n",
    ),
    "a structural zero": World(
        {"row": "ab", "column": "xyz"},
        (2, 1, 1, 0, 1, 1),
        ({"margin": ["row"]}, {"where": {"column": ["x", "y"]}, "name": "part"}),
        {"structural_zeros": [{"row": "b", "column": "x"}]},
    ),
    "two strata": World(
        {"stratum": "st", "row": "ab", "column": "xy"},
        (3, 0, 1, 1, 1, 1, 0, 1),
        ({"margin": ["row", "stratum"]}, {"margin": ["stratum", "column"]}),
    ),
    "nested": World(
        {"state": "ab", "age": "xyz"},
        (1, 1, 1, 1, 0, 1),
        ({"margin": ["state"]}, {"where": {"state": "a", "age": ["x", "y"]}, "name": "part"}),
    ),
    "three margins": World(
        {"row": "ab", "column": "xy", "slice": "st"},
        (1, 0, 0, 1, 1, 0, 0, 1),
        ({"margin": ["row"]}, {"margin": ["column"]}, {"margin": ["slice"]}),
    ),
    "a geography": World(
        {"nation": "n", "state": "ab", "sex": "xy"},
        (2, 1, 1, 1),
        ({"total": True, "level": "state"},),
        geography=("nation", "state"),
    ),
    "nothing kept": World(
        {"level": "ab"}, (1, 1), (), weights="invariant,level,weight\ntwice,a,2\nboth,a,1\nboth,b,1\n"
    ),
    "women by county": World(
        {"county": "pq", "sex": "fm"},
        (2, 0, 1, 1),
        ({"margin": ["county"], "where": {"sex": "f"}},),
    ),
    "women": World(
        {"sex": "fm", "age": "yo"},
        (1, 1, 1, 0),
        ({"where": {"sex": "f"}, "name": "women"},),
    ),
    "nations": World({"nation": "n", "state": "ab"}, (1, 1), (), geography=("nation", "state")),
    "states alone": World(
        {"nation": "n", "state": "abc"}, (2, 1, 1), ({"total": True},), geography=("nation", "state")
    ),
}


@dataclass(frozen=True)
class Case:
    """A mechanism on a small world, at a strength that leaves few likely outputs.

    Attributes:
        world: a name among `WORLDS`, or a world of one's own.
        privacy: the keys of [privacy], numbers as text.
        options: the keys of [mechanism] beside the name, numbers as text.
        constraints: further constraints on a release.
        accuracy: targets from which the budget follows, and with it perhaps the shape of the noise.
        attained: whether the guarantee is what the mechanism loses, rather than a bound of it.
        reach: how far from a table outputs are listed, in every cell.
        steps: how many outputs are listed for each unit of a real number.

    """

    world: str | World
    privacy: Mapping[str, str | int]
    options: Mapping[str, Any] = field(default_factory=dict)
    constraints: Mapping[str, Any] = field(default_factory=dict)
    attained: bool = True
    reach: int = 8
    steps: int = 1
    accuracy: tuple[Mapping[str, Any], ...] = ()

    def __str__(self) -> str:
        keys = {**self.privacy, **self.options, **self.constraints}
        keys |= {"accuracy": list(map(dict, self.accuracy))} if self.accuracy else {}
        return ", ".join([str(self.world), *(f"{key} {value}" for key, value in keys.items())])

    def scaled(self, by: Fraction) -> "Case":
        """Return the case with noise that is narrower by a factor: epsilon and mu grow by it, rho twice."""
        grown = {
            key: str(Fraction(self.privacy[key]) * by**power)
            for key, power in (("epsilon", 1), ("mu", 1), ("rho", 2))
            if key in self.privacy
        }
        own = {
            key: str(Fraction(value) * by) for key, value in self.options.items() if key == "epsilon_per_unit"
        }
        return replace(self, privacy={**self.privacy, **grown}, options={**self.options, **own})

    def spec(self, kind: type[AnyMechanism], folder: Path) -> Spec:
        """Return the spec of the case, its files written to a folder."""
        world = WORLDS[self.world] if isinstance(self.world, str) else self.world
        _write(world, folder)
        data = {
            "path": "data.csv",
            "cells": [name for name in world.levels if name not in world.geography],
            **({"geography": {"columns": list(world.geography)}} if world.geography else {}),
            "count": "n",
            "levels": {name: list(levels) for name, levels in list(world.levels.items())[1:]},
        }
        return Spec.of(
            {
                "data": data,
                "invariants": list(world.invariants),
                "constraints": {**world.constraints, **self.constraints},
                "privacy": dict(self.privacy),
                "mechanism": {"name": kind.name, **self.options},
                **({"accuracy": list(self.accuracy)} if self.accuracy else {}),
            },
            folder=folder,
        )


def _write(world: World, folder: Path) -> None:
    _write_counts(world, world.counts, folder / "data.csv")
    if world.past:
        _write_counts(world, world.past, folder / "past.csv")
    if world.weights:
        (folder / "weights.csv").write_text(world.weights)


def _write_counts(world: World, counts: Iterable[int], path: Path) -> None:
    cells = [""]
    for levels in world.levels.values():
        cells = [f"{cell}{level}," for cell in cells for level in levels]
    rows = [f"{cell}{count}" for cell, count in zip(cells, counts, strict=True)]
    path.write_text("\n".join([",".join([*world.levels, "n"]), *rows]) + "\n")
