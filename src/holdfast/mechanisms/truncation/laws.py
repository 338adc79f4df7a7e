"""Laws of releases with a normaliser of their own for every table.

weighted totals    releases near x, and likely beforehand, with its totals: the normaliser C(x) is a
                   coefficient of a product [holdfast, mechanisms/truncation/totals.py]
listed releases    few enough to sum the normaliser over all of them
a law of its own   of a release within bounds, say: p(y | x) is known up to a factor C(x) that is not.
                   Draws from it are enough: see `Exchanged`
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp

from holdfast.data.schema import Schema
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.likelihood import AddedNoise, NoisyStatistic, NoisySums, NormForm, Tractable
from holdfast.mechanisms.truncation.congeniality import Inequalities
from holdfast.mechanisms.truncation.totals import Normaliser, Power
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.plan import MOST_WORK
from holdfast.system.errors import ReleaseError, SamplingError
from holdfast.universe.tables import few_tables
from holdfast.universe.universe import Universe

if TYPE_CHECKING:
    from holdfast.mechanisms.mechanism import Law, NoiseLaw

SELDOM, LOOKS = 0.05, 400
"""A share of draws of noise, seen in so many, that is too small to draw a release for every step."""
MOST_LAWS = 2_000
"""Laws of tables that a chain remembers."""
DRAWN, SOME = 1 << 12, 32
"""Draws of noise that are made at once, and that are looked at together."""
MOST_TERMS = 20_000_000
"""Numbers of a normaliser that is worked out for every table: a tenth of a second."""
MOST_RELEASES = 2_000
"""Releases that are listed for every table."""
MOST_CELLS = 24
"""Cells of a table whose mechanism draws a release for every step of a chain."""


@dataclass(frozen=True, eq=False)
class WeightedTotals(Tractable):
    """Releases y >= 0 with the totals of x, of weight prod h_j(y_j) exp(-rate |y_j - x_j|^p) / C(x).

    ``form`` tells rate and p; h is that of pseudo-counts [holdfast, mechanisms/truncation/totals.py].
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

    def without(self, absent: BoolArray) -> "WeightedTotals":
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

    log_weights: Callable[[IntArray, IntArray], FloatArray] = field(repr=False)
    """log p(y | x) of a table and some releases, one a row, up to one constant."""
    released: IntArray
    cells: IntArray
    releases: IntArray
    _known: dict[bytes, float] = field(default_factory=dict, repr=False)

    @property
    def width(self) -> int:
        """About how far counts may be from each other."""
        return max(2, int(np.ptp(self.releases, axis=0).max() // 3))

    def without(self, absent: BoolArray) -> "ListedReleases":
        """Return the likelihood over the other cells."""
        return ListedReleases(self.log_weights, self.released, self.cells[~absent], self.releases)

    def log_prob(self, tables: IntArray) -> FloatArray:
        """Return log p(y | x) for each row: a probability, so never above 0."""
        return np.array([self._log_prob(table) for table in tables]).reshape(len(tables))

    def _log_prob(self, table: IntArray) -> float:
        key = table.tobytes()
        if key not in self._known:
            whole = np.zeros(self.released.size, dtype=np.int64)
            whole[self.cells] = table
            logs = self.log_weights(whole, np.concatenate([self.released[None], self.releases]))
            self._known[key] = float(logs[0] - logsumexp(logs[1:]))
        return self._known[key]


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

    def without(self, absent: BoolArray) -> "WithinBounds":
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

    def __init__(self, noise: "NoiseLaw", entropy: Entropy) -> None:
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


@dataclass(frozen=True, eq=False)
class AnyLaw(Exchanged):
    """A release of any mechanism that can draw one of every table; slow, as each takes a law of its own."""

    law: "Callable[[IntArray], Law]" = field(repr=False)
    released: IntArray
    cells: IntArray

    @property
    def width(self) -> int:
        """From some releases of the released table, where that may be a table of counts."""
        if (self.released < 0).any():
            return 4
        drawn = self.law(self.released).sample(SeededEntropy(0), 20)
        return max(2, int(2 * np.abs(drawn - self.released).mean()))

    def without(self, absent: BoolArray) -> "AnyLaw":
        """Return the likelihood over the other cells."""
        return replace(self, cells=self.cells[~absent])

    def chances(self, generator: np.random.Generator) -> "KnownLaws":
        """Return a source of words, and the laws that were asked for last."""
        return KnownLaws(self.law, SeededEntropy(int(generator.integers(2**63))))

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


class KnownLaws:
    """The laws of some tables, which chains come back to."""

    def __init__(self, law: "Callable[[IntArray], Law]", entropy: Entropy) -> None:
        self.entropy, self._law = entropy, law
        self._known: dict[bytes, Law] = {}

    def of(self, table: IntArray) -> "Law":
        """Return the law of a table."""
        key = table.tobytes()
        if key not in self._known:
            while len(self._known) >= MOST_LAWS:
                self._known.pop(next(iter(self._known)))
            self._known[key] = self._law(table)
        return self._known[key]


AnyLikelihood = (
    AddedNoise | NoisySums | NoisyStatistic | WeightedTotals | ListedReleases | WithinBounds | AnyLaw
)


class KnownConstraints(NamedTuple):
    """What holds of a table for certain beside x >= 0: A x = t, and B x >= b."""

    matrix: csr_array
    values: IntArray
    rows: csr_array
    least: IntArray


@dataclass(frozen=True, eq=False)
class Observed:
    """What a release says of a table of counts.

    Attributes:
        schema: the cells of the table.
        possible: those that can occur, which all else is over.
        likelihood: what the release says of them.
        counts: what was released of them; of measurements, what was estimated. None of a statistic.
        levels: the attributes that are levels of a geography.
        known: what is known of them for certain, unless it is what is public of the release.

    """

    schema: Schema
    possible: IntArray
    likelihood: AnyLikelihood
    counts: IntArray
    levels: tuple[str, ...]
    known: KnownConstraints | None = None


def weighted_totals(
    universe: Universe,
    released: IntArray,
    norm: Literal["l1", "squared"],
    rate: float,
    *,
    pseudo: FloatArray,
    bounds: Inequalities | None,
) -> WeightedTotals | None:
    """Return a likelihood of releases y >= 0 with separate totals; None where they have others, or many."""
    matrix, low = universe.matrix, _floors(bounds, released.size)
    separate = (np.bincount(matrix.indices, minlength=universe.cells) == 1).all() and (matrix.data == 1).all()
    if not separate or low is None:
        return None
    total_of = np.zeros(universe.cells, dtype=np.int64)
    total_of[matrix.indices] = np.repeat(np.arange(universe.rank), np.diff(matrix.indptr))
    form = NormForm(norm, rate)
    power: Power = 1 if norm == "l1" else 2
    normaliser = Normaliser.of(total_of, universe.values, low, released, pseudo, rate=form.rate, power=power)
    if normaliser.work > MOST_TERMS:
        return None
    weight = float((gammaln(released + pseudo) - gammaln(released + 1.0)).sum())
    return WeightedTotals(form, released, np.arange(released.size), normaliser, weight)


def _floors(bounds: Inequalities | None, cells: int) -> IntArray | None:
    """Return the least count of each cell, 0 unless one is stated; None where sums of cells are bounded."""
    low = np.zeros(cells, dtype=np.int64)
    if bounds is None:
        return low
    alone = (np.count_nonzero(bounds.rows, axis=1) == 1) & (bounds.rows.sum(axis=1) == 1)
    if not alone.all():
        return None
    np.maximum.at(low, bounds.rows.argmax(axis=1), bounds.least)
    return low


def within_bounds(
    noise: LatticeLaplaceLaw, released: IntArray, bounds: Inequalities | None, *, nonnegative: bool
) -> WithinBounds | None:
    """Return a likelihood of noise that is drawn until it is within bounds; None where that takes long."""
    try:
        if noise.work > MOST_WORK:
            return None
    except SamplingError:  # within its bounds alone it can be drawn
        return None
    rows = np.zeros((0, released.size), dtype=np.int64) if bounds is None else bounds.rows
    least = np.zeros(0, dtype=np.int64) if bounds is None else bounds.least
    return WithinBounds(noise, released, np.arange(released.size), nonnegative, rows, least)


def listed_releases(
    log_weights: Callable[[IntArray, IntArray], FloatArray], universe: Universe, released: IntArray
) -> ListedReleases | None:
    """Return a likelihood over all tables of a universe, none below 0; None where there are many."""
    every = few_tables(universe.matrix, universe.values, MOST_RELEASES)
    cells = np.arange(released.size)
    return None if every is None else ListedReleases(log_weights, released, cells, every)


def any_law(name: str, law: "Callable[[IntArray], Law]", released: IntArray) -> AnyLaw:
    """Return a likelihood from draws of the mechanism itself, which takes as long as they do."""
    if released.size > MOST_CELLS:
        raise ReleaseError(
            f"the law of this release of {name} has a normaliser for every table, and none that is"
            f" known for {released.size:,} cells: a posterior is offered for l1 or squared losses with"
            f" separate totals, for noise with one law, and for {MOST_CELLS} cells or fewer."
        )
    return AnyLaw(law, released, np.arange(released.size))
