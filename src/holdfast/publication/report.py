"""All that follows from published tables: one frozen report, from the files alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.bounds import ContradictionError
from holdfast.publication.conflicts import conflicts
from holdfast.publication.counting import TablesLeft, tables_left
from holdfast.publication.files import digest_of
from holdfast.publication.findings import Difference, GroupFact, differences, group_facts
from holdfast.publication.intervals import SumIntervals, intervals
from holdfast.publication.remedies import Remedy, remedies
from holdfast.publication.spec import PublicationSpec, read_publication_spec
from holdfast.publication.tables import Grouped, PublishedTables, read_publication
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.system.notebook import MOST_BARS, NotebookReport, Picture
from holdfast.system.progress import doing

FORMAT = "holdfast-publication/1"
GROUP = 5
"""People of a group that is small, where a spec does not say."""
REMEDIED, FEWEST, ENTRIES = 200, 20, 4_000_000
"""Findings for which remedies are looked for, those first that no table lists: fewer where systems are large,
so that they times the entries of the system stay within a limit."""


@dataclass(frozen=True)
class Cited:
    """A published number as a reader finds it."""

    path: str
    row: int | None
    levels: dict[str, str]
    value: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"path": self.path, "row": self.row, "levels": self.levels, "value": self.value}

    @property
    def words(self) -> str:
        """The number in words: the file, its row, its levels and what is printed."""
        levels = ", ".join(f"{name} {level}" for name, level in self.levels.items())
        row = "" if self.row is None else f", row {self.row}"
        return f"{self.path}{row} ({levels or 'all'}: {self.value or 'not listed'})"


@dataclass(frozen=True)
class Contradiction:
    """Published numbers that no table has together; ``smallest`` if no set of fewer numbers conflicts."""

    numbers: tuple[Cited, ...]
    smallest: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"numbers": [one.to_dict() for one in self.numbers], "smallest": self.smallest}


@dataclass(frozen=True)
class Undoing:
    """A table, or one number of it, and how many findings it would undo not to publish it.

    To round it to ``base`` would undo all of these as well; None where no base that was tried would.
    """

    table: int
    number: int | None
    words: str
    findings: int
    base: int | None = None


@dataclass(frozen=True, eq=False)
class PublicationReport(NotebookReport):
    """What published tables say together.

    Attributes:
        publication: the tables, as they were read.
        asked: the cells that are asked about.
        known: their intervals; empty where published numbers contradict each other.
        narrow: intervals narrower than this are told.
        groups: what is true of everyone in a small group.
        differences: pairs of numbers that differ by few people.
        contradictions: sets of numbers that no table has.
        tables_left: how many tables have all numbers.
        remedies: what would undo findings.

    """

    publication: PublishedTables
    asked: Grouped
    known: SumIntervals
    narrow: int
    groups: tuple[GroupFact, ...]
    differences: tuple[Difference, ...]
    contradictions: tuple[Contradiction, ...]
    tables_left: TablesLeft
    remedies: tuple[Remedy, ...]

    @cached_property
    def determined(self) -> IntArray:
        """The asked cells with one possible count."""
        return np.flatnonzero(self.known.low == self.known.high)

    @cached_property
    def printed(self) -> BoolArray:
        """Whether a table lists each asked cell as it is: its count need not be worked out."""
        numbers = self.publication.numbers
        exact = numbers.some(np.flatnonzero(numbers.low == numbers.high)).matrix
        marks = np.random.default_rng(0).integers(0, 2**62, self.publication.cells)  # sums tell sets apart
        asked = np.zeros(self.asked.count, dtype=np.int64)
        np.add.at(asked, self.asked.of_cell, marks)
        return np.isin(asked, exact @ marks)

    @cached_property
    def worked_out(self) -> IntArray:
        """The determined cells that no table lists as they are."""
        return self.determined[~self.printed[self.determined]]

    @cached_property
    def ordered(self) -> IntArray:
        """The determined cells, those first that no table lists."""
        return np.concatenate([self.worked_out, self.determined[self.printed[self.determined]]])

    @cached_property
    def near(self) -> IntArray:
        """The asked cells with several counts, but few, the narrowest first."""
        width = self.known.width
        found = np.flatnonzero((width > 0) & (width < self.narrow))
        return found[np.argsort(width[found], kind="stable")]

    def cited(self, number: int) -> Cited:
        """Return a published number as a reader finds it."""
        publication = self.publication
        file = publication.files[publication.table[number]]
        row = int(publication.row[number])
        if row < 0:
            return Cited(file.name, None, {}, "")
        return Cited(file.name, row + file.first_row, publication.named(number), publication.text(number))

    def cell(self, place: int) -> dict[str, Any]:
        """Return an asked cell with its interval."""
        high = int(self.known.high[place])
        return {
            "levels": self.asked.named(place),
            "least": int(self.known.low[place]),
            "largest": None if high == UNBOUNDED else high,
            "exact": bool(self.known.exact[place]),
        }

    def remedy(self, one: Remedy) -> dict[str, Any]:
        """Return a remedy: what is not to be published, or only rounded, and what is known without it."""
        drop = self.publication.files[one.table].name
        return {
            "cell": self.asked.named(one.cell),
            "drop": {"path": drop} if one.number is None else self.cited(one.number).to_dict(),
            "round": one.base,
            "least": one.least,
            "largest": one.largest,
        }

    def seen_from(self, folder: Path) -> "PublicationReport":
        """Return the same facts with paths that are relative to another folder."""
        return replace(self, publication=self.publication.seen_from(folder))

    @property
    def population(self) -> dict[str, Any]:
        """What was asked about, so that it can be asked again."""
        spec = self.publication.spec
        told = spec.population.model_dump(mode="json", exclude_defaults=True)
        nested = {
            name: {"path": path, "sha256": digest_of(spec.folder / path)}
            for name, path in spec.population.hierarchies.items()
        }
        return {
            **told,
            **({"hierarchies": nested} if nested else {}),
            "attributes": list(self.asked.attributes),
            "narrow": self.narrow,
            "cells": self.asked.count,
            "read": {name: one.how for name, one in self.publication.levels.items() if one.how},
        }

    @cached_property
    def undone(self) -> "tuple[Undoing, ...]":
        """What would undo findings, what undoes most of them first."""
        cells: dict[tuple[int, int | None], dict[int, int | None]] = {}
        for one in self.remedies:
            cells.setdefault((one.table, one.number), {})[one.cell] = one.base
        found = []
        for (table, number), each in cells.items():
            name = self.publication.files[table].name if number is None else self.cited(number).words
            bases = [base for base in each.values() if base is not None]
            base = max(bases) if len(bases) == len(each) else None
            found.append(Undoing(table, number, name, len(each), base))
        return tuple(sorted(found, key=lambda one: -one.findings))

    @property
    def anonymity(self) -> int | None:
        """The number of people in the smallest group about which something follows."""
        return min((group.least for group in self.groups), default=None)

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        places = (*self.ordered.tolist(), *self.near.tolist())
        cells = [self.cell(place) for place in places[: MOST_BARS + 1]]
        ends = [inf if one["largest"] is None else one["largest"] for one in cells]
        return Picture(
            "what the count of a cell can be",
            ranges=[
                (", ".join(one["levels"].values()), one["least"], end)
                for one, end in zip(cells, ends, strict=True)
            ],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        every = range(self.known.low.size)
        return {
            "format": FORMAT,
            "published": self.published(),
            "population": self.population,
            "cells": [self.cell(place) for place in every],
            "determined": [
                {**self.cell(place), "printed": bool(self.printed[place])}
                for place in self.determined.tolist()
            ],
            "narrow": [self.cell(place) for place in self.near.tolist()],
            "groups": [
                {"who": g.who, "follows": g.follows, "least": g.least, "largest": g.largest}
                for g in self.groups
            ],
            "anonymity": self.anonymity,
            "differences": [
                {
                    "larger": self.cited(one.larger).to_dict(),
                    "smaller": self.cited(one.smaller).to_dict(),
                    "least": one.least,
                    "largest": one.largest,
                }
                for one in self.differences
            ],
            "contradictions": [one.to_dict() for one in self.contradictions],
            "tables_left": self.tables_left.to_dict(),
            "remedies": [self.remedy(one) for one in self.remedies],
        }

    def published(self) -> list[dict[str, Any]]:
        """Return what was read: each file with its digest and its rule."""
        found = []
        for table, file in zip(self.publication.spec.published, self.publication.files, strict=True):
            told = table.model_dump(
                mode="json", exclude_defaults=True, exclude={"path", "attributes", "count", "rule"}
            )
            found.append(
                {
                    "path": table.path,
                    "sha256": file.sha256,
                    "attributes": list(file.attributes),
                    "count": file.count,
                    "rule": table.rule,
                    **told,
                }
            )
        return found


def audit(spec: PublicationSpec, *, remedied: bool = True) -> PublicationReport:
    """Return what the published tables of a spec say together."""
    with doing("reading the published tables"):
        publication = read_publication(spec)
    return audited(publication, remedied=remedied)


def audited(publication: PublishedTables, *, remedied: bool = True) -> PublicationReport:
    """Return what published tables that were read say together."""
    spec = publication.spec
    names = spec.population.attributes or publication.attributes
    asked = publication.grouped(names)
    single = asked.count == publication.cells
    narrow = spec.population.narrow
    try:
        with doing("looking for what follows"):
            known = intervals(publication.numbers, None if single else asked.matrix)
    except ContradictionError:
        return _contradicting(publication, asked, narrow)
    finer = known if single else intervals(publication.numbers)
    group = spec.population.group
    facts, largest = (names, GROUP) if group is None else ((group.facts,), group.largest)
    with doing("looking at groups and differences"):
        groups = group_facts(publication, asked, known, facts, largest)
        apart = differences(publication, largest)
    with doing("counting the tables that are left"):
        left = tables_left(publication.numbers, finer)
    report = PublicationReport(publication, asked, known, narrow, tuple(groups), tuple(apart), (), left, ())
    if not remedied:
        return report
    first, others = np.split(report.ordered, [report.worked_out.size])
    most = max(FEWEST, min(REMEDIED, ENTRIES // max(1, publication.numbers.matrix.nnz)))
    findings = np.concatenate([first, report.near, others])[:most]
    with doing("looking for what would undo the findings"):
        undone = remedies(publication, asked, findings, max(narrow, 1))
    return replace(report, remedies=tuple(undone))


def _contradicting(publication: PublishedTables, asked: Grouped, narrow: int) -> PublicationReport:
    """Return the report on numbers that no table has: which, and nothing else follows."""
    none = np.zeros(0, dtype=np.int64)
    known = SumIntervals(none, none, none.astype(np.bool_))
    report = PublicationReport(
        publication, asked, known, narrow, (), (), (), TablesLeft(0, 0, exact=True), ()
    )
    with doing("looking for the numbers that contradict each other"):
        found = tuple(
            Contradiction(tuple(report.cited(int(one)) for one in rows), smallest)
            for rows, smallest in conflicts(publication.numbers)
        )
    if not found:
        raise GuaranteeError("the solver contradicts itself on these tables: audit fewer of them together.")
    return replace(report, contradictions=found)


def audit_of(
    what: str | Path | PublicationSpec | Sequence[str | Path],
    rule: Mapping[str, Any] | None = None,
    *,
    remedied: bool = True,
) -> PublicationReport:
    """Return what published tables say together: those of a spec, or plain files of one rule."""
    return audit(spec_of(what, rule), remedied=remedied)


def file_of(what: str | Path | PublicationSpec | Sequence[str | Path]) -> str:
    """Return the file of the spec that was named, "" where none was."""
    if isinstance(what, PublicationSpec):
        return ""
    first = what if isinstance(what, str | Path) else next(iter(what), "")
    return str(first) if Path(first).suffix.lower() == ".toml" else ""


def spec_of(
    what: str | Path | PublicationSpec | Sequence[str | Path], rule: Mapping[str, Any] | None = None
) -> PublicationSpec:
    """Return the spec of published tables, however they were named."""
    if isinstance(what, PublicationSpec):
        return what
    paths = [what] if isinstance(what, str | Path) else list(what)
    specs = [path for path in paths if Path(path).suffix.lower() == ".toml"]
    if specs and len(paths) > 1:
        raise SpecError(f"{specs[0]} is a spec and names its tables itself: give it alone, or tables only.")
    if specs:
        if rule:
            raise SpecError(f"{specs[0]} is a spec and says the rule of each table: give no other one.")
        return read_publication_spec(specs[0])
    if not paths:
        raise SpecError("no published table is named: give a spec, or some files.")
    return PublicationSpec.of_files(paths, dict(rule or {}))
