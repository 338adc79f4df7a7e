"""The page of a swapped file says what its certificate says, and obeys nothing that stands in a file."""

import re
import subprocess
import sys
from fractions import Fraction
from html import unescape
from typing import Any

import pyarrow as pa
import pytest
from tests.mechanisms.swapping.small import KINDS, asked, households, persons, with_ids

from holdfast.certificate.model import Certificate
from holdfast.certificate.page import MOST_SIZES as FEW
from holdfast.certificate.page import render
from holdfast.mechanisms.swapping.details import swapping_of
from holdfast.releases.records import prepare_records

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a\u202eb\u2066c",
    "two\nlines\r\x1b[2J",
    "{{ 7*7 }} {% raw %}",
    "'; DROP TABLE x --",
    "&amp;&lt;",
    "[bold red]x[/]",
]


def certificate(table: pa.Table, *, secure: bool = True, **sections: Any) -> Certificate:
    return prepare_records(asked(**sections), table).certify(secure=secure)


def text(page: str) -> str:
    """Return what a reader sees."""
    body = re.sub(r"<(style|svg|head)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", body)))


READ = """
import sys
import holdfast as hf
from holdfast.certificate.page import render
sys.stdout.buffer.write(render(hf.Certificate.from_json(sys.stdin.buffer.read().decode())).encode())
"""


@pytest.mark.parametrize("kind", ["records", "solved"])
def test_the_page_follows_from_the_text_alone_where_nothing_was_swapped(kind: str) -> None:
    """What readers have to know of a swap is known where its certificate is read."""
    found = certificate(households(), secure=False, **KINDS[kind])
    read = subprocess.run(
        [sys.executable, "-c", READ], input=found.to_json().encode(), capture_output=True, check=True
    )
    assert read.stdout.decode() == render(found)


def test_the_page_says_what_the_certificate_says() -> None:
    found = certificate(households(), **KINDS["records"])
    page = render(found)
    seen = text(page)
    for said in (
        "Homes",
        "An office",
        "exchanged their county with others of the same state and size",
        "state and size by county",
        "state and size by all that is held",
        found.guarantee.statement,
        f"{swapping_of(found.records)[1].swapping.epsilon:.4f}",
        f"{swapping_of(found.records)[1].swapping.epsilon_tight:.4f}",
        *(one.words for one in (*found.caveats, *found.verdict.warnings)),
        *(one.words for one in swapping_of(found.records)[0].sampling),
        *(item.name for item in found.records.invariants),
        "from the randomness of the operating system",
        "microdata.parquet",
        "table.csv",
    ):
        assert said in seen, said
    assert "not private" not in seen
    assert "table.parquet" in render(found, parquet=True)


def test_a_seed_is_told_first() -> None:
    page = render(certificate(households(), secure=False))
    assert text(page).index("not private") < text(page).index("Certificate of release")


def test_both_rates_and_epsilon_by_stratum_are_told() -> None:
    found = certificate(households(), mechanism={"rate": "1/20"})
    seen = text(render(found))
    lower, upper = swapping_of(found.records)[1].swapping.rates
    assert Fraction(lower) < Fraction(upper)
    assert "Two rates give the same epsilon here" in seen
    for size in sorted(swapping_of(found.records)[1].strata.sizes, key=lambda one: -one.size)[:FEW]:
        assert f"{size.size} {size.strata} {size.epsilon:.4f}" in re.sub(
            r"\s+", " ", re.sub("<[^>]+>", " ", render(found))
        )


def test_singletons_are_counted_in_plain_words() -> None:
    seen = text(render(certificate(households())))
    assert (
        "1 record of 60 is alone in a stratum, and published as it is, county included: nothing protects it."
        in seen
    )


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (
            ["state", "size", "county", "income"],
            "income remains with each record. Where that goes with county",
        ),
        (["state", "size", "county", "income", "age", "job"], "income, age and job remain with each record."),
    ],
)
def test_what_stays_visible_is_one_column_or_several(left: list[str], said: str) -> None:
    table = households()
    for new in ("age", "job"):
        table = table.append_column(new, table.column("income"))
    assert f"What stays visible: {said}" in text(render(certificate(table.select(left))))


def test_households_are_called_by_their_name() -> None:
    table = with_ids(households())
    found = certificate(table, data={"id": "id"}, privacy={"unit": "household"})
    seen = text(render(found))
    assert "Some households in this file exchanged their county" in seen
    assert "A household moves whole" in seen
    assert persons(table).num_rows > 60


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_shown_and_never_obeyed(name: str, place: int) -> None:
    """As the key, as what is swapped, and as what is held; the page has the elements of any other."""
    names = ["state", "county", "income"]
    other = dict(zip(names, names, strict=True)) | {names[place]: name}
    table = households().rename_columns([other.get(one, one) for one in households().column_names])
    mechanism = {"stratify": [other["state"], "size"], "swap": [other["county"]]}
    invariants = [{"margin": [other["state"], other["county"]]}]
    hostile = render(certificate(table, mechanism=mechanism, invariants=invariants))
    plain = render(certificate(households(), invariants=[{"margin": ["state", "county"]}]))
    tags = re.compile(r"<(/?[a-zA-Z!][a-zA-Z0-9-]*)")
    assert tags.findall(hostile) == tags.findall(plain)
    assert not set("\u202e\u2066\x1b\r") & set(hostile)
    assert "49" not in hostile or "49" in plain
    assert "default-src 'none'" in hostile


def test_a_certificate_reads_back_as_it_was() -> None:
    for kind, sections in KINDS.items():
        own = {name: section for name, section in sections.items() if name != "data" or kind != "households"}
        found = certificate(households(), **own)
        assert Certificate.from_json(found.to_json()) == found
        sealed = found.sealed({"microdata.parquet": "0" * 64})
        assert sealed.unsealed == found
        assert sealed.settled == found.settled
        assert Certificate.from_json(sealed.to_json()) == sealed


def test_files_of_a_certificate_are_inside_of_its_folder() -> None:
    found = certificate(households())
    for name in ("../microdata.parquet", "/etc/passwd", "a/b", "c:d"):
        with pytest.raises(ValueError, match="is not the name of a file"):
            Certificate.from_json(found.sealed({name: "0" * 64}).to_json())
