"""The mean of normal values against covariance matrices in floats."""

from fractions import Fraction

import numpy as np
import pytest

from holdfast.privacy.pufferfish.families import CorrelatedMean, ListedMean
from holdfast.privacy.pufferfish.framework import Family
from holdfast.system.errors import GuaranteeError

ONE = Fraction(1)


def coefficient(correlations: np.ndarray) -> float:
    """Return b of E(mean | X_1, Z) for unit variances, by the inverse of the covariance matrix."""
    n = len(correlations)
    mean = np.array([1 / n, correlations.mean()])
    given = np.array([[1, correlations[0]], [correlations[0], 1]])
    return float((mean @ np.linalg.inv(given))[0])


@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("r", ["1/10", "3/10", "1/2", "9/10"])
def test_no_public_value_moves_the_mean_further(n: int, r: str) -> None:
    """20,000 drawn vectors of correlations of norm at most 1, and the one that attains the supremum."""
    rng, bound = np.random.default_rng(7), float(Fraction(r))
    claimed = float(CorrelatedMean(n, ONE, Fraction(r)).delta.finite)
    drawn = rng.standard_normal((20_000, n))
    drawn *= (rng.random((20_000, 1)) ** 0.2) / np.linalg.norm(drawn, axis=1, keepdims=True)
    drawn = np.clip(drawn, -bound, bound)  # clipping keeps the norm at most 1
    found = np.abs([coefficient(correlations) for correlations in drawn[:2000]])
    others = min(bound, np.sqrt((1 - bound**2) / (n - 1)))
    worst = coefficient(np.array([bound, *[-others] * (n - 1)]))
    assert found.max() <= claimed + 1e-9
    assert worst == pytest.approx(claimed, rel=1e-9)


def test_the_limit_of_full_dependence_is_infinite() -> None:
    values = [float(CorrelatedMean(10, ONE, 1 - Fraction(1, 10**k)).delta.finite) for k in (1, 3, 5)]
    assert values == sorted(values)
    assert values[-1] > 60
    limit = CorrelatedMean(10, ONE, ONE).delta
    assert limit.infinite
    assert limit.to_dict()["value"] == "infinite"
    with pytest.raises(GuaranteeError, match="Delta_z is infinite"):
        limit.finite  # noqa: B018


def test_without_dependence_it_is_the_sensitivity_of_a_mean() -> None:
    model = CorrelatedMean(8, Fraction(2), Fraction(0))
    assert model.delta.value == Fraction(1, 4)
    assert model.delta.exact
    assert CorrelatedMean(1, ONE, ONE).delta.value == 1


def test_listed_covariances_in_rationals() -> None:
    """Z = X_1 - X_2 + e with n = 2: c_1 = -c_2, so b = (1 / 2) (1 + c^2 / (1 - c^2))."""
    model = ListedMean(
        2, Fraction(3), person=(ONE, ONE), mean=(Fraction(1, 2), Fraction(0)), covariance=((Fraction(4),),)
    )
    c = 1 / 2
    assert float(model.delta.finite) == pytest.approx(3 * (1 + c**2 / (1 - c**2)) / 2)
    assert model.delta.value == 2
    assert model.details == {"coefficients": ["2/3", "-1/6"]}


def test_the_value_that_is_public_cancels() -> None:
    """Equation 16 keeps z - mu_Z; the laws given v and v' are translates by b (v - v') alone."""
    rng = np.random.default_rng(3)
    n, draws, z = 4, 400_000, 1.5
    values = rng.standard_normal((draws, n))
    public = values[:, 0] - values[:, 1] + rng.standard_normal(draws) * 2
    near = np.abs(public - z) < 0.1
    slope = np.polyfit(values[near, 0], values[near].mean(axis=1), 1)[0]
    exact = ListedMean(
        n, ONE, person=(ONE, ONE), mean=(Fraction(1, 4), Fraction(0)), covariance=((Fraction(6),),)
    ).delta.finite
    assert slope == pytest.approx(float(exact), abs=0.02)  # standard error below 0.004


def refused() -> list[tuple[dict[str, object], str]]:
    fine = {"n": 2, "width": ONE, "person": (ONE, ONE), "mean": (Fraction(1, 2), Fraction(1, 2))}
    return [
        ({**fine, "covariance": ((ONE,),)}, "determines the value of a person"),
        ({**fine, "covariance": ((Fraction(1, 2),),)}, "negative variance"),
        ({**fine, "covariance": ((ONE, ONE), (ONE, ONE))}, "different sizes"),
        ({**fine, "mean": (ONE, ONE), "covariance": ((Fraction(4),),)}, "independent values it is 1/2"),
        ({**fine, "n": 0, "covariance": ((ONE,),)}, "positive"),
        (
            {
                "n": 2,
                "width": ONE,
                "person": (ONE, ONE, ONE),
                "mean": (Fraction(1, 2), ONE, ONE),
                "covariance": ((Fraction(4), ONE), (Fraction(2), Fraction(4))),
            },
            "not symmetric",
        ),
    ]


@pytest.mark.parametrize(("arguments", "complaint"), refused())
def test_covariances_of_no_law_are_refused(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(GuaranteeError, match=complaint):
        ListedMean(**arguments)  # type: ignore[arg-type]


def test_a_correlation_is_at_most_one() -> None:
    with pytest.raises(GuaranteeError, match="from 0 to 1"):
        CorrelatedMean(2, ONE, Fraction(3, 2))


@pytest.mark.parametrize(
    "family",
    [
        CorrelatedMean(5, ONE, Fraction(1, 2)),
        ListedMean(
            2, ONE, person=(ONE, ONE), mean=(Fraction(1, 2), Fraction(0)), covariance=((Fraction(4),),)
        ),
    ],
)
def test_frameworks_say_what_they_are_about(family: Family) -> None:
    told = family.framework.to_dict()
    assert told["statistic"] == {"name": "mean", "metric": "absolute difference"}
    assert told["digest"] == family.framework.digest
