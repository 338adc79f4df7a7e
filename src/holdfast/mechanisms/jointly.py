"""Several tables on one geography that a mechanism measures apart and estimates together.

Each table has a calibrated mechanism of its own, and with it a guarantee of its own: what is measured of a
table depends on no other. What joins them acts on the released counts alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.data.across import AcrossTables
from holdfast.mechanisms.details import ReleasedFiles
from holdfast.mechanisms.mechanism import Law, Making
from holdfast.outputs import Output
from holdfast.public import Public
from holdfast.sampling.entropy import Entropy
from holdfast.system.checks import Check


@dataclass(frozen=True, eq=False)
class TableOnTree:
    """One of the tables: its mechanism, and what is public of it."""

    mechanism: Any = field(repr=False)
    """One of the kind that estimates them."""
    public: Public = field(repr=False)


class JointTables(ABC):
    """Tables by name, and what the public knows across them."""

    tables: Mapping[str, TableOnTree]
    across: Sequence[AcrossTables]

    @abstractmethod
    def outputs(
        self, laws: Mapping[str, Law], entropy: Entropy, making: Making, extras: Sequence[str] = ()
    ) -> Mapping[str, Output]:
        """Measure every table, unless that was done, and estimate all together: outputs by their names."""

    @abstractmethod
    def restored(self, file: Path) -> Output:
        """Return what was measured of all tables, from the files beside this one."""

    @abstractmethod
    def check(
        self, files: Mapping[str, ReleasedFiles], measured: str | None, *, whole: bool
    ) -> Iterator[Check]:
        """Check what was measured, and that all counts follow from it."""

    @abstractmethod
    def checked(self) -> None:
        """Raise where what joins them cannot be kept, before anything is measured."""
