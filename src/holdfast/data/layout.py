"""How a file seems to be laid out: a column for each group, dates, signs between thousands.

All of it is guessed from names and from the first rows; what adds up is checked on all rows.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import polars as pl

from holdfast.data.dates import seeming_dates
from holdfast.data.warnings import COUNTS, IDS, TOTALS, looks_like_id, words_of
from holdfast.lattice.arrays import IntArray
from holdfast.spec.shape import Derived, Wide
from holdfast.system.errors import DataError
from holdfast.system.text import in_quotes
from holdfast.system.ways import setting

_SEXES = frozenset({"male", "female", "m", "f", "men", "women", "males", "females", "boys", "girls", "w"})
_RACES = frozenset(
    {"white", "black", "asian", "aian", "nhpi", "hispanic", "hisp", "nonhispanic", "nonhisp", "latino"}
    | {"native", "pacific", "other", "two", "multi", "multiracial", "mixed", "amind", "nhwhite", "nhblack"}
)
_YEAR = re.compile(r"(19|20)[0-9]{2}")
_AGE = re.compile(
    r"(age|ages|under|over)?[ _-]?[0-9]{1,3}([ _-]?(to|[-_])?[ _-]?[0-9]{1,3}|[ _-]?(plus|\+|over))?"
)
_SPLIT = re.compile(r"[_\-. ]+")
_KEYS = frozenset(
    {"fips", "code", "zip", "postcode", "geoid", "block", "tract", "ward", "district", "year", "month", "day"}
    | {"age", "quarter", "week", "state", "county", "lat", "lon", "latitude", "longitude", *IDS}
)
"""Words of numbers that tell where, when or who, and count nobody."""
_GROUPED = r"^[+-]?[0-9]{1,3}([,.' \u2019_\u00a0\u2009\u202f][0-9]{3})+$"
_DIGITS = r"^[0-9]+$"
_HIDDEN = r"^([*†‡.xXcCsS-]{1,3}|[<>≤≥]=?\s*[0-9]+|\(?[sS]uppressed\)?)$"
MOST_COLUMNS = 1_000


@dataclass(frozen=True, repr=False)
class FileLayout:
    """What is to be made of a file before it is looked at as a table."""

    derive: Mapping[str, Derived] = field(default_factory=dict)
    wide: Wide | None = None
    count: str | None = None
    """The column of counts that wide columns become."""
    thousands: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the file is taken as it is."""
        return self.wide is None and not self.derive and not self.thousands


Whole = Callable[[str], IntArray]
"""All whole numbers of a column."""
Apart = Callable[[Sequence[str]], bool]
"""Whether no two rows agree in some columns."""


def layout_of(
    name: str, head: Mapping[str, pl.Series], keep: Sequence[str], whole: Whole, apart: Apart
) -> FileLayout:
    """Return how a file seems to be laid out, from the different values of its first rows."""
    derive, left, doubts = _dates(head, keep)
    thousands = _thousands(name, head)
    wide, count, sums, more = (None, None, {}, ()) if thousands else _groups(head, keep, whole, apart)
    return FileLayout(derive, wide, count, thousands, {**left, **sums}, (*doubts, *more))


def layout_of_database(head: Mapping[str, pl.Series], keep: Sequence[str]) -> FileLayout:
    """Return what a query should ask for otherwise: parts of dates, and groups one below the other."""
    derive, _, _ = _dates(head, keep)
    why = "is a date: ask for its year or month in a query"
    left = {one.source: why for one in derive.values()}
    measures = [name for name, values in head.items() if name not in keep and _counts(name, values)]
    grid = max(_grids(measures), key=lambda grid: grid.worth, default=None)
    if grid is None:
        return FileLayout(left_out=left)
    doubt = (
        f"{len(grid.columns)} columns, {in_quotes(grid.columns[0])} to {in_quotes(grid.columns[-1])}, may be"
        f" counts of groups: ask for them one below the other, by UNION ALL in {setting('data', 'query')}, if"
        " they are."
    )
    return FileLayout(left_out=left, doubts=(doubt,))


def _dates(
    head: Mapping[str, pl.Series], keep: Sequence[str]
) -> tuple[dict[str, Derived], dict[str, str], list[str]]:
    """Return the parts of dates that make levels, the columns they are of, and what is not certain."""
    derive: dict[str, Derived] = {}
    left: dict[str, str] = {}
    doubts = []
    for name, values in head.items():
        found = None if name in keep else seeming_dates(values)
        if found is None or found.part is None:
            continue
        part = found.part.replace("-", "_").removeprefix("year_")
        own = part if name.casefold() in ("date", "day", "time", "timestamp") else f"{name}_{part}"
        while own in head or own in derive:
            own += "_"
        derive[own] = Derived(source=name, part=found.part, order=found.order)
        left[name] = f"is a date, and {own} is made of it"
        if found.also is not None:
            doubts.append(
                f"{name} is taken as {found.order}, and may be {found.also}, as no day is above 12: correct"
                f" order in {setting('data.derive')} if it is."
            )
    return derive, left, doubts


def _thousands(name: str, head: Mapping[str, pl.Series]) -> str:
    """Return the sign between thousands of counts; raises DataError where some counts are withheld."""
    for column, values in head.items():
        filled = values.filter(values != "")
        if not words_of(column) & COUNTS or not len(filled):
            continue
        grouped = filled.str.contains(_GROUPED)
        plain = filled.str.contains(_DIGITS)
        hidden = filled.str.contains(_HIDDEN)
        if hidden.any() and (plain | hidden | grouped).all() and 2 * int(hidden.sum()) < len(filled) + 2:
            shown = filled.filter(hidden)[0]
            raise DataError(
                f"{name}, column {column!r} has {in_quotes(shown)}, which withholds a count: a table is"
                " protected as a whole, so take the counts as they were before any was suppressed."
            )
        if grouped.any() and (plain | grouped).all():
            signs = filled.filter(grouped).str.replace_all(r"[0-9+-]", "").str.slice(0, 1).unique().to_list()
            short = plain & (filled.str.len_chars() > 3)
            if len(signs) == 1 and not short.any():
                return str(signs[0])
    return ""


def _groups(
    head: Mapping[str, pl.Series], keep: Sequence[str], whole: Whole, apart: Apart
) -> tuple[Wide | None, str | None, dict[str, str], tuple[str, ...]]:
    """Return the columns that each count a group, if they do, and those that are sums of them."""
    nothing: tuple[Wide | None, str | None, dict[str, str], tuple[str, ...]] = (None, None, {}, ())
    measures = [name for name, values in head.items() if name not in keep and _counts(name, values)]
    if not 2 <= len(measures) <= MOST_COLUMNS or max(_largest(head[name]) for name in measures) <= 1:
        return nothing
    keys = [
        name
        for name in head
        if name not in measures and name.strip() and not looks_like_id(name, len(head[name]), len(head[name]))
    ]
    if not keys or not apart(keys):
        return nothing
    best = max(_grids(measures), key=lambda grid: grid.worth, default=None)
    if best is None:
        return nothing
    numbers = {name: whole(name) for name in best.columns}
    sums = _sums(best, numbers)
    grid = best.without(sums)
    if len(grid.columns) < 2:
        return nothing
    used = set(grid.columns)
    differences = _differences(grid, numbers)
    inner = {said.split(" - ")[1] for said in differences.values()}
    outer = [name for name, own in zip(grid.columns, grid.levels, strict=True) if inner.isdisjoint(own)]
    for name in measures:
        if name not in used and words_of(name) & (COUNTS | TOTALS):
            total = np.sum([numbers[one] for one in outer], axis=0)
            if (whole(name) == total).all():
                sums[name] = "is the sum of the columns of groups"
    counted = [name for name in measures if name not in used and name not in sums and words_of(name) & COUNTS]
    if len(grid.columns) == 2 and counted:  # two years of a population beside the cases that are counted
        return nothing
    names = _named(grid, head)
    count = next(one for one in ("count", "people", "records", "counted") if one not in (*head, *names))
    doubt = (
        f"{len(grid.columns)} columns, {in_quotes(grid.columns[0])} to {in_quotes(grid.columns[-1])}, are"
        f" taken for counts of groups, which must not share anybody: correct {setting('data.wide')} if they"
        " do."
    )
    return grid.as_wide(names, differences, head), count, sums, (doubt,)


def _counts(name: str, values: pl.Series) -> bool:
    """Whether a column may count a group: whole numbers, of no place, time or person."""
    if not name.strip() or (words_of(name) & _KEYS and not _grouped_name(name)):
        return False
    filled = values.filter(values != "")
    return len(filled) == len(values) > 0 and bool(filled.str.contains(r"^[0-9]{1,15}(\.0*)?$").all())


def _grouped_name(name: str) -> bool:
    """Whether a name is of an age: age_0_17 counts, and age does not."""
    return bool(words_of(name) & {"age", "ages"}) and any(sign.isdigit() for sign in name)


def _largest(values: pl.Series) -> float:
    return float(values.cast(pl.Float64).max() or 0)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Grid:
    """Columns whose names are all combinations of levels, as a pattern writes them."""

    pattern: str
    """With {0} and {1} for the levels."""
    columns: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    """Of each column, in the order of the pattern."""

    @property
    def worth(self) -> tuple[int, int, bool]:
        """Rank grids: most columns, then most attributes, then names that are known."""
        known = sum(_attribute(self.at(place)) is not None for place in range(self.places))
        return len(self.columns), known, self.pattern.startswith("{0}_")

    @property
    def places(self) -> int:
        return len(self.levels[0])

    def at(self, place: int) -> tuple[str, ...]:
        """Return the levels at a place, in order."""
        return tuple(dict.fromkeys(levels[place] for levels in self.levels))

    def without(self, names: Mapping[str, str]) -> "_Grid":
        kept = [(name, own) for name, own in zip(self.columns, self.levels, strict=True) if name not in names]
        return _Grid(self.pattern, tuple(name for name, _ in kept), tuple(own for _, own in kept))

    def as_wide(
        self, names: Sequence[str], differences: Mapping[str, str], head: Mapping[str, pl.Series]
    ) -> Wide:
        """Return it as [data.wide] has it: by its pattern, where no other column follows that."""
        pattern = self.pattern
        for place, name in enumerate(names):
            pattern = pattern.replace(f"{{{place}}}", f"{{{name}}}")
        wide = Wide(pattern=pattern, differences=differences)
        follow = {name: levels for name in head if (levels := wide.match(name)) is not None}
        if follow == dict(zip(self.columns, self.levels, strict=True)) and len(follow) > 2:
            return wide
        if differences:
            return Wide(columns=self._listed(names, differences))
        own = [dict(zip(names, levels, strict=True)) for levels in self.levels]
        return Wide(columns=dict(zip(self.columns, own, strict=True)))

    def _listed(self, names: Sequence[str], differences: Mapping[str, str]) -> dict[str, dict[str, str]]:
        """Return the columns one by one, those that hold others as differences."""
        by_level = dict(zip(self.levels, self.columns, strict=True))
        of = {said.split(" - ")[0]: (new, said.split(" - ")[1]) for new, said in differences.items()}
        found = {}
        for levels, column in by_level.items():
            place = next((at for at, level in enumerate(levels) if level in of), None)
            if place is None:
                found[column] = dict(zip(names, levels, strict=True))
            else:
                new, less = of[levels[place]]
                other = by_level[(*levels[:place], less, *levels[place + 1 :])]
                own = (*levels[:place], new, *levels[place + 1 :])
                found[f"{column} - {other}"] = dict(zip(names, own, strict=True))
        return found


def _grids(measures: Sequence[str]) -> Iterator[_Grid]:
    """Yield the ways in which names of columns are combinations of levels."""
    words = {name: _SPLIT.split(name) for name in measures}
    alone = [name for name in measures if _attribute((name,)) is not None]
    for known in (_SEXES, _RACES):
        own = tuple(name for name in alone if name.casefold() in known)
        if len(own) > 1:
            yield _Grid("{0}", own, tuple((name,) for name in own))
    years = tuple(name for name in alone if _YEAR.fullmatch(name))
    if len(years) > 1:
        yield _Grid("{0}", years, tuple((name,) for name in years))
    for first in (True, False):  # the level before the first sign, or behind the last
        halves: dict[str, tuple[str, str, str]] = {}
        for name in measures:
            if len(words[name]) > 1:
                one = words[name][0] if first else words[name][-1]
                rest = name[len(one) :] if first else name[: -len(one)]
                sign = rest[:1] if first else rest[-1:]
                other = rest[1:] if first else rest[:-1]
                halves[name] = (one, other, sign) if first else (other, one, sign)
        yield from _crossed(halves)
        yield from _lined(halves)


def _crossed(halves: Mapping[str, tuple[str, str, str]]) -> Iterator[_Grid]:
    """Yield grids of two attributes: the largest sets of first levels that have the same second ones."""
    seconds: dict[str, set[str]] = {}
    for one, other, _ in halves.values():
        seconds.setdefault(one, set()).add(other)
    signs = {sign for _, _, sign in halves.values()}
    if len(signs) != 1:
        return
    for own in {frozenset(others) for others in seconds.values()}:
        firsts = [one for one, others in seconds.items() if others >= own]
        if len(firsts) > 1 and len(own) > 1:
            chosen = {
                name: (one, other)
                for name, (one, other, _) in halves.items()
                if one in firsts and other in own
            }
            yield _Grid(f"{{0}}{next(iter(signs))}{{1}}", tuple(chosen), tuple(chosen.values()))


def _lined(halves: Mapping[str, tuple[str, str, str]]) -> Iterator[_Grid]:
    """Yield grids of one attribute: names that share their begin or their end."""
    for place in (0, 1):
        for shared in dict.fromkeys((half[place], half[2]) for half in halves.values()):
            chosen = {
                name: (half[1 - place],) for name, half in halves.items() if (half[place], half[2]) == shared
            }
            levels = tuple(level for (level,) in chosen.values())
            if len(chosen) > 2 or (len(chosen) == 2 and _attribute(levels) is not None):
                word, sign = shared
                pattern = f"{word}{sign}{{0}}" if place == 0 else f"{{0}}{sign}{word}"
                yield _Grid(pattern, tuple(chosen), tuple(chosen.values()))


def _attribute(levels: Sequence[str]) -> str | None:
    """Return what attribute levels are of, if their names tell."""
    plain = [level.casefold() for level in levels if level.casefold() not in TOTALS]
    for name, known in (("sex", _SEXES), ("race", _RACES)):
        if plain and all(level in known for level in plain):
            return name
    if sum(level in _RACES for level in plain) * 2 > len(plain):
        return "race"
    if plain and all(_YEAR.fullmatch(level) for level in plain):
        return "year"
    if plain and all(_AGE.fullmatch(level) for level in plain):
        return "age"
    if plain and all(words_of(level) & COUNTS for level in plain):
        return "measure"
    return None


def _named(grid: _Grid, head: Mapping[str, pl.Series]) -> list[str]:
    """Return a name for each attribute of a grid, none of which a column has."""
    names: list[str] = []
    for place in range(grid.places):
        own = _attribute(grid.at(place)) or ("group" if "group" not in names else "kind")
        while own in names or own in head:
            own += "_"
        names.append(own)
    return names


def _sums(grid: _Grid, numbers: Mapping[str, IntArray]) -> dict[str, str]:
    """Return columns that are sums of others: of a level called total, or of the columns behind them."""
    found: dict[str, str] = {}
    for place in range(grid.places):
        for total in grid.at(place):
            if " ".join(_SPLIT.split(total)).casefold() in TOTALS:
                found |= _sums_of_level(grid, place, total, numbers)
    return found or _sums_in_order(grid.columns, numbers)


def _sums_of_level(grid: _Grid, place: int, total: str, numbers: Mapping[str, IntArray]) -> dict[str, str]:
    """Return the columns of a level that are the sums of those of all its other levels."""
    parts: dict[tuple[str, ...], list[str]] = {}
    sums: dict[tuple[str, ...], str] = {}
    for name, levels in zip(grid.columns, grid.levels, strict=True):
        rest = (*levels[:place], *levels[place + 1 :])
        if levels[place] == total:
            sums[rest] = name
        else:
            parts.setdefault(rest, []).append(name)
    return {
        name: f"is the sum of {parts[rest][0]} to {parts[rest][-1]}"
        for rest, name in sums.items()
        if rest in parts and (numbers[name] == np.sum([numbers[one] for one in parts[rest]], axis=0)).all()
    }


def _sums_in_order(columns: Sequence[str], numbers: Mapping[str, IntArray]) -> dict[str, str]:
    """Return the columns that are sums of those behind them, as in tables of a census."""
    found: dict[str, str] = {}
    for place in range(len(columns) - 3, -1, -1):
        own, reached = numbers[columns[place]], np.zeros_like(numbers[columns[place]])
        parts = [name for name in columns[place + 1 :] if name not in found]
        for number, name in enumerate(parts, start=1):
            reached = reached + numbers[name]
            if (reached > own).any():
                break
            if number > 1 and reached.any() and (reached == own).all():
                found[columns[place]] = f"is the sum of {parts[0]} to {name}"
                break
    return found


def _differences(grid: _Grid, numbers: Mapping[str, IntArray]) -> dict[str, str]:
    """Return levels that hold another in all rows, such as people who hold voters, less that level."""
    for place in range(grid.places):
        levels = grid.at(place)
        if _attribute(levels) != "measure":
            continue
        by: dict[str, dict[tuple[str, ...], str]] = {level: {} for level in levels}
        for name, own in zip(grid.columns, grid.levels, strict=True):
            by[own[place]][(*own[:place], *own[place + 1 :])] = name
        holds = {
            one: [other for other in levels if other != one and _holds(by[one], by[other], numbers)]
            for one in levels
        }
        chain = sorted(levels, key=lambda level: -len(holds[level]))
        return {
            f"{one} without {other}": f"{one} - {other}"
            for one, other in pairwise(chain)
            if other in holds[one]
        }
    return {}


def _holds(
    one: Mapping[tuple[str, ...], str], other: Mapping[tuple[str, ...], str], numbers: Mapping[str, IntArray]
) -> bool:
    pairs = [(numbers[one[rest]], numbers[other[rest]]) for rest in one if rest in other]
    if len(pairs) < len(one) or len(pairs) < len(other):
        return False
    return all((more >= less).all() for more, less in pairs) and any(
        (more > less).any() for more, less in pairs
    )
