"""Figure 2: L2 costs of Gaussian mechanisms at mu = 1, for k x k tables with both margins kept.

* naive: N(0, (3 sqrt 2 / mu)^2 I), group privacy for 3 records.
* naive, projected: the same noise, projected onto what the margins leave open [semi-dp, Proposition 26].
* semi, as printed: N(0, (2 / mu)^2 P) [semi-dp, Algorithm 1] with the sensitivity of Proposition 32. For
  k >= 3 this protects tables two records apart, not three: there its mu is sqrt(6) / 2.
* semi, correct: N(0, (Delta_2 / mu)^2 P) with Delta_2 computed for 3 records [theory, 3].
* semi, integers: the discrete Gaussian of that sigma on the lattice of the margins, rho = mu^2 / 2 in zCDP.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import sqrt

import numpy as np
from scipy.sparse import csr_array

from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.projected_gaussian import NullSpace, ProjectedGaussian, SpanGaussian
from holdfast.privacy.premises import Premises
from holdfast.sampling.lattice.cut import CutLaw
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from studies.semi_dp.designs import MODELS, both_margins, entropy, generator, model_table
from studies.semi_dp.numbers import Number, mean_cost

PART = "figure 2"
SIZES = range(2, 11)
MU = 1
ONE_RECORD = Fraction(2)
"""The square of the l2 sensitivity to one record."""
PRINTED = Fraction(4)
"""The square of Delta_2 [semi-dp, after Proposition 32]."""


def run(seed: int, replicates: int, draws: int, advance: Callable[[], None]) -> Iterator[Number]:
    """Measure the mean costs of all mechanisms, for every size and model."""
    for k in SIZES:
        for model in MODELS:
            premises = both_margins(model_table(model, k, seed))
            source = generator(seed, PART, model, k)
            for series, law in gaussians(premises):
                noise = law.sample(entropy(source), draws)
                yield mean_cost(PART, series, f"k = {k}", model, noise, replicates)
            yield Number(
                PART, "semi, as printed: true mu for 3 records", f"k = {k}", model, true_mu(premises)
            )
            advance()


def gaussians(premises: Premises) -> Iterator[tuple[str, SpanGaussian | LatticeGaussianLaw | CutLaw]]:
    """Return the laws that are compared, at mu = 1."""
    naive = ONE_RECORD * premises.unit.distance**2 / MU**2
    correct = premises.squared_stretch("l2") / MU**2
    every_cell = NullSpace(csr_array((0, premises.universe.cells), dtype=np.int64))
    span = NullSpace.of(premises)
    yield "naive", SpanGaussian(every_cell, naive)
    yield "naive, projected", SpanGaussian(span, naive)
    yield "semi, as printed", SpanGaussian(span, PRINTED / MU**2)
    yield "semi, correct", ProjectedGaussian(premises, correct).noise
    yield "semi, integers", LatticeGaussian(premises, correct).noise


def true_mu(premises: Premises) -> float:
    """Return the mu of the printed mechanism for all records that may change [semi-dp, Proposition 28]."""
    return sqrt(premises.squared_stretch("l2") / PRINTED) * MU
