"""How far a secret moves the data, given what is public: Delta_z of a class of laws."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from holdfast.errors import GuaranteeError, SpecError
from holdfast.privacy.intensity import Pure
from holdfast.privacy.pufferfish.families.family import Family
from holdfast.privacy.pufferfish.guarantee import TPGuarantee
from holdfast.privacy.pufferfish.models import read_models
from holdfast.privacy.pufferfish.semantics import Semantics, semantics


@dataclass(frozen=True)
class DeltaZReport:
    """A class of laws, its Delta_z, and what epsilon-TP for it would say."""

    model: Family
    guarantee: TPGuarantee | None
    semantics: Semantics | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        delta = self.model.delta.to_dict()
        told: dict[str, Any] = {
            "delta_z": delta["value"],
            "exact": delta["exact"],
            "evidence": delta["evidence"],
            "framework": self.model.framework.to_dict(),
            "details": self.model.details,
        }
        if self.guarantee is not None and self.semantics is not None:
            told["statement"] = self.guarantee.statement
            told["semantics"] = self.semantics.to_dict()
        return told


@dataclass(frozen=True)
class DeltaZTable:
    """Delta_z of one family at several parameters, as in [partially-private-data, Figure 4]."""

    rows: tuple[tuple[dict[str, str], Family], ...]

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


def audit_delta_z(model: str | Path, epsilon: Fraction | None = None) -> DeltaZReport | DeltaZTable:
    """Return how far a secret moves the data under the laws of a model file.

    With an epsilon, also what epsilon-TP would say, and how far it lets a belief move.
    """
    models = read_models(model)
    if len(models) == 1:
        return _report(models[0], epsilon)
    if epsilon is not None:
        raise SpecError(f"{model} lists several classes of laws: leave out --epsilon, or list one.")
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
