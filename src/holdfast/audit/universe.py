"""What the invariants of a spec leave to protect. For the curator: it reads the confidential table."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast.lattice.unimodular import is_totally_unimodular
from holdfast.release import published_with_warnings
from holdfast.spec.model import Spec
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.sensitivity import Sensitivity


@dataclass(frozen=True)
class UniverseReport:
    """The size of a universe, its semi-adjacency, and the sensitivities at that distance."""

    cells: int
    invariants: int
    dimension: int
    blocks: int
    totally_unimodular: bool | None
    semi_adjacency: SemiAdjacency
    sensitivity: Sensitivity
    unit: str
    records_per_unit: int
    distance: int
    """How many records one unit's change takes: as many times the semi-adjacency as it has records."""
    warnings: tuple[str, ...] = ()
    """What a curator should look at in the data."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        found = asdict(self)
        del found["semi_adjacency"]["searched"]
        found["warnings"] = list(self.warnings)
        return found


def audit_universe(spec: Spec | str | Path, data: Any = None) -> UniverseReport:
    """Return what the invariants of a spec leave to protect."""
    public, warnings = published_with_warnings(spec, data)
    premises = public.premises("semi")
    universe = premises.universe
    return UniverseReport(
        cells=universe.cells,
        invariants=universe.rank,
        dimension=universe.dimension,
        blocks=len(universe.components),
        totally_unimodular=is_totally_unimodular(universe.matrix),
        semi_adjacency=premises.semi_adjacency,
        sensitivity=premises.sensitivity,
        unit=premises.whom.unit,
        records_per_unit=premises.whom.records,
        distance=premises.unit.distance,
        warnings=warnings,
    )
