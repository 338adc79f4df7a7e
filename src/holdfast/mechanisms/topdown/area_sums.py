"""What is known for certain of areas off the spine: sums over the cells of each, as the spec has them."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from holdfast.data.geography import Regions
from holdfast.data.invariants import InvariantBlock, margin_matrix
from holdfast.data.node_queries import QueryRows
from holdfast.lattice.arrays import IntArray
from holdfast.public import Public
from holdfast.system.errors import SpecError
from holdfast.system.ways import assigned, setting


@dataclass(frozen=True, eq=False)
class AreaSums:
    """Sums of some areas of one kind that are known, or stay within bounds; what there is not is None."""

    kind: int
    areas: IntArray
    """The places of these areas."""
    rows: QueryRows
    values: IntArray | None = None
    """One line an area, one column a row."""
    at_least: int | None = None
    at_most: int | None = None

    def kept(self, sums: IntArray) -> bool:
        """Whether sums, one line an area, are what is known and within the bounds."""
        same = self.values is None or bool((sums == self.values).all())
        low = self.at_least is None or bool((sums >= self.at_least).all())
        return same and low and (self.at_most is None or bool((sums <= self.at_most).all()))


def of_areas(public: Public, regions: Regions) -> tuple[AreaSums, ...]:
    """Return what is invariant or bounded of areas."""
    known = (
        replace(one, values=_of_areas(held.block, held.values, one, regions))
        for held in public.invariants
        if (one := in_areas(held.block, regions)) is not None
    )
    bounded = (
        replace(one, at_least=floor.at_least, at_most=floor.at_most)
        for floor in public.inequalities
        if (one := in_areas(floor.block, regions)) is not None
    )
    return (*known, *bounded)


def in_areas(block: InvariantBlock, regions: Regions) -> AreaSums | None:
    """Return the areas that an invariant is of, with its rows over the cells of each, if it is of any.

    Raises SpecError where it is of areas of several kinds, or of parts of areas.
    """
    kinds = {each.name: kind for kind, each in enumerate(regions.areas)}
    named = [name for name in dict.fromkeys((*block.attributes, *block.where)) if name in kinds]
    if not named:
        return None
    others = [name for name in (*block.attributes, *block.where) if name in regions.levels]
    if len(named) > 1 or others:
        raise SpecError(
            f"the invariant or bound {block.name!r} is of {named[0]} by {(*named[1:], *others)[0]}, and"
            " topdown keeps what holds of whole areas or nodes: make it one of each, or set"
            f" {assigned('name', 'lattice-gaussian')} in {setting('mechanism')}."
        )
    (name,) = named
    if name not in block.attributes:
        raise SpecError(
            f"the invariant or bound {block.name!r} is of areas of {name} together, and topdown keeps what"
            f" holds of each: add {name!r} to its margin."
        )
    codes = regions.areas[kinds[name]].codes
    some = block.where.get(name, codes)
    areas = np.array([place for place, code in enumerate(codes) if code in some], dtype=np.int64)
    if regions.cells is None:
        return AreaSums(kinds[name], areas, csr_array(np.ones((1, regions.width), dtype=np.int64)))
    margin = [each for each in block.attributes if each != name]
    where = {each: levels for each, levels in block.where.items() if each != name}
    return AreaSums(kinds[name], areas, margin_matrix(regions.cells, margin, where)[0])


def _of_areas(block: InvariantBlock, values: IntArray, at: AreaSums, regions: Regions) -> IntArray:
    """Return the values of a block, one line an area; a row without a cell that can be is 0."""
    some = np.diff(block.matrix.indptr) > 0
    leaf, cell = np.divmod(block.matrix.indices[block.matrix.indptr[:-1][some]], regions.width)
    row_of = np.zeros(regions.width, dtype=np.int64)
    row_of[at.rows.indices] = np.repeat(np.arange(at.rows.shape[0]), np.diff(at.rows.indptr))
    place = np.zeros(len(regions.areas[at.kind].codes), dtype=np.int64)
    place[at.areas] = np.arange(at.areas.size)
    found = np.zeros((at.areas.size, int(at.rows.shape[0])), dtype=np.int64)
    found[place[regions.areas[at.kind].of[leaf]], row_of[cell]] = values[some]
    return found
