"""Numbers with their nouns."""


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun, in the singular or the plural.

    >>> counted(1, "record"), counted(1200, "record"), counted(0, "entry", "entries")
    ('1 record', '1,200 records', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"
