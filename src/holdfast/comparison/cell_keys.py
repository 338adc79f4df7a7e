"""A cell-key table beside lattice noise that moves no count farther [theory, 17; theory, 18].

Both are told at the same epsilon, with the delta that each has beside it, and with how far counts are off.
The lattice noise has the largest change of the table as its bound, and about its standard deviation. Two
things differ, and are said: a cell key's delta is of *one* published count, and a record is in several of
them, while that of the lattice is of the whole table; and cell keys perturb margins by themselves, so that
they do not add up, while the lattice keeps them.

What the cell keys do depends on the counts. They are tried on an invented table, made of the shape of the
cells alone: nothing confidential enters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.comparison.contenders import CONTENDERS, deviation, simulated
from holdfast.comparison.habits import invented
from holdfast.data.perturbation import PerturbationTable, read_perturbation
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.errors.accuracy import Margin
from holdfast.mechanisms.mechanism import premises_for
from holdfast.privacy.guarantee import Target, Unit
from holdfast.privacy.intensity import Approximate, Pure
from holdfast.privacy.keyed_counts import keyed_loss, neighbours, variance
from holdfast.public import Public
from holdfast.system.errors import HoldfastError

EPSILON = Fraction(1)
"""Where the target of a spec states none."""
STRENGTHS: Mapping[str, Callable[[float], Mapping[str, Any]]] = {
    "lattice-gaussian": lambda width: {"sigma_squared": _six_digits(width**2)},
    "lattice-laplace": lambda width: {"kappa": _six_digits(sqrt(2) / width), "norm": "l1"},
}
"""What a record says of how strong noise is, by the standard deviation of one free cell."""


def _six_digits(value: float) -> Fraction:
    return Fraction(f"{value:.6g}")


@dataclass(frozen=True)
class KeyedRow:
    """One of the two kinds: delta at the epsilon, errors, and why there are none."""

    name: str
    largest_change: int
    delta: float | None
    cell: float | None
    margins: Mapping[str, float]
    adds_up: bool
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {**vars(self), "margins": dict(self.margins)}


@dataclass(frozen=True)
class KeyedComparison:
    """A cell-key table beside lattice noise of the same largest change, at one epsilon."""

    epsilon: Fraction
    counts_of_one: int
    """Published counts that one record is in: its cell, and all margins of that."""
    rows: tuple[KeyedRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "epsilon": str(self.epsilon),
            "counts_of_one_record": self.counts_of_one,
            "rows": [row.to_dict() for row in self.rows],
        }


def beside_cell_keys(
    path: str | Path, public: Public, target: Target, of: Sequence[Margin], draws: int, seed: int
) -> KeyedComparison:
    """Put a cell-key table beside lattice noise of its largest change, at the epsilon of a target."""
    table, asked = read_perturbation(Path(path)), target.intensity
    epsilon = asked.epsilon if isinstance(asked, Pure | Approximate) else EPSILON
    bound = max(abs(change) for law in table.laws for change in law)
    width = sqrt(max(float(variance(law)) for law in table.laws))
    rows = [_keyed(table, bound, epsilon, public, of)]
    if bound and width:
        at = KeyedLattice(bound, width, epsilon, public, premises_for(public, target).unit)
        rows += [at.row(name, of, draws, seed) for name in STRENGTHS]
    return KeyedComparison(epsilon, 2 ** len(public.schema.names), tuple(rows))


def _keyed(
    table: PerturbationTable, bound: int, epsilon: Fraction, public: Public, of: Sequence[Margin]
) -> KeyedRow:
    """Return what the keys do to an invented table: exact means over the law of each count."""
    counts = invented(public)
    margins = {each.name: _mean_change(table, np.asarray(each.rows @ counts)) for each in of}
    note = "its delta is of one published count"
    if all(len(law) == 1 for law in table.laws):
        note += "; it is deterministic"
    delta = keyed_loss(neighbours(table), epsilon).delta
    return KeyedRow("cell-key", bound, delta, _mean_change(table, counts), margins, adds_up=False, note=note)


def _mean_change(table: PerturbationTable, counts: IntArray) -> float:
    values, number = np.unique(counts, return_counts=True)
    means = [
        float(sum((abs(change) * p for change, p in table.law(n).items()), Fraction(0)))
        for n in values.tolist()
    ]
    return float(np.average(means, weights=number)) if values.size else 0.0


@dataclass(frozen=True, eq=False)
class KeyedLattice:
    """Noise on the lattice within a bound, of about the width that a cell-key table has."""

    bound: int
    width: float
    epsilon: Fraction
    public: Public
    unit: Unit

    def row(self, name: str, of: Sequence[Margin], draws: int, seed: int) -> KeyedRow:
        """Return the row of a mechanism, whose noise is simulated."""
        label = f"{name}, bound = {self.bound}"
        try:
            mechanism = self._mechanism(name)
            found = deviation(simulated(mechanism, self.public, draws, seed), of, keeps_invariants=True)
            delta = mechanism.guarantee.intensity.parameters()["delta"]
        except HoldfastError as error:
            reason = " ".join(str(error).split())
            return KeyedRow(label, self.bound, None, None, {}, adds_up=True, note=f"cannot be used: {reason}")
        errors = {each: size.value for each, size in found.margins.items()}
        note = f"its delta is of the whole table; a standard deviation of about {self.width:.3g}"
        return KeyedRow(label, self.bound, float(delta), found.cell.value, errors, adds_up=True, note=note)

    def _mechanism(self, name: str) -> AnyMechanism:
        """Return the mechanism of a record with that strength, as a certificate would have it."""
        kind, strength = CONTENDERS[name], STRENGTHS[name](self.width)
        cut = {"bound": self.bound, "at_epsilon": self.epsilon}
        record = kind.Record.model_validate(
            {"name": name, "additive": True, "sampling": (), **strength, **cut}
        )
        return kind.of(record, self.public, self.unit)
