"""Options that take several words, which the parser of arguments takes one at a time."""

from collections.abc import Sequence

SEVERAL = ("--geography",)


def one_by_one(arguments: Sequence[str]) -> list[str]:
    """Return arguments in which each word of such an option has the option before it.

    The folder of the command comes first; where it does not, it is the last word.

    >>> one_by_one(["intervals", "DIR", "--geography", "44001", "44003", "--json"])
    ['intervals', 'DIR', '--geography', '44001', '--geography', '44003', '--json']
    """
    found: list[str] = []
    option, rest, told = None, list(arguments), False
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            option = word if word in SEVERAL else None
            found.append(word)
            told = False
        elif option is None or not told:
            found.append(word)
            told = True
        elif not rest and not _has_folder(arguments):
            found.append(word)
        else:
            found += [option, word]
    return found


def _has_folder(arguments: Sequence[str]) -> bool:
    """Whether a command is followed by a word that is no option."""
    return len(arguments) > 1 and not arguments[1].startswith("-")
