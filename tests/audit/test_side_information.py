"""What somebody knows beside the invariants, against all tables and against all that is left of them."""

from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast import audit
from holdfast.certificate.verdict import level_of
from holdfast.cli.universe import exposure as command
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import HoldfastError
from holdfast.universe.limited import readings

TOWNS, SEXES = ("A", "B", "C"), ("f", "m")
CELLS = list(product(TOWNS, SEXES))


def spec_of(folder: Path, counts: list[int], *, bounded: bool = False) -> Spec:
    rows = [f"{town},{sex},{count}" for (town, sex), count in zip(CELLS, counts, strict=True)]
    (folder / "data.csv").write_text("\n".join(["town,sex,n", *rows]) + "\n")
    bounds = [{"margin": ["town", "sex"], "at_most": 4}] if bounded else []
    return Spec.of(
        {
            "data": {"path": "data.csv", "cells": ["town", "sex"], "count": "n"},
            "invariants": [{"margin": ["town"]}, {"margin": ["sex"]}],
            "constraints": {"inequalities": bounds},
            "privacy": {"unit": "person", "standard": "pure", "epsilon": "1"},
            "mechanism": {"name": "lattice-laplace"},
        },
        folder=folder,
    )


def all_tables(counts: list[int], most: int) -> np.ndarray:
    """Return every table with the margins of this one, and no count above `most`."""
    own = np.array(counts).reshape(3, 2)
    found = []
    for women in product(*(range(int(total) + 1) for total in own.sum(axis=1))):
        if sum(women) == own[:, 0].sum():
            table = np.column_stack([women, own.sum(axis=1) - women])
            if table.max() <= most:
                found.append(table.ravel())
    return np.array(found)


@pytest.mark.parametrize("seed", range(24))
def test_intervals_and_distance_are_those_of_all_tables_that_are_left(tmp_path: Path, seed: int) -> None:
    chance = np.random.default_rng(seed)
    bounded = seed % 3 == 0
    counts = chance.integers(0, 4, 6)
    records = np.minimum(chance.integers(0, 2, 6), counts)
    cells = np.flatnonzero(chance.random(6) < 0.25)
    lines = [f"{','.join(CELLS[cell])}," for cell in np.repeat(np.arange(6), records)]
    lines += [f"{','.join(CELLS[cell])},{counts[cell]}" for cell in cells]
    lines += [f"A,*,{counts[:2].sum()}"] * int(chance.integers(0, 2))  # what the invariants say already
    (tmp_path / "known.csv").write_text("\n".join(["town,sex,n", *lines]) + "\n")
    report = audit.exposure(spec_of(tmp_path, counts.tolist(), bounded=bounded), known=tmp_path / "known.csv")

    tables = all_tables(counts.tolist(), 4 if bounded else 99)
    left = tables[(tables >= records).all(axis=1) & (tables[:, cells] == counts[cells]).all(axis=1)]
    low, high = left.min(axis=0), left.max(axis=0)
    said = {tuple(one.cell.values()): (one.low, one.high) for one in (*report.determined, *report.open)}
    assert said == {cell: (low[k], high[k]) for k, cell in enumerate(CELLS)}
    assert report.people_exposed == low[low == high].sum()
    side = report.side
    assert side is not None
    assert (side.records, side.after.exact) == (records.sum(), True)
    changes = readings(left - records)[0] if len(left) > 1 else 0
    assert side.after.semi_adjacency == changes
    assert side.before.semi_adjacency == (readings(tables)[0] if len(tables) > 1 else 0)


def moves(left: np.ndarray, x: int, y: int) -> int | None:
    """Return how many records change where one goes from a cell to another, in the worst of all tables.

    None where some table has a record there and none that follows has it in the other cell.
    """
    found = []
    for table in left[left[:, x] > 0]:
        others = left[left[:, y] > 0]
        if not len(others):
            return None
        moved = np.abs((table - np.eye(6, dtype=int)[x]) - (others - np.eye(6, dtype=int)[y]))
        found.append(1 + int(moved.sum(axis=1).min()) // 2)
    return max(found, default=None)


@pytest.mark.parametrize("seed", range(24))
def test_the_worst_pair_sensitivity_and_verdict_are_those_of_all_tables_left(
    tmp_path: Path, seed: int
) -> None:
    """Of known records, known counts and absent values, among them those of a whole town."""
    chance = np.random.default_rng(100 + seed)
    counts = chance.integers(0, 4, 6)
    records = np.minimum(chance.integers(0, 2, 6), counts)
    absent = np.flatnonzero((counts == 0) & (chance.random(6) < 0.7))
    lines = [f"{','.join(CELLS[cell])}," for cell in np.repeat(np.arange(6), records)]
    lines += [f"{','.join(CELLS[cell])},0" for cell in absent]
    (tmp_path / "known.csv").write_text("\n".join(["town,sex,n", *lines]) + "\n")
    spec = spec_of(tmp_path, counts.tolist())
    side = audit.exposure(spec, known=tmp_path / "known.csv").side
    assert side is not None
    every = all_tables(counts.tolist(), 99)
    left = every[(every >= records).all(axis=1) & (every[:, absent] == 0).all(axis=1)] - records
    first = every if len(every) > 1 else None
    for seen, tables in ((side.before, first), (side.after, left if len(left) > 1 else None)):
        if tables is None:
            assert (seen.semi_adjacency, seen.sensitivity, seen.worst, seen.parameters) == (
                0,
                None,
                None,
                None,
            )
            continue
        far = seen.semi_adjacency
        assert far is not None
        apart = tables[:, None, :] - tables[None, :, :]
        near = apart[np.abs(apart).sum(axis=2) <= 2 * far]
        assert seen.sensitivity == (np.abs(near).sum(axis=1).max(), (near**2).sum(axis=1).max())
        pairs = {(x, y): moves(tables, x, y) for x in range(6) for y in range(6) if x != y}
        assert max(many for many in pairs.values() if many is not None) == far
        assert seen.worst is not None
        x, y = (CELLS.index((one["town"], one["sex"])) for one in seen.worst)
        assert far in (pairs[x, y], pairs[y, x])
    if side.before.sensitivity and side.after.sensitivity:
        epsilon = Fraction(side.after.sensitivity[0], side.before.sensitivity[0])
        assert side.after.parameters == {"epsilon": str(epsilon)}
        right = exp(epsilon) / (1 + exp(epsilon))
        assert side.after.level == level_of(right, right)


def test_a_known_record_changes_places_with_nobody(tmp_path: Path) -> None:
    """Of two people who could change places one is known: then the other is, too."""
    spec = spec_of(tmp_path, [1, 0, 0, 1, 0, 0])
    (tmp_path / "known.csv").write_text("town,sex\nA,f\n")
    alone, beside = audit.exposure(spec), audit.exposure(spec, known=tmp_path / "known.csv")
    assert alone.side is None
    assert "known" not in alone.to_dict()
    assert beside.side is not None
    assert (beside.side.before.semi_adjacency, beside.side.after.semi_adjacency) == (2, 0)
    assert len(beside.determined) == 6
    known = beside.to_dict()["known"]
    assert (known["records"], known["counts"]) == (1, 0)
    assert (known["before"]["guarantee"], known["after"]["guarantee"]) == ({"epsilon": "1"}, None)


def test_the_target_is_worth_less_where_more_have_to_move(tmp_path: Path) -> None:
    """Bits on a 4-cycle: with the diagonal known to be full, two people move where one did."""
    (tmp_path / "data.csv").write_text("row,column,n\n1,1,2\n1,2,2\n1,3,2\n2,1,2\n2,2,2\n2,3,2\n")
    values = {
        "data": {"path": "data.csv", "cells": ["row", "column"], "count": "n"},
        "invariants": [{"total": True}],
        "privacy": {"unit": "person", "standard": "zcdp", "rho": "1/2"},
        "mechanism": {"name": "lattice-gaussian"},
    }
    lines = ["row,column,n", "1,*,6", "*,1,4", "*,2,4"]
    (tmp_path / "known.csv").write_text("\n".join(lines) + "\n")
    report = audit.exposure(Spec.of(values, folder=tmp_path), known=tmp_path / "known.csv")
    assert report.side is not None
    before, after = report.side.before, report.side.after
    assert (before.semi_adjacency, after.semi_adjacency) == (1, 3)
    assert before.sensitivity == (2, 2)
    assert after.sensitivity == (4, 4)
    assert after.parameters == {"rho": "1"}
    assert after.worst is not None


@pytest.mark.parametrize(
    ("privacy", "worth"),
    [
        ({}, {"epsilon": "1"}),
        ({"adjacency": "unit"}, {"epsilon": "2"}),  # of three people who change two move the table
        ({"distance": 6}, {"epsilon": "1/3"}),  # all six move it, at the distance that is covered
        ({"adjacency": "unit", "records_per_unit": 2}, {"epsilon": "3"}),  # six records, two at a time
    ],
)
def test_the_target_is_read_for_the_tables_that_it_covers(
    tmp_path: Path, privacy: dict[str, Any], worth: dict[str, str]
) -> None:
    spec = spec_of(tmp_path, [6, 6, 6, 6, 6, 6])
    asked = Privacy(unit="person", epsilon="1", **privacy)
    (tmp_path / "known.csv").write_text("town,sex,n\n*,*,36\n")  # what everybody knows
    report = audit.exposure(spec.model_copy(update={"privacy": asked}), known=tmp_path / "known.csv")
    assert report.side is not None
    assert report.side.before.parameters == report.side.after.parameters == worth


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("town,sex,n\nB,m,1\n", "line 2: the data have another count"),
        ("town,sex\nB,m\nB,m\nB,m\nB,m\n", "more records of one cell than the data"),
        ("town,sexx\nB,m\n", "did you mean 'sex'"),
        ("town,sex\nB\n", "line 2 has 1 values, and the header has 2"),
        ("town,sex\nB,*\n", "a known record has one level of every attribute"),
        ("town,sex,n\nB,m,-1\n", "is no whole number"),
        ("town,sex,n\nB,x,0\n", "line 2: sex"),
        ("", "no header"),
        ("town,town\nA,A\n", "no header, or a column twice"),
    ],
)
def test_bad_knowledge_is_told_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "known.csv").write_text(text)
    with pytest.raises(HoldfastError) as caught:
        audit.exposure(spec_of(tmp_path, [2, 1, 1, 0, 1, 4]), known=tmp_path / "known.csv")
    assert said in str(caught.value)
    assert "known.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_sets_both_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec_of(tmp_path, [1, 0, 0, 1, 0, 0])
    text = """
[data]
path = "data.csv"
cells = ["town", "sex"]
count = "n"
[[invariants]]
margin = ["town"]
[[invariants]]
margin = ["sex"]
[privacy]
unit = "person"
standard = "pure"
epsilon = "1"
[mechanism]
name = "lattice-laplace"
"""
    (tmp_path / "spec.toml").write_text(text)
    (tmp_path / "known.csv").write_text("town,sex\nA,f\n")
    command(tmp_path / "spec.toml", known=tmp_path / "known.csv")
    said = capsys.readouterr().out
    assert "Beside the invariants 1 record and 0 counts are known." in said
    assert "nobody is left" in said
    assert "Who knows this knows the whole table" in said
