"""A certificate records what was asked, kept and proved; as text and as values it is the same."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError
from tests.certificate.places import changed, places
from tests.small_releases import KINDS, prepared, released

from holdfast.certificate.head import LedgerSection
from holdfast.certificate.model import Certificate
from holdfast.certificate.schema import schema_text
from holdfast.certificate.text import FORMAT, digest
from holdfast.mechanisms.catalogue import of_tables
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import GuaranteeError
from holdfast.version import VERSION

ROWS = "sex,age,n\nf,young,3\nf,old,4\nm,young,2\nm,old,5\n"
MARGINS = [{"margin": ["sex"]}, {"margin": ["age"]}]
STUDIES = {
    "projected-gaussian": {"standard": "zcdp", "rho": "1"},
    "naive-laplace": {"epsilon": "1"},
    "naive-gaussian": {"standard": "zcdp", "rho": "1"},
}
"""Mechanisms that are compared and never released."""


def small(folder: Path, rows: str = ROWS, **sections: Any) -> Prepared:
    (folder / "data.csv").write_text(rows)
    data = {"path": "data.csv", "cells": ["sex", "age"], "count": "n"}
    values = {"data": data, "privacy": {"epsilon": "1/2"}, **sections}
    return prepare(Spec.of(values, folder=folder))


def certified(folder: Path, rows: str = ROWS, **sections: Any) -> Certificate:
    return small(folder, rows, **sections).release(SeededEntropy(1)).certificate


def sealed(kind: str) -> Certificate:
    """Return the certificate of a release as it is written."""
    ledger = LedgerSection(row=3, hash="12" * 32)
    return released(kind).certificate.sealed({"table.csv": "34" * 32}, ledger)


# as text and as values


def test_every_mechanism_is_looked_at(tmp_path: Path) -> None:
    names = {prepared(kind).mechanism.name for kind in KINDS}
    assert names | set(STUDIES) == {kind.name for kind in of_tables()}
    assert not names & set(STUDIES)
    for name, privacy in STUDIES.items():
        with pytest.raises(GuaranteeError, match=name):
            small(tmp_path, privacy=privacy, mechanism={"name": name}, invariants=MARGINS).release()


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_reads_back_as_it_was(kind: str) -> None:
    for certificate in (released(kind).certificate, sealed(kind)):
        text = certificate.to_json()
        assert Certificate.from_json(text) == certificate
        assert Certificate.from_json(text).to_json() == text
        assert Certificate.model_validate(certificate.model_dump()) == certificate
        assert json.loads(text) == certificate.to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_is_read(kind: str) -> None:
    """A certificate with another value in any one place is another certificate, or none."""
    certificate = sealed(kind)
    content = certificate.to_dict()
    for place, value in places(content):
        if isinstance(value, dict | list):
            continue
        other = changed(content, place, value + 1 if type(value) in (int, float) else "another")
        try:
            assert Certificate.from_json(json.dumps(other)) != certificate, place
        except ValidationError:
            continue


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_and_missing_keys_are_refused_everywhere(kind: str) -> None:
    content = sealed(kind).to_dict()
    open_ended = {("files",), ("guarantee", "intensity"), ("secrets", "intensity")}  # names with values
    for place, value in places(content):
        # what is stated as data, and parameters of claims, which are compared with what follows
        free = place[-1:] == ("where",) or bool({"data", "content", "parameters"} & set(place))
        if isinstance(value, dict) and place not in open_ended and not free:
            other = changed(content, place, {**value, "something": "else"})
            with pytest.raises(ValidationError):
                Certificate.from_json(json.dumps(other))
    sealing = {"ledger", "files", "quoted_formulas", "digest"}
    for key in content.keys() - {"format", "publication", "secrets"} - sealing:
        with pytest.raises(ValidationError):
            Certificate.from_json(json.dumps({name: v for name, v in content.items() if name != key}))


def test_a_certificate_is_frozen() -> None:
    certificate = released("conditioned, inequalities").certificate
    parts: list[Any] = [
        certificate,
        certificate.guarantee,
        certificate.guarantee.evidence[0],
        certificate.table.mechanism,
        certificate.table.constraints.inequalities[0],
        certificate.table.table.cells.attributes[0],
    ]
    for part in parts:
        name = next(iter(type(part).model_fields))
        with pytest.raises(ValidationError, match="frozen"):
            setattr(part, name, getattr(part, name))


# the schema

SCHEMA = json.loads(schema_text())


@pytest.mark.parametrize("kind", KINDS)
def test_certificates_are_valid_by_the_schema(kind: str) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for certificate in (released(kind).certificate, sealed(kind)):
        assert not list(validator.iter_errors(json.loads(certificate.to_json())))


def test_what_is_no_certificate_is_not_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    content = sealed("lattice-laplace").to_dict()
    (part,) = content["parts"]
    damages: list[dict[str, Any]] = [
        {**content, "format": "holdfast-certificate/1"},
        {**content, "something": "else"},
        {**content, "parts": [{**part, "mechanism": {**part["mechanism"], "name": "nothing"}}]},
        {**content, "parts": [{**part, "mechanism": {**part["mechanism"], "epsilon_per_unit": 0.5}}]},
        {**content, "parts": [{**part, "invariants": [{**part["invariants"][0], "values": ["7"]}]}]},
        {**content, "parts": []},
        *({**content, "parts": [{n: v for n, v in part.items() if n != key}]} for key in part),
        *({name: value for name, value in content.items() if name != key} for key in content),
    ]
    assert validator.is_valid(content)
    for damaged in damages:
        assert not validator.is_valid(damaged)


# what is recorded


def test_it_records_what_was_asked_kept_and_proved(tmp_path: Path) -> None:
    certificate = certified(tmp_path, invariants=MARGINS)
    assert certificate.format == FORMAT
    assert (certificate.software.name, certificate.software.version) == ("holdfast", VERSION)
    assert [(item.name, item.values) for item in certificate.table.invariants] == [
        ("sex", (7, 7)),
        ("age", (5, 9)),
    ]
    assert certificate.table.universe.records == 14
    assert (certificate.table.universe.cells, certificate.table.universe.dimension) == (4, 1)
    assert certificate.target.epsilon == Fraction(1, 2)
    assert certificate.guarantee.intensity == {"epsilon": Fraction(1, 2)}
    assert certificate.table.mechanism.name == "lattice-laplace"
    # 2 x 2: a person can always move within a swap of two records, an l1 distance of four.
    assert certificate.table.mechanism.parameters() == {"norm": "l1", "epsilon_per_unit": "1/8"}
    assert certificate.guarantee.evidence


def test_numbers_are_written_as_fractions() -> None:
    content = released("lattice-laplace, per unit").certificate.to_dict()
    assert content["parts"][0]["mechanism"]["epsilon_per_unit"] == "1/7"
    assert content["guarantee"]["intensity"] == {"epsilon": "4/7"}


def test_a_budget_of_many_digits_reads_back(tmp_path: Path) -> None:
    certificate = certified(tmp_path, invariants=MARGINS, privacy={"epsilon": "0." + "3" * 100})
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert Fraction(certificate.to_dict()["guarantee"]["intensity"]["epsilon"]) == Fraction("0." + "3" * 100)


def test_a_guarantee_is_computed_and_not_copied(tmp_path: Path) -> None:
    mechanism = {"epsilon_per_unit": "1/16"}
    certificate = certified(tmp_path, invariants=MARGINS, mechanism=mechanism)
    assert certificate.target.epsilon == Fraction(1, 2)
    assert certificate.guarantee.intensity == {"epsilon": Fraction(1, 4)}
    alone = certified(tmp_path, invariants=MARGINS, mechanism=mechanism, privacy={})
    assert alone.target.epsilon is None
    assert alone.target.intensity == {}


def test_what_a_guarantee_by_distance_does_not_need_is_left_out() -> None:
    by_distance = released("lattice-laplace, by distance").certificate.table.universe
    assert (by_distance.semi_adjacency, by_distance.sensitivity) == (None, None)
    semi = released("lattice-laplace").certificate.table.universe
    assert semi.semi_adjacency is not None
    assert semi.sensitivity is not None
    assert (semi.semi_adjacency.worst_case, semi.sensitivity.l1) == (3, 4)


def test_a_distance_that_was_asked_for_is_covered() -> None:
    certificate = released("lattice-laplace, farther").certificate
    assert certificate.target.distance == certificate.guarantee.unit.distance == 5
    assert certificate.table.universe.semi_adjacency is not None
    assert certificate.table.universe.sensitivity is not None
    assert certificate.table.universe.semi_adjacency.worst_case == 3
    assert certificate.table.universe.sensitivity.l1 == 8  # two swaps of two records


def test_inequalities_are_data() -> None:
    constraints = released("conditioned, inequalities").certificate.table.constraints
    assert constraints.nonnegative
    told = [(item.name, item.kind, item.labels, item.at_least) for item in constraints.inequalities]
    assert told == [
        ("age = old", "where", ("age = old",), 2),
        (
            "sex within age = young or middle",
            "margin",
            ("sex = f within age = young or middle", "sex = m within age = young or middle"),
            1,
        ),
        ("weighted", "weights", ("a",), 12),
    ]
    assert constraints.inequalities[2].weights == (2, 2, 2)
    alone = released("conditioned, below zero").certificate.table.constraints
    assert not alone.nonnegative
    assert [item.at_least for item in alone.inequalities] == [2]


def test_it_says_where_the_randomness_came_from(tmp_path: Path) -> None:
    ready = small(tmp_path, invariants=MARGINS)
    secure, seeded = ready.release().certificate, ready.release(SeededEntropy(1)).certificate
    assert (secure.randomness.source, secure.randomness.secure) == ("operating system", True)
    assert (seeded.randomness.source, seeded.randomness.secure) == ("seeded", False)
    assert not any("seed" in caveat.words for caveat in secure.caveats)
    assert "it protects nobody" in seeded.caveats[0].words


def test_levels_from_the_data_are_a_caveat(tmp_path: Path) -> None:
    inferred = certified(tmp_path)
    assert inferred.table.table.inferred == ("sex", "age")
    assert any("levels of sex, age were taken from the data" in caveat.words for caveat in inferred.caveats)
    data = {
        "path": "data.csv",
        "cells": ["sex", "age"],
        "count": "n",
        "levels": {"sex": ["f", "m"], "age": ["young", "old"]},
    }
    declared = certified(tmp_path, data=data)
    assert declared.table.table.inferred == ()
    assert not any("taken from the data" in caveat.words for caveat in declared.caveats)


def test_it_depends_on_the_table_through_the_invariants_alone(tmp_path: Path) -> None:
    def told(rows: str) -> Certificate:
        return certified(tmp_path, rows, invariants=MARGINS).model_copy(update={"created": ""})

    assert told(ROWS) == told("sex,age,n\nf,young,5\nf,old,2\nm,young,0\nm,old,7\n")
    assert told(ROWS) != told("sex,age,n\nf,young,5\nf,old,2\nm,young,0\nm,old,8\n")


def test_a_column_name_for_the_counts_of_records_is_always_free(tmp_path: Path) -> None:
    data = {"path": "data.csv", "cells": ["count", "released_count"]}
    certificate = certified(tmp_path, "count,released_count\na,b\na,c\n", data=data)
    assert certificate.table.table.count == "released_released_count"


# the seal


def test_a_sealed_record_reads_back_with_its_digest() -> None:
    certificate = sealed("lattice-laplace")
    content = json.loads(certificate.to_json())
    seal = content.pop("digest")
    assert content["files"] == {"table.csv": "34" * 32}
    assert content["ledger"] == {"row": 3, "hash": "12" * 32}
    assert seal == digest(content)


def test_what_is_settled_does_not_change_with_the_seal() -> None:
    """A ledger names a release before there are files."""
    before, after = released("lattice-laplace").certificate, sealed("lattice-laplace")
    assert before != after
    assert before.settled == after.settled
    assert before.settled != released("lattice-laplace, l2").certificate.settled


def test_a_digest_knows_values_and_not_their_order() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    different: list[dict[str, Any]] = [
        {"a": 1},
        {"a": "1"},
        {"a": True},
        {"a": [1]},
        {"b": 1},
        {"a": 1.5},
        {},
        {"a": "\ud800"},
    ]
    assert len({digest(body) for body in different}) == len(different)
