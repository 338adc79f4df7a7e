"""What is public before anything is drawn: the schema, the invariants with their values, the constraints.

It is built in two places only, and both give equal values: from a spec and its confidential table
(`publish`, the first of the two calls that see the table; the second is the release), and from a
certificate [holdfast, certificate/public.py]. Everything else is a function of it: the universe is made
from it once, and the semi-adjacency and the sensitivity when a guarantee asks for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.data.cell_status import STATUS, STATUSES
from holdfast.data.geography import Regions
from holdfast.data.invariants import (
    InvariantBlock,
    even_cliques,
    floor_blocks,
    inequality_blocks,
    invariant_blocks,
    margin_block,
    margin_matrix,
)
from holdfast.data.narrow import Narrow
from holdfast.data.published import PublishedSums
from holdfast.data.schema import Attribute, Attributes, Schema
from holdfast.data.selection import count_column
from holdfast.data.table import Table
from holdfast.data.two_by_two import Margins
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.product import AxisMargins
from holdfast.lattice.spread import SpreadColumns
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.guarantee import Adjacency, Scope
from holdfast.privacy.premises import Premises
from holdfast.programs.solver import Sides, suggest
from holdfast.spec.model import Spec
from holdfast.spec.privacy import RECORD, ProtectedUnit
from holdfast.system.errors import InvariantError, SpecError
from holdfast.system.ways import setting
from holdfast.universe.limits import Limits, together
from holdfast.universe.universe import Universe

NEARLY = 1e-6
"""What floats may be off by in a sum of counts."""


@dataclass(frozen=True, eq=False)
class Held:
    """An invariant and its values, one for each of its rows."""

    block: InvariantBlock
    values: IntArray

    def to_dict(self) -> dict[str, Any]:
        """Return the definition and the values as JSON-able values."""
        return {**self.block.to_dict(), "values": self.values.tolist()}


@dataclass(frozen=True, eq=False)
class Floor:
    """An inequality: every row of the block is at least, or at most, a number in every table and release."""

    block: InvariantBlock
    at_least: int | None = None
    at_most: int | None = None

    @property
    def bounds(self) -> dict[str, int]:
        """The bounds by name, those that there are."""
        named = {"at_least": self.at_least, "at_most": self.at_most}
        return {name: bound for name, bound in named.items() if bound is not None}

    @property
    def signed(self) -> tuple[tuple[int, int], ...]:
        """The bounds with 1 for the least and -1 for the most."""
        return tuple((1 if name == "at_least" else -1, bound) for name, bound in self.bounds.items())

    def broken(self, sums: IntArray) -> IntArray:
        """Return the rows whose sums are beyond a bound."""
        low = False if self.at_least is None else sums < self.at_least
        high = False if self.at_most is None else sums > self.at_most
        return np.flatnonzero(np.broadcast_to(low | high, sums.shape))

    def to_dict(self) -> dict[str, Any]:
        """Return the definition and the bounds as JSON-able values."""
        return {**self.block.to_dict(), **self.bounds}


@dataclass(frozen=True, eq=False)
class Public:
    """All that is public: it depends on the confidential table through the invariants alone.

    Attributes:
        schema: the cells of the table.
        count: the name of the column of released counts.
        invariants: what is kept exactly, with its values.
        nonnegative: whether no released count may be below zero.
        inequalities: what else bounds a release.
        inferred: the attributes whose levels were taken from the data rather than declared.
        whom: whom a guarantee is to protect, by their records.
        geography: the attributes that are levels of a geography, root first.

    """

    schema: Schema
    count: str
    invariants: tuple[Held, ...]
    nonnegative: bool = False
    inequalities: tuple[Floor, ...] = ()
    inferred: tuple[str, ...] = ()
    whom: ProtectedUnit = RECORD
    geography: tuple[str, ...] = ()
    occupied: bool = field(default=False, repr=False)
    """Whether the invariants were evaluated on a table, which then has them."""
    quoted_formulas: bool = field(default=False, repr=False)
    """Whether the file of the released table quotes what a spreadsheet would run."""
    status: bool = field(default=False, repr=False)
    """Whether the file of the released table has a column with the status of each cell."""
    published: tuple[PublishedSums, ...] = ()
    """What was published before and is kept: it binds what is released, and not what a guarantee compares."""

    @cached_property
    def possible(self) -> IntArray:
        """The cells that can occur: the universe is over these, as the others are zero in every table."""
        return np.flatnonzero(self.schema.possible)

    @cached_property
    def universe(self) -> Universe:
        """The tables that agree with the invariants and keep the inequalities [theory, 1]."""
        values = np.concatenate([np.zeros(0, dtype=np.int64), *(held.values for held in self.invariants)])
        return Universe.of(
            self._rows,
            values,
            self.cliques,
            margins=self.margins,
            limits=self.limits,
            occupied=self.occupied,
        )

    @property
    def apart(self) -> bool:
        """Whether nothing that is known has an entry for each cell, as totals of many leaves have none."""
        return not self.inequalities and self._narrow is not None

    @cached_property
    def _narrow(self) -> Narrow | None:
        """The schema of what the invariants tell apart, where that is less than the cells of all leaves."""
        blocks = [held.block for held in self.invariants]
        if not all(isinstance(block.given, SpreadColumns) for block in blocks):
            return None
        asked = {name for block in blocks for name in (*block.attributes, *block.where)}
        return Narrow.of(self.schema, asked)

    @property
    def _rows(self) -> csr_array | SpreadColumns:
        """All invariants over the possible cells, by distinct columns where cells of many nodes are alike."""
        blocks = [held.block for held in self.invariants]
        if self._narrow is not None:
            narrow = self._narrow
            some = np.flatnonzero(narrow.schema.possible)
            found = [margin_matrix(narrow.schema, each.attributes, each.where)[0] for each in blocks]
            rows = [csr_array((0, some.size), dtype=np.int64), *(one[:, some] for one in found)]
            return SpreadColumns(csr_array(vstack(rows, format="csr")), narrow.times)
        none = csr_array((0, self.possible.size), dtype=np.int64)
        each = [block.matrix[:, self.possible] for block in blocks]
        return csr_array(vstack([none, *each], format="csr"))

    @cached_property
    def scope(self) -> Scope:
        """The tables that a guarantee compares."""
        return Scope.of(
            self.universe,
            invariants=tuple(held.block.name for held in self.invariants),
            constraints=self._constraints,
        )

    @cached_property
    def _status(self) -> IntArray:
        from holdfast.universe.status import statuses  # noqa: PLC0415 - where it is asked for

        return statuses(self.schema, self.universe)

    def cell_status(self, *, estimated: bool) -> pl.Series:
        """Return the status of each cell, whose counts are ``estimated`` or have plain noise."""
        words = ("estimated" if estimated else STATUSES[0], *STATUSES[1:])
        return pl.Series(STATUS, words, dtype=pl.String).gather(self._status)

    def spread(self, drawn: NDArray[Any]) -> NDArray[Any]:
        """Return tables over all cells, one a row, from the counts of their possible cells."""
        if not self.schema.impossible:
            return drawn
        every = np.zeros((drawn.shape[0], self.schema.size), dtype=drawn.dtype)
        every[:, self.possible] = drawn
        return every

    def premises(self, adjacency: Adjacency, distance: int | None = None) -> Premises:
        """Return what a guarantee for these pairs of tables rests on, worked out once; it may be vacuous."""
        usual = self._premises.get(("semi", None))
        if usual is not None and adjacency == "semi" and distance == usual.semi_adjacency.worst_case:
            return usual  # it was said how far that is
        return self._premises.setdefault(
            (adjacency, distance), Premises(self.universe, self.scope, adjacency, distance, self.whom)
        )

    @cached_property
    def _premises(self) -> dict[tuple[Adjacency, int | None], Premises]:
        return {}

    @property
    def cliques(self) -> tuple[frozenset[str], ...] | None:
        """The attributes of each margin, if all invariants are plain margins or the total; else None."""
        blocks = [held.block for held in self.invariants]
        if self.schema.impossible or any(block.where or block.kind == "weights" for block in blocks):
            return None
        return even_cliques(self.schema, [block.attributes for block in blocks])

    @property
    def margins(self) -> AxisMargins | None:
        """The margins by their axes, where every attribute has an axis of its own."""
        if self.cliques is None or self.schema.within:
            return None
        sets = {frozenset(map(self.schema.axis, held.block.attributes)) for held in self.invariants}
        return AxisMargins(self.schema.shape, tuple(sorted(sets, key=sorted)))

    @cached_property
    def limits(self) -> Limits | None:
        """B x >= b of the inequalities over the possible cells; None where there are none."""
        return together(
            Limits(csr_array(sign * floor.block.matrix[:, self.possible]), np.full(rows, sign * bound))
            for floor in self.inequalities
            for rows in floor.block.matrix.shape[:1]
            for sign, bound in floor.signed
        )

    @property
    def binding(self) -> tuple[Floor, ...]:
        """The inequalities, if they leave fewer tables than the invariants do."""
        return self.inequalities if self.universe.narrowed else ()

    @cached_property
    def floors(self) -> tuple[IntArray, IntArray] | None:
        """B and b of the inequalities as arrays; None where there are none."""
        return None if self.limits is None else (self.limits.rows.toarray(), self.limits.least)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON-able values."""
        return {
            "count": self.count,
            "schema": self.schema.to_dict(),
            "invariants": [held.to_dict() for held in self.invariants],
            "nonnegative": self.nonnegative,
            "inequalities": [floor.to_dict() for floor in self.inequalities],
            "inferred": list(self.inferred),
            "unit": self.whom.unit,
            "records_per_unit": self.whom.records,
            "neighbours": self.whom.neighbours,
            "geography": list(self.geography),
            "published": [each.to_dict() for each in self.published],
        }

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Public) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.schema, self.count, self.nonnegative, self.inferred))

    @property
    def _constraints(self) -> tuple[Claim, ...]:
        zeros = len(self.schema.impossible)
        number = sum(len(floor.block.labels) * len(floor.bounds) for floor in self.inequalities)
        return (
            _whole(),
            *(() if self.whom.presence else (_as_many(self.whom),)),
            *([_structural_zeros(zeros)] if zeros else []),
            *(_nested(one.attribute, one.within) for one in self.schema.nestings),
            *([_bounded(number)] if number else []),
        )


@claim("counts-whole")
def _whole() -> str:
    return "counts are whole and not negative"


@claim("records-as-many")
def _as_many(whom: ProtectedUnit) -> str:
    return f"the number of {whom.counted} is the same"


@claim("structural-zeros")
def _structural_zeros(cells: int) -> str:
    return "1 cell is a structural zero" if cells == 1 else f"{cells:,} cells are structural zeros"


@claim("levels-nested")
def _nested(inner: str, outer: str) -> str:
    return f"each {inner} lies in one {outer}"


@claim("inequalities-public")
def _bounded(number: int) -> str:
    return "1 public inequality holds" if number == 1 else f"{number:,} public inequalities hold"


def public_margins(margins: Sequence[Margins]) -> Public:
    """Return what is public of 2 x 2 tables with these margins: one table, or one for each stratum."""
    two = ("1", "2")
    strata = tuple(str(number) for number in range(1, len(margins) + 1))
    each = (Attribute("stratum", strata),) if len(strata) > 1 else ()
    schema = Schema(Attributes((*each, Attribute("row", two), Attribute("column", two))))
    within = schema.names[:-2]
    rows, columns = ([m.rows for m in margins], [m.columns for m in margins])
    return Public(
        schema,
        "count",
        (
            Held(margin_block(schema, (*within, "row"), "row totals"), np.array(rows).ravel()),
            Held(margin_block(schema, (*within, "column"), "column totals"), np.array(columns).ravel()),
        ),
    )


def publish(spec: Spec, table: Table, inferred: tuple[str, ...]) -> Public:
    """Evaluate the invariants of a spec on the confidential table."""
    schema = table.schema
    held = tuple(_held(block, table) for block in invariant_blocks(spec, schema))
    floors = (
        *(
            Floor(block, item.at_least, item.at_most)
            for block, item in zip(
                inequality_blocks(spec, schema), spec.constraints.inequalities, strict=True
            )
        ),
        *(Floor(block, least) for block, least in floor_blocks(spec, schema, count_column(spec))),
    )
    for floor in floors:
        if floor.at_least == floor.at_most:
            raise SpecError(
                f"the inequality {floor.block.name!r} has at_least = at_most = {floor.at_least}, which is an"
                " equation: make it an invariant, so that the guarantee takes it into account."
            )
        short = floor.broken(floor.block.evaluate(table.counts))
        if short.size:
            _require_possible(floor, short, schema, held)
            raise InvariantError(
                f"the inequality {floor.block.name!r} does not hold in the data, which is to be known without"
                " them: correct one of the two."
            )
    return Public(
        schema,
        count_column(spec),
        held,
        spec.constraints.nonnegative,
        floors,
        inferred,
        spec.privacy.whom,
        spec.data.regions,
        occupied=True,
        status=_with_status(spec, schema),
    )


def _with_status(spec: Spec, schema: Schema) -> bool:
    """Return whether a status is asked for; raises SpecError where its column has no name left."""
    asked = spec.publication.status
    if asked and STATUS in (*schema.names, count_column(spec)):
        raise SpecError(
            f"{setting('publication', 'status')} adds a column {STATUS!r}, and the table has one of that"
            " name: rename that, or leave the status out."
        )
    return asked


def _require_possible(floor: Floor, short: IntArray, schema: Schema, held: tuple[Held, ...]) -> None:
    """Raise where the invariants alone keep an inequality from holding: no table has both."""
    possible = np.flatnonzero(schema.possible)
    if not held or not possible.size:
        return
    matrix = vstack([one.block.matrix[:, possible] for one in held], format="csr")
    values = np.concatenate([one.values for one in held])
    largest = max(map(abs, floor.bounds.values()))
    top = np.full(possible.size, max(int(np.abs(values).sum()), largest), dtype=np.int64)
    for row, (name, bound) in product(short.tolist(), floor.bounds.items()):
        wanted = floor.block.matrix[[row]][:, possible]
        sign = 1.0 if name == "at_least" else -1.0
        weights = sign * wanted.toarray()[0].astype(np.float64)
        found = suggest(
            -weights, csr_array(matrix), Sides.of(values, values), Sides.of(np.zeros_like(top), top)
        )
        if found is not None and weights @ found < sign * bound - NEARLY:
            cells = set(wanted.indices.tolist())
            names = [
                repr(one.block.name)
                for one in held
                if cells & set(one.block.matrix[:, possible].indices.tolist())
            ]
            raise InvariantError(
                f"the inequality {floor.block.name!r} asks for {name.replace('_', ' ')} {bound:,}, and no"
                f" table with the values of {' and '.join(names)} has that:"
                f" {'lower' if name == 'at_least' else 'raise'} it, or drop one of them."
            )


def public_from(
    schema: Schema,
    count: str,
    *,
    invariants: tuple[Mapping[str, Any], ...],
    nonnegative: bool,
    inequalities: tuple[Mapping[str, Any], ...],
    inferred: tuple[str, ...],
    whom: ProtectedUnit = RECORD,
    geography: tuple[str, ...] = (),
    quoted_formulas: bool = False,
    status: bool = False,
    published: tuple[Mapping[str, Any], ...] = (),
) -> Public:
    """Return what `Public.to_dict` described, part by part."""
    return Public(
        schema,
        count,
        tuple(
            Held(InvariantBlock.from_dict(item, schema), np.array(item["values"], dtype=np.int64))
            for item in invariants
        ),
        nonnegative,
        tuple(
            Floor(InvariantBlock.from_dict(item, schema), item.get("at_least"), item.get("at_most"))
            for item in inequalities
        ),
        inferred,
        whom,
        geography,
        quoted_formulas=quoted_formulas,
        status=status,
        published=tuple(PublishedSums.from_dict(item, Regions.of(schema, geography)) for item in published),
    )


def _held(block: InvariantBlock, table: Table) -> Held:
    values = block.evaluate(table.counts)
    if block.equals is not None and values[0] != block.equals:
        raise InvariantError(
            f"the invariant {block.name!r} says equals = {block.equals}, but the data give"
            f" {values[0]}: correct one of them."
        )
    return Held(block, values)
