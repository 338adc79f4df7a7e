"""Measurements of other code: their intervals are those of one dense problem, however large the histogram."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.inference.opened import other
from tests.mechanisms.topdown.small import spec

import holdfast as hf
from holdfast.data.nmf.opening import read_measurements
from holdfast.inference.node_intervals import NodeReport
from holdfast.inference.opened.reduced import ReducedHistogram, gaussian_scale, laplace_scale
from holdfast.mechanisms.topdown.design import MeasuredQuery
from holdfast.mechanisms.topdown.measurements import Measurement

INFINITE = float("inf")
ODD = {
    ("044001", "detailed"): INFINITE,
    ("044001", "colour"): INFINITE,
    ("044003", "total"): 1.5,
    ("04400101", "detailed"): 25.0,
    ("044001001", "detailed"): 30.0,
}
"""Nodes that were measured more closely, or not by a query: as only children are in 2020."""


def of_nodes(*given: Any, **options: Any) -> NodeReport:
    found = hf.intervals(*given, **options)
    assert isinstance(found, NodeReport)
    return found


@pytest.mark.parametrize("odd", [{}, ODD], ids=["alike", "of several kinds"])
@pytest.mark.parametrize("known", [False, True], ids=["free", "with invariants"])
def test_they_are_the_estimates_of_one_dense_problem(
    tmp_path: Path, odd: dict[Any, float], known: bool
) -> None:
    rows = other.measured(odd)
    hf.open_measurements(
        other.layout(tmp_path / "in", rows, other.constraints() if known else ()), tmp_path / "out"
    )
    exact = [(np.ones(48), float(other.truth()["US"].sum()))] if known else []
    for margin, query in (
        ([], "total"),
        (["colour"], "colour"),
        (["size"], "size"),
        (["colour", "size"], "detailed"),
    ):
        for level, codes in other.CODES.items():
            found = of_nodes(tmp_path / "out", place=level, margin=margin)
            assert found.codes == tuple(codes)
            asked = np.concatenate(
                [
                    np.kron(np.isin(np.arange(8), other.inside(level, code))[None], other.rows_of(query))
                    for code in codes
                ]
            )
            estimate, variance = other.dense(rows, exact, asked)
            np.testing.assert_allclose(found.found.estimate.ravel(), estimate, rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(found.found.variance.ravel(), variance, rtol=1e-5, atol=1e-9)
    union = of_nodes(
        tmp_path / "out", codes=["04400100", "044003011"], where={"colour": ["0", "2"], "size": ["1"]}
    )
    inside = np.isin(np.arange(8), [0, 1, 6])[None]
    estimate, variance = other.dense(rows, exact, np.kron(inside, np.array([[0, 1, 0, 0, 0, 1]])))
    assert union.found.estimate[0, 0] == pytest.approx(estimate[0], rel=1e-6)
    assert union.found.variance[0, 0] == pytest.approx(variance[0], rel=1e-5)


def test_what_is_zero_everywhere_is_known_of_every_cell(tmp_path: Path) -> None:
    zero = {
        **other.constraints()[0],
        "query_name": "third_of_second_con",
        "colour": "third",
        "size": "second",
        "value": [0],
    }
    (tmp_path / "book.toml").write_text(
        '[levels]\ncolour = ["red", "green", "blue"]\nsize = ["s", "l"]\n'
        '[recodes.third]\nof = "colour"\ngroups = { blue = ["blue"] }\n'
        '[recodes.second]\nof = "size"\ngroups = { l = ["l"] }\n'
    )
    rows = other.measured()
    folder = other.layout(tmp_path / "in", rows, [zero])
    hf.open_measurements(folder, tmp_path / "out", codebook=tmp_path / "book.toml")
    found = of_nodes(tmp_path / "out", place="Block", where={"colour": "blue", "size": "l"})
    assert found.found.determined.all()
    assert not found.found.estimate.any()
    exact = [(np.eye(48)[6 * block + 5], 0.0) for block in range(8)]
    for where, cells in (({"colour": "blue"}, [4, 5]), ({"size": "l"}, [1, 3, 5])):
        got = of_nodes(tmp_path / "out", place="County", where=where)
        one = np.isin(np.arange(6), cells)[None]
        asked = np.concatenate([np.kron(half[None], one) for half in np.repeat(np.eye(2), 4, axis=1)])
        estimate, variance = other.dense(rows, exact, asked)
        np.testing.assert_allclose(got.found.estimate.ravel(), estimate, rtol=1e-6)
        np.testing.assert_allclose(got.found.variance.ravel(), variance, rtol=1e-5)


def test_classes_of_levels_do_not_change_an_answer(tmp_path: Path) -> None:
    """A histogram of 24 cells, asked for in classes and as a whole."""
    rng = np.random.default_rng(5)
    rows = []
    for level, code, mean in (("US", "0", 40), ("State", "01", 20), ("State", "02", 20)):
        for query, shape in (("total", (1, 1)), ("race", (6, 1)), ("age", (1, 4)), ("detailed", (6, 4))):
            size = int(np.prod(shape))
            value = rng.poisson(mean * 24 // size, size=size).tolist()
            rows.append(
                {
                    "level": level,
                    "geocode": code,
                    "query_name": query,
                    "query_shape": list(shape),
                    "value": value,
                }
                | {"variance": {"total": 2.0, "race": 5.0, "age": 7.0, "detailed": 50.0}[query]}
            )
    other.write(tmp_path / "all.parquet", rows, without=())
    opened = read_measurements(tmp_path / "all.parquet")
    assert opened.histogram.names == ("race", "age")
    whole = ReducedHistogram.of(opened, ["race", "age"])
    selections: list[dict[str, tuple[str, ...]]]
    selections = [{"race": ("2",)}, {"race": ("1", "4"), "age": ("0", "3")}, {}]
    for where in selections:
        some = ReducedHistogram.of(opened, [], [where])
        assert some.width < whole.width == 24
        reports = [
            each.nodes.estimates.at("State") @ query
            for each in (some, whole)
            for query in [_selected(each, where)]
        ]
        np.testing.assert_allclose(reports[0], reports[1], rtol=1e-9)


def _selected(reduced: ReducedHistogram, where: dict[str, tuple[str, ...]]) -> np.ndarray:
    chosen = reduced.where(where)
    parts = [
        np.isin(np.array(labels), chosen[name]) if name in chosen else np.ones(len(labels))
        for name, labels in zip(("race", "age"), reduced.labels, strict=True)
    ]
    return np.kron(*parts).astype(float)


@pytest.mark.parametrize("privacy", [{"standard": "zcdp", "rho": "1/2"}, {"epsilon": "4"}])
def test_our_own_measurements_have_our_own_intervals(tmp_path: Path, privacy: dict[str, str]) -> None:
    more = {
        "privacy": {"adjacency": "unit", **privacy},
        "invariants": [{"margin": ["age"], "level": "county"}],
    }
    hf.release(spec(tmp_path, **more), tmp_path / "release", seed=3)
    hf.write_measurements(tmp_path / "release", tmp_path / "files")
    noise = "gaussian" if "rho" in privacy else "laplace"
    hf.open_measurements(tmp_path / "files", tmp_path / "opened", noise=noise)
    for options in (
        {"place": "tract", "margin": []},
        {"place": "block"},
        {"place": "county", "margin": ["age"]},
        {"codes": ["911", "9211"], "where": {"sex": "f"}},
    ):
        ours, theirs = (of_nodes(tmp_path / name, **options).to_frame() for name in ("release", "opened"))
        assert ours.columns == theirs.columns
        for name in ("estimate", "standard_error", "low", "high"):
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-6, atol=1e-6)
        assert ours["kept_exactly"].to_list() == theirs["kept_exactly"].to_list()


def test_what_is_kept_exactly_is_the_whole_number_that_it_is(tmp_path: Path) -> None:
    """A total over the two classes that a recode makes; its estimate is a sum of inexact halves."""
    rows, tracts = other.measured(ODD), other.truth()["Tract"]
    rows += [
        {**row, "query_name": "warm_dpq", "colour": "warm", "query_shape": [2, 1], "value": row["value"][:2]}
        for row in rows
        if row["query_name"] == "colour_dpq"
    ]
    known = [
        {**other.constraints()[0], "level": "Tract", "geocode": code, "value": [int(table.sum())]}
        for code, table in zip(other.CODES["Tract"], tracts, strict=True)
    ]
    (tmp_path / "book.toml").write_text(
        "[levels]\ncolour = ['red', 'green', 'blue']\n"
        "[recodes.warm]\nof = 'colour'\ngroups = { warm = ['red'], cold = ['green', 'blue'] }\n"
    )
    folder = other.layout(tmp_path / "in", rows, known)
    hf.open_measurements(folder, tmp_path / "out", codebook=tmp_path / "book.toml")
    for level in ("US", "State", "County", "Tract"):
        found = of_nodes(tmp_path / "out", place=level, margin=[]).found
        assert found.determined.all()
        for ends in (found.estimate, found.low, found.high):
            assert ends.ravel().tolist() == other.truth()[level].sum(axis=1).tolist()
    union = of_nodes(tmp_path / "out", codes=["04400100", "044003"], margin=[]).found
    assert union.low == union.estimate == union.high == tracts[[0, 2, 3]].sum()


@pytest.mark.parametrize("together", [False, True])
def test_a_large_margin_is_answered_cell_by_cell(
    together: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hf.open_measurements(
        other.layout(tmp_path / "in", other.measured(), other.constraints()), tmp_path / "out"
    )
    for options in ({"place": "County"}, {"codes": ["04400100", "044003011"]}, {"where": {"size": "1"}}):
        asked = {"margin": ["colour", "size"], "together": together, **options}
        whole = of_nodes(tmp_path / "out", **asked)
        with monkeypatch.context() as patched:
            patched.setattr("holdfast.inference.opened.reduced.MOST_CELLS", 5)
            one_by_one = of_nodes(tmp_path / "out", **asked)
        ours, theirs = whole.to_frame(), one_by_one.to_frame()
        assert ours.drop("coverage").columns == theirs.drop("coverage").columns
        assert one_by_one.to_dict()["level"] == whole.to_dict()["level"]
        for name in ("estimate", "standard_error", "low", "high"):
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-5, atol=1e-5)
        for name in ("colour", "size"):
            assert ours[name].to_list() == theirs[name].to_list()


def test_differences_and_ratios(tmp_path: Path) -> None:
    rows = other.measured()
    hf.open_measurements(other.layout(tmp_path / "in", rows), tmp_path / "out")
    from holdfast.inference.contrasts import Contrast
    from holdfast.inference.released_intervals import estimator_of

    estimator = estimator_of(tmp_path / "out")
    difference, ratio = estimator.contrasts(
        [
            Contrast.difference("County=044001,size=0", "County=044003,size=0"),
            Contrast.ratio("colour=1", "total"),
        ]
    ).rows
    asked = np.kron(np.repeat([1.0, -1.0], 4)[None], np.array([[1, 0, 1, 0, 1, 0]]))
    assert difference.estimate == pytest.approx(other.dense(rows, [], asked)[0][0], rel=1e-6)
    whole = other.dense(rows, [], np.kron(np.ones((1, 8)), np.array([[0, 0, 1, 1, 0, 0], [1] * 6])))[0]
    assert ratio.estimate == pytest.approx(whole[0] / whole[1], rel=1e-6)


@pytest.mark.parametrize("variance", [0.3, 2.0, 20.0, 400.25])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_variance_tells_the_law(variance: float, noise: str) -> None:
    scale = (gaussian_scale if noise == "gaussian" else laplace_scale)(variance)
    law = Measurement(MeasuredQuery(0, 0, 1, attained=False), noise, scale, scale)  # type: ignore[arg-type]
    assert law.variance == pytest.approx(variance, rel=1e-9)
