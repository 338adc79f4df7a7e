"""All that can fail is looked at before anything is drawn, in one sentence each."""

from typing import Any

import pyarrow as pa
import pytest
from tests.mechanisms.swapping.small import asked, households, surveyed
from tests.sampling.replayed import ReplayedEntropy

from holdfast.mechanisms.swapping.details import swapping_of
from holdfast.releases.prepare import prepare
from holdfast.releases.records import prepare_records
from holdfast.sampling.entropy import SeededEntropy, SystemEntropy
from holdfast.system.errors import DataError, GuaranteeError, HoldfastError, ReleaseError, SpecError

BAD: list[tuple[type[HoldfastError], dict[str, Any], str]] = [
    (SpecError, {"mechanism": {"stratify": ["stat"]}}, "stratify names 'stat', .* did you mean 'state'"),
    (SpecError, {"mechanism": {"swap": ["countyy"]}}, "swap names 'countyy', .* did you mean 'county'"),
    (SpecError, {"mechanism": {"swap": ["state"]}}, "'state', which is also in stratify"),
    (SpecError, {"mechanism": {"stratify": ["state", "size", "tenure", "income"]}}, "name every column"),
    (SpecError, {"mechanism": {"rate": "0"}}, "above 0 and below 1"),
    (SpecError, {"mechanism": {"rate": "1.5"}}, "above 0 and below 1"),
    (SpecError, {"mechanism": {"rate": "abc"}}, "rate"),
    (SpecError, {"mechanism": {"rate": None}}, "epsilon is missing"),
    (SpecError, {"data": {"cells": ["count"]}}, "cells names 'count', .* did you mean 'county'"),
    (SpecError, {"data": {"count": "n"}}, "count is for tables of counts"),
    (SpecError, {"data": {"missing": ["x"]}}, "missing is for tables of counts"),
    (
        SpecError,
        {"privacy": {"standard": "zcdp", "rho": "1"}},
        "standard = 'zcdp' is not met by permutation-swapping",
    ),
    (SpecError, {"constraints": {"inequalities": [{"total": True, "at_least": 1}]}}, "constraints"),
    (GuaranteeError, {"privacy": {"adjacency": "semi", "epsilon": "9"}}, 'adjacency="unit"'),
    (GuaranteeError, {"privacy": {"epsilon": "1/10"}, "mechanism": {"rate": None}}, "ask for at least"),
    (GuaranteeError, {"privacy": {"epsilon": "1"}}, "gives epsilon .* above the target 1"),
    (GuaranteeError, {"mechanism": {"stratify": ["income"]}}, "every stratum has one record"),
    (
        DataError,
        {
            "mechanism": {"stratify": ["size"], "swap": ["state"]},
            "data": {"cells": ["state"], "levels": {"state": ["0"]}},
        },
        "level '1', which is not declared",
    ),
]


@pytest.mark.parametrize(("kind", "sections", "said"), BAD)
def test_what_cannot_be_done_is_told_in_one_sentence(
    kind: type[HoldfastError], sections: dict[str, Any], said: str
) -> None:
    with pytest.raises(kind, match=said) as refused:
        prepare_records(asked(**sections), households())
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith((".", "?"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda t: t.set_column(2, "county", pa.array([float(at) for at in range(60)])),
            "column 'county' holds double values",
        ),
        (
            lambda t: t.set_column(0, "state", pa.array([[at] for at in range(60)])),
            "column 'state' holds list",
        ),
        (
            lambda t: t.set_column(2, "county", pa.array(["x"] * 60)),
            "every swap would leave the file as it is",
        ),
        (lambda t: t.slice(0, 0), "has no records"),
        (lambda t: t.slice(0, 1), "every stratum has one record"),
        (lambda t: t.select(["state", "size", "county"]), "name every column"),
        (
            lambda t: t.set_column(4, "income", pa.array([1] * 60)).set_column(
                3, "tenure", pa.array(["x"] * 60)
            ),
            "every swap would leave",
        ),
        (
            lambda t: t.set_column(0, "state", pa.array([None, *["1"] * 59])),
            "column 'state' has no value in 1 record",
        ),
    ],
)
def test_files_that_cannot_be_swapped_are_told_in_one_sentence(change: Any, said: str) -> None:
    with pytest.raises(HoldfastError, match=said) as refused:
        prepare_records(asked(), change(households()))
    assert "\n" not in str(refused.value)


def test_missing_values_may_be_a_level() -> None:
    gaps = households().set_column(0, "state", pa.array([None] * 3 + ["1"] * 57))
    ready = prepare_records(asked(mechanism={"nulls": "level"}), gaps)
    design, details = swapping_of(ready.certify(secure=True).records)
    assert sum(one.size * one.strata for one in details.strata.sizes) == 60
    assert design.nulls == "level"


@pytest.mark.parametrize("bound", ["slides", "tight"])
def test_the_rate_that_meets_a_target_is_solved_for(bound: str) -> None:
    _, mechanism = surveyed(
        asked(privacy={"epsilon": "4"}, mechanism={"rate": None, "bound": bound}), households()
    )
    spent = float(mechanism.guarantee.intensity.parameters()["epsilon"])
    assert 4 - 1e-6 < spent <= 4
    lower, upper = mechanism.rates
    assert float(lower) == pytest.approx(float(mechanism.rate))
    assert upper > lower


def test_a_plan_tells_what_the_certificate_would() -> None:
    found = prepare_records(asked(), households()).plan(1.0).to_dict()
    assert {"strata", "swapping", "induced", "invariants", "guarantee", "verdict", "caveats"} <= set(found)
    assert found["strata"]["largest"] == 10


def test_a_seed_or_the_system_are_the_only_sources() -> None:
    ready = prepare(asked(), households())
    assert not ready.drawing(SeededEntropy(1)).certificate.randomness.secure
    for source in (None, SystemEntropy()):
        assert ready.drawing(source).certificate.randomness.secure
    with pytest.raises(ReleaseError, match="from the system's randomness, or from a seed"):
        ready.drawing(ReplayedEntropy(SeededEntropy(1).words(3), SeededEntropy(1)))


def test_nothing_confidential_shows_in_a_repr() -> None:
    table = households().set_column(4, "income", pa.array([918273] * 30 + [645546] * 30))
    ready = prepare(asked(), table)
    part, drawing = prepare_records(asked(), table), ready.drawing(SeededEntropy(123456))
    file, _ = surveyed(asked(), table)
    held_by = (part, file, file.monitor, file.survey, file.units.source)
    for held in (ready, drawing, *held_by, *drawing.draw().values()):
        for secret in ("918273", "645546", "123456", "'own'", "'rent'"):
            assert secret not in repr(held), held
