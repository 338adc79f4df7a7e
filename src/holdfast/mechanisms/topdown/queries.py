"""Queries of top-down releases as a certificate keeps them, and the passes they are estimated in.

No cell is in two rows of a query, so what one record moves in it is told by the rows of the cells that it
leaves and enters, or by none [theory, 11].
"""

from collections.abc import Sequence
from fractions import Fraction

from pydantic import BaseModel, ConfigDict

from holdfast.data.geography import Regions
from holdfast.data.node_queries import NodeQuery
from holdfast.mechanisms.topdown.options import QueryChoice
from holdfast.spec.values import Rational
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import setting


class QueryRecord(BaseModel):
    """A query of every node, by the levels that it names, and its part in each level, root first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    marginal: tuple[str, ...]
    recode: dict[str, dict[str, tuple[str, ...]]]
    where: dict[str, tuple[str, ...]]
    weights: tuple[Rational, ...]

    @classmethod
    def told(cls, query: NodeQuery, weights: Sequence[Fraction]) -> "QueryRecord":
        """Return what a certificate keeps of a query."""
        return cls(
            name=query.name,
            marginal=query.marginal,
            recode={name: dict(groups) for name, groups in query.recode.items()},
            where=dict(query.where),
            weights=tuple(weights),
        )

    def on(self, levels: Sequence[str]) -> tuple[Fraction, ...]:
        """Return its part in each of as many levels and areas."""
        if len(self.weights) != len(levels):
            raise SpecError(
                f"the description of the query {self.name!r} is damaged: take it from the certificate as it"
                " was written."
            )
        return self.weights

    def query(self, regions: Regions) -> NodeQuery:
        """Return the query that is recorded."""
        return NodeQuery.of(self.marginal, regions, name=self.name, recode=self.recode, where=self.where)


def query_of(asked: QueryChoice, regions: Regions) -> NodeQuery:
    """Return the query that a spec asks for."""
    return NodeQuery.asked(asked.marginal, regions, name=asked.name, recode=asked.recode, where=asked.where)


Passes = tuple[tuple[int, ...], ...]
"""Places of queries, those that are estimated first before others."""


def passes_of(queries: Sequence[NodeQuery], asked: Sequence[Sequence[str]], width: int) -> Passes:
    """Return the queries of each pass; those that none names come with the last. None means all at once.

    Raises SpecError where a name is that of no query, or where two mean the same one.
    """
    found: list[list[int]] = []
    taken: set[int] = set()
    for names in asked:
        found.append([])
        for name in names:
            places = [at for at, query in enumerate(queries) if query.name == name] or [
                at for at, query in enumerate(queries) if query.called(name, width)
            ]
            if not places:
                raise SpecError(
                    f"{setting('mechanism', 'passes')} names the query {name!r}, which is not among them:"
                    f" {closest(name, [query.name for query in queries])}"
                )
            if places[0] in taken:
                raise SpecError(
                    f"{setting('mechanism', 'passes')} names the query {name!r} twice: what a pass found"
                    " stays as it is, so keep one."
                )
            taken.add(places[0])
            found[-1].append(places[0])
    if len(found) < 2:
        return ()
    found[-1] += [at for at in range(len(queries)) if at not in taken]
    return tuple(tuple(sorted(each)) for each in found)
