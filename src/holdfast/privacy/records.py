"""Guarantees for files of records, as values of the same five building blocks as those for tables.

Two files are compared that have the same invariants, asked for or induced. Their distance is that of
unordered records: half the size of the symmetric difference of the two as multisets [swapping-slides].
"""

from dataclasses import dataclass

from holdfast.privacy.evidence import Evidence
from holdfast.privacy.guarantee import Target, Unit, promise
from holdfast.privacy.intensity import Pure
from holdfast.privacy.order import at_least_as_strong


@dataclass(frozen=True)
class FilesScope:
    """The files that a guarantee compares, by the names of what they share; ``digest`` identifies that."""

    invariants: tuple[str, ...]
    induced: tuple[str, ...]
    digest: str
    constraints: tuple[str, ...] = ()


@dataclass(frozen=True)
class FilesGuarantee:
    """What was proved of a mechanism that releases records: a loss for each record of distance."""

    scope: FilesScope
    unit: Unit
    intensity: Pure
    evidence: tuple[Evidence, ...]

    @property
    def domain(self) -> str:
        """The kind of data that it is about."""
        return f"files of {self.unit.whom.counted}, in no order"

    @property
    def statement(self) -> str:
        """The guarantee in one sentence."""
        whom = self.unit.whom
        several = whom.records > 1
        each = f"every {whom.amount(whom.records)}" if several else f"each {whom.record}"
        tail = f", as one {whom.one} has at most {whom.records}," if several else ","
        pairs = f"For {each} in which two files with the same invariants differ{tail}"
        return f"{pairs} {promise(self.intensity)}"

    def meets(self, target: Target) -> bool:
        """Whether this guarantee meets a target."""
        return target.intensity is None or at_least_as_strong(self.intensity, target.intensity)
