"""Nested attributes from a spec to a release, against the full product with structural zeros."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.certificate.falsify import write

import holdfast
from holdfast.certificate.certified_cells import CertifiedCells, DamagedCertificateError
from holdfast.certificate.released_counts import read_counts
from holdfast.data.read import read_table
from holdfast.inference.released_intervals import IntervalReport, intervals
from holdfast.processing.methods import method_of
from holdfast.processing.processed import process
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.releases.table import published
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError, SpecError
from holdfast.verification.verify import verify

SpecFor = Callable[..., Spec]
PLACES = {"1": "A", "2": "A", "3": "B", "4": "B", "5": "B"}
ROWS = [(PLACES[tract], tract, sex, (3 * int(tract) + (sex == "m")) % 7) for tract in PLACES for sex in "fm"]
CONTENT = "county,tract,sex,n\n" + "".join(f"{c},{t},{s},{n}\n" for c, t, s, n in ROWS)
DATA: dict[str, Any] = {"cells": ["county", "tract", "sex"], "count": "n"}
WITHIN = {"tract": "county"}
ZEROS = [{"county": c, "tract": t} for t in PLACES for c in "AB" if PLACES[t] != c]


def both(spec_for: SpecFor, invariants: list[Any], data: dict[str, Any] = DATA) -> tuple[Prepared, Prepared]:
    nested = prepare(spec_for(CONTENT, {**data, "within": WITHIN}, invariants=invariants))
    full = prepare(spec_for(CONTENT, data, invariants=invariants, constraints={"structural_zeros": ZEROS}))
    return nested, full


@pytest.mark.parametrize(
    "invariants",
    [
        [],
        [{"total": True}],
        [{"margin": ["county"]}],
        [{"margin": ["tract"]}],
        [{"margin": ["county", "sex"]}],
        [{"margin": ["county", "tract"]}],
        [{"margin": ["county"]}, {"margin": ["sex"]}],
        [{"margin": ["tract"]}, {"margin": ["sex"]}],
        [{"margin": ["tract"]}, {"margin": ["county", "sex"]}],
        [{"where": {"county": "B"}}],
        [{"margin": ["sex"], "where": {"county": "A"}}],
    ],
    ids=str,
)
def test_it_is_the_full_product_with_structural_zeros(spec_for: SpecFor, invariants: list[Any]) -> None:
    nested, full = both(spec_for, invariants)
    ours, theirs = nested.public, full.public
    assert ours.schema.size == len(ROWS) == theirs.possible.size
    # cells stand in the same order, so the universes are the same matrices
    assert (ours.universe.matrix.toarray() == theirs.universe.matrix.toarray()).all()
    assert ours.universe.values.tolist() == theirs.universe.values.tolist()
    assert (
        nested.table.reading.table.counts.tolist()
        == full.table.reading.table.counts[theirs.possible].tolist()
    )
    one, other = ours.premises("semi"), theirs.premises("semi")
    assert one.semi_adjacency.worst_case == other.semi_adjacency.worst_case
    assert one.sensitivity == other.sensitivity
    assert nested.guarantee.unit == full.guarantee.unit
    assert nested.guarantee.intensity == full.guarantee.intensity
    labels = [
        [label for block in public.invariants for label in block.block.labels] for public in (ours, theirs)
    ]
    assert set(labels[0]) <= set(labels[1])


def test_records_make_the_same_table(spec_for: SpecFor) -> None:
    counted = read_table(spec_for(CONTENT, {**DATA, "within": WITHIN})).table
    rows = "".join(f"{c},{t},{s}\n" * n for c, t, s, n in ROWS)
    records = read_table(
        spec_for("county,tract,sex\n" + rows, {"cells": DATA["cells"], "within": WITHIN})
    ).table
    assert records == counted


def test_a_release_lists_each_real_cell_once_and_is_verified(spec_for: SpecFor, tmp_path: Path) -> None:
    spec = spec_for(CONTENT, {**DATA, "within": WITHIN}, invariants=[{"margin": ["county"]}])
    for parquet, name in ((False, "table.csv"), (True, "table.parquet")):
        folder = tmp_path / name.partition(".")[2]
        holdfast.release(spec, folder, parquet=parquet, seed=1)
        read = pl.read_parquet if parquet else lambda path: pl.read_csv(path, infer_schema=False)
        frame = read(folder / name)
        assert frame.select("county", "tract", "sex").rows() == [row[:3] for row in ROWS]
        assert verify(folder, quick=True).kept
        assert verify(folder).kept
    found = intervals(tmp_path / "csv", margin=["tract", "county"])
    assert isinstance(found, IntervalReport)
    assert found.levels == tuple((tract, county) for tract, county in PLACES.items())
    kept = intervals(tmp_path / "csv", margin=["county"]).found
    assert kept.determined.all()
    processed = process(tmp_path / "csv", method_of("nonnegative-l2"), bias_draws=0)
    assert processed.table.numerators.size == len(ROWS)


def test_weights_speak_of_real_cells(spec_for: SpecFor, tmp_path: Path) -> None:
    header = "invariant,county,tract,sex,weight\n"
    spec = spec_for(CONTENT, {**DATA, "within": WITHIN}, invariants=[{"weights": {"file": "w.csv"}}])
    (tmp_path / "w.csv").write_text(header + "a,B,3,f,2\na,B,4,m,-1\n")
    held = published(spec)[0].invariants[0]
    counts = {row[:3]: row[3] for row in ROWS}
    assert held.values.tolist() == [2 * counts["B", "3", "f"] - counts["B", "4", "m"]]
    (tmp_path / "w.csv").write_text(header + "a,B,3,f,2\na,B,1,m,-1\n")
    with pytest.raises(DataError, match=r"row 3 is in no cell: tract '1' is not in county 'B'"):
        published(spec)


def test_a_released_table_has_real_cells_only(spec_for: SpecFor, tmp_path: Path) -> None:
    schema = read_table(spec_for(CONTENT, {**DATA, "within": WITHIN})).table.schema
    path = tmp_path / "table.csv"
    path.write_text(CONTENT.replace("A,1,f", "B,1,f"))
    with pytest.raises(
        DamagedCertificateError, match=r"row 2 is not that of county = 'A', tract = '1', sex = 'f'"
    ):
        read_counts(path, CertifiedCells(schema, "n"))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda within: within[0]["parents"].reverse(), True),
        (lambda within: within[0].update(within="sex"), True),
        (lambda within: within.clear(), True),
        (lambda within: within[0]["parents"].append(0), True),
        (lambda within: None, False),
    ],
)
def test_a_forged_nesting_is_found(
    spec_for: SpecFor, tmp_path: Path, change: Callable[[Any], None], found: bool
) -> None:
    spec = spec_for(CONTENT, {**DATA, "within": WITHIN}, invariants=[{"margin": ["county"]}])
    holdfast.release(spec, tmp_path / "out", seed=1)
    content = json.loads((tmp_path / "out" / "certificate.json").read_text())
    change(content["parts"][0]["table"]["schema"]["within"])
    write(tmp_path / "out", content, page=True)
    assert verify(tmp_path / "out", quick=True).kept is not found
    assert verify(tmp_path / "out").kept is not found


@pytest.mark.parametrize(
    ("within", "words"),
    [
        ({"tract": "conty"}, "within names 'conty', which is not among cells: did you mean 'county'?"),
        ({"trakt": "county"}, "within names 'trakt', which is not among cells: did you mean 'tract'?"),
        ({"tract": "tract"}, "within puts 'tract' in itself"),
        ({"tract": "county", "county": "tract"}, "within puts 'tract' in itself"),
        ({"tract": "county", "county": "sex", "sex": "tract"}, "in itself"),
        ({"tract": 5}, "within tract must be text in quotes"),
    ],
)
def test_what_cannot_be_nested_is_refused(spec_for: SpecFor, within: Any, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_for(CONTENT, {**DATA, "within": within})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_level_in_two_others_is_named(spec_for: SpecFor) -> None:
    spec = spec_for(CONTENT + "B,2,f,1\n", {**DATA, "within": WITHIN})
    with pytest.raises(DataError, match=r"tract '2' lies in county 'A' and in county 'B': correct one"):
        read_table(spec)


def test_a_declared_level_that_no_row_has_lies_nowhere(spec_for: SpecFor) -> None:
    levels = {"tract": [*PLACES, "6"]}
    with pytest.raises(DataError, match=r"no row with tract '6', so which county it lies in is not known"):
        read_table(spec_for(CONTENT, {**DATA, "within": WITHIN, "levels": levels}))


def test_two_attributes_in_one(spec_for: SpecFor) -> None:
    content = "county,tract,school\nA,1,x\nA,2,x\nB,3,y\nB,3,z\n"
    data = {"cells": ["school", "county", "tract"], "within": {"tract": "county", "school": "county"}}
    table = read_table(spec_for(content, data)).table
    assert table.schema.size == 2 * 1 + 1 * 2
    assert table.total == 4


def test_a_chain_of_many_levels_makes_no_product(spec_for: SpecFor) -> None:
    many = range(4000)
    content = "a,b,c,n\n" + "".join(f"{i // 100},{i // 10},{i},1\n" for i in many)
    data = {"cells": ["a", "b", "c"], "count": "n", "within": {"b": "a", "c": "b"}}
    prepared = prepare(spec_for(content, data, invariants=[{"margin": ["a", "b"]}]))
    assert prepared.public.schema.size == len(many)
    assert len(prepared.public.invariants[0].block.labels) == 400
    drawn = prepared.release(SeededEntropy(1)).table
    assert (drawn.margin(["b"]) == 10).all()
    assert np.unique(drawn.schema.codes("a")).size == 40
