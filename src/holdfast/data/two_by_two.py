"""2 x 2 tables with both margins given.

    x_11  x_12 | t_1.
    x_21  x_22 | t_2.
    ----------------
    t_.1  t_.2 | n

Given the margins x_11 determines the table.
"""

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.system.errors import DataError

MOST = 1 << 30


class Margins(NamedTuple):
    """The row and column totals."""

    rows: tuple[int, int]
    columns: tuple[int, int]

    @property
    def lowest(self) -> int:
        """The least x_11."""
        return max(0, self.rows[0] - self.columns[1])

    @property
    def highest(self) -> int:
        """The largest x_11."""
        return min(self.rows[0], self.columns[0])


class TwoByTwo(NamedTuple):
    """The counts of a table, by rows; make one of four numbers with `TwoByTwo.of`."""

    x11: int
    x12: int
    x21: int
    x22: int

    @classmethod
    def of(cls, counts: Sequence[int]) -> "TwoByTwo":
        """Return the table of four counts x11, x12, x21, x22."""
        if len(counts) != 4:
            raise DataError(f"a 2 x 2 table has four counts, not {len(counts)}: give x11 x12 x21 x22.")
        for name, count in zip(cls._fields, counts, strict=True):
            if not 0 <= count < MOST:
                raise DataError(f"{name} is {count}: a count is a whole number from 0 to below 2^30.")
        return cls(*map(int, counts))

    def __repr__(self) -> str:
        return "<confidential 2 x 2 table>"

    @property
    def margins(self) -> Margins:
        """The totals of rows and columns."""
        return Margins((self.x11 + self.x12, self.x21 + self.x22), (self.x11 + self.x21, self.x12 + self.x22))
