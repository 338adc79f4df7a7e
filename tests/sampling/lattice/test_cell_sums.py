"""The shares of sums of cells: floats and enclosures against plain convolution, at all sizes and widths."""

from fractions import Fraction

import flint
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.sampling.sums import gaussian_sum, laplace_sum

from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice import cell_sums
from holdfast.sampling.lattice.cell_sums import BAND, FEW, SHARE_ERROR, CellSums, GaussianSums, LaplaceSums
from holdfast.testing.goodness import LEVEL

Floats = NDArray[np.float64]
LAWS: dict[str, CellSums] = {
    **{f"gaussian {v}": GaussianSums(Fraction(v)) for v in ("1/50", "1/9", "1/3", "99/100", "1", "5", "400")},
    **{f"laplace {e}": LaplaceSums(Fraction(e)) for e in ("5", "1", "1/5")},
}


def weights(name: str, reach: int) -> Floats:
    """Return w(-reach), ..., w(reach)."""
    law, parameter = name.split()
    z = np.arange(-reach, reach + 1)
    rate = float(Fraction(parameter))
    return np.exp(-(z**2) / (2 * rate)) if law == "gaussian" else np.exp(-rate * np.abs(z))


def convolved(name: str, cells: int) -> Floats:
    """Return G_k(s) / G_k(0) for s = 0, 1, ..., by k convolutions."""
    once = weights(name, 300 if name in ("gaussian 400", "laplace 1/5") else 60)
    many = np.ones(1)
    for _ in range(cells):
        many = np.convolve(many, once / once.sum())
    centre = many.size // 2
    return np.asarray(many[centre:] / many[centre])


@pytest.mark.parametrize("cells", [1, 2, 3, 8, FEW, FEW + 1, 60])
@pytest.mark.parametrize("name", LAWS)
def test_shares_are_those_of_a_convolution(name: str, cells: int) -> None:
    truth, law = convolved(name, cells), LAWS[name]
    sums = np.arange(-truth.size + 1, truth.size)
    shares = law.shares(np.full(sums.size, cells), sums)
    assert np.abs(shares - truth[np.abs(sums)]).max() < 1e-12
    assert shares[truth.size - 1] == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    "law",
    [
        *LAWS.values(),
        GaussianSums(Fraction(1 << 80)),
        LaplaceSums(Fraction(1, 1 << 40)),
        LaplaceSums(Fraction(1 << 40)),
    ],
)
@pytest.mark.parametrize("cells", [1, 5, FEW, FEW + 1, 10**6])
def test_floats_are_far_more_precise_than_the_band(law: CellSums, cells: int) -> None:
    deviation = int(law.deviation * cells**0.5)
    sums = np.unique([0, 1, 2, deviation // 2, deviation, 3 * deviation, 8 * deviation, 40 * deviation])
    shares = law.shares(np.full(sums.size, cells), sums)
    for s, share in zip(sums.tolist(), shares.tolist(), strict=True):
        low, high = law.share(cells, s)(64)
        assert high - low < 1 << 20
        assert abs(share - low / 2**64) < SHARE_ERROR < BAND / 16


@pytest.mark.parametrize("name", ["gaussian 1/3", "gaussian 5", "laplace 1"])
@pytest.mark.parametrize("cells", [3, 40])
def test_enclosures_narrow_down_to_any_precision(name: str, cells: int) -> None:
    law = LAWS[name]
    for s in (1, 4, 9):
        low, high = law.share(cells, s)(64)
        closer, within = law.share(cells, s)(400)
        assert within - closer < 1 << 20
        assert low << 336 <= closer <= within <= high << 336


@pytest.mark.parametrize("band", [BAND, 2.0])
def test_coins_have_their_shares_in_floats_and_in_enclosures(
    band: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_sums, "BAND", band)
    size = 60 if band > 1 else 40_000
    for law in (LAWS["gaussian 1/3"], LAWS["gaussian 5"], LAWS["laplace 1"]):
        for cells, s in ((1, 1), (5, -2), (40, 3), (40, 0)):
            share = float(law.shares(np.array([cells]), np.array([s]))[0])
            heads = law.toss(np.full(size, cells), np.full(size, s), SeededEntropy(cells)).mean()
            # Level: 4.5 standard deviations; a sure coin always comes up.
            assert abs(heads - share) <= 4.5 * (share * (1 - share) / size) ** 0.5 + 1e-12


def test_floats_and_enclosures_decide_the_same_words_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    cells, sums = np.repeat([1, 2, 7, 33, 50], 9), np.tile(np.arange(-4, 5), 5)
    laws = (GaussianSums(Fraction(2)), GaussianSums(Fraction(1, 4)), LaplaceSums(Fraction(1, 2)))
    clear = [law.toss(cells, sums, SeededEntropy(3)) for law in laws]
    monkeypatch.setattr(cell_sums, "BAND", 2.0)
    for law, decided in zip(laws, clear, strict=True):
        assert np.array_equal(law.toss(cells, sums, SeededEntropy(3)), decided)


@pytest.mark.parametrize("variance", [Fraction(1, 8), Fraction(2, 3), Fraction(1), Fraction(3)])
def test_what_a_sum_has_beyond_a_gaussian_law(variance: Fraction) -> None:
    """h_k(s) = exp(s^2 / (2 k sigma^2)) G_k(s) / G_k(0) is at most 1, and depends on s mod k alone."""
    law = GaussianSums(variance)
    for cells in (1, 2, 3, 7):
        sums = np.arange(-3 * cells, 3 * cells + 1)
        log_h, error = law.log_waves(np.full(sums.size, cells), sums)
        assert (log_h <= 0).all()
        assert (error < 2.0**-20).all()
        once = weights(f"gaussian {variance}", 60)
        many = np.ones(1)
        for _ in range(cells):
            many = np.convolve(many, once)
        near = np.abs(sums) <= 6 * law.deviation
        truth = many[many.size // 2 + sums] / many[many.size // 2]
        truth = np.log(truth[near]) + sums[near] ** 2 / (2 * cells * float(variance))
        assert np.abs(log_h[near] - truth).max() < 1e-9
        for s, value, off in zip(sums.tolist(), log_h.tolist(), error.tolist(), strict=True):
            with flint.ctx.workprec(200):
                assert abs(value - float(law.waves_ball(cells, s).log())) <= off


def test_sums_of_a_million_cells_are_those_of_fourier_inversion() -> None:
    cells = 10**6
    for law, whole in (
        (GaussianSums(Fraction(1)), gaussian_sum(cells, 1.0)),
        (LaplaceSums(Fraction(1, 4)), laplace_sum(cells, 0.25)),
    ):
        centre = whole.size // 2
        sums = np.arange(0, centre, 97)
        shares = law.shares(np.full(sums.size, cells), sums)
        assert np.abs(shares - whole[centre + sums] / whole[centre]).max() < LEVEL * 1e-6


def test_a_share_that_is_not_finite_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    law = GaussianSums(Fraction(1))
    monkeypatch.setattr(law, "_decay", lambda angles: np.full(angles.size, np.nan))
    with pytest.raises(ArithmeticError, match="not finite"):
        law.toss(np.array([5]), np.array([1]), SeededEntropy(0))
