"""The counts of one level of a geography, as a table: what measurements and invariants say of it.

The latent table has the cells of all nodes of the level; the leaves have the finest one. With S for the sums
of such nodes to those of a level above it, a query W measures W S x there, with noise of its own. What is
known of every node of a level below, or bounded there, adds up to what is known of the node that it lies in;
what structural zeros of single nodes below imply beyond such sums is not used.
What was measured below is left out, so that a posterior of counties takes no longer than counties do: it is
the posterior given the measurements of its level and those above, which are independent of the others.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, eye_array, kron, vstack

from holdfast.data.geography import Regions
from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.likelihood import NoisySums
from holdfast.mechanisms.topdown.measurements import Values
from holdfast.mechanisms.truncation.laws import KnownConstraints
from holdfast.public import Public
from holdfast.system.errors import ReleaseError
from holdfast.system.ways import setting
from holdfast.universe.universe import Universe

if TYPE_CHECKING:
    from holdfast.mechanisms.topdown.mechanism import TopDown


@dataclass(frozen=True, eq=False)
class Nodes:
    """All nodes of a level, by its place from the root down, of a top-down release."""

    public: Public
    mechanism: "TopDown"
    place: int

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of the geography that the table has."""
        return self.public.geography[: self.place + 1]

    @cached_property
    def schema(self) -> Schema:
        """The cells: those of the released table, without the levels below."""
        whole, below = self.public.schema, self.public.geography[self.place + 1 :]
        if not below:
            return whole
        left = (*below, *(one.within for one in whole.areas))  # areas cut nodes
        kept = {each.name: each.levels for each in whole.attributes if each.name not in left}
        nestings = tuple(one for one in whole.nestings if one.attribute not in below)
        impossible = Runs.of(np.flatnonzero(self.sums(whole.possible.astype(np.int64)) == 0))
        return Schema(Attributes.of(kept), impossible, nestings)

    @cached_property
    def possible(self) -> IntArray:
        """The cells that can occur."""
        return np.flatnonzero(self.schema.possible)

    def sums(self, counts: IntArray) -> IntArray:
        """Return the counts of all cells, from those of all cells of the leaves."""
        return np.asarray(self._regions.sums(counts)[self.place]).ravel()

    @cached_property
    def known(self) -> KnownConstraints:
        """What is known of the possible cells for certain."""
        design, none = self.mechanism.design, np.zeros(0, dtype=np.int64)
        A, t = [csr_array((0, self.schema.size), dtype=np.int64)], [none]
        B, b = [csr_array((0, self.schema.size), dtype=np.int64)], [none]
        for level, (kept, bounded) in enumerate(zip(design.kept, design.bounded, strict=True)):
            A.append(self._of_level(level, kept.rows))
            t.append(self._added(level, kept.values).ravel())
            for each in bounded:
                rows, nodes = self._of_level(level, each.rows), self._added(level, each.rows.shape[0])
                if each.at_least is not None:
                    B.append(rows)
                    b.append(each.at_least * nodes.ravel())
                if each.at_most is not None:
                    B.append(-rows)
                    b.append(-each.at_most * nodes.ravel())
        matrix, rows = (csr_array(vstack(part, format="csr"))[:, self.possible] for part in (A, B))
        universe = Universe.of(csr_array(matrix), np.concatenate(t), occupied=True)
        return KnownConstraints(universe.matrix, universe.values, csr_array(rows), np.concatenate(b))

    def likelihood(self, values: Values) -> NoisySums:
        """Return what the measurements of this level and of those above say."""
        mechanism = self.mechanism
        told = [
            pair
            for pair in zip(mechanism.measurements, values, strict=True)
            if pair[0].of.level <= self.place
        ]
        if not told:
            raise ReleaseError(
                f"nothing was measured at the level {self._regions.levels[self.place]} or above: set a lower"
                f" level in {setting('model')}, or leave it out."
            )
        rows = [
            self._of_level(each.of.level, mechanism.design.queries[each.of.query].rows) for each, _ in told
        ]
        # sigma^2, or 1 / kappa [holdfast, mechanisms/topdown/measurements.py]
        times = 2 if mechanism.noise_law == "gaussian" else 1
        rates = [np.full(part.size, 1 / float(times * each.scale)) for each, part in told]
        return NoisySums(
            csr_array(csr_array(vstack(rows, format="csr"))[:, self.possible]),
            np.concatenate([part.ravel() for _, part in told]),
            "squared" if mechanism.noise_law == "gaussian" else "l1",
            np.concatenate(rates),
        )

    @property
    def _regions(self) -> Regions:
        return self.mechanism.design.regions

    def _of_level(self, level: int, rows: csr_array) -> csr_array:
        """Return rows over the cells of a node, for every node of a level that is not below; or for ours."""
        nodes = self._regions.sizes[self.place]
        if level >= self.place:
            return csr_array(kron(eye_array(nodes, dtype=np.int64), rows, format="csr"))
        above = self._above(level, self.place)
        ones = np.ones(nodes, dtype=np.int64)
        within = csr_array((ones, (above, np.arange(nodes))), shape=(self._regions.sizes[level], nodes))
        return csr_array(kron(within, rows, format="csr"))

    def _added(self, level: int, values: IntArray | int) -> IntArray:
        """Return values of the nodes of a level, one line each, those of levels below added up to ours.

        A number stands for so many ones at every node.
        """
        sizes = self._regions.sizes
        each = np.ones((sizes[level], values), dtype=np.int64) if isinstance(values, int) else values
        if level <= self.place:
            return each
        found = np.zeros((sizes[self.place], each.shape[1]), dtype=np.int64)
        np.add.at(found, self._above(self.place, level), each)
        return found

    def _above(self, level: int, place: int) -> IntArray:
        """Return the node of a level that each node of a level below it lies in."""
        nodes = np.arange(self._regions.sizes[place])
        for parent in reversed(self._regions.spine.parent[level:place]):
            nodes = parent[nodes]
        return nodes
