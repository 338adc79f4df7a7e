"""Discrete Gaussians at any centre and width, against their pmf; the exact path against the float path."""

import flint
import numpy as np
import pytest
from scipy.stats import norm

from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.numbers import gaussian
from holdfast.sampling.numbers.gaussian import draw_near, log_sum, log_sum_ratio, sum_ratio_ball
from holdfast.testing.goodness import LEVEL, p_value

LAWS = [(0.3, 0.2), (0.5, 0.05), (0.1, 1.0), (-3.37, 1.49), (100.2, 1.5), (7.7, 9.3)]
SIZE = 100_000


def law(m: float, s: float) -> dict[tuple[int], float]:
    k = np.arange(int(m - 12 * s) - 2, int(m + 12 * s) + 3)
    log = -((k - m) ** 2) / (2 * s * s)
    weights = np.exp(log - log.max())
    return {(int(value),): float(w) for value, w in zip(k, weights / weights.sum(), strict=True)}


@pytest.mark.parametrize(("m", "s"), LAWS)
def test_the_law(m: float, s: float) -> None:
    draws = draw_near(np.full(SIZE, m), np.full(SIZE, s), SeededEntropy(1))[:, None]
    assert p_value(draws, law(m, s)) > LEVEL
    if s >= 1:  # a narrow law hardly changes
        assert p_value(draws, law(m, 1.03 * s)) < LEVEL


@pytest.mark.parametrize(("m", "s"), LAWS)
def test_enclosures_draw_what_floats_draw(m: float, s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clear = draw_near(np.full(200, m), np.full(200, s), SeededEntropy(5))
    monkeypatch.setattr(gaussian, "NARROW_MARGIN", 1.0)
    monkeypatch.setattr(gaussian, "WIDE_MARGIN", 1.0)
    monkeypatch.setattr(gaussian, "COIN_MARGIN", 1.0)
    assert np.array_equal(draw_near(np.full(200, m), np.full(200, s), SeededEntropy(5)), clear)


@pytest.mark.parametrize(("m", "s"), [*LAWS, (0.4, 0.99), (0.4, 1.01), (0.0, 3.0)])
def test_sums_over_the_integers(m: float, s: float) -> None:
    n = np.arange(-200, 201)
    direct = np.log(np.exp(-(n**2) / (2 * s * s)).sum())
    assert float(log_sum(np.array([s]))[0]) == pytest.approx(direct, abs=1e-12)
    with flint.ctx.workprec(120):
        exact = float(sum_ratio_ball(m, s).log())
    ratio = float(log_sum_ratio(np.array([m]), np.array([s]))[0])
    assert ratio == pytest.approx(exact, abs=1e-13)
    assert ratio <= 0


@pytest.mark.parametrize("word", [0, 5, (1 << 44) - 2, (1 << 44) - 1])
def test_words_at_the_ends_have_the_law_of_what_begins_with_them(word: int) -> None:
    """The quantile of what begins with the first word has no bound: the word's further bits decide."""
    m, s = 0.2, 500.0
    words = np.full(2000, word, dtype=np.uint64)
    drawn = gaussian._round(np.full(words.size, m), np.full(words.size, s), words, SeededEntropy(6))
    flip = word > 1 << 43
    z, begin = (m - drawn if flip else drawn - m), ((1 << 44) - 1 - word if flip else word)
    edges = np.arange(int(z.min()) - 300, int(z.max()) + 300) + (m if flip else -m) - 0.5
    mass = np.diff(np.clip(norm.cdf(edges, scale=s) * 2.0**44, begin, begin + 1))
    place = np.rint(z - edges[0] - 0.5).astype(np.int64)
    expected = {(int(i),): float(mass[i]) for i in np.flatnonzero(mass > 0)}
    assert p_value(place[:, None], expected) > LEVEL


def test_wide_laws_have_the_right_spread() -> None:
    draws = draw_near(np.full(20_000, 2.0**40 + 0.25), np.full(20_000, 1e9), SeededEntropy(2))
    assert np.std(draws - 2.0**40) == pytest.approx(1e9, rel=0.03)


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(ArithmeticError):
        draw_near(np.array([np.nan]), np.array([1.0]), SeededEntropy(0))
    with pytest.raises(ArithmeticError):
        draw_near(np.array([0.0]), np.array([0.0]), SeededEntropy(0))
