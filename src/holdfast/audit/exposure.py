"""Which cells the invariants of a spec reveal by themselves.

For the curator: it reads the invariants off the confidential table, and names cells and their counts. The
same follows for everyone once the invariants are published, whatever noise protects the rest.
"""

from pathlib import Path
from typing import Any

import numpy as np

from holdfast.setting import publish
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec
from holdfast.tables.read import read_table
from holdfast.universe.exposure import exposure
from holdfast.universe.program import UNBOUNDED


def audit_exposure(spec: Spec | str | Path) -> dict[str, Any]:
    """Return the determined cells with their counts, and the interval of every other cell.

    Structural zeros are left out: they are known without the data. Intervals come narrowest first; `high`
    is None where a cell has no upper end. A cell is nearly revealed when two counts are left for it.
    Intervals that are not exact contain the true ones.
    """
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    reading = read_table(spec)
    setting = publish(spec, reading.table, reading.inferred)
    schema, found = setting.schema, exposure(setting.universe)
    place = np.flatnonzero(schema.possible)

    def name(cell: int) -> dict[str, str]:
        return dict(zip(schema.names, schema.cell(int(place[cell])), strict=True))

    order = np.argsort(found.width, kind="stable")
    open_cells = order[found.width[order] > 0]
    intervals = [
        {
            "cell": name(cell),
            "low": int(found.low[cell]),
            "high": None if found.high[cell] == UNBOUNDED else int(found.high[cell]),
        }
        for cell in open_cells
    ]
    determined = found.determined
    return {
        "for_the_curator_only": True,
        "cells": setting.universe.cells,
        "exact": bool(found.exact.all()),
        "determined": [{"cell": name(cell), "value": int(found.low[cell])} for cell in determined],
        "people_exposed": int(found.low[determined].sum()),
        "nearly_revealed": intervals[: int((found.width == 1).sum())],
        "intervals": intervals,
    }
