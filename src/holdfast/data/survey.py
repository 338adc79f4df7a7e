"""What a file seems to be: cells, a count or records, what lies in what, and what is no attribute.

All of it is read off names and values, so it is a proposal for a curator and confidential until they agree.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod

import polars as pl

from holdfast.data.files import Source
from holdfast.data.layout import FileLayout, layout_of, layout_of_database
from holdfast.data.read import ordered_levels
from holdfast.data.rows import HEAD, RowGroups, Rows, file_rows
from holdfast.data.schema import Attributes
from holdfast.data.shape import shaped
from holdfast.data.table import Records
from holdfast.data.validation import STRONG
from holdfast.data.warnings import COUNTS, NO_VALUE, TOTALS, looks_like_id, looks_nested, words_of
from holdfast.spec.data import MISSING, Data
from holdfast.spec.proposal import DataProposal
from holdfast.system.errors import DataError
from holdfast.system.text import closest, in_quotes
from holdfast.system.ways import assigned, option, setting

MOST_NUMBERS, MOST_NAMES = 150, 1_000
"""Levels of an attribute of records: of one whose levels are numbers, and of others."""
LEAST_CELLS, MOST_CELLS = 1_000, 2_000_000
CENSUS = {"state": 2, "county": 5, "tract": 11, "block_group": 12, "block": 15}
"""Characters of a census code that name each level."""
AN_ID = "looks like an id, and nobody can be a level; where one has several rows, see records_per_unit"
ONE_LEVEL = "has one level on all rows"
_WHOLE = r"^\+?[0-9]{1,18}(\.0*)?$"
_NUMBER = r"^[+-]?[0-9.]+(e[+-]?[0-9]+)?$"


def survey(source: Source, keep: Sequence[str] = ()) -> tuple[DataProposal, pl.DataFrame]:
    """Look at a source, all of whose rows are read once; columns of ``keep`` become attributes.

    Returns what it seems to be, and each combination of levels that occurs.
    """
    if source.hint:
        raise DataError(source.hint)
    _require_distinct(source.name, source.header)
    rows = file_rows(source)
    _require_rows(rows)
    head = {name: rows.head[name].unique(maintain_order=True) for name in rows.head.columns}
    kept = [name for name in keep if name in head]
    layout = layout_of(source.name, head, kept, rows.whole, lambda names: _tell_apart(rows, names))
    if not layout.plain:
        made = () if layout.wide is None else layout.wide.attributes
        data = Data(
            cells=(*made, *layout.derive),
            count=layout.count or _grouped_count(source.header, layout),
            wide=layout.wide,
            derive=layout.derive,
            thousands=layout.thousands,
        )
        source = shaped(source, data)
        rows = file_rows(source)

    return _surveyed(rows, keep, layout)


def survey_database(rows: Rows, keep: Sequence[str] = ()) -> tuple[DataProposal, pl.DataFrame]:
    """Look at the rows of a database, which groups them."""
    _require_rows(rows)
    head = {name: rows.head[name].unique(maintain_order=True) for name in rows.head.columns}
    return _surveyed(rows, keep, layout_of_database(head, [name for name in keep if name in head]))


def _surveyed(rows: Rows, keep: Sequence[str], layout: FileLayout) -> tuple[DataProposal, pl.DataFrame]:
    """Look at rows that are laid out as a table or as records."""
    for name in keep:
        if name not in (*rows.head.columns, *CENSUS):
            raise DataError(
                f"{option('keep')}: {rows.name} has no column {in_quotes(name)}:"
                f" {closest(name, rows.head.columns)}"
            )
    return _Surveyor(rows, tuple(keep), layout).done()


def _require_distinct(name: str, header: Sequence[str]) -> None:
    for column in header:
        if header.count(column) > 1:
            raise DataError(f"{name} has two columns {column!r}: rename one.")


def _require_rows(rows: Rows) -> None:
    if not rows.size:
        raise DataError(f"{rows.name} has no rows, so there is nothing to look at: check the data.")


def _tell_apart(rows: Rows, keys: Sequence[str]) -> bool:
    """Whether no two rows agree in all of these columns."""
    if not keys:
        return False
    head = rows.head.select(keys)
    if head.n_unique() < head.height:
        return False
    return rows.size <= HEAD or rows.number(keys) == rows.size


def _grouped_count(header: Sequence[str], layout: FileLayout) -> str | None:
    """Return the column whose thousands have a sign between them."""
    named = [name for name in header if words_of(name) & COUNTS] if layout.thousands else []
    return min(named, key=lambda name: name.lower() not in STRONG, default=None)


class _Surveyor:
    """The steps of a survey, each of which leaves fewer columns."""

    def __init__(self, rows: Rows, keep: tuple[str, ...], layout: FileLayout) -> None:
        self.rows, self.keep, self.layout = rows, keep, layout
        self.made = {*keep, *layout.derive, *(() if layout.wide is None else layout.wide.attributes)}
        """Columns that are asked for, or made of others."""
        self.left = dict(layout.left_out)
        self.doubts = list(layout.doubts)
        for name, kind in rows.unusable.items():
            self.left[name] = f"holds values of the type {kind}, which are no levels"
        self.head = {name: rows.head[name].unique() for name in rows.head.columns}

    def numeric(self, name: str, pattern: str = _NUMBER) -> bool:
        """Whether the values of a column are numbers, and no codes of one length with zeros in front."""
        values = self.head[name].filter(self.head[name] != "")
        coded = (
            values.str.starts_with("0")
            & (values.str.len_chars() > 1)
            & ~values.str.contains(".", literal=True)
        )
        return len(values) > 0 and bool(values.str.contains(pattern).all()) and not coded.any()

    def many(self, name: str) -> bool:
        """Whether a column has too many values to be an attribute of records."""
        most = MOST_NUMBERS if self.numeric(name) else MOST_NAMES
        number = len(self.head[name])
        return number > most or (self.rows.size > 20 and number > min(self.rows.size, HEAD) / 2)

    def done(self) -> tuple[DataProposal, pl.DataFrame]:
        """Return what was found."""
        names = [name for name in self.head if not self._unusable(name)]
        count, aggregate = self._count(names)
        cells = self._keys(names, count) if count is not None else self._attributes(names)
        if count is None and self.rows.size > HEAD:
            cells = self._few_enough(cells)
        groups = self.rows.groups(cells, count)
        omit: dict[str, tuple[str, ...]] = {}
        if count is not None:
            omit, groups = self._totals(cells, groups)
            for name in names:
                if name not in cells and name != count:
                    self.left.setdefault(
                        name, f"is not needed to tell the rows apart, and {count} is what is counted"
                    )
        frame = groups.levels
        codes, prefixes = self._geography(cells, frame)
        cells = [name for name in cells if name != codes]
        cells = self._different(cells, frame)
        missing = sorted(
            {value for name in cells for value in frame[name].unique() if _folded(value) in NO_VALUE}
        )
        frame = frame.select([*cells, *filter(None, (codes,))])
        known = frame
        if missing:
            frame = frame.with_columns(pl.col(cells).replace(missing, [MISSING] * len(missing)))
            frame = frame.unique(maintain_order=True)
        levels = {name: tuple(frame[name].unique(maintain_order=True).to_list()) for name in cells}
        if count is None or not self.rows.listed:
            levels = {name: ordered_levels(own) for name, own in levels.items()}
        levels = {
            name: tuple(sorted(own, key=lambda level: level == MISSING)) for name, own in levels.items()
        }
        cells, within = self._nested(frame, levels, listed=count is not None)
        cells = self._small_enough(cells, levels, within, records=count is None)
        within = {inner: outer for inner, outer in within.items() if inner in cells and outer in cells}
        missing = [code for code in missing if any(known[name].is_in([code]).any() for name in cells)]
        frame = frame.select([*cells, *filter(None, (codes,))]).unique(maintain_order=True)
        layout = self.layout
        if groups.times is not None and not aggregate:
            aggregate = frame.height < int(groups.times.sum())
        found = DataProposal(
            {name: levels[name] for name in cells},
            count,
            within,
            prefixes,
            codes,
            tuple(missing),
            aggregate,
            omit,
            {name: why for name, why in self.left.items() if name not in cells},
            layout.wide,
            {name: one for name, one in layout.derive.items() if name in cells},
            layout.thousands,
            tuple(self.doubts),
        )
        return found, frame

    def _unusable(self, name: str) -> bool:
        """Leave out what is no attribute and no count, whatever the rows are."""
        if name in self.keep:
            self.left.pop(name, None)
        if name in self.left or name in self.made:
            return name in self.left
        if not name.strip():
            self.left[name] = "has no name"
        elif len(self.head[name]) == 1 and self.rows.number([name]) == 1:
            self.left[name] = ONE_LEVEL
        elif looks_like_id(name, len(self.head[name]), min(self.rows.size, HEAD)):
            self.left[name] = AN_ID
            if len(self.head[name]) < self.rows.head.height:
                self.doubts.append(
                    f"{in_quotes(name)} stands on several rows: set"
                    f" {assigned('unit', 'person')} and records_per_unit in {setting('privacy')}, the most"
                    " that one may have, or leave out rows."
                )
        elif self.numeric(name) and not self.numeric(name, _WHOLE):
            self.left[name] = (
                f"holds numbers with fractions or signs: bins in {setting('data.recode')} would make levels"
            )
            if name.lower() in STRONG:
                self.doubts.append(
                    f"{in_quotes(name)} is called a count and has numbers that count nobody, below zero, with"
                    f" fractions or of too many digits: correct them, and set {assigned('count', name)} in"
                    f" {setting('data')}, unless every row is one record."
                )
        return name in self.left

    def _count(self, names: list[str]) -> tuple[str | None, bool]:
        """Return the column of counts, if rows are cells, and whether cells are listed several times."""
        if (known := self.layout.count) is not None:
            return known, False
        dates = [one.source for one in self.layout.derive.values()]
        whole = [name for name in names if name not in self.keep and self.numeric(name, _WHOLE)]
        named = [name for name in whole if words_of(name) & COUNTS]
        named.sort(key=lambda name: name.lower() not in STRONG)
        keys = self._keys_of(names, named)
        if _tell_apart(self.rows, [*keys, *dates]):
            for name in named:
                outer = next((key for key in keys if self._follows(name, key)), None)
                if outer is None:
                    return name, False
                self.left[name] = f"is one number for each {outer}, so it counts nobody in a row"
            measures = [name for name in whole if name not in keys and name not in named]
            product = 1
            for key in keys:
                product *= len(self.head[key])
            if len(measures) == 1 and product <= 4 * self.rows.size:
                (name,) = measures
                self.doubts.append(
                    f"{in_quotes(name)} is taken for the column of counts, as all others tell the rows apart:"
                    f" take count out of {setting('data')} if every row is one record."
                )
                return name, False
        strong = next((name for name in named if name.lower() in STRONG), None)
        return strong, strong is not None

    def _keys_of(self, names: Sequence[str], named: Sequence[str]) -> list[str]:
        """Return the columns that tell rows of counts apart: names and codes, else numbers as well."""
        numbers = [
            name
            for name in names
            if name not in self.made and self.numeric(name) and not words_of(name) & _CODES
        ]
        keys = [name for name in names if name not in named and name not in numbers]
        if self.layout.count is not None or _tell_apart(self.rows, keys):
            return keys
        return [name for name in names if name in keys or (name not in named and not self.many(name))]

    def _keys(self, names: list[str], count: str) -> list[str]:
        named = [name for name in names if self.numeric(name, _WHOLE) and words_of(name) & COUNTS]
        found = [name for name in self._keys_of(names, named) if name != count]
        if found:
            return found
        back = self._back(AN_ID) or self._back(ONE_LEVEL)
        if not back:
            raise DataError(
                f"{self.rows.name} has counts in {in_quotes(count)} and no column that says of whom: name"
                f" one in {option('keep')}, or add one."
            )
        return back

    def _back(self, why: str) -> list[str]:
        """Take back the first column that was left out for a reason, where there is no better one."""
        found = [name for name, reason in self.left.items() if reason == why][:1]
        for name in found:
            del self.left[name]
        return found

    def _follows(self, name: str, key: str) -> bool:
        """Whether a key that several rows share tells a number."""
        if self.rows.head.select(key, name).n_unique() > self.rows.head[key].n_unique():
            return False
        levels = self.rows.number([key])
        return 1 < levels < self.rows.size / 2 and self.rows.number([key, name]) == levels

    def _attributes(self, names: list[str]) -> list[str]:
        """Return the attributes of records."""
        found = []
        for name in names:
            if name in self.keep or not (self.many(name) or (self.rows.size > HEAD and self._grew(name))):
                found.append(name)
                continue
            self.left[name] = (
                f"has more values than a table has room for: {setting('data.recode')} would make levels"
                if self.numeric(name)
                else "has more values than a table has room for: recode it, or name it in cells"
            )
        found = found or self._back(ONE_LEVEL)
        if not found:
            raise DataError(
                f"{self.rows.name} has no column that looks like an attribute: name one with"
                f" {option('keep')}."
            )
        return found

    def _grew(self, name: str) -> bool:
        return self.rows.number([name]) > (MOST_NUMBERS if self.numeric(name) else MOST_NAMES)

    def _totals(self, cells: list[str], groups: RowGroups) -> tuple[dict[str, tuple[str, ...]], RowGroups]:
        """Find levels whose rows sum to all others, and take these rows away."""
        found: dict[str, tuple[str, ...]] = {}
        for name in cells:
            for level in groups.levels[name].unique():
                if _folded(level) not in TOTALS or groups.sums is None:
                    continue
                total = groups.levels[name] == level
                mask = total.to_numpy()
                if groups.sums[mask].sum() == groups.sums[~mask].sum() and not mask.all():
                    found[name] = (level,)
                    groups = groups.only(~total)
                    break
        return found, groups

    def _geography(self, cells: list[str], frame: pl.DataFrame) -> tuple[str | None, dict[str, int]]:
        """Find a column of census codes, whose first characters name the levels above."""
        for name in cells:
            values = frame[name]
            lengths = values.str.len_chars().unique().to_list()
            if len(lengths) == 1 and lengths[0] in (11, 12, 15) and values.str.contains(r"^\d+$").all():
                prefixes = {level: size for level, size in CENSUS.items() if size <= lengths[0]}
                if not any(other in prefixes for other in cells if other != name):
                    roots = values.str.slice(0, 2).n_unique()
                    return name, {"all": 0, **prefixes} if roots > 1 else prefixes
        return None, {}

    def _different(self, cells: list[str], frame: pl.DataFrame) -> list[str]:
        """Leave out columns that have one level for each level of another."""
        levels = {name: frame[name].n_unique() for name in cells}
        for one, other in combinations(cells, 2):
            if one in self.left or other in self.left or levels[one] != levels[other] or levels[one] == 1:
                continue
            if frame.select(one, other).head(HEAD).n_unique() > levels[one]:
                continue
            if frame.select(one, other).n_unique() == levels[one]:
                second = other if self._worth(one) >= self._worth(other) else one
                if second not in self.keep:
                    first = one if second == other else other
                    self.left[second] = f"tells the same as {first}: one level for each of its levels"
        return [name for name in cells if name not in self.left]

    def _worth(self, name: str) -> tuple[bool, bool]:
        """Rank columns that say the same: what is asked for comes first, then names."""
        return name in self.keep, not self.head[name].str.contains(r"^[0-9]*$").all()

    def _nested(
        self, frame: pl.DataFrame, levels: Mapping[str, tuple[str, ...]], *, listed: bool
    ) -> tuple[list[str], dict[str, str]]:
        """Return the cells, and what each lies in; what merely labels a level of another is left out."""
        if not levels:
            return [], {}
        attributes = Attributes.of(levels)
        codes = [frame[name].cast(pl.Enum(own)).to_physical().to_numpy() for name, own in levels.items()]
        records = Records(attributes, tuple(codes))
        sizes = {name: len(own) for name, own in levels.items()}
        outers: dict[str, list[str]] = {}
        for inner in levels:
            outers[inner] = [
                outer
                for outer in levels
                if outer != inner
                and 2 <= sizes[outer] < sizes[inner]
                and sizes[inner] >= 3
                and looks_nested(records.column(inner), records.column(outer), sizes[inner], listed=listed)
            ]
        within: dict[str, str] = {}
        for inner in sorted(levels, key=lambda name: -sizes[name]):
            if inner in self.left:
                continue
            chain: list[str] = []
            for outer in sorted(outers[inner], key=lambda name: (name not in self.keep, sizes[name])):
                if outer in self.left:
                    continue
                if all(outer in outers[one] or one in outers[outer] for one in chain):
                    chain.append(outer)
                elif outer not in self.keep:
                    self.left[outer] = f"follows from {inner}: each {inner} has one {outer}"
            if chain:
                within[inner] = max(chain, key=lambda name: sizes[name])
        return [name for name in levels if name not in self.left], within

    def _small_enough(
        self,
        cells: list[str],
        levels: Mapping[str, tuple[str, ...]],
        within: Mapping[str, str],
        *,
        records: bool,
    ) -> list[str]:
        """Leave out attributes that make a table of more cells than there is a use for."""
        most = self._room(records=records)
        taken: list[str] = []
        for name in sorted(cells, key=lambda one: one not in self.keep):
            size = 1
            outer = {within[one] for one in (*taken, name) if one in within}
            for one in (*taken, name):
                size *= 1 if one in outer else len(levels[one])
            if size <= most or not taken or name in self.keep:
                taken.append(name)
            else:
                self.left[name] = _too_thin(size)
        return [name for name in cells if name in taken]

    def _few_enough(self, cells: list[str]) -> list[str]:
        """Leave out what makes too many cells, before all rows are grouped: the first tell what follows."""
        sizes = {name: self.rows.number([name]) for name in cells}
        taken: list[str] = []
        for name in sorted(cells, key=lambda one: one not in self.keep):
            free: list[str] = []
            for one in sorted((*taken, name), key=lambda one: -sizes[one]):
                if not any(self._tells(other, one) for other in free):
                    free.append(one)
            size = prod(sizes[one] for one in free)
            if size <= self._room(records=True) or not taken or name in self.keep:
                taken.append(name)
            else:
                self.left[name] = _too_thin(size)
        return [name for name in cells if name in taken]

    def _tells(self, name: str, other: str) -> bool:
        """Whether each value of a column has one of another, on the first rows."""
        head = self.rows.head
        return head.select(name, other).n_unique() == len(self.head[name])

    def _room(self, *, records: bool) -> int:
        """Return how many cells there is a use for."""
        return min(MOST_CELLS, max(LEAST_CELLS, self.rows.size if records else 1_000 * self.rows.size))


def _too_thin(size: int) -> str:
    return f"would make the table one of {size:,} cells: too thin for its rows"


_CODES = frozenset({"fips", "code", "zip", "postcode", "geoid", "block", "tract", "ward", "district"})


def _folded(level: str) -> str:
    return re.sub(r"\s+", " ", level).strip().casefold()
