"""Queries that are no marginals: what their rows count, how far one record moves them, and their passes."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.mechanisms.topdown.small import spec

import holdfast
from holdfast.mechanisms.topdown.design import MeasurementDesign
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.releases.prepare import prepare
from holdfast.system.errors import HoldfastError
from holdfast.verification.verify import verify

ADULTS = {"name": "adults", "marginal": [], "where": {"age": [18, 120]}}
BY_AGE = {"name": "by age", "marginal": ["age"], "recode": {"age": {"under 18": ["0"], "over": [18, 99]}}}
WOMEN = {
    "name": "women by age",
    "marginal": ["age"],
    "where": {"sex": "f"},
    "weight": {"county": "2", "block": "1"},
}
CELLS = {"marginal": ["age", "sex"]}
PASSES = [["total"], ["by age", "adults"], ["sex*age"]]


def topdown(folder: Path, **more: Any) -> TopDown:
    mechanism = prepare(spec(folder, **more)).mechanism
    assert isinstance(mechanism, TopDown)
    return mechanism


def asked(*queries: Any, **more: Any) -> dict[str, Any]:
    return {"mechanism": {"name": "topdown", "queries": list(queries), **more}}


def moved(design: MeasurementDesign, level: int, query: int) -> int:
    """Return by how much one record moves a query of a level at most, by trying all moves."""
    rows = design.queries[query].rows.toarray()
    width, nodes = rows.shape[1], design.regions.sizes[level]
    most = 0
    for (one, leaves), (other, enters) in product(product(range(min(nodes, 2)), range(width)), repeat=2):
        change = np.zeros((min(nodes, 2), rows.shape[0]), dtype=int)
        change[one] -= rows[:, leaves]
        change[other] += rows[:, enters]
        assert np.abs(change).sum() == (change**2).sum()  # l1 is the square of l2
        most = max(most, int(np.abs(change).sum()))
    return most


def test_one_record_moves_no_query_farther_than_told(tmp_path: Path) -> None:
    made = topdown(tmp_path, invariants=[], **asked(ADULTS, BY_AGE, WOMEN, CELLS, {"marginal": []}))
    assert {each.query for each in made.design.measured} == set(range(5))
    for each in made.design.measured:
        name = made.design.queries[each.query].name
        if (name, each.level) == ("total", 0):
            assert each.sensitivity == 1  # as for one record more
        else:
            assert each.sensitivity == moved(made.design, each.level, each.query), (name, each.level)
            assert each.attained


def test_rows_count_what_is_asked_for(tmp_path: Path) -> None:
    queries = topdown(tmp_path, **asked(ADULTS, BY_AGE, WOMEN, CELLS)).design.queries
    # the cells are 0 f, 0 m, 18 f, 18 m
    assert queries[0].rows.toarray().tolist() == [[0, 0, 1, 1]]
    assert queries[1].rows.toarray().tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]
    assert queries[1].labels == (("under 18",), ("over",))
    assert queries[2].rows.toarray().tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]
    assert not queries[2].plain


def test_weights_by_level_share_out_each_level(tmp_path: Path) -> None:
    made = topdown(tmp_path, **asked(WOMEN, CELLS))
    losses = {
        (each.of.level, made.design.queries[each.of.query].name): each.loss for each in made.measurements
    }
    assert (0, "women by age") not in losses
    assert losses[1, "women by age"] == 2 * losses[1, "age by sex"]
    assert losses[3, "women by age"] == losses[3, "age by sex"]
    assert sum(losses.values()) == made.per_record


def test_a_release_in_passes_keeps_what_each_found_and_is_verified(tmp_path: Path) -> None:
    made = spec(tmp_path, **asked(ADULTS, BY_AGE, WOMEN, CELLS, {"marginal": []}, passes=PASSES))
    holdfast.release(made, tmp_path / "out", seed=3)
    assert verify(tmp_path / "out").kept
    record = prepare(made).certify(secure=True).to_json()
    assert '"women by age"' in record
    told = pl.read_parquet(tmp_path / "out" / "measurements.parquet")
    some = told.filter((pl.col("query") == "by age") & (pl.col("level") == "state"))
    assert some["age"].to_list() == ["under 18", "over"]
    assert some["sex"].null_count() == 2
    other = spec(tmp_path, **asked(ADULTS, BY_AGE, WOMEN, CELLS, {"marginal": []}))
    holdfast.release(other, tmp_path / "at once", seed=3)
    tables = [(tmp_path / name / "table.csv").read_text() for name in ("out", "at once")]
    assert tables[0] != tables[1]


def test_a_record_leads_back_to_queries_and_passes(tmp_path: Path) -> None:
    prepared = prepare(
        spec(tmp_path, **asked(WOMEN, BY_AGE, CELLS, {"marginal": []}, passes=PASSES[:1] + PASSES[2:]))
    )
    first = prepared.mechanism
    assert isinstance(first, TopDown)
    assert first.design.passes == ((3,), (0, 1, 2))  # what none names comes with the last
    record = TopDown.Record.model_validate_json(first.record().model_dump_json())
    again = TopDown.of(record, prepared.public, first.premises.unit)  # type: ignore[arg-type]
    assert again.record() == first.record()
    assert [each.loss for each in again.measurements] == [each.loss for each in first.measurements]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (asked(CELLS, {"marginal": ["sex", "age"]}), "twice: keep one, or give them names"),
        (asked({"marginal": ["age"], "recode": {"sex": {"all": ["f", "m"]}}}), "not in its marginal"),
        (
            asked({"marginal": ["age"], "recode": {"age": {"a": [0, 18], "b": ["18"]}}}),
            "overlap",
        ),
        (asked({"marginal": ["age"], "recode": {"age": {"a": ["7"]}}}), "names the level '7'"),
        (asked({"marginal": [], "where": {"race": "x"}}), "'race'"),
        (asked({"marginal": [], "where": {"age": "7"}}), "names the level '7'"),
        (asked({"marginal": [], "weight": {"street": "1"}}), "no level of the geography"),
        (asked({"marginal": [], "weight": {"block": "-1"}}), "not below 0"),
        (asked({"marginal": [], "weight": {"block": "0"}}), "0 everywhere"),
        (asked({"marginal": [], "name": ""}), "is empty"),
        (asked(CELLS, passes=[["total"]]), "not among them"),
        (asked(CELLS, passes=[["detailed"], ["age by sex"]]), "twice"),
        (asked(CELLS, passes=[["detailed", "detailed"]]), "twice"),
        (asked(CELLS, passes=[[], ["detailed"]]), "without a query"),
        (asked(ADULTS, allocation="optimise"), "give shares by level"),
        (
            asked(
                {"marginal": ["age"], "weight": {"block": "1"}},
                allocation={"state": "1/2", "county": "0", "tract": "0", "block": "1/2"},
            ),
            "has no weight there",
        ),
    ],
)
def test_what_cannot_be_is_one_sentence(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    with pytest.raises(HoldfastError, match=said) as told:
        prepare(spec(tmp_path, **more))
    assert str(told.value).count(". ") <= 1
