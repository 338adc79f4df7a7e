"""The audits of the page are those of the commands, and what cannot be asked is one sentence."""

from fractions import Fraction
from pathlib import Path

import pytest
from tests.example import written
from tests.studio.visitor import Visitor, words

from holdfast import audit
from holdfast.mechanisms.swapping.bounds import epsilon
from holdfast.privacy.intensity import Pure, ZeroConcentrated
from holdfast.studio.curves import swap_plot
from holdfast.system.text import plain_number


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor.at(written(tmp_path))


def test_the_census_is_read_at_any_delta(visitor: Visitor) -> None:
    for delta in ("1e-10", "1/1000"):
        text = words(visitor.post("/audits/census", {"delta": delta}))
        for line in audit.census_2020(Fraction(delta)).lines:
            values = line.effective.to_dict()
            for name in ("epsilon", "epsilon_tight", "epsilon_gaussian"):
                assert plain_number(float(values[name])) in text
    report = audit.census_2020()
    page = visitor.get("/audits").text
    shown = words(visitor.get("/audits"))
    for system in report.systems:
        assert all(block in shown for block in (*system.blocks.values(), *system.sources))
    assert all(total.words[1:] in shown for total in report.totals)
    assert 'aria-current="page">Census 2020' in page
    assert 'aria-current="page">Audits' in page


def test_a_guarantee_is_weaker_by_the_records_that_one_change_takes(visitor: Visitor) -> None:
    data = {"measure": "rho", "value": "1/2", "delta": "1e-6", "apart": "5"}
    text = words(visitor.post("/audits/guarantee", data))
    found = audit.guarantee(ZeroConcentrated(Fraction(1, 2)), 5, Fraction("1e-6"))
    for one in (found.advertised, found.effective):
        for name in ("rho", "epsilon", "epsilon_tight", "mu_gaussian"):
            assert plain_number(float(one.to_dict()[name])) in text
    assert "5, as here" in text
    assert "holdfast audit guarantee --rho 1/2 --delta 1e-6 --semi-adjacency 5" in text


def test_the_distance_is_that_of_the_spec(visitor: Visitor) -> None:
    text = words(visitor.post("/audits/guarantee", {"of": "spec", "value": "1"}))
    spec = visitor.desk.asked.table
    found = audit.guarantee(Pure(Fraction(1)), spec=spec)
    assert f"{found.semi_adjacency}, as here" in text


def test_swap_rates_are_those_of_the_command(visitor: Visitor) -> None:
    text = words(visitor.post("/audits/swapping", {"size": "1000", "rate": "1/20", "target": "8"}))
    report = audit.swapping(1000, Fraction(1, 20), Fraction(8))
    assert report.given is not None
    assert report.wanted is not None
    assert f"At a rate of 5 % epsilon is {plain_number(float(report.given.epsilon))}" in text
    assert f"from a rate of {100 * float(report.wanted.rates[0]):.4g} %" in text
    assert "holdfast audit swapping --stratum-size 1000 --rate 1/20 --epsilon 8" in text
    page = visitor.get("/audits/swapping").text
    assert page.count('class="over"') == page.count('class="note" data-stop=')
    assert page.count('class="over" data-stop') - page.count('class="over" data-stop="0" hidden') > 10


def test_curves_go_through_their_points_and_stay_in_their_room() -> None:
    plot = swap_plot(1000, epsilon(1000, Fraction(1, 20)))
    ends = [float(one) for curve in plot.curves for one in curve.path[1:].replace("L", " ").split()]
    assert all(0 <= one <= 100 for one in ends)
    here = plot.at(Fraction(1, 20), epsilon(1000, Fraction(1, 20)))
    own = next(curve for curve in plot.curves if curve.kind == "own")
    points = [tuple(map(float, pair.split())) for pair in own.path[1:].split("L")]
    (x, y), (u, v) = max(p for p in points if p[0] <= here.x), min(p for p in points if p[0] >= here.x)
    assert min(y, v) - 0.1 <= here.y <= max(y, v) + 0.1
    assert x <= here.x <= u


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("census", {"delta": "2"}),
        ("census", {"delta": "x"}),
        ("guarantee", {"value": "0"}),
        ("guarantee", {"value": "<script>"}),
        ("guarantee", {"apart": "0"}),
        ("guarantee", {"apart": "1e9"}),
        ("guarantee", {"delta": "-1"}),
        ("swapping", {"size": "1"}),
        ("swapping", {"size": "x"}),
        ("swapping", {"rate": "1"}),
        ("swapping", {"rate": "-1/2"}),
        ("swapping", {"target": "0"}),
        ("swapping", {"target": "1e-9"}),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(visitor: Visitor, path: str, data: dict[str, str]) -> None:
    answer = visitor.post(f"/audits/{path}", data)
    assert answer.status_code == 422, words(answer)
    assert "Traceback" not in answer.text
    assert "<script>" not in answer.text


def test_no_spec_and_no_data_are_needed(tmp_path: Path) -> None:
    visitor = Visitor.at(tmp_path)
    for path in ("/audits", "/audits/guarantee", "/audits/swapping"):
        assert visitor.get(path).status_code == 200
    assert "of-spec" not in visitor.get("/audits/guarantee").text
