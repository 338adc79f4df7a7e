"""What conditioning costs: the gamma of [congenial-dp, Theorem 2.1], computed or bounded.

A mechanism that loses epsilon_0 between two tables loses at most (1 + gamma) epsilon_0 once it is conditioned
on what its releases must satisfy, with gamma between -1 and 1. Conditioning on equalities A y = A x is free:
the normaliser is the same for all tables with the same invariants, so gamma = 0 [theory, 4]. With
inequalities the normalisers differ, and what they add is worked out here over all pairs of tables that a
guarantee speaks of, from public values alone (see normaliser.py). Where every table looks like every other
they do not differ, and gamma is 0 again [holdfast, universe/tables.py].

The paper also finds gamma = -1/2 for the histogram of two bins with a fixed total [congenial-dp, Example 4.1;
congenial-dp, Section 5.1]. It charges epsilon for each of two steps, removing a record and adding it
elsewhere, and observes a loss of epsilon. Charged for the one record that is replaced, gamma is 0;
``charged`` tells both.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.components import Component
from holdfast.lattice.nested import is_totally_unimodular
from holdfast.mechanisms.truncation.spread import (
    NONE,
    SCALE,
    BoundBasis,
    ComponentLoss,
    Free,
    LineBounds,
    ListedTables,
    Twice,
)
from holdfast.privacy.premises import Premises
from holdfast.public import Public
from holdfast.system.errors import GuaranteeError
from holdfast.universe.tables import conforming_tables, looks_alike
from holdfast.universe.universe import Universe

TABLES = 1000
"""Tables that are listed at most, in all components together: seconds."""
TABLES_AND_RELEASES = 300
"""The same where releases are other than tables."""
CELLS = 24
"""Components with more cells are not listed: the search alone would take too long."""
DIGITS = 10**9
"""Losses are rounded up to this fraction of one."""


@dataclass(frozen=True, eq=False)
class Inequalities:
    """B y >= b, conditions on the release y: integer rows and their least values."""

    rows: IntArray
    least: IntArray

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or self.rows.shape[0] != self.least.size:
            raise GuaranteeError(
                f"the inequalities have {self.rows.shape} coefficients and {self.least.size} least values:"
                " give one row of coefficients for each value."
            )

    @classmethod
    def of(cls, public: Public) -> "Inequalities | None":
        """Return those of a spec, over the possible cells; None where it has none."""
        return None if public.floors is None else cls(*public.floors)

    def digest(self, nonnegative: bool) -> str:
        """Return what identifies them; ``nonnegative`` says whether y >= 0 as well."""
        found = hashlib.sha256()
        for part in (np.array([nonnegative, *self.rows.shape]), self.rows, self.least):
            found.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        return found.hexdigest()[:32]

    def bound(self, universe: Universe) -> bool:
        """Whether they are those that the tables of a universe are known to keep."""
        known = universe.declared
        return (
            known is not None
            and np.array_equal(self.least, known.least)
            and np.array_equal(self.rows, known.rows.toarray())
        )

    def hold(self, points: IntArray) -> BoolArray:
        """Tell which rows keep them."""
        return np.asarray((points @ self.rows.T >= self.least).all(axis=1))


@dataclass(frozen=True)
class Congeniality:
    """The cost of conditioning over all pairs that a guarantee speaks of.

    Attributes:
        loss: an upper bound of what the conditioned law loses between two such tables.
        base: what the law loses without the inequalities.
        exact: whether ``loss`` is attained, up to rounding.
        how: what it rests on.

    """

    loss: Fraction
    base: Fraction
    exact: bool
    how: tuple[BoundBasis, ...]

    @property
    def gamma(self) -> Fraction:
        """Gamma in loss = (1 + gamma) base; -1 where nothing is lost."""
        return self.loss / self.base - 1 if self.loss else Fraction(-1)

    def charged(self, epsilon: Fraction, steps: int) -> Fraction:
        """Return gamma in loss = (1 + gamma) steps epsilon, for a base charged epsilon for each step."""
        return self.loss / (steps * epsilon) - 1


@dataclass(frozen=True, eq=False)
class Conditioning:
    """A double geometric law conditioned on invariants and inequalities, ready for any epsilon.

    ``parts`` bound the losses of components that have nothing in common, the number of alike ones with each.
    """

    premises: Premises
    parts: tuple[tuple[ComponentLoss, int], ...]
    exact: bool

    @classmethod
    def of(
        cls,
        premises: Premises,
        *,
        nonnegative: bool,
        inequalities: Inequalities | None = None,
        tables: int | None = None,
    ) -> "Conditioning":
        """Look at the universe once; at most ``tables`` tables are listed, 0 is none."""
        universe = premises.universe
        # whether releases are the tables that are compared
        same = nonnegative and (inequalities is None or inequalities.bound(universe))
        if (not nonnegative and inequalities is None) or (same and looks_alike(universe)):
            return cls(premises, (), exact=premises.adjacency == "unit" or premises.sensitivity.exact)
        if not same or universe.limits is not None:
            limit = TABLES_AND_RELEASES if tables is None else tables
            part = _whole(universe, None if same else inequalities, limit if nonnegative else 0)
            return cls(premises, ((part, 1),), exact=part.exact)
        parts = tuple(_components(universe, TABLES if tables is None else tables))
        return cls(premises, parts, exact=all(part.exact for part, _ in parts))

    def at(self, epsilon: Fraction) -> Congeniality:
        """Return the cost for noise proportional to exp(-epsilon ||z||_1)."""
        premises = self.premises
        base = epsilon * (2 * premises.unit.distance if self._by_record else premises.sensitivity.l1)
        if not self.parts:
            return Congeniality(base, base, self.exact, ("same",))
        how = tuple(sorted({part.how for part, _ in self.parts}))
        rounded = Fraction(ceil(self._loss(epsilon) * DIGITS), DIGITS)
        loss = min(rounded, 2 * base)  # [congenial-dp, Theorem 2.1]
        return Congeniality(loss, base, self.exact, how)

    def per_unit(self, epsilon: Fraction) -> Fraction:
        """Return a bound of loss / ||x - x'||_1 over all pairs: both add up over the parts."""
        if not self.parts:
            return epsilon
        return max(part.per_unit(epsilon) for part, _ in self.parts)

    @property
    def _by_record(self) -> bool:
        return self.premises.adjacency == "unit"

    def _loss(self, epsilon: Fraction) -> Fraction:
        if self._by_record:  # d(x, x') = ||x - x'||_1 / 2 [theory, 1]
            return 2 * self.premises.unit.distance * self.per_unit(epsilon)
        reach = min(2 * self.premises.unit.distance, self.premises.sensitivity.l1)
        best = [0] + [NONE] * reach
        for part, copies in self.parts:
            losses = part.at(epsilon, reach)
            for _ in range(min(copies, reach)):
                best = _both(best, losses)
        return Fraction(max(best), 1 << SCALE)


def congeniality(
    premises: Premises,
    epsilon: Fraction,
    *,
    nonnegative: bool,
    inequalities: Inequalities | None = None,
) -> Congeniality:
    """Return the cost of conditioning double geometric noise of parameter epsilon a unit.

    Small universes are listed and answered exactly; others get the best bound that is proved.
    """
    if epsilon <= 0:
        raise GuaranteeError("the noise parameter epsilon must be positive: give a fraction above 0.")
    return Conditioning.of(premises, nonnegative=nonnegative, inequalities=inequalities).at(epsilon)


def _both(one: list[int], other: list[int]) -> list[int]:
    """Return the largest loss of two components together, for each distance shared between them."""
    best = [NONE] * len(one)
    for v, first in enumerate(one):
        for w, second in enumerate(other[: len(one) - v]):
            if NONE not in (first, second):
                best[v + w] = max(best[v + w], first + second)
    return best


class _AlikeComponents(NamedTuple):
    """Components that are alike: one of them as a universe, whether its sum is fixed, and their number."""

    part: Universe
    balanced: bool
    copies: int


def _kinds(universe: Universe) -> list[_AlikeComponents]:
    """Return the components that some invariant touches, alike ones together, small ones first."""
    alike: dict[tuple[object, ...], list[Component]] = {}
    for block in universe.components:
        if block.rows.size == 1:  # often very many
            row = slice(*universe.matrix.indptr[block.rows[0] : block.rows[0] + 2])
            value = int(universe.values[block.rows[0]])
            key: tuple[object, ...] = (universe.matrix.data[row].tobytes(), value)
        elif block.rows.size:
            part = _part(universe, block)
            key = (part.matrix.shape, part.matrix.toarray().tobytes(), part.values.tobytes())
        else:
            continue
        alike.setdefault(key, []).append(block)
    parts = [(_part(universe, blocks[0]), len(blocks)) for blocks in alike.values()]
    kinds = [_AlikeComponents(part, part.total is not None, copies) for part, copies in parts]
    return sorted(kinds, key=lambda kind: kind.part.cells)


def _part(universe: Universe, block: Component) -> Universe:
    """Return one component as a universe: its tables are the parts of conforming tables."""
    rows = csr_array(universe.matrix[block.rows][:, block.cells])
    return Universe(rows, universe.values[block.rows], None)


def _components(universe: Universe, tables: int) -> Iterator[tuple[ComponentLoss, int]]:
    """Yield the losses of each kind of component, with their number."""
    kinds = _kinds(universe)
    free = any(not block.rows.size for block in universe.components)
    # whether tables of the same size have the same size in every component
    balanced = len(universe.components) == 1 or all(kind.balanced for kind in kinds)
    step = 2 if balanced else 1
    if free:
        yield Free(step), 1
    bounds: Counter[ComponentLoss] = Counter()
    for part, _, copies in kinds:
        if not part.dimension:
            continue
        found = _listed(part, tables) if _few(part, tables) else None
        if found is not None:
            tables -= found.shape[0]
            yield ListedTables(found, found, balanced=balanced), copies
            continue
        if _few(part, tables):
            tables = 0  # a search that was in vain is not made twice
        bounds[LineBounds(step, _longest(part))] += copies
    yield from bounds.items()


def _longest(part: Universe) -> int | None:
    """Return how long the pieces of a difference of tables can be; None where that is not known."""
    if part.rank == part.patterns.count:
        return 2
    if not is_totally_unimodular(part.patterns.columns):
        return None
    longest = part.rank + 1
    even = part.total is not None  # then there are as many entries 1 as -1
    return longest - longest % 2 if even else longest


def _whole(universe: Universe, inequalities: Inequalities | None, tables: int) -> ComponentLoss:
    """Return the losses where inequalities other than signs tie everything together."""
    found = _listed(universe, tables) if _few(universe, tables) else None
    if found is None:
        return Twice()
    releases = found if inequalities is None else found[inequalities.hold(found)]
    if not releases.size:
        raise GuaranteeError(
            "no table of counts with these invariants keeps the inequalities: correct or drop one of them."
        )
    return ListedTables(found, releases, balanced=True)


def _listed(universe: Universe, limit: int) -> IntArray | None:
    """Return all tables, or None where they are too many."""
    try:
        return conforming_tables(universe, limit)
    except GuaranteeError:
        return None


def _few(universe: Universe, limit: int) -> bool:
    """Whether there may be few tables: for one plain total their number is known without a search."""
    if universe.cells > CELLS or limit <= 0:
        return False
    if universe.limits is None and universe.rank == 1 and bool((universe.matrix.data == 1).all()):
        return comb(int(universe.values[0]) + universe.cells - 1, universe.cells - 1) <= limit
    return True
