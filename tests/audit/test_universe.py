import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import audit
from holdfast.audit.universes import UniverseReport
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec
from holdfast.system.errors import InvariantError


def universe(spec: Spec | Path) -> UniverseReport:
    found = audit.universe(spec)
    assert isinstance(found, UniverseReport)
    return found


def square(folder: Path, counts: tuple[int, int, int, int], **sections: Any) -> Spec:
    """Return the spec of a 2 x 2 table with both margins."""
    cells = zip(("a,c", "a,d", "b,c", "b,d"), counts, strict=True)
    (folder / "data.csv").write_text("".join(["row,column,n\n", *(f"{cell},{n}\n" for cell, n in cells)]))
    values = {
        "data": {"path": "data.csv", "cells": ["row", "column"], "count": "n"},
        "invariants": [{"margin": ["row"]}, {"margin": ["column"]}],
        "privacy": {"epsilon": "1"},
    }
    return Spec.of({**values, **sections}, folder=folder)


def test_the_four_counties(example: Path) -> None:
    report = universe(example)
    assert (report.cells, report.invariants, report.dimension) == (16, 7, 9)
    assert (report.blocks, report.totally_unimodular) == (1, True)
    assert report.semi_adjacency.worst_case == 3
    assert report.semi_adjacency.exact is True
    assert (report.sensitivity.l1, report.sensitivity.l2_squared, report.sensitivity.linf) == (6, 6, 1)
    assert report.sensitivity.exact is True
    assert audit.universe(read_spec(example)) == report
    plain = report.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["sensitivity"] == {"l1": 6, "l2_squared": 6, "linf": 1, "exact": True}
    assert plain["semi_adjacency"].keys() == {"worst_case", "literal", "exact", "reference"}


@pytest.mark.parametrize(
    ("counts", "literal", "worst_case"),
    [
        ((1, 1, 1, 0), 2, 3),  # margins (2, 1) and (2, 1)
        ((1, 1, 1, 1), 2, 2),  # margins (2, 2) and (2, 2)
        ((2, 0, 0, 2), 2, 2),  # the same margins, another table
        ((3, 0, 0, 0), 0, 0),  # one possible table
    ],
)
def test_two_by_two(tmp_path: Path, counts: tuple[int, int, int, int], literal: int, worst_case: int) -> None:
    report = universe(square(tmp_path, counts))
    assert (report.cells, report.invariants, report.dimension) == (4, 3, 1)
    assert report.semi_adjacency.literal == literal
    assert report.semi_adjacency.worst_case == worst_case
    assert report.semi_adjacency.exact is True


def test_it_depends_on_the_invariants_alone(tmp_path: Path) -> None:
    assert universe(square(tmp_path, (1, 1, 1, 1))) == universe(square(tmp_path, (2, 0, 0, 2)))


def test_without_invariants_one_record_may_move_alone(tmp_path: Path) -> None:
    report = universe(square(tmp_path, (1, 1, 1, 1), invariants=[]))
    assert (report.invariants, report.dimension) == (0, 4)
    assert report.semi_adjacency.worst_case == 1
    assert report.sensitivity.l1 == 2


def test_structural_zeros_are_no_cells(tmp_path: Path) -> None:
    spec = square(tmp_path, (1, 1, 1, 0), constraints={"structural_zeros": [{"row": "b", "column": "d"}]})
    report = universe(spec)
    assert (report.cells, report.dimension) == (3, 0)
    assert report.semi_adjacency.worst_case == 0


def test_a_contradiction_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvariantError, match="equals = 5"):
        universe(square(tmp_path, (1, 1, 1, 1), invariants=[{"total": True, "equals": 5}]))


def states(folder: Path, *counts: int) -> Spec:
    """Return the spec of a table of states with its totals."""
    (folder / "states.csv").write_text("state,n\n" + "".join(f"s{i},{n}\n" for i, n in enumerate(counts)))
    return Spec.of(
        {
            "data": {"path": "states.csv", "cells": ["state"], "count": "n"},
            "invariants": [{"margin": ["state"]}],
            "privacy": {"epsilon": "1"},
        },
        folder=folder,
    )


@pytest.mark.parametrize(("counts", "people"), [((12, 5, 9), 2), ((12, 0, 0), 0)])
def test_people_of_one_table_may_exchange_places(
    tmp_path: Path, counts: tuple[int, ...], people: int
) -> None:
    report = universe(states(tmp_path, *counts))
    assert (report.semi_adjacency.worst_case, report.labelled.worst_case) == (0, people)
    assert (report.labelled.a_min, report.labelled.a_maxmin) == (people, people)
    told = report.to_dict()["labelled"]
    assert json.loads(json.dumps(told)) == told
    assert [reason["kind"] for reason in told["evidence"]] == ["proved"]


def test_people_and_table_agree_where_a_count_can_change(tmp_path: Path) -> None:
    report = universe(square(tmp_path, (1, 1, 1, 0)))
    assert report.labelled.worst_case == report.semi_adjacency.worst_case == 3
    assert "assumed" in {reason.kind for reason in report.evidence} or not report.semi_adjacency.searched


@pytest.mark.parametrize(("rows", "table", "people"), [("0,0 0,1 1,1", 3, 3), ("0,0 0,1 0,1", 0, 2)])
def test_people_of_several_tables(tmp_path: Path, rows: str, table: int, people: int) -> None:
    """Two margins: of three people who differ in both, and where all agree in one and one table is left."""
    (tmp_path / "people.csv").write_text("\n".join(["a,b", *rows.split(), ""]))
    (tmp_path / "both.toml").write_text(
        """
[data]
path = "people.csv"
[privacy]
epsilon = "1"
[[tables]]
name = "first"
cells = ["a"]
invariants = [{ margin = ["a"] }]
[[tables]]
name = "second"
cells = ["b"]
invariants = [{ margin = ["b"] }]
"""
    )
    told = audit.universe(tmp_path / "both.toml").to_dict()
    assert (told["semi_adjacency"], told["labelled"]) == (table, people)
