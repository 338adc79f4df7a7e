"""A release is read without its spec: a table with what is exact in it, estimates by labels, pictures."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from tests.mechanisms.topdown.small import spec
from tests.small_releases import released

import holdfast
from holdfast.inference.reading import Reading
from holdfast.system.checks import ViolatedError
from holdfast.system.errors import ReleaseError, SpecError

mpl.use("Agg")
ROWS = "county,sex,age,n\nA,f,0,3\nA,f,18,5\nA,m,0,2\nA,m,18,9\nB,f,0,4\nB,f,18,6\nB,m,0,1\nB,m,18,0\n"


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    folder = tmp_path_factory.mktemp("release")
    (folder / "data.csv").write_text(ROWS)
    asked: dict[str, Any] = {
        "data": {"path": "data.csv", "cells": ["county", "sex", "age"], "count": "n"},
        "invariants": [{"margin": ["county"]}, {"where": {"county": "A", "sex": "f", "age": "0"}}],
        "constraints": {"structural_zeros": [{"county": "B", "sex": "m", "age": "18"}]},
        "privacy": {"epsilon": "1"},
    }
    holdfast.release(holdfast.Spec.of(asked, folder=folder), folder / "out", seed=3)
    (folder / "data.csv").unlink()
    return holdfast.read(folder / "out")


def test_a_release_is_a_table_with_what_is_exact(reading: Reading) -> None:
    assert reading.table.columns == ["county", "sex", "age", "n", "exact"]
    exact = reading.table.filter("exact")
    assert exact.select("county", "sex", "age", "n").rows() == [("A", "f", "0", 3), ("B", "m", "18", 0)]
    assert reading.certificate.digest == reading.certificate_of_table.digest
    assert reading.law.sample(holdfast.SeededEntropy(1), 2).shape == (2, 7)
    assert repr(reading) == "<release by lattice-laplace: county (2), sex (2), age (2)>"
    assert "<td>A</td>" in reading._repr_html_()


def test_estimates_by_mappings_are_those_by_words(reading: Reading) -> None:
    counts = reading.table
    one = reading.interval({"sex": "f", "age": [18, 99]})
    assert one.estimate == counts.filter(sex="f", age="18")["n"].sum()
    assert one.low < one.estimate < one.high
    assert one == reading.interval("sex=f,age=18..")
    assert reading.difference({"county": "B"}, {"county": "A"}).rows[0].kept_exactly
    assert reading.ratio("county=B", "county=A").high == 11 / 19
    assert reading.sum([("1/2", "total"), (-1, "county=A")]).estimate == -4.0
    by = reading.ratio("sex=f", "total", margin=["county"], together=True, level=0.5)
    assert [row.cell for row in by.rows] == [("A",), ("B",)]
    with pytest.raises(SpecError, match="2 rows"):
        _ = by.low
    with pytest.raises(SpecError, match="did you mean 'sex'"):
        reading.interval({"sexx": "f"})
    with pytest.raises(SpecError, match="'x', which sex does not have"):
        reading.interval({"sex": ["x"]})


def test_rates_have_a_public_denominator(reading: Reading) -> None:
    count = reading.interval("sex=f")
    rate = reading.rate("sex=f", 2000, per=1000)
    assert (rate.estimate, rate.low, rate.high) == pytest.approx(
        (count.estimate / 2, count.low / 2, count.high / 2)
    )
    by = reading.rate("total", {"A": 100, "B": 50}, per=100, margin=["county"])
    assert [(row.low, row.estimate, row.kept_exactly) for row in by.rows] == [(19, 19, True), (22, 22, True)]
    with pytest.raises(SpecError, match="no number for county = 'B'"):
        reading.rate("total", {"A": 100}, margin=["county"])
    with pytest.raises(SpecError, match="makes no sense"):
        reading.rate("total", 0)


def test_reports_are_shown_and_drawn(reading: Reading) -> None:
    for report in (
        reading.intervals(margin=["sex"]),
        reading.ratio("sex=f", "sex=m", margin=["county"]),
        reading.ratio("county=B,sex=m,age=0", "county=B,sex=f,age=0"),
    ):
        assert report._repr_html_().startswith("<table>")
        axes = report.plot()
        assert len(axes.get_yticks()) == report.to_frame().height
        assert report.plot(axes) is axes
    prior = {"weight": {"median": 1, "factor": 3}}
    model = {"model": {"kind": "proportions", "areas": ["county"]}, "prior": prior}
    posterior = reading.posterior(model, draws=400, seed=1)
    assert posterior.plot().get_xlabel() == "proportion"
    assert "naive_mean" in posterior._repr_html_()


def test_nodes_are_read_from_their_measurements(tmp_path: Path) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=1)
    found = holdfast.read(tmp_path / "out")
    assert found.table.columns[-2:] == ["people", "exact"]
    assert not found.table["exact"].any()
    assert found.ratio("county=91", "total").rows[0].kept_exactly
    assert found.intervals(place="tract", margin=[]).plot().get_yticklabels()[0].get_text() == "911"
    (tmp_path / "out" / "table.csv").write_text("")
    with pytest.raises(ViolatedError):
        holdfast.read(tmp_path / "out")


def test_a_release_whose_law_depends_on_the_table_is_read_without_it(tmp_path: Path) -> None:
    found = holdfast.read(released("conditioned, inequalities").write(tmp_path / "out"))
    assert found.table.columns == ["sex", "age", "n", "exact"]
    assert not found.table["exact"].any()
    assert "<td>young</td>" in found._repr_html_()
    with pytest.raises(ReleaseError, match="its law is not public"):
        _ = found.law
    with pytest.raises(ReleaseError, match="its law is not public"):
        found.interval("sex=f")
