"""Expected errors of counts: as told by formulas, and as seeded noise has them."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from holdfast.lattice.count_variances import count_variances
from holdfast.lattice.margins import LevelledAxis, MarginStrategy
from holdfast.mechanisms.errors.counts import Counts, usual
from holdfast.mechanisms.errors.laws import Radial, WholeNormal
from holdfast.mechanisms.errors.simulated import count_errors
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec

DRAWS = 4000
FAR = 4.5
"""Standard errors that a mean square may be off by: 60 comparisons at this distance fail once in 2,000."""


def of_sizes(
    sizes: Mapping[str, int],
    invariants: Sequence[Sequence[str]],
    mechanism: Mapping[str, Any],
    data: Mapping[str, Any] | None = None,
    counts: Sequence[int] | None = None,
    constraints: Mapping[str, Any] | None = None,
    **privacy: str,
) -> Prepared:
    """Prepare a table of attributes with so many levels."""
    cells = list(product(*([f"{name}{place}" for place in range(size)] for name, size in sizes.items())))
    numbers = np.arange(len(cells)) * 7 % 23 if counts is None else np.array(counts)
    frame = pl.DataFrame(cells, schema=list(sizes), orient="row").with_columns(pl.Series("n", numbers))
    spec = {
        "data": {"path": "table.csv", "cells": list(sizes), "count": "n", **(data or {})},
        "invariants": [{"margin": list(names)} for names in invariants],
        "constraints": dict(constraints or {}),
        "privacy": privacy,
        "mechanism": mechanism,
    }
    return prepare(Spec.of(spec), frame)


SIZES = {"a": 5, "b": 2, "c": 3}
ZCDP, PURE = {"standard": "zcdp", "rho": "1/4"}, {"standard": "pure", "epsilon": "1"}
QUERIES = [{"marginal": ["b"], "weight": "3"}, {"marginal": ["a", "b", "c"]}]
CASES: dict[str, tuple[Any, ...]] = {
    "gaussian": ([["a"]], {"name": "lattice-gaussian"}, ZCDP),
    "weighted": ([["a"]], {"name": "lattice-gaussian", "queries": QUERIES}, ZCDP),
    "crossing": ([["a"], ["b"], ["c"]], {"name": "lattice-gaussian"}, ZCDP),
    "l2": ([["a"]], {"name": "lattice-laplace", "norm": "l2"}, PURE),
    "weighted l2": ([["a"]], {"name": "lattice-laplace", "norm": "l2", "queries": QUERIES}, PURE),
    "l1": ([["a"]], {"name": "lattice-laplace"}, PURE),
    "anchored": ([["a", "b"], ["c"]], {"name": "anchored-laplace"}, PURE),
}


@pytest.mark.parametrize("case", CASES)
def test_errors_are_those_of_the_noise(case: str) -> None:
    invariants, mechanism, privacy = CASES[case]
    prepared = of_sizes(SIZES, invariants, mechanism, **privacy)
    public, law = prepared.public, prepared.mechanism.noise
    asked = [*usual(public), Counts(("a",), (("b", ("b1",)),)), Counts((), (("c", ("c0", "c2")),))]
    found = count_errors(prepared.mechanism, public, asked)
    assert found is not None
    draws = law.sample(SeededEntropy(4), DRAWS)
    for counts, errors in zip(asked, found, strict=True):
        sizes = np.abs(np.asarray(counts.rows(public) @ draws.T)).astype(np.float64)
        squares = (sizes**2).mean(axis=0)
        assert errors.is_exact == counts.fixed(public) == (not sizes.any())
        if errors.is_exact:
            continue
        error = squares.std() / np.sqrt(DRAWS)
        assert abs(squares.mean() - errors.deviation**2) < FAR * error * (1 if errors.draws is None else 2)
        means = sizes.mean(axis=0)
        allowed = FAR * means.std() / np.sqrt(DRAWS) * (1 if errors.draws is None else 2)
        assert abs(means.mean() - errors.mean_absolute) < allowed
        # each count is within, and one of them would not be within a tenth less
        within, level = errors.within(Fraction(95, 100)), 0.95
        chance = FAR * np.sqrt(level * (1 - level) / DRAWS)
        assert (sizes <= within).mean(axis=1).min() > level - chance
        assert (sizes <= min(0.9 * within, within - 1)).mean(axis=1).min() < level + chance


def test_variances_of_an_unequal_tree_are_those_of_dense_algebra() -> None:
    tree = LevelledAxis.of(6, [np.array([0, 0, 0, 1, 1, 2])])
    plain = LevelledAxis.of(3, [])
    assert tree is not None
    assert plain is not None
    for kept in ((), ((1, 0),), ((0, 1),), ((1, 1), (2, 0))):
        measured = (
            ((2, 1), Fraction(1)),
            ((1, 1), Fraction(3)),
            ((0, 1), Fraction(2)),
            ((1, 0), Fraction(1, 2)),
        )
        margins = MarginStrategy((tree, plain), kept, measured)
        form = sum(float(c) * (margins.rows(r).T @ margins.rows(r)).toarray() for r, c in measured)
        rows = (
            np.concatenate([margins.rows(reading).toarray() for reading in kept])
            if kept
            else np.zeros((1, 18))
        )
        _, sizes, right = np.linalg.svd(rows)
        basis = right[int((sizes > 1e-9).sum()) :].T
        covariance = basis @ np.linalg.inv(basis.T @ form @ basis) @ basis.T
        for asked in product(range(3), range(2)):
            dense = np.diagonal(margins.rows(asked) @ covariance @ margins.rows(asked).T)
            found = count_variances(margins, asked, [None, None])
            each = np.repeat(found, len(dense) // len(found))
            assert each == pytest.approx(dense, abs=1e-9)
        some = np.kron(np.eye(6), [[1, 1, 0]])
        found = count_variances(margins, (2, 0), [None, 2])
        assert found == pytest.approx(np.diagonal(some @ covariance @ some.T), abs=1e-9)


def test_a_wide_whole_law_agrees_with_its_sum_and_a_radial_one_with_geometric_noise() -> None:
    level = Fraction(95, 100)
    for variance in (390.0, 401.0):
        s = np.arange(-400, 401)
        weight = np.exp(-(s**2) / (2 * variance))
        size = WholeNormal(variance).half_width(level)
        assert weight[np.abs(s) <= size].sum() >= 0.95 * weight.sum() > weight[np.abs(s) < size].sum()
    one = Radial(40.0, 1)  # in one dimension a double exponential number
    assert one.half_width(level) == np.ceil(40 * np.log(20) - 0.5)
    many = Radial(1.0, 3)  # in three a coordinate of a gamma radius, uniform within: P(|S| > x) is explicit
    x = np.linspace(0, 60, 600_001)
    tail = np.trapezoid(x**2 / 2 * np.exp(-x) * np.clip(1 - 4 / np.maximum(x, 1e-9), 0, 1), x)
    assert many.half_width(Fraction(1 - float(tail)).limit_denominator(10**9)) == pytest.approx(4, abs=1)
    assert one.deviation == pytest.approx(40 * np.sqrt(2))
    assert one.mean_absolute == pytest.approx(40)
