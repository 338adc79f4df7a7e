"""`noisy-count`: which tables it is for, what it takes from their margins, and what it releases."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.data.two_by_two import Margins, TwoByTwo
from holdfast.mechanisms.canonical import Normal, Tulap
from holdfast.mechanisms.noisy_count import CountWithNoise, NoisyCount, margins_of
from holdfast.outputs import StatisticOutput
from holdfast.privacy.intensity import GaussianDP, Pure
from holdfast.public import public_margins
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import GuaranteeError, ReleaseError, SamplingError, SpecError
from holdfast.testing.contract import Subject
from holdfast.testing.worlds import Case

ONE = {"epsilon": "1"}
TABLES = [TwoByTwo(3, 0, 1, 1), TwoByTwo(1, 1, 0, 1)]


def subject(world: str, folder: Path, **privacy: Any) -> Subject:
    return Subject.of(Case(world, privacy or ONE), NoisyCount, folder)


def test_margins_are_read_whatever_the_order_of_their_attributes(tmp_path: Path) -> None:
    """The world keeps [row, stratum] and [stratum, column]."""
    assert margins_of(subject("two strata", tmp_path).public) == tuple(table.margins for table in TABLES)


@pytest.mark.parametrize("tables", [TABLES[:1], TABLES, [*TABLES, TwoByTwo(9, 8, 7, 6)]])
def test_margins_are_public_and_back(tables: list[TwoByTwo]) -> None:
    margins = tuple(table.margins for table in tables)
    public = public_margins(margins)
    assert margins_of(public) == margins
    counts = np.array(tables).ravel()
    assert np.array_equal(public.universe.matrix @ counts, public.universe.values)
    assert public.universe.dimension == len(tables)


@pytest.mark.parametrize("world", ["one total", "two states", "2 x 3", "selections", "weights"])
def test_other_tables_are_refused(world: str, tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match="for 2 x 2 tables, in strata if any, that keep both margins"
    ) as refused:
        subject(world, tmp_path)
    assert "\n" not in str(refused.value)


def test_a_table_with_a_structural_zero_is_refused(tmp_path: Path) -> None:
    case = Case("2 x 2", ONE, constraints={"structural_zeros": [{"row": "a", "column": "y"}]})
    with pytest.raises(SpecError, match="for 2 x 2 tables"):
        Subject.of(case, NoisyCount, tmp_path)


def test_one_record_of_distance_is_not_offered(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match='set adjacency="semi"'):
        subject("2 x 2", tmp_path, epsilon="1", adjacency="unit")


def test_margins_that_leave_one_table_are_refused() -> None:
    with pytest.raises(GuaranteeError, match="nothing to test and nothing to protect"):
        NoisyCount.calibrate([Margins((5, 0), (2, 3))], Pure(Fraction(1)))


def test_a_release_is_one_number_for_each_stratum(tmp_path: Path) -> None:
    made = subject("two strata", tmp_path, epsilon="50")
    release = made.ready.release(SeededEntropy(1), accept_no_protection=True)
    assert np.rint(release.statistics).tolist() == [table.x11 for table in TABLES]  # hardly any noise
    with pytest.raises(ReleaseError, match="no table: it has statistic"):
        _ = release.table
    folder = release.write(tmp_path / "release")
    assert StatisticOutput.read(folder / "statistic.csv").values == release.statistics
    assert sorted(path.name for path in folder.glob("*.csv")) == ["statistic.csv"]


def test_the_law_is_as_fine_above_the_count_as_below() -> None:
    """Differences of a distribution function near 1 would be rounded away."""
    far = np.arange(1.0, 30.0)[:, None]
    for noise in (Tulap(Fraction(2)), Normal(Fraction(1))):
        law = CountWithNoise(np.array([5]), noise)
        assert np.array_equal(law.log_prob(5 + far), law.log_prob(5 - far))
    steps = np.diff(CountWithNoise(np.array([5]), Tulap(Fraction(2))).log_prob(5 + far))
    assert steps == pytest.approx(-2, rel=1e-9)  # each whole step is exp(-2) as likely


def test_strata_move_together_by_half_the_records(tmp_path: Path) -> None:
    mechanism = subject("two strata", tmp_path, standard="gaussian", mu="1", distance=6).mechanism
    assert isinstance(mechanism, NoisyCount)
    assert (mechanism.steps, mechanism.canonical) == (3, Normal(Fraction(1, 3)))
    assert mechanism.guarantee.intensity == GaussianDP(Fraction(1))


def test_a_record_has_one_intensity() -> None:
    fields = {"name": "noisy-count", "additive": True, "sampling": ()}
    assert NoisyCount.Record.model_validate({**fields, "rho": "1/2"}).parameters() == {"rho": "1/2"}
    for wrong in ({}, {"epsilon": "1", "rho": "1"}, {"delta": "1/2"}, {"mu": "-1"}):
        with pytest.raises(ValueError, match=r"intensity|positive"):
            NoisyCount.Record.model_validate({**fields, **wrong})


@pytest.mark.parametrize("intensity", [Pure(Fraction(1, 10**9)), GaussianDP(Fraction(1, 10**9))])
def test_what_cannot_be_drawn_is_refused_before_a_charge(intensity: Pure | GaussianDP) -> None:
    with pytest.raises(SamplingError, match="64-bit integers: give"):
        NoisyCount.calibrate([TwoByTwo.of([3, 4, 5, 2]).margins], intensity)
