import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from holdfast.certificate.record import FORMAT, Certificate, digest, read_certificate
from holdfast.errors import ReleaseError
from holdfast.release import Prepared, prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec import Spec
from holdfast.version import VERSION

ROWS = "sex,age,n\nf,young,3\nf,old,4\nm,young,2\nm,old,5\n"


def prepared(folder: Path, rows: str = ROWS, **sections: Any) -> Prepared:
    (folder / "data.csv").write_text(rows)
    data = {"path": "data.csv", "cells": ["sex", "age"], "count": "n"}
    values = {"data": data, "privacy": {"epsilon": "1/2"}, **sections}
    return prepare(Spec.of(values, folder=folder))


MARGINS = [{"margin": ["sex"]}, {"margin": ["age"]}]


def test_it_records_what_was_asked_kept_and_proved(tmp_path: Path) -> None:
    content = prepared(tmp_path, invariants=MARGINS).release().certificate.content
    assert content["format"] == FORMAT
    assert content["software"] == {"name": "holdfast", "version": VERSION}
    assert [(item["name"], item["values"]) for item in content["invariants"]] == [
        ("sex", [7, 7]),
        ("age", [5, 9]),
    ]
    assert content["universe"]["records"] == 14
    assert (content["universe"]["cells"], content["universe"]["dimension"]) == (4, 1)
    assert content["target"]["epsilon"] == "1/2"
    assert content["guarantee"]["intensity"]["epsilon"] == "1/2"
    assert content["mechanism"]["name"] == "lattice-laplace"
    # 2 x 2: a person can always move within a swap of two records, an l1 distance of four.
    assert Fraction(content["mechanism"]["epsilon_per_unit"]) * 4 == Fraction(1, 2)
    assert content["guarantee"]["evidence"]


def test_a_guarantee_is_computed_and_not_copied(tmp_path: Path) -> None:
    mechanism = {"epsilon_per_unit": "1/16"}
    content = prepared(tmp_path, invariants=MARGINS, mechanism=mechanism).release().certificate.content
    assert content["target"]["epsilon"] == "1/2"
    assert content["guarantee"]["intensity"]["epsilon"] == "1/4"
    alone = prepared(tmp_path, invariants=MARGINS, mechanism=mechanism, privacy={})
    assert alone.release().certificate.content["target"]["epsilon"] is None


def test_it_says_where_the_randomness_came_from(tmp_path: Path) -> None:
    ready = prepared(tmp_path, invariants=MARGINS)
    secure, seeded = ready.release().certificate.content, ready.release(SeededEntropy(1)).certificate.content
    assert secure["randomness"] == {"source": "operating system", "secure": True}
    assert seeded["randomness"] == {"source": "seeded", "secure": False}
    assert not any("seed" in caveat for caveat in secure["caveats"])
    assert "it protects nobody" in seeded["caveats"][0]


def test_levels_from_the_data_are_a_caveat(tmp_path: Path) -> None:
    caveats = prepared(tmp_path).release().certificate.content["caveats"]
    assert any("levels of sex, age were taken from the data" in caveat for caveat in caveats)
    data = {
        "path": "data.csv",
        "cells": ["sex", "age"],
        "count": "n",
        "levels": {"sex": ["f", "m"], "age": ["young", "old"]},
    }
    caveats = prepared(tmp_path, data=data).release().certificate.content["caveats"]
    assert not any("taken from the data" in caveat for caveat in caveats)


def test_it_depends_on_the_table_through_the_invariants_alone(tmp_path: Path) -> None:
    def told(rows: str) -> Mapping[str, Any]:
        certificate = prepared(tmp_path, rows, invariants=MARGINS).release().certificate
        return {key: value for key, value in certificate.content.items() if key != "created"}

    assert told(ROWS) == told("sex,age,n\nf,young,5\nf,old,2\nm,young,0\nm,old,7\n")
    assert told(ROWS) != told("sex,age,n\nf,young,5\nf,old,2\nm,young,0\nm,old,8\n")


def test_a_column_name_for_the_counts_of_records_is_always_free(tmp_path: Path) -> None:
    data = {"path": "data.csv", "cells": ["count", "released_count"]}
    content = prepared(tmp_path, "count,released_count\na,b\na,c\n", data=data).release().certificate.content
    assert content["table"]["count"] == "released_released_count"


def test_a_sealed_record_reads_back_with_its_digest() -> None:
    text = Certificate({"format": FORMAT, "name": "Æ"}).sealed({"table.csv": "12"})
    content = read_certificate(text, "certificate.json")
    seal = content.pop("digest")
    assert {key: content[key] for key in ("format", "name", "files")} == {
        "format": FORMAT,
        "name": "Æ",
        "files": {"table.csv": "12"},
    }
    assert seal == digest(content)


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


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", json.dumps({"format": "other"}), "[" * 100_000])
def test_what_is_no_certificate_is_refused_by_its_place(text: str) -> None:
    with pytest.raises(ReleaseError, match=r"^here is not "):
        read_certificate(text, "here")
