from fractions import Fraction

import pytest

from holdfast.audit import census_2020, guarantee
from holdfast.audit.census_systems import DHC_PERSON, DHC_UNIT, NOTES, PERSON, UNIT, numbers_of
from holdfast.cli.arguments import intensity_of
from holdfast.privacy.intensity import Approximate, GaussianDP, Pure, ZeroConcentrated
from holdfast.system.errors import GuaranteeError, SpecError

DELTA = Fraction(1, 10**10)


def test_the_census_figures_of_the_paper() -> None:
    report = guarantee(ZeroConcentrated(Fraction("2.56")), 2, DELTA)
    advertised, effective = report.advertised, report.effective
    assert advertised.epsilon == pytest.approx(17.91528, abs=5e-6)
    assert effective.intensity == ZeroConcentrated(Fraction("10.24"))
    assert effective.epsilon == pytest.approx(40.95057, abs=5e-6)
    assert advertised.epsilon_tight is not None
    assert effective.epsilon_tight is not None
    assert advertised.epsilon_tight < 17.9
    assert 39 < effective.epsilon_tight < 40.9
    assert advertised.gaussian is not None
    assert effective.gaussian is not None
    assert advertised.gaussian.epsilon == pytest.approx(16.47939, abs=5e-6)
    assert effective.gaussian.epsilon == pytest.approx(38.40502, abs=5e-6)


def test_gaussian_and_pure() -> None:
    report = guarantee(GaussianDP(Fraction(1)), 3, Fraction(1, 10**5))
    assert report.advertised.epsilon == pytest.approx(4.3772, abs=1e-3)
    assert report.effective.intensity == GaussianDP(Fraction(3))
    assert guarantee(Pure(Fraction(1, 2)), 3).effective.epsilon == 1.5


def test_a_group_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(GuaranteeError, match="leave no guarantee"):
        guarantee(Approximate(Fraction(10), Fraction(1, 1000)), 3)


def test_exactly_one_intensity_is_asked_for() -> None:
    nothing = {"epsilon": None, "delta": None, "rho": None, "mu": None}
    with pytest.raises(SpecError, match="exactly one"):
        intensity_of(**nothing)
    with pytest.raises(SpecError, match="exactly one"):
        intensity_of(**{**nothing, "rho": Fraction(1), "mu": Fraction(1)})
    assert intensity_of(**{**nothing, "epsilon": Fraction(1), "delta": DELTA})[0] == Approximate(
        Fraction(1), DELTA
    )
    with pytest.raises(SpecError, match="delta is missing"):
        guarantee(ZeroConcentrated(Fraction(1)), 2)


def test_totals_of_persons_and_units_are_nobodys_loss() -> None:
    report = census_2020()
    assert {line.unit for line in report.lines} == {"person", "housing unit"}
    advertised = {line.advertised.intensity for line in report.lines}
    assert advertised.isdisjoint(ZeroConcentrated(total.rho) for total in report.totals)
    redistricting, dhc = report.totals
    for total in report.totals:
        assert round(sum(part.rho for part in total.parts), 2) == total.rho
    assert (redistricting.of("person"), redistricting.of("housing unit")) == (PERSON, UNIT)
    assert (dhc.of("person"), dhc.of("housing unit")) == (PERSON + DHC_PERSON, UNIT + DHC_UNIT)
    assert (
        "2.56 (person, redistricting file) + 0.07 (housing unit, redistricting file)" in redistricting.words
    )
    assert "4.96 (person, DHC) + 7.70 (housing unit, DHC)" in dhc.words
    assert f"{float(PERSON + DHC_PERSON):.2f}" in dhc.note
    assert f"{float(PERSON + DHC_PERSON + DHC_UNIT):.2f} at most" in dhc.note


BLOCKS = ["domain", "scope", "unit", "standard", "intensity"]


def test_the_systems_of_the_census_by_their_building_blocks() -> None:
    systems = {system.product: system for system in census_2020().systems}
    assert all(list(system.blocks) == BLOCKS and system.sources for system in systems.values())
    persons = systems["2020 redistricting file, persons"]
    units = systems["2020 redistricting file, housing units"]
    assert (persons.rho, units.rho) == (Fraction("2.56"), Fraction("0.07"))
    assert persons.invariants == units.invariants
    assert all(kept in NOTES[0] for kept in persons.invariants)
    assert any("facilities by type" in kept for kept in persons.invariants)
    assert systems["2020 DHC, persons"].rho == Fraction("4.9622")
    assert systems["2020 DHC, housing units"].rho == Fraction("7.7005")
    assert systems["2020 Detailed DHC-A"].rho == Fraction("4.944")
    assert systems["2020 Detailed DHC-B"].rho == Fraction("8.895302")
    assert systems["2020 Supplemental DHC (S-DHC)"].rho == Fraction("1.257281")
    added = [system for system in systems.values() if "added or removed" in system.unit]
    assert len(added) == 3
    assert all("for a change" in system.intensity for system in added)
    assert [number for system in systems.values() for number in numbers_of(system).split(", ")][-1] == "10"


def test_a_swap_of_those_at_risk_has_no_formula() -> None:
    systems = {system.product: system for system in census_2020().systems}
    targeted = systems["censuses of 1990, 2000 and 2010"]
    assert targeted.rho is None
    assert targeted.standard == "none was stated"
    assert "does not hold of it" in targeted.intensity
    assert "ln(" not in targeted.intensity
    assert "ln(b + 1)" in systems["permutation swapping, for comparison"].intensity


def test_the_story_of_the_census_has_every_product_and_level() -> None:
    lines = {(line.product, line.level.semi_adjacency): line for line in census_2020().lines}
    assert lines["redistricting file, persons", 2].effective.epsilon == pytest.approx(40.95057, abs=5e-6)
    assert lines["redistricting file, housing units", 2].effective.intensity == ZeroConcentrated(
        Fraction("0.28")
    )
    assert lines["redistricting file, persons", 3].level.published is False
    assert all(line.level.published for (_, a), line in lines.items() if a == 2)
