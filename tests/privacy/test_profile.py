"""Losses at a distance and per record, against the differences of tables themselves."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.privacy.intensity import Approximate, Functional, GaussianDP, Pure, ZeroConcentrated
from holdfast.privacy.profile import NormLoss, PerRecord, Profile, SquaredLoss, profile_of
from holdfast.privacy.tradeoff import Gaussian
from holdfast.system.errors import GuaranteeError
from holdfast.testing.goodness import two_way
from holdfast.testing.losses import record_distances
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.spread import spread
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

KAPPA = Fraction(1, 3)


@pytest.mark.parametrize(
    "profile",
    [
        NormLoss(KAPPA, "l1"),
        NormLoss(KAPPA, "l2"),
        SquaredLoss(Fraction(7, 2)),
        PerRecord(Pure(KAPPA)),
        PerRecord(ZeroConcentrated(KAPPA)),
        PerRecord(GaussianDP(KAPPA)),
        PerRecord(Approximate(KAPPA, Fraction(1, 10**6))),
    ],
)
def test_what_is_written_is_read_back(profile: Profile) -> None:
    assert profile_of(profile.to_dict()) == profile


def test_what_has_no_text_is_refused_and_so_is_what_nobody_wrote() -> None:
    with pytest.raises(GuaranteeError, match="epsilon, rho or mu"):
        PerRecord(Functional(Gaussian(1.0))).to_dict()
    for wrong in ({"kind": "cubic"}, {"kind": "record", "standard": "f"}):
        with pytest.raises(GuaranteeError, match="another version"):
            profile_of(wrong)


@pytest.mark.parametrize(
    ("matrix", "table"),
    [
        (two_way(2, 3), [2, 1, 1, 1, 0, 2]),
        (np.ones((1, 3), dtype=np.int64), [2, 1, 1]),
        (two_way(3, 3), [1, 0, 1, 1, 1, 0, 0, 1, 1]),
    ],
)
def test_no_pair_of_tables_loses_more(matrix: NDArray[np.int64], table: list[int]) -> None:
    universe = Universe.of(csr_array(matrix), matrix @ np.array(table))
    tables = conforming_tables(universe, 10_000)
    apart = record_distances(tables)
    differences = tables[:, None, :] - tables[None, :, :]
    l1 = np.abs(differences).sum(axis=2)
    square = (differences**2).sum(axis=2)
    losses: dict[NormLoss | SquaredLoss, NDArray[np.float64]] = {
        NormLoss(KAPPA, "l1"): float(KAPPA) * l1,
        NormLoss(KAPPA, "l2"): float(KAPPA) * np.sqrt(square),
        SquaredLoss(KAPPA): square / (2 * float(KAPPA)),
    }
    for profile, loss in losses.items():
        power = 2 if isinstance(profile, SquaredLoss) else 1
        stated = _amount(profile.per_record(spread(universe)))
        each = (loss / np.maximum(apart, 1) ** power).max()
        assert 0.9 * stated < each <= stated * (1 + 1e-9)
        for distance in range(1, int(apart.max()) + 1):
            at = _amount(profile.at(distance, sensitivity(universe, distance)))
            assert np.isclose(loss[apart <= distance].max(), at)


def _amount(intensity: Pure | ZeroConcentrated | GaussianDP) -> float:
    return float(next(iter(intensity.parameters().values())))
