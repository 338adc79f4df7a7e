"""What is public, from a spec and its table: through the invariants alone, and worked out once."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.example import changed

from holdfast.inference.released_intervals import intervals
from holdfast.public import Public
from holdfast.releases.prepare import prepare
from holdfast.releases.table import published
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import InvariantError, SpecError
from holdfast.universe.metrics import METRICS
from holdfast.universe.universe import Universe

ROWS = "sex,age,n\nf,young,3\nf,old,4\nm,young,2\nm,old,5\n"
MARGINS = [{"margin": ["sex"]}, {"margin": ["age"]}]


def public_of(folder: Path, rows: str = ROWS, **sections: Any) -> Public:
    (folder / "data.csv").write_text(rows)
    data = {"path": "data.csv", "cells": ["sex", "age"], "count": "n"}
    return published(Spec.of({"data": data, "privacy": {"epsilon": "1"}, **sections}, folder=folder))[0]


def test_invariants_are_evaluated_in_the_order_of_the_spec(tmp_path: Path) -> None:
    public = public_of(
        tmp_path, invariants=[*MARGINS, {"where": {"sex": "m"}, "name": "men"}, {"total": True}]
    )
    assert [held.block.name for held in public.invariants] == ["sex", "age", "men", "total"]
    assert [held.values.tolist() for held in public.invariants] == [[7, 7], [5, 9], [7], [14]]
    assert public.scope.invariants == ("sex", "age", "men", "total")
    assert public.inferred == ("sex", "age")
    # Of the six numbers three are independent.
    assert (public.universe.cells, public.universe.rank, public.universe.dimension) == (4, 3, 1)


def test_without_invariants_everything_is_open(tmp_path: Path) -> None:
    public = public_of(tmp_path)
    assert public.invariants == ()
    assert (public.universe.rank, public.universe.dimension) == (0, 4)


def test_structural_zeros_are_no_cells_of_the_universe(tmp_path: Path) -> None:
    zeros = {"structural_zeros": [{"sex": "m", "age": "old"}]}
    public = public_of(tmp_path, ROWS.replace("m,old,5", "m,old,0"), invariants=MARGINS, constraints=zeros)
    assert public.schema.size == 4
    assert public.universe.cells == 3
    assert "1 cell is a structural zero" in [one.words for one in public.scope.constraints]


def test_it_depends_on_the_table_through_the_invariants_alone(tmp_path: Path) -> None:
    one = public_of(tmp_path, invariants=MARGINS)
    same = public_of(tmp_path, "sex,age,n\nf,young,5\nf,old,2\nm,young,0\nm,old,7\n", invariants=MARGINS)
    other = public_of(tmp_path, "sex,age,n\nf,young,5\nf,old,2\nm,young,0\nm,old,8\n", invariants=MARGINS)
    assert one.scope == same.scope
    assert one.scope != other.scope
    np.testing.assert_array_equal(one.universe.values, same.universe.values)
    np.testing.assert_array_equal(one.universe.matrix.toarray(), same.universe.matrix.toarray())


@pytest.mark.parametrize("invariant", [{"total": True}, {"where": {"sex": ["f", "m"]}}])
def test_a_value_published_before_must_be_the_value(tmp_path: Path, invariant: dict[str, Any]) -> None:
    public_of(tmp_path, invariants=[{**invariant, "equals": 14}])
    with pytest.raises(InvariantError, match="says equals = 15, but the data give 14: correct one of them"):
        public_of(tmp_path, invariants=[{**invariant, "equals": 15}])


def test_two_bounds_that_meet_are_an_invariant(tmp_path: Path) -> None:
    """A guarantee counts with the invariants: an equation among the bounds would be missing there."""
    bounds = {"where": {"sex": "m"}, "at_least": 7, "at_most": 7, "name": "men"}
    with pytest.raises(SpecError, match="'men' has at_least = at_most = 7, which is an equation"):
        public_of(tmp_path, constraints={"inequalities": [bounds], "nonnegative": True})


def test_cliques_are_for_plain_margins_only(tmp_path: Path) -> None:
    margins = [{"margin": ["sex"]}, {"total": True}, {"margin": ["age", "sex"]}]
    expected: tuple[frozenset[str], ...] = (frozenset({"sex"}), frozenset(), frozenset({"age", "sex"}))
    assert public_of(tmp_path, invariants=margins).cliques == expected
    assert public_of(tmp_path).cliques == ()
    within = {"margin": ["sex"], "where": {"age": "old"}}
    assert public_of(tmp_path, invariants=[*margins, within]).cliques is None
    zeros = {"structural_zeros": [{"sex": "m", "age": "old"}]}
    rows = ROWS.replace("m,old,5", "m,old,0")
    assert public_of(tmp_path, rows, invariants=margins, constraints=zeros).cliques is None


@pytest.mark.parametrize(("adjacency", "asked"), [("semi", 1), ("unit", 0)])
def test_what_is_costly_is_worked_out_when_asked_for_and_once(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, adjacency: str, asked: int
) -> None:
    calls: Counter[str] = Counter()

    def counted(name: str, of: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keys: Any) -> Any:
            calls[name] += 1
            return of(*arguments, **keys)

        return call

    usual = METRICS["replace"]
    usual = replace(
        usual,
        semi_adjacency=counted("semi_adjacency", usual.semi_adjacency),
        sensitivity=counted("sensitivity", usual.sensitivity),
    )
    monkeypatch.setitem(METRICS, "replace", usual)
    monkeypatch.setattr(Universe, "of", counted("universe", Universe.of))
    prepared = prepare(changed(example, privacy={"adjacency": adjacency}))
    folder = prepared.release(SeededEntropy(1)).write(tmp_path / "out")
    prepared.release(SeededEntropy(2))
    once = Counter({"semi_adjacency": asked, "sensitivity": asked, "universe": 1})
    assert calls == once
    calls.clear()
    intervals(folder)  # from the certificate, whose guarantee is derived again
    assert calls == once
