"""Mechanisms compared for a spec: the same target, the same tables to be confused, simulated errors.

Only public values enter: the invariants of the confidential table, never its counts. Noise that does not
depend on the table is drawn by itself; where it does, a public table that is fitted to the invariants
stands in. Draws are seeded, as nothing is released.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.comparison.contenders import (
    CONTENDERS,
    Contender,
    Deviation,
    contend,
    deviation,
    require_known,
    simulated,
    usual,
)
from holdfast.comparison.terms import format_intensity
from holdfast.data.read import read_table
from holdfast.laws import calibrated, stated_model
from holdfast.mechanisms.accuracy import Margin, Size, margins
from holdfast.mechanisms.catalogue import named_by, target_of
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Intensity
from holdfast.public import Public, publish
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.model import Spec
from holdfast.spec.privacy import RECORD, ProtectedUnit
from holdfast.system.errors import HoldfastError
from holdfast.system.progress import steps


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
class Comparison:
    """Mechanisms by L2, the smallest first; those that cannot be used come last."""

    target: Target
    intensity: Intensity
    distance: int
    rows: tuple[MechanismRow, ...]
    choice: str | None
    why: str
    whom: ProtectedUnit = RECORD

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
        }


def compare_tables(
    spec: Spec, names: Sequence[str] | None, *, data: Any, draws: int, seed: int
) -> Comparison:
    """Calibrate mechanisms to the target of a spec and simulate their errors: the usual ones by default."""
    names = usual(spec.mechanism.name) if names is None else names
    require_known(names, draws, CONTENDERS)
    kind, own = named_by(spec)
    reading = read_table(spec, data)
    public = publish(spec, reading.table, reading.inferred)
    target = target_of(calibrated(spec.privacy, stated_model(spec), public))
    intensity = target.intensity
    if intensity is None:  # what the parameter of the spec's own mechanism guarantees
        intensity = kind.answer(public, target, own).guarantee.intensity
        target = replace(target, intensity=intensity)
    of = margins(public.schema, public.universe)
    found = [
        _row(name, own, public, target, of, draws, seed) for name in steps(names, "comparing mechanisms")
    ]
    for row in [row for row in found if row.deviation is None and CONTENDERS[row.name].drawable]:
        options = CONTENDERS[row.name].Options(name=row.name, **CONTENDERS[row.name].drawable)
        drawn = _row(row.name, options, public, target, of, draws, seed)
        said = ", ".join(f'{key} = "{value}"' for key, value in CONTENDERS[row.name].drawable.items())
        found.append(replace(drawn, name=f"{row.name}, {said}"))
    wanted = f"keep every invariant, release whole numbers and meet {format_intensity(intensity)}"
    if public.nonnegative or public.inequalities:
        wanted += " without negative counts" if public.nonnegative else " within the inequalities"
    rows = tuple(sorted(found, key=lambda row: row.l2))
    distance = public.premises(target.adjacency, target.distance).unit.distance
    return Comparison(target, intensity, distance, rows, *_choice(rows, wanted), public.whom)


def _row(
    name: str,
    own: MechanismOptions,
    public: Public,
    target: Target,
    of: tuple[Margin, ...],
    draws: int,
    seed: int,
) -> MechanismRow:
    contender = None
    try:
        contender = contend(name, own, public, target)
        traits = contender.mechanism.traits
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
    if measured.draws < draws:
        notes.append(f"{measured.draws:,} draws only, as each takes long")
    against = " and ".join(words for words, so in lacks.items() if so)
    return MechanismRow(name, contender, measured, against, "; ".join(notes))


def _choice(rows: Iterable[MechanismRow], wanted: str) -> tuple[str | None, str]:
    """Return the smallest L2 of what may be released for the target, and the reason in a sentence or two."""
    usable = [row for row in rows if row.deviation is not None]
    fit = [row for row in usable if not row.lacks]
    if not fit:
        return None, f"none of these mechanisms can {wanted}."
    best, others = fit[0], [row for row in fit[1:] if row.l2 > fit[0].l2]
    why = f"{best.name} has the smallest L2, {best.l2:.4g}, of those that {wanted}"
    if others:
        why += f"; {others[0].name} is next with {others[0].l2:.4g}"
        why += ", which is no clear difference" if _close(best, others[0]) else ""
    smaller = "; ".join(f"{row.name} is smaller but {row.lacks}" for row in usable if row.l2 < best.l2)
    return best.name, f"{why}. {smaller}." if smaller else f"{why}."


def _close(one: MechanismRow, other: MechanismRow) -> bool:
    """Whether two are within two standard errors of each other."""
    if one.deviation is None or other.deviation is None:
        return False
    spread = np.hypot(one.deviation.l2.standard_error, other.deviation.l2.standard_error)
    return bool(abs(one.l2 - other.l2) <= 2 * spread)


def rounded(value: float) -> float:
    """Return a number for machines, in six digits."""
    return float(f"{value:.6g}")


def _margin(size: Size) -> dict[str, Any]:
    return {
        "error": rounded(size.value),
        "standard_error": rounded(size.standard_error),
        "exact": size.exact,
    }
