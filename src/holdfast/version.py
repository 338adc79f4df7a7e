"""The version, readable without looking at installed packages."""

import re

VERSION = "0.2.0"
_FORM = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}((a|b|rc)\d{1,4})?(\.post\d{1,4})?(\.dev\d{1,6})?", re.ASCII)


def is_version(text: object) -> bool:
    """Whether this is the number of a version, and no other words.

    >>> is_version("1.11.0"), is_version("2.0rc1"), is_version("1.0-as-was-proved"), is_version(None)
    (True, True, False, False)
    """
    return isinstance(text, str) and _FORM.fullmatch(text) is not None
