"""What was published: a TOML file of tables with the rule of each, or plain files with one rule.

[[published]]
path = "by_county_sex.csv"
attributes = ["county", "sex"]
count = "people"
rule = "rounded"
base = 5
[population]
attributes = ["county", "sex", "age"]
group = { facts = "age", largest = 5 }
[coarsen]
method = "suppression"
narrow = 3
"""

import re
from collections.abc import Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from holdfast.spec.load import read_toml
from holdfast.spec.part import Part, Text
from holdfast.spec.values import require_distinct
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import of_a_file

Rule = Literal["exact", "rounded", "suppressed", "coarsened", "top-coded"]
RULES: tuple[Rule, ...] = ("exact", "rounded", "suppressed", "coarsened", "top-coded")
Names = Annotated[tuple[Text, ...], Field(min_length=1)]
MOST = 2**40
"""Counts and bases beyond it are refused: no table counts more, and sums of many still fit."""
COUNT = re.compile(r"\d{1,13}(\.0{1,6})?", re.ASCII)
"""A published count as text."""
Size = Annotated[int, Field(strict=True, ge=1, le=MOST)]


class PublishedTable(Part):
    """One published table, and the rule that its numbers follow.

    ``base`` and ``method`` are those of rounding, ``below``, ``symbol``, ``secondary`` and ``zeros`` those of
    suppression, ``top`` is where counts are cut off. ``merged`` says for an attribute what levels stand for.
    """

    section: ClassVar = ("published",)

    path: Text
    attributes: Names | None = None
    count: Text | None = None
    rule: Rule = "exact"
    base: Size | None = None
    method: Literal["nearest", "random", "up", "down", "drb"] = "nearest"
    below: Size | None = None
    symbol: Text = "*"
    secondary: Text | None = None
    zeros: Literal["shown", "hidden"] = "shown"
    top: Size | None = None
    merged: Mapping[str, Mapping[str, Names]] = {}

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, values: Any) -> Any:
        """Take the rule of the board for the method of rounding that it is."""
        if isinstance(values, Mapping) and values.get("rule") == "drb":
            return {**values, "rule": "rounded", "method": values.get("method", "drb")}
        return values

    @field_validator("rule", mode="before")
    @classmethod
    def _spelled(cls, value: Any) -> Any:
        return "top-coded" if value in ("topcoded", "top_coded") else value

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.attributes is not None:
            require_distinct(self.attributes, "attributes ")
            if self.count in self.attributes:
                raise ValueError(f"count {self.count!r} is one of the attributes: leave it out of them")
        for key, rules in (
            ("base", ("rounded",)),
            ("below", ("suppressed",)),
            ("top", ("top-coded",)),
        ):
            given = getattr(self, key) is not None
            needed = self.rule in rules and not (key == "base" and self.method == "drb")
            if needed and not given:
                raise ValueError(f"{key} is missing, which the rule {self.rule!r} needs: add it")
            if given and not needed:
                raise ValueError(f"{key} is of no use with the rule {self.rule!r}: leave it out")
        for key in ("symbol", "secondary"):
            if (sign := getattr(self, key)) is not None and COUNT.fullmatch(sign.strip()):
                raise ValueError(
                    f"{key} is {sign!r}, which reads as a count: name a sign that is no number, such as '*'"
                )
        if self.rule != "rounded" and self.method != "nearest":
            raise ValueError(f"method is of no use with the rule {self.rule!r}: leave it out")
        return self


class GroupFacts(Part):
    """Small groups about which something may follow for everyone in them."""

    section: ClassVar = ("population",)

    facts: Text
    largest: Size = 5


class Population(Part):
    """The cells that are asked about; all attributes together unless some are named.

    ``hierarchies`` names a file of nested levels for an attribute, ``within`` an attribute that another lies
    in; ``narrow`` is the width below which an interval is told.
    """

    section: ClassVar = ("population",)

    attributes: Names | None = None
    group: GroupFacts | None = None
    hierarchies: Mapping[str, Text] = {}
    within: Mapping[str, Text] = {}
    narrow: Size = 3


class Coarsen(Part):
    """What coarsening may do, and what it must reach.

    Attributes:
        method: one way; all three are tried unless one is named.
        narrow: the width that the interval of every asked-for cell must have.
        below: only cells with somebody and counts below it must have that; unless it is given, those that a
            rule hides by itself, or without such a rule all with somebody.
        attributes: those that may be recoded; ordered and nested ones unless some are named.
        bases: what rounding may be to, the first that is enough is taken.
        cost: what is lost with a hidden number: one number, or the people that it counts.
        keep: paths of tables that stay as they are.
        totals: whether each table is to have all its totals, as the file holds inner cells alone.
        records: whether the files hold a person a row.

    """

    section: ClassVar = ("coarsen",)

    method: Literal["suppression", "recoding", "rounding"] | None = None
    narrow: Size = 3
    below: Size | None = None
    attributes: Names | None = None
    bases: Annotated[tuple[Size, ...], Field(min_length=1)] = (3, 5, 10, 15, 20, 25, 50, 100)
    cost: Literal["numbers", "people"] = "numbers"
    keep: tuple[Text, ...] = ()
    totals: Annotated[bool, Field(strict=True)] = False
    records: Annotated[bool, Field(strict=True)] = False


class PublicationSpec(Part):
    """All that was published of one population."""

    published: Annotated[tuple[PublishedTable, ...], Field(min_length=1, max_length=1000)]
    population: Population = Population()
    coarsen: Coarsen = Coarsen()
    folder: Path = Path()
    """What paths are relative to."""

    @classmethod
    def of(cls, values: Mapping[str, Any], *, folder: Path = Path()) -> Self:
        """Return the values of a TOML file as a spec."""
        if "folder" in values:
            raise SpecError("the spec has an unknown key 'folder': paths are relative to the spec itself.")
        known = [name for name in cls.model_fields if name != "folder"]
        for key in values:
            if key not in known:
                raise SpecError(f"the spec has an unknown key {key!r}: {closest(str(key), known)}")
        return cls(**{**values, "folder": folder})

    @classmethod
    def of_files(cls, paths: Sequence[str | Path], rule: Mapping[str, Any]) -> Self:
        """Return the spec of plain files that all follow one rule."""
        return cls(published=tuple(PublishedTable(path=str(path), **rule) for path in paths))

    def seen_from(self, folder: Path) -> "PublicationSpec":
        """Return the same with paths that are relative to another folder."""

        def there(path: str) -> str:
            return Path(relpath((self.folder / path).absolute(), folder.absolute())).as_posix()

        tables = tuple(one.model_copy(update={"path": there(one.path)}) for one in self.published)
        nested = {name: there(path) for name, path in self.population.hierarchies.items()}
        population = self.population.model_copy(update={"hierarchies": nested})
        return self.model_copy(update={"published": tables, "population": population, "folder": folder})


def read_publication_spec(path: str | Path) -> PublicationSpec:
    """Return the spec in a TOML file; paths in it are relative to its folder."""
    path, values = read_toml(path)
    try:
        with of_a_file():
            return PublicationSpec.of(values, folder=path.parent)
    except SpecError as error:
        raise SpecError(f"{path}, {error}") from None


_UNKNOWN = (
    "the rule {!r} is not known: write exact, rounded:5, rounded:3:random, drb, suppressed:10, top-coded:100"
    " or coarsened."
)


def rule_of(text: str) -> dict[str, Any]:
    """Return a rule that is written on one line, as keys of a published table.

    >>> rule_of("rounded:5"), rule_of("rounded:3:random"), rule_of("suppressed:10"), rule_of("drb")
    ({'rule': 'rounded', 'base': 5}, {'rule': 'rounded', 'base': 3, 'method': 'random'}, \
{'rule': 'suppressed', 'below': 10}, {'rule': 'rounded', 'method': 'drb'})
    """
    name, *rest = text.split(":")
    if name == "drb":
        name, rest = "rounded", ["drb", *rest]
    key = {"rounded": "base", "suppressed": "below", "top-coded": "top"}.get(name)
    found: dict[str, Any] = {"rule": name}
    words = {"rounded": "method", "suppressed": "zeros"}
    for word in rest:
        number = word.isascii() and word.isdigit() and len(word) < 14
        of = key if number else words.get(name)
        if of is None or of in found:
            raise SpecError(_UNKNOWN.format(text))
        found[of] = int(word) if number else word
    try:
        PublishedTable(path="-", **found)
    except (SpecError, ValidationError):
        raise SpecError(_UNKNOWN.format(text)) from None
    return found
