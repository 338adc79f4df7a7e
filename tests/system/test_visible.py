"""What steers a terminal or a page is shown; everything else stays as it is."""

import unicodedata

import pytest

from holdfast.system.text import brief, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("a\r\n\tb", r"a\r\n\tb"),
        ("\x00\x07\x7f\x9b", r"\x00\x07\x7f\x9b"),
        ("\u202e\u2066\u200f\u061c", r"\u202e\u2066\u200f\u061c"),
        ("\u200b\u2060\ufeff\u2028\u2029", r"\u200b\u2060\ufeff\u2028\u2029"),
        ("\udcff", r"\udcff"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_steers_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    ["", "county", "caf\u00e9", "\u6f22\u5b57", "\u05d0\u05d1", "\u0627", "a\u00a0b", "\\x1b", "\U0001f600"],
)
def test_ordinary_names_stay(text: str) -> None:
    assert visible(text) == text


def test_no_control_of_any_kind_is_left() -> None:
    every = "".join(map(chr, range(0x110000)))
    left = {unicodedata.category(sign) for sign in visible(every)}
    assert not left & {"Cc", "Cs", "Zl", "Zp"}
    bidi = {unicodedata.bidirectional(sign) for sign in visible(every)}
    assert not bidi & {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def test_long_values_lose_their_middle_and_sentences_do_not() -> None:
    long = "x" * 5000
    assert len(brief(f"the level '{long}' of \"{long}\" is not known.")) < 150
    sentence = f"standard = 'pure' is not met{' by far' * 30}: set name = 'lattice-laplace'."
    assert brief(sentence) == sentence
