"""Figure 3: L2 costs of K-norm mechanisms, for k x k tables with both margins kept.

* naive l1, l2, linf: noise on all cells with epsilon / 3 for each record [semi-dp, Algorithms 4 to 6].
* K-norm, as printed: K is the hull of the four-entry moves [semi-dp, Proposition 32]. For k >= 3 this
  protects tables two records apart; for three records its loss is epsilon times the largest ||u||_K.
* K-norm, correct: K is the hull of all differences of tables at most 3 records apart [theory, 3].
* K-norm, integers: the same norm on the lattice, drawn exactly, as a release is.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.lab.k_norm_real import RealKNorm
from holdfast.lab.norm_balls import BallNorm, NormBall, NormLaw
from holdfast.mechanisms.k_norm import KNorm
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.sampling.lattice.k_norm import KNormLaw
from holdfast.universe.hull.moves import basic_moves, sensitivity_moves
from holdfast.universe.hull.norm import HullNorm
from studies.semi_dp.designs import MODELS, Model, both_margins, entropy, generator, model_table
from studies.semi_dp.numbers import Number, mean_cost

PART = "figure 3"
SIZES = (2, 3)
EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))
BALLS: tuple[BallNorm, ...] = ("l1", "l2", "linf")
RECORDS_CHANGED = 3


def setting(k: int, epsilon: Fraction) -> str:
    """Name one group of bars."""
    return f"k = {k}, epsilon = {float(epsilon):g}"


def run(seed: int, replicates: int, draws: int, advance: Callable[[], None]) -> Iterator[Number]:
    """Measure the mean costs of all mechanisms, for every size, epsilon and model."""
    for k in SIZES:
        yield Number(PART, "K-norm, as printed: true loss / epsilon", f"k = {k}", "", true_loss(k))
        for epsilon in EPSILONS:
            for model in MODELS:
                yield from _costs(k, epsilon, model, seed, replicates, draws)
                advance()


def true_loss(k: int) -> float:
    """Return the largest ||u||_K, K the hull of the four-entry moves, of tables 3 records apart."""
    printed = HullNorm(basic_moves(k, k))
    universe = both_margins(model_table("I", k, 0)).universe
    return float(max(map(printed.exact, sensitivity_moves(universe, RECORDS_CHANGED).vectors.toarray())))


def _costs(
    k: int, epsilon: Fraction, model: Model, seed: int, replicates: int, draws: int
) -> Iterator[Number]:
    premises = both_margins(model_table(model, k, seed))
    source = generator(seed, PART, model, k, epsilon)
    for series, sample in k_norms(premises, (k, k), epsilon):
        yield mean_cost(PART, series, setting(k, epsilon), model, sample(source, draws), replicates)


def k_norms(
    premises: Premises, shape: tuple[int, int], epsilon: Fraction
) -> Iterator[tuple[str, Callable[[np.random.Generator, int], NDArray[Any]]]]:
    """Return the samplers that are compared, at one epsilon."""
    intensity = Pure(epsilon)
    for norm in BALLS:
        ball = NormBall.calibrate(premises, norm=norm, intensity=intensity, space="cells")
        yield f"naive {norm}", partial(_from_words, ball.noise)
    exact = KNorm.calibrate(premises, intensity=intensity)
    for series, hull in (("as printed", HullNorm(basic_moves(*shape))), ("correct", exact.norm)):
        yield f"K-norm, {series}", partial(_from_envelope, RealKNorm(hull, float(epsilon)))
    yield "K-norm, integers", partial(_from_words, exact.noise)


def _from_words(law: NormLaw | KNormLaw, source: np.random.Generator, draws: int) -> NDArray[Any]:
    return law.sample(entropy(source), draws)


def _from_envelope(law: RealKNorm, source: np.random.Generator, draws: int) -> NDArray[Any]:
    return law.envelope(source, draws)[0]
