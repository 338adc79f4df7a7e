"""Counts in decimal fractions that are exact: whole numerators over one power of ten."""

from dataclasses import dataclass
from decimal import Decimal

from holdfast.lattice.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """The numbers numerators / 10^places; whole numbers where places is 0."""

    numerators: IntArray
    places: int = 0

    @property
    def scale(self) -> int:
        """Ten to the number of places."""
        return int(10**self.places)

    @property
    def values(self) -> FloatArray:
        """The numbers as floats, for summaries."""
        return self.numerators / self.scale

    def texts(self) -> list[str]:
        """Return the numbers as decimal text, every digit of them.

        >>> import numpy as np
        >>> FixedPoint(np.array([1500000, -5, 2000000]), 6).texts()
        ['1.500000', '-0.000005', '2.000000']
        """
        if self.places == 0:
            return [str(number) for number in self.numerators.tolist()]
        exact = (Decimal(number).scaleb(-self.places) for number in self.numerators.tolist())
        return [f"{number:f}" for number in exact]
