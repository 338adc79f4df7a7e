"""Base measures: which releases they are over, and with what weight."""

from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
from tests.contract.cases import NOT_NEGATIVE
from tests.mechanisms.wasserstein.worlds import exponential, log_weights

from holdfast.mechanisms.wasserstein.measure import BaseMeasure
from holdfast.system.errors import GuaranteeError
from holdfast.universe.tables import conforming_tables

PURE = {"epsilon": "1"}
FLOOR = {**NOT_NEGATIVE, "inequalities": [{"where": {"level": "a"}, "at_least": 2}]}
ORDERED = {**NOT_NEGATIVE, "inequalities": [{"weights": {"file": "weights.csv"}, "at_least": 0}]}
PRIOR = {"prior": "past.csv", "floor": "0"}


def measure(folder: Path, world: str, options: dict[str, Any], constraints: dict[str, Any]) -> BaseMeasure:
    return exponential(folder, world, PURE, options, constraints)[0].measure


def test_only_what_is_the_same_around_every_table_is_constant(tmp_path: Path) -> None:
    assert measure(tmp_path, "one total", {}, {}).constant
    assert measure(tmp_path, "one total", {"base": "counting"}, {}).constant
    for options, constraints in (({}, NOT_NEGATIVE), (PRIOR, NOT_NEGATIVE), ({}, FLOOR)):
        assert not measure(tmp_path, "one total", options, constraints).constant


@pytest.mark.parametrize(
    ("world", "options", "constraints"),
    [
        ("one total", {}, FLOOR),
        ("one total", PRIOR, FLOOR),
        ("cases and deaths", {**PRIOR, "prior_where": {"kind": "c"}, "floor": "1/2"}, ORDERED),
    ],
)
def test_releases_are_listed_and_weighted(
    world: str, options: dict[str, Any], constraints: dict[str, Any], tmp_path: Path
) -> None:
    mechanism, subject = exponential(tmp_path, world, PURE, options, constraints)
    own, tables = mechanism.measure, conforming_tables(subject.public.universe.unlimited, 2000)
    floors = subject.public.floors
    assert floors is not None
    kept = (tables @ floors[0].T >= floors[1]).all(axis=1)
    for cell, a in enumerate(own.pseudo or ()):
        kept &= (tables[:, cell] == 0) | bool(a)
    listed = own.listed(1000)
    assert listed is not None
    assert np.array_equal(listed, tables[kept])
    assert 0 < kept.sum() < tables.shape[0]
    totals = own.totals
    assert totals is not None
    assert np.array_equal(totals.inside(tables), kept)
    assert own.largest == tables.max()
    with flint.ctx.workprec(100):
        weights = np.array([float(own.log_weight(release).mid()) for release in listed])
    nothing_lost = log_weights(mechanism, listed[0], listed, by=0.0)
    assert np.allclose(weights - weights[0], nothing_lost - nothing_lost[0])


def test_counting_keeps_nothing(tmp_path: Path) -> None:
    mechanism, _ = exponential(tmp_path, "one total", PURE, {"base": "counting"}, {})
    assert mechanism.measure.matrix.shape == (0, 3)
    assert mechanism.measure.listed(10) is None
    assert mechanism.measure.largest is None
    assert not mechanism.traits.keeps_invariants


def test_nothing_left_is_said_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(GuaranteeError, match="give it a floor in"):
        exponential(
            tmp_path,
            "one total",
            PURE,
            PRIOR,
            {**NOT_NEGATIVE, "inequalities": [{"where": {"level": "b"}, "at_least": 1}]},
        )
