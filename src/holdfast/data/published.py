"""Sums that were published before, at every node of a level, with what they cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.data.geography import Regions
from holdfast.data.node_queries import Groups, NodeQuery
from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import SpecError


@dataclass(frozen=True, eq=False)
class PublishedSums:
    """A query of the nodes of a level, and what was published of it.

    Attributes:
        level: the level of the geography.
        marginal: the attributes of the query.
        recode: levels that it puts together.
        values: the numbers, one line a node.
        source: the digest of the release that they are of, as a ledger names it; empty for a file.
        cost: what they cost whom, in words.

    """

    level: str
    marginal: tuple[str, ...]
    recode: Mapping[str, Groups]
    values: IntArray
    source: str
    cost: str

    def query(self, regions: Regions) -> NodeQuery:
        """Return the query that they answer."""
        return NodeQuery.of(self.marginal, regions, recode=self.recode, key="published")

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        return {
            "level": self.level,
            "marginal": list(self.marginal),
            "recode": {
                name: {new: list(taken) for new, taken in groups.items()}
                for name, groups in self.recode.items()
            },
            "values": self.values.tolist(),
            "source": self.source,
            "cost": self.cost,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], regions: Regions) -> "PublishedSums":
        """Return what `to_dict` described; raises SpecError where it does not fit the table."""
        try:
            recode = {
                name: {new: tuple(taken) for new, taken in groups.items()}
                for name, groups in data["recode"].items()
            }
            values = np.array(data["values"], dtype=np.int64)
            found = cls(data["level"], tuple(data["marginal"]), recode, values, data["source"], data["cost"])
            nodes = regions.sizes[regions.levels.index(found.level)]
            if values.shape != (nodes, found.query(regions).rows.shape[0]) or (values < 0).any():
                raise ValueError  # noqa: TRY301 - caught with the other damage below
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
            raise SpecError(
                "the description of what was published before is damaged: take it from the"
                " certificate as it was"
                " written."
            ) from None
        return found
