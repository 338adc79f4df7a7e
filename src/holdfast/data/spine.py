"""A geography: levels from the root down, each node in one node of the level above."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from holdfast.data.attributes import Attributes
from holdfast.errors import DataError, SpecError


@dataclass(frozen=True, eq=False, repr=False)
class Spine:
    """A tree whose leaves all stand on its last level.

    The nodes of a level are numbered so that the children of a node stand together, in the order of their
    parents: ``parent[i]`` rises from 0 to the last node of level i, in steps of at most 1.
    """

    levels: Attributes
    """The levels, root first, and the codes of the nodes of each."""
    parent: tuple[NDArray[np.int64], ...]
    """For each level below the root, the place of each node's parent on the level above."""

    def __post_init__(self) -> None:
        sizes = [len(level.levels) for level in self.levels]
        if sizes[0] != 1:
            raise SpecError(
                f"the first level of a geography, {self.levels.names[0]!r}, has {sizes[0]:,} nodes: "
                f"begin with a level of one node, the root, such as prefixes = {{ all = 0, ... }} in"
                " [data.geography], or a first column that has one code."
            )
        copies = tuple(np.array(parent, dtype=np.int64) for parent in self.parent)
        if [len(parent) for parent in copies] != sizes[1:]:
            raise ValueError(f"levels of {sizes} nodes need a parent for each node below the root")
        for above, parent in zip(sizes[:-1], copies, strict=True):
            steps = np.diff(parent, prepend=-1, append=above)
            if steps[0] != 1 or steps[-1] != 1 or not np.isin(steps, (0, 1)).all():
                raise ValueError("parents must rise from 0 to the last in steps of at most 1")
            parent.setflags(write=False)
        object.__setattr__(self, "parent", copies)

    def __repr__(self) -> str:
        return f"<geography: {self.levels.in_words}>"

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[str] | pl.Series]) -> Self:
        """Return the geography of rows that name their node on each level, root first.

        >>> rows = {"nation": ["US", "US"], "state": ["17", "17"], "county": ["17031", "17019"]}
        >>> Spine.from_columns(rows).codes("county")
        ('17019', '17031')
        """
        frame = pl.DataFrame({name: pl.Series(codes, dtype=pl.String) for name, codes in columns.items()})
        names = frame.columns
        for name in names:
            if frame[name].null_count():
                row = int(frame[name].is_null().arg_true()[0])
                raise DataError(f"row {row} (from 0) has no {name}: fill in the code of its node.")
        # Sorted by their whole paths, the children of a node stand together, and the order of rows is gone.
        paths = frame.unique().sort(names)
        nodes = {names[-1]: paths}
        for place in range(len(names) - 1, 0, -1):
            paths = paths.select(names[:place]).unique(maintain_order=True)
            nodes[names[place - 1]] = paths
        for above, name in pairwise(names):
            _one_parent(nodes[name], above, name)
        parent = [nodes[name][above].rle_id().cast(pl.Int64).to_numpy() for above, name in pairwise(names)]
        return cls(Attributes.of({name: nodes[name][name].to_list() for name in names}), tuple(parent))

    @classmethod
    def from_prefixes(cls, codes: Sequence[str] | pl.Series, lengths: Mapping[str, int]) -> Self:
        """Return the geography of codes whose first so many characters name their node on each level.

        A length of 0 is the root, which has the name of its level for its code.

        >>> Spine.from_prefixes(["17031", "17019"], {"nation": 0, "state": 2, "county": 5}).codes("state")
        ('17',)
        """
        if any(longer <= shorter for shorter, longer in pairwise([-1, *lengths.values()])):
            raise SpecError(f"the lengths {dict(lengths)} of a geography do not rise: list the root first.")
        leaves, longest = pl.Series(codes, dtype=pl.String), max(lengths.values())
        short = leaves.filter(leaves.str.len_chars() != longest)
        if len(short):
            raise DataError(
                f"the code {short[0]!r} does not have {longest} characters: "
                "write all codes in full, with their leading zeros."
            )
        return cls.from_columns(
            {
                name: leaves.str.slice(0, length) if length else [name] * len(leaves)
                for name, length in lengths.items()
            }
        )

    def codes(self, level: str) -> tuple[str, ...]:
        """Return the codes of the nodes of a level, in order."""
        return self.levels.attribute(level).levels

    def ancestors(self, level: str) -> NDArray[np.int64]:
        """Return, for each leaf, its node on a level."""
        place = self.levels.axis(level)
        nodes = np.arange(len(self.levels.each[-1].levels))
        for parent in reversed(self.parent[place:]):
            nodes = parent[nodes]
        return nodes


def _one_parent(paths: pl.DataFrame, above: str, name: str) -> None:
    """Raise where a node of a level was found below two nodes."""
    twice = paths.filter(paths[name].is_duplicated()).sort(name, above)
    if len(twice):
        code, (first, second) = twice[name][0], twice[above][:2]
        raise DataError(
            f"{name} {code!r} lies in {above} {first!r} and in {above} {second!r}: correct one of them, or "
            f"put the code of the {above} in front of it."
        )
