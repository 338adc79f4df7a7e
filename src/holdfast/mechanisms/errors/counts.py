"""Which counts are asked for: the sums of a margin, or of a level of a geography, perhaps of a selection."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.invariants import margin_matrix
from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.errors.accuracy import Margin, margins
from holdfast.public import Public


@dataclass(frozen=True)
class Counts:
    """All sums of a margin within a selection; a level of a geography is an attribute like others."""

    names: tuple[str, ...]
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, names: Sequence[str], where: Mapping[str, tuple[str, ...]], public: Public) -> "Counts":
        """Return them with the names in the order of the table."""
        ordered = tuple(name for name in public.schema.names if name in names)
        return cls(ordered, tuple(sorted(where.items())))

    @property
    def words(self) -> str:
        """What they are: "county by sex", "total within sex = f"."""
        within = " and ".join(f"{name} = {' or '.join(levels)}" for name, levels in self.where)
        return " within ".join(filter(None, (" by ".join(self.names) or "total", within)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        where = {"where": {name: list(levels) for name, levels in self.where}} if self.where else {}
        return {"of": list(self.names), **where}

    def rows(self, public: Public) -> csr_array:
        """Return the sums over the possible cells, those that have any."""
        found = csr_array(margin_matrix(public.schema, self.names, dict(self.where))[0][:, public.possible])
        return csr_array(found[np.flatnonzero(np.diff(found.indptr))])

    def fixed(self, public: Public) -> bool:
        """Whether the invariants determine all of them."""
        if not self.where:
            return Margin(self.names, public.schema, public.universe).determined
        known = public.universe.matrix
        every = csr_array(vstack([known, self.rows(public)], format="csr"))
        return independent_rows(every).size == known.shape[0]


def usual(public: Public) -> Iterator[Counts]:
    """Yield the total, margins of up to two attributes, levels of a geography among them, and cells.

    Areas off its spine are told whole, and not by the nodes that they cut.
    """
    areas = {one.within for one in public.schema.areas}
    for margin in margins(public.schema, public.universe):
        named = set(margin.attributes)
        if named & areas and (named & set(public.geography) or len(named & areas) > 1):
            continue
        yield Counts(margin.attributes)
    yield Counts(public.schema.names)
