"""What every mechanism is tried on: one entry a class, of one or more small cases.

A mechanism without an entry fails the contract.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.contract.files import FILES

from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.conditioned import Conditioned
from holdfast.mechanisms.k_norm import KNorm
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.mechanism import Mechanism
from holdfast.mechanisms.naive import NaiveGaussian, NaiveLaplace
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.mechanisms.projected_gaussian import ProjectedGaussian
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.mechanisms.wasserstein.exponential import WassersteinExponential
from holdfast.mechanisms.wasserstein.gradient import KNormGradient
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
    "a geography": World(
        {"nation": "n", "state": "ab", "sex": "xy"},
        (2, 1, 1, 1),
        ({"total": True, "level": "state"},),
        geography=("nation", "state"),
    ),
    "states alone": World(
        {"nation": "n", "state": "abc"}, (2, 1, 1), ({"total": True},), geography=("nation", "state")
    ),
}


@dataclass(frozen=True)
class Case:
    """A mechanism on a small world, at a strength that leaves few likely outputs.

    Attributes:
        world: a name among the worlds.
        privacy: the keys of [privacy], numbers as text.
        options: the keys of [mechanism] beside the name, numbers as text.
        constraints: further constraints on a release.
        attained: whether the guarantee is what the mechanism loses, rather than a bound of it.
        reach: how far from a table outputs are listed, in every cell.
        steps: how many outputs are listed for each unit of a real number.

    """

    world: str
    privacy: Mapping[str, str | int]
    options: Mapping[str, Any] = field(default_factory=dict)
    constraints: Mapping[str, Any] = field(default_factory=dict)
    attained: bool = True
    reach: int = 8
    steps: int = 1

    def __str__(self) -> str:
        keys = {**self.privacy, **self.options, **self.constraints}
        return ", ".join([self.world, *(f"{key} {value}" for key, value in keys.items())])

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
        world = WORLDS[self.world]
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


PURE = {"epsilon": "4"}
EACH = {"epsilon": "4", "adjacency": "unit"}
ZCDP = {"standard": "zcdp", "rho": "2"}
GAUSSIAN = {"standard": "gaussian", "mu": "2"}
NOT_NEGATIVE = {"nonnegative": True}
BITS = {"nonnegative": True, "inequalities": [{"margin": ["row", "column"], "at_most": 1}]}
AT_MOST = {"nonnegative": True, "inequalities": [{"where": {"row": "a", "column": "x"}, "at_most": 2}]}
FEW_X = {"inequalities": [{"where": {"sex": "x"}, "level": "state", "at_most": 2}]}
AT_LEAST = {"inequalities": [{"where": {"level": "a"}, "at_least": 1}]}

CASES: dict[type[AnyMechanism], tuple[Case, ...]] = {
    LatticeLaplace: (
        Case("2 x 2", PURE),
        Case("2 x 3", {"epsilon": "4", "distance": 4}),
        Case("3 x 3", PURE, reach=7),
        Case("two states", EACH),
        Case("one total", PURE),
        Case("selections", PURE, {"norm": "l1"}),
        Case("weights", PURE, {"norm": "l2"}),
        Case("a structural zero", PURE, {"norm": "l2"}, reach=16),
        Case("2 x 3", EACH, {"norm": "l2"}),
        Case("2 x 2", {}, {"epsilon_per_unit": "3/4"}),
    ),
    LatticeGaussian: (
        Case("2 x 2", ZCDP),
        Case("3 x 3", ZCDP, reach=6),
        Case("two states", {**ZCDP, "adjacency": "unit"}),
        Case("weights", ZCDP),
        Case("a structural zero", ZCDP),
        Case("selections", {"standard": "approximate", "epsilon": "4", "delta": "1/100"}),
    ),
    KNorm: (
        Case("2 x 2", PURE),
        Case("2 x 3", PURE, reach=5),
        Case("one total", PURE),
        Case("a structural zero", {"epsilon": "6"}, reach=8),
    ),
    Conditioned: (
        Case("2 x 3", PURE, constraints=NOT_NEGATIVE),
        Case("two states", EACH, constraints=NOT_NEGATIVE),
        Case("a structural zero", PURE, constraints=NOT_NEGATIVE),
        Case("weights", PURE, constraints=NOT_NEGATIVE),
        Case("one total", PURE, constraints={**NOT_NEGATIVE, **AT_LEAST}),
        Case("bits", PURE, constraints=BITS),
        Case("bits", EACH, constraints=BITS),
        Case("2 x 3", PURE, constraints=AT_MOST),
        Case("one total", PURE, constraints=AT_LEAST, attained=False, reach=12),
        Case(
            "2 x 2",
            {"standard": "approximate", "epsilon": "2", "delta": "1/10"},
            {"chain": True},
            NOT_NEGATIVE,
            attained=False,
        ),
    ),
    WassersteinExponential: (
        Case("one total", PURE),
        Case("2 x 3", PURE, {"loss": "l2"}, reach=10),
        Case("one total", EACH, {"loss": "l1"}, NOT_NEGATIVE),
        Case("one total", PURE, {"prior": "past.csv"}, NOT_NEGATIVE),
        Case(
            "one total", PURE, {"prior": "past.csv", "loss": "l2", "floor": "2"}, {**NOT_NEGATIVE, **AT_LEAST}
        ),
        Case("one total", EACH, {"prior": "past.csv", "loss": "linf", "concentration": "1/3"}, NOT_NEGATIVE),
        Case("one total", PURE, {"prior": "past.csv", "floor": "0"}, NOT_NEGATIVE),
        Case("one total", PURE, {"loss": "squared"}, NOT_NEGATIVE),
        Case("one total", EACH, {"loss": "squared", "prior": "past.csv"}, NOT_NEGATIVE),
        Case("2 x 3", PURE, {"loss": "squared"}, NOT_NEGATIVE),
        Case("one total", PURE, {"loss": "linf", "queries": "weights.csv"}, NOT_NEGATIVE),
        Case("one total", PURE, {"loss": "linf"}, reach=14),
        Case("2 x 3", PURE, {"loss": "l2"}, NOT_NEGATIVE),
        Case("bits", PURE, {"loss": "l2"}, BITS),
        Case("2 x 3", PURE, {"loss": "l1"}, AT_MOST),
        Case("one total", PURE, {"base": "counting"}, reach=12),
        Case(
            "cases and deaths",
            PURE,
            {"prior": "past.csv", "prior_where": {"kind": "c"}},
            {**NOT_NEGATIVE, "inequalities": [{"weights": {"file": "weights.csv"}, "at_least": 0}]},
        ),
        Case(
            "2 x 2",
            {"standard": "approximate", "epsilon": "2", "delta": "1/10"},
            {"chain": True, "loss": "l2"},
            NOT_NEGATIVE,
            attained=False,
        ),
    ),
    KNormGradient: (
        Case("scores", PURE, {"of": "score", "steps": 12}, attained=False, reach=3, steps=4),
        Case(
            "scores",
            EACH,
            {
                "estimate": "quantile",
                "of": "score",
                "level": "1/3",
                "steps": 12,
                "where": {"score": ["1", "2", "3"]},
            },
            attained=False,
            reach=3,
            steps=4,
        ),
        Case(
            "two groups",
            {"epsilon": "8"},
            {"estimate": "linear", "of": "score", "on": ["group"], "bound": "2", "steps": 8},
            attained=False,
            reach=2,
            steps=4,
        ),
        Case(
            "two arms",
            {"epsilon": "24"},
            {"estimate": "logistic", "of": "cured", "on": ["arm"], "event": "y", "bound": "2", "steps": 8},
            attained=False,
            reach=4,
            steps=2,
        ),
    ),
    ProjectedGaussian: (
        Case("2 x 2", GAUSSIAN, steps=16),
        Case("one total", ZCDP, steps=8, reach=4),
        Case("a structural zero", GAUSSIAN, steps=4, reach=12),
    ),
    NaiveLaplace: (
        Case("one total", PURE, reach=12),
        Case("weights", PURE, reach=12),
        Case("one total", EACH, reach=12),
    ),
    NaiveGaussian: (
        Case("one total", ZCDP),
        Case("weights", ZCDP),
        Case("one total", {**ZCDP, "adjacency": "unit"}),
    ),
    TopDown: (
        Case("one total", ZCDP),
        Case("one total", PURE, reach=12),
        Case("states alone", {**ZCDP, "adjacency": "unit"}),
        Case("a geography", {"standard": "zcdp", "rho": "8", "adjacency": "unit"}, reach=3),
        Case("a geography", {"standard": "zcdp", "rho": "32"}, reach=3),
        Case(
            "a geography",
            {"standard": "zcdp", "rho": "16"},
            {"allocation": {"nation": "0", "state": "1"}, "queries": [{"marginal": ["sex"]}]},
            reach=5,
        ),
        Case("a structural zero", {"standard": "zcdp", "rho": "64"}, reach=2, attained=False),
        Case("2 x 2", {"standard": "zcdp", "rho": "16"}, reach=5, attained=False),
        Case("one total", ZCDP, constraints=AT_LEAST),
        Case("a geography", {"standard": "zcdp", "rho": "32"}, constraints=FEW_X, reach=3),
    ),
    NoisyCount: (
        Case("2 x 2", PURE, steps=16),
        Case("equal margins", {"epsilon": "4", "distance": 5}, reach=10, steps=16),
        Case("2 x 2", {"standard": "approximate", "epsilon": "2", "delta": "1/20"}, reach=4, steps=1024),
        Case("2 x 2", ZCDP, steps=16),
        Case("two strata", GAUSSIAN, reach=4, steps=16),
        Case("two strata", PURE, steps=4),
    ),
}


def uncovered(mechanisms: Iterable[type[Mechanism[Any, Any]]]) -> list[str]:
    """Return the names of mechanisms that no case tries, of tables or of files."""
    covered = {kind for cases in (CASES, FILES) for kind, tried in cases.items() if tried}
    return [kind.name for kind in mechanisms if kind not in covered]
