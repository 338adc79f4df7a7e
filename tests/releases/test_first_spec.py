"""A first spec for a file: what it says of files of many kinds, and that it releases as it is."""

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.data.survey import AN_ID
from holdfast.releases.first_spec import Wishes, first_spec
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.load import read_spec
from holdfast.system.errors import DataError, SpecError

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"


def written(path: Path, rows: list[dict[str, object]], separator: str = ",", encoding: str = "utf-8") -> Path:
    text = io.StringIO()
    out = csv.DictWriter(text, list(rows[0]), delimiter=separator)
    out.writeheader()
    out.writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def made(seed: int, folder: Path) -> Path:
    """A file of any shape: counts or records, names with signs in them, totals, ids, gaps."""
    rng = np.random.default_rng(seed)
    sizes = {
        f"a {i}" if rng.random() < 0.3 else f'k"{i}': int(rng.integers(2, 7))
        for i in range(rng.integers(1, 5))
    }
    words = {
        name: [f"{name}{'=' if i % 2 else ' é'}{i}" if rng.random() < 0.7 else str(i) for i in range(size)]
        for name, size in sizes.items()
    }
    rows: list[dict[str, object]] = []
    if rng.random() < 0.5:
        for number in range(60):
            row: dict[str, object] = {"id": f"P{number}"} if seed % 2 else {}
            rows.append({**row, **{name: str(rng.choice(levels)) for name, levels in words.items()}})
        if seed % 3 == 0:
            rows[7][next(iter(words))] = ""
    else:
        grid = np.array(np.meshgrid(*(range(size) for size in sizes.values()))).reshape(len(sizes), -1).T
        for cell in grid:
            names = {name: words[name][place] for (name, place) in zip(words, cell, strict=True)}
            rows.append({**names, "people": int(rng.integers(0, 50))})
        rows[0]["people"] = 3
    signs = ",;\t|"
    return written(folder / f"{seed}.csv", rows, signs[seed % 4], "utf-8" if seed % 5 else "cp1252")


@pytest.mark.parametrize("seed", range(24))
def test_what_is_written_releases_as_it_is(tmp_path: Path, seed: int) -> None:
    found = first_spec(made(seed, tmp_path), tmp_path / "spec.toml")
    prepared = hf.prepare(found.spec)
    assert prepared.release(SeededEntropy(seed)).table.counts.size == prepared.public.schema.size
    assert set(prepared.public.inferred) == set()
    assert "epsilon 2" in found.proposal.text


@pytest.mark.parametrize(
    ("name", "cells", "count"),
    [
        ("california_2010_p12", ("county", "sex", "age"), "count"),
        ("illinois_counties", ("county",), "pop2010"),
        ("pennsylvania_covid", ("county", "month"), "cases"),
        ("classic_tables", ("table", "cell"), "count"),
        ("cps_households", ("year", "state_fips", "persons", "tax_units", "snap", "housing_ben"), None),
    ],
)
def test_real_files(tmp_path: Path, name: str, cells: tuple[str, ...], count: str | None) -> None:
    path = SHARED / f"{name}.csv"
    if not path.exists():
        pytest.skip("the real data are not here")
    found = first_spec(path, tmp_path / "spec.toml")
    assert (found.proposal.cells, found.proposal.count) == (cells, count)
    hf.prepare(found.spec).sample(SeededEntropy(1))


def test_columns_that_are_no_attributes_are_left_out_with_the_reason(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {
            "person_id": 1000 + i,
            "year": 2020,
            "county": "AB"[i % 2],
            "sex": "fmf"[i % 3],
            "code": "12"[i % 2],
            "income": 7919 * i,
            "share": i / 7,
        }
        for i in range(400)
    ]
    found = first_spec(written(tmp_path / "p.csv", rows), wishes=Wishes(keep=("county", "total")))
    assert found.spec == tmp_path / "holdfast.toml"
    assert (found.proposal.cells, found.proposal.count) == (("county", "sex"), None)
    reasons = {name: why.split(":")[0] for name, why in found.proposal.left_out.items()}
    assert reasons == {
        "person_id": AN_ID,
        "year": "has one level on all rows",
        "code": "tells the same as county",
        "income": "has more values than a table has room for",
        "share": "holds numbers with fractions or signs",
    }
    spec = read_spec(found.spec)
    assert [bool(one.margin) for one in spec.invariants] == [True, False]


def test_rows_of_totals_are_omitted(tmp_path: Path) -> None:
    counts = {("A", "f"): 3, ("A", "m"): 4, ("B", "f"): 5, ("B", "m"): 7}
    rows: list[dict[str, object]] = [{"county": c, "sex": s, "n": n} for (c, s), n in counts.items()]
    rows += [{"county": "Total", "sex": s, "n": counts["A", s] + counts["B", s]} for s in "fm"]
    found = first_spec(written(tmp_path / "t.csv", rows))
    assert 'omit = { county = ["Total"] }' in found.proposal.text
    prepared = hf.prepare(found.spec)
    assert dict(prepared.public.schema.attributes.each[0].__dict__)["levels"] == ("A", "B")


def test_nested_attributes_and_census_codes(tmp_path: Path) -> None:
    tracts: list[dict[str, object]] = [
        {"county": f"c{i // 4}", "tract": f"t{i}", "sex": sex, "pop": i + 1}
        for i in range(12)
        for sex in "fm"
    ]
    assert 'within = { tract = "county" }' in first_spec(written(tmp_path / "n.csv", tracts)).proposal.text
    blocks: list[dict[str, object]] = [{"block": f"44001030100{i:04d}", "pop": i} for i in range(1000, 1020)]
    found = first_spec(written(tmp_path / "b.csv", blocks), tmp_path / "b.toml", Wishes(keep=("county",)))
    assert (
        "prefixes = { state = 2, county = 5, tract = 11, block_group = 12, block = 15 }"
        in found.proposal.text
    )
    hf.prepare(found.spec).sample(SeededEntropy(1))


def test_a_packed_file_and_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in ("a", "b"):
        text = f"sex;county;n\nf;{name}é;3\nm;{name}é;4\n".encode()
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text))
    one = first_spec(folder / "a.csv.gz", tmp_path / "one.toml")
    assert 'separator = ";"' in one.proposal.text
    assert (one.proposal.cells, one.proposal.count) == (("sex",), "n")
    both = first_spec(folder, tmp_path / "both.toml")
    assert (both.proposal.cells, both.proposal.count) == (("sex", "county"), "n")
    assert hf.prepare(both.spec).public.schema.size == 4


def test_text_of_two_bytes_a_letter_is_known_by_its_mark(tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("county;sex;n\nÄ;f;3\nÄ;m;4\nB;f;5\nB;m;6\n", encoding="utf-16")
    found = first_spec(tmp_path / "u.csv")
    assert found.proposal.data.levels == {"county": ("Ä", "B"), "sex": ("f", "m")}
    assert hf.prepare(found.spec).counts.tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize("wrong", ["-3", "3.5", "9" * 20])
def test_a_count_that_counts_nobody_is_doubted(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "d.csv").write_text(f"county,sex,n\nA,f,{wrong}\nA,m,4\nB,f,5\nB,m,6\n")
    found = first_spec(tmp_path / "d.csv").proposal
    assert (found.count, [*found.left_out]) == (None, ["n"])
    assert any("'n' is called a count" in doubt for doubt in found.doubts)


def test_parquet_with_fractions(tmp_path: Path) -> None:
    pl.DataFrame({"sex": ["f", "m"] * 20, "w": [0.5, 1.25] * 20}).write_parquet(tmp_path / "p.parquet")
    found = first_spec(tmp_path / "p.parquet")
    assert (found.proposal.cells, set(found.proposal.left_out)) == (("sex",), {"w"})


@pytest.mark.parametrize(
    ("text", "keep", "said"),
    [
        ("a,b\n", (), "has no rows"),
        ("a,a\n1,2\n", (), "has two columns 'a'"),
        ("county,n\nA,3\nB,4\n", ("county", "conty"), "did you mean 'county'"),
        ("county,n\nA,3\nB,4\n", ("state",), "no attribute of the table"),
    ],
)
def test_refusals_write_nothing(tmp_path: Path, text: str, keep: tuple[str, ...], said: str) -> None:
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises((DataError, SpecError), match=said):
        first_spec(tmp_path / "d.csv", wishes=Wishes(keep=keep))
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("county,n\nA,3\nB,4\n")
    first_spec(tmp_path / "d.csv")
    with pytest.raises(SpecError, match="exists and is not overwritten"):
        first_spec(tmp_path / "d.csv")
    with pytest.raises(SpecError, match="is no folder"):
        first_spec(tmp_path / "d.csv", tmp_path / "none" / "s.toml")
