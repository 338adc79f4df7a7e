"""The design of a swap: which columns make the strata, and which of them move together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from holdfast.errors import SpecError
from holdfast.spec.closest import closest


@dataclass(frozen=True)
class Columns:
    """The columns of a file: those of the swap key, those that are swapped, and the rest, which is held."""

    stratify: tuple[str, ...]
    swap: tuple[str, ...]
    held: tuple[str, ...]
    renumber: tuple[str, ...] = ()
    """Ids that are replaced: neither swapped nor held."""

    @classmethod
    def of(
        cls,
        stratify: Sequence[str],
        swap: Sequence[str],
        header: Sequence[str],
        file: str,
        renumber: Sequence[str] = (),
    ) -> Self:
        """Return the columns of a file; raises SpecError where one is missing, or nothing would be held."""
        for key, names in (("stratify", stratify), ("swap", swap), ("renumber", renumber)):
            for name in names:
                if name not in header:
                    raise SpecError(
                        f"[mechanism] {key} names {name!r}, which is no column of {file}:"
                        f" {closest(name, list(header))}"
                    )
        held = tuple(name for name in header if name not in (*stratify, *swap, *renumber))
        if not held:
            raise SpecError(
                f"[mechanism] stratify and swap name every column of {file}: nothing is held that swapped"
                " values could part with, so no record would change; leave a column out of one."
            )
        return cls(tuple(stratify), tuple(swap), held, tuple(renumber))

    @property
    def all(self) -> tuple[str, ...]:
        """All columns, in no order that counts."""
        return (*self.stratify, *self.swap, *self.held, *self.renumber)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that decide a swap."""
        return (*self.stratify, *self.swap)
