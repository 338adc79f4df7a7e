"""What everybody should be told of a release, from the JSON of its certificate: nothing heavy is loaded.

The words of these claims stand here, so that a quick look at a release can tell them.
"""

from collections.abc import Callable, Iterator, Mapping
from math import ceil, floor
from typing import Any

SEEDED = (
    "THIS RELEASE PROTECTS NOBODY: it was drawn from a seeded generator, for tests and studies only, and"
    " whoever knows the seed can take the noise off again, or undo the swap."
)
UNREADABLE = "The certificate warns of something that cannot be put into words here: look at its verdict."
WEAK = 0.99
"""How often a guess from even odds may be right at most: beyond it there is the name of protection alone."""
DIGITS = 10**6
NEARLY_ALL = 0.999
"""Chances beyond this, and below what it leaves, are told by it: none is 100 %, or 0."""
NEXT_TO_NONE = 0.0005
"""Chances below this are no lower bound worth telling."""


def warnings_of(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what everybody should be told of a release, however well it is kept, and of its parts."""
    randomness = content.get("randomness")
    secure = isinstance(randomness, dict) and randomness.get("secure") is True
    found = [*(() if secure else (SEEDED,)), *_little(content)]
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else ():
        alone = part.get("alone") if isinstance(part, dict) else None
        found += [f"{part.get('name')}: {said}" for said in _little(alone)]
    return tuple(found)


def _little(content: object) -> Iterator[str]:
    """Yield how little a release protects, as far as what is written of it can be read."""
    verdict = content.get("verdict") if isinstance(content, dict) else None
    found = verdict.get("warnings") if isinstance(verdict, dict) else None
    for one in found if isinstance(found, list) else ():
        try:
            yield WORDS[one["id"]](**one["parameters"])
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
            yield UNREADABLE  # no warning is lost because it cannot be read


def hardly_changed(
    what: str, low: float, high: float, cell_low: float | None, cell_high: float | None
) -> str:
    """Say that noise leaves most of what is released as it is."""
    cell = ""
    if cell_low is not None and cell_high is not None:
        cell = f"a single count stays with a chance of {chance(cell_low, cell_high)}, and "
    return (
        f"The noise hardly changes anything: {cell}the whole {what} is published as it is with a chance of"
        f" {chance(low, high)}."
    )


def next_to_nothing() -> str:
    """Say that a guarantee is one in name only."""
    return (
        "The guarantee promises next to nothing: a guess from even odds may be right with a probability of"
        f" more than {percent(WEAK)}."
    )


WORDS: Mapping[str, Callable[..., str]] = {
    "hardly-changed": hardly_changed,
    "next-to-nothing": next_to_nothing,
}
"""The warnings of a verdict by their ids."""


def chance(low: float, high: float) -> str:
    """Return a chance in words, its bounds rounded outward.

    >>> chance(0, 0.1234), chance(0.9001, 1), chance(0.5, 0.61)
    ('at most 12.4 %', 'at least 90 %', '50 % to 61 %')
    >>> chance(0.999455, 0.999456), chance(0, 1e-6)
    ('more than 99.9 %', 'less than 0.1 %')
    """
    if low > NEARLY_ALL:
        return f"more than {percent(NEARLY_ALL)}"
    if high < 1 - NEARLY_ALL:
        return f"less than {percent(1 - NEARLY_ALL)}"
    if high - low <= 2 / DIGITS:
        return percent(high)
    if low < NEXT_TO_NONE:
        return f"at most {percent(high)}"
    least = f"{floor(1000 * low + 1e-6) / 10:g} %"
    return f"at least {least}" if high >= 1 else f"{least} to {percent(high)}"


def percent(share: float) -> str:
    """Return a share in percent, to a tenth.

    >>> percent(0.7311), percent(1.0), percent(0.99999)
    ('73.2 %', '100 %', '100 %')
    """
    return f"{tenths(share):g} %"


def tenths(share: float) -> float:
    """Return a share in percent, rounded up to a tenth."""
    return ceil(1000 * share - 1e-6) / 10
