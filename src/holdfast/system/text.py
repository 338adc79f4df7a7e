"""Text of others, shown and read with care; numbers for people; the way out of a misspelt name.

What would steer a terminal or a page is shown as an escape: names and levels come from files, and a control
character among them could clear a screen, a newline add a line that looks like the program's own, a mark of
direction turn the text around it. JSON can nest farther than a program can follow: it is read in one place,
and no deeper than anything that is written here.

**One text for one value.** A hash speaks of a text, so a value must have exactly one. JSON is written in
ASCII with sorted keys and no spaces; a rational is in lowest terms, "1/2" or "3".
"""

import json
import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from difflib import get_close_matches
from fractions import Fraction
from math import floor, isfinite, log10
from typing import Any

_UNSEEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # controls: C0, DEL, C1
    "\xad\u061c\u180e\u200b-\u200f\u2060-\u206f\ufeff\ufff9-\ufffb"  # no width, and marks of direction
    "\u2028-\u202e"  # breaks of lines and paragraphs, turns of direction
    "\ud800-\udfff"  # halves of characters: bytes of a file name that are not UTF-8
    "\U000e0000-\U000e007f"  # tags
    "]"
)
_QUOTED = re.compile(r"""(?<![^\s(\[{=,])('[^']{81,}'|"[^"]{81,}")(?![^\s,.:;)\]}?])""")
"""A long value between quotation marks: a space or bracket before them, a space or the end after them."""


def visible(text: str) -> str:
    r"""Return a text in which everything can be seen, on one line.

    >>> print(visible("a\x1b[2Jb\nc"), visible("caf\xe9"))
    a\x1b[2Jb\nc café
    """
    return _UNSEEN.sub(_escaped, text)


def brief(sentence: str) -> str:
    """Return a sentence in which no quoted value is too long to be read: each without its middle.

    >>> brief(f"the level '{'x' * 500}' is unknown")
    "the level 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxx' is unknown"
    """
    return _QUOTED.sub(lambda match: f"{match[0][:31]}...{match[0][-21:]}", sentence)


def in_quotes(text: str, most: int = 60) -> str:
    """Return a text in quotation marks, its middle left out where it is long.

    >>> print(in_quotes("county"), in_quotes("x" * 100, 20))
    'county' 'xxxxxxxxxxxx...xxxxx' (100 letters)
    """
    if len(text) <= most:
        return repr(text)
    return f"{text[: most - 8] + '...' + text[-5:]!r} ({len(text):,} letters)"


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


DECIMALS = 12
"""Digits after the point of a decimal that people can read."""
SMALL = Fraction(1, 10**4)
"""Below it zeros are hard to count: 1e-10."""
PLAIN = 100
"""Fractions with a smaller denominator are how people write them."""
SHORT, ROUNDED = 6, 4
"""Digits of a numerator that are all told, and those that a longer one is rounded up to."""
LONG = 10**20
"""A fraction with a larger numerator or denominator tells nobody anything."""


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun, in the singular or the plural.

    >>> counted(1, "record"), counted(1200, "record"), counted(0, "entry", "entries")
    ('1 record', '1,200 records', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def rational(value: Fraction) -> str:
    """Return a rational for people: a decimal, and beside it the fraction where that tells more.

    >>> [rational(Fraction(text)) for text in ("2", "64/25", "999988419/1000000000", "1/3")]
    ['2', '2.56 (64/25)', '0.999988419', '0.333333 (1/3)']
    """
    if (whole := decimal(value)) is not None:
        return f"{whole} ({value})" if 1 < value.denominator < PLAIN else whole
    rounded = Context(prec=6).divide(Decimal(value.numerator), Decimal(value.denominator))
    near = f"{rounded.normalize():g}"
    return f"{near} ({value})" if max(abs(value.numerator), value.denominator) < LONG else f"about {near}"


def rounded_up(value: Fraction) -> str:
    """Return a rational for people, a long one rounded up to four digits.

    >>> [rounded_up(Fraction(text)) for text in ("2", "64/25", "4.999999999316", "0.224249167", "1/3")]
    ['2', '2.56 (64/25)', '5', '0.2243', '0.333333 (1/3)']
    """
    if len(f"{value.numerator}".rstrip("0")) <= SHORT or value.denominator < PLAIN:
        return rational(value)
    up = Context(prec=ROUNDED, rounding=ROUND_CEILING)
    return f"{up.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize():f}"


def with_error(value: float, error: float) -> str:
    """Return a signed number with its standard error, to the first digit of that.

    >>> [with_error(*each) for each in ((-160.31, 0.13), (0.0, 0.007), (-0.001, 0.02), (21.4, 2.3), (0, 0))]
    ['-160.3 +- 0.1', '0 +- 0.007', '0.00 +- 0.02', '+21 +- 2', '0']
    """
    if not error:
        return f"{value:+,.4g}" if value else "0"
    places = max(0, -floor(log10(error)))
    told = f"{value:+,.{places}f}" if value else "0"
    return f"{told if float(told.replace(',', '')) else told.lstrip('+-')} +- {error:,.{places}f}"


def plain_number(value: float) -> str:
    """Return a size for people: three digits, and all of those before the point.

    >>> [plain_number(value) for value in (0.01234, 7.0, 7.125, 99.96, 1259.7, -0.0)]
    ['0.0123', '7', '7.12', '100', '1,260', '0']
    """
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:z.3g}"


def decimal(value: Fraction) -> str | None:
    """Return the decimal that a rational equals; None where it has none, or a long one.

    >>> [decimal(Fraction(text)) for text in ("1/8", "1000000", "1/100000", "1/3")]
    ['0.125', '1000000', '1e-05', None]
    """
    if 0 < abs(value) < SMALL:
        short = f"{float(value):g}"
        return short if Fraction(short) == value else None
    scaled = value * 10**DECIMALS
    if scaled.denominator > 1 or abs(value) >= LONG:
        return None
    digits = f"{abs(scaled.numerator):0{DECIMALS + 1}d}"
    text = f"{digits[:-DECIMALS]}.{digits[-DECIMALS:]}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 else text


DEEPEST = 64
"""Lists and objects within each other; no file of Holdfast has a quarter of it."""
TOO_DEEP = "is nested too deeply"


def read_json(text: str, **hooks: Any) -> Any:
    """Return the value of a JSON text; ValueError where it is none, or nested too deeply.

    ``hooks`` are those of `json.loads`.

    >>> read_json('{"a": [1]}')
    {'a': [1]}
    """
    try:
        value = json.loads(text, **hooks)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    require_shallow(value)
    return value


def require_shallow(value: object) -> None:
    """Raise ValueError where lists and objects are within each other too often.

    >>> require_shallow([[[]]])
    """
    held = [value] if isinstance(value, list | dict) else []
    for _ in range(DEEPEST):
        held = [
            inner
            for outer in held
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, list | dict)
        ]
    if held:
        raise ValueError(TOO_DEEP)


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
    >>> closest("laplace", ["lattice-laplace", "lattice-gaussian", "anchored-laplace"])
    "did you mean 'lattice-laplace' or 'anchored-laplace'?"
    >>> closest("race", ["county", "tract"])
    "choose from 'county', 'tract'."
    """
    names = list(known)
    some = names[:_COMPARED] if len(word) <= _LONGEST else []
    folded = {name.casefold(): name for name in reversed(some)}
    near = get_close_matches(word.casefold(), folded, n=1, cutoff=_ALIKE) or _parts(word.casefold(), folded)
    if near:
        return f"did you mean {' or '.join(repr(folded[name]) for name in near)}?"
    if not names:
        return "there is none to choose from."
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return "choose from " + ", ".join(repr(name) for name in names[:_LISTED]) + f"{more}."


def _parts(word: str, names: Iterable[str]) -> list[str]:
    """Return the names of which a word is a part between hyphens or underscores, the first known first.

    Of more than two none is near.
    """
    found = [name for name in names if word in name.replace("_", "-").split("-")][::-1]
    return found if len(found) <= 2 else []


MOST_DIGITS = 2000  # Python writes whole numbers of up to 4300 digits, and sums have twice as many
_RATIONAL = re.compile(rf"[0-9]{{1,{MOST_DIGITS}}}(/[0-9]{{1,{MOST_DIGITS}}})?")


def canonical(value: object) -> str:
    """Return the one JSON text of a value; ValueError where it has none.

    >>> canonical({"b": (1, None), "a": "x"})
    '{"a":"x","b":[1,null]}'
    """
    try:
        return plain_text(_plain(value))
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def plain_text(value: object) -> str:
    """Return the canonical text of a value that is made of JSON's own kinds, as one read from JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse_canonical(text: str) -> object:
    """Return the value of a canonical text; ValueError where it is another text for the same value."""
    value: object = read_json(text)
    if plain_text(value) != text:
        raise ValueError("is not canonical JSON")
    return value


def rational_text(value: Fraction) -> str:
    """Return a rational in lowest terms, "1/2" or "3"; ValueError where it is too long or negative."""
    longest = max(abs(value.numerator), value.denominator)
    if value < 0 or longest >= 10**MOST_DIGITS:
        raise ValueError("is negative" if value < 0 else f"has more than {MOST_DIGITS} digits")
    return str(value)


def parse_rational_text(text: str) -> Fraction:
    """Return the value of a text in lowest terms; ValueError for any other text."""
    if not _RATIONAL.fullmatch(text):
        raise ValueError("is not a rational")
    try:
        value = Fraction(text)
    except ZeroDivisionError:
        raise ValueError("is a division by zero") from None
    if str(value) != text:
        raise ValueError("is not in lowest terms")
    return value


def _plain(value: object) -> object:
    """Copy a value made of JSON's own kinds; a number of another library is refused, not guessed at."""
    if value is None or type(value) in (str, bool, int):
        return value
    if type(value) is float and isfinite(value):
        return value
    if isinstance(value, Mapping) and all(type(key) is str for key in value):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise ValueError(f"holds a {type(value).__name__} that JSON cannot hold")
