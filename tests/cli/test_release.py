"""`holdfast release`, from a spec to a folder that verifies."""

import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, tzinfo
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run

import holdfast.certificate.certify

COUNTS = "sex,age,n\nf,18,3\nf,30,4\nf,70,1\nm,18,2\nm,30,5\nm,70,0\n"
RECORDS = "sex,age,note\n" + "f,18,a\n" * 3 + "m,18,b\n" * 2 + "m,30,c\nf,9,d\n"
DATA = '[data]\npath = "data.csv"\ncells = ["sex", "age"]\ncount = "n"\n'
BUDGET = '[privacy]\nepsilon = "1"\n'
SEX, AGE = '[[invariants]]\nmargin = ["sex"]\n', '[[invariants]]\nmargin = ["age"]\n'
TOTAL = "[[invariants]]\ntotal = true\n"
WEIGHTS = "invariant,sex,age,weight\nyears,f,18,18\nyears,m,18,18\nyears,f,30,30\nyears,m,30,30\n"

# The spec, and its files where there are others than the counts.
KINDS: dict[str, tuple[str, Mapping[str, str]]] = {
    "no invariants": (DATA + BUDGET, {}),
    "total": (DATA + BUDGET + TOTAL, {}),
    "one margin": (DATA + BUDGET + SEX, {}),
    "both margins": (DATA + BUDGET + SEX + AGE, {}),
    "published before": (DATA + BUDGET + "[[invariants]]\ntotal = true\nequals = 15\n", {}),
    "selection": (DATA + BUDGET + '[[invariants]]\nwhere = { sex = "f", age = ["18", "30"] }\n', {}),
    "range": (DATA + BUDGET + "[[invariants]]\nwhere = { age = [18, 64] }\n", {}),
    "margin within": (DATA + BUDGET + '[[invariants]]\nmargin = ["age"]\nwhere = { sex = "m" }\n', {}),
    "weights": (
        DATA + BUDGET + TOTAL + '[[invariants]]\nname = "years"\nweights = { file = "w.csv" }\n',
        {"w.csv": WEIGHTS},
    ),
    "structural zeros": (
        DATA + BUDGET + SEX + AGE + '[constraints]\nstructural_zeros = [{ sex = "m", age = "70" }]\n',
        {},
    ),
    "levels that never occur": (
        DATA + '[data.levels]\nage = ["18", "30", "70", "99"]\nsex = ["f", "m", "x"]\n' + BUDGET + TOTAL,
        {},
    ),
    "by distance": (DATA + BUDGET + 'adjacency = "unit"\n' + SEX + AGE, {}),
    "l2": (DATA + BUDGET + SEX + '[mechanism]\nnorm = "l2"\n', {}),
    "l2 by distance": (
        DATA + BUDGET + 'adjacency = "unit"\n' + SEX + AGE + '[mechanism]\nnorm = "l2"\n',
        {},
    ),
    "per unit": (DATA + SEX + AGE + '[mechanism]\nepsilon_per_unit = "1/4"\n', {}),
    "one attribute": (
        DATA.replace('["sex", "age"]', '["sex"]') + BUDGET + TOTAL,
        {"data.csv": "sex,n\nf,4\nm,3\n"},
    ),
    "records": (DATA.replace('count = "n"', "") + BUDGET + SEX + AGE, {"data.csv": RECORDS}),
    "records with an attribute count": (
        '[data]\npath = "data.csv"\ncells = ["count"]\n' + BUDGET + TOTAL,
        {"data.csv": "count\none\ntwo\ntwo\n"},
    ),
    "words that look like markup": (
        DATA + BUDGET + '[[invariants]]\nname = "[/red] :smile: <b>"\ntotal = true\n',
        {},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_spec_makes_a_release_that_verifies(kind: str, run: Run, tmp_path: Path) -> None:
    text, files = KINDS[kind]
    for name, content in {"data.csv": COUNTS, "holdfast.toml": text, **files}.items():
        (tmp_path / name).write_text(content)
    out = tmp_path / "out"
    assert run("release", tmp_path / "holdfast.toml", "--out", out).code == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "certificate.html",
        "certificate.json",
        "table.csv",
    ]
    verified = run("verify", out)
    assert (verified.code, "VIOLATED" in verified.out) == (0, False)
    assert "every check holds" in verified.out


@pytest.mark.parametrize("flags", [(), ("--parquet",)])
def test_parquet_in_and_out(run: Run, tmp_path: Path, flags: tuple[str, ...]) -> None:
    frame = pl.read_csv(StringIO(COUNTS))
    frame.write_parquet(tmp_path / "data.parquet")
    (tmp_path / "holdfast.toml").write_text(DATA.replace("csv", "parquet") + BUDGET + SEX + AGE)
    out = tmp_path / "out"
    assert run("release", tmp_path / "holdfast.toml", "--out", out, *flags).code == 0
    released = pl.read_parquet(out / "table.parquet") if flags else pl.read_csv(out / "table.csv")
    for name in ("sex", "age"):
        sums = released.with_columns(pl.col(name).cast(pl.String)).group_by(name).agg(pl.col("n").sum())
        true = frame.with_columns(pl.col(name).cast(pl.String)).group_by(name).agg(pl.col("n").sum())
        assert sorted(sums.rows()) == sorted(true.rows())
    assert run("verify", out).code == 0


def test_the_summary_says_what_is_kept_protected_and_how_strongly(run: Run, example: Path) -> None:
    outcome = run("release", example, "--out", example.parent / "out")
    summary = " ".join(outcome.out.split())
    for words in (
        "Kept exactly county: 4 numbers education: 4 numbers",
        "Protected 16 cells",
        "the invariants leave 9 dimensions open",
        "3 records must change",
        "epsilon 1, pure. For any two tables with the same invariants",
        "per cell: 3.",
        "per county: 0, kept exactly",
        "per education: 0, kept exactly",
    ):
        assert words in summary
    for name in ("table.csv", "certificate.json", "certificate.html"):
        assert f"Wrote {example.parent / 'out' / name}" in outcome.out
    assert "seed" not in outcome.out
    assert outcome.err == ""


def test_a_seeded_release_says_that_it_protects_nobody(run: Run, example: Path) -> None:
    outcome = run("release", example, "--out", example.parent / "out", "--seed", "1")
    assert "it protects nobody" in " ".join(outcome.out.split())


def test_the_summary_tells_bounds(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(COUNTS)
    (tmp_path / "holdfast.toml").write_text(
        f"{DATA}{BUDGET}{TOTAL}[constraints]\nnonnegative = true\n"
        '[[constraints.inequalities]]\nwhere = { sex = "f" }\nat_least = 3\n'
        '[mechanism]\nname = "conditioned"\n'
    )
    outcome = run("release", tmp_path / "holdfast.toml", "--out", tmp_path / "out")
    summary = " ".join(outcome.out.split())
    assert "Kept within no count below 0 sex = f: at least 3 Protected" in summary
    assert "Expected error not simulated: it depends on the confidential table" in summary


def test_a_statistic_is_released_and_verified(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("sex,age,n\nf,18,3\nf,30,4\nm,18,2\nm,30,5\n")
    (tmp_path / "holdfast.toml").write_text(f'{DATA}{BUDGET}{SEX}{AGE}[mechanism]\nname = "noisy-count"\n')
    out = tmp_path / "out"
    outcome = run("release", tmp_path / "holdfast.toml", "--out", out)
    assert outcome.code == 0
    summary = " ".join(outcome.out.split())
    assert "Expected error not simulated: the law of the noise is public" in summary
    assert f"Wrote {out / 'statistic.csv'}" in outcome.out
    assert "Kept within" not in summary
    assert "every check holds" in run("verify", out).out
    statistic = out / "statistic.csv"
    statistic.write_text(statistic.read_text() + "2,1.5\n")
    verified = run("verify", out)
    assert verified.code == 1
    assert "VIOLATED statistic: there are 2 numbers, not 1" in verified.out


def test_names_are_printed_as_they_are(run: Run, tmp_path: Path) -> None:
    text, _ = KINDS["words that look like markup"]
    (tmp_path / "data.csv").write_text(COUNTS)
    (tmp_path / "holdfast.toml").write_text(text)
    out = tmp_path / "[bold]"
    released = run("release", tmp_path / "holdfast.toml", "--out", out)
    assert "[/red] :smile: <b>: 1 number" in released.out
    assert f"Wrote {out / 'table.csv'}" in released.out
    verified = run("verify", out)
    assert "invariant [/red] :smile: <b>: 1 kept" in verified.out
    assert f"{out}: every check holds" in verified.out


class Noon(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Noon":
        return cls(2030, 1, 1, 12, tzinfo=tz)


def test_nothing_shows_of_the_table_but_its_invariants(
    run: Run, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tables with the same margins, at the same time: all that is said of their releases is the same."""
    monkeypatch.setattr(holdfast.certificate.certify, "datetime", Noon)
    folder = example.parent
    table = (folder / "children.csv").read_text()
    other = table.replace("Alpha,Low,15", "Alpha,Low,13").replace("Alpha,High,3", "Alpha,High,5")
    other = other.replace("Delta,Low,12", "Delta,Low,14").replace("Delta,High,7", "Delta,High,5")
    told = []
    for name, content in (("one", table), ("two", other)):
        (folder / "children.csv").write_text(content)
        outcome = run("release", example, "--out", folder / name, "--seed", "7")
        record = json.loads((folder / name / "certificate.json").read_text())
        assert set(record.pop("files")) == {"table.csv", "certificate.html"}
        assert len(record.pop("digest")) == 64
        page = (folder / name / "certificate.html").read_text()
        told.append((outcome.out.replace(str(folder / name), "DIR"), record, page))
    assert told[0] == told[1]
    assert (folder / "one/table.csv").read_text() != (folder / "two/table.csv").read_text()


UNUSED = (
    *("matplotlib", "numba", "pyarrow", "pyspark", "cryptography", "sqlite3", "rich", "dp_accounting"),
    *("scipy.special", "scipy.linalg", "scipy.optimize", "scipy.stats", "scipy.fft", "scipy.sparse.csgraph"),
    *(
        "holdfast.ledger",
        "holdfast.privacy.pufferfish",
        "holdfast.data.identity",
        "holdfast.releases.several",
    ),
    *("holdfast.system.compiled", "holdfast.estimation", "holdfast.derivation", "holdfast.inference"),
)
"""What a small table of counts is released without."""


def test_a_small_release_loads_only_what_it_needs(run: Run, tmp_path: Path) -> None:
    """Most of what it takes is to load modules: one more line of imports can double it."""
    assert run("init", tmp_path).code == 0
    program = (
        "import sys, typer; before = set(sys.modules)\n"  # older ones load rich by themselves
        "from holdfast.cli import main\n"
        "try: main()\n"
        f"finally: print(*[name for name in {UNUSED} if name in set(sys.modules) - before], 'loaded')"
    )
    words = ("release", str(tmp_path / "holdfast.toml"), "--out", str(tmp_path / "release"), "--quiet")
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("loaded\n", "")
    assert run("verify", tmp_path / "release").code == 0
