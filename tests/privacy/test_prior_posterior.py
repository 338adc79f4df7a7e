"""Posterior bounds, held against posteriors of an enumerated mechanism."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.privacy.posterior import loss_of, odds_bounds, posterior_bounds, printed_bounds
from holdfast.system.errors import GuaranteeError

N = 4
EPSILON = 0.7


def likelihood() -> NDArray[np.float64]:
    """Return P(release y | count x) for the truncated double geometric law, x and y in 0, ..., N."""
    steps = np.abs(np.arange(N + 1)[:, None] - np.arange(N + 1)[None, :])
    weight = np.exp(-EPSILON * steps)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def posteriors(prior: dict[tuple[int, ...], float]) -> tuple[float, NDArray[np.float64]]:
    """Return the prior of x_1 = 1, and its posterior for each release of the sum of 0/1 records."""
    law, total = likelihood(), sum(prior.values())
    joint = np.zeros((2, N + 1))
    for records, share in prior.items():
        joint[records[0]] += share / total * law[sum(records)]
    return float(joint[1].sum()), joint[1] / joint.sum(axis=0)


def one_record_loss() -> float:
    log_prob = np.log(likelihood())
    return float(np.abs(log_prob[1:] - log_prob[:-1]).max())


def test_no_posterior_of_independent_records_is_beyond_the_bounds_and_one_attains_them() -> None:
    loss = one_record_loss()
    closest = np.inf
    for first, other in product([0.01, 0.3, 0.9], [0.0, 0.2, 0.7, 1.0]):
        shares = np.array([first, other, other, other])
        prior = {
            records: float(np.where(np.array(records), shares, 1 - shares).prod())
            for records in product([0, 1], repeat=N)
        }
        pi, after = posteriors(prior)
        for low, high in (posterior_bounds(pi, loss), printed_bounds(pi, loss)):
            assert (after >= low - 1e-12).all()
            assert (after <= high + 1e-12).all()
        low, high = posterior_bounds(pi, loss)
        closest = min(closest, float(np.abs(after - high).min()), float(np.abs(after - low).min()))
        quieter = posterior_bounds(pi, 0.9 * loss)
        if other == 0.0:
            assert (after > quieter.high).any() or (after < quieter.low).any()
    assert closest < 1e-12


def test_records_that_come_in_groups_move_a_posterior_by_the_group() -> None:
    """Where the theorem's proof has a gap: all records are equal, so the tables are N steps apart."""
    pi, after = posteriors({(0,) * N: 0.5, (1,) * N: 0.5})
    one, group = one_record_loss(), EPSILON * N
    assert (after > posterior_bounds(pi, one).high).any()
    assert (after <= posterior_bounds(pi, group).high + 1e-12).all()


def test_the_interval_for_odds_lies_within_the_printed_one() -> None:
    prior = np.linspace(0, 1, 101)[:, None]
    loss = np.array([0.0, 0.1, 1.0, 5.0])
    tight, printed = posterior_bounds(prior, loss), printed_bounds(prior, loss)
    assert tight.low.shape == (101, 4)
    assert (tight.low >= printed.low - 1e-15).all()
    assert (tight.high <= printed.high + 1e-15).all()
    assert np.allclose(tight.low[:, 0], prior[:, 0])
    inner = prior[1:-1]
    odds = odds_bounds(inner / (1 - inner), loss)
    assert np.allclose(odds.high / (1 + odds.high), tight.high[1:-1])
    assert np.allclose(odds.low / (1 + odds.low), tight.low[1:-1])


def test_certainty_stays_and_large_losses_do_not_overflow() -> None:
    low, high = posterior_bounds([0.0, 0.5, 1.0], 800.0)
    assert low.tolist() == [0.0, 0.0, 1.0]
    assert high.tolist() == [0.0, 1.0, 1.0]


def test_the_loss_of_a_conditioned_mechanism() -> None:
    assert loss_of(Fraction(1, 2), gamma=Fraction(1), steps=3) == 3.0
    assert loss_of([1.0, 2.0], gamma=-0.5).tolist() == [0.5, 1.0]


@pytest.mark.parametrize("prior", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(prior: float) -> None:
    with pytest.raises(GuaranteeError, match="between 0 and 1"):
        posterior_bounds(prior, 1.0)
    with pytest.raises(GuaranteeError, match="gamma lies between"):
        loss_of(1.0, gamma=2.0)
    with pytest.raises(GuaranteeError, match="odds"):
        odds_bounds(-1.0, 1.0)
