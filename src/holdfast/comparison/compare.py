"""Comparing mechanisms at the target of a spec, whatever it releases."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.comparison.places import compare_places
from holdfast.comparison.swap_report import SwapComparison
from holdfast.comparison.swaps import compare_swaps
from holdfast.comparison.tables import Comparison, compare_tables
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec
from holdfast.system.errors import SpecError
from holdfast.system.ways import about, option

DRAWS = 1000


def compare(
    spec: Spec | str | Path,
    mechanisms: Sequence[str] | None = None,
    *,
    data: Any = None,
    draws: int = DRAWS,
    seed: int = 0,
    cell_key: str | Path | None = None,
) -> Comparison | SwapComparison:
    """Calibrate mechanisms to the target of a spec and simulate their errors; nothing is released.

    Without ``mechanisms`` they are the usual ones. A spec of records puts its swap beside noise on the
    tabulation that its cells name, at the epsilon of the swap; over a geography, beside a top-down release
    and noise that is weighted by level. A ``cell_key`` table is put beside lattice noise of the same largest
    change.

    >>> found = hf.compare(spec, ["lattice-laplace", "k-norm"], data=people, draws=50)
    >>> {"k-norm", "lattice-laplace"} <= {row.name for row in found.rows}
    True
    """
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    with about(spec.file):
        if not spec.of_records:
            return compare_tables(spec, mechanisms, data=data, draws=draws, seed=seed, cell_key=cell_key)
        if cell_key is not None:
            raise SpecError(
                f"{option('cell_key')} is for tables of counts, and this spec releases records: leave it out."
            )
        found = compare_swaps if spec.data.geography is None else compare_places
        return found(spec, mechanisms, data=data, draws=draws, seed=seed)
