"""What was found: each way to make tables coarser, what it loses, and the audit that is its evidence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from holdfast.certificate.write import cannot_write
from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.coarsening.recoding import Recoding
from holdfast.publication.coarsening.rounding import least_base
from holdfast.publication.coarsening.suppression import Suppression
from holdfast.publication.coarsening.truth import Truth, read_truth
from holdfast.publication.coarsening.writing import Coarser, recoded, rounded_tables, suppressed
from holdfast.publication.page import render
from holdfast.publication.place import FACTS
from holdfast.publication.report import PublicationReport, audit
from holdfast.publication.spec import PublicationSpec
from holdfast.publication.writing import facts_text
from holdfast.system.drafts import drafted, require_new
from holdfast.system.errors import DataError, GuaranteeError, SpecError
from holdfast.system.notebook import NotebookReport, Picture
from holdfast.system.progress import doing

FORMAT = "holdfast-coarsening/1"
METHODS = ("suppression", "recoding", "rounding")
PAGE = "audit.html"


@dataclass(frozen=True, eq=False, repr=False)
class Way:
    """One way to make tables coarser.

    Attributes:
        method: how.
        tables: the coarser tables; None where this way cannot reach what is asked.
        evidence: their audit, from the files alone.
        lost: what is lost, by name.
        files: what is written: the tables, their spec, and the audit as facts and as a page.
        cost: what was made least, and ``bound`` what no choice goes below.
        why: what keeps this way from reaching what is asked.

    """

    method: str
    tables: Coarser | None
    evidence: PublicationReport | None
    lost: Mapping[str, Any]
    files: Mapping[str, bytes] = field(default_factory=dict)
    cost: int = 0
    bound: int = 0
    why: str = ""

    @property
    def optimal(self) -> bool:
        """Whether nothing less is enough."""
        return self.tables is not None and self.cost == self.bound

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        found: dict[str, Any] = {"method": self.method, "reached": self.tables is not None}
        if self.tables is None or self.evidence is None:
            return {**found, "why": self.why}
        return {
            **found,
            "cost": self.cost,
            "bound": self.bound,
            "gap": self.cost - self.bound,
            "optimal": self.optimal,
            "lost": dict(self.lost),
            "tables": [one.model_dump(mode="json", exclude_defaults=True) for one in self.tables.tables],
            "determined": int(self.evidence.determined.size),
            "narrow": int(self.evidence.near.size),
        }


@dataclass(frozen=True, eq=False, repr=False)
class CoarseningReport(NotebookReport):
    """The least coarsening by each method that was asked for. It is for the curator alone."""

    truth: Truth
    ways: tuple[Way, ...]

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        found = [(way.method, float(way.cost)) for way in self.reached]
        return Picture("numbers or people hidden, levels lost, or the base", values=found)

    @cached_property
    def reached(self) -> tuple[Way, ...]:
        """The ways that reach what is asked."""
        return tuple(way for way in self.ways if way.tables is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "format": FORMAT,
            "asked": {
                "attributes": list(self.truth.asked.attributes),
                "cells": self.truth.asked.count,
                "protected": int(self.truth.protected.size),
                "narrow": self.truth.narrow,
            },
            "ways": [way.to_dict() for way in self.ways],
        }

    def write(self, folder: str | Path) -> list[Path]:
        """Write what each way makes of the tables to a new folder; several ways have a folder each."""
        target = require_new(folder)
        if len(self.ways) > 1:
            target.mkdir(exist_ok=True)
        for way in self.reached:
            place = target if len(self.ways) == 1 else target / way.method
            with drafted(place) as draft:
                with cannot_write(place):
                    for name, content in way.files.items():
                        draft.inside.write(name, content)
                    draft.seal()
                draft.publish()
        return sorted(path for path in target.rglob("*") if path.is_file())


def found_by(spec: PublicationSpec, method: str | None) -> CoarseningReport:
    """Return the least coarsening of the tables of a spec, by one method or by each."""
    with doing("reading the confidential tables"):
        truth = read_truth(spec)
    ways = []
    for one in METHODS if method is None else (method,):
        with doing(f"looking for the least {one}"):
            try:
                ways.append(_WAYS[one](truth))
            except (SpecError, DataError) as error:
                if method is not None:
                    raise
                ways.append(Way(one, None, None, {}, why=str(error).rstrip(".")))
    return CoarseningReport(truth, tuple(ways))


def _suppression(truth: Truth) -> Way:
    problem = Suppression.of(truth)
    choice = problem.solve()
    if choice.elements is None:
        return _unreached(
            "suppression",
            "cells stay narrow where all that may be is hidden: keep fewer tables as they are",
        )
    hidden = problem.hidden(choice.elements)
    numbers = truth.tables.numbers
    secondary = hidden & ~problem.primary
    lost = {
        "hidden": int((hidden & (truth.tables.row >= 0)).sum()),
        "by_the_rule": int((problem.primary & (truth.tables.row >= 0)).sum()),
        "with_them": int(secondary.sum()),
        "numbers": int((truth.tables.row >= 0).sum()),
        "people": int(numbers.low[hidden].sum()),
    }
    return _way(
        truth, "suppression", suppressed(truth, hidden, problem.primary), lost, choice.cost, choice.bound
    )


def _recoding(truth: Truth) -> Way:
    problem = Recoding.of(truth)
    choice = problem.solve()
    if choice.elements is None:
        return _unreached(
            "recoding", "cells stay narrow where each attribute is one level: recode others as well"
        )
    blocks = problem.blocks(choice.elements)
    lost = {
        "levels": {
            name: {"before": len(truth.tables.levels[name].leaves), "after": int(block.max(initial=-1)) + 1}
            for name, block in blocks.items()
        }
    }
    return _way(truth, "recoding", recoded(problem, choice.elements), lost, choice.cost, choice.bound)


def _rounding(truth: Truth) -> Way:
    base = least_base(truth)
    if base is None:
        tried = max(truth.spec.coarsen.bases)
        return _unreached("rounding", f"cells stay narrow by each base up to {tried}: name larger bases")
    told = truth.tables.numbers.low[truth.free & (truth.tables.row >= 0)]
    moved = np.abs(base * ((told + base // 2) // base) - told)
    lost = {"base": base, "mean_change": float(moved.mean()) if moved.size else 0.0}
    return _way(truth, "rounding", rounded_tables(truth, base), lost, base, base)


_WAYS = {"suppression": _suppression, "recoding": _recoding, "rounding": _rounding}


def _unreached(method: str, why: str) -> Way:
    return Way(method, None, None, {}, why=why)


def _way(truth: Truth, method: str, tables: Coarser, lost: Mapping[str, Any], cost: int, bound: int) -> Way:
    """Return a way with its evidence: an audit of its files, written and read again."""
    files = tables.files
    with TemporaryDirectory() as name:
        folder = Path(name)
        for one, content in files.items():
            (folder / one).write_bytes(content)
        evidence = audit(tables.spec(folder), remedied=False)
        files |= {FACTS: facts_text(evidence, folder).encode(), PAGE: render(evidence).encode()}
    if evidence.contradictions:
        raise GuaranteeError(
            f"the tables after {method} contradict each other: this is a fault of the program."
        )
    protected = [
        evidence.asked.named(place) for place in np.flatnonzero(evidence.known.width < truth.narrow).tolist()
    ]
    wanted = {tuple(truth.asked.named(int(place)).items()) for place in truth.protected}
    if any(tuple(one.items()) in wanted for one in protected):
        raise GuaranteeError(f"the tables after {method} are not as wide as was found: audit them.")
    width = evidence.known.width
    finite = width[width != UNBOUNDED]
    told = {
        "mean_width": float(finite.mean()) if finite.size else None,
        "without_end": int(width.size - finite.size),
        "exact": int((width == 0).sum()),
    }
    return Way(method, tables, evidence, {**lost, **told}, files, cost, bound)
