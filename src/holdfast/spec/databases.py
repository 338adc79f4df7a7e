"""What a spec may say of a database: an address without secrets, and a query that only reads.

A session that cannot write is what protects a database; that a query is one SELECT is told early, in a
sentence, and keeps it within the parentheses that it is read from.
"""

import re
from urllib.parse import parse_qsl, urlsplit

SCHEMES = ("postgresql", "postgres")
_SECRETS = frozenset({"password", "sslpassword"})
_OUT = (
    "leave it out, and set PGPASSWORD in the environment, or keep it in ~/.pgpass or in a service file"
    " (postgresql://?service=NAME)"
)


def is_address(database: str) -> bool:
    """Whether a database is on a server, not in a file."""
    return "://" in database


def require_no_password(database: object) -> None:
    """Raise ValueError where an address has a secret in it, or is of no server that is known: never shown."""
    if not isinstance(database, str):
        raise ValueError("must be text in quotes")  # noqa: TRY004 - pydantic's
    if not database:
        raise ValueError("is empty: name a database, such as postgresql://host/name or a .duckdb file")
    if not is_address(database):
        if re.search(r"\bpassword\s*=", database, re.IGNORECASE):
            raise ValueError(f"has a password: {_OUT}, and write an address, such as postgresql://host/name")
        return
    try:
        parts = urlsplit(database)
    except ValueError:
        raise ValueError("is no address: write it as postgresql://host/name") from None
    keys = {key.lower() for key, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if ":" in parts.netloc.rpartition("@")[0] or keys & _SECRETS:
        raise ValueError(f"has a password: {_OUT}")
    if parts.scheme not in SCHEMES:
        raise ValueError(
            "is of a server that is not known: name postgresql://host/name, or a file of DuckDB or SQLite"
        )


_SKIPPED = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(\$\w*\$).*?\1|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/", re.DOTALL
)
"""Texts, names and comments: what is in them is no part of a statement."""


def require_select(query: str) -> None:
    """Raise ValueError unless a query is one SELECT: no other statement, before it or after it.

    >>> require_select("SELECT age, ';' AS sign FROM people -- all of them")
    >>> require_select("DELETE FROM people")
    Traceback (most recent call last):
    ValueError: is no SELECT: write one that returns a row for each record, or for each cell with its count
    """
    bare = _SKIPPED.sub(" ", query).strip()
    if not re.match(r"(select|with)\b", bare, re.IGNORECASE):
        raise ValueError(
            "is no SELECT: write one that returns a row for each record, or for each cell with its count"
        )
    if ";" in bare:
        raise ValueError("has a semicolon, and is to be one SELECT: take it out")
    if re.search(r"\b(insert|update|delete|merge|into)\b", bare, re.IGNORECASE):
        raise ValueError('does more than read: write one SELECT, and put names such as "delete" in quotes')
    depth = 0
    for sign in bare:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            break
    if depth or "'" in bare or '"' in bare or "/*" in bare:
        raise ValueError("has a quotation mark, a comment or a parenthesis that is not closed: correct it")
