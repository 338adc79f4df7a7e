"""Charges of small tables of one file of records, and what their releases really lose.

A file is a list of records, each a mapping of attributes to levels. A release is over some columns, keeps
margins and selections, and adds noise that loses kappa for each unit of a norm, or of a squared norm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.data.invariants import InvariantBlock, margin_matrix
from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.ledger import Charge, ChargeStandard, Ledger, Row
from holdfast.ledger.charge import new_charge
from holdfast.ledger.charged import amount
from holdfast.ledger.checkpoint import Replay
from holdfast.ledger.composition import spend
from holdfast.privacy.guarantee import Guarantee, Scope, Unit
from holdfast.privacy.profile import NormLoss, Profile
from holdfast.system.errors import GuaranteeError
from holdfast.testing.losses import record_distances
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.spread import spread
from holdfast.universe.universe import Universe

Record = Mapping[str, str]
Integers = NDArray[np.int64]
BINARY = ("0", "1")
UNIT = NormLoss(Fraction(1), "l1")


def records(*rows: str, names: str = "abc") -> list[Record]:
    """Return binary records, written as "010"."""
    return [dict(zip(names, row, strict=True)) for row in rows]


@dataclass(frozen=True)
class Made:
    """A release of a file."""

    columns: tuple[str, ...]
    margins: tuple[tuple[str, ...], ...] = ()
    where: tuple[Mapping[str, str], ...] = ()
    profile: Profile = UNIT
    adjacency: Literal["semi", "unit"] = "semi"
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    zeros: tuple[tuple[str, ...], ...] = ()
    stated: bool = True
    """Whether it says how its loss grows with the distance."""

    @cached_property
    def schema(self) -> Schema:
        plain = Schema(Attributes.of({name: self.levels.get(name, BINARY) for name in self.columns}))
        return Schema(plain.attributes, Runs.of(plain.index(cell) for cell in self.zeros))

    @cached_property
    def blocks(self) -> tuple[InvariantBlock, ...]:
        found = []
        for attributes in self.margins:
            matrix, kept = margin_matrix(self.schema, attributes, {})
            kind: Literal["margin", "total"] = "margin" if attributes else "total"
            found.append(InvariantBlock(str(attributes), kind, attributes, tuple(map(str, kept)), matrix))
        for where in self.where:
            chosen = {name: (level,) for name, level in where.items()}
            matrix, _ = margin_matrix(self.schema, (), chosen)
            found.append(InvariantBlock(str(where), "where", (), ("chosen",), matrix, chosen))
        return tuple(found)

    def cells(self, file: Sequence[Record]) -> Integers:
        """Return the cell of each record."""
        return np.array([self.schema.index([r[name] for name in self.columns]) for r in file], dtype=np.int64)

    def counts(self, file: Sequence[Record]) -> Integers:
        """Return the table of a file."""
        return np.bincount(self.cells(file), minlength=self.schema.size).astype(np.int64)

    def values(self, file: Sequence[Record]) -> list[Integers]:
        """Return the values of the invariants."""
        return [block.evaluate(self.counts(file)) for block in self.blocks]

    def universe(self, file: Sequence[Record]) -> Universe:
        """Return the universe of the release alone."""
        possible = np.flatnonzero(self.schema.possible)
        rows = [csr_array((0, possible.size), dtype=np.int64)]
        rows += [block.matrix[:, possible] for block in self.blocks]
        values = np.concatenate([np.zeros(0, dtype=np.int64), *self.values(file)])
        cliques = None if self.where or self.zeros else tuple(map(frozenset, self.margins))
        return Universe.of(csr_array(vstack(rows)), values, cliques)

    def guarantee(self, file: Sequence[Record]) -> Guarantee:
        """Return what the release guarantees alone."""
        universe = self.universe(file)
        scope = Scope.of(universe, invariants=tuple(block.name for block in self.blocks), constraints=())
        distance, intensity = 1, self.profile.per_record(spread(universe))
        if self.adjacency == "semi":
            distance = semi_adjacency(universe).worst_case
            intensity = self.profile.at(distance, sensitivity(universe, distance))
        if amount(intensity) == 0:
            raise GuaranteeError("the release has nothing to protect")
        unit = Unit("record", self.adjacency, distance)
        return Guarantee(scope, unit, intensity, (), self.profile if self.stated else None)

    def charge(self, file: Sequence[Record], name: str = "file") -> Charge:
        """Return the charge of the release."""
        guarantee = self.guarantee(file)
        return new_charge(
            dataset=digest(name),
            schema=self.schema,
            invariants=self.blocks,
            values=self.values(file),
            guarantee=guarantee,
            stated={"statement": guarantee.statement},
            certificate=digest("certificate"),
        )

    def loss(self, differences: Integers) -> NDArray[np.float64]:
        """Return the loss between tables with these differences; noise of 0 attains it."""
        if isinstance(self.profile, NormLoss):
            power = 1 if self.profile.norm == "l1" else 2
            norm = (np.abs(differences) ** power).sum(axis=-1) ** (1 / power)
            return np.asarray(float(self.profile.kappa) * norm)
        each = float(amount(self.profile.per_record(Fraction(1))))
        return np.asarray(each * (differences**2).sum(axis=-1))


@dataclass(frozen=True)
class Files:
    """All files of so many records over the attributes of some releases, with the invariants of one file."""

    releases: Sequence[Made]
    file: Sequence[Record]
    size: int | None = None
    """How many records: as many as that file, if it is not told."""

    @cached_property
    def possible(self) -> list[Record]:
        """The records that no release excludes, by a level that it does not list or a structural zero."""
        listed: dict[str, set[str]] = {}
        for attribute in (one for made in self.releases for one in made.schema.attributes):
            listed.setdefault(attribute.name, set(attribute.levels)).intersection_update(attribute.levels)
        every = [dict(zip(listed, levels, strict=True)) for levels in product(*map(sorted, listed.values()))]
        return [r for r in every if all(made.schema.possible[made.cells([r])[0]] for made in self.releases)]

    @cached_property
    def tables(self) -> Integers:
        """The files as counts of each possible record, one a row."""
        width = len(self.possible)
        size = len(self.file) if self.size is None else self.size
        chosen = combinations_with_replacement(range(width), size)
        counted = [np.bincount(np.array(rows, dtype=np.int64), minlength=width) for rows in chosen]
        every = np.array(counted, dtype=np.int64)
        kept = np.ones(len(every), dtype=np.bool_)
        for made in self.releases:
            tables = self.tables_of(made, every)
            for block, value in zip(made.blocks, made.values(self.file), strict=True):
                kept &= (tables @ block.matrix.toarray().T == value).all(axis=1)
        return np.asarray(every[kept])

    def tables_of(self, made: Made, files: Integers) -> Integers:
        """Return the table of a release for each file."""
        columns = np.eye(made.schema.size, dtype=np.int64)[made.cells(self.possible)]
        return np.asarray(files @ columns)

    @cached_property
    def apart(self) -> Integers:
        """In how many records each pair of files differs."""
        return record_distances(self.tables)

    def losses(self, made: Made) -> NDArray[np.float64]:
        """Return what a release loses between each pair of files."""
        tables = self.tables_of(made, self.tables)
        return made.loss(tables[:, None, :] - tables[None, :, :])

    @cached_property
    def one_change(self) -> int:
        """The worst-case semi-adjacency, from its definition [theory, 2]."""
        worst, width = 0, self.tables.shape[1]
        for table, (x, y) in product(self.tables, product(range(width), repeat=2)):
            goals = self.tables[self.tables[:, y] > 0]
            if x != y and table[x] and goals.size:
                others = table - np.eye(width, dtype=np.int64)[x] - goals
                others[:, y] += 1
                worst = max(worst, 1 + int(np.abs(others).sum(axis=1).min()) // 2)
        return worst


def charged(charges: Sequence[Charge], standard: ChargeStandard = "pure") -> list[Fraction]:
    """Return the totals of charges, made one after the other."""
    past = Replay(standard)
    for index, charge in enumerate(charges, start=1):
        spent = spend(past, charge)
        past.add(Row(index, "", charge, spent.total, ""), spent)
    return [row.total for row in past.charged]


def digest(text: str) -> str:
    """Return a SHA-256 in hex."""
    return sha256(text.encode()).hexdigest()


def accounted(path: Path, rows: int) -> Ledger:
    """Return a ledger with releases of one table."""
    ledger = Ledger.create(path, standard="pure", budget=Fraction(100))
    made, file = Made(("a", "b"), (("a",),)), records("000", "010", "011", "101", "110", "111")
    for _ in range(rows):
        ledger.charge(made.charge(file), spend)
    return ledger
