"""A cell-key table beside lattice noise of its largest change: both deltas, and errors by direct sums."""

from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.comparison.habits import invented
from holdfast.comparison.tables import Comparison
from holdfast.data.perturbation import read_perturbation
from holdfast.system.errors import DataError, SpecError

TABLE = "i,j,p\n0,0,1\n1,0,0.5\n1,2,0.5\n2,1,0.25\n2,2,0.5\n2,3,0.25\n"
ROWS = "a,x,3\na,y,1\nb,x,2\nb,y,4\n"


def spec_of(folder: Path, **privacy: Any) -> hf.Spec:
    (folder / "data.csv").write_text("row,column,n\n" + ROWS)
    (folder / "lookup.csv").write_text(TABLE)
    return hf.Spec.of(
        {
            "data": {"path": "data.csv", "cells": ["row", "column"], "count": "n"},
            "invariants": [{"margin": ["row"]}, {"margin": ["column"]}],
            "privacy": {"unit": "person", "epsilon": "1", **privacy},
        },
        folder=folder,
    )


def compared(folder: Path, table: str = "lookup.csv", **privacy: Any) -> Comparison:
    spec = spec_of(folder, **privacy)
    found = hf.compare(spec, ["lattice-laplace"], draws=400, cell_key=folder / table)
    assert isinstance(found, Comparison)
    return found


def test_both_are_told_at_the_epsilon_of_the_target(tmp_path: Path) -> None:
    found = compared(tmp_path, epsilon="3/2").cell_keys
    assert found is not None
    assert (found.epsilon, found.counts_of_one) == (Fraction(3, 2), 4)
    keyed, gaussian, laplace = found.rows
    audited = hf.audit.cell_key(tmp_path / "lookup.csv", [Fraction(3, 2)])
    assert (keyed.delta, keyed.largest_change) == (audited.losses[0].delta, 1)
    assert [keyed.adds_up, gaussian.adds_up, laplace.adds_up] == [False, True, True]
    assert all(row.cell is not None and row.cell <= 1 for row in found.rows)
    assert gaussian.name == "lattice-gaussian, bound = 1"
    assert gaussian.margins["row"] == 0
    assert keyed.margins["row"] > 0


@pytest.mark.parametrize(
    ("place", "weight"), [(1, lambda s, w: s**2 / (2 * w**2)), (2, lambda s, w: s * 4 * 2**0.5 / w)]
)
def test_the_delta_of_the_lattice_is_enumerated(place: int, weight: Any, tmp_path: Path) -> None:
    """Of a 2 x 2 table noise is one number, s, in all four cells: -1, 0 or 1."""
    found = compared(tmp_path).cell_keys
    assert found is not None
    width = max(float(np.var(values)) for values in ([-1, 1], [-1, 0, 0, 1])) ** 0.5
    squares = 4 if place == 1 else 1
    weights = {s: exp(-squares * weight(abs(s), width)) for s in (-1, 0, 1)}
    whole = sum(weights.values())
    delta = sum(max(0.0, p - exp(1) * weights.get(s - 1, 0.0)) / whole for s, p in weights.items())
    assert found.rows[place].delta == pytest.approx(delta, rel=1e-4)
    mean = (weights[1] + weights[-1]) / whole
    assert found.rows[place].cell == pytest.approx(mean, abs=0.15)


def test_errors_of_cell_keys_are_direct_sums_over_an_invented_table(tmp_path: Path) -> None:
    found = compared(tmp_path).cell_keys
    assert found is not None
    public = hf.prepare(spec_of(tmp_path)).public
    table, counts = read_perturbation(tmp_path / "lookup.csv"), invented(public)
    each = [sum(abs(v) * float(p) for v, p in table.law(int(n)).items()) for n in counts]
    assert found.rows[0].cell == pytest.approx(np.mean(each))


def test_a_table_that_changes_nothing_has_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("i,j,p\n0,0,1\n1,1,1\n")
    found = compared(tmp_path, "none.csv").cell_keys
    assert found is not None
    (row,) = found.rows
    assert (row.delta, row.cell) == (1.0, 0.0)
    assert "deterministic" in row.note


def test_what_no_bound_is_accounted_for_says_so(tmp_path: Path) -> None:
    found = compared(tmp_path, adjacency="unit").cell_keys
    assert found is not None
    assert found.rows[1].delta is None
    assert "cannot be used" in found.rows[1].note


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="has the columns"):
        compared(tmp_path, "bad.csv")


def test_records_have_no_cell_keys(tmp_path: Path) -> None:
    (tmp_path / "records.csv").write_text("county,size,tenure\nA,1,own\nB,1,rent\n")
    (tmp_path / "lookup.csv").write_text(TABLE)
    spec = hf.Spec.of(
        {
            "data": {"path": "records.csv", "cells": ["county", "tenure"]},
            "privacy": {"unit": "household", "adjacency": "unit", "epsilon": "2"},
            "mechanism": {"name": "permutation-swapping", "stratify": ["size"], "swap": ["county"]},
        },
        folder=tmp_path,
    )
    with pytest.raises(SpecError, match="cell_key is for tables of counts"):
        hf.compare(spec, cell_key=tmp_path / "lookup.csv")
