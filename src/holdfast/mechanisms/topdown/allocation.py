"""Shares of the budget: by level, and within a level by query; given, equal, or those with small errors.

On a tree in which all nodes of a level have the same number of children, without bounds, the best linear
unbiased estimates have covariances that all queries share the axes of: for marginals of a product of
attributes these are the contrasts in each set S of attributes, on which W_q'W_q is

    the product of the numbers of levels of all attributes outside of q  where S lies in q,  else 0.

So two passes over numbers [theory, 11] give the variance of any marginal on any level, and the sum of those
that are asked for is minimised over the shares. Geographies are taken as such trees by the mean number of
children: this settles shares, and no claim rests on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Literal

import numpy as np

from holdfast.lattice.arrays import FloatArray
from holdfast.mechanisms.topdown.design import MarginalQuery, MeasurementDesign, below
from holdfast.mechanisms.topdown.options import Aim
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import setting


@dataclass(frozen=True)
class Allocation:
    """The share of each level, root first, and the weight of each query within a level."""

    levels: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]

    def shares(self, design: MeasurementDesign) -> tuple[Fraction, ...]:
        """Return the share of everything that is measured; they sum to 1.

        A query that is not measured on a level, as invariants fix it, leaves its part to the others there.
        """
        totals = [Fraction(0)] * len(self.levels)
        for each in design.measured:
            totals[each.level] += self.weights[each.query]
        return tuple(
            self.levels[each.level] * self.weights[each.query] / totals[each.level]
            for each in design.measured
        )


def levels_of(
    design: MeasurementDesign, asked: Mapping[str, Fraction] | Literal["equal"]
) -> tuple[Fraction, ...]:
    """Return the share of each level, root first; raises SpecError where they do not fit the geography."""
    names = design.regions.levels
    measured = sorted({each.level for each in design.measured})
    if not measured:
        raise SpecError(
            f"{setting('mechanism.queries')} asks for nothing but what the invariants fix: ask for a larger"
            " marginal."
        )
    if asked == "equal":
        return tuple(Fraction(int(level in measured), len(measured)) for level in range(len(names)))
    _require_levels(names, asked)
    for level, name in enumerate(names):
        if asked[name] and level not in measured:
            raise SpecError(
                f"{setting('mechanism', 'allocation')} gives {name} {asked[name]}, and the invariants fix"
                f' all that is asked of it: give {name} "0", and its share to other levels.'
            )
    return tuple(asked[name] for name in names)


def _require_levels(names: Sequence[str], asked: Mapping[str, Fraction]) -> None:
    for name in asked:
        if name not in names:
            raise SpecError(
                f"{setting('mechanism', 'allocation')} names {name!r}, which is no level of the geography:"
                f" {closest(name, names)}"
            )
    for name in names:
        if name not in asked:
            raise SpecError(
                f"{setting('mechanism', 'allocation')} has no share for the level {name!r}: give one, as"
                ' "1/4", or "0".'
            )


PARTS = 1000
"""Shares are whole numbers of this many parts."""
MOST_ATTRIBUTES = 12
FIXED = 1e12
"""How much more an invariant says than a measurement: enough to settle shares."""


def optimised(
    design: MeasurementDesign, weights: Sequence[Fraction], aims: Sequence[Aim]
) -> tuple[Fraction, ...]:
    """Return the shares of the levels, root first, that make the errors of the aims least."""
    from scipy.optimize import minimize  # noqa: PLC0415 - loaded late

    asked = _weighted_queries(design, aims)
    measured = sorted({each.level for each in design.measured})
    if len(measured) < 2:
        return levels_of(design, "equal")  # nothing to choose
    tree = _RegularTree.of(design, weights)

    def error(logits: FloatArray) -> float:
        shares = np.zeros(len(design.regions.sizes))
        full = np.exp(np.append(logits, 0.0) - max(logits.max(initial=0.0), 0.0))
        shares[measured] = full / full.sum()
        return float(np.log(tree.error(shares, asked)))

    found = minimize(error, np.zeros(len(measured) - 1), method="Nelder-Mead", options={"maxiter": 4000}).x
    full = np.exp(np.append(found, 0.0) - max(found.max(initial=0.0), 0.0))
    parts = np.maximum(np.rint(PARTS * full / full.sum()).astype(int), 1)
    parts[int(np.argmax(parts))] += PARTS - int(parts.sum())
    shares = [Fraction(0)] * len(design.regions.sizes)
    for level, part in zip(measured, parts.tolist(), strict=True):
        shares[level] = Fraction(part, PARTS)
    return tuple(shares)


def _weighted_queries(
    design: MeasurementDesign, aims: Sequence[Aim]
) -> list[tuple[int, MarginalQuery, float]]:
    names = design.regions.levels
    found = []
    for aim in aims:
        if aim.level not in names:
            raise SpecError(
                f"{setting('mechanism.optimise_for', 'level')} is {aim.level!r}, which is no level of the"
                f" geography: {closest(aim.level, names)}"
            )
        query = MarginalQuery.of(aim.marginal, design.regions, of="optimise_for")
        found.append((names.index(aim.level), query, float(aim.weight)))
    return found or [(level, query, 1.0) for level in range(len(names)) for query in design.queries]


@dataclass(frozen=True, eq=False)
class _RegularTree:
    """A regular tree: children of each node by level, and information by level and contrast for share 1."""

    sets: tuple[frozenset[str], ...]
    sizes: dict[str, int]
    children: FloatArray
    information: FloatArray
    """One row a level, one column a set of attributes."""
    known: FloatArray

    @classmethod
    def of(cls, design: MeasurementDesign, weights: Sequence[Fraction]) -> "_RegularTree":
        regions = design.regions
        if len(regions.names) > MOST_ATTRIBUTES:
            raise SpecError(
                f'{setting("mechanism", "allocation")} = "optimise" is for at most {MOST_ATTRIBUTES}'
                " attributes: give shares by level."
            )
        sizes = {name: len(regions.cells.attribute(name).levels) for name in regions.names if regions.cells}
        sets = tuple(
            frozenset(some) for k in range(len(sizes) + 1) for some in combinations(regions.names, k)
        )
        nodes = np.array(regions.sizes, dtype=np.float64)
        information = np.zeros((nodes.size, len(sets)))
        known = np.zeros_like(information)
        for level in range(nodes.size):
            here = [each for each in design.measured if each.level == level]
            total = sum((weights[each.query] for each in here), Fraction(0))
            for each in here:
                query = design.queries[each.query]
                strength = float(weights[each.query] / total) / each.sensitivity
                information[level] += strength * _eigenvalues(query, sets, sizes)
            if (rows := below(design.kept, regions.sizes, level)).shape[0]:
                known[level, 0] = FIXED  # some sum of all is known; finer contrasts are left to the data
                if rows.shape[0] >= regions.width:
                    known[level] = FIXED
        return cls(sets, sizes, nodes[1:] / nodes[:-1], information, known)

    def error(self, shares: FloatArray, asked: Sequence[tuple[int, MarginalQuery, float]]) -> float:
        """Return the weighted sum of mean variances of the rows of what is asked."""
        own = self.information * shares[:, None] + self.known + 1e-12
        up = [1 / own[-1]]
        for level in reversed(range(len(own) - 1)):
            up.append(1 / (own[level] + 1 / (self.children[level] * up[-1])))
        up.reverse()
        final = [up[0]]
        for level in range(1, len(own)):
            total = self.children[level - 1] * up[level]
            gain = up[level] / total
            final.append(up[level] - gain * up[level] + gain**2 * final[-1])
        found = 0.0
        for level, query, weight in asked:
            number = np.array([prod(self.sizes[name] - 1 for name in some) for some in self.sets])
            trace = float((number * _eigenvalues(query, self.sets, self.sizes) * final[level]).sum())
            found += weight * trace / query.rows.shape[0]
        return found


def _eigenvalues(query: MarginalQuery, sets: Sequence[frozenset[str]], sizes: dict[str, int]) -> FloatArray:
    outside = prod(size for name, size in sizes.items() if name not in query.marginal)
    inside = frozenset(query.marginal)
    return np.array([float(outside) if some <= inside else 0.0 for some in sets])
