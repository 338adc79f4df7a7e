"""How far a secret moves the data, given what is public: Delta_z of a class of laws."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from holdfast.privacy.evidence import evidence_report
from holdfast.privacy.intensity import Pure
from holdfast.privacy.pufferfish.framework import Family
from holdfast.privacy.pufferfish.guarantee import Semantics, TPGuarantee, semantics
from holdfast.privacy.pufferfish.models import read_models
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.system.notebook import NotebookReport, Picture
from holdfast.system.ways import option


def _size(model: Family) -> float:
    return inf if model.delta.value is None else float(model.delta.value)


@dataclass(frozen=True)
class DeltaZReport(NotebookReport):
    """A class of laws, its Delta_z, and what epsilon-TP for it would say."""

    model: Family
    guarantee: TPGuarantee | None
    semantics: Semantics | None

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        return Picture("how far a secret moves the data", [("Delta_z", _size(self.model))])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        delta = self.model.delta
        said: dict[str, Any] = {
            "delta_z": delta.to_dict()["value"],
            "exact": delta.exact,
            "evidence": [evidence_report(one) for one in delta.evidence],
            "framework": self.model.framework.told(),
            "details": self.model.details,
        }
        if self.guarantee is not None and self.semantics is not None:
            said["statement"] = self.guarantee.statement
            said["semantics"] = self.semantics.to_dict()
        return said


@dataclass(frozen=True)
class DeltaZTable(NotebookReport):
    """Delta_z of one family at several parameters, as in [partially-private-data, Figure 4]."""

    rows: tuple[tuple[dict[str, str], Family], ...]

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        rows = [(", ".join(f"{k} {v}" for k, v in row.items()), one) for row, one in self.rows]
        return Picture("how far a secret moves the data", [(name, _size(one)) for name, one in rows])

    def to_dict(self) -> dict[str, Any]:
        """Return a row for each combination of parameters."""
        return {
            "family": self.rows[0][1].framework.laws.data["family"],
            "rows": [
                {**parameters, "delta_z": value["value"], "exact": value["exact"]}
                for parameters, family in self.rows
                for value in [family.delta.to_dict()]
            ],
        }


def delta_z(model: str | Path, epsilon: Fraction | None = None) -> DeltaZReport | DeltaZTable:
    r"""Return how far a secret moves the data under the laws of a model file.

    With an epsilon, also what epsilon-TP would say, and how far it lets a belief move.

    >>> from pathlib import Path
    >>> model = '[model]\nfamily = "dependent-counts"\nn = 50\nz0 = "1/10"\nz1 = "9/10"\n'
    >>> _ = Path("model.toml").write_text(model)
    >>> hf.audit.delta_z("model.toml").to_dict()["delta_z"]
    '41'
    """
    models = read_models(model)
    if len(models) == 1:
        return _report(models[0], epsilon)
    if epsilon is not None:
        raise SpecError(f"{model} lists several classes of laws: leave out {option('epsilon')}, or list one.")
    return _table(models, model)


def _report(model: Family, epsilon: Fraction | None) -> DeltaZReport:
    delta = model.delta
    if epsilon is None:
        return DeltaZReport(model, None, None)
    guarantee = TPGuarantee(model.framework, Pure(epsilon), delta.evidence, delta, pointwise=True)
    return DeltaZReport(model, guarantee, semantics(guarantee))


def _table(models: Sequence[Family], path: str | Path) -> DeltaZTable:
    if not models:
        raise GuaranteeError(f"{path} lists no combination with z0 <= z1: correct the lists.")
    rows = []
    for model in models:
        data = model.framework.laws.data
        rows.append(({name: str(data[name]) for name in data if name != "family"}, model))
    return DeltaZTable(tuple(rows))
