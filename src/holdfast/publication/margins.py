"""What published numbers say of the cells, margin by margin.

A table is split into **margins**: in each attribute levels that are disjoint. Then every cell lies in one sum
of a margin at most, which is found by arithmetic. A cell of a margin that its table does not list, while it
lists others of each of its levels, is an unlisted zero; margins of totals tell nothing of what they do not
list.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.publication.axes import NestedAxis
from holdfast.publication.files import PublishedFile
from holdfast.publication.intervals import Numbers
from holdfast.publication.levels import Levels
from holdfast.publication.rules import RuleError, RuleReading
from holdfast.publication.spec import PublishedTable
from holdfast.system.errors import DataError


def margins_of(
    table: PublishedTable,
    file: PublishedFile,
    levels: Mapping[str, Levels],
    axes: Sequence[NestedAxis],
    *,
    told: bool,
) -> Iterator[tuple[Numbers, IntArray, Mapping[str, tuple[str, ...]]]]:
    """Yield the numbers of each margin of a table, with their rows in it and the levels of the margin."""
    low, high, reading = _read_counts(table, file, told=told)
    families = {
        name: _families(levels[name], column.unique(maintain_order=True).to_list())
        for name, column in zip(file.attributes, file.columns, strict=True)
    }
    kinds = []
    codes = []
    for name, column in zip(file.attributes, file.columns, strict=True):
        family = {level: at for at, one in enumerate(families[name]) for level in one}
        code = {level: at for one in families[name] for at, level in enumerate(one)}
        kinds.append(_mapped(column, family))
        codes.append(_mapped(column, code))
    for choice in product(*(range(len(families[name])) for name in file.attributes)):
        mine = np.ones(low.size, dtype=np.bool_)
        for kind, at in zip(kinds, choice, strict=True):
            mine &= kind == at
        rows = np.flatnonzero(mine)
        if rows.size == 0:
            continue
        key = np.zeros(rows.size, dtype=np.int64)
        place = np.zeros(1, dtype=np.int64)
        outside = np.zeros(1, dtype=np.bool_)
        chosen = dict(zip(file.attributes, choice, strict=True))
        order = [name for axis in axes for name in axis.attributes if name in chosen]
        for name in order:
            size = len(families[name][chosen[name]])
            key = key * size + codes[file.attributes.index(name)][rows]
        for axis in axes:
            local, out = np.zeros(axis.size, dtype=np.int64), np.zeros(axis.size, dtype=np.bool_)
            span = 1
            for name in axis.attributes:
                if name not in chosen:
                    continue
                group = families[name][chosen[name]]
                of_leaf = np.full(len(levels[name].leaves), -1, dtype=np.int64)
                for number, level in enumerate(group):
                    of_leaf[list(levels[name].members[level])] = number
                here = of_leaf[axis.leaf[name]]
                out |= here < 0
                local = local * len(group) + here
                span *= len(group)
            place = (place[:, None] * span + local[None, :]).ravel()
            outside = (outside[:, None] | out[None, :]).ravel()
        finest = all(at == 0 for at in choice)
        absent = reading.absent if finest else None
        numbers, mine_rows = _numbers(file, rows, key, (low, high), (place, outside), absent)
        yield numbers, mine_rows, {name: tuple(families[name][at]) for name, at in chosen.items()}


def _numbers(
    file: PublishedFile,
    rows: IntArray,
    key: IntArray,
    ends: tuple[IntArray, IntArray],
    cells: tuple[IntArray, BoolArray],
    absent: tuple[int, int] | None,
) -> tuple[Numbers, IntArray]:
    """Return the numbers of one margin: those that are listed, and the zeros that are not."""
    place, outside = cells
    order = np.argsort(key, kind="stable")
    twice = np.flatnonzero(np.diff(key[order]) == 0)
    if twice.size:
        at = int(rows[order[twice[0] + 1]])
        raise DataError(f"{file.place(at)} lists a cell a second time: keep one of its rows.")
    inside = np.flatnonzero(~outside)
    sums, number = np.unique(place[inside], return_inverse=True)
    known = key[order]
    where = np.searchsorted(known, sums)
    where[where == known.size] = 0
    listed = known[where] == sums
    row = np.where(listed, rows[order[where]], -1)
    low, high = (np.where(listed, end[row], 0) for end in ends)
    if absent is not None:
        high = np.where(listed, high, absent[1])
        low = np.where(listed, low, absent[0])
    lost = np.setdiff1d(known, sums)
    if lost.size:
        at_row = int(rows[order[np.searchsorted(known, lost[0])]])
        if ends[0][at_row] > 0:
            raise DataError(f"{file.place(at_row)} counts somebody where no cell can be: correct it.")
    kept = np.flatnonzero(listed) if absent is None else np.arange(sums.size)
    entries = np.ones(inside.size, dtype=np.int64), (number, inside)
    matrix = csr_array(entries, shape=(sums.size, place.size))
    return Numbers(csr_array(matrix[kept]), low[kept], high[kept]), row[kept]


def _read_counts(
    table: PublishedTable, file: PublishedFile, *, told: bool
) -> tuple[IntArray, IntArray, RuleReading]:
    """Return what each count of a file says; raises DataError where its rule cannot give it."""
    tokens = file.counts.unique(maintain_order=True).to_list()
    reading = RuleReading.of(table, tokens, told=told)
    lows, highs = {}, {}
    for token in tokens:
        try:
            lows[token], highs[token] = reading.interval(token)
        except RuleError as error:
            at = int((file.counts == token).arg_max() or 0)
            if told:  # it is confidential
                said = "no true count: write a whole number, or name the symbol"
                raise DataError(f"{file.place(at)} has {said}.") from None
            raise DataError(f"{file.place(at)} has {error}.") from None
    return _mapped(file.counts, lows), _mapped(file.counts, highs), reading


def _mapped(column: pl.Series, values: Mapping[str, int]) -> IntArray:
    found = column.replace_strict(list(values), list(values.values()), return_dtype=pl.Int64)
    return np.asarray(found.to_numpy(), dtype=np.int64)


def _families(levels: Levels, listed: Sequence[str]) -> list[list[str]]:
    """Split levels into families of disjoint ones, the finest first."""
    order = sorted(listed, key=lambda level: len(levels.members[level]))
    families: list[list[str]] = []
    used: list[set[int]] = []
    for level in order:
        members = levels.members[level]
        for family, taken in zip(families, used, strict=True):
            if taken.isdisjoint(members):
                family.append(level)
                taken.update(members)
                break
        else:
            families.append([level])
            used.append(set(members))
    return families
