"""What is told of records whose values are exchanged: what moves, what stays exact, what that is worth."""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.certificate.page import strength_of
from holdfast.certificate.parts import RecordsPart
from holdfast.certificate.verdict import LEVELS
from holdfast.releases.prepare import plan
from holdfast.spec.model import Spec
from holdfast.studio.desk import Desk

WAIT = 0.3
MOST_LINES = 30


def key_of(desk: Desk, spec: Spec) -> tuple[Any, ...]:
    """Return what the plan of a file of records depends on."""
    asked = (spec.privacy, spec.mechanism, spec.invariants, spec.data)
    return (*desk.file_key(spec), repr(asked))


def told(desk: Desk, spec: Spec) -> Mapping[str, Any] | None:
    """Return what the plan says of a swap, by the certificate that it would have; None while it is made."""
    found = desk.soon(("swap", *key_of(desk, spec)), lambda: plan(spec), WAIT)
    if found is None:
        return None
    (part,) = found.parts.values()
    certificate = part.certificate
    assert certificate is not None  # noqa: S101 - that of records takes no simulation
    released = certificate.parts[0]
    assert isinstance(released, RecordsPart)  # noqa: S101 - for types
    guarantee = certificate.guarantee
    rows: dict[str, Sequence[str]] = (
        {}
        if released.details is None
        else dict(released.details.rows(released.mechanism, guarantee.unit.value.whom))
    )
    rows["Kept as asked"] = [f"{item.name}: {len(item.values):,}" for item in released.invariants]
    kept_first = sorted(rows.items(), key=lambda row: not row[0].startswith("Kept"))
    return {
        "rows": {name: lines[:MOST_LINES] for name, lines in kept_first},
        "strength": strength_of(guarantee.intensity),
        "whom": guarantee.unit.value.whom,
        "word": LEVELS[certificate.verdict.level].partition(":")[0],
        "meaning": certificate.verdict.meaning,
        "warnings": found.warnings,
    }
