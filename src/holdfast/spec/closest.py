"""The way out of a misspelt name."""

from collections.abc import Iterable
from difflib import get_close_matches

_LISTED = 8
_COMPARED, _LONGEST = 10_000, 200
"""More names, or longer ones, are not looked through: an error comes at once."""


_ALIKE = 0.75
"""The share of letters that a slip of the pen leaves: other words, as race and tract, share fewer."""


def closest(word: str, known: Iterable[str]) -> str:
    """Return advice that ends a sentence about an unknown word: the nearest known one, or what there is.

    >>> closest("conty", ["county", "education"])
    "did you mean 'county'?"
    >>> closest("laplace", ["lattice-laplace", "lattice-gaussian"])
    "did you mean 'lattice-laplace'?"
    >>> closest("race", ["county", "tract"])
    "choose from 'county', 'tract'."
    """
    names = list(known)
    some = names[:_COMPARED] if len(word) <= _LONGEST else []
    folded = {name.casefold(): name for name in reversed(some)}
    near = get_close_matches(word.casefold(), folded, n=1, cutoff=_ALIKE) or _parts(word.casefold(), folded)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    if not names:
        return "there is none to choose from."
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return "choose from " + ", ".join(repr(name) for name in names[:_LISTED]) + f"{more}."


def _parts(word: str, names: Iterable[str]) -> list[str]:
    """Return the names of which a word is a part between hyphens or underscores, if there is one only."""
    found = [name for name in names if word in name.replace("_", "-").split("-")]
    return found if len(found) == 1 else []
