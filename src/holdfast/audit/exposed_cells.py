"""Which cells the invariants and inequalities of a spec reveal by themselves.

For the curator: it reads the invariants off the confidential table, and names cells and their counts. The
same follows for everyone once the invariants are published, whatever noise protects the rest.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.programs.solver import UNBOUNDED
from holdfast.releases.table import published
from holdfast.spec.model import Spec
from holdfast.spec.privacy import RECORD, ProtectedUnit
from holdfast.universe.exposure import exposure as exposure_of


@dataclass(frozen=True)
class Exposed:
    """A cell, and what the invariants say of its count; ``high`` is None where it has no upper end."""

    cell: dict[str, str]
    low: int
    high: int | None


@dataclass(frozen=True)
class ExposureReport:
    """The cells that are determined, and the others, narrowest first.

    A cell is nearly revealed when two counts are left for it. Intervals that are not exact contain the
    true ones. Structural zeros are left out: they are known without the data.
    """

    cells: int
    exact: bool
    determined: tuple[Exposed, ...]
    open: tuple[Exposed, ...]
    whom: ProtectedUnit = RECORD
    warnings: tuple[str, ...] = ()
    """What a curator should look at in the data."""
    bounded: bool = False
    """Whether public inequalities leave fewer tables than the invariants do."""

    @property
    def known(self) -> str:
        """What reveals the cells."""
        return "The invariants and inequalities" if self.bounded else "The invariants alone"

    @property
    def people_exposed(self) -> int:
        """The records in cells that are determined."""
        return sum(cell.low for cell in self.determined)

    @property
    def nearly_revealed(self) -> tuple[Exposed, ...]:
        """The cells with two possible counts."""
        return tuple(cell for cell in self.open if cell.high == cell.low + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""

        def interval(cell: Exposed) -> dict[str, Any]:
            return {"cell": cell.cell, "low": cell.low, "high": cell.high}

        return {
            "for_the_curator_only": True,
            "cells": self.cells,
            "exact": self.exact,
            "determined": [{"cell": cell.cell, "value": cell.low} for cell in self.determined],
            "people_exposed": self.people_exposed,
            "nearly_revealed": [interval(cell) for cell in self.nearly_revealed],
            "intervals": [interval(cell) for cell in self.open],
            "warnings": list(self.warnings),
        }


def exposure(spec: Spec | str | Path, data: Any = None) -> ExposureReport:
    """Return the determined cells with their counts, and the interval of every other cell."""
    public, warnings = published(spec, data)
    schema, found = public.schema, exposure_of(public.universe)

    def exposed(cell: int) -> Exposed:
        levels = schema.cell(int(public.possible[cell]))
        high = None if found.high[cell] == UNBOUNDED else int(found.high[cell])
        return Exposed(dict(zip(schema.names, levels, strict=True)), int(found.low[cell]), high)

    order = np.argsort(found.width, kind="stable")
    return ExposureReport(
        cells=public.universe.cells,
        exact=bool(found.exact.all()),
        determined=tuple(exposed(cell) for cell in found.determined),
        open=tuple(exposed(cell) for cell in order[found.width[order] > 0]),
        whom=public.whom,
        warnings=warnings,
        bounded=public.universe.narrowed,
    )
