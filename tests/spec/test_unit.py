"""Nouns: their plurals, and what is none."""

import pytest

from holdfast.spec.privacy import RECORD, Privacy, ProtectedUnit
from holdfast.system.errors import SpecError


@pytest.mark.parametrize(
    ("unit", "one", "many"),
    [
        ("record", "person", "people"),
        ("person", "person", "people"),
        ("household", "household", "households"),
        ("dwelling unit", "dwelling unit", "dwelling units"),
        ("school-child", "school-child", "school-children"),
        ("city", "city", "cities"),
        ("stay", "stay", "stays"),
        ("Käufer", "Käufer", "Käufers"),
    ],
)
def test_a_noun_has_a_plural(unit: str, one: str, many: str) -> None:
    whom = Privacy(epsilon="1", unit=unit).whom
    assert (whom.one, whom.many) == (one, many)


def test_records_are_units_where_each_is_one() -> None:
    assert (RECORD.amount(1), RECORD.amount(1200)) == ("1 record", "1,200 records")
    assert ProtectedUnit("visit").amount(2) == "2 visits"
    assert ProtectedUnit("person", 3).amount(2) == "2 records"


@pytest.mark.parametrize(
    "unit", ["", " ", "a\nb", "<i>x</i>", "x" * 41, "two  words", " x", "x-", "\u202ex", "7"]
)
def test_what_is_no_noun_is_refused_in_one_sentence(unit: str) -> None:
    with pytest.raises(SpecError, match=r"^privacy\.unit [^\n]*a noun of at most 40 letters[^\n]*\.$"):
        Privacy(epsilon="1", unit=unit)
