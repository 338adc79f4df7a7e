"""Text from outside, made visible: what would steer a terminal or a page is shown as an escape.

Names and levels come from files. A control character among them could clear a screen, a newline could add a
line that looks like the program's own, and a mark of direction could turn the text around it.
"""

import re

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
