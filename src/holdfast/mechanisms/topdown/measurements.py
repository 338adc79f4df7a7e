"""Measurements: W x_g plus independent discrete noise at every node of every level, and their file.

The file has a row for each, with its level, node, query, value and variance. The cell of a marginal stands in
a column for each attribute, which is empty where the query sums over it. Rows are in the order of levels and
queries, then nodes, then cells: the same measurements give the same bytes. The head of a certificate has the
SHA-256 of the values in this order, each as 64 bits with the lowest byte first: the same in whatever form the
rows are kept.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt, tanh
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pyarrow as pa

from holdfast.data.arrow import arrow_numbers
from holdfast.data.in_parts import AT_ONCE, always, levels_at, ranges, released_parts, texts, write_parts
from holdfast.lattice.arrays import FloatArray, IntArray, narrow
from holdfast.mechanisms.topdown.design import MeasuredQuery, MeasurementDesign
from holdfast.outputs import Output
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.sampling.numbers.gaussian import DiscreteGaussian
from holdfast.system.errors import DataError
from holdfast.system.paged import paged
from holdfast.system.private import Private
from holdfast.system.progress import steps

MeasurementNoise = Literal["gaussian", "laplace"]
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

    of: MeasuredQuery
    noise: MeasurementNoise
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
    def probabilities(self) -> FloatArray:
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

    def log_weight(self, noise: FloatArray) -> FloatArray:
        """Return the log probability of noise, up to a constant."""
        if self.noise == "gaussian":
            return np.asarray(-(noise**2) / float(2 * self.scale))
        return np.asarray(-np.abs(noise) / float(self.scale))


@dataclass(frozen=True, eq=False)
class MeasurementLaw:
    """The law of all measurements of one table, in one row: by level and query, then by node and row."""

    design: MeasurementDesign
    measurements: Sequence[Measurement]
    counts: IntArray = field(repr=False)
    """Of all cells of the table."""

    @cached_property
    def answers(self) -> tuple[IntArray, ...]:
        """The true answers, one table of nodes by rows for each measurement: confidential."""
        tables = self.design.regions.tables(self.counts)
        return tuple(self._answers(each, tables[each.of.level]) for each in self.measurements)

    def _answers(self, measurement: Measurement, tables: IntArray) -> IntArray:
        return np.asarray(tables @ self.design.queries[measurement.of.query].rows.T)

    def measure(self, entropy: Entropy) -> tuple[IntArray, ...]:
        """Draw once: nodes by rows for each measurement, some nodes at a time."""
        drawn = []
        tables = self.design.regions.tables(self.counts)
        for each in steps(self.measurements, "measuring"):
            nodes, rows = tables[each.of.level], int(self.design.queries[each.of.query].rows.shape[0])
            values = paged((len(nodes), rows), np.int64)
            for begin in range(0, len(nodes), max(1, AT_ONCE // rows)):
                some = slice(begin, begin + max(1, AT_ONCE // rows))
                answers = self._answers(each, nodes[some])
                values[some] = answers + each.law.sample(entropy, answers.size).reshape(answers.shape)
            drawn.append(narrow(values))
        return tuple(drawn)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        parts = [
            answers.ravel() + each.law.sample(entropy, size * answers.size).reshape(size, -1)
            for each, answers in zip(self.measurements, self.answers, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log probability of each row, up to one constant."""
        found, begin = np.zeros(len(points)), 0
        for each, answers in zip(self.measurements, self.answers, strict=True):
            part = points[:, begin : begin + answers.size]
            found += each.log_weight((part - answers.ravel()).astype(np.float64)).sum(axis=1)
            begin += answers.size
        return found


NAME = "measurements"
FILE = f"{NAME}.parquet"
VALUE = "value"
OWN = ("level", "geocode", "query", VALUE, "variance")

Values = tuple[IntArray, ...]
"""The values of all measurements: nodes by rows for each query and level, in as few bits as hold them."""


def column_of(attribute: str) -> str:
    """Return the column of an attribute: its name, unless that is taken."""
    return f"cell_{attribute}" if attribute in OWN else attribute


@dataclass(frozen=True, eq=False)
class LongForm:
    """The rows of the file of measurements: by level and query, then by node, then by cell."""

    design: MeasurementDesign
    measurements: Sequence[Measurement]

    @cached_property
    def shapes(self) -> list[tuple[int, int]]:
        """The number of nodes, and of rows of each, by measurement."""
        numbers, queries = self.design.regions.numbers, self.design.queries
        return [
            (numbers[each.of.level], int(queries[each.of.query].rows.shape[0])) for each in self.measurements
        ]

    @cached_property
    def ends(self) -> IntArray:
        """Where the rows of each measurement end."""
        return np.cumsum([nodes * rows for nodes, rows in self.shapes])

    def parts(self, values: Values) -> Iterator[pa.Table]:
        """Yield all rows, some at a time."""
        for place, part in enumerate(values):
            for begin, end in ranges(part.size):
                yield self._part(place, begin, part.reshape(-1)[begin:end])

    def rows(self, begin: int, values: IntArray) -> Iterator[pa.Table]:
        """Yield the rows of some values that stand one after the other, from one on."""
        done = 0
        while done < values.size:
            place = int(np.searchsorted(self.ends, begin + done, side="right"))
            first = begin + done - (int(self.ends[place - 1]) if place else 0)
            number = min(values.size - done, int(self.ends[place]) - begin - done)
            yield self._part(place, first, values[done : done + number])
            done += number

    def _part(self, place: int, begin: int, values: IntArray) -> pa.Table:
        """Return some of the rows of one measurement."""
        measurement, rows = self.measurements[place], self.shapes[place][1]
        regions, query = self.design.regions, self.design.queries[measurement.of.query]
        level, size = tuple(regions.places)[measurement.of.level], values.size
        node, row = np.divmod(np.arange(begin, begin + size), rows)
        columns = {
            "level": always(level, size),
            "geocode": levels_at(regions.places[level], node),
            "query": always(query.name, size),
        }
        for name in regions.names:
            if name in query.marginal:
                at = query.marginal.index(name)
                levels = levels_at([cell[at] for cell in query.labels], row)
                columns[column_of(name)] = levels.dictionary_decode()
            else:
                columns[column_of(name)] = pa.nulls(size, pa.string())
        columns[VALUE] = arrow_numbers(values.astype(np.int64, copy=False))
        columns["variance"] = arrow_numbers(np.full(size, measurement.variance))
        return pa.table(columns)


def read_measurements(path: Path, design: MeasurementDesign, measurements: Sequence[Measurement]) -> Values:
    """Read what was measured; raises DataError where the file is not one of these measurements."""
    form = LongForm(design, measurements)
    try:
        every = paged(int(form.ends[-1]), np.int64)
        done = 0
        for part in released_parts(path, most_rows=every.size):
            if part.schema.get(VALUE) != pl.Int64 or part[VALUE].null_count():
                raise ValueError  # noqa: TRY301 - caught with the other damage below
            own = part[VALUE].to_numpy()
            expected = pl.concat(map(texts, form.rows(done, own)))
            if part.schema != expected.schema or not part.equals(expected):
                raise ValueError  # noqa: TRY301
            every[done : done + own.size] = own
            done += own.size
        if done != every.size:
            raise ValueError  # noqa: TRY301
    except (DataError, OSError, ValueError, LookupError, TypeError, pl.exceptions.PolarsError):
        raise DataError(
            f"{path} does not hold the measurements that the certificate tells: restore it from the release."
        ) from None
    parts = zip(np.split(every, form.ends[:-1]), form.shapes, strict=True)
    return tuple(narrow(part.reshape(shape)) for part, shape in parts)


def digest_of(values: Values) -> str:
    """Return the SHA-256 of what was measured."""
    found = hashlib.sha256()
    for part in values:
        flat = part.reshape(-1)
        for begin, end in ranges(flat.size):
            found.update(np.ascontiguousarray(flat[begin:end], dtype="<i8").tobytes())
    return found.hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class MeasurementsOutput(Output):
    """Noisy answers, which may be seen."""

    design: MeasurementDesign
    measurements: Sequence[Measurement]
    values: Values

    def __repr__(self) -> str:
        return f"<{sum(part.size for part in self.values):,} measurements>"

    def __eq__(self, other: object) -> bool:
        return self.to_frame().equals(other.to_frame()) if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(part.tobytes() for part in self.values))

    @property
    def measured(self) -> str:
        """The digest of all values."""
        return digest_of(self.values)

    def to_frame(self) -> pl.DataFrame:
        """Return them as a frame, a row for each."""
        return pl.concat(
            map(texts, LongForm(self.design, self.measurements).parts(self.values)), rechunk=True
        )

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - Parquet in any case
        """Write all of them as Parquet."""
        file = f"{name}.parquet"
        with folder.create(file) as opened:
            write_parts(LongForm(self.design, self.measurements).parts(self.values), file, opened)
        return file
