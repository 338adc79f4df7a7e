"""The law of a release as a function of the confidential table: p(y | x), as samplers of a posterior take it.

    added noise        y = x + z with one law of z for all tables: log q(y - x), which is largest at y = x
    noisy sums         measurements W x with independent noise, as top-down algorithms take them
    a noisy statistic  some counts plus canonical noise
    with a normaliser  of its own for every table [holdfast, mechanisms/truncation/laws.py]

A mechanism says which one its releases have. Tables are over the cells that a model has; cells that it gives
no records are 0 in each of them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.canonical import CanonicalNoise
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.anchored import AnchoredLaw
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.k_norm import KNormLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.system.errors import ReleaseError

if TYPE_CHECKING:
    from holdfast.mechanisms.mechanism import Law, NoiseLaw

LikelihoodNorm = Literal["l1", "squared", "l2"]


@dataclass(frozen=True)
class NormForm:
    """Noise with log probability -rate times a norm of z, or its square."""

    norm: LikelihoodNorm
    rate: float

    def width(self, cells: int) -> int:
        """Return about how far one count is moved by such noise on a lattice of so many cells."""
        wide = {
            "l1": 2 / self.rate,
            "squared": 2 * sqrt(1 / (2 * self.rate)),
            "l2": 2 * sqrt(cells) / self.rate,
        }[self.norm]
        return max(2, min(ceil(wide), 1 << 30))


class Likelihood(Protocol):
    """How likely the release is given a table, as far as samplers need to know."""

    @property
    def width(self) -> int:
        """About how far one count was moved."""
        ...

    def chances(self, generator: np.random.Generator) -> Any:
        """Return where a chain takes the releases from that `log_ratio` draws, if it draws any."""
        ...

    def log_ratio(self, before: IntArray, after: IntArray, chances: Any) -> float:
        """Return what a step from one table to another adds to the log acceptance of a Markov chain."""
        ...

    def without(self, absent: BoolArray) -> "Likelihood":
        """Return the likelihood over the other cells where some have no records."""
        ...


class Tractable(ABC):
    """A likelihood that can be evaluated, and has its largest value where nothing was moved."""

    @abstractmethod
    def log_prob(self, tables: IntArray) -> FloatArray:
        """Return log p(y | x) for each row, less the largest value that it has for any y and x."""

    def chances(self, generator: np.random.Generator) -> None:
        """Nothing is drawn."""
        del generator

    def log_ratio(self, before: IntArray, after: IntArray, chances: None) -> float:
        """Return the log ratio of the two probabilities."""
        del chances
        one, other = self.log_prob(np.stack([before, after]))
        return float(other - one) if other > -np.inf else -np.inf


@dataclass(frozen=True, eq=False)
class AddedNoise(Tractable):
    """y = x + z, z of one law: ``released`` is y over all cells of the law, ``cells`` are those of tables."""

    noise: "NoiseLaw"
    released: IntArray
    cells: IntArray

    @property
    def form(self) -> NormForm | None:
        """The law as a norm of z, where it is one that a few sums tell."""
        match self.noise:
            case LatticeLaplaceLaw(norm="l1", epsilon=rate):
                return NormForm("l1", float(rate))
            case LatticeLaplaceLaw(form=None, epsilon=rate):
                return NormForm("l2", float(rate))
            case LatticeGaussianLaw(form=None, sigma_squared=variance):
                return NormForm("squared", float(1 / (2 * variance)))
            case KNormLaw(norm=norm, epsilon=rate) if norm.additive:
                return NormForm("l1", float(rate / norm.l1))
            case AnchoredLaw(kappa=rate):
                return NormForm("l1", float(rate))
        return None

    @property
    def weights(self) -> FloatArray:
        """What the noise of each cell of the law counts in its norm: nothing where it is an anchor's."""
        weights = np.ones(self.released.size)
        if isinstance(self.noise, AnchoredLaw):
            weights[self.noise.anchors.cells] = 0.0
        return weights

    @property
    def width(self) -> int:
        """From the form, or from some draws of the noise."""
        if self.form is not None:
            return self.form.width(self.cells.size)
        return max(2, int(2 * np.abs(self.noise.sample(SeededEntropy(0), 50)).mean()))

    @property
    def rest(self) -> IntArray:
        """The noise in cells that have no records, those that count in the norm."""
        other = self.weights > 0
        other[self.cells] = False
        return self.released[other]

    def without(self, absent: BoolArray) -> "AddedNoise":
        """Return the likelihood over the other cells."""
        return AddedNoise(self.noise, self.released, self.cells[~absent])

    def log_prob(self, tables: IntArray) -> FloatArray:
        """Return log q(y - x) - log q(0) for each row: never above 0 [theory, 7]."""
        noise = np.tile(self.released, (len(tables), 1))
        noise[:, self.cells] -= tables
        nothing = np.zeros((1, self.released.size), dtype=np.int64)
        return np.asarray(self.noise.log_prob(noise) - self.noise.log_prob(nothing)[0])

    def around(self, entropy: Entropy, size: int) -> IntArray:
        """Return y - z for draws z of the noise: in proportion to p(y | x), if no table were impossible."""
        return np.asarray(self.released - self.noise.sample(entropy, size))[:, self.cells]


@dataclass(frozen=True, eq=False)
class NoisySums(Tractable):
    """Sums W x with independent noise: measurements of a table, or of the nodes of a hierarchy over it.

    The log probability of the noise z is - sum rate_i |z_i|, or - sum rate_i z_i^2: discrete Laplace noise of
    these rates, or discrete Gaussian noise with rate_i = 1 / (2 sigma_i^2).
    """

    queries: csr_array
    values: IntArray
    norm: Literal["l1", "squared"]
    rates: FloatArray

    @property
    def form(self) -> NormForm:
        """That of the widest noise; rates that take away from others are negative."""
        return NormForm(self.norm, float(self.rates[self.rates > 0].min()))

    @property
    def width(self) -> int:
        """That of the widest noise."""
        return self.form.width(self.queries.shape[1])

    @property
    def order(self) -> IntArray:
        """The place of each cell where cells stand by the sums that they are in, the largest sum first."""
        place = np.argsort(np.argsort(-np.diff(self.queries.indptr), kind="stable"), kind="stable")
        columns = self.queries.tocsc()
        number = np.diff(columns.indptr)
        cell = np.repeat(np.arange(number.size), number)
        sums = place[columns.indices]
        sums = sums[np.lexsort((sums, cell))]
        keys = np.full((number.size, int(number.max(initial=0))), place.size)
        keys[cell, np.arange(cell.size) - columns.indptr[cell]] = sums
        return np.asarray(np.argsort(np.lexsort((np.arange(number.size), *keys.T[::-1]))))

    def without(self, absent: BoolArray) -> "NoisySums":
        """Return the likelihood over the other cells."""
        return replace(self, queries=csr_array(self.queries[:, np.flatnonzero(~absent)]))

    def log_prob(self, tables: IntArray) -> FloatArray:
        """Return the log probability for each row, less its largest value."""
        apart = np.abs(self.values - np.asarray((self.queries @ tables.T).T)).astype(np.float64)
        return np.asarray(-(apart if self.norm == "l1" else apart**2) @ self.rates)


@dataclass(frozen=True, eq=False)
class NoisyStatistic(Tractable):
    """The first count of each 2 x 2 table with canonical noise; tables are given by rows, one by one."""

    noise: CanonicalNoise
    law: "Law"
    """That of the noise of all statistics together."""
    values: FloatArray

    @property
    def width(self) -> int:
        """Where the noise leaves one value in ten."""
        return max(2, int(-2 * float(np.interp(0.05, self.noise.cdf(-_STEPS), -_STEPS))))

    def without(self, absent: BoolArray) -> "NoisyStatistic":
        """Return it where no cell is absent."""
        if absent.any():
            raise ReleaseError("2 x 2 tables have no cells to leave out: give every cell an exposure.")
        return self

    def log_prob(self, tables: IntArray) -> FloatArray:
        """Return the log probability of the statistics for each row, less its largest value."""
        largest = self.law.log_prob(np.zeros((1, self.values.size)))[0]
        return np.asarray(self.law.log_prob(self.values - tables[:, 0::4]) - largest)


_STEPS = np.concatenate([np.zeros(1), np.geomspace(0.01, 1e6, 400)])[::-1]
