"""What is public of a file is the same for every swap of it, and is told apart from others."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mechanisms.swapping.small import KINDS, asked, households, released, surveyed

from holdfast.data.sections import KeptSection
from holdfast.mechanisms.swapping.public import PublicStrata, tally_of
from holdfast.spec.values import Range


def public(table: pa.Table, **sections: Any) -> PublicStrata:
    return surveyed(asked(**sections), table)[0].public


def test_a_swap_of_a_file_has_the_same_public(tmp_path: Path) -> None:
    sections = {name: section for name, section in KINDS["records"].items() if name != "publication"}
    before = public(households(), **sections)
    released(tmp_path, households(), **sections)
    after = public(pq.read_table(tmp_path / "out/microdata.parquet"), **sections)
    assert after == before
    assert after.scope == before.scope
    assert pq.read_table(tmp_path / "out/microdata.parquet").column("county") != households().column("county")


def test_other_files_have_another_scope() -> None:
    table = households()
    scopes = {public(table).scope.digest}
    scopes.add(public(table.slice(0, 59)).scope.digest)
    scopes.add(public(table.set_column(4, "income", pa.array(range(60)))).scope.digest)
    scopes.add(
        public(
            table.set_column(2, "county", pa.array(["x"] * 10 + table.column("county").to_pylist()[10:]))
        ).scope.digest
    )
    scopes.add(public(table, invariants=[{"total": True}]).scope.digest)
    scopes.add(public(table, mechanism={"stratify": ["state"]}).scope.digest)
    assert len(scopes) == 6


def test_induced_invariants_are_apart_from_those_that_were_asked_for() -> None:
    found = public(households(), invariants=[{"margin": ["county"], "name": "mine"}])
    assert [one.name for one in found.invariants] == ["mine"]
    assert [one.name for one in found.induced] == [
        "state and size by county",
        "state and size by all that is held",
    ]
    assert found.induced[1].columns == ("state", "size", "tenure", "income")
    assert found.scope.invariants == ("mine",)
    assert len(found.scope.induced) == 2
    (whole, _) = public(households(), mechanism={"stratify": []}).induced
    assert whole.name == "the whole file by county"


def test_what_a_certificate_says_is_counted_again() -> None:
    for invariant in (
        {"margin": ["county"]},
        {"where": {"income": [100, 500]}},
        {"where": {"county": ["00"]}, "equals": 6},
    ):
        (kept,) = public(households(), invariants=[invariant]).invariants
        again = tally_of(kept)
        assert (again.name, again.attributes, again.equals, again.kind) == (
            kept.name,
            kept.attributes,
            kept.equals,
            kept.kind,
        )
    assert again.where == {"county": ("00",)}
    (ranged,) = public(households(), invariants=[{"where": {"income": [100, 500]}}]).invariants
    assert tally_of(ranged).where == {"income": Range(100, 500)}


def test_a_selection_of_nothing_is_no_selection() -> None:
    (kept,) = public(households(), invariants=[{"where": {"income": [100, 500]}}]).invariants
    content = kept.model_dump()
    content["where"]["income"] = {}
    with pytest.raises(ValueError, match="selects nothing of 'income'"):
        tally_of(KeptSection.model_validate(content))
