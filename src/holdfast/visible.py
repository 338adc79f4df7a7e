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


def visible(text: str) -> str:
    r"""Return a text in which everything can be seen, on one line.

    >>> print(visible("a\x1b[2Jb\nc"), visible("caf\xe9"))
    a\x1b[2Jb\nc café
    """
    return _UNSEEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
