"""What is wrong is said in one sentence on standard error, with exit code 2, and nothing is written."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run

from holdfast import Ledger

DATA = 'path = "data.csv"\ncells = ["sex", "age"]\ncount = "n"'
ROWS = "sex,age,n\nf,young,3\nf,old,4\nm,young,2\nm,old,5\n"
BUDGET = '[privacy]\nepsilon = "1"\n'
TOTAL = "[[invariants]]\ntotal = true\n"
MARGINS = '[[invariants]]\nmargin = ["sex"]\n[[invariants]]\nmargin = ["age"]\n'


def spec(*sections: str, data: str = DATA, budget: str = BUDGET) -> str:
    return "\n".join([f"[data]\n{data}", budget, *sections])


def with_row(row: str) -> dict[str, str | bytes]:
    return {"data.csv": ROWS + row + "\n"}


def square(size: int) -> dict[str, str | bytes]:
    cells = [f"r{i},c{j},{(i * j) % 5 + 1}" for i in range(size) for j in range(size)]
    return {"data.csv": "\n".join(["sex,age,n", *cells]) + "\n"}


def weights(row: str) -> dict[str, str | bytes]:
    return {"w.csv": f"invariant,sex,age,weight\n{row}\n"}


WEIGHTS = '[[invariants]]\nweights = { file = "w.csv" }\n'

# What is wrong; the spec; its files where they are not the usual ones; words that the sentence must have.
WRONG: dict[str, tuple[str, Mapping[str, str | bytes], list[str]]] = {
    "wrong cell column": (spec(data=DATA.replace('"age"', '"agee"')), {}, ["data.csv", "did you mean 'age'"]),
    "wrong count column": (
        spec(data=DATA.replace('"n"', '"nn"')),
        {},
        ["no column 'nn'", "choose from 'sex', 'age', 'n'"],
    ),
    "negative count": (spec(), with_row("x,old,-1"), ["row 6, column 'n'", "-1", "never below zero"]),
    "fractional count": (spec(), with_row("x,old,1.5"), ["row 6, column 'n'", "1.5", "whole number"]),
    "text for a count": (spec(), with_row("x,old,many"), ["row 6, column 'n'", "'many'", "in digits"]),
    "missing count": (spec(), with_row("x,old,"), ["row 6, column 'n'", "has no number", "fill it in"]),
    "huge count": (spec(), with_row(f"x,old,{10**30}"), ["row 6", "64 bits"]),
    "counts too large to add up": (spec(), with_row(f"x,old,{2**63 - 5}"), ["column 'n'", "64 bits"]),
    "more records than there can be": (
        spec(),
        with_row(f"x,old,{2**53}"),
        ["column 'n'", "records that are handled"],
    ),
    "missing level": (spec(), with_row(",old,1"), ["row 6, column 'sex'", "no level"]),
    "duplicate cell": (spec(), with_row("f,old,1"), ["row 6", "row 3", "sex = 'f', age = 'old'"]),
    "unknown level": (
        spec(data=DATA + '\nlevels = { sex = ["f", "m"] }'),
        with_row("x,old,1"),
        ["row 6, column 'sex'", "'x'", "choose from 'f', 'm'"],
    ),
    "nonzero structural zero": (
        spec('[constraints]\nstructural_zeros = [{ sex = "f", age = "old" }]'),
        {},
        ["row 3", "a structural zero", "structural_zeros"],
    ),
    "structural zero of an unknown level": (
        spec('[constraints]\nstructural_zeros = [{ sex = "g" }]'),
        {},
        ["[constraints] structural_zeros 1 sex", "'g'"],
    ),
    "a row too long": (spec(), with_row("x,old,1,2"), ["row 6", "4 fields"]),
    "no rows and no levels": (spec(), {"data.csv": "sex,age,n\n"}, ["no rows", "[data.levels]"]),
    "empty file": (spec(), {"data.csv": ""}, ["data.csv", "no header"]),
    "binary file": (spec(), {"data.csv": b"\x89PNG\r\n\x1a\n\x00\xff\xfe"}, ["data.csv", "UTF-8"]),
    "zero bytes": (spec(), {"data.csv": b"\x00\x00\x00"}, ["data.csv"]),
    "missing file": (spec(data=DATA.replace("data.csv", "none.csv")), {}, ["none.csv", "does not exist"]),
    "data is a folder": (spec(data=DATA.replace("data.csv", "d.csv")), {"d.csv/x": ""}, ["is a folder"]),
    "neither CSV nor Parquet": (spec(data=DATA.replace("csv", "ods")), {}, ["neither CSV nor Parquet"]),
    "broken Parquet": (
        spec(data=DATA.replace("csv", "parquet")),
        {"data.parquet": b"PAR1 what is this PAR1"},
        ["not a Parquet file"],
    ),
    "empty Parquet": (spec(data=DATA.replace("csv", "parquet")), {"data.parquet": b""}, ["data.parquet"]),
    "inconsistent invariants": (
        spec("[[invariants]]\ntotal = true\nequals = 15\n"),
        {},
        ["'total'", "equals = 15", "14", "correct one"],
    ),
    "one possible table": (
        spec('[[invariants]]\nmargin = ["sex", "age"]\n'),
        {},
        ["one possible table", "vacuous", "drop or coarsen"],
    ),
    "one possible table, by distance": (
        spec('[[invariants]]\nmargin = ["sex", "age"]\n', budget=BUDGET + 'adjacency = "unit"\n'),
        {},
        ["one possible table"],
    ),
    "an empty table": (spec(MARGINS), {"data.csv": re.sub(r"\d", "0", ROWS)}, ["one possible table"]),
    "only structural zeros": (
        spec(TOTAL, '[constraints]\nstructural_zeros = [{ sex = ["f", "m"] }]'),
        {"data.csv": re.sub(r"\d", "0", ROWS)},
        ["one possible table"],
    ),
    "zero budget": (spec(budget='[privacy]\nepsilon = "0"\n'), {}, ["[privacy] epsilon is 0", "positive"]),
    "negative budget": (spec(budget='[privacy]\nepsilon = "-1"\n'), {}, ["[privacy] epsilon is -1"]),
    "float budget": (
        spec(budget="[privacy]\nepsilon = 0.5\n"),
        {},
        ["[privacy] epsilon", 'in quotes, as in "0.5"'],
    ),
    "infinite budget": (
        spec(budget="[privacy]\nepsilon = inf\n"),
        {},
        ["[privacy] epsilon is inf", "finite"],
    ),
    "no budget": (spec(budget=""), {}, ["[privacy] epsilon is missing"]),
    "tiny budget": (
        spec(TOTAL, budget='[privacy]\nepsilon = "1e-25"\n'),
        {},
        ["too small", "larger epsilon"],
    ),
    "a budget beyond reach": (spec(budget='[privacy]\nepsilon = "1e999"\n'), {}, ["out of reach", '"1e6"']),
    "budget in words": (spec(budget='[privacy]\nepsilon = "one"\n'), {}, ["'one'", "not a number"]),
    "unknown standard": (spec(budget=BUDGET + 'standard = "renyi"\n'), {}, ["[privacy] standard", "'renyi'"]),
    "unknown key": (spec(budget=BUDGET + "epsilom = 1\n"), {}, ["[privacy]", "did you mean 'epsilon'?"]),
    "unknown section": (spec("[privcy]\n"), {}, ["'privcy'", "did you mean 'privacy'?"]),
    "unknown mechanism": (
        spec('[mechanism]\nname = "magic"\n'),
        {},
        ["[mechanism] name", "'lattice-laplace'"],
    ),
    "a standard that is not met": (
        spec(budget='[privacy]\nstandard = "zcdp"\nrho = "1"\n'),
        {},
        ["[privacy] standard", "'zcdp'", 'standard = "pure"'],
    ),
    "non-negative release": (
        spec("[constraints]\nnonnegative = true\n"),
        {},
        ["[constraints] nonnegative = true", "leave it out", "'conditioned'"],
    ),
    "too much per unit": (
        spec(MARGINS, '[mechanism]\nepsilon_per_unit = "1"\n'),
        {},
        ["[mechanism] epsilon_per_unit", "above the target epsilon 1", "lower it"],
    ),
    "an invariant that says nothing": (spec("[[invariants]]\n"), {}, ["[[invariants]] 1 says nothing"]),
    "a margin of what is no cell": (
        spec('[[invariants]]\nmargin = ["sexx"]\n'),
        {},
        ["[[invariants]] 1 margin", "'sexx'", "did you mean 'sex'?"],
    ),
    "a selection of an unknown level": (
        spec('[[invariants]]\nwhere = { age = "oldd" }\n'),
        {},
        ["[[invariants]] 1 where age", "'oldd'", "did you mean 'old'?"],
    ),
    "a range of words": (
        spec("[[invariants]]\nwhere = { age = [1, 2] }\n"),
        {},
        ["not a number", "list the levels"],
    ),
    "the same invariant twice": (spec(TOTAL, TOTAL), {}, ["[[invariants]] 2", "'total'"]),
    "fractional weight": (spec(WEIGHTS), weights("a,f,old,0.5"), ["w.csv, row 2, column 'weight'", "0.5"]),
    "weight of an unknown cell": (
        spec(WEIGHTS),
        weights("a,f,oldd,1"),
        ["w.csv, row 2", "did you mean 'old'?"],
    ),
    "missing weights": (spec(WEIGHTS), {}, ["w.csv does not exist"]),
    "weights twice": (spec(WEIGHTS), weights("a,f,old,1\na,f,old,2"), ["w.csv, row 3", "row 2"]),
    "weights too large": (spec(WEIGHTS), weights(f"a,f,old,{2**62}"), ["'w'", "64 bits"]),
    "too large to draw": (spec(MARGINS), square(26), ["676 cells", "keep fewer margins"]),
    "bad TOML": ("[data\n", {}, ["holdfast.toml is not TOML", "line 1"]),
    "a number of many digits": (f"a = {'9' * 5000}\n", {}, ["holdfast.toml is not TOML"]),
    "an empty spec": ("", {}, ["[data] is missing"]),
    "a level that is no text": (spec(data=DATA + "\nlevels = { sex = [1, 2] }"), {}, ["[data.levels] sex"]),
    "names with line breaks": (spec(data=DATA.replace('"age"', r'"a\n\nb"')), {}, ["no column"]),
}


def sentence(err: str) -> str:
    """Return the one sentence on standard error, after checking its form."""
    err = re.sub(r"^.*(so far|left)\n", "", err, flags=re.M)  # how far it was
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    text = err.removeprefix("error: ").removesuffix("\n")
    assert text.endswith((".", "?"))
    assert not text.endswith("..")
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("case", WRONG)
def test_a_release_is_refused_in_one_sentence(case: str, run: Run, tmp_path: Path) -> None:
    text, files, words = WRONG[case]
    for name, content in {"data.csv": ROWS, "holdfast.toml": text, **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(tmp_path.rglob("*"))
    outcome = run("release", tmp_path / "holdfast.toml", "--out", tmp_path / "out")
    message = sentence(outcome.err)
    for word in words:
        assert word in message
    assert (outcome.code, outcome.out) == (2, "")
    assert sorted(tmp_path.rglob("*")) == before


def test_an_out_that_exists_is_never_overwritten(run: Run, example: Path, tmp_path: Path) -> None:
    for out in (tmp_path / "file", tmp_path / "folder"):
        kept = out if out.name == "file" else out / "table.csv"
        kept.parent.mkdir(exist_ok=True)
        kept.write_text("mine")
        before = sorted(tmp_path.rglob("*"))
        outcome = run("release", example, "--out", out)
        assert "exists already" in sentence(outcome.err)
        assert (outcome.code, outcome.out, kept.read_text()) == (2, "", "mine")
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("none/out", "does not exist: create it first"),
        ("x" * 300, "name a new folder"),
        ("link", "is a symbolic link"),
    ],
)
def test_an_out_that_cannot_be_is_refused(
    run: Run, example: Path, tmp_path: Path, out: str, words: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.iterdir())
    outcome = run("release", example, "--out", tmp_path / out)
    assert words in sentence(outcome.err)
    assert (outcome.code, outcome.out) == (2, "")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", [("release", "--out", "out"), ("audit", "universe")])
def test_a_spec_that_is_no_file_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    for spec_path, words in ((tmp_path, "is a folder"), (tmp_path / "none.toml", "does not exist")):
        outcome = run(*command, spec_path)
        assert outcome.code == 2
        assert words in sentence(outcome.err)
    assert not list(tmp_path.iterdir())


def test_parquet_is_checked_as_csv_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text(spec(data=DATA.replace("csv", "parquet")))
    frame = {"sex": ["f", "m"], "age": ["old", "old"]}
    for counts, words in (
        ([1, -2], "never below zero"),
        ([1, 2.5], "whole number"),
        ([1, None], "no number"),
    ):
        pl.DataFrame({**frame, "n": counts}, strict=False).write_parquet(tmp_path / "data.parquet")
        outcome = run("release", tmp_path / "holdfast.toml", "--out", tmp_path / "out")
        assert "row 2, column 'n'" in sentence(outcome.err)
        assert words in outcome.err
        assert outcome.code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["release", "holdfast.toml"], "Missing option '--out'"),
        (["release", "--out", "out"], "Missing argument 'SPEC'"),
        (["release", "holdfast.toml", "--out", "out", "--seed", "-1"], "'--seed'"),
        (["publish"], "No such command 'publish'"),
        (["audit", "universes"], "No such command 'universes'"),
        (["verify"], "Missing argument 'DIR'"),
        (["release", "--epsilon", "1"], "No such option"),
    ],
)
def test_wrong_usage_is_an_error_too(run: Run, arguments: list[str], words: str) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert words.lower() in sentence(outcome.err).lower()
    assert outcome.out == ""


def test_the_program_itself_says_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text(spec(budget='[privacy]\nepsilon = "0"\n'))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from holdfast.cli import main; main()",
            "release",
            "holdfast.toml",
            "--out",
            "o",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "[privacy] epsilon is 0" in sentence(done.stderr)


HEAVY = {"numpy", "polars", "scipy", "flint", "highspy", "matplotlib", "jinja2"}


def test_help_and_errors_wait_for_no_heavy_library() -> None:
    heavy = HEAVY | {"pydantic", "rich.table"}
    code = f"import sys, holdfast.cli.app; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_path_that_leads_nowhere_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    """Nor does a look at a ledger load what releases need."""
    Ledger.create(tmp_path / "a.ledger", standard="pure", budget=Fraction(2))
    calls = [
        *(f"{name} none.toml" for name in ("plan", "compare", "audit universe", "audit exposure")),
        *(
            f"{name} none"
            for name in ("verify", "intervals", "audit delta-z", "ledger show", "ledger verify")
        ),
        "release none.toml --out new",
        "infer none --model none --out new",
        "postprocess none --method rounded-l2 --out new",
    ]
    found = _loads(calls, tmp_path)
    assert found == dict.fromkeys(calls, (2, []))
    shows = ["ledger show a.ledger", "ledger export a.ledger"]
    assert _loads(shows, tmp_path) == dict.fromkeys(shows, (0, []))


def _loads(calls: Sequence[str], folder: Path) -> dict[str, tuple[int, list[str]]]:
    """Return the exit code of each of some commands, and what had been loaded after it."""
    program = f"""
import contextlib, io, json, sys
from holdfast.cli import main
found = {{}}
for call in {list(calls)}:
    sys.argv = ["holdfast", *call.split()]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            found[call] = (end.code or 0, sorted({HEAVY} & set(sys.modules)))
print(json.dumps(found))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder
    )
    return {call: (code, loaded) for call, (code, loaded) in json.loads(done.stdout).items()}
