"""Weights that are best for what a spec asks for, and the form that they make again from a certificate.

The weights are found in floats and rounded to rationals: the form, its sensitivity and its rho are worked out
exactly from these. That no weights are better is proved by a bound [holdfast, mechanisms/weights/optimum.py],
which is checked wherever a certificate is read.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import isfinite

import numpy as np

from holdfast.lattice.arrays import FloatArray
from holdfast.lattice.forms import Form
from holdfast.lattice.margins import MarginStrategy, Reading
from holdfast.mechanisms.weights.axes import MarginAxes
from holdfast.mechanisms.weights.optimum import (
    CLAIMED,
    Optimum,
    WeightProgram,
    bound_of,
    least_budget,
    least_variance,
)
from holdfast.mechanisms.weights.queries import (
    OptimumRecord,
    SpaceRecord,
    WeightedQueryRecord,
    Wish,
    canonical,
    checked_queries,
)
from holdfast.mechanisms.weights.spaces import Spaces
from holdfast.privacy.premises import Premises
from holdfast.public import Public
from holdfast.system.errors import SpecError
from holdfast.system.ways import setting

DIGITS = 10
"""Of a weight; its rounding moves variances by as little."""
NOTHING = 1e-9
"""Next to the largest weight: a level of a geography that is not worth measuring."""
AGREES = 1e-9
KEY = "mechanism.optimise_for"


def optimised(public: Public, wishes: Sequence[Wish], premises: Premises) -> OptimumRecord:
    """Return the weights of least variance for some margins; raises SpecError where there are none."""
    queries = checked_queries(public, list(_named(public, wishes)), KEY)
    axes = _spaces(public, queries, premises)[0]
    queries = tuple(query for query in queries if not axes.fixes(query.marginal))
    if not queries:
        raise SpecError(
            f"{setting(KEY)} asks for nothing but what the invariants fix: ask for a larger marginal."
        )
    axes, spaces = _spaces(public, queries, premises)  # with the levels alone that some query reads
    sums, program = _program(axes, spaces, queries)
    return _recorded(axes, spaces, queries, least_variance(program, sums, _shares(queries)))


def of_least_budget(
    public: Public, queries: Sequence[WeightedQueryRecord], most: FloatArray, premises: Premises
) -> OptimumRecord:
    """Return the weights of the least budget at which a count of each query has at most some variance.

    At the optimum they are those of least variance, too, with the prices of targets for weights: sum l_i E_i
    g / v_i is least where max E_i g / v_i is [theory, 13; holdfast, mechanisms/weights/optimum.py].
    """
    axes, spaces = _spaces(public, queries, premises)
    sums, program = _program(axes, spaces, queries)
    found = least_budget(program, sums, most)
    shares = found.prices / most
    shares = np.maximum(shares / shares.max(), NOTHING)
    priced = tuple(
        query.model_copy(update={"weight": Fraction(f"{share:.{DIGITS}g}")})
        for query, share in zip(queries, shares.tolist(), strict=True)
    )
    return _recorded(axes, spaces, priced, found).model_copy(update={"least": "budget"})


def budget_gap(public: Public, record: OptimumRecord, most: FloatArray, premises: Premises) -> float:
    """Return how far the budget of a record's weights is above the least at most, relative to it.

    Here a record that moves loses what it does by the program, and the variances of a margin are their mean.
    """
    axes, spaces = _spaces(public, record.queries, premises)
    sums, program = _program(axes, spaces, record.queries)
    k = _normed(spaces, program, _by_reading(axes, spaces, record))
    rows = sums / most[:, None]
    value = float((rows @ program.variances.at(k)[0]).max())
    bound = bound_of(program, rows, k, _shares(record.queries) * most, np.array(record.losses))
    return value / bound - 1 if bound > 0 else np.inf


def _recorded(
    axes: MarginAxes, spaces: Spaces, queries: tuple[WeightedQueryRecord, ...], found: Optimum
) -> OptimumRecord:
    """Return weights as fractions, with what proves them."""
    sums, program = _program(axes, spaces, queries)
    top = float(found.weights.max())
    weights = tuple(
        SpaceRecord(marginal=tuple(axes.names(each)), weight=Fraction(f"{weight:.{DIGITS}g}"))
        for each, weight in zip(spaces.readings, found.weights.tolist(), strict=True)
        if weight > NOTHING * top
    )
    losses = np.array([float(f"{each:.{DIGITS}g}") for each in found.losses])
    bare = OptimumRecord(queries=queries, weights=weights, variance=1.0, bound=1.0, losses=tuple(losses))
    variance, bound = _values(spaces, sums, program, bare, _by_reading(axes, spaces, bare))
    return bare.model_copy(update={"variance": variance, "bound": bound})


def proved(
    public: Public, record: OptimumRecord, premises: Premises
) -> tuple[Form, tuple[tuple[str, ...], ...]]:
    """Return the form of a certificate's weights, and the attributes of the margins that are its parts.

    Raises SpecError where what is claimed of them does not hold.
    """
    for query in record.queries:
        query.require_known(public)
    if canonical(record.queries, public.schema) != record.queries:
        raise SpecError("the queries of a certificate are not in their order, or some are there twice.")
    axes, spaces = _spaces(public, record.queries, premises)
    weights = _by_reading(axes, spaces, record)
    sums, program = _program(axes, spaces, record.queries)
    if len(record.losses) != len(program.moves) or not all(map(isfinite, record.losses)):
        raise SpecError("the bound of a certificate's variance is not that of its invariants.")
    margins = MarginStrategy(axes.levelled, axes.kept, spaces.strengths(weights))
    if margins.unmeasured is not None:
        raise SpecError("the weights of a certificate leave differences of tables without a law.")
    variance, bound = _values(spaces, sums, program, record, weights)
    stated = record.variance, record.bound
    if not all(abs(a - b) <= AGREES * abs(b) for a, b in zip(stated, (variance, bound), strict=True)):
        raise SpecError("the variance of a certificate, or its bound, is not that of its weights.")
    if record.gap > CLAIMED:
        raise SpecError("the weights of a certificate are not those of least variance.")
    form = Form.of(margins, whole=False)  # what is kept is 0 on L
    return form, tuple(tuple(axes.names(each)) for each, _ in margins.open)


def _named(public: Public, wishes: Sequence[Wish]) -> Iterator[Wish]:
    """Yield wishes for one margin each, and those of up to some attributes that no other names.

    Of attributes that lie in each other, as levels of a geography do, a margin has one.
    """
    axis_of = {name: at for at, axis in enumerate(public.schema.grid.axes) for name in axis.names}
    seen = set()
    for wish in wishes:
        if wish.up_to is None:
            seen.add(frozenset({*(wish.marginal or ()), *filter(None, [wish.level])}))
            yield wish
    for wish in wishes:
        for size in range(min(wish.up_to or -1, len(axis_of)) + 1):
            for each in combinations(public.schema.names, size):
                if len({axis_of[name] for name in each}) == size and frozenset(each) not in seen:
                    seen.add(frozenset(each))
                    yield Wish(marginal=each, weight=wish.weight)


def _spaces(
    public: Public, queries: Sequence[WeightedQueryRecord], premises: Premises
) -> tuple[MarginAxes, Spaces]:
    axes = MarginAxes.of(public, queries)
    if axes is None:
        raise SpecError(
            f"{setting(KEY)} is for tables without structural zeros, all of whose invariants are whole"
            f" margins and levels of one geography: give {setting('mechanism.queries')} with weights instead."
        )
    together = None
    if premises.adjacency == "semi":  # one that moves is one that goes and one that comes
        together = premises.unit.distance // (2 if public.whom.presence else 1)
    return axes, Spaces.of(
        MarginStrategy(axes.levelled, axes.kept, ()), public.whom.neighbours, together or None
    )


def _program(
    axes: MarginAxes, spaces: Spaces, queries: Sequence[WeightedQueryRecord]
) -> tuple[FloatArray, WeightProgram]:
    sums = np.array([spaces.sums(axes.reading(query.marginal)) for query in queries])
    if not sums.any(axis=1).all():
        raise SpecError("a query of a certificate is fixed by the invariants, and has no noise.")
    return sums, spaces.program(sums)


def _shares(queries: Sequence[WeightedQueryRecord]) -> FloatArray:
    return np.array([float(query.weight) for query in queries])


def _by_reading(axes: MarginAxes, spaces: Spaces, record: OptimumRecord) -> dict[Reading, Fraction]:
    found = {axes.reading(each.marginal): each.weight for each in record.weights}
    named = [tuple(axes.names(each)) for each in spaces.readings if each in found]
    if named != [each.marginal for each in record.weights]:
        raise SpecError(
            "a weight of a certificate is there twice, out of order, or for what its invariants fix."
        )
    return found


def _values(
    spaces: Spaces,
    sums: FloatArray,
    program: WeightProgram,
    record: OptimumRecord,
    weights: dict[Reading, Fraction],
) -> tuple[float, float]:
    """Return the variance of weights, at the largest multiple of them that may be, and the bound."""
    k = _normed(spaces, program, weights)
    rows = (_shares(record.queries) @ sums)[None]
    value = float((rows @ program.variances.at(k)[0])[0])
    return value, bound_of(program, rows, k, np.ones(1), np.array(record.losses))


def _normed(spaces: Spaces, program: WeightProgram, weights: dict[Reading, Fraction]) -> FloatArray:
    """Return the largest multiple of weights that may be."""
    k = np.array([float(weights.get(each, 0)) for each in spaces.readings])
    return np.asarray(k / float((program.moves @ k).max()))
