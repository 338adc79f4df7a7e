"""What the invariants of a spec leave to protect. For the curator: it reads the confidential table."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.account.distance import NothingLeftError
from holdfast.joint.scope import TablesScope
from holdfast.lattice.unimodular import is_totally_unimodular
from holdfast.privacy.evidence import Evidence, told
from holdfast.privacy.guarantee import Unit
from holdfast.privacy.semi import semi_evidence
from holdfast.public import Public
from holdfast.release import published_with_warnings
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.spec.whom import Whom
from holdfast.universe.labelled import Labelled, labelled
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
    labelled: Labelled
    """The same for the people in the table, who may exchange places."""
    sensitivity: Sensitivity
    unit: str
    records_per_unit: int
    distance: int
    """How many records one unit's change takes: as many times the semi-adjacency as it has records."""
    warnings: tuple[str, ...] = ()
    """What a curator should look at in the data."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Why the distance of people is right."""
        people, whom = self.labelled, Whom(self.unit, self.records_per_unit)
        read = replace(
            self.semi_adjacency,
            worst_case=people.worst_case,
            exact=people.exact,
            reference=people.reference,
        )
        apart = people.worst_case * whom.records
        return semi_evidence(read, self.sensitivity, frozenset(), apart, whom)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        found = asdict(self)
        del found["semi_adjacency"]["searched"]
        found["labelled"]["evidence"] = [told(reason) for reason in self.evidence]
        found["warnings"] = list(self.warnings)
        return found


def audit_universe(spec: Spec | str | Path, data: Any = None) -> UniverseReport:
    """Return what the invariants of a spec leave to protect."""
    return universe_report(*published_with_warnings(spec, data))


@dataclass(frozen=True)
class UniverseReports:
    """What the invariants of several tables leave, one by one, and how far apart files of all may be."""

    tables: Mapping[str, UniverseReport]
    semi_adjacency: int
    """How many records one record's change takes under the invariants of all tables."""
    unit: Unit

    @property
    def labelled(self) -> int:
        """The same for the people in the file: where one is left, those who differ in a table exchange."""
        return self.semi_adjacency or max(report.labelled.worst_case for report in self.tables.values())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a curator should look at in the data, each once."""
        return tuple(dict.fromkeys(said for report in self.tables.values() for said in report.warnings))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "tables": {name: report.to_dict() for name, report in self.tables.items()},
            "semi_adjacency": self.semi_adjacency,
            "labelled": self.labelled,
            "unit": self.unit.name,
            "records_per_unit": self.unit.records,
            "distance": self.unit.distance,
            "warnings": list(self.warnings),
        }


def audit_universes(spec: TablesSpec, data: Any = None) -> UniverseReports:
    """Return what the invariants of several tables leave to protect, and how far apart files may be."""
    found = {
        name: published_with_warnings(one, data) for name, one in zip(spec.names, spec.specs, strict=True)
    }
    scope = TablesScope({name: public for name, (public, _) in found.items()}, "semi", None)
    tables = {name: universe_report(*one) for name, one in found.items()}
    try:
        return UniverseReports(tables, scope.semi_adjacency.worst_case, scope.unit)
    except NothingLeftError:  # of all tables together
        return UniverseReports(tables, 0, Unit(scope.whom.unit, "semi", 0, scope.whom.records))


def universe_report(public: Public, warnings: tuple[str, ...] = ()) -> UniverseReport:
    """Return what the invariants of a table leave to protect."""
    premises = public.premises("semi")
    universe = premises.universe
    return UniverseReport(
        cells=universe.cells,
        invariants=universe.rank,
        dimension=universe.dimension,
        blocks=len(universe.components),
        totally_unimodular=is_totally_unimodular(universe.matrix),
        semi_adjacency=premises.semi_adjacency,
        labelled=labelled(universe, premises.semi_adjacency),
        sensitivity=premises.sensitivity,
        unit=premises.whom.unit,
        records_per_unit=premises.whom.records,
        distance=premises.unit.distance,
        warnings=warnings,
    )
