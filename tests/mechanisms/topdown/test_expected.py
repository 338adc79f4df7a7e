"""Expected errors of best linear estimates, told before anything is measured."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.mechanisms.topdown.small import spec

from holdfast.mechanisms.errors.counts import Counts, usual
from holdfast.mechanisms.topdown.best_linear import MeasuredNodes
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy

DRAWS = 300
FAR = 4.5
"""Standard errors."""


@pytest.mark.parametrize("privacy", [{"standard": "zcdp", "rho": "1"}, {"standard": "pure", "epsilon": "4"}])
def test_estimates_are_off_as_told(privacy: Mapping[str, str], tmp_path: Path) -> None:
    prepared = prepare(spec(tmp_path, privacy={**privacy, "adjacency": "unit"}))
    mechanism, public = prepared.mechanism, prepared.public
    asked = list(usual(public))
    found = dict(zip(asked, mechanism.errors(public, asked), strict=True))
    assert {Counts(("state",)), Counts(("tract", "age")), Counts(public.schema.names)} < set(found)
    assert found[Counts(("county",))].is_exact
    law, entropy = mechanism.law(prepared.counts), SeededEntropy(8)
    true = {
        level: table.reshape(len(table), 2, 2)
        for level, table in zip(
            mechanism.design.regions.levels, mechanism.design.regions.sums(prepared.counts), strict=True
        )
    }
    cases = [("tract", ("tract", "age"), (3,)), ("block", public.schema.names, ()), ("state", ("sex",), (2,))]
    squares: dict[str, list[float]] = {}
    inside: dict[str, list[float]] = {}
    for _ in range(DRAWS):
        nodes = MeasuredNodes.of(mechanism, law.measure(entropy))
        for level, names, summed in cases:
            off = nodes.estimates.at(level).reshape(true[level].shape) - true[level]
            off = off.sum(axis=tuple(axis - 1 for axis in summed))
            within = found[Counts(names)].within(Fraction(95, 100))
            squares.setdefault(level, []).append(float((off**2).mean()))
            inside.setdefault(level, []).append(float((np.abs(off) <= within).mean()))
    for level, names, _ in cases:
        apart = np.mean(squares[level]) - found[Counts(names)].deviation ** 2
        assert abs(apart) < FAR * np.std(squares[level]) / np.sqrt(DRAWS)
        assert np.mean(inside[level]) > 0.95 - FAR * np.hypot(np.std(inside[level]), 0.01) / np.sqrt(DRAWS)


def test_a_margin_that_no_query_measures_has_no_error_to_tell(tmp_path: Path) -> None:
    queries = [{"marginal": []}, {"marginal": ["sex"]}]
    prepared = prepare(spec(tmp_path, mechanism={"name": "topdown", "queries": queries}))
    (error,) = prepared.mechanism.errors(prepared.public, [Counts(("county", "age"))])
    assert error.unknown
    assert error.within(Fraction(1, 2)) == np.inf
