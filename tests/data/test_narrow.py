"""Sums that look at few levels of a geography, held by distinct columns, are the sums over all cells."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.mechanisms.topdown.small import spec

from holdfast.data import invariants
from holdfast.data.grid import Nesting
from holdfast.data.invariants import margin_matrix, spread_margin
from holdfast.data.narrow import Narrow
from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.lattice.arrays import run_sums
from holdfast.lattice.components import patterns
from holdfast.lattice.spread import SpreadColumns, expanded
from holdfast.public import Public
from holdfast.releases.prepare import prepare
from holdfast.spec.model import Spec

NESTED = Schema(
    Attributes.of({"state": "AB", "county": "abc", "tract": "12345", "sex": "fm", "age": "012"}),
    nestings=(Nesting("county", "state", (0, 1, 1)), Nesting("tract", "county", (0, 0, 1, 2, 2))),
)
ASKED: list[tuple[tuple[str, ...], dict[str, tuple[str, ...]]]] = [
    ((), {}),
    (("state",), {}),
    (("county", "sex"), {}),
    (("sex", "state"), {}),
    (("county",), {"age": ("1", "2")}),
    (("state",), {"county": ("a", "c")}),
    ((), {"state": ("B",), "sex": ("f",)}),
]


def same(one: csr_array, other: csr_array) -> bool:
    return one.shape == other.shape and (one.toarray() == other.toarray()).all()


@pytest.mark.parametrize(("attributes", "where"), ASKED)
def test_rows_are_those_over_all_cells(
    attributes: tuple[str, ...], where: dict[str, tuple[str, ...]]
) -> None:
    whole, rows = margin_matrix(NESTED, attributes, where)
    found, kept = spread_margin(NESTED, attributes, where)
    assert isinstance(found, SpreadColumns)
    assert np.array_equal(rows, kept)
    assert found.shape == whole.shape
    assert same(found.expanded, whole)
    assert np.array_equal(found.indptr, whole.indptr)
    assert np.array_equal(np.concatenate([cells for cells, _ in found.rows()]), whole.indices)
    counts = np.random.default_rng(1).integers(0, 100, NESTED.size)
    assert np.array_equal(
        np.asarray(found.columns @ run_sums(counts, found.times)), np.asarray(whole @ counts)
    )
    some, first = found.first_cells()
    assert np.array_equal(some, np.flatnonzero(np.diff(whole.indptr)))
    assert np.array_equal(first, whole.indices[whole.indptr[:-1]])
    alike, plain = patterns(found), patterns(whole)
    assert np.array_equal(alike.of_cell, plain.of_cell)
    assert np.array_equal(alike.size, plain.size)
    assert same(alike.columns, plain.columns)


@pytest.mark.parametrize(("attributes", "where"), ASKED)
def test_structural_zeros_of_every_leaf_are_left_out(
    attributes: tuple[str, ...], where: dict[str, tuple[str, ...]]
) -> None:
    zeros = frozenset(leaf * 6 + cell for leaf in range(5) for cell in (1, 2, 5))
    zeroed = Schema(NESTED.attributes, Runs.of(zeros), NESTED.nestings)
    whole, rows = margin_matrix(zeroed, attributes, where)
    found, kept = spread_margin(zeroed, attributes, where)
    assert isinstance(found, SpreadColumns)
    assert np.array_equal(rows, kept)
    assert same(found.expanded, whole)
    some, first = found.first_cells()
    assert np.array_equal(some, np.flatnonzero(np.diff(whole.indptr)))
    assert np.array_equal(first, whole.indices[whole.indptr[:-1][some]])
    assert not (set(first.tolist()) & zeros)


def test_what_looks_at_every_level_or_cell_is_not_narrowed() -> None:
    assert Narrow.of(NESTED, {"tract"}) is None
    assert Narrow.of(Schema(NESTED.attributes, Runs.of({3}), NESTED.nestings), {"state"}) is None
    assert Narrow.of(Schema(Attributes.of({"sex": "fm"})), ()) is None
    apart = Schema(
        Attributes.of({"sex": "fm", "state": "AB", "county": "abc"}),
        nestings=(Nesting("county", "state", (0, 1, 1)),),
    )
    assert Narrow.of(apart, {"state"}) is None
    childless = Schema(
        Attributes.of({"state": "ABC", "county": "abc"}), nestings=(Nesting("county", "state", (0, 1, 1)),)
    )
    assert Narrow.of(childless, {"state"}) is None


@pytest.mark.parametrize(
    "asked",
    [
        [],
        [{"total": True, "level": "county"}],
        [{"total": True, "level": "state"}, {"margin": ["sex"], "level": "tract"}],
        [{"total": True, "level": "block"}, {"total": True, "level": "county"}],
    ],
)
@pytest.mark.parametrize("zeros", [[], [{"age": "0", "sex": "f"}]])
@pytest.mark.parametrize("adjacency", ["unit", "semi"])
def test_nothing_of_a_guarantee_depends_on_how_rows_are_held(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: list[dict[str, Any]],
    adjacency: str,
    zeros: list[dict[str, str]],
) -> None:
    more: dict[str, Any] = {
        "invariants": asked,
        "privacy": {"standard": "zcdp", "rho": "1", "adjacency": adjacency},
        "constraints": {"structural_zeros": zeros},
    }

    def asked_of(folder: Path) -> Spec:
        found = spec(folder, **more)
        if zeros:  # the data keep them
            lines = (folder / "blocks.csv").read_text().splitlines()
            told = [line.rpartition(",")[0] + ",0" if ",0,f," in line else line for line in lines]
            (folder / "blocks.csv").write_text("\n".join(told) + "\n")
        return found

    one = prepare(asked_of(tmp_path))
    monkeypatch.setattr(Narrow, "of", classmethod(lambda *_: None))
    other = prepare(asked_of(tmp_path))
    narrow = all("block" not in (each.get("level"), *each.get("margin", ())) for each in asked)
    assert isinstance(one.public.universe.given, SpreadColumns) == narrow
    assert not isinstance(other.public.universe.given, SpreadColumns)
    certificates = [each.certify(secure=False).to_dict() for each in (one, other)]
    for each in certificates:
        del each["created"]
    assert certificates[0] == certificates[1]
    assert same(expanded(one.public.universe.given), other.public.universe.matrix)


def test_certificates_are_read_in_the_same_form(tmp_path: Path) -> None:
    prepared = prepare(spec(tmp_path))
    held = prepared.public.invariants[0].block
    again = invariants.InvariantBlock.from_dict(held.to_dict(), prepared.public.schema)
    assert isinstance(again.given, SpreadColumns)
    assert isinstance(prepared.public, Public)
    assert same(again.matrix, held.matrix)
