"""Models of counts, with their rates or proportions integrated out.

Cells c lie in groups g, which share a parameter; groups lie in pools h, which share the numbers of a prior.
X_g is the sum of the counts of a group.

    rates         x_c ~ Poisson(e_c r_g),  r_g ~ Gamma(shape a_h, mean m_h),  b = a / m
    proportions   x_s ~ Multinomial(n_s, p_s) in each stratum s, p_s ~ Dirichlet(alpha_g, g in s),
                  alpha_g = w_h times a base of the group; every cell is a group

Numbers of a prior that are not known are log-normal. Given them the parameters integrate out,

    p(x) = prod_c e_c^x_c / x_c!  prod_g  Gamma(a + X_g)/Gamma(a)  b^a / (b + E_g)^(a + X_g),
    p(x) = prod_s n_s! Gamma(A_s)/Gamma(n_s + A_s)  prod_g Gamma(alpha_g + X_g)/(Gamma(alpha_g) X_g!),

E_g and A_s being sums of e_c and of alpha_g: a negative binomial and a Dirichlet-multinomial law [theory, 7].
Given x they are drawn at once: Gamma(a + X_g) / (b + E_g), and Dirichlet(alpha + X). So a sampler has to find
x and the few numbers of the prior, and nothing else. As a function of x both are, up to a factor,

    sum_c (x_c level_c - log x_c!) + sum_g (log Gamma(shape_g + X_g) - X_g slope_g).
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, lgamma, log
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from holdfast.inference.posterior.model_spec import Believed
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.compiled import compiled

PriorNumbers = FloatArray
"""Logarithms of the numbers of a prior: draws x pools x (shape, mean), or draws x pools x (weight)."""


@dataclass(frozen=True, eq=False)
class CountModel:
    """A model over cells; make one for a table with `problem.py`.

    Attributes:
        kind: rates, or proportions.
        group: the group of each cell.
        level: the log exposure of each cell; 0 for proportions.
        size: of each group its exposure E_g, or the base of its alpha.
        pool: the pool of each group.
        believed: the numbers of the prior, by their names.
        stratum: of proportions, the stratum of each group.
        totals: of proportions, n_s.

    """

    kind: Literal["rates", "proportions"]
    group: IntArray
    level: FloatArray
    size: FloatArray
    pool: IntArray
    believed: dict[str, Believed]
    stratum: IntArray
    totals: IntArray

    @classmethod
    def rates(
        cls, group: IntArray, exposure: FloatArray, pool: IntArray, *, mean: Believed, shape: Believed
    ) -> "CountModel":
        """Return Poisson counts with an exposure for each cell."""
        none = np.zeros(0, dtype=np.int64)
        size = np.bincount(group, weights=exposure, minlength=pool.size).astype(np.float64)
        believed = {"shape": shape, "mean": mean}
        return cls("rates", group, np.log(exposure), size, pool, believed, none, none)

    @classmethod
    def proportions(
        cls, stratum: IntArray, totals: IntArray, base: FloatArray, pool: IntArray, *, weight: Believed
    ) -> "CountModel":
        """Return multinomial counts in strata of known totals."""
        cells = np.arange(stratum.size)
        level = np.zeros(stratum.size)
        return cls("proportions", cells, level, base, pool, {"weight": weight}, stratum, totals)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.group.size)

    @property
    def groups(self) -> int:
        """The number of groups, each with a parameter."""
        return int(self.pool.size)

    @cached_property
    def pools(self) -> int:
        """The number of pools."""
        return int(self.pool.max(initial=-1)) + 1

    @property
    def settled(self) -> bool:
        """Whether all numbers of the prior are known."""
        return all(one.known for one in self.believed.values())

    def sums(self, tables: IntArray) -> IntArray:
        """Return X_g for each table."""
        if self._each_alone:
            return tables
        return np.asarray((self._grouping @ tables.reshape(-1, self.cells).T).T).reshape(
            *tables.shape[:-1], self.groups
        )

    def medians(self) -> PriorNumbers:
        """Return the medians of the numbers of the prior, for each pool."""
        each = np.log([one.median for one in self.believed.values()])
        return np.tile(each, (self.pools, 1))

    def draw_numbers(self, generator: np.random.Generator, size: int) -> PriorNumbers:
        """Draw the numbers of the prior from what is believed of them."""
        spread = np.log([one.factor for one in self.believed.values()])
        noise = generator.standard_normal((size, self.pools, spread.size))
        return self.medians() + spread * noise

    def terms(self, numbers: PriorNumbers) -> tuple[FloatArray, FloatArray]:
        """Return shape_g and slope_g."""
        each = numbers[..., self.pool, :]
        shape = np.exp(each[..., 0])
        if self.kind == "proportions":
            return shape * self.size, np.zeros_like(shape)
        return shape, np.log(np.exp(each[..., 0] - each[..., 1]) + self.size)

    def log_kernel(self, tables: IntArray, terms: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return log p(x | numbers) up to what is the same for all tables, by shape_g and slope_g."""
        (shape, slope), sums = terms, self.sums(tables)
        found = tables @ self.level - gammaln(tables + 1.0).sum(axis=-1)
        return np.asarray(found + (gammaln(shape + sums) - sums * slope).sum(axis=-1))

    def log_prob(self, tables: IntArray, numbers: PriorNumbers) -> FloatArray:
        """Return log p(x | numbers) for each table, a row, with parameters integrated out."""
        shape, slope = self.terms(numbers)
        found = self.log_kernel(tables, (shape, slope)) - gammaln(shape).sum(axis=-1)
        if self.kind == "rates":
            each = numbers[..., self.pool, :]
            found += (shape * (each[..., 0] - each[..., 1] - slope)).sum(axis=-1)
        else:
            whole = shape @ self._strata
            found += (gammaln(self.totals + 1.0) + gammaln(whole) - gammaln(whole + self.totals)).sum(axis=-1)
        return np.asarray(found)

    def draw_parameters(
        self, tables: IntArray, numbers: PriorNumbers, generator: np.random.Generator
    ) -> FloatArray:
        """Draw the rates or proportions of all groups given tables and numbers, one of each a row."""
        shape, slope = self.terms(numbers)
        shape = shape + self.sums(tables)
        if self.kind == "rates":
            return np.asarray(generator.standard_gamma(shape) / np.exp(slope))
        return self._dirichlet(shape, generator)

    def draw_prior(
        self, generator: np.random.Generator, size: int
    ) -> tuple[PriorNumbers, FloatArray, IntArray]:
        """Draw numbers, parameters and tables from the model alone."""
        numbers = self.draw_numbers(generator, size)
        shape, _ = self.terms(numbers)
        if self.kind == "rates":
            mean = np.exp(numbers[..., self.pool, 1])
            parameters = generator.standard_gamma(shape) * mean / shape
            return numbers, parameters, generator.poisson(parameters[..., self.group] * np.exp(self.level))
        parameters = self._dirichlet(shape, generator)
        tables = np.zeros((size, self.cells), dtype=np.int64)
        for stratum, total in enumerate(self.totals.tolist()):
            within = np.flatnonzero(self.stratum == stratum)
            tables[:, within] = generator.multinomial(total, parameters[:, within])
        return numbers, parameters, tables

    def settle(self, numbers: PriorNumbers, sums: IntArray, generator: np.random.Generator) -> None:
        """Draw the numbers of the prior anew, in place, one by one given all else but the parameters."""
        _settle(numbers, sums, generator, *self._constant)

    def _dirichlet(self, shape: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Draw by logarithms of Gamma variables: a small alpha gives a tiny share, and never 0 / 0."""
        logs = np.log(generator.standard_gamma(shape + 1)) + np.log(generator.random(shape.shape)) / shape
        order = np.argsort(self.stratum, kind="stable")
        starts = np.searchsorted(self.stratum[order], np.arange(self.totals.size))
        largest = np.maximum.reduceat(logs[..., order], starts, axis=-1)
        found = np.exp(logs - largest[..., self.stratum])
        return np.asarray(found / (found @ self._strata)[..., self.stratum])

    @cached_property
    def _each_alone(self) -> bool:
        return bool(np.array_equal(self.group, np.arange(self.cells)))

    @cached_property
    def _grouping(self) -> csr_array:
        ones = np.ones(self.cells, dtype=np.int64)
        return csr_array((ones, (self.group, np.arange(self.cells))), shape=(self.groups, self.cells))

    @cached_property
    def _strata(self) -> csr_array:
        ones = np.ones(self.groups)
        shape = (self.groups, self.totals.size)
        return csr_array((ones, (np.arange(self.groups), self.stratum)), shape=shape)

    @cached_property
    def _constant(self) -> tuple[Any, ...]:
        """What all draws of the numbers have in common, as the loop takes it."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.pool, minlength=self.pools))])
        return (
            self.kind == "rates",
            (np.argsort(self.pool, kind="stable"), starts.astype(np.int64)),
            (self.size, self.stratum, self.totals),
            np.array([(log(one.median), log(one.factor)) for one in self.believed.values()]),
        )


@compiled
def _log_numbers(
    value: Any, h: Any, which: Any, numbers: Any, sums: Any, rates: Any, pools: Any, cells: Any, whole: Any
) -> Any:
    """Return the log density of one number of a pool, given the others and the sums of groups."""
    members, starts = pools
    size, stratum, totals = cells
    found = 0.0
    if rates:
        log_shape = value if which == 0 else numbers[h, 0]
        log_rate = log_shape - (value if which == 1 else numbers[h, 1])
        shape, rate = exp(log_shape), exp(log_rate)
        for at in range(starts[h], starts[h + 1]):
            g = members[at]
            found += lgamma(shape + sums[g]) - (shape + sums[g]) * log(rate + size[g])
        return found + (starts[h + 1] - starts[h]) * (shape * log_rate - lgamma(shape))
    for s in range(totals.size):
        whole[s] = 0.0
    weight = exp(value)
    for pool in range(starts.size - 1):
        each = weight if pool == h else exp(numbers[pool, 0])
        for at in range(starts[pool], starts[pool + 1]):
            g = members[at]
            alpha = each * size[g]
            whole[stratum[g]] += alpha
            if pool == h:
                found += lgamma(alpha + sums[g]) - lgamma(alpha)
    for s in range(totals.size):
        found += lgamma(whole[s]) - lgamma(whole[s] + totals[s])
    return found


@compiled
def _settle(
    numbers: Any, sums: Any, generator: Any, rates: Any, pools: Any, cells: Any, beliefs: Any
) -> None:
    """Slice sampling of the logarithms, by stepping out and shrinking [neal2003, Figures 3 and 5]."""
    whole = np.empty(cells[2].size)
    for h in range(numbers.shape[0]):
        for which in range(numbers.shape[1]):
            centre, spread = beliefs[which]
            if spread == 0.0:
                continue
            now = numbers[h, which]
            width = min(spread, 1.0)
            floor = _log_numbers(now, h, which, numbers, sums, rates, pools, cells, whole)
            floor += -0.5 * ((now - centre) / spread) ** 2 - generator.standard_exponential()
            left = now - width * generator.random()
            right = left + width
            for side in range(2):
                end = left if side == 0 else right
                while True:
                    there = _log_numbers(end, h, which, numbers, sums, rates, pools, cells, whole)
                    if there - 0.5 * ((end - centre) / spread) ** 2 <= floor:
                        break
                    end += -width if side == 0 else width
                if side == 0:
                    left = end
                else:
                    right = end
            while True:
                value = left + (right - left) * generator.random()
                there = _log_numbers(value, h, which, numbers, sums, rates, pools, cells, whole)
                if there - 0.5 * ((value - centre) / spread) ** 2 > floor or value == now:
                    numbers[h, which] = value
                    break
                if value < now:
                    left = value
                else:
                    right = value
