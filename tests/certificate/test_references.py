"""Readers get authors, titles, years and addresses: from the bibliography of the documentation."""

from pathlib import Path

from tests.small_releases import KINDS, released

from holdfast.certificate.page import render
from holdfast.certificate.references import cited, in_words, references

ROOT = Path(__file__).parents[2]


def test_what_is_shipped_is_the_bibliography_of_the_documentation() -> None:
    shipped = ROOT / "src" / "holdfast" / "certificate" / "references.bib"
    assert shipped.read_bytes() == (ROOT / "docs" / "references.bib").read_bytes()


def test_every_work_has_what_readers_need() -> None:
    for work in references().values():
        assert work.title
        assert not set("{}\\") & set(f"{work.author}{work.title}{work.published}{work.address}")
        if work.key not in ("theory", "holdfast"):
            assert work.author
            assert len(work.year) == 4
            assert work.published or work.address


def test_citations_are_resolved() -> None:
    assert (
        in_words("canonne2020; holdfast, sampling/decisions")
        == "Canonne et al. (2020); Holdfast, sampling/decisions"
    )
    assert [work.key for work in cited(["theory, 4; canonne2020, Theorem 4", "semi-dp"])] == [
        "semi-dp",
        "canonne2020",
    ]
    assert in_words("for products of features") == "for products of features"


def test_no_bare_key_is_on_a_page() -> None:
    for kind in KINDS:
        page = render(released(kind).certificate)
        assert not [key for key in references() if f"{key}, " in page and key not in ("theory", "holdfast")]
        assert "References</h2>" in page
