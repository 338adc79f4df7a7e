"""Census blocks by race and voting age: real ones or invented, the spec of their release, and its estimates.

The budget is that of persons in the redistricting file of 2020, rho = 2.56, with shares of its levels: the
root has those of the nation, counties (whose totals are invariant here) those of the states, tracts and block
groups their own, and blocks those of counties and blocks together.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from holdfast import Prepared, SeededEntropy, Spec, prepare
from holdfast.data.geography import Regions
from holdfast.estimation.hierarchy.linear import Estimates
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.best_linear import best_linear
from holdfast.mechanisms.topdown.estimate import estimated
from holdfast.mechanisms.topdown.measurements import Values
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.system.errors import DataError

RACES = ("white", "black", "hisp", "aian", "asian", "nhpi", "other", "two")
AGES = ("minor", "adult")
TOPDOWN, ALONE, LATTICE, LINEAR = "top-down", "top-down, cells alone", "lattice-gaussian", "best linear"
WAYS = (TOPDOWN, ALONE, LATTICE, LINEAR)
"""Estimates of every count: with totals measured beside the cells, without; on the lattice; and linear."""
SPEC = """\
[data]
path = "blocks.csv"
cells = ["race", "age"]
count = "people"

[data.geography]
column = "block"
prefixes = { state = 2, county = 5, tract = 11, block_group = 12, block = 15 }

[[invariants]]
total = true
level = "county"

[privacy]
standard = "zcdp"
rho = "64/25"
adjacency = "unit"

"""
SHARES = """\
[mechanism]
name = "topdown"

[mechanism.allocation]
state = "104/4099"
county = "1440/4099"
tract = "687/4099"
block_group = "1256/4099"
block = "612/4099"

[[mechanism.queries]]
marginal = ["race", "age"]
"""
MECHANISM = {
    TOPDOWN: SHARES + "\n[[mechanism.queries]]\nmarginal = []\n",
    ALONE: SHARES,
    LATTICE: '[mechanism]\nname = "lattice-gaussian"\n',
}

Floats = NDArray[np.float64]
Tables = tuple[Floats, ...]
"""Nodes by cells, for each level, root first."""


class Blocks(NamedTuple):
    """What the blocks are called, and a row for each block and cell."""

    name: str
    frame: pl.DataFrame


class Shape(NamedTuple):
    """How many nodes each level of invented blocks has, below one state."""

    counties: int
    tracts: int
    groups: int
    blocks: int


RHODE_ISLAND, COOK, SMALL = (
    Shape(5, 244, 815, 25_181),
    Shape(1, 1_319, 3_993, 99_042),
    Shape(5, 24, 82, 2_518),
)
"""Rhode Island, Cook County, and a tenth of Rhode Island."""


def read(path: Path, name: str) -> Blocks:
    """Read a file of population and voting-age population by race."""
    wide = pl.read_csv(path, schema_overrides={"block": pl.String})
    everybody, adults = (
        wide.select(f"{kind}_{race}" for race in RACES).to_numpy().astype(np.int64) for kind in ("pop", "vap")
    )
    if (adults > everybody).any():
        raise DataError(f"{path.name} has more people of voting age than people in a block: get it anew.")
    return Blocks(name, long(wide["block"], np.stack([everybody - adults, adults], axis=2)))


def long(codes: pl.Series, counts: IntArray) -> pl.DataFrame:
    """Return a row for each block, race and age from counts by these."""
    order = np.argsort(codes.to_numpy(), kind="stable")
    cells = len(RACES) * len(AGES)
    return pl.DataFrame(
        {
            "block": codes.gather(np.repeat(order, cells)),
            "race": pl.Series(RACES).gather(np.tile(np.repeat(np.arange(len(RACES)), len(AGES)), order.size)),
            "age": pl.Series(AGES).gather(np.tile(np.arange(len(AGES)), order.size * len(RACES))),
            "people": counts[order].ravel(),
        }
    )


def invented(shape: Shape, name: str = "invented blocks") -> Blocks:
    """Return blocks of a shape: three in ten empty, the others with 60 people about, races apart by tract."""
    generator = np.random.default_rng(2010)
    group = np.sort(
        np.append(np.arange(shape.groups), generator.integers(0, shape.groups, shape.blocks - shape.groups))
    )
    tract = group * shape.tracts // shape.groups
    county = tract * shape.counties // shape.tracts
    place = np.arange(shape.blocks) - np.searchsorted(group, group)
    number = group - np.searchsorted(
        group_tract := np.arange(shape.groups) * shape.tracts // shape.groups, tract
    )
    assert group_tract.size == shape.groups
    codes = [
        f"99{1 + 2 * c:03}{t:06}{1 + g}{b:03}"
        for c, t, g, b in zip(county.tolist(), tract.tolist(), number.tolist(), place.tolist(), strict=True)
    ]
    people = generator.gamma(0.8, 75, shape.blocks) * (generator.random(shape.blocks) > 0.3)
    usual = np.array([76, 5, 12, 0.4, 3, 0.03, 0.9, 2.2])
    races = generator.dirichlet(usual / 10, shape.tracts)[tract]
    minor = generator.beta(4, 14, shape.tracts)[tract]
    shares = races[:, :, None] * np.stack([minor, 1 - minor], axis=1)[:, None, :]
    return Blocks(name, long(pl.Series(codes), generator.poisson(people[:, None, None] * shares)))


@dataclass(frozen=True, eq=False)
class Releases:
    """One table of blocks, to be released in several ways."""

    prepared: dict[str, Prepared]

    @classmethod
    def of(cls, blocks: Blocks, ways: Sequence[str] = tuple(MECHANISM)) -> "Releases":
        """Settle some ways."""
        return cls({way: prepare(spec(way), data=blocks.frame) for way in ways})

    def mechanism(self, way: str = TOPDOWN) -> TopDown:
        """Return how blocks are measured."""
        found = self.prepared[way].mechanism
        assert isinstance(found, TopDown)
        return found

    @cached_property
    def regions(self) -> Regions:
        """The geography."""
        return self.mechanism().design.regions

    @cached_property
    def truth(self) -> tuple[IntArray, ...]:
        """The true tables of all nodes."""
        return self.regions.sums(self.prepared[TOPDOWN].counts)

    def measured(self, seed: int, way: str = TOPDOWN) -> Values:
        """Return the measurements of one run."""
        return self.mechanism(way).law(self.prepared[way].counts).measure(SeededEntropy(seed))

    def counts(self, values: Values, way: str = TOPDOWN) -> tuple[IntArray, ...]:
        """Return the whole counts of all nodes from the top down."""
        mechanism = self.mechanism(way)
        return estimated(mechanism.design, mechanism.measurements, values)

    def linear(self, values: Values, *, invariants: bool = True) -> Estimates:
        """Return the best linear unbiased estimates of all nodes."""
        return best_linear(self.mechanism(), values, invariants=invariants)

    def errors(self, seed: int) -> dict[str, Tables]:
        """Return the errors of all nodes in one run, by way; two of them share their measurements."""
        values = self.measured(seed)
        found: dict[str, Sequence[IntArray] | Sequence[Floats]] = {
            TOPDOWN: self.counts(values),
            ALONE: self.counts(self.measured(seed, ALONE), ALONE),
            LATTICE: self.regions.sums(self.prepared[LATTICE].sample(SeededEntropy(seed), 1)[0]),
            LINEAR: self.linear(values).tables,
        }
        return {way: off(tables, self.truth) for way, tables in found.items()}


def off(tables: Sequence[IntArray] | Sequence[Floats], truth: Sequence[IntArray]) -> Tables:
    """Return the errors of tables."""
    return tuple(
        np.asarray(table - true, dtype=np.float64) for table, true in zip(tables, truth, strict=True)
    )


def spec(way: str) -> Spec:
    """Return what is asked, by way."""
    return Spec.model_validate(tomllib.loads(SPEC + MECHANISM[way]))
