"""The way out of a misspelt name."""

from collections.abc import Iterable
from difflib import get_close_matches

_LISTED = 8
_COMPARED, _LONGEST = 10_000, 200
"""More names, or longer ones, are not looked through: an error comes at once."""


def closest(word: str, known: Iterable[str]) -> str:
    """Return advice that ends a sentence about an unknown word: the nearest known one, or what there is.

    >>> closest("conty", ["county", "education"])
    "did you mean 'county'?"
    >>> closest("sex", ["county", "education"])
    "choose from 'county', 'education'."
    """
    names = list(known)
    some = names[:_COMPARED] if len(word) <= _LONGEST else []
    near = get_close_matches(word, some, n=1)
    if not near:
        folded = {name.casefold(): name for name in some}
        near = get_close_matches(word.casefold(), folded, n=1)
        near = [folded[match] for match in near]
    if near:
        return f"did you mean {near[0]!r}?"
    if not names:
        return "there is none to choose from."
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return "choose from " + ", ".join(repr(name) for name in names[:_LISTED]) + f"{more}."
