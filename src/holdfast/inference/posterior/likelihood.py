"""The law of a release as a function of the confidential table: p(y | x), from the mechanism that drew it.

    added noise        y = x + z with one law of z for all tables: log q(y - x), which is largest at y = x
    noisy sums         measurements W x with independent noise, as top-down algorithms take them
    a noisy statistic  some counts plus canonical noise
    weighted totals    releases near x, and likely beforehand, with its totals: the normaliser C(x) is a
                       coefficient of a product [holdfast, inference/posterior/normaliser.py]
    listed releases    few enough to sum the normaliser over all of them
    a law of its own   of a release within bounds, say: p(y | x) is known up to a factor C(x) that is not.
                       Draws from it are enough: see `Exchanged`

Tables are over the cells that a model has; cells that it gives no records are 0 in each of them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp

from holdfast.errors import ReleaseError
from holdfast.inference.posterior.normaliser import Normaliser
from holdfast.inference.posterior.sliding import NormForm
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.canonical import CanonicalNoise
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.conditioned import Conditioned
from holdfast.mechanisms.mechanism import Law, NoiseLaw
from holdfast.mechanisms.noisy_count import CountWithNoise
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.k_norm import KNormLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw

SELDOM, LOOKS = 0.05, 400
"""A share of draws of noise, seen in so many, that is too small to draw a release for every step."""
MOST_LAWS = 2_000
"""Laws of tables that a chain remembers."""


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

    def without(self, absent: NDArray[np.bool_]) -> "Likelihood":
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

    noise: NoiseLaw
    released: IntArray
    cells: IntArray

    @property
    def form(self) -> NormForm | None:
        """The law as a norm of z, where it is one that a few sums tell."""
        match self.noise:
            case LatticeLaplaceLaw(norm="l1", epsilon=rate):
                return NormForm("l1", float(rate))
            case LatticeLaplaceLaw(epsilon=rate):
                return NormForm("l2", float(rate))
            case LatticeGaussianLaw(sigma_squared=variance):
                return NormForm("squared", float(1 / (2 * variance)))
            case KNormLaw(norm=norm, epsilon=rate) if norm.additive:
                return NormForm("l1", float(rate / norm.l1))
        return None

    @property
    def width(self) -> int:
        """From the form, or from some draws of the noise."""
        if self.form is not None:
            return self.form.width(self.cells.size)
        return max(2, int(2 * np.abs(self.noise.sample(SeededEntropy(0), 50)).mean()))

    @property
    def rest(self) -> IntArray:
        """The noise in cells that have no records."""
        other = np.ones(self.released.size, dtype=np.bool_)
        other[self.cells] = False
        return self.released[other]

    def without(self, absent: NDArray[np.bool_]) -> "AddedNoise":
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
    def width(self) -> int:
        """That of the widest noise."""
        return NormForm(self.norm, float(self.rates.min())).width(self.queries.shape[1])

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

    def without(self, absent: NDArray[np.bool_]) -> "NoisySums":
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
    values: FloatArray

    @property
    def width(self) -> int:
        """Where the noise leaves one value in ten."""
        return max(2, int(-2 * float(np.interp(0.05, self.noise.cdf(-_STEPS), -_STEPS))))

    def without(self, absent: NDArray[np.bool_]) -> "NoisyStatistic":
        """Return it where no cell is absent."""
        if absent.any():
            raise ReleaseError("2 x 2 tables have no cells to leave out: give every cell an exposure.")
        return self

    def log_prob(self, tables: IntArray) -> FloatArray:
        """Return the log probability of the statistics for each row, less its largest value."""
        largest = self._law(np.zeros((1, self.values.size)))[0]
        return np.asarray(self._law(self.values - tables[:, 0::4]) - largest)

    def _law(self, noise: FloatArray) -> FloatArray:
        return CountWithNoise(np.zeros(self.values.size, dtype=np.int64), self.noise).log_prob(noise)


_STEPS = np.concatenate([np.zeros(1), np.geomspace(0.01, 1e6, 400)])[::-1]


@dataclass(frozen=True, eq=False)
class WeightedTotals(Tractable):
    """Releases y >= 0 with the totals of x, of weight prod h_j(y_j) exp(-rate |y_j - x_j|^p) / C(x).

    ``form`` tells rate and p; h is that of pseudo-counts [holdfast, inference/posterior/normaliser.py].
    """

    form: NormForm
    released: IntArray
    cells: IntArray
    normaliser: Normaliser
    log_weight: float
    """The logarithm of prod h_j(y_j)."""

    @property
    def width(self) -> int:
        """As without a normaliser."""
        return self.form.width(self.cells.size)

    def without(self, absent: NDArray[np.bool_]) -> "WeightedTotals":
        """Return the likelihood over the other cells."""
        return replace(self, cells=self.cells[~absent])

    def log_prob(self, tables: IntArray) -> FloatArray:
        """Return log p(y | x) for each row: a probability, so never above 0."""
        whole = np.zeros((len(tables), self.released.size), dtype=np.int64)
        whole[:, self.cells] = tables
        apart = np.abs(self.released - whole).astype(np.float64)
        size = apart.sum(axis=1) if self.form.norm == "l1" else (apart**2).sum(axis=1)
        each, place = np.unique(whole, axis=0, return_inverse=True)
        logs = np.array([self.normaliser.log(table) for table in each])
        return np.asarray(self.log_weight - self.form.rate * size - logs[place.reshape(-1)])


@dataclass(frozen=True, eq=False)
class ListedReleases(Tractable):
    """Releases that are few: the law of a mechanism is summed over all of them."""

    mechanism: AnyMechanism = field(repr=False)
    released: IntArray
    cells: IntArray
    releases: IntArray
    _known: dict[bytes, float] = field(default_factory=dict, repr=False)

    @property
    def width(self) -> int:
        """About how far counts may be from each other."""
        return max(2, int(np.ptp(self.releases, axis=0).max() // 3))

    def without(self, absent: NDArray[np.bool_]) -> "ListedReleases":
        """Return the likelihood over the other cells."""
        return ListedReleases(self.mechanism, self.released, self.cells[~absent], self.releases)

    def log_prob(self, tables: IntArray) -> FloatArray:
        """Return log p(y | x) for each row: a probability, so never above 0."""
        return np.array([self._log_prob(table) for table in tables]).reshape(len(tables))

    def _log_prob(self, table: IntArray) -> float:
        key = table.tobytes()
        if key not in self._known:
            whole = np.zeros(self.released.size, dtype=np.int64)
            whole[self.cells] = table
            logs = self._log_weights(whole, np.concatenate([self.released[None], self.releases]))
            self._known[key] = float(logs[0] - logsumexp(logs[1:]))
        return self._known[key]

    def _log_weights(self, table: IntArray, releases: IntArray) -> FloatArray:
        """Return log p(y | x) for some releases, up to one constant."""
        if not isinstance(self.mechanism, Conditioned):
            return np.asarray(self.mechanism.law(table).log_prob(releases))
        bounds = self.mechanism.inequalities  # one noise for all tables, within these
        inside = (releases >= 0).all(axis=1) if self.mechanism.nonnegative else True
        inside = inside & (True if bounds is None else bounds.hold(releases))
        apart = np.abs(releases - table).sum(axis=1).astype(np.float64)
        return np.asarray(np.where(inside, -float(self.mechanism.kappa) * apart, -np.inf))


class Exchanged(ABC):
    """A release whose law has another normaliser for every table: p(y | x) = f(y, x) / Z(x).

    A chain goes from x to x' by drawing a release w of x', exactly, and taking

        f(y, x') f(w, x) / (f(y, x) f(w, x'))

    for the ratio of the two probabilities: the exchange algorithm, which leaves the posterior as it is
    [murray2006]. Whole tables are accepted by drawing a release and seeing whether it is the one published.
    """

    released: IntArray
    cells: IntArray

    @abstractmethod
    def chances(self, generator: np.random.Generator) -> Any:
        """Return where releases are drawn from."""

    @abstractmethod
    def simulate(self, table: IntArray, chances: Any) -> IntArray:
        """Return a release of a table."""

    @abstractmethod
    def log_ratio(self, before: IntArray, after: IntArray, chances: Any) -> float:
        """Return the log of the ratio above."""

    def _whole(self, table: IntArray) -> IntArray:
        whole = np.zeros(self.released.size, dtype=np.int64)
        whole[self.cells] = table
        return whole


@dataclass(frozen=True, eq=False)
class WithinBounds(Exchanged):
    """y = x + z, given that y is not negative, if so, and that B y >= b: noise is drawn until it is so."""

    noise: LatticeLaplaceLaw
    released: IntArray
    cells: IntArray
    nonnegative: bool
    rows: IntArray
    least: IntArray

    @property
    def width(self) -> int:
        """As without bounds."""
        return NormForm("l1", float(self.noise.epsilon)).width(self.cells.size)

    @property
    def seldom(self) -> bool:
        """Whether noise around the release hardly ever is within the bounds."""
        return self._share < SELDOM

    @cached_property
    def _share(self) -> float:
        some = self.released + self.noise.sample(SeededEntropy(0), LOOKS)
        inside = (some @ self.rows.T >= self.least).all(axis=1)
        if self.nonnegative:
            inside &= (some >= 0).all(axis=1)
        return float(inside.mean())

    def without(self, absent: NDArray[np.bool_]) -> "WithinBounds":
        """Return the likelihood over the other cells."""
        return replace(self, cells=self.cells[~absent])

    def chances(self, generator: np.random.Generator) -> "Store":
        """Return a store of noise."""
        return Store(self.noise, SeededEntropy(int(generator.integers(2**63))))

    def simulate(self, table: IntArray, chances: Any) -> IntArray:
        """Return a release of a table."""
        whole = self._whole(table)
        while True:
            some = whole + chances.some()
            inside = (some @ self.rows.T >= self.least).all(axis=1)
            if self.nonnegative:
                inside &= (some >= 0).all(axis=1)
            if inside.any():
                first = int(inside.argmax())
                chances.give_back(len(some) - first - 1)
                return np.asarray(some[first])

    def log_ratio(self, before: IntArray, after: IntArray, chances: Any) -> float:
        """Return the log of the ratio, f(y, x) being exp(-rate ||y - x||_1)."""
        here, there = self._whole(before), self._whole(after)
        other = self.simulate(after, chances)
        far = [np.abs(y - x).sum() for y, x in ((self.released, here), (other, there))]
        near = [np.abs(y - x).sum() for y, x in ((self.released, there), (other, here))]
        return float(self.noise.epsilon) * float(sum(far) - sum(near))


class Store:
    """Draws of noise that are made many at once and used one after the other."""

    def __init__(self, noise: NoiseLaw, entropy: Entropy) -> None:
        self._noise, self._entropy = noise, entropy
        self._drawn, self._at = np.zeros((0, 0), dtype=np.int64), 0

    def some(self) -> IntArray:
        """Return some draws, each once."""
        if self._at >= len(self._drawn):
            self._drawn, self._at = np.asarray(self._noise.sample(self._entropy, DRAWN)), 0
        begin, self._at = self._at, min(self._at + SOME, len(self._drawn))
        return self._drawn[begin : self._at]

    def give_back(self, count: int) -> None:
        """Take the last draws back: nobody looked at them further than at those before."""
        self._at -= count


DRAWN, SOME = 1 << 12, 32


@dataclass(frozen=True, eq=False)
class AnyLaw(Exchanged):
    """A release of any mechanism that can draw one of every table; slow, as each takes a law of its own."""

    mechanism: AnyMechanism = field(repr=False)
    released: IntArray
    cells: IntArray

    @property
    def width(self) -> int:
        """From some releases of the released table, where that may be a table of counts."""
        if (self.released < 0).any():
            return 4
        drawn = self.mechanism.law(self.released).sample(SeededEntropy(0), 20)
        return max(2, int(2 * np.abs(drawn - self.released).mean()))

    def without(self, absent: NDArray[np.bool_]) -> "AnyLaw":
        """Return the likelihood over the other cells."""
        return replace(self, cells=self.cells[~absent])

    def chances(self, generator: np.random.Generator) -> "Laws":
        """Return a source of words, and the laws that were asked for last."""
        return Laws(self.mechanism, SeededEntropy(int(generator.integers(2**63))))

    def simulate(self, table: IntArray, chances: Any) -> IntArray:
        """Return a release of a table."""
        return np.asarray(chances.of(self._whole(table)).sample(chances.entropy, 1)[0])

    def log_ratio(self, before: IntArray, after: IntArray, chances: Any) -> float:
        """Return the log of the ratio."""
        here, there = (chances.of(self._whole(table)) for table in (before, after))
        other = there.sample(chances.entropy, 1)
        points = np.concatenate([self.released[None], other])
        one, two = here.log_prob(points), there.log_prob(points)
        return float(two[0] - one[0] + one[1] - two[1])


class Laws:
    """The laws of some tables, which chains come back to."""

    def __init__(self, mechanism: AnyMechanism, entropy: Entropy) -> None:
        self.entropy, self._mechanism = entropy, mechanism
        self._known: dict[bytes, Law] = {}

    def of(self, table: IntArray) -> Law:
        """Return the law of a table."""
        key = table.tobytes()
        if key not in self._known:
            while len(self._known) >= MOST_LAWS:
                self._known.pop(next(iter(self._known)))
            self._known[key] = self._mechanism.law(table)
        return self._known[key]


AnyLikelihood = (
    AddedNoise | NoisySums | NoisyStatistic | WeightedTotals | ListedReleases | WithinBounds | AnyLaw
)
