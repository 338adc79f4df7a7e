"""The law of the measurements: W x_g plus independent discrete noise, at every node of every level."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt, tanh
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.design import Design, Measured
from holdfast.progress import steps
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.sampling.numbers.gaussian import DiscreteGaussian

Noise = Literal["gaussian", "laplace"]
REACH = 40
"""Standard deviations of a discrete law beyond which nothing is left of its variance."""
DIGITS = 50
"""Digits in which a variance is computed."""
WIDE = 6.0
"""A standard deviation beyond which the discrete Gaussian law has the variance of the real one, to 1e-300."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """A query of a level, with the parameter of its noise.

    ``scale`` is sigma^2 of the discrete Gaussian law, or 1 / kappa of the discrete Laplace law, whose
    probabilities are proportional to exp(-z^2 / (2 sigma^2)) and exp(-kappa |z|).
    """

    of: Measured
    noise: Noise
    scale: Fraction
    loss: Fraction
    """Rho, or epsilon, for one record of distance."""

    @cached_property
    def variance(self) -> float:
        """The variance of the noise: in decimals, whose digits are the same on every machine.

        Its inverse weighs what was measured, and so settles the counts.
        """
        if self.noise == "gaussian" and self.scale > WIDE**2:
            return float(self.scale)
        with localcontext(prec=DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX):
            scale = Decimal(self.scale.numerator) / self.scale.denominator
            if self.noise == "laplace":
                a = (-1 / scale).exp()
                return float(2 * a / (1 - a) ** 2)
            weights = [(z, (-z * z / (2 * scale)).exp()) for z in range(1, REACH * int(WIDE) + 1)]
            squares, all_ = sum(z * z * weight for z, weight in weights), sum(w for _, w in weights)
            return float(2 * squares / (1 + 2 * all_))

    @cached_property
    def fourth(self) -> float:
        """The fourth moment of the noise."""
        if self.noise == "laplace":
            return self.variance + 6 * self.variance**2
        if self.scale > WIDE**2:
            return 3 * float(self.scale) ** 2
        z = np.arange(1, REACH * int(WIDE) + 1, dtype=np.float64)
        weight = np.exp(-(z**2) / (2 * float(self.scale)))
        return float(2 * (z**4 * weight).sum() / (1 + 2 * weight.sum()))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The probabilities of noise from -n to n; beyond there is less than 1e-16 of them on either side."""
        scale = float(self.scale)
        n = ceil(9 * sqrt(scale)) + 1 if self.noise == "gaussian" else ceil(38 * scale) + 1
        z = np.arange(-n, n + 1, dtype=np.float64)
        weight = np.exp(self.log_weight(z))
        if self.noise == "gaussian":
            return np.asarray(weight / weight.sum())
        return np.asarray(weight * tanh(1 / (2 * scale)))

    @cached_property
    def law(self) -> DiscreteGaussian | DoubleGeometric:
        """How the noise is drawn: exactly."""
        return DiscreteGaussian(self.scale) if self.noise == "gaussian" else DoubleGeometric(1 / self.scale)

    def log_weight(self, noise: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log probability of noise, up to a constant."""
        if self.noise == "gaussian":
            return np.asarray(-(noise**2) / float(2 * self.scale))
        return np.asarray(-np.abs(noise) / float(self.scale))


@dataclass(frozen=True, eq=False)
class MeasurementLaw:
    """The law of all measurements of one table, in one row: by level and query, then by node and row."""

    design: Design
    measurements: Sequence[Measurement]
    counts: IntArray = field(repr=False)
    """Of all cells of the table."""

    @cached_property
    def answers(self) -> tuple[IntArray, ...]:
        """The true answers, one table of nodes by rows for each measurement: confidential."""
        tables = self.design.regions.sums(self.counts)
        return tuple(
            np.asarray(tables[each.of.level] @ self.design.queries[each.of.query].rows.T)
            for each in self.measurements
        )

    def measure(self, entropy: Entropy) -> tuple[IntArray, ...]:
        """Draw once: nodes by rows for each measurement."""
        drawn = []
        told = steps(zip(self.measurements, self.answers, strict=True), "measuring", len(self.measurements))
        for each, answers in told:
            drawn.append(answers + each.law.sample(entropy, answers.size).reshape(answers.shape))
        return tuple(drawn)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        parts = [
            answers.ravel() + each.law.sample(entropy, size * answers.size).reshape(size, -1)
            for each, answers in zip(self.measurements, self.answers, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def log_prob(self, points: IntArray) -> NDArray[np.float64]:
        """Return the log probability of each row, up to one constant."""
        found, begin = np.zeros(len(points)), 0
        for each, answers in zip(self.measurements, self.answers, strict=True):
            part = points[:, begin : begin + answers.size]
            found += each.log_weight((part - answers.ravel()).astype(np.float64)).sum(axis=1)
            begin += answers.size
        return found
