"""Mechanisms compared for a spec: the same target, the same tables to be confused, simulated errors.

Only public values enter: the invariants of the confidential table, never its counts. Noise that does not
depend on the table is drawn by itself; where it does, a public table that is fitted to the invariants
stands in. Draws are seeded, as nothing is released.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.comparison.cell_keys import KeyedComparison, beside_cell_keys
from holdfast.comparison.contenders import (
    CONTENDERS,
    Contender,
    Deviation,
    contend,
    deviation,
    estimated,
    otherwise,
    require_known,
    simulated,
    usual,
)
from holdfast.comparison.terms import format_intensity
from holdfast.data.read import read_table
from holdfast.laws import calibrated, stated_model
from holdfast.mechanisms.catalogue import named_by, target_of
from holdfast.mechanisms.errors.accuracy import Margin, Size, margins
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Intensity
from holdfast.public import Public, publish
from holdfast.releases.table import with_budget
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.model import Spec
from holdfast.spec.privacy import RECORD, ProtectedUnit
from holdfast.system.errors import HoldfastError
from holdfast.system.notebook import NotebookReport, Picture
from holdfast.system.progress import steps
from holdfast.system.text import counted

LEAST = 1e-9
"""Stands for no error in a geometric mean."""


@dataclass(frozen=True, eq=False)
class MechanismRow:
    """One mechanism: what it guarantees and how large its errors are, or why it cannot be used.

    ``lacks`` says why it is not to be chosen, and is empty where nothing speaks against it.
    """

    name: str
    contender: Contender | None
    deviation: Deviation | None
    lacks: str
    note: str

    @property
    def l2(self) -> float:
        """The root of the expected squared error; infinite where there is none."""
        return np.inf if self.deviation is None else self.deviation.l2.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        found: dict[str, Any] = dict.fromkeys(
            ("standard", "intensity", "converted", "keeps_invariants", "integer", "exact")
        )
        if self.contender is not None:
            traits, intensity = self.contender.mechanism.traits, self.contender.mechanism.guarantee.intensity
            found = {
                "standard": intensity.standard,
                "intensity": {name: str(value) for name, value in intensity.parameters().items()},
                "converted": self.contender.converted,
                "keeps_invariants": traits.keeps_invariants,
                "integer": traits.whole,
                "exact": traits.whole,
            }
        return {"mechanism": self.name, **found, **self._sizes(), "lacks": self.lacks, "note": self.note}

    def _sizes(self) -> dict[str, Any]:
        if self.deviation is None:
            empty = ("l1", "l2", "max", "cell", "margins", "standard_error", "draws")
            return dict.fromkeys(empty)
        sizes = {
            "l1": self.deviation.l1,
            "l2": self.deviation.l2,
            "max": self.deviation.largest,
            "cell": self.deviation.cell,
        }
        return {
            **{name: rounded(size.value) for name, size in sizes.items()},
            "margins": {name: _margin(size) for name, size in self.deviation.margins.items()},
            "standard_error": {name: rounded(size.standard_error) for name, size in sizes.items()},
            "draws": self.deviation.draws,
        }


@dataclass(frozen=True, eq=False)
class Comparison(NotebookReport):
    """Mechanisms by L2, the smallest first; those that cannot be used come last.

    >>> hf.compare(spec, ["lattice-laplace"], data=people, draws=50).to_dict()["choice"]
    'lattice-laplace'
    """

    target: Target
    intensity: Intensity
    distance: int
    rows: tuple[MechanismRow, ...]
    choice: str | None
    why: str
    whom: ProtectedUnit = RECORD
    cell_keys: KeyedComparison | None = None
    """A cell-key table beside lattice noise, where one was given."""

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        errors = [(row.name, row.deviation.cell.value) for row in self.rows if row.deviation is not None]
        return Picture("a cell is off by, mean absolute", errors)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "target": {
                "standard": self.intensity.standard,
                **{name: str(value) for name, value in self.intensity.parameters().items()},
                "adjacency": self.target.adjacency,
                "records": self.distance,
            },
            "rows": [row.to_dict() for row in self.rows],
            "choice": self.choice,
            "why": self.why,
            **({} if self.cell_keys is None else {"cell_keys": self.cell_keys.to_dict()}),
        }


def compare_tables(
    spec: Spec,
    names: Sequence[str] | None,
    *,
    data: Any,
    draws: int,
    seed: int,
    cell_key: str | Path | None = None,
) -> Comparison:
    """Calibrate mechanisms to the target of a spec and simulate their errors: the usual ones by default."""
    require_known(usual(spec.mechanism.name) if names is None else names, draws, CONTENDERS)
    kind, own = named_by(spec)
    reading = read_table(spec, data)
    public = publish(spec, reading.table, reading.inferred)
    names = usual(spec.mechanism.name, geography=bool(public.geography)) if names is None else names
    privacy, _, made = with_budget(spec, calibrated(spec.privacy, stated_model(spec), public), public)
    target = target_of(privacy)
    intensity = target.intensity
    if intensity is None:  # what the parameter of the spec's own mechanism guarantees
        intensity = kind.answer(public, target, own).guarantee.intensity
        target = replace(target, intensity=intensity)
    of = margins(public.schema, public.universe)
    moved = any(not margin.determined for margin in of if len(margin.attributes) < len(public.schema.names))
    found = []
    for name in steps(names, "comparing mechanisms"):
        given = Contender(made) if made is not None and made.name == name else None
        row = _row(name, own, public, target, of, draws, seed, given)
        found.append(row)
        for said, options in otherwise(name, own, public, drawn=row.deviation is not None, shaped=moved):
            other = _row(name, options, public, target, of, draws, seed)
            if other.deviation is not None or not getattr(options, "optimise_for", ()):
                found.append(replace(other, name=f"{name}, {said}"))
    wanted = f"keep every invariant, release whole numbers and meet {format_intensity(intensity)}"
    if public.nonnegative or public.inequalities:
        wanted += " without negative counts" if public.nonnegative else " within the inequalities"
    rows = tuple(sorted(found, key=lambda row: row.l2))
    distance = public.premises(target.adjacency, target.distance).unit.distance
    keyed = None if cell_key is None else beside_cell_keys(cell_key, public, target, of, draws, seed)
    return Comparison(target, intensity, distance, rows, *_choice(rows, wanted), public.whom, keyed)


def _row(
    name: str,
    own: MechanismOptions,
    public: Public,
    target: Target,
    of: tuple[Margin, ...],
    draws: int,
    seed: int,
    contender: Contender | None = None,
) -> MechanismRow:
    try:
        contender = contender or contend(name, own, public, target)
        traits = contender.mechanism.traits
        if contender.mechanism.estimated:
            measured = estimated(contender.mechanism, public, of)
        else:
            exactly = traits.keeps_invariants and traits.whole  # floats keep them up to rounding
            sample = simulated(contender.mechanism, public, draws, seed)
            measured = deviation(sample, of, keeps_invariants=exactly)
    except HoldfastError as error:
        reason = " ".join(str(error).split())
        return MechanismRow(name, contender, None, "cannot be used", f"cannot be used: {reason}")
    lacks = {
        "keeps no invariant": not traits.keeps_invariants,
        "is not whole": not traits.whole,
        "meets a weaker target": not contender.meets(target),
        "may go below zero": public.nonnegative and not traits.nonnegative,
        "may break inequalities": bool(public.inequalities) and not contender.mechanism.bounded,
    }
    notes = [remark for remark in (contender.mechanism.remark,) if remark]
    if contender.mechanism.estimated:
        notes.append("errors of its best linear estimates: its table has no count below zero, and is biased")
    elif measured.draws < draws:
        notes.append(f"{measured.draws:,} draws only, as each takes long")
    against = " and ".join(words for words, so in lacks.items() if so)
    return MechanismRow(name, contender, measured, against, "; ".join(notes))


def _choice(rows: Iterable[MechanismRow], wanted: str) -> tuple[str | None, str]:
    """Return what may be released for the target with the smallest error, and the reason.

    The error is the geometric mean over cells and all margins that noise moves in what may be released: each
    kind of count weighs alike, whether large or small, so that halving one is worth doubling another.
    """
    usable = [row for row in rows if row.deviation is not None]
    fit = [row for row in usable if not row.lacks]
    if not fit:
        return None, f"none of these mechanisms can {wanted}."
    moved = [name for name in _margins_of(fit[0]) if not any(_margins_of(row)[name].exact for row in fit)]
    error = {row.name: _error(row, moved) for row in usable}
    fit.sort(key=lambda row: error[row.name].value)
    best, others = fit[0], [row for row in fit if error[row.name].value > error[fit[0].name].value]
    least = error[best.name]
    over = f"cells and {counted(len(moved), 'margin')}, in the geometric mean" if moved else "a cell"
    why = f"{best.name} has the smallest error of {over}, {least.value:.4g}, of those that {wanted}"
    if others:
        other = error[others[0].name]
        why += f"; {others[0].name} is next with {other.value:.4g}"
        near = other.value - least.value <= 2 * np.hypot(least.standard_error, other.standard_error)
        why += ", which is no clear difference" if near else ""
    smaller = "; ".join(
        f"{row.name} is smaller but {row.lacks}" for row in usable if error[row.name].value < least.value
    )
    return best.name, f"{why}. {smaller}." if smaller else f"{why}."


def _margins_of(row: MechanismRow) -> Mapping[str, Size]:
    return {} if row.deviation is None else row.deviation.margins


def _error(row: MechanismRow, moved: Sequence[str]) -> Size:
    """Return the geometric mean of the errors of cells and some margins."""
    assert row.deviation is not None  # noqa: S101 - for types
    sizes = [row.deviation.cell, *(_margins_of(row)[name] for name in moved)]
    value = float(np.exp(np.mean([np.log(max(size.value, LEAST)) for size in sizes])))
    # at most: errors of one draw move together
    relative = np.mean([size.standard_error / max(size.value, LEAST) for size in sizes])
    return Size(value, value * float(relative))


def rounded(value: float) -> float | None:
    """Return a number for machines, in six digits; None where it is not known."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def _margin(size: Size) -> dict[str, Any]:
    return {
        "error": rounded(size.value),
        "standard_error": rounded(size.standard_error),
        "exact": size.exact,
    }
