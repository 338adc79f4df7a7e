import re
import time
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import product
from typing import Any
from xml.etree import ElementTree

import pytest

from holdfast.certificate.page import FEW, MOST_BARS, MOST_ITEMS, render
from holdfast.tables.schema import Attribute, Schema

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
HOSTILE = "<script>alert(\"x\")</script> & 'quotes' --> ]]> {{ 7*7 }} \u202e\u00e9\u6f22"


def margin(name: str, counts: dict[str, int]) -> dict[str, Any]:
    return invariant(name, [f"{name} = {level}" for level in counts], list(counts.values()), [name])


def invariant(
    name: str, labels: Sequence[str], values: Sequence[int], attributes: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "margin" if attributes else "where",
        "attributes": list(attributes),
        "where": {},
        "labels": list(labels),
        "equals": None,
        "values": list(values),
    }


def expected(attributes: Sequence[str], error: float, *, exact: bool = False) -> dict[str, Any]:
    return {
        "attributes": list(attributes),
        "mean_absolute_error": error,
        "standard_error": 0.0 if exact else 0.0121,
        "exact": exact,
    }


def demo(schema: Schema | None = None) -> dict[str, Any]:
    """What `certify` records of the table of the paper's running example."""
    schema = schema or Schema(
        (Attribute("county", tuple(COUNTIES)), Attribute("education", tuple(EDUCATION)))
    )
    shares = [0.7408 ** abs(move) * 0.1489 for move in range(-38, 38)]
    return {
        "format": "holdfast-certificate/1",
        "software": {"name": "holdfast", "version": "0.1.0"},
        "created": "2026-03-02T09:05:07+00:00",
        "table": {"count": "count", "schema": schema.to_dict()},
        "invariants": [margin("county", COUNTIES), margin("education", EDUCATION)],
        "universe": {
            "cells": 16,
            "invariants": 7,
            "dimension": 9,
            "records": 135,
            "semi_adjacency": {"worst_case": 3, "literal": 2, "exact": True},
            "sensitivity": {"l1": 6, "l2_squared": 6, "linf": 1, "exact": True},
        },
        "mechanism": {
            "name": "lattice-laplace",
            "norm": "l1",
            "epsilon_per_unit": "1/6",
            "sampling": ["4 x 4 cells with fixed margins: rejection from independent integers, exact"],
        },
        "target": {"unit": "record", "adjacency": "semi", "standard": "pure", "epsilon": "1"},
        "guarantee": {
            "statement": "For any two tables with the same invariants that differ in at most 3 records, no"
            " release is more than exp(1) = 2.72 times as likely under one as under the other.",
            "domain": "tables of counts of records, the records of equal cells alike",
            "scope": {
                "invariants": ["county", "education"],
                "constraints": ["counts are whole and not negative", "the number of records is the same"],
                "digest": "0" * 64,
            },
            "unit": {"name": "record", "adjacency": "semi", "distance": 3},
            "standard": "pure",
            "intensity": {"epsilon": "1"},
            "evidence": [
                {
                    "kind": "proved",
                    "claim": "noise with probability proportional to exp(-1/6 ||z||) on the lattice of the"
                    " invariants, in the l1 norm, loses at most 1/6 for each unit of the norm between two"
                    " tables",
                    "reference": "integer-subspace-dp, Theorem 10; theory, 4",
                },
                {
                    "kind": "proved",
                    "claim": "any one person can take any possible value by changing at most 3 records",
                    "reference": "semi-dp, Theorem 3",
                },
                {
                    "kind": "proved",
                    "claim": "two such tables are at most 6 in l1 apart",
                    "reference": "theory, 3; semi-dp, Definition 4",
                },
                {
                    "kind": "proved",
                    "claim": "the noise is drawn exactly, in integers",
                    "reference": "holdfast, sampling/exact; canonne2020",
                },
            ],
        },
        "randomness": {"source": "operating system", "secure": True},
        "expected_error": {
            "method": "simulated from the noise law alone, 4000 draws",
            "cell": expected(["county", "education"], 3.3104),
            "margins": [
                expected([], 0.0, exact=True),
                expected(["county"], 0.0, exact=True),
                expected(["education"], 0.0, exact=True),
            ],
            "noise": {"first": -38, "width": 1, "shares": shares},
        },
        "caveats": ["The invariants are published exactly. What they reveal is outside of the guarantee."],
    }


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
        if "style" not in self.open:
            self.words.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def page(content: dict[str, Any]) -> Page:
    return Page(render(content))


def test_the_page_is_well_formed_and_its_sections_are_in_order() -> None:
    html = render(demo())
    assert html.lstrip().startswith("<!DOCTYPE html>")
    found = Page(html)
    assert ("html", {"lang": "en"}) in found.tags
    assert re.findall(r"<h1>(.*?)</h1>", html) == ["Certificate of release"]
    assert re.findall(r"<h2.*?>(.*?)</h2>", html) == SECTIONS
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = {attributes.get("aria-labelledby") for _, attributes in found.tags} - {None}
    assert named <= set(ids)


def test_the_pictures_are_well_formed_xml() -> None:
    pictures = re.findall(
        r"<svg class=.*?</svg>\s*(?=<text|</td>|<div>)(?:<text.*?</svg>)?", render(demo()), re.S
    )
    assert len(pictures) == 1 + 8 + 1 + 1  # the mark, a bar a value, the noise, its one error
    for picture in pictures:
        ElementTree.fromstring(picture)  # noqa: S314 - our own


def test_nothing_is_fetched_and_nothing_runs() -> None:
    html = render(demo())
    assert "http://" not in html
    assert "https://" not in html
    assert not re.search(r"url\(|@import|\bsrc=|\bhref=|\bon\w+=", html)
    assert Page(html).count("script") == 0


def test_the_summary_says_how_many_how_strongly_and_when() -> None:
    text = page(demo()).text
    assert "8 numbers in this release are exactly as in the original data" in text
    assert "nothing in this release is more than about 2.72 times as likely" in text
    assert "among tables with the same published numbers" in text
    assert "2 March 2026, 09:05 UTC" in text
    assert "with holdfast 0.1.0" in text
    assert "135 records" in text


@pytest.mark.parametrize("secure", [True, False])
def test_a_seeded_release_is_called_not_private(secure: bool) -> None:
    content = demo() | {"randomness": {"source": "seeded", "secure": secure}}
    html = render(content)
    assert (SEEDED in html) is not secure
    if not secure:
        assert html.index(SEEDED) < html.index("<h1>")


def test_every_value_of_a_small_invariant_is_shown_with_a_bar() -> None:
    html = render(demo())
    for name, value in [*COUNTIES.items(), *EDUCATION.items()]:
        row = rf'<bdi>{name}</bdi></th><td class="value">{value}</td><td class="picture"[^>]*><svg'
        assert len(re.findall(row, html)) == 1


def test_single_numbers_share_a_table() -> None:
    content = demo()
    content["invariants"] = [
        invariant("total", ["total"], [1234567]),
        invariant("adults", ["age 18 to 120"], [-40]),
    ]
    found = page(content)
    assert "1,234,567" in found.text
    assert "adults: age 18 to 120 \u221240" in found.text
    assert found.text.count("Exact value") == 1


def test_a_large_invariant_shows_its_first_rows_and_counts_the_rest() -> None:
    content = demo()
    values = range(7000, 7000 + MOST_BARS + 1)
    content["invariants"] = [invariant("many", [f"place {v}" for v in values], values, ["a", "b"])]
    html = render(content)
    assert len(re.findall(r"<bdi>place \d+</bdi>", html)) == FEW
    assert f"and {MOST_BARS + 1 - FEW} more" in html


def test_without_invariants_nothing_is_kept() -> None:
    content = demo()
    content["invariants"] = []
    content["guarantee"]["scope"]["invariants"] = []
    content["universe"] |= {"invariants": 0, "dimension": 16, "records": None}
    text = page(content).text
    assert "Nothing in this release is kept exactly" in text
    assert "Nothing is kept exactly." in text
    assert "same published numbers" not in text
    assert "None" not in text


def test_names_are_escaped_wherever_they_stand() -> None:
    schema = Schema((Attribute(HOSTILE, (HOSTILE, "b")), Attribute("education", tuple(EDUCATION))))
    content = demo(schema)
    content["invariants"] = [margin(HOSTILE, {HOSTILE: 1, "b": 2}), invariant(HOSTILE, [HOSTILE], [3])]
    content["guarantee"]["scope"]["invariants"] = [HOSTILE]
    content["guarantee"]["evidence"] = [{"kind": "proved", "claim": HOSTILE, "reference": HOSTILE}]
    content["caveats"] = content["mechanism"]["sampling"] = [HOSTILE]
    content["expected_error"]["margins"] = [expected([HOSTILE], 1.0)]
    html = render(content)
    assert "<script" not in html
    found = Page(html)
    assert found.count("script") == 0
    assert found.text.count(HOSTILE) == 13  # once in each place that is given one
    assert "49" not in found.text


def test_very_long_names_lose_their_middle() -> None:
    content = demo()
    content["invariants"] = [margin("x" * 5000, {"y" * 5000 + " a": 1, "y" * 5000 + " b": 2})]
    html = render(content)
    assert "x" * 200 not in html
    assert "y" * 200 not in html
    assert all(re.search(rf"<bdi>y{{50,}}\u2026y+ {end}</bdi>", html) for end in "ab")


def test_structural_zeros_are_counted() -> None:
    schema = Schema((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))), frozenset({0, 3}))
    assert "A further 2 cells cannot occur" in page(demo(schema)).text
    assert "cannot occur" not in page(demo()).text


def test_exact_margins_are_told_from_noisy_ones() -> None:
    found = page(demo())
    assert found.text.count("exactly 0: kept") == 3
    assert "The total exactly 0: kept" in found.text
    assert "One cell 3.31 ± 0.01" in found.text.replace("\u2009", " ")


def test_errors_that_were_not_simulated_are_not_invented() -> None:
    content = demo() | {"expected_error": None}
    found = page(content)
    assert "was not simulated" in found.text
    assert "on average" not in found.text
    assert "noise" not in [attributes.get("class") for _, attributes in found.tags]


def test_the_five_parts_and_the_evidence_stand_there() -> None:
    content = demo()
    content["guarantee"]["evidence"] += [
        {"kind": "estimated", "claim": "it mixes", "method": "coupling", "confidence": "0.95"},
        {"kind": "assumed", "claim": "the source is good", "reason": "nobody can prove it"},
    ]
    html = render(content)
    assert re.findall(r"<div><dt>(\w+)</dt>", html)[:5] == [
        "Domain",
        "Scope",
        "Unit",
        "Standard",
        "Intensity",
    ]
    kinds = re.findall(r'<span class="badge (\w+)">', html)
    assert kinds == ["proved"] * 4 + ["estimated", "assumed"]
    text = Page(html).text
    for item in content["guarantee"]["evidence"]:
        assert all(str(value) in text for value in item.values())
    assert content["guarantee"]["statement"] in text
    assert "about 73\u00a0% sure" in html


@pytest.mark.parametrize(
    ("epsilon", "verdict"),
    [
        ("1", "exactly what was asked for"),
        ("3/2", "at least as strong as what was asked for"),
        ("1/2", "weaker than what was asked for"),
        (None, "No epsilon was asked for"),
    ],
)
def test_the_target_is_compared_with_the_guarantee(epsilon: str | None, verdict: str) -> None:
    content = demo()
    content["target"]["epsilon"] = epsilon
    assert verdict in page(content).text


def test_a_rho_per_record_is_not_multiplied_for_a_person() -> None:
    """Epsilon at a delta does not grow in proportion to the records."""
    content = demo()
    content["guarantee"]["unit"] = {"name": "record", "adjacency": "unit", "distance": 1}
    content["guarantee"] |= {"standard": "zcdp", "intensity": {"rho": "1/2"}}
    content["guarantee"]["epsilon_at"] = {"delta": "1e-10", "epsilon": 6.838}
    text = page(content).text
    assert "but for outcomes of a probability of 1e-10" in text
    assert "It can take" not in text


def test_a_guarantee_per_record_says_what_it_is_for_a_person() -> None:
    content = demo()
    content["guarantee"]["unit"] = {"name": "record", "adjacency": "unit", "distance": 1}
    text = page(content).text
    assert "about 2.72 times as likely" in text
    assert "it is about 20.1 times" in text
    assert "cannot be compared" in text  # the demo's target is for semi-adjacency


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [
        ("1/10", "about 1.11 times"),
        ("7", "about 1,100 times"),
        ("1000", "about 10 to the power of 435 times"),
        ("9999999999/10000000000", "epsilon about 1"),
    ],
)
def test_strange_intensities_stay_readable(epsilon: str, shown: str) -> None:
    content = demo()
    content["guarantee"]["intensity"]["epsilon"] = epsilon
    assert shown in page(content).text


def test_big_content_is_quick_and_small() -> None:
    content = demo()
    labels = [f"region = {i}, age = {j}" for i, j in product(range(60), range(50))]
    wide = [invariant(f"wide {n}", labels, range(3000), ["region", "age"]) for n in range(25)]
    long = "a rather long name of a level, as classifications have them, " * 3
    small = [margin(f"small {n}", {f"{long} {i}": i for i in range(MOST_BARS)}) for n in range(25)]
    content["invariants"] = wide + small
    content["expected_error"]["margins"] = [expected(pair, 1.5) for pair in product("abcdefghij", repeat=2)]
    content["expected_error"]["noise"] = {"first": -30000, "width": 1, "shares": [1 / 60001] * 60001}
    start = time.perf_counter()
    html = render(content)
    assert time.perf_counter() - start < 5
    assert len(html.encode()) < 1_000_000
    assert f"{101 - MOST_ITEMS} more margins" in html
    Page(html)


def test_the_same_content_gives_the_same_page() -> None:
    assert render(demo()) == render(demo())
