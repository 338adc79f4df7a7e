"""How records would be swapped, how strongly that protects, and what it takes, without drawing anything.

Reading the file once is what a plan does; a release reads it, deals it out, swaps and writes it, which takes
about three times as long in all.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from time import process_time
from typing import Any

from holdfast.certificate.model import VerdictSection
from holdfast.certificate.records.model import RecordsCertificate
from holdfast.certificate.told import foretold
from holdfast.spec.model import Spec
from holdfast.swapping.embedded import group_memory
from holdfast.swapping.prepare import prepare_records

TIMES = 3
"""How many times as long as a plan a release takes."""
START = 300_000_000
"""Bytes of the program itself."""


@dataclass(frozen=True, eq=False)
class RecordsPlan:
    """A swap before its draw: what a certificate would say of it, CPU seconds and bytes of memory."""

    certificate: RecordsCertificate = field(repr=False)
    seconds: float
    memory: int
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> VerdictSection:
        """What the guarantee comes to."""
        return self.certificate.verdict

    @property
    def rate(self) -> Fraction:
        """The swap rate."""
        return self.certificate.mechanism.rate

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        told = self.certificate.to_dict()
        names = ("strata", "swapping", "induced", "invariants", "guarantee", "verdict", "caveats")
        return {
            "mechanism": self.certificate.mechanism.name,
            "kind": "exact",
            "methods": list(self.certificate.mechanism.sampling),
            **{name: told[name] for name in names},
            "costs": {"release_seconds": self.seconds, "memory_bytes": self.memory},
            "warnings": list(self.warnings),
        }


def plan_records(spec: Spec, data: Any = None) -> RecordsPlan:
    """Return how the records of a spec would be swapped."""
    begun = process_time()
    prepared = prepare_records(spec, data)
    spent = process_time() - begun
    memory = START + group_memory(prepared.units.records, prepared.survey)
    certificate = prepared.certify(secure=True)
    warnings = (*foretold(certificate.verdict), *prepared.warnings)
    return RecordsPlan(certificate, TIMES * spent, memory, warnings)
