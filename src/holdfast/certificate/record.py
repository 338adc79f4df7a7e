"""The certificate as a value: what was kept, what is protected, how strongly, and why that is true.

It holds nothing that depends on the confidential table beyond the invariants: the released counts stand
in the table's own file, which the certificate names by its hash.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Any

from holdfast.errors import ReleaseError
from holdfast.mechanisms.accuracy import Accuracy, Expected
from holdfast.mechanisms.protocol import Mechanism
from holdfast.privacy.conversion import gdp_to_epsilon, zcdp_to_epsilon
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import (
    Approximate,
    Functional,
    GaussianDP,
    Intensity,
    Pure,
    ZeroConcentrated,
)
from holdfast.privacy.ledger.entry import Row
from holdfast.setting import Setting
from holdfast.spec.model import Spec
from holdfast.version import VERSION

FORMAT = "holdfast-certificate/1"
SMALL_DELTA = 1e-10


@dataclass(frozen=True)
class Certificate:
    """A frozen record; ``content`` is what `certificate.json` says, without file hashes and digest."""

    content: Mapping[str, Any]

    def sealed(self, files: Mapping[str, str], row: Row | None = None) -> str:
        """Return the JSON text with the hashes of the files, the ledger's row, and a digest of the whole."""
        ledger = None if row is None else {"row": row.index, "hash": row.hash}
        body = {**self.content, "ledger": ledger, "files": dict(files)}
        return json.dumps({**body, "digest": digest(body)}, indent=2, ensure_ascii=False) + "\n"


def digest(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record in a canonical form."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def certify(
    spec: Spec,
    setting: Setting,
    mechanism: Mechanism,
    accuracy: Accuracy | None,
    *,
    secure: bool,
) -> Certificate:
    """Record a release of a mechanism in its setting."""
    universe, guarantee = setting.universe, mechanism.guarantee
    adjacency, sensitivity = mechanism.premises.adjacency, mechanism.premises.sensitivity
    return Certificate(
        {
            "format": FORMAT,
            "software": {"name": "holdfast", "version": VERSION},
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "table": {"count": _count_column(spec), "schema": setting.schema.to_dict()},
            "invariants": [
                {**block.to_dict(), "values": value.tolist()}
                for block, value in zip(setting.invariants, setting.values, strict=True)
            ],
            "universe": {
                "cells": universe.cells,
                "invariants": universe.rank,
                "dimension": universe.dimension,
                "records": universe.total,
                "semi_adjacency": {
                    "worst_case": adjacency.worst_case,
                    "literal": adjacency.literal,
                    "exact": adjacency.exact,
                },
                "sensitivity": {
                    "l1": sensitivity.l1,
                    "l2_squared": sensitivity.l2_squared,
                    "linf": sensitivity.linf,
                    "exact": sensitivity.exact,
                },
            },
            "mechanism": {
                "name": mechanism.name,
                **mechanism.parameters,
                "additive": mechanism.noise is not None,
                "sampling": list(mechanism.methods),
            },
            "target": _target(spec),
            "guarantee": guarantee_content(guarantee),
            "randomness": {
                "source": "operating system" if secure else "seeded",
                "secure": secure,
            },
            "expected_error": None if accuracy is None else _accuracy(accuracy),
            "caveats": _caveats(setting, secure=secure, additive=mechanism.noise is not None),
        }
    )


def read_certificate(text: str, place: str) -> dict[str, Any]:
    """Parse a sealed certificate; raises ReleaseError where it is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{place} is not JSON ({error}): restore it from the release.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ReleaseError(f"{place} is not a certificate of the form {FORMAT}: restore it from the release.")
    return content


def _count_column(spec: Spec) -> str:
    """Return the name of the released counts' column; records have none of their own."""
    name = spec.data.count or "count"
    while name in spec.data.cells:
        name = f"released_{name}"
    return name


def _target(spec: Spec) -> dict[str, Any]:
    asked = spec.privacy
    return {
        "unit": asked.unit,
        "adjacency": asked.adjacency,
        "standard": asked.standard,
        "epsilon": None if asked.epsilon is None else str(asked.epsilon),
        **{
            name: str(value) for name in ("delta", "rho", "mu") if (value := getattr(asked, name)) is not None
        },
    }


def guarantee_content(guarantee: Guarantee) -> dict[str, Any]:
    """Return what is written of a guarantee."""
    return {
        "statement": guarantee.statement,
        "domain": guarantee.domain,
        "scope": {
            "invariants": list(guarantee.scope.invariants),
            "constraints": list(guarantee.scope.constraints),
            "digest": guarantee.scope.digest,
        },
        "unit": asdict(guarantee.unit),
        "standard": guarantee.intensity.standard,
        "intensity": {name: str(value) for name, value in guarantee.intensity.parameters().items()},
        "epsilon_at": _epsilon_at(guarantee.intensity),
        "evidence": [{"kind": item.kind, **asdict(item)} for item in guarantee.evidence],
    }


def _epsilon_at(intensity: Intensity) -> dict[str, Any] | None:
    """Return an epsilon at a small delta, for readers of other standards than pure and approximate."""
    match intensity:
        case Pure() | Approximate():
            return None
        case ZeroConcentrated(rho):
            epsilon = zcdp_to_epsilon(rho=float(rho), delta=SMALL_DELTA).value
        case GaussianDP(mu):
            epsilon = gdp_to_epsilon(mu=float(mu), delta=SMALL_DELTA).value
        case Functional(f):
            epsilon = f.epsilon_at(SMALL_DELTA)
    return {"delta": f"{SMALL_DELTA:g}", "epsilon": ceil(epsilon * 10**6) / 10**6}


def _accuracy(accuracy: Accuracy) -> dict[str, Any]:
    def row(expected: Expected) -> dict[str, Any]:
        return {
            "attributes": list(expected.attributes),
            "mean_absolute_error": round(expected.error, 4),
            "standard_error": round(expected.standard_error, 4),
            "exact": expected.exact,
        }

    return {
        "method": f"simulated from the noise law alone, {accuracy.draws} draws",
        "cell": row(accuracy.cell),
        "margins": [row(margin) for margin in accuracy.margins],
        "noise": {
            "first": accuracy.first,
            "width": accuracy.width,
            "shares": [round(s, 6) for s in accuracy.shares.tolist()],
        },
    }


def _caveats(setting: Setting, *, secure: bool, additive: bool) -> list[str]:
    caveats = []
    if not secure:
        caveats.append(
            "This release was drawn from a seeded generator. Whoever knows the seed can take the noise"
            " off again: it protects nobody and is for tests and studies only."
        )
    if not additive:
        caveats.append(
            "The law of this release keeps it within inequalities, such as counts of at least 0. Small counts"
            " come out too large on average, and by how much depends on the confidential table: no error is"
            " stated."
        )
    if setting.inferred:
        names = ", ".join(setting.inferred)
        caveats.append(
            f"The levels of {names} were taken from the data, so the list of levels is published as it"
            " is. Declare them in the spec to leave the data out of it."
        )
    caveats.append(
        "The invariants are published exactly. What they reveal by themselves, alone or with other"
        " sources, is outside of the guarantee."
    )
    return caveats
