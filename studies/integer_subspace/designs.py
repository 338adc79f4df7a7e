"""The paper's three designs [integer-subspace-dp, Section 5], and its chain on each of them.

The text lacks the figure that defines the first design. It says that three counts are taken over 14 cells
and that every intersection of them is not empty. The Venn diagram of three sets has seven regions, and 14 is
twice seven: here every region has two cells.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from holdfast.lab.gibbs_metropolis import Basis, GibbsMetropolis, Scan, lattice_basis
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.kernel import LaplaceTarget
from holdfast.sampling.lattice.laplace import LaplaceNorm, LatticeLaplaceLaw


@dataclass(frozen=True, eq=False)
class Design:
    """Noise exp(-epsilon ||z||) on {z : A z = 0}, and the chain that the paper draws it by.

    Attributes:
        name: the design and the norm.
        matrix: A, of full rank.
        epsilon: the loss for a unit of the norm.
        norm: l1 or l2.
        rate: the jumps e of the chain have P(e) prop. to exp(-rate |e|).
        stated: how many iterations the paper takes for one draw; None where the text does not say.

    """

    name: str
    matrix: IntArray
    epsilon: Fraction
    norm: LaplaceNorm
    rate: Fraction
    stated: int | None

    @property
    def law(self) -> LatticeLaplaceLaw:
        """The noise, drawn exactly."""
        return LatticeLaplaceLaw(csr_array(self.matrix), self.epsilon, self.norm)

    def kernel(self, basis: Basis = "smith", scan: Scan = "joint") -> GibbsMetropolis:
        """Return the published chain; by default as the text reads: one decision for all coordinates."""
        target = LaplaceTarget(self.epsilon, np.zeros(self.matrix.shape[1], dtype=np.int64), self.norm)
        return GibbsMetropolis(lattice_basis(self.matrix, basis), target, self.rate, scan)

    def norms(self, noise: IntArray) -> IntArray:
        """Return ||z||_1 or ||z||_2^2 of each row: whole numbers."""
        found: IntArray = np.abs(noise).sum(axis=1) if self.norm == "l1" else (noise * noise).sum(axis=1)
        return found


QUARTER = Fraction(1, 4)
SIDE = 4
ROWS = np.kron(np.eye(SIDE, dtype=np.int64), np.ones((1, SIDE), dtype=np.int64))
COLUMNS = np.kron(np.ones((1, SIDE), dtype=np.int64), np.eye(SIDE, dtype=np.int64))
MARGINS = np.concatenate([ROWS, COLUMNS[:-1]])
"""All margins of a 4 x 4 table but one, which follows from the others."""
REGIONS = np.array([[(region >> count) & 1 for region in range(1, 8)] for count in range(3)])
"""Which of the three counts (rows) each region of their Venn diagram (columns) is in."""
CROSSING = np.repeat(REGIONS, 2, axis=1)
TOTAL = np.ones((1, 102), dtype=np.int64)

CHILDREN_L1 = Design("4 x 4 margins, l1", MARGINS, QUARTER, "l1", Fraction(1), 10_000)
CHILDREN_L2 = Design("4 x 4 margins, l2", MARGINS, QUARTER, "l2", Fraction(3, 2), None)
"""The text gives no rates for the 4 x 4 table: these are the ones of the crossing counts."""
CROSSING_L1 = Design("14 cells, l1", CROSSING, QUARTER, "l1", Fraction(1), 100_000)
CROSSING_L2 = Design("14 cells, l2", CROSSING, QUARTER, "l2", Fraction(3, 2), 1_000_000)
COUNTIES = Design("102 counties, l1", TOTAL, Fraction(192, 1000), "l1", Fraction(5, 2), 10_000)
"""epsilon = 4 x 0.16 x 0.3; 1,000 vectors were kept from a chain, one in 10,000 steps."""
DESIGNS = (CHILDREN_L1, CHILDREN_L2, CROSSING_L1, CROSSING_L2, COUNTIES)

EDUCATION = ("Low", "Medium", "High", "Very High")
COUNTY = ("Alpha", "Beta", "Gamma", "Delta")
CHILDREN = np.array([[15, 1, 3, 1], [20, 10, 10, 15], [3, 10, 10, 2], [12, 14, 7, 2]])
"""Delinquent children by county and education of the household's head, fictitious [fcsm2005, Table 4]."""
PUBLISHED = np.array([[-1, -1, 0, 2], [5, 4, -2, -7], [-5, -3, 5, 3], [1, 0, -3, 2]])
"""[integer-subspace-dp, Table 1]: one draw of the noise."""

_HALVES = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])
MARGINS_FRAME = np.kron(_HALVES, _HALVES)
"""Nine orthogonal vectors with margins of zero."""
CROSSING_FRAME = np.concatenate(
    [
        np.kron(np.eye(7, dtype=np.int64), [[1, -1]]),  # within a region
        np.repeat(
            [
                [-1, 0, 1, 1, 0, -1, 0],
                [-1, -1, 0, -1, 0, 0, 1],
                [0, 1, -1, 0, 0, -1, 1],
                [1, -1, 0, 1, -2, 0, 1],
            ],
            2,
            axis=1,
        ),
    ]
)
"""Eleven orthogonal vectors with counts of zero."""
