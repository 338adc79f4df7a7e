from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from holdfast.mechanisms.canonical import CanonicalNoise, Constructed, Normal, Tulap, canonical
from holdfast.privacy.tradeoff import (
    EpsilonDelta,
    Gaussian,
    PiecewiseLinear,
    Tradeoff,
    group,
    symmetrise,
    tradeoff_of,
)
from holdfast.sampling.decisions import floor_of, is_below, real
from holdfast.sampling.entropy import SeededEntropy, SystemEntropy
from holdfast.system.errors import GuaranteeError, SamplingError
from holdfast.testing.goodness import LEVEL

LOPSIDED = tradeoff_of(np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.3, 0.4, 0.2]))
FUNCTIONS: dict[str, Tradeoff] = {
    "pure": EpsilonDelta(1.0),
    "approximate": EpsilonDelta(0.3, 0.01),
    "total variation": EpsilonDelta(0.0, 0.2),
    "exposed": EpsilonDelta(0.0, 1.0),
    "gaussian": Gaussian(1.3),
    "sharp gaussian": Gaussian(30.0),
    "piecewise": symmetrise(LOPSIDED),
    "group": group(EpsilonDelta(0.4, 0.001), 3),
    "tangents": Gaussian(1.0).pieces(),
}
LAWS: dict[str, tuple[Tradeoff, CanonicalNoise]] = {
    **{name: (f, canonical(f)) for name, f in FUNCTIONS.items()},
    **{f"constructed {name}": (f, Constructed(f)) for name, f in FUNCTIONS.items()},
}
PLACES = np.linspace(-7.3, 7.3, 2921)


def apart(f: Tradeoff, cdf: np.ndarray, before: np.ndarray) -> float:
    """How far F(x - 1) is from f(1 - F(x)) where 0 < F(x) < 1."""
    inside = (cdf > 0) & (cdf < 1)
    return float(np.abs(before - f(1 - cdf))[inside].max())


@pytest.mark.parametrize("name", LAWS)
def test_the_noise_is_canonical(name: str) -> None:
    f, law = LAWS[name]
    cdf = law.cdf(PLACES)
    assert np.diff(cdf).min() >= 0
    assert np.abs(np.diff(law.cdf(np.linspace(-3, 3, 600_001)))).max() < 1.5e-4  # continuous
    np.testing.assert_allclose(law.cdf(-PLACES), 1 - cdf, atol=1e-14)
    assert apart(f, cdf, law.cdf(PLACES - 1)) < 1e-11


@pytest.mark.parametrize("name", ["pure", "approximate", "gaussian", "piecewise", "group"])
@pytest.mark.parametrize("shift", [0.25, 0.6, 0.9, 1.0])
def test_a_smaller_move_is_no_easier_to_see(name: str, shift: float) -> None:
    """Cut into cells, the laws of N and N + m have a tradeoff function of at least f."""
    f, law = LAWS[name]
    edges = np.concatenate([[-np.inf], np.arange(-2000, 2001) / 80, [np.inf]])
    here, there = np.diff(law.cdf(edges)), np.diff(law.cdf(edges - shift))
    found = PiecewiseLinear.of_masses(np.maximum(here, 0), np.maximum(there, 0))
    alpha = np.linspace(0.0, 1.0, 201)[1:]
    assert (found(alpha) - f(alpha)).min() > -1e-9
    if shift == 1:
        assert np.abs(found(alpha) - f(alpha)).max() < 1e-3


def test_other_noise_is_not_canonical() -> None:
    laplace = stats.laplace.cdf
    assert apart(EpsilonDelta(1.0), laplace(PLACES), laplace(PLACES - 1)) > 0.01
    other = Tulap(Fraction(9, 10))
    assert apart(EpsilonDelta(1.0), other.cdf(PLACES), other.cdf(PLACES - 1)) > 0.01


def test_tulap_is_the_construction() -> None:
    for epsilon, delta in ((1.0, 0.0), (0.3, 0.01), (2.0, 0.2), (0.5, 0.5)):
        f = EpsilonDelta(epsilon, delta)
        assert isinstance(canonical(f), Tulap)
        np.testing.assert_allclose(canonical(f).cdf(PLACES), Constructed(f).cdf(PLACES), atol=1e-14)


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_invert(name: str) -> None:
    _, law = LAWS[name]
    u = np.linspace(0.0005, 0.9995, 1999)
    np.testing.assert_allclose(law.cdf(law.quantile(u)), u, atol=1e-12)
    np.testing.assert_allclose(law.quantile(1 - u), -law.quantile(u), atol=1e-9)


def test_the_ends_of_the_support() -> None:
    ends = np.array([0.0, 1.0])
    assert np.isinf(Tulap(Fraction(1)).quantile(ends)).all()
    assert np.isinf(Constructed(EpsilonDelta(1.0)).quantile(ends)).all()
    reach = Tulap(Fraction(1), Fraction(1, 2)).quantile(ends)
    np.testing.assert_allclose(reach, [-1, 1])
    np.testing.assert_allclose(Constructed(EpsilonDelta(1.0, 0.5)).quantile(ends), [-1, 1], atol=1e-12)


DRAWN: dict[str, CanonicalNoise] = {
    "pure": Tulap(Fraction(1)),
    "wide": Tulap(Fraction(1, 1000)),
    "narrow": Tulap(Fraction(20)),
    "approximate": Tulap(Fraction(1, 2), Fraction(1, 50)),
    "cut at a cell": Tulap(Fraction(1), Fraction(1, 2)),
    "mostly cut": Tulap(Fraction(1, 20), Fraction(1, 3)),
    "normal": Normal(Fraction(1)),
    "sharp normal": Normal(Fraction(100, 3)),
    "blunt normal": Normal(Fraction(1, 700)),
    "constructed": Constructed(group(EpsilonDelta(0.4, 0.001), 3)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_draws_follow_the_law(name: str) -> None:
    law = DRAWN[name]
    draws = law.sample(SeededEntropy(11), 40_000)
    assert stats.kstest(law.cdf(draws), "uniform").pvalue > LEVEL
    assert stats.kstest(law.cdf(1.1 * draws), "uniform").pvalue < LEVEL / 10


@pytest.mark.parametrize("name", ["pure", "approximate", "normal", "sharp normal"])
def test_draws_are_middles_of_cells(name: str) -> None:
    law = DRAWN[name]
    cells = law.sample(SeededEntropy(5), 2000) * 2.0**33
    assert (cells % 2 == 1).all()
    counts = np.arange(2000)
    moved = law.add_to(counts, SeededEntropy(5))
    np.testing.assert_array_equal(moved - counts, law.sample(SeededEntropy(5), 2000))


class Words:
    """Gives out chosen words, then zeros."""

    secure = False

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, size: int) -> np.ndarray:
        taken, self.left = self.left[:size], self.left[size:]
        return np.array(taken + [0] * (size - len(taken)), dtype=np.uint64)


def test_the_cell_at_the_end_of_the_support_is_refined() -> None:
    law = Tulap(Fraction(1), Fraction(1, 5))
    end = float(law.quantile(np.array([1.0]))[0]) * 2**32
    last = np.array([int(end)])
    share = end - int(end)
    low, high = int(share * 0.9 * 2**64), int(share * 1.1 * 2**64)
    assert law._within(last, Words(low)).all()
    assert not law._within(last, Words(high)).any()
    assert law._within(-1 - last, Words(low)).all()
    assert law._within(last - 2, Words()).all()
    assert not law._within(last + 2, Words()).any()


def test_a_close_toss_is_decided_by_enclosures() -> None:
    law, x, k = Normal(Fraction(1)), 0x9000000000000000, 3
    exact = floor_of(real(lambda: law._power(k, Fraction(x, 2**64))), 64)
    for far in (0, 2**64 - 1):  # whatever bits follow, in x and in the coin
        for coin, below in ((exact - 8, True), (exact + 8, False)):
            entropy = Words(*[far] * 40)
            assert is_below(coin, 64, law._chance(k, x, entropy), entropy) == below
    chance = law._chance(k, x, SeededEntropy(1))
    (low, high), (lower, higher) = chance(200), chance(64)
    assert lower << 136 <= low <= high <= higher << 136
    assert high - low <= 2


def test_what_cannot_be_drawn_exactly_is_not_released() -> None:
    law = canonical(symmetrise(LOPSIDED))
    assert not law.certified
    with pytest.raises(SamplingError, match="floating point"):
        law.sample(SystemEntropy(), 1)
    assert law.sample(SeededEntropy(1), 3).shape == (3,)
    assert Tulap(Fraction(1)).sample(SystemEntropy(), 3).shape == (3,)
    assert Normal(Fraction(1)).sample(SystemEntropy(), 3).shape == (3,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constructed(LOPSIDED), "symmetrise"),
        (lambda: canonical(Gaussian(0.0)), "budget of zero"),
        (lambda: Tulap(Fraction(0)), "positive epsilon"),
        (lambda: Tulap(Fraction(10**7)), "at most 1e6"),
        (lambda: Tulap(Fraction(1), Fraction(1)), "below 1"),
        (lambda: Normal(Fraction(-1)), "positive mu"),
    ],
)
def test_no_noise_for_no_privacy(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(GuaranteeError, match=message):
        make()


@pytest.mark.parametrize(
    "law",
    [
        Tulap(Fraction(1, 10**8)),
        Tulap(Fraction(1, 10**5), Fraction(1, 2)),
        Normal(Fraction(1, 10**8)),
        Normal(Fraction(10**400)),
    ],
)
def test_out_of_reach(law: CanonicalNoise) -> None:
    with pytest.raises(SamplingError):
        law.sample(SeededEntropy(1), 1)


def test_large_counts_are_refused() -> None:
    with pytest.raises(SamplingError, match="2\\^30"):
        Tulap(Fraction(1)).add_to(np.array([2**30]), SeededEntropy(1))
