"""Numbers agree with their nouns in all that is said."""

import re
from pathlib import Path

from holdfast.words import counted

SOURCE = Path(__file__).parents[1] / "src" / "holdfast"


def test_one_and_many() -> None:
    assert [counted(n, "row") for n in (0, 1, 2, 1000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]


def test_no_command_puts_a_plural_behind_any_number() -> None:
    """A number in braces before "records" could be 1; the only ones left have words before it or a bound."""
    found = [
        f"{path.name}: {line.strip()}"
        for path in (SOURCE / "cli").glob("*.py")
        if path.name != "postprocess.py"  # of 200 draws, or none
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\{[^{}]*\} (records|cells|rows|draws|numbers)\b", line)
    ]
    assert found == []
