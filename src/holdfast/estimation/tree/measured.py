"""What is known of the nodes of one level: the same queries and invariants for each of them."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import DataError
from holdfast.lattice.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """Noisy values W x_g + noise and exact values A x_g of all nodes of a level.

    Attributes:
        queries: W, one row a query over the cells; no row for a level without measurements.
        values: the noisy values, one row a node and one column a query.
        variances: the variance of the noise of each query, above 0; the noise is independent, with mean 0.
        invariants: A, one row an invariant over the cells.
        exact: the values of the invariants, one row a node.

    """

    queries: csr_array
    values: FloatArray
    variances: FloatArray
    invariants: csr_array
    exact: FloatArray

    @classmethod
    def of(
        cls,
        nodes: int,
        cells: int,
        *,
        queries: csr_array | None = None,
        values: IntArray | FloatArray | None = None,
        variances: FloatArray | None = None,
        invariants: csr_array | None = None,
        exact: IntArray | FloatArray | None = None,
    ) -> "Measured":
        """Return what is known of so many nodes over so many cells; what is not given is not known."""
        W = csr_array((0, cells)) if queries is None else queries
        A = csr_array((0, cells)) if invariants is None else invariants
        y = np.zeros((nodes, 0)) if values is None else np.asarray(values, dtype=np.float64)
        v = np.zeros(0) if variances is None else np.asarray(variances, dtype=np.float64)
        a = np.zeros((nodes, 0)) if exact is None else np.asarray(exact, dtype=np.float64)
        if W.shape[1] != cells or A.shape[1] != cells:
            raise DataError(
                f"the queries have {W.shape[1]} cells and the invariants {A.shape[1]}, the tables {cells}:"
                " give all of them over the same cells."
            )
        if y.shape != (nodes, W.shape[0]) or a.shape != (nodes, A.shape[0]) or v.shape != (W.shape[0],):
            raise DataError(
                f"{nodes:,} nodes with {W.shape[0]} queries and {A.shape[0]} invariants have values of shapes"
                f" {y.shape} and {a.shape} and {v.size} variances: give one value a node and query, and one"
                " variance a query."
            )
        if not (v > 0).all() or not np.isfinite(v).all():
            raise DataError("a query has no positive variance: give what is exact as an invariant.")
        if not np.isfinite(y).all() or not np.isfinite(a).all():
            raise DataError("a measured value is missing or not a number: leave out its query.")
        return cls(W, y, v, A, a)

    @property
    def cells(self) -> int:
        """The number of cells of a table."""
        return int(self.queries.shape[1])
