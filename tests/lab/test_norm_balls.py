"""Real noise by the size of a norm: its law, and its loss by the ratio of densities."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array

from holdfast.lab.norm_balls import BallNorm, NormBall, NormLaw, Space
from holdfast.mechanisms.projected_gaussian import NullSpace
from holdfast.privacy.evidence import Assumed
from holdfast.privacy.guarantee import Scope, Target
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, two_way
from holdfast.testing.losses import record_distances
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

NORMS: tuple[BallNorm, ...] = ("l1", "l2", "linf")
ORDER = {"l1": 1, "l2": 2, "linf": np.inf}
EPSILON = Fraction(2)


def premises(rows: NDArray[np.int64], table: list[int]) -> Premises:
    on = Universe.of(csr_array(rows), rows @ np.array(table))
    return Premises.of(on, Scope.of(on, invariants=("all",), constraints=()), "semi")


UNIVERSES = {
    "2 x 2, (3,2)/(4,1)": premises(two_way(2, 2), [3, 0, 1, 1]),
    "3 x 3, all margins 1": premises(two_way(3, 3), [1, 0, 0, 0, 1, 0, 0, 0, 1]),
    "two states": premises(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), [2, 1, 0, 2]),
    "weights": premises(np.array([[1, 2, 1], [1, 1, 1]]), [1, 1, 1]),
    "crossing counts": premises(np.array([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]), [1, 1, 1, 1]),
}
SYSTEMS = {
    "none": csr_array((0, 4), dtype=np.int64),
    "one total": csr_array(np.array([[1, 1, 1, 1, 1]])),
    "3 x 3": csr_array(two_way(3, 3)),
    "two blocks and a free cell": csr_array(
        np.array([[1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 0]])
    ),
    "weights": csr_array(np.array([[1, 2, 1, 0], [1, 1, 1, 1]])),
}


def largest_loss(mechanism: NormBall) -> float:
    """Return the largest log ratio of densities between tables that the guarantee speaks of."""
    tables = conforming_tables(mechanism.premises.universe, 2000)
    apart = record_distances(tables)
    noise = mechanism.noise.sample(SeededEntropy(0), 300)
    near = np.argwhere((apart > 0) & (apart <= mechanism.premises.semi_adjacency.worst_case))
    losses = []
    for i, j in near:
        outputs = np.vstack([tables[i] + noise, tables[i]])  # no noise at all attains the loss
        here, there = (mechanism.noise.log_prob(outputs - tables[k]) for k in (i, j))
        losses.append((here - there).max())
    return float(max(losses))


@pytest.mark.parametrize("name", UNIVERSES)
@pytest.mark.parametrize("norm", NORMS)
def test_in_the_span_the_loss_is_the_guarantee(norm: BallNorm, name: str) -> None:
    mechanism = NormBall.calibrate(UNIVERSES[name], norm=norm, intensity=Pure(EPSILON))
    assert mechanism.guarantee.meets(Target("semi", Pure(EPSILON)))
    assert largest_loss(mechanism) == pytest.approx(2, rel=1e-6)
    assert largest_loss(replace(mechanism, kappa=mechanism.kappa * Fraction(11, 10))) > 2.1


@pytest.mark.parametrize("name", UNIVERSES)
@pytest.mark.parametrize("norm", NORMS)
def test_by_group_privacy_the_loss_is_no_more(norm: BallNorm, name: str) -> None:
    mechanism = NormBall.calibrate(UNIVERSES[name], norm=norm, intensity=Pure(EPSILON), space="cells")
    assert mechanism.guarantee.meets(Target("semi", Pure(EPSILON)))
    assert isinstance(mechanism.guarantee.evidence[-1], Assumed)  # floats
    assert largest_loss(mechanism) <= 2 * (1 + 1e-9)


def radial(draws: NDArray[np.float64], law: NormLaw) -> float:
    """Return the p-value of kappa ||z|| under Gamma(s): the radius of any norm's law."""
    sizes = float(law.kappa) * np.linalg.norm(draws, ord=ORDER[law.norm], axis=1)
    return float(stats.kstest(sizes, stats.gamma(law.span.dimension).cdf).pvalue)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("norm", NORMS)
def test_draws_have_the_radius_and_symmetry_of_their_law(norm: BallNorm, name: str) -> None:
    law = NormLaw(NullSpace(SYSTEMS[name]), norm, Fraction(1, 3))
    draws = law.sample(SeededEntropy(4), 3000)
    assert law.span.holds(draws).all()
    assert radial(draws, law) > LEVEL
    assert radial(draws * 1.15, law) < LEVEL**2
    errors = draws.mean(axis=0) / np.maximum(draws.std(axis=0) / np.sqrt(3000), 1e-9)
    assert np.abs(errors).max() < 4.5


@pytest.mark.parametrize("norm", NORMS)
def test_directions_follow_the_density(norm: BallNorm) -> None:
    # in a plane the angle decides the norm: its law is proportional to 1 / ||direction||^2
    rows = np.array([[1, 1, 1, 1], [1, 2, 0, 1]])
    law = NormLaw(NullSpace(csr_array(rows)), norm, Fraction(1))
    plane = np.linalg.svd(rows)[2][2:]
    places = law.sample(SeededEntropy(5), 6000) @ plane.T
    edges = np.linspace(-np.pi, np.pi, 25)
    middle = np.linspace(-np.pi, np.pi, 24_001)[:-1] + np.pi / 24_000
    seen = np.histogram(np.arctan2(places[:, 1], places[:, 0]), edges)[0]

    def p_value(order: float) -> float:
        directions = np.column_stack([np.cos(middle), np.sin(middle)]) @ plane
        weight = np.linalg.norm(directions, ord=order, axis=1) ** -2
        expected = weight.reshape(24, -1).sum(axis=1)
        return float(stats.chisquare(seen, expected / expected.sum() * seen.sum()).pvalue)

    assert p_value(ORDER[norm]) > LEVEL
    assert max(p_value(order) for other, order in ORDER.items() if other != norm) < LEVEL**2


@pytest.mark.parametrize("space", ["cells", "span"])
def test_second_moments_are_those_of_the_balls(space: Space) -> None:
    # l2: the radius is Gamma(s), so E ||z||^2 = s (s + 1) / kappa^2; l1 and linf in cells have closed forms
    on = UNIVERSES["3 x 3, all margins 1"]
    for norm in NORMS:
        mechanism = NormBall.calibrate(on, norm=norm, intensity=Pure(Fraction(1)), space=space)
        d, kappa = (4 if space == "span" else 9), float(mechanism.kappa)
        truth = {"l1": 2 * d, "l2": d * (d + 1), "linf": d * (d + 1) * (d + 2) / 3}[norm] / kappa**2
        squares = (mechanism.noise.sample(SeededEntropy(6), 4000) ** 2).sum(axis=1)
        error = (squares.mean() - truth) / (squares.std() / np.sqrt(squares.size))
        assert (abs(error) < 4) == (space == "cells" or norm == "l2")  # the cut balls have other moments


def test_sensitivities_of_both_spaces() -> None:
    on = UNIVERSES["3 x 3, all margins 1"]
    squares = {"span": {"l1": 36, "l2": 6, "linf": 1}, "cells": {"l1": 36, "l2": 18, "linf": 9}}
    spaces: tuple[Space, ...] = ("span", "cells")
    for space in spaces:
        for norm in NORMS:
            kappa = NormBall.calibrate(on, norm=norm, intensity=Pure(Fraction(1)), space=space).kappa
            assert float(kappa) ** -2 == pytest.approx(squares[space][norm], rel=1e-8)


@pytest.mark.parametrize("norm", NORMS)
def test_per_record_of_distance(norm: BallNorm) -> None:
    on = replace(UNIVERSES["3 x 3, all margins 1"], adjacency="unit")
    mechanism = NormBall.calibrate(on, norm=norm, intensity=Pure(Fraction(1)))
    tables = conforming_tables(on.universe, 2000)
    apart = record_distances(tables)
    for i, j in np.argwhere(apart > 0):
        size = np.linalg.norm((tables[i] - tables[j]).astype(float), ord=ORDER[norm])
        assert float(mechanism.kappa) * size <= apart[i, j] * (1 + 1e-9)


def test_a_table_that_is_too_large_is_refused() -> None:
    large = NormLaw(NullSpace(csr_array(two_way(12, 12))), "l1", Fraction(1))
    with pytest.raises(SamplingError, match="smaller table"):
        large.sample(SeededEntropy(0), 1)
