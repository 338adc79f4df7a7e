"""Quadratic forms of sums of cells: F = sum_j c_j W_j' W_j, for integer rows W_j and rationals c_j.

Rows of whole margins are made only where they are asked for: their sums are read from the table.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, prod

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.margins import MarginStrategy, Reading
from holdfast.lattice.rows import independent_rows
from holdfast.lattice.tables import reading_sums

EXACT, LARGEST = 2.0**53, 2.0**62
"""Whole numbers that floats, and integers, have room for."""


@dataclass(frozen=True, eq=False)
class MarginRows:
    """W of a reading, made where it is asked for."""

    margins: MarginStrategy
    reading: Reading

    @cached_property
    def matrix(self) -> csr_array:
        """W, one row a combination of parts."""
        return self.margins.rows(self.reading)

    def sums(self, points: IntArray) -> IntArray:
        """Return W z for each row z."""
        margins = self.margins
        parts = [
            None if level == axis.depth else axis.part(level)
            for axis, level in zip(margins.axes, self.reading, strict=True)
        ]
        return reading_sums(points, margins.shape, parts)


class Form:
    """F = sum of strength W'W, over parts of rows W with one strength each.

    ``margins`` says so again where all rows are those of whole margins, and so are those that are kept.
    """

    def __init__(
        self,
        parts: Iterable[tuple[csr_array | MarginRows, Fraction]],
        margins: MarginStrategy | None = None,
    ) -> None:
        self._parts, self.margins = tuple(parts), margins

    @classmethod
    def of(cls, margins: MarginStrategy, *, whole: bool = True) -> "Form":
        """Return the form of whole margins, of those that are kept, too, or of the others alone."""
        measured = margins.measured if whole else margins.open
        return cls(((MarginRows(margins, reading), c) for reading, c in measured), margins)

    @cached_property
    def parts(self) -> tuple[tuple[csr_array, Fraction], ...]:
        """The rows of each part, with its strength."""
        return tuple((each.matrix if isinstance(each, MarginRows) else each, c) for each, c in self._parts)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The strength of each part."""
        return tuple(strength for _, strength in self._parts)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return prod(self.margins.shape) if self.margins is not None else int(self.parts[0][0].shape[1])

    def _sums(self, points: IntArray) -> Iterator[tuple[IntArray, Fraction]]:
        """Yield W z of each part for each row z, with its strength."""
        for rows, strength in self._parts:
            if isinstance(rows, MarginRows):
                yield rows.sums(points), strength
            else:
                yield np.asarray(rows @ points.T, dtype=np.int64).T, strength

    @cached_property
    def rows(self) -> csr_array:
        """All rows, part after part."""
        return csr_array(vstack([rows for rows, _ in self.parts], format="csr"))

    @cached_property
    def denominator(self) -> int:
        """A whole number by which all strengths become whole."""
        return lcm(*(strength.denominator for strength in self.weights))

    @cached_property
    def strengths(self) -> tuple[Fraction, ...]:
        """The strength of each row."""
        return tuple(strength for rows, strength in self.parts for _ in range(rows.shape[0]))

    def squares(self, points: IntArray) -> FloatArray:
        """Return z'Fz for each row z."""
        return self.rounded(points)[0]

    def rounded(self, points: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return z'Fz for each row z, and what it may be off by beyond 2^-49 of it, as terms cancel.

        Sums of squares are integers where they fit, then there are a few roundings.
        """
        found, size, off = np.zeros(len(points)), np.zeros(len(points)), 0.0
        for sums, strength in self._sums(points):
            farthest = float(max(sums.max(initial=0), -sums.min(initial=0)))
            most = farthest**2 * sums.shape[1]
            whole = sums if EXACT <= most < LARGEST else sums.astype(np.float64)  # fast where both are exact
            term = float(strength) * np.einsum("dr,dr->d", whole, whole)
            if most >= LARGEST:
                off = max(off, 2.0**-51 * sums.shape[1])
            found += term
            size += np.abs(term)
        terms = size * (2.0**-50 * (2 + len(self._parts)))
        return found, np.where(size > found, terms, 0.0) + off * size

    def exact(self, point: IntArray) -> Fraction:
        """Return z'Fz of one vector."""
        return sum(
            (strength * sum(v * v for v in sums[0].tolist()) for sums, strength in self._sums(point[None])),
            Fraction(0),
        )

    def largest(self, points: IntArray) -> Fraction:
        """Return the largest z'Fz over the rows, exactly."""
        return max((self._combined(each) for each in self.terms(points)), default=Fraction(0))

    def terms(self, points: IntArray) -> IntArray:
        """Return ||W_j z||^2 for each j, a column each, of the rows z that differ in them."""
        return np.unique(np.array([(each * each).sum(axis=1) for each, _ in self._sums(points)]).T, axis=0)

    def _combined(self, terms: IntArray) -> Fraction:
        pairs = zip(self.weights, terms.tolist(), strict=True)
        return sum((strength * size for strength, size in pairs), Fraction(0))

    @cached_property
    def spectrum(self) -> Fraction:
        """A bound on u'Fu / ||u||^2, of margins where those that are kept are zero."""
        if self.margins is not None:
            return self.margins.largest
        return Fraction(int(np.abs(self.gram()).sum(axis=1).max(initial=0)), self.denominator)

    def gram(self) -> IntArray:
        """Return the matrix F times its denominator; raises OverflowError where it is beyond 64 bits."""
        found = np.zeros((self.cells, self.cells), dtype=np.int64)
        size = 0.0
        for rows, strength in self.parts:
            times = int(strength * self.denominator)
            dense = (rows.T @ rows).toarray()
            size += float(times) * float(np.abs(dense).max(initial=0))
            if size * self.cells >= LARGEST:
                raise OverflowError("a quadratic form is beyond 64 bits")
            found += times * dense
        return found

    def measures(self, matrix: csr_array | None) -> bool:
        """Whether z'Fz > 0 for all z that are not 0 with A z = 0, decided exactly."""
        if self.margins is not None or matrix is None:
            return self.margins is not None and self.margins.unmeasured is None
        stacked = csr_array(vstack([matrix, self.rows], format="csr"))
        return independent_rows(stacked).size == self.cells
