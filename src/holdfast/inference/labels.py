"""Selections of counts in words, as people write them: ``county=Alpha,sex=female``.

Attributes that are not named are summed over. Several levels of one stand between bars, ``sex=f|m``, or the
attribute is named again; ``age=18..64`` are the levels from 18 to 64, and either end may be left out. Text
that is a level is that level, whatever it holds: ``place=Washington, DC`` is one. ``total`` selects all.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from holdfast.data.levels import number
from holdfast.data.schema import Attribute
from holdfast.spec.values import Choice, Range, levels_or_range
from holdfast.system.errors import SpecError
from holdfast.system.text import closest, in_quotes

Selection = str | Mapping[str, Choice]
"""Some cells: in words, or for each attribute its levels or a range."""
EVERYTHING = ("", "total")
_NUMBER = r"([-+]?\d{1,18}(?:\.\d{1,18})?)?"
_RANGE = re.compile(rf"{_NUMBER}\s*\.\.\s*{_NUMBER}", re.ASCII)


def selected(given: Selection, known: Mapping[str, Attribute], place: str) -> dict[str, tuple[str, ...]]:
    """Return the levels of each attribute that a selection names, of the known ones; none for everything.

    ``place`` says where the selection stands, for the message when it makes no sense.

    >>> from holdfast.data.schema import Attributes
    >>> known = Attributes.of({"age": ["0", "18", "65"], "place": ["Boston", "Washington, DC"], "sex": "fm"})
    >>> selected("place=Washington, DC,age=18..,sex=f|m", {each.name: each for each in known}, "difference")
    {'place': ('Washington, DC',), 'age': ('18', '65'), 'sex': ('f', 'm')}
    """
    if isinstance(given, str):
        return _of_text(given, known, place)
    found = {}
    for name, choice in given.items():
        attribute = _attribute(name, known, place)
        try:
            wanted = levels_or_range(choice)
        except ValueError as error:
            raise SpecError(f"{place} {name} {error}.") from None
        if isinstance(wanted, Range):
            found[name] = _within(attribute, Fraction(str(wanted.low)), Fraction(str(wanted.high)), place)
        else:
            found[name] = _listed(attribute, wanted, place)
    return found


def _of_text(text: str, known: Mapping[str, Attribute], place: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    pieces = [] if text.strip() in EVERYTHING else text.split(",")
    while pieces:
        name, equals, first = (part.strip() for part in pieces.pop(0).partition("="))
        if not equals:
            raise SpecError(f'{place} {in_quotes(text)} is not a selection: write it as "sex=f,age=18".')
        attribute = _attribute(name, known, place)
        value = _value(first, pieces, set(attribute.levels))
        found[name] = tuple(dict.fromkeys([*found.get(name, ()), *_levels(attribute, value, place)]))
    return found


def words(where: Mapping[str, Sequence[str]]) -> str:
    """Return a selection in words.

    >>> words({"county": ["Alpha"], "sex": ["f", "m"]}), words({})
    ('county=Alpha,sex=f|m', 'total')
    """
    return ",".join(f"{name}={'|'.join(levels)}" for name, levels in where.items()) or "total"


def _attribute(name: str, known: Mapping[str, Attribute], place: str) -> Attribute:
    if name not in known:
        raise SpecError(
            f"{place} names {in_quotes(name)}, which is no attribute of the release: {closest(name, known)}"
        )
    return known[name]


def _value(first: str, pieces: list[str], levels: set[str]) -> str:
    """Take from the pieces between commas what belongs to a level, and return it whole."""
    for end in range(len(pieces), -1, -1):
        text = ",".join([first, *pieces[:end]]).strip()
        if text in levels:
            del pieces[:end]
            return text
    while pieces and "=" not in pieces[0]:
        first = f"{first},{pieces.pop(0)}"
    return first.strip()


def _levels(attribute: Attribute, text: str, place: str) -> tuple[str, ...]:
    if text in attribute.levels:
        return (text,)
    bounds = _RANGE.fullmatch(text)
    if bounds and any(bounds.groups()):
        low, high = (None if end is None else number(end) for end in bounds.groups())
        return _within(attribute, low, high, place)
    return _listed(attribute, [level.strip() for level in text.split("|")], place)


def _listed(attribute: Attribute, levels: Sequence[str], place: str) -> tuple[str, ...]:
    for level in levels:
        if level not in attribute.levels:
            raise SpecError(
                f"{place} names the level {in_quotes(level)}, which {attribute.name} does not have:"
                f" {closest(level, attribute.levels)}"
            )
    return tuple(dict.fromkeys(levels))


def _within(attribute: Attribute, low: Fraction | None, high: Fraction | None, place: str) -> tuple[str, ...]:
    numbers = {level: number(level) for level in attribute.levels}
    found = tuple(
        level
        for level, value in numbers.items()
        if value is not None and (low is None or value >= low) and (high is None or value <= high)
    )
    if not found:
        raise SpecError(
            f"{place} has a range in which {attribute.name} has no level: widen it, or list the levels, of"
            f" {', '.join(map(in_quotes, attribute.levels[:3]))} and so on."
        )
    return found
