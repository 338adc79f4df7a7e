"""Numbers with their first and second derivatives by a few variables, in arrays.

The last axes are those of the derivatives: ``value`` [...], ``first`` [..., m], ``second`` [..., m, m].
"""

from dataclasses import dataclass

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Jet:
    """A function of m variables, to the second order at one point."""

    value: FloatArray
    first: FloatArray
    second: FloatArray

    @classmethod
    def variable(cls, value: FloatArray, place: int, of: int) -> "Jet":
        """Return one of the variables."""
        first = np.zeros((*value.shape, of))
        first[..., place] = 1.0
        return cls(value, first, np.zeros((*value.shape, of, of)))

    @classmethod
    def constant(cls, value: FloatArray) -> "Jet":
        """Return a number that depends on no variable, as there is none."""
        return cls(value, np.zeros((*value.shape, 0)), np.zeros((*value.shape, 0, 0)))

    def __add__(self, other: "Jet") -> "Jet":
        return Jet(self.value + other.value, self.first + other.first, self.second + other.second)

    def __sub__(self, other: "Jet") -> "Jet":
        return self + other * -1.0

    def __mul__(self, other: "Jet | FloatArray | float") -> "Jet":
        if not isinstance(other, Jet):
            by = np.asarray(other, dtype=np.float64)
            return Jet(self.value * by, self.first * by[..., None], self.second * by[..., None, None])
        cross = self.first[..., :, None] * other.first[..., None, :]
        return Jet(
            self.value * other.value,
            self.first * other.value[..., None] + other.first * self.value[..., None],
            self.second * other.value[..., None, None]
            + other.second * self.value[..., None, None]
            + cross
            + np.swapaxes(cross, -1, -2),
        )

    def inverse(self) -> "Jet":
        """Return 1 / f: its derivatives are -f' / f^2 and 2 f' f'' / f^3 - f'' / f^2."""
        one = 1 / self.value
        first = -self.first * (one**2)[..., None]
        cross = self.first[..., :, None] * self.first[..., None, :]
        second = cross * (2 * one**3)[..., None, None] - self.second * (one**2)[..., None, None]
        return Jet(one, first, second)

    def summed(self, starts: IntArray) -> "Jet":
        """Return sums along the last axis of values, of parts that begin at ``starts``."""
        axis = self.value.ndim - 1
        return Jet(*(np.add.reduceat(each, starts, axis=axis) for each in self._parts()))

    def repeated(self, times: IntArray) -> "Jet":
        """Return every entry of the last axis of values so many times."""
        axis = self.value.ndim - 1
        return Jet(*(np.repeat(each, times, axis=axis) for each in self._parts()))

    def total(self) -> "Jet":
        """Return the sum along the last axis of values."""
        axis = self.value.ndim - 1
        return Jet(*(each.sum(axis=axis) for each in self._parts()))

    def _parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.value, self.first, self.second
