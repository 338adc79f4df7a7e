import numpy as np
import pytest
from tests.privacy.tradeoff.kinds import KINDS, LOPSIDED

from holdfast.lattice.arrays import FloatArray
from holdfast.privacy.tradeoff import (
    PERFECTLY_PRIVATE,
    EpsilonDelta,
    Gaussian,
    Tradeoff,
    at_least,
    group,
    tensor,
)

ALPHA = np.linspace(0, 1, 301)


def slow_group(f: Tradeoff, k: int, alpha: FloatArray) -> FloatArray:
    """1 - (1 - f)^{o k}, as it is printed."""
    value = alpha
    for _ in range(k):
        value = 1 - f(value)
    return 1 - value


@pytest.mark.parametrize("f", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_against_the_definition(f: Tradeoff, k: int) -> None:
    # 1 - f(alpha) is off by 1e-16, and a steep f makes that more
    slack = 1e-13 * max(1.0, np.exp(min(k * f.epsilon_at(1e-10), 10))) if k > 1 else 1e-15
    inside = ALPHA[1:]
    assert group(f, k)(inside) == pytest.approx(slow_group(f, k, inside), abs=min(slack, 1e-7))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_gaussian_is_closed(k: int) -> None:
    assert group(Gaussian(0.7), k) == Gaussian(k * 0.7)
    through = group(Gaussian(0.7).pieces(), k)
    assert through.certainty == "lower"
    assert np.all(through(ALPHA) <= Gaussian(k * 0.7)(ALPHA) + 1e-14)
    assert through(ALPHA) == pytest.approx(Gaussian(k * 0.7)(ALPHA), abs=k * 2e-6)


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_pure_groups_are_better_than_k_epsilon(k: int, epsilon: float) -> None:
    f = group(EpsilonDelta(epsilon), k)
    assert f.certainty == "exact"
    assert at_least(f, EpsilonDelta(k * epsilon))
    assert not at_least(EpsilonDelta(k * epsilon), f, tolerance=1e-6)
    assert f.epsilon_at(0.0) == pytest.approx(k * epsilon, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-9), (1.0, 1e-3), (0.1, 0.01), (3.0, 1e-30)])
def test_approximate_groups_attain_the_geometric_sum(k: int, epsilon: float, delta: float) -> None:
    f = group(EpsilonDelta(epsilon, delta), k)
    assert f.delta_at(k * epsilon) == pytest.approx(
        delta * np.expm1(k * epsilon) / np.expm1(epsilon), rel=1e-9
    )


def test_nobody_and_one() -> None:
    assert group(LOPSIDED, 0) == PERFECTLY_PRIVATE
    assert group(LOPSIDED, 1) is LOPSIDED
    with pytest.raises(ValueError, match="size"):
        group(LOPSIDED, -1)


def test_steps_add_up() -> None:
    f = EpsilonDelta(0.3, 1e-4)
    assert group(group(f, 2), 3)(ALPHA) == pytest.approx(group(f, 6)(ALPHA), abs=1e-13)


@pytest.mark.parametrize("a", [2, 3, 4])
@pytest.mark.parametrize(
    ("f", "g"),
    [
        (EpsilonDelta(0.1), EpsilonDelta(0.1)),
        (EpsilonDelta(0.5), EpsilonDelta(1.5)),
        (EpsilonDelta(0.5, 1e-3), EpsilonDelta(0.2, 0.01)),
        (EpsilonDelta(2.0, 1e-6), EpsilonDelta(2.0, 1e-6)),
        (Gaussian(0.5), Gaussian(1.5)),
        (LOPSIDED, EpsilonDelta(0.4)),
        (LOPSIDED, LOPSIDED.inverse()),
    ],
)
def test_semi_dp_first_is_never_worse(f: Tradeoff, g: Tradeoff, a: int) -> None:
    """[semi-dp, Proposition 21 and Lemma 41], exact on both sides."""
    composed_first, semi_first = group(tensor(f, g), a), tensor(group(f, a), group(g, a))
    assert composed_first.certainty == semi_first.certainty == "exact"
    assert at_least(semi_first, composed_first)
    assert np.all(composed_first(ALPHA) <= semi_first(ALPHA) + 1e-12)


@pytest.mark.parametrize("a", [2, 3, 4])
@pytest.mark.parametrize(("epsilon", "mu"), [(0.7, 0.4)])
def test_semi_dp_first_with_a_gaussian(epsilon: float, mu: float, a: int) -> None:
    """Lower bounds on both sides, the tangents' error far below the difference."""
    f, g = EpsilonDelta(epsilon), Gaussian(mu)
    composed_first, semi_first = group(tensor(f, g), a), tensor(group(f, a), group(g, a))
    assert np.all(composed_first(ALPHA) <= semi_first(ALPHA) + 1e-6)
    assert np.max(semi_first(ALPHA) - composed_first(ALPHA)) > 1e-3
