"""Intervals at any level from measurements: unbiased, of the stated coverage, never longer by invariants."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.topdown.small import LEVELS, spec

import holdfast
from holdfast.estimation.hierarchy.variances import variances
from holdfast.inference.node_intervals import NodeReport
from holdfast.inference.released_intervals import IntervalReport, intervals
from holdfast.mechanisms.topdown.best_linear import best_linear
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.checks import ViolatedError
from holdfast.system.errors import SpecError


def of_nodes(*given: Any, **options: Any) -> NodeReport:
    found = intervals(*given, **options)
    assert isinstance(found, NodeReport)
    return found


def ready(folder: Path, **more: Any) -> tuple[Prepared, TopDown]:
    prepared = prepare(spec(folder, **more))
    assert isinstance(prepared.mechanism, TopDown)
    return prepared, prepared.mechanism


@pytest.mark.parametrize(
    "invariants",
    [
        [{"total": True}],
        [{"total": True, "level": "county"}],
        [{"total": True, "level": "block"}, {"margin": ["age"], "level": "county"}],
        [{"where": {"sex": "f"}, "level": "tract"}],
    ],
)
def test_invariants_never_make_an_interval_longer(tmp_path: Path, invariants: list[dict[str, Any]]) -> None:
    prepared, mechanism = ready(tmp_path, invariants=invariants)
    values = mechanism.law(prepared.counts).measure(SeededEntropy(1))
    queries = np.vstack([np.eye(4), np.ones((1, 4)), [[1, 1, 0, 0]]])
    with_all, without = (best_linear(mechanism, values, invariants=known) for known in (True, False))
    shorter = False
    for level in LEVELS:
        one, other = variances(with_all, level, queries), variances(without, level, queries)
        assert (one <= other * (1 + 1e-9)).all()
        shorter |= bool((one < 0.99 * other).any())
    assert shorter


def test_levels_codes_margins_and_selections_of_a_release(tmp_path: Path) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=1)
    tracts = of_nodes(tmp_path / "out", place="tract", margin=[])
    assert tracts.to_frame().columns == [
        "tract",
        "estimate",
        "standard_error",
        "low",
        "high",
        "kept_exactly",
        "coverage",
    ]
    assert tracts.codes == ("911", "912", "913", "921", "922", "923")
    county = of_nodes(tmp_path / "out", place="county", margin=[])
    assert county.found.determined.all()
    both = of_nodes(tmp_path / "out", codes=["91", "9211"], where={"sex": ("f",)})
    assert both.to_frame().height == 1
    together = of_nodes(tmp_path / "out", place="tract", margin=[], together=True)
    assert (together.found.half_width > tracts.found.half_width).all()
    rows = of_nodes(tmp_path / "out", level=Fraction(1, 2)).to_dict()["rows"]
    assert len(rows) == 96
    assert set(rows[0]["cell"]) == {"block", "age", "sex"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"place": "ward"}, "level is 'ward', which is no level"),
        ({"codes": ["5"]}, "geography names '5', which is no place"),
        ({"codes": ["91", "9111"]}, "lies in two of the nodes"),
        ({"margin": ["agee"]}, "did you mean 'age'"),
    ],
)
def test_what_is_not_there_is_told(tmp_path: Path, asked: dict[str, Any], said: str) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=1)
    with pytest.raises(Exception, match=said) as error:
        of_nodes(tmp_path / "out", **asked)
    assert "\n" not in str(error.value)


def test_a_changed_release_has_no_intervals(tmp_path: Path) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=1)
    file = tmp_path / "out" / "measurements.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ViolatedError):
        of_nodes(tmp_path / "out")


def test_the_unbiased_partner_has_levels_too(tmp_path: Path) -> None:
    budget = {"standard": "zcdp", "rho": "1"}
    asked = spec(tmp_path, mechanism={"name": "lattice-gaussian"}, privacy=budget)
    holdfast.release(asked, tmp_path / "out", seed=1)
    found = intervals(tmp_path / "out", place="tract", margin=[])
    assert found.names == ("tract",)
    assert isinstance(found, IntervalReport)
    assert len(found.levels) == 6
    some = intervals(tmp_path / "out", codes=["911", "912"])
    assert isinstance(some, IntervalReport)
    assert len(some.levels) == 1
    with pytest.raises(SpecError, match="neither a number nor a level"):
        intervals(tmp_path / "out", place="ward")
    with pytest.raises(SpecError, match="not all places of one level"):
        intervals(tmp_path / "out", codes=["911", "9"])
