"""The page says what its certificate says, to people: certificates made by the program, some then changed."""

import json
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from tests.certificate.places import Place, changed
from tests.example import written
from tests.small_releases import KINDS, released

from holdfast.certificate.model import Certificate
from holdfast.certificate.page import FEW, MOST_BARS, MOST_FOLDED, MOST_ITEMS, MOST_WORD, render
from holdfast.certificate.parts import ErrorSection
from holdfast.certificate.references import in_words, references
from holdfast.data.sections import InvariantSection
from holdfast.privacy.claims import Claim
from holdfast.releases.prepare import prepare
from holdfast.spec.model import Spec
from holdfast.system.text import rational
from holdfast.version import VERSION

COUNTIES = {"Alpha": 20, "Beta": 55, "Gamma": 25, "Delta": 35}
EDUCATION = {"Low": 50, "Medium": 35, "High": 30, "Very High": 20}
SEEDED = "Drawn from a seeded generator: not private"
SECTIONS = [
    "Kept exactly",
    "The noise",
    "The guarantee",
    "What is not promised",
    "How it was drawn",
]
DATA = re.compile(r'<script type="application/ld\+json">[^<>]*</script>')
HOSTILE = "<script>alert(\"x\")</script> & 'quotes' --> ]]> {{ 7*7 }} \u202e\u00e9\u6f22\x1b[2J\x07\n\x9b"
SHOWN = "<script>alert(\"x\")</script> & 'quotes' --> ]]> {{ 7*7 }} \\u202e\u00e9\u6f22\\x1b[2J\\x07\\n\\x9b"
"""What is seen of it: nothing that turns the text around or breaks a line is left."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """The certificate of the example, at a known time."""
    certificate = prepare(written(tmp_path_factory.mktemp("demo"))).table.certify(secure=True)
    return certificate.model_copy(update={"created": "2026-03-02T09:05:07+00:00"})


def made(columns: Mapping[str, Any], folder: Path = Path(), **sections: Any) -> Certificate:
    """Return a certificate for a table in memory, whose last column has the counts."""
    *cells, count = columns
    asked = {"data": {"cells": cells, "count": count}, "privacy": {"epsilon": "1"}, **sections}
    return prepare(Spec.of(asked, folder=folder), pl.DataFrame(columns)).table.certify(secure=True)


def put(certificate: Certificate, place: str, value: object) -> Certificate:
    """Return the certificate with another value at a place such as "guarantee intensity"."""
    content = certificate.to_dict()
    path: Place = tuple(place.split())
    path = ("parts", 0, *path) if path[0] in content["parts"][0] else path
    return Certificate.from_json(json.dumps(changed(content, path, value)))


class Page(HTMLParser):
    """Reads a page strictly: every element that is opened is closed, in order."""

    VOID = frozenset({"meta", "br"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def page(certificate: Certificate) -> Page:
    return Page(render(certificate))


# every certificate


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_well_formed_and_its_sections_are_in_order(kind: str) -> None:
    certificate = released(kind).certificate
    html = render(certificate)
    assert html.lstrip().startswith("<!DOCTYPE html>")
    found = Page(html)
    assert ("html", {"lang": "en"}) in found.tags
    published = certificate.publication is not None
    heading = "<bdi>Households</bdi>" if published else "Certificate of release"
    assert re.findall(r"<h1>(.*?)</h1>", html) == [heading]
    headings = re.findall(r"<h2.*?>(.*?)</h2>", html)
    within = certificate.table.constraints.nonnegative or certificate.table.constraints.inequalities
    bounds = ["Kept within bounds"] if within else []
    about = ["About this publication"] if published else []
    assert headings == [*about, SECTIONS[0], *bounds, *SECTIONS[1:], "References"]
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = {attributes.get("aria-labelledby") for _, attributes in found.tags} - {None}
    assert named <= set(ids)
    assert found.count("script") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_program_shows(kind: str) -> None:
    text = page(released(kind).certificate).text
    assert not re.search(r"None|True|False|Fraction|[a-z]Section|[{}]|\(\)|\d+ \d+ x", text)
    assert released(kind).certificate.guarantee.statement in text


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_of_the_mechanism_is_told(kind: str) -> None:
    mechanism = released(kind).certificate.table.mechanism
    text = page(released(kind).certificate).text
    for name, value in mechanism.parameters(rational).items():
        assert f"{name.replace('_', ' ')}: {value}" in text
    for sentence in mechanism.sampling:
        assert sentence.words in text


def test_the_pictures_are_well_formed_xml(demo: Certificate) -> None:
    pictures = re.findall(
        r"<svg class=.*?</svg>\s*(?=<text|</td>|<div>)(?:<text.*?</svg>)?", render(demo), re.S
    )
    assert len(pictures) == 1 + 8 + 1 + 1  # the mark, a bar a value, the noise, its one error
    for picture in pictures:
        ElementTree.fromstring(picture)  # noqa: S314 - our own


def test_nothing_is_fetched_and_nothing_runs(demo: Certificate) -> None:
    html, data = DATA.subn("", render(demo))
    assert data == 1  # JSON-LD, which is read and never run
    assert not re.search(r"url\(|@import|\bsrc=|\bon\w+=|<link|<script", html)
    links = re.findall(r'\bhref="(.*?)"', html)
    assert {link for link in links if "://" not in link} == {"table.csv"}
    addresses = {work.address for work in references().values() if work.address}
    assert {link for link in links if "://" in link} <= addresses


def test_the_same_certificate_gives_the_same_page(demo: Certificate) -> None:
    assert render(demo) == render(Certificate.from_json(demo.to_json()))


# the summary


def test_the_summary_says_how_many_how_strongly_and_when(demo: Certificate) -> None:
    text = page(demo).text
    assert "8 numbers in this release are exactly as in the original data" in text
    assert "nothing in this release is more than 2.72 times as likely" in text
    assert "among tables with the same published numbers" in text
    assert "2 March 2026, 09:05 UTC" in text
    assert f"with holdfast {VERSION}" in text
    assert "counts of 135 records by county and education" in text


@pytest.mark.parametrize("secure", [True, False])
def test_a_seeded_release_is_called_not_private(demo: Certificate, secure: bool) -> None:
    html = render(put(demo, "randomness secure", secure))
    assert (SEEDED in html) is not secure
    if not secure:
        assert html.index(SEEDED) < html.index("<h1>")


def test_structural_zeros_are_counted(demo: Certificate) -> None:
    one = page(released("lattice-laplace, zeros and weights").certificate).text
    assert "A table of 5 cells" in one
    assert "A further 1 cell cannot occur and is always zero" in one
    zeros = {"structural_zeros": [{"a": "x", "b": "x"}, {"a": "y", "b": "y"}]}
    two = made({"a": ["x", "y"], "b": ["y", "x"], "n": [3, 4]}, constraints=zeros)
    assert "A further 2 cells cannot occur and are always zero" in page(two).text
    assert "cannot occur" not in page(demo).text


# what is kept


def test_every_value_of_a_small_invariant_is_shown_with_a_bar(demo: Certificate) -> None:
    html = render(demo)
    for name, value in [*COUNTIES.items(), *EDUCATION.items()]:
        row = rf'<bdi>{name}</bdi></th><td class="value">{value}</td><td class="picture"[^>]*><svg'
        assert len(re.findall(row, html)) == 1


def test_single_numbers_share_a_table(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("invariant,age,sex,weight\nyears owed,30,f,-2\nyears owed,30,m,-2\n")
    debts = {"name": "debts", "weights": {"file": "w.csv"}}
    kept = [{"total": True}, debts, {"name": "adults", "where": {"age": [18, 120]}}]
    columns = {"age": ["9", "18", "30"] * 2, "sex": ["f"] * 3 + ["m"] * 3, "n": [1234527, 10, 10, 0, 10, 10]}
    found = page(made(columns, tmp_path, invariants=kept))
    assert "total 1,234,567" in found.text
    assert "debts: years owed \u221240" in found.text
    assert "adults: age 18 or over 40" in found.text
    assert found.text.count("Exact value") == 1


def test_a_large_invariant_shows_its_first_rows_and_folds_the_rest() -> None:
    places = [f"place {7000 + i}" for i in range(MOST_BARS + 1)]
    columns = {
        "place": places * 2,
        "sex": ["f"] * len(places) + ["m"] * len(places),
        "n": [2] * 2 * len(places),
    }
    html = render(made(columns, invariants=[{"margin": ["place"]}]))
    before, folded, after = re.split("</?details>", html)
    assert len(re.findall(r"<bdi>place \d+</bdi>", before)) == FEW
    assert f"<summary>{MOST_BARS + 1 - FEW} more</summary>" in folded
    assert len(re.findall(r"<bdi>place \d+</bdi>", folded)) == MOST_BARS + 1 - FEW
    assert not re.search(r"place \d", after)
    assert "more: all of them stand in" not in html


def test_a_page_stays_small_however_much_is_kept() -> None:
    """Each of two invariants has more values than a page folds: both together fold no more."""
    certificate = released("lattice-laplace").certificate
    item = certificate.table.invariants[0].model_dump(mode="json")
    number = MOST_FOLDED + FEW - 100
    many = {"labels": [f"place {at}" for at in range(number)], "values": [1] * number}
    html = render(put(certificate, "invariants", [{**item, **many}, {**item, **many}]))
    assert html.count("<bdi>place ") == MOST_FOLDED + 2 * FEW
    assert f"and {number - FEW - 100:,} more: all of them stand in <code>certificate.json</code>" in html


@pytest.mark.parametrize(
    ("text", "broken"),
    [("Prince of Wales-Hyder", False), ("x" * MOST_WORD, False), ("x" * (MOST_WORD + 1), True)],
)
def test_only_words_that_no_phone_is_wide_enough_for_are_broken(text: str, *, broken: bool) -> None:
    columns = {"place": [text, "b"] * 2, "sex": ["f", "f", "m", "m"], "n": [2, 3, 4, 5]}
    html = render(made(columns, invariants=[{"margin": ["place"]}]))
    assert (f'<bdi class="long">{text}</bdi>' in html) is broken
    assert (f"<bdi>{text}</bdi>" in html) is not broken
    assert "th, td { overflow-wrap: break-word;" in html
    assert ".long { overflow-wrap: anywhere; }" in html


def test_without_invariants_nothing_is_kept() -> None:
    text = page(released("lattice-laplace, nothing kept").certificate).text
    assert "Nothing in this release is kept exactly" in text
    assert "Nothing is kept exactly." in text
    assert "same published numbers" not in text


def test_names_are_escaped_wherever_they_stand() -> None:
    columns = {HOSTILE: [HOSTILE, "b"] * 2, "sex": ["f", "f", "m", "m"], "n": [1, 2, 3, 4]}
    kept = [
        {"margin": [HOSTILE]},
        {"name": "one", "where": {HOSTILE: HOSTILE}},
        {"name": f"another {HOSTILE}", "where": {"sex": "f"}},
    ]
    least = [{"where": {HOSTILE: HOSTILE}, "at_least": 1}]
    certificate = made(
        columns,
        invariants=kept,
        constraints={"inequalities": least},
        mechanism={"name": "conditioned"},
    )
    certificate = put(certificate, "created", "2026-01-02T03:05:07+00:00")  # no 7 x 7 in it
    hostile = {"id": "stated", "parameters": {"words": HOSTILE, "reason": ""}}
    certificate = put(certificate, "caveats", [hostile])
    certificate = put(certificate, "mechanism sampling", [hostile])
    proved = {"kind": "proved", **hostile, "reference": HOSTILE}
    certificate = put(certificate, "guarantee evidence", [proved])
    html = render(certificate)
    assert "<script" not in DATA.sub("", html, count=1)
    found = Page(html)
    # attributes; names that are kept; a title, a label, a name with its level, a name; a name with its level
    # in a bound; scope; evidence; caveat; sampling
    assert found.text.count(SHOWN) == 1 + 2 + (1 + 1 + 2 + 1) + 2 + 2 + 2 + 1 + 1
    assert "49" not in found.text
    assert not set("\u202e\x1b\x07\x9b") & set(html)


def test_names_of_errors_are_escaped_too() -> None:
    columns = {HOSTILE: ["a", "b"] * 2, "sex": ["f", "f", "m", "m"], "n": [1, 2, 3, 4]}
    found = page(made(columns))
    assert found.text.count(SHOWN) == 3  # by attributes; the margin's error; levels taken from the data


def test_very_long_names_lose_their_middle() -> None:
    columns = {
        "x" * 5000: ["y" * 5000 + " a", "y" * 5000 + " b"] * 2,
        "sex": ["f"] * 2 + ["m"] * 2,
        "n": [1] * 4,
    }
    levels = {"x" * 5000: ["y" * 5000 + " a", "y" * 5000 + " b"], "sex": ["f", "m"]}
    data = {"cells": list(levels), "count": "n", "levels": levels}
    html = render(made(columns, data=data, invariants=[{"margin": ["x" * 5000]}]))
    assert "x" * 200 not in html
    assert "y" * 200 not in html
    assert all(re.search(rf'<bdi class="long">y{{50,}}\u2026y+ {end}</bdi>', html) for end in "ab")


# bounds


def test_bounds_are_told() -> None:
    text = page(released("conditioned, inequalities").certificate).text
    assert "No count is below zero, and 4 counts keep to lower bounds." in text
    assert (
        "What is counted At least every count 0 age = old 2 sex = f within age = young or middle 1"
        " sex = m within age = young or middle 1 weighted: a 12 The noise" in text
    )
    assert "depends on the confidential table: no error is stated" in text
    assert "Up and down are equally likely" not in text


def test_bounds_of_one_kind_are_told_alone() -> None:
    nonnegative = page(released("conditioned").certificate).text
    assert "No count is below zero. What is protected" in nonnegative
    assert "At least every count 0 The noise" in nonnegative
    inequality = page(released("conditioned, below zero").certificate).text
    assert "1 count keeps to a lower bound." in inequality
    assert "At least age = old 2 The noise" in inequality
    assert "every count" not in inequality


def test_many_bounds_are_folded() -> None:
    certificate = released("conditioned, inequalities").certificate
    item = certificate.table.constraints.inequalities[0]
    many = [item.model_copy(update={"name": f"bound {i}"}).model_dump(mode="json") for i in range(100)]
    html = render(put(certificate, "constraints inequalities", many))
    before, folded, _ = re.split("</?details>", html)
    row = r"<bdi>bound \d+: age = old</bdi>"
    assert len(re.findall(row, before)) == FEW - 1  # the first is of every count
    assert len(re.findall(row, folded)) == 101 - FEW


# statistics


def test_a_statistic_is_not_called_a_table_with_noise_in_every_count() -> None:
    text = page(released("noisy-count").certificate).text
    assert "One count is released, with random noise that protects the people behind it." in text
    assert "4 numbers beside it are exactly as in the original data." in text
    assert "How many records have sex = f and age = young , with noise. With the exact totals" in text
    assert "a random number that need not be whole" in text
    assert "The SHA-256 of the statistic" in text
    for words in ("Every other count", "A table of", "released table", "whole number.", "was not simulated"):
        assert words not in text


def test_statistics_of_strata_are_counted() -> None:
    text = page(released("noisy-count, strata").certificate).text
    assert "2 counts are released, with random noise that protects the people behind them." in text
    assert "8 numbers beside them" in text
    assert "with noise, for each stratum ." in text


# the noise


def test_exact_margins_are_told_from_noisy_ones(demo: Certificate) -> None:
    text = page(demo).text.replace("\u2009", " ")
    assert text.count("exactly 0: kept") == 3
    assert "The total exactly 0: kept" in text
    assert demo.table.expected_error is not None
    cell = demo.table.expected_error.cell
    assert f"One cell {cell.mean_absolute_error:.3g} \u00b1 {cell.standard_error:.1g}" in text


def test_small_noise_leaves_cells_where_they_are() -> None:
    certificate = made({"sex": ["f", "m"], "n": [3, 4]}, privacy={"epsilon": "20"})
    assert (
        "At least half of all cells are not moved at all, at least nine in ten are not."
        in page(certificate).text
    )


def test_errors_that_were_not_simulated_are_not_invented(demo: Certificate) -> None:
    found = page(put(demo, "expected_error", None))
    assert "was not simulated" in found.text
    assert "on average" not in found.text
    assert "noise" not in [attributes.get("class") for _, attributes in found.tags]


# the guarantee


def said(words: str, reason: str) -> dict[str, Any]:
    """Return what somebody states in words of their own, as a certificate has it."""
    return {"id": "stated", "parameters": {"words": words, "reason": reason}}


def test_the_five_parts_and_the_evidence_stand_there(demo: Certificate) -> None:
    evidence = [
        *(item.model_dump() for item in demo.guarantee.evidence),
        {"kind": "estimated", **said("it mixes", "coupling"), "confidence": "0.95"},
        {"kind": "assumed", **said("the source is good", "nobody can prove it")},
    ]
    html = render(put(demo, "guarantee evidence", evidence))
    assert re.findall(r"<div><dt>(\w+)</dt>", html)[:5] == [
        "Domain",
        "Scope",
        "Unit",
        "Standard",
        "Intensity",
    ]
    assert re.findall(r'<span class="badge (\w+)">', html) == [item["kind"] for item in evidence]
    text = Page(html).text
    for item in evidence:
        claim = Claim(item["id"], item["parameters"])
        told = [claim.words, claim.basis, str(item.get("confidence", ""))]
        told.append(in_words(str(item["reference"])) if "reference" in item else "")
        assert all(words in text for words in told)
    assert demo.guarantee.statement in text
    assert "can become at most 73.2 % sure of one of them" in html


@pytest.mark.parametrize(
    ("epsilon", "verdict"),
    [
        ("1", "exactly what was asked for"),
        ("3/2", "at least as strong as what was asked for"),
        ("1/2", "weaker than what was asked for"),
        (None, "No epsilon was asked for"),
    ],
)
def test_the_target_is_compared_with_the_guarantee(
    demo: Certificate, epsilon: str | None, verdict: str
) -> None:
    assert verdict in page(put(demo, "target epsilon", epsilon)).text


def test_another_kind_of_target_is_told() -> None:
    text = page(released("lattice-gaussian, approximate").certificate).text
    assert "The guarantee is of another kind than what was asked for, and implies it." in text


@pytest.mark.parametrize("epsilon", ["7/10", "1/100", "1", "4", "12", "9999/10000"])
def test_page_and_statement_round_up_alike(epsilon: str) -> None:
    certificate = made({"sex": ["f", "m"], "n": [3, 4]}, privacy={"epsilon": epsilon})
    (stated,) = re.findall(r" = ([\d.,]+) times as likely", certificate.guarantee.statement)
    shown = re.findall(r"more than ([\d.,]+) times as likely", page(certificate).text)
    assert shown == [stated]
    if epsilon == "7/10":
        assert stated == "2.02"


def test_a_delta_is_rounded_up_alike() -> None:
    """The chain's delta is 0.050624..., and less than that would not be true."""
    certificate = released("conditioned, by a chain").certificate
    delta = certificate.guarantee.intensity["delta"]
    (stated,) = re.findall(r"but for a probability of ([\d.e-]+)\.$", certificate.guarantee.statement)
    assert delta <= Fraction(stated) < delta * Fraction(1011, 1000)
    shown = re.findall(r"but for outcomes of a probability of ([\d.e-]+)\.", page(certificate).text)
    assert shown == [stated]
    assert f"the delta of {stated} included." in page(certificate).text


def test_a_rho_per_record_is_not_multiplied_for_a_person() -> None:
    """The divergence grows with the square of the records."""
    text = page(released("lattice-gaussian, by distance").certificate).text
    assert "but for outcomes of a probability of 1e-10" in text
    assert "the loss grows with the square of their number" in text
    assert "in proportion" not in text


def test_a_guarantee_per_record_says_what_it_is_for_a_person() -> None:
    certificate = released("lattice-laplace, by distance").certificate
    text = page(certificate).text
    assert (
        "each record that is different makes nothing in this release more than 2.72 times as likely" in text
    )
    assert "It can take several records to change one person\u2019s data" in text
    assert "the loss grows with their number" in text
    assert "Largest change" not in text
    assert "cannot be compared" in page(put(certificate, "target adjacency", "semi")).text


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [
        ("1/10", "more than 1.11 times"),
        ("7", "more than 1,100 times"),
        ("1000", "more than 10 to the power of 435 times"),
        ("9999999999/10000000000", "epsilon 0.9999999999"),
    ],
)
def test_strange_intensities_stay_readable(demo: Certificate, epsilon: str, shown: str) -> None:
    assert shown in page(put(demo, "guarantee intensity", {"epsilon": epsilon})).text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (
            "lattice-laplace",
            "pure differential privacy It limits how much more likely any outcome can be, without",
        ),
        ("lattice-gaussian", "zero-concentrated differential privacy (zCDP)"),
        ("noisy-count, gaussian", "Gaussian differential privacy"),
        ("noisy-count, approximate", "approximate differential privacy It limits"),
    ],
)
def test_standards_have_names(kind: str, words: str) -> None:
    assert words in page(released(kind).certificate).text


def test_big_content_stays_small(demo: Certificate) -> None:
    labels = tuple(f"region = {i}, age = {j}" for i, j in product(range(60), range(50)))
    long = "a rather long name of a level, as classifications have them, " * 3

    def invariant(name: str, labels: Sequence[str], attributes: tuple[str, ...]) -> InvariantSection:
        values = range(len(labels))
        change = {"name": name, "labels": labels, "attributes": attributes, "values": tuple(values)}
        return demo.table.invariants[0].model_copy(update=change)

    wide = [invariant(f"wide {n}", labels, ("region", "age")) for n in range(25)]
    small = [invariant(f"small {n}", [f"{long} {i}" for i in range(MOST_BARS)], ("x",)) for n in range(25)]
    assert demo.table.expected_error is not None
    error = ErrorSection(attributes=("a", "b"), mean_absolute_error=1.5, standard_error=0.1, exact=False)
    noise = demo.table.expected_error.noise.model_copy(
        update={"first": -30000, "shares": (1 / 60001,) * 60001}
    )
    expected = demo.table.expected_error.model_copy(update={"margins": (error,) * 100, "noise": noise})
    part = demo.table.model_copy(update={"invariants": (*wide, *small), "expected_error": expected})
    html = render(demo.model_copy(update={"parts": (part,)}))
    assert len(html.encode()) < 1_000_000
    assert f"{101 - MOST_ITEMS} more margins" in html
    Page(html)
