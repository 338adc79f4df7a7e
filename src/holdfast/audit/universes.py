"""What the invariants of a spec leave to protect. For the curator: it reads the confidential table.

An exposure names the cells that invariants and inequalities reveal by themselves, with their counts. The
same follows for everyone once the invariants are published, whatever noise protects the rest.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.audit.side_information import Knowledge, SideInformation, side_information
from holdfast.data.read import read_table
from holdfast.lattice.nested import is_totally_unimodular
from holdfast.ledger.losses import NothingLeftError
from holdfast.privacy.evidence import Evidence, evidence_report
from holdfast.privacy.guarantee import Unit
from holdfast.privacy.premises import Premises, semi_evidence
from holdfast.programs.solver import UNBOUNDED
from holdfast.public import Public, publish
from holdfast.releases.joint import JointPremises
from holdfast.releases.table import published
from holdfast.spec.files import FilesSpec
from holdfast.spec.load import read_any_spec, read_spec
from holdfast.spec.model import Spec
from holdfast.spec.privacy import RECORD, Neighbours, ProtectedUnit
from holdfast.spec.tables import TablesSpec
from holdfast.system.notebook import NotebookReport, Picture
from holdfast.system.ways import about
from holdfast.universe.exposure import exposure as exposure_of
from holdfast.universe.labelled import Labelled, labelled
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.sensitivity import Sensitivity


@dataclass(frozen=True)
class UniverseReport(NotebookReport):
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
    neighbours: Neighbours = "replace"
    warnings: tuple[str, ...] = ()
    """What a curator should look at in the data."""

    @property
    def whom(self) -> ProtectedUnit:
        """Whom a guarantee is to protect."""
        return ProtectedUnit(self.unit, self.records_per_unit, self.neighbours)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Why the distance of people is right."""
        people, whom = self.labelled, self.whom
        read = replace(
            self.semi_adjacency,
            worst_case=people.worst_case,
            exact=people.exact,
            reference=people.reference,
        )
        apart = people.worst_case * whom.records
        return semi_evidence(read, self.sensitivity, frozenset(), apart, whom)

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        return Picture("records that one change takes", [("semi-adjacency", self.semi_adjacency.worst_case)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        found = asdict(self)
        del found["semi_adjacency"]["searched"]
        found["labelled"]["evidence"] = [evidence_report(reason) for reason in self.evidence]
        found["warnings"] = list(self.warnings)
        return found


@dataclass(frozen=True)
class UniverseReports(NotebookReport):
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

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        tables = [(name, one.semi_adjacency.worst_case) for name, one in self.tables.items()]
        return Picture("records that one change takes", [*tables, ("all together", self.semi_adjacency)])

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


def universe(
    spec: Spec | TablesSpec | FilesSpec | str | Path, data: Any = None
) -> UniverseReport | UniverseReports:
    """Return what the invariants of a spec leave to protect; of several tables, of all together, too.

    >>> hf.audit.universe(spec, people).to_dict()["dimension"]
    2
    """
    asked = read_any_spec(spec) if isinstance(spec, str | Path) else spec
    if isinstance(asked, Spec):
        return _report(*published(asked, data))
    if isinstance(asked, FilesSpec):
        return _of_files(asked, data)
    spec = asked
    found = {name: published(one, data) for name, one in zip(spec.names, spec.specs, strict=True)}
    scope = JointPremises({name: public for name, (public, _) in found.items()}, "semi", None)
    tables = {name: _report(*one) for name, one in found.items()}
    try:
        return UniverseReports(tables, scope.semi_adjacency.worst_case, scope.unit)
    except NothingLeftError:  # of all tables together
        return UniverseReports(tables, 0, Unit(scope.whom.unit, "semi", 0, scope.whom.records))


def _of_files(spec: FilesSpec, data: Any) -> UniverseReports:
    """Return what is left to protect of each of several files: nobody's change takes records of two."""
    given = data if isinstance(data, Mapping) else {}
    tables = {
        name: _report(*published(one, given.get(name)))
        for name, one in zip(spec.names, spec.specs, strict=True)
    }
    most = max(one.semi_adjacency.worst_case for one in tables.values())
    first = spec.specs[0].privacy.whom
    names = " or ".join(dict.fromkeys(one.privacy.unit for one in spec.specs))
    return UniverseReports(tables, most, Unit(names, "semi", most, first.records, first.neighbours))


def _report(public: Public, warnings: tuple[str, ...]) -> UniverseReport:
    premises = public.premises("semi")
    here = premises.universe
    return UniverseReport(
        cells=here.cells,
        invariants=here.rank,
        dimension=here.dimension,
        blocks=len(here.components),
        totally_unimodular=is_totally_unimodular(here.matrix),
        semi_adjacency=premises.semi_adjacency,
        labelled=people_of(premises),
        sensitivity=premises.sensitivity,
        unit=premises.whom.unit,
        records_per_unit=premises.whom.records,
        distance=premises.unit.distance,
        neighbours=premises.whom.neighbours,
        warnings=warnings,
    )


def people_of(premises: Premises) -> Labelled:
    """Return how far apart files of people are; of records that come and go, no more than tables."""
    semi = premises.semi_adjacency
    if premises.whom.presence:
        return Labelled(semi.worst_case, semi.exact, semi.reference, None, None)
    return labelled(premises.universe, semi)


@dataclass(frozen=True)
class Exposed:
    """A cell, and what the invariants say of its count; ``high`` is None where it has no upper end."""

    cell: dict[str, str]
    low: int
    high: int | None


@dataclass(frozen=True)
class ExposureReport(NotebookReport):
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
    side: SideInformation | None = None
    """What somebody's own knowledge changes, if it was asked about: cells are those that remain to them."""

    @property
    def known(self) -> str:
        """What reveals the cells."""
        alone = "The invariants and inequalities" if self.bounded else "The invariants alone"
        return alone if self.side is None else "The invariants and what is known beside them"

    @property
    def people_exposed(self) -> int:
        """The records in cells that are determined."""
        return sum(cell.low for cell in self.determined)

    @property
    def nearly_revealed(self) -> tuple[Exposed, ...]:
        """The cells with two possible counts."""
        return tuple(cell for cell in self.open if cell.high == cell.low + 1)

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        return Picture(
            "what the count of a cell can be",
            ranges=[
                (", ".join(one.cell.values()), one.low, inf if one.high is None else one.high)
                for one in (*self.determined, *self.open)
            ],
        )

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
            **({} if self.side is None else {"known": self.side.to_dict()}),
        }


def exposure(spec: Spec | str | Path, data: Any = None, *, known: str | Path | None = None) -> ExposureReport:
    """Return the determined cells with their counts, and the interval of every other cell.

    ``known`` is a CSV file of what somebody knows beside the invariants: a row for each record, or for each
    selection of cells with its count, 0 for what is absent.

    >>> hf.audit.exposure(spec, people).to_dict()["people_exposed"]
    0
    """
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    with about(spec.file):
        reading = read_table(spec, data)
        public = publish(spec, reading.table, reading.inferred)
    schema, found, side = public.schema, exposure_of(public.universe), None
    if known is not None:
        path = Path(known)
        knowledge = Knowledge.read(path, schema, public.count)
        knowledge.require_true(reading.table.counts, path)
        here = knowledge.narrowed(public)
        left = exposure_of(here)
        side = side_information(public, spec.privacy, knowledge, here, (found, left))
        found = left.beside(knowledge.records[public.possible])

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
        warnings=reading.warnings,
        bounded=public.universe.narrowed,
        side=side,
    )
