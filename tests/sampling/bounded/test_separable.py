"""Counts with totals under a prior and a loss, against lists of all of them."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import lgamma

import flint
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.bounded import weighted_cell
from holdfast.sampling.bounded.losses import LargestLoss, MixedLoss, RootLoss, SquareLoss, SumLoss
from holdfast.sampling.bounded.separable import SeparableLaw
from holdfast.sampling.bounded.totals import Order, Totals
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, p_value

DRAWS = 20_000
LOSSES: dict[str, MixedLoss] = {
    "l1": SumLoss(Fraction(1, 2)),
    "weighted": SumLoss(Fraction(1, 4), tuple(map(Fraction, (1, 3, 2, 2)))),
    "squared": SquareLoss(Fraction(1, 4)),
    "l2": RootLoss(Fraction(1)),
    "largest": LargestLoss(Fraction(1)),
}
PRIORS = {
    "counting": None,
    "prior": tuple(map(Fraction, ("1/2", "3", "1/10", "20"))),
    "a zero": tuple(map(Fraction, ("2", "0", "1", "1/3"))),
}
TOTAL = np.array([[1, 1, 1, 1]])
SYSTEMS: dict[str, tuple[IntArray, IntArray | None, IntArray | None]] = {
    "one total": (TOTAL, None, None),
    "two totals": (np.array([[1, 1, 0, 0], [1, 1, 1, 1]]), None, None),
    "cases and deaths": (
        np.array([[1, 0, 1, 0]]),
        np.array([[1, -1, 0, 0], [0, 0, 1, -1]]),
        np.array([0, 0]),
    ),
    "a chain of orders": (
        np.array([[1, 0, 0, 0]]),
        np.array([[1, -1, 0, 0], [0, 1, -1, 0], [0, 1, 0, -1]]),
        np.array([0, 1, 0]),
    ),
    "a floor and a sum": (
        TOTAL,
        np.array([[0, 0, 0, 1], [1, 1, 0, 0], [0, 0, -2, 0]]),
        np.array([1, 2, -5]),
    ),
    "two below one": (TOTAL, np.array([[1, -1, 0, 0], [0, -1, 1, 0]]), np.array([0, 0])),
}
CENTRE = np.array([3, 1, 2, 1])


def law_of(system: str, loss: MixedLoss, pseudo: tuple[Fraction, ...] | None) -> SeparableLaw:
    matrix, rows, least = SYSTEMS[system]
    totals = Totals.of(csr_array(matrix), matrix @ CENTRE, low=[0] * 4, rows=rows, least=least)
    assert totals is not None
    return SeparableLaw(totals, CENTRE, loss, pseudo)


def listed(system: str) -> IntArray:
    """List everything within the bounds, free counts up to 12."""
    matrix, rows, least = SYSTEMS[system]
    points = np.array(list(product(range(13), repeat=4)))
    kept = (points @ matrix.T == matrix @ CENTRE).all(axis=1)
    if rows is not None and least is not None:
        kept &= (points @ rows.T >= least).all(axis=1)
    return np.asarray(points[kept])


def weights_of(points: IntArray, loss: MixedLoss, pseudo: tuple[Fraction, ...] | None) -> NDArray[np.float64]:
    """Write the weights down once more, from the definition."""
    z = np.abs(points - CENTRE)
    match loss:
        case SumLoss(kappa, weights):
            size = z @ np.array([float(w) for w in weights or (1, 1, 1, 1)])
        case SquareLoss(kappa):
            size = (z**2).sum(axis=1)
        case RootLoss(kappa):
            size = np.sqrt((z**2).sum(axis=1))
        case LargestLoss(kappa):
            size = z.max(axis=1)
    logs = -float(kappa) * size
    for cell, a in enumerate(pseudo or ()):
        for number, k in enumerate(points[:, cell].tolist()):
            if a:
                logs[number] += lgamma(k + float(a)) - lgamma(float(a)) - lgamma(k + 1)
            elif k:
                logs[number] = -np.inf
    return np.asarray(np.exp(logs))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_draws_follow_the_enumerated_law(system: str, name: str, prior: str) -> None:
    loss, pseudo = LOSSES[name], PRIORS[prior]
    points = listed(system)
    weights = weights_of(points, loss, pseudo)
    law = law_of(system, loss, pseudo)
    if not weights.any():
        with pytest.raises(SamplingError, match="no release is within these bounds"):
            law.sample(SeededEntropy(1), 1)
        return
    logs = law.log_prob(points)
    some = weights > 0
    assert np.array_equal(some, np.isfinite(logs))
    assert np.allclose(np.diff(logs[some]), np.diff(np.log(weights[some])))
    drawn = law.sample(SeededEntropy(1), DRAWS)
    assert np.isfinite(law.log_prob(drawn)).all()
    shares = dict(zip(map(tuple, points.tolist()), (weights / weights.sum()).tolist(), strict=True))
    if some.sum() > 1:
        assert p_value(drawn, shares) > LEVEL


@pytest.mark.parametrize("name", LOSSES)
def test_another_rate_is_told_apart(name: str) -> None:
    """The test above would notice a rate that is a fifth off."""
    loss = LOSSES[name]
    drawn = law_of("one total", loss, PRIORS["prior"]).sample(SeededEntropy(2), DRAWS)
    points = listed("one total")
    for by in (Fraction(4, 5), Fraction(6, 5)):
        other: MixedLoss = replace(loss, kappa=loss.kappa * by)  # type: ignore[type-var, attr-defined]
        weights = weights_of(points, other, PRIORS["prior"])
        law = dict(zip(map(tuple, points.tolist()), (weights / weights.sum()).tolist(), strict=True))
        assert p_value(drawn, law) < LEVEL / 1000


@pytest.mark.parametrize("name", ["l1", "l2", "largest"])
def test_wide_bins_and_heavy_tails_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighted_cell, "BINS", 2)
    monkeypatch.setattr(weighted_cell, "DEPTH", 1.0)
    points, pseudo = listed("one total"), PRIORS["prior"]
    weights = weights_of(points, LOSSES[name], pseudo)
    drawn = law_of("one total", LOSSES[name], pseudo).sample(SeededEntropy(3), 5000)
    law = dict(zip(map(tuple, points.tolist()), (weights / weights.sum()).tolist(), strict=True))
    assert p_value(drawn, law) > LEVEL


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("name", LOSSES)
def test_floats_are_no_farther_off_than_they_say(name: str, system: str) -> None:
    """What a proposal is accepted with, in floats and in balls of many digits; never more than 1."""
    law = law_of(system, LOSSES[name], PRIORS["prior"])
    for part in law._parts:
        numbers, masses, bound = part._numbers
        for number in np.flatnonzero(numbers)[:4].tolist():
            points, logs, off = part._chosen(number).draw(20, SeededEntropy(4))
            rest, more = part._loss.log_rest(points - part._centre, part._terms)
            logs = logs + rest + masses[number] - np.log(numbers[number]) - bound
            for i in np.flatnonzero(logs > -np.inf).tolist():
                with flint.ctx.workprec(200):
                    exact = float(part._ball(points[i], number).mid())
                assert exact <= 0
                assert abs(exact - logs[i]) <= off[i] + more[i] + 2.0**-40


def test_large_tables_keep_totals_and_bounds() -> None:
    """Seventy cells around ten thousand each, pulled to an unlike prior: every draw is within."""
    rng = np.random.default_rng(7)
    centre = rng.integers(0, 20_000, 70)
    past = tuple(Fraction(int(k)) if k else Fraction(1, 2) for k in rng.integers(0, 5000, 70))
    floors = centre // 10
    totals = Totals.of(
        csr_array(np.ones((1, 70), dtype=np.int64)), centre.sum(keepdims=True), low=floors.tolist()
    )
    assert totals is not None
    for loss in (SumLoss(Fraction(1, 400)), RootLoss(Fraction(1, 4))):
        drawn = SeparableLaw(totals, centre, loss, past).sample(SeededEntropy(8), 20)
        assert (drawn.sum(axis=1) == centre.sum()).all()
        assert (drawn >= floors).all()


def test_the_squares_of_the_l2_norm_are_above_it() -> None:
    """No sum of terms is below exp(-kappa r), at whole squares from 0 to 10^16."""
    for kappa in (Fraction(1, 400), Fraction(1), Fraction(7, 2)):
        loss = RootLoss(kappa)
        terms = loss.terms(lambda term: -33 * np.log(float(term.square) + 1e-9), 10**8)
        assert len(terms) < 60
        squares = np.unique(np.geomspace(1, 1e16, 4000).round()).astype(np.int64)
        points: IntArray = np.sqrt(np.append(0, squares).astype(np.float64))[:, None]  # real ones do as well
        assert (loss.log_rest(points, terms)[0] <= 0).all()


def test_systems_are_taken_apart() -> None:
    nested = csr_array(np.array([[1, 1, 1, 0], [1, 0, 0, 0]]))
    totals = Totals.of(nested, np.array([7, 2]), low=[0, 0, 0, None])
    assert totals is not None
    assert totals.group.tolist() == [0, 1, 1, -1]
    assert totals.sums.tolist() == [2, 5]
    assert totals.low[:3] == (2, 0, 0)
    assert totals.high == (2, 5, 5, None)
    assert not totals.bounded
    crossing = csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]]))
    assert Totals.of(crossing, np.array([2, 2, 2]), low=[0] * 4) is None
    weighted = csr_array(np.array([[1, 2, 1], [1, 1, 1]]))
    by_points = Totals.of(weighted, np.array([5, 4]), low=[0] * 3)
    assert by_points is not None
    assert by_points.sums.tolist() == [3, 1]
    rows = np.array([[2, 0, 0, 0], [0, -3, 0, 0], [0, 0, 1, -1]])
    ordered = Totals.of(csr_array(TOTAL), np.array([9]), low=[0] * 4, rows=rows, least=np.array([3, -7, 2]))
    assert ordered is not None
    assert ordered.low == (2, 0, 2, 0)
    assert ordered.high == (7, 2, 7, 5)
    assert ordered.orders == (Order(2, 3, 2),)
    with pytest.raises(SamplingError, match="no release is within these bounds"):
        Totals.of(csr_array(TOTAL), np.array([3]), low=[1] * 4)
    with pytest.raises(SamplingError, match="no release is within these bounds"):
        law_of("one total", LOSSES["l1"], (Fraction(0),) * 4).sample(SeededEntropy(1), 1)


def test_a_mixture_needs_bounds() -> None:
    free = Totals.of(csr_array(TOTAL), np.array([7]), low=[None, 0, 0, 0])
    assert free is not None
    with pytest.raises(SamplingError, match="where each of them has bounds"):
        SeparableLaw(free, CENTRE, LOSSES["l2"]).sample(SeededEntropy(1), 1)
    drawn = SeparableLaw(free, CENTRE, LOSSES["l1"]).sample(SeededEntropy(1), 1000)
    assert (drawn.sum(axis=1) == 7).all()
    assert (drawn[:, 0] < 0).any()
