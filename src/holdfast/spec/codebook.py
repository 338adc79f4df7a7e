"""What the levels of attributes in files of measurements are called, and what recodes put together.

The files name attributes and recodes, and give nothing but sizes of them. Levels of the 2020 products are
known here, in the order of their histograms; others are told by a file, or are called 0, 1, 2, ...
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from holdfast.spec.census import FACILITIES, INSTITUTIONAL, OTHER, RACES
from holdfast.system.errors import DataError

Groups = Mapping[str, tuple[int, ...]]
"""New levels, each with the places of the levels that it puts together."""


@dataclass(frozen=True)
class Recode:
    """Levels of an attribute that are put together, by name; those that none names are left out."""

    attribute: str
    groups: Groups


@dataclass(frozen=True)
class Codebook:
    """Levels by attribute, and recodes by name."""

    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recodes: Mapping[str, Recode] = field(default_factory=dict)

    def named(self, attribute: str, size: int) -> tuple[str, ...]:
        """Return the levels of an attribute of so many; numbers from 0 where they are not known."""
        known = self.levels.get(attribute, ())
        return known if len(known) == size else tuple(map(str, range(size)))

    def with_file(self, path: Path | None) -> "Codebook":
        """Return this codebook with what a TOML file says before it."""
        if path is None:
            return self
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise DataError(f"{path} cannot be read: name a codebook, a TOML file.") from None
        except tomllib.TOMLDecodeError as error:
            raise DataError(f"{path} is not TOML ({error}): correct it.") from None
        levels = dict(self.levels)
        for name, each in _table(content, "levels", path).items():
            if not isinstance(each, list) or len(set(map(str, each))) < max(1, len(each)):
                raise DataError(
                    f"{path}, [levels] {name} is no list of different levels: write them in order."
                )
            levels[name] = tuple(map(str, each))
        recodes = dict(self.recodes)
        for name, each in _table(content, "recodes", path).items():
            recodes[name] = _recode(name, each, levels, path)
        if unknown := set(content) - {"levels", "recodes"}:
            raise DataError(
                f"{path} has [{min(unknown)}], which is not known: write [levels] and [recodes.NAME]."
            )
        return Codebook(levels, recodes)

    def text(self) -> str:
        """Return it as TOML."""
        lines = ["[levels]"]
        lines += [f"{_quoted(name)} = {_quoted(list(each))}" for name, each in self.levels.items()]
        for name, recode in self.recodes.items():
            known = self.levels[recode.attribute]
            groups = ", ".join(
                f"{_quoted(new)} = {_quoted([known[place] for place in some])}"
                for new, some in recode.groups.items()
            )
            lines += ["", f"[recodes.{_quoted(name)}]", f"of = {_quoted(recode.attribute)}"]
            lines.append(f"groups = {{ {groups} }}")
        return "\n".join(lines) + "\n"


def _quoted(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _table(content: Mapping[str, Any], name: str, path: Path) -> Mapping[str, Any]:
    found = content.get(name, {})
    if not isinstance(found, dict):
        raise DataError(f"{path}, {name} is no section: write [{name}].")
    return found


def _recode(name: str, given: Any, levels: Mapping[str, tuple[str, ...]], path: Path) -> Recode:
    said = f'{path}, [recodes.{name}] needs of = "ATTRIBUTE" and groups = {{ NEW = ["LEVEL", ...], ... }}'
    if not isinstance(given, dict) or set(given) != {"of", "groups"} or not isinstance(given["groups"], dict):
        raise DataError(f"{said}: write both.")
    attribute, groups = str(given["of"]), given["groups"]
    known = levels.get(attribute)
    if known is None:
        raise DataError(
            f"{path}, [recodes.{name}] is of {attribute!r}, whose levels are not told: add [levels]."
        )
    found: dict[str, tuple[int, ...]] = {}
    taken: set[str] = set()
    for new, some in groups.items():
        if not isinstance(some, list) or not some:
            raise DataError(f"{said}: {new} names no levels.")
        for level in map(str, some):
            if level not in known or level in taken:
                why = "names twice" if level in taken else "names"
                raise DataError(f"{path}, [recodes.{name}] {why} {level!r}: name levels of {attribute} once.")
            taken.add(level)
        found[new] = tuple(known.index(str(level)) for level in some)
    return Recode(attribute, found)


def _ranges(*bounds: int, last: int = 115) -> Groups:
    """Return ranges of ages that begin at some bounds."""
    ends = (*(bound - 1 for bound in bounds[1:]), last)
    return {
        str(low) if low == high else f"{low}-{high}": tuple(range(low, high + 1))
        for low, high in zip(bounds, ends, strict=True)
    }


def _places(known: tuple[str, ...], **groups: tuple[str, ...]) -> Groups:
    return {new.replace("_", "-"): tuple(map(known.index, some)) for new, some in groups.items()}


HHGQ = ("household", *FACILITIES)
_LATER = (20, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85, 90, 95, 100, 105, 110)
CENSUS_2020 = Codebook(
    levels={
        "hhgq": HHGQ,
        "votingage": ("0-17", "18+"),
        "hispanic": ("no", "yes"),
        "cenrace": tuple("".join(each) for size in range(1, 7) for each in combinations(RACES, size)),
        "h1": ("vacant", "occupied"),
        "sex": ("male", "female"),
        "age": tuple(map(str, range(116))),
    },
    recodes={
        "hhinstlevels": Recode(
            "hhgq",
            _places(HHGQ, household=("household",), institutional=INSTITUTIONAL, other=OTHER),
        ),
        "gqNursingTotal": Recode("hhgq", _places(HHGQ, nursing=("nursing",))),
        "nonvoting": Recode("votingage", {"0-17": (0,)}),
        "age_18_64_116": Recode("age", _ranges(0, 18, 65)),
        "age_10_groups": Recode("age", _ranges(0, 3, 15, 16, 17, 18, 20, 25, 30, 35)),
        "age_38_groups": Recode("age", _ranges(*range(16), 18, *_LATER)),
        "age_40_groups": Recode("age", _ranges(*range(19), *_LATER)),
    },
)
"""Persons and units of the redistricting data, and sex and age of the later product, in their order."""
