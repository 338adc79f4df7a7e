"""What looks wrong in data and may be right: a curator is told, and nothing is changed.

The sentences name attributes, levels and numbers of cells, which a release publishes anyhow, and no count.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import log
from unicodedata import normalize

import numpy as np

from holdfast.data.grid import ancestors
from holdfast.data.levels import number
from holdfast.data.schema import Attribute, Attributes
from holdfast.data.table import LevelCodes, Records
from holdfast.lattice.arrays import IntArray
from holdfast.system.text import in_quotes
from holdfast.system.ways import assigned, setting

NO_VALUE = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "nil", ".", "?", "-"})
"""How missing values are written, in small letters."""
TOTALS = frozenset(
    {"total", "totals", "all", "sum", "overall", "grand total", "subtotal", "both", "both sexes"}
)
"""How sums of other rows are called, in small letters."""
COUNTS = frozenset(
    {
        *("count", "counts", "n", "freq", "frequency", "number", "cases", "deaths", "births", "people"),
        *("persons", "population", "pop", "vap", "households", "total", "tot", "records", "obs"),
    }
)
"""Words in the name of a column of counts."""
IDS = frozenset({"id", "ids", "uuid", "guid", "serial", "ssn", "pid", "key", "rowid", "nr"})
"""Words in the name of a column that tells who a row is of."""
PLACES = frozenset(
    {
        *("county", "state", "tract", "block", "region", "district", "ward", "school", "hospital", "clinic"),
        *("site", "facility", "municipality", "city", "town", "province", "canton", "zone", "station"),
    }
)
"""Words in the name of a place, whose id is not a person's."""
SHOWN = 3
LUCK = log(1e-3)
"""Records are called nested where chance alone would hardly make them so."""
FIRST = 10_000
"""Most attributes that are not nested show it in the first rows."""


def words_of(name: str) -> set[str]:
    """Return the words of a column's name, in small letters and without numbers.

    >>> sorted(words_of("Pop2010_white"))
    ['pop', 'white']
    """
    return set(re.findall(r"[^\W\d_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold()))


def looks_like_id(name: str, values: int, rows: int) -> bool:
    """Whether a column with so many values on so many rows tells who each is of."""
    words = words_of(name)
    return bool(words & IDS) and not words & PLACES and values > max(20, rows / 20)


def alike_levels(attributes: Attributes) -> Iterator[str]:
    """Yield what to say of levels that look like one, and of levels that look like no value."""
    for attribute in attributes:
        if not _numbered(attribute):
            yield from _alike(attribute)


def _numbered(attribute: Attribute) -> bool:
    """Whether levels are codes of equal length, of digits alone: no two of these are alike."""
    first = len(attribute.levels[0])
    return first > 0 and all(
        len(level) == first and level.isascii() and level.isdigit() for level in attribute.levels
    )


def _alike(attribute: Attribute) -> Iterator[str]:
    groups: defaultdict[object, list[str]] = defaultdict(list)
    for level in attribute.levels:
        groups[_folded(level)].append(level)
    twins = [levels for levels in groups.values() if len(levels) > 1]
    if twins:
        more = f" (and {len(twins) - 1:,} more such)" if len(twins) > 1 else ""
        yield (
            f"{attribute.name} has the levels {listed(twins[0])}{more}, which differ in case, spaces or"
            f" zeros only: take them together in {setting('data.recode')} if they are one."
        )
    empty = [level for level in attribute.levels if " ".join(level.split()).casefold() in NO_VALUE]
    if empty:
        some = "the level" if len(empty) == 1 else "the levels"
        yield (
            f"{attribute.name} has {some} {listed(empty)}, which may be a missing value: list it in"
            f" {setting('data')} missing if it is one."
        )


def nested_pairs(
    records: Records, within: Mapping[str, str], *, listed: bool, times: IntArray | None = None
) -> list[tuple[str, str]]:
    """Return attributes that look nested and are not said to be, each with the one it looks nested in.

    Rows that are ``listed`` are cells of a table of counts; others are records, which may agree by chance, or
    stand for as many as ``times`` says.
    """
    found: dict[str, str] = {}
    attributes = list(records.attributes)
    for place, inner in enumerate(attributes):
        above = ancestors(inner.name, within)
        best: Attribute | None = None
        for other, outer in enumerate(attributes):
            one_to_one = len(inner.levels) == len(outer.levels)
            if (
                other == place
                or len(outer.levels) < 2
                or len(inner.levels) < max(3, len(outer.levels))
                or (one_to_one and other > place)
                or outer.name in above
                or inner.name in ancestors(outer.name, {**within, **found})
            ):
                continue
            codes = records.codes[place], records.codes[other]
            nearer = best is None or len(outer.levels) > len(best.levels)
            if nearer and looks_nested(*codes, len(inner.levels), listed=listed, times=times):
                best = outer
        if best is not None and inner.name not in within:
            found[inner.name] = best.name
    return list(found.items())


def looks_nested(
    inner: LevelCodes, outer: LevelCodes, levels: int, *, listed: bool, times: IntArray | None = None
) -> bool:
    """Whether each level of one lies in one of the other on all rows, beyond what chance would do."""
    for rows in (slice(FIRST), slice(None)):
        parents = np.full(levels, -1, dtype=np.int64)
        parents[inner[rows]] = outer[rows]
        if (parents[inner[rows]] != outer[rows]).any():
            return False
    if listed:
        return True
    size = outer.size if times is None else int(times.sum())
    share = np.bincount(outer, times).max() / max(size, 1)  # how often two records agree by chance, at most
    return share < 1 and (size - np.unique(inner).size) * log(share) < LUCK


def nested_in_words(pairs: list[tuple[str, str]], cells: int, real: int) -> str:
    """Return what to say of attributes that look nested: what they make of the cells, and what to write."""
    said = " and ".join(f"each {inner} in one {outer}" for inner, outer in pairs)
    return (
        f"attributes look nested, {said}, and are not said to be: {cells:,} cells are made where {real:,} are"
        f" real, and noise goes to all of them; set {assigned('within', dict(pairs))} in {setting('data')}."
    )


def _folded(level: str) -> object:
    text = " ".join(normalize("NFKC", level).split()).casefold()
    value = number(text)
    return text if value is None else value


def listed(levels: list[str]) -> str:
    """Return some levels in quotes, and how many more there are."""
    some = ", ".join(in_quotes(level) for level in levels[:SHOWN])
    return some + (f" and {len(levels) - SHOWN:,} more" if len(levels) > SHOWN else "")
