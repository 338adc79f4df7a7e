"""`holdfast release` of swapped records: what it says, and bad input in one sentence that costs nothing."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.conftest import Outcome, Run

from holdfast.ledger import Ledger
from holdfast.ledger.verify import verify_ledger
from holdfast.system.drafts import Draft
from holdfast.system.files import PREFIX

ROWS = [
    (f"{at % 2}", at % 3 + 1, f"{at % 2}{at % 5}", "owned" if at % 7 < 3 else "rented", 1000 + at)
    for at in range(60)
]
HOUSEHOLDS = pl.DataFrame(ROWS, schema=["state", "size", "county", "tenure", "id"], orient="row")
PERSONS = pl.DataFrame(
    [(row[4], 10 * at % 90, row[2]) for at, row in enumerate(ROWS) for _ in range(1 + at % 3)],
    schema=["id", "age", "county"],
    orient="row",
)
SECRETS = ("1017", "1042", "owned", "rented")
"""Values of single records: no message needs them."""


@dataclass
class Case:
    """A spec and its files, of which a test changes what it is about."""

    data: dict[str, Any] = field(default_factory=lambda: {"path": "data.csv"})
    privacy: dict[str, Any] = field(
        default_factory=lambda: {"unit": "record", "standard": "pure", "adjacency": "unit"}
    )
    mechanism: dict[str, Any] = field(
        default_factory=lambda: {
            "name": "permutation-swapping",
            "stratify": ["state", "size"],
            "swap": ["county"],
            "rate": "1/4",
        }
    )
    more: str = ""
    households: pl.DataFrame = field(default_factory=lambda: HOUSEHOLDS)
    persons: pl.DataFrame = field(default_factory=lambda: PERSONS)

    def write(self, folder: Path) -> Path:
        self.households.write_csv(folder / "data.csv")
        self.persons.write_csv(folder / "persons.csv")
        lines = []
        for name in ("data", "privacy", "mechanism"):
            lines += [
                f"[{name}]",
                *(f"{key} = {json.dumps(value)}" for key, value in getattr(self, name).items()),
            ]
        path = folder / "holdfast.toml"
        path.write_text("\n".join(lines) + f"\n{self.more}\n")
        return path


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def one_sentence(outcome: Outcome, said: str) -> None:
    assert outcome.code == 2, outcome.err
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert "Traceback" not in outcome.err
    assert re.search(said, outcome.err), outcome.err
    assert not any(re.search(rf"\b{secret}\b", outcome.err) for secret in SECRETS)


def refused(case: Case, said: str, folder: Path, run: Run, *options: str | Path) -> None:
    """Release, and see that it is refused in one sentence, with nothing written or charged."""
    spec = case.write(folder)
    ledger = Ledger.create(folder / "account.db", standard="pure", budget=Fraction(100))
    before = files(folder)
    one_sentence(
        run(
            "release",
            "--accept-no-protection",
            spec,
            "--out",
            folder / "out",
            "--ledger",
            folder / "account.db",
            *options,
        ),
        said,
    )
    assert ledger.spent() == 0
    assert files(folder) == before
    assert not list(folder.glob(f"{PREFIX}*"))


def mechanism(**keys: Any) -> Callable[[Case], Any]:
    return lambda case: case.mechanism.update(keys)


def privacy(**keys: Any) -> Callable[[Case], Any]:
    return lambda case: case.privacy.update(keys)


def data(**keys: Any) -> Callable[[Case], Any]:
    return lambda case: case.data.update(keys)


def households(*columns: pl.Expr | pl.Series) -> Callable[[Case], Any]:
    return lambda case: setattr(case, "households", case.households.with_columns(columns))


def both(*changes: Callable[[Case], Any]) -> Callable[[Case], Any]:
    return lambda case: [change(case) for change in changes]


def solved(epsilon: str) -> Callable[[Case], Any]:
    return both(privacy(epsilon=epsilon), lambda case: case.mechanism.pop("rate"))


GAP = pl.when(pl.int_range(pl.len()) < 4).then(None).otherwise
WITH_PERSONS = both(data(id="id", persons="persons.csv"), privacy(unit="household"))
STRANGERS = PERSONS.with_columns(pl.when(pl.int_range(pl.len()) < 3).then(9999).otherwise("id").alias("id"))
ELSEWHERE = PERSONS.with_columns(
    pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("77")).otherwise("county").alias("county")
)

BAD: dict[str, tuple[Callable[[Case], Any], str]] = {
    "unknown stratify": (mechanism(stratify=["stat"]), "stratify names 'stat'.* did you mean 'state'"),
    "unknown swap": (mechanism(swap=["count"]), "swap names 'count'.* did you mean 'county'"),
    "unknown cells": (data(cells=["count"]), "cells names 'count'.* did you mean 'county'"),
    "unknown invariant": (
        lambda c: setattr(c, "more", '[[invariants]]\nmargin = ["countyy"]'),
        r"\[\[invariants\]\] 1 has 'countyy'",
    ),
    "unknown id": (both(data(id="idd"), privacy(unit="household")), "id names 'idd'.* did you mean 'id'"),
    "swap inside stratify": (mechanism(swap=["state"]), "'state', which is also in stratify"),
    "no swap": (mechanism(swap=[]), "swap is empty"),
    "swap is a text": (mechanism(swap="county"), "swap"),
    "no stratify": (lambda c: c.mechanism.pop("stratify"), "stratify is missing"),
    "rate 0": (mechanism(rate="0"), "rate is 0: give a rate above 0 and below 1"),
    "rate 1": (mechanism(rate="1"), "rate is 1: give a rate above 0 and below 1"),
    "rate 1.5": (mechanism(rate="1.5"), "above 0 and below 1"),
    "rate -1": (mechanism(rate="-1"), "rate is -1"),
    "rate abc": (mechanism(rate="abc"), "rate"),
    "rate 1e-30": (mechanism(rate="1e-30"), "rate is out of reach"),
    "rate of an empty text": (mechanism(rate=""), "rate"),
    "an unknown key": (mechanism(ratee="1/2"), "unknown key 'ratee': did you mean 'rate'"),
    "nulls": (
        households(GAP(pl.col("county")).alias("county")),
        r"column 'county' has no value in 4 records: .*nulls = \"level\"",
    ),
    "nulls of a stratum": (
        households(GAP(pl.col("state")).alias("state")),
        "column 'state' has no value in 4 records",
    ),
    "nulls, misspelt": (mechanism(nulls="levels"), "nulls"),
    "duplicate ids": (
        both(WITH_PERSONS, lambda c: setattr(c, "households", pl.concat([HOUSEHOLDS, HOUSEHOLDS[:2]]))),
        "repeats 2 ids",
    ),
    "persons without a household": (
        both(WITH_PERSONS, lambda c: setattr(c, "persons", STRANGERS)),
        "3 persons without a household",
    ),
    "persons elsewhere": (
        both(WITH_PERSONS, lambda c: setattr(c, "persons", ELSEWHERE)),
        "3 persons with another county",
    ),
    "no file of persons": (both(WITH_PERSONS, data(persons="nobody.csv")), "nobody.csv does not exist"),
    "persons without id": (both(data(persons="persons.csv"), privacy(unit="household")), "persons needs id"),
    "id of records": (data(id="id"), 'unit = "household"'),
    "singletons": (mechanism(stratify=["id"]), "every stratum has one record: nothing would be swapped"),
    "all alike": (households(pl.lit("x").alias("county")), "every swap would leave the file as it is"),
    "no records": (lambda c: setattr(c, "households", HOUSEHOLDS[:0]), "has no records"),
    "only keys": (
        lambda c: setattr(c, "households", HOUSEHOLDS["state", "size", "county"]),
        "name every column",
    ),
    "adjacency semi": (privacy(adjacency="semi"), 'adjacency = "unit"'),
    "no adjacency": (lambda c: c.privacy.pop("adjacency"), 'adjacency = "unit"'),
    "zcdp": (
        both(lambda c: c.privacy.pop("adjacency"), privacy(standard="zcdp", rho="1")),
        "standard = 'zcdp' is not met by permutation-swapping",
    ),
    "too little epsilon": (solved("1/2"), r"no swap rate gives epsilon 0.5 .* ask for at least 1\.19"),
    "epsilon 0": (solved("0"), "epsilon"),
    "a rate above its target": (
        privacy(epsilon="2"),
        r"rate = \"1/4\" gives epsilon 3\.4965\d+ here, .* above the target 2",
    ),
    "neither": (lambda c: c.mechanism.pop("rate"), "epsilon is missing"),
    "a broken invariant": (
        lambda c: setattr(c, "more", '[[invariants]]\nmargin = ["county", "tenure"]'),
        "the swap would change it",
    ),
    "weights": (
        lambda c: setattr(c, "more", '[[invariants]]\nweights = { file = "w.csv" }'),
        "weights of cells",
    ),
    "another total": (
        lambda c: setattr(c, "more", "[[invariants]]\ntotal = true\nequals = 61"),
        "total is not 61 in the data",
    ),
    "a count column": (data(count="size"), "count is for tables of counts"),
    "inequalities": (
        lambda c: setattr(c, "more", "[[constraints.inequalities]]\ntotal = true\nat_least = 1"),
        r"\[constraints\] bind tables of counts",
    ),
    "an unknown engine": (lambda _: None, "there is no engine 'foo': choose embedded or spark"),
    "quoted formulas": (lambda _: None, "leave out --quote-formulas"),
    "utility inside": (lambda _: None, "is inside of the release"),
    "utility exists": (lambda _: None, "exists already"),
    "no data": (data(path="nothing.csv"), "nothing.csv does not exist"),
    "a folder": (data(path="."), "give all files the same header"),
}
OPTIONS: dict[str, tuple[str, ...]] = {
    "an unknown engine": ("--engine", "foo"),
    "quoted formulas": ("--quote-formulas",),
    "utility inside": ("--utility", "out/report.json"),
    "utility exists": ("--utility", "data.csv.json"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_costs_nothing(
    name: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, said = BAD[name]
    case = Case()
    change(case)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv.json").write_text("{}")
    refused(case, said, tmp_path, run, *OPTIONS.get(name, ()))


def test_two_columns_of_one_name(tmp_path: Path, run: Run) -> None:
    spec = Case().write(tmp_path)
    text = (tmp_path / "data.csv").read_text().replace("tenure", "size", 1)
    (tmp_path / "data.csv").write_text(text)
    one_sentence(
        run("release", "--accept-no-protection", spec, "--out", tmp_path / "out"),
        "has two columns 'size': rename one",
    )
    assert not (tmp_path / "out").exists()


def test_a_key_of_floats(tmp_path: Path, run: Run) -> None:
    spec = Case(data={"path": "data.parquet"}).write(tmp_path)
    HOUSEHOLDS.with_columns(pl.col("county").cast(pl.Float64)).write_parquet(tmp_path / "data.parquet")
    one_sentence(
        run("release", "--accept-no-protection", spec, "--out", tmp_path / "out"),
        "column 'county' holds double values: store its levels as text",
    )
    assert not (tmp_path / "out").exists()


def test_records_are_no_part_of_several_tables(tmp_path: Path, run: Run) -> None:
    spec = Case(more='[[tables]]\nname = "one"\ncells = ["county"]').write(tmp_path)
    one_sentence(run("release", "--accept-no-protection", spec, "--out", tmp_path / "out"), "tables")
    assert not (tmp_path / "out").exists()


def test_missing_values_as_a_level(tmp_path: Path, run: Run) -> None:
    case = Case()
    both(mechanism(nulls="level"), households(GAP(pl.col("county")).alias("county")))(case)
    done = run("release", "--accept-no-protection", case.write(tmp_path), "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert run("verify", tmp_path / "out").code == 0


# what it says


def test_a_release_says_what_it_did(tmp_path: Path, run: Run) -> None:
    case = Case(data={"path": "data.csv", "cells": ["county"]})
    done = run(
        "release", "--accept-no-protection", case.write(tmp_path), "--out", tmp_path / "out", "--seed", "1"
    )
    assert done.code == 0
    for said in (
        "county within state and size, at a rate of 0.25",
        "6 strata, the largest of 10",
        "the same epsilon has the rates 0.25 and 0.970588235; this is the lower",
        "epsilon 3.49651 by the slides, 3.34851 tight; no rate gives less than 1.19895",
        "state and size by all that is held",
        "That file is for the curator's eyes only: keep it out of the release.",
    ):
        assert said in done.out, said
    moved = json.loads((tmp_path / "out-utility.json").read_text())["moved"]
    assert f"{moved} " not in done.out.replace("Wrote", "")
    for words in (done.out, done.err):
        assert not any(re.search(rf"\b{secret}\b", words) for secret in SECRETS)
    for command in (("verify",), ("verify", "--quick")):
        kept = run(command[0], tmp_path / "out", *command[1:])
        assert kept.code == 0, kept.err
        assert "kept     induced invariant state and size by county" in kept.out


def test_a_seed_is_marked_and_repeats(tmp_path: Path, run: Run) -> None:
    spec = Case().write(tmp_path)
    for name in ("one", "two"):
        done = run("release", "--accept-no-protection", spec, "--out", tmp_path / name, "--seed", "3")
        assert "This file was swapped from a seeded generator." in done.out
    assert (tmp_path / "one/microdata.csv").read_bytes() == (tmp_path / "two/microdata.csv").read_bytes()
    assert "not private" in (tmp_path / "one/certificate.html").read_text()
    assert not json.loads((tmp_path / "one/certificate.json").read_text())["randomness"]["secure"]
    assert "drawn from a seed" in run("verify", tmp_path / "one").err.lower()
    run("release", "--accept-no-protection", spec, "--out", tmp_path / "three")
    assert "drawn from a seed" not in run("verify", tmp_path / "three").err.lower()


def test_json_is_the_certificate_and_no_more(tmp_path: Path, run: Run) -> None:
    done = run(
        "release", "--accept-no-protection", Case().write(tmp_path), "--out", tmp_path / "out", "--json"
    )
    read = json.loads(done.out)
    assert read["files"] == ["certificate.html", "certificate.json", "microdata.csv"]
    assert read["utility"] == str(tmp_path / "out-utility.json")
    assert read["certificate"] == json.loads((tmp_path / "out/certificate.json").read_text())
    assert set(read) == {"folder", "files", "charged", "left", "warnings", "utility", "certificate"}


def test_persons_are_released_with_their_households(tmp_path: Path, run: Run) -> None:
    case = Case()
    WITH_PERSONS(case)
    done = run("release", "--accept-no-protection", case.write(tmp_path), "--out", tmp_path / "out")
    assert done.code == 0, done.err
    own, theirs = (
        pl.read_csv(tmp_path / f"out/{name}.csv", infer_schema=False) for name in ("microdata", "persons")
    )
    joined = theirs.join(own, on="id", suffix="_of_household")
    assert joined.height == PERSONS.height
    assert (joined["county"] == joined["county_of_household"]).all()
    assert run("verify", tmp_path / "out").code == 0


def test_ledger_resume_and_sign(tmp_path: Path, run: Run) -> None:
    spec, ledger = Case().write(tmp_path), tmp_path / "account.db"
    assert run("keygen", tmp_path / "key").code == 0
    assert run("ledger", "open", ledger, "--budget", "10").code == 0
    options = ("--ledger", ledger, "--sign", tmp_path / "key", "--out", tmp_path / "out")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draft, "seal", stop)
        stopped = run("release", "--accept-no-protection", spec, *options)
    assert stopped.code != 0
    assert "--resume 1" in stopped.err
    assert not (tmp_path / "out").exists()
    done = run("release", "--accept-no-protection", spec, *options, "--resume", "1")
    assert done.code == 0, done.err
    assert "charged before" in done.out
    assert run("verify", tmp_path / "out", "--public-key", tmp_path / "key.pub").code == 0
    assert verify_ledger(ledger, releases=[tmp_path / "out"]).kept
    over = [
        run("release", "--accept-no-protection", spec, "--ledger", ledger, "--out", tmp_path / f"more{at}")
        for at in range(3)
    ]
    assert over[0].code == 0
    one_sentence(over[-1], "budget|left")
    assert not (tmp_path / "more2").exists()
    assert not (tmp_path / "more2-utility.json").exists()


def test_a_release_that_exists_is_left_alone(tmp_path: Path, run: Run) -> None:
    spec = Case().write(tmp_path)
    run("release", "--accept-no-protection", spec, "--out", tmp_path / "out")
    before = files(tmp_path)
    one_sentence(
        run("release", "--accept-no-protection", spec, "--out", tmp_path / "out"), "out exists|exists already"
    )
    assert files(tmp_path) == before


# other commands


@pytest.mark.parametrize(
    "command",
    [
        ("intervals", "RELEASE"),
        ("postprocess", "RELEASE", "--method", "l2", "--out", "NEW"),
        ("postprocess", "RELEASE", "--method", "simulated", "--out", "NEW"),
        ("audit", "universe", "SPEC"),
        ("audit", "exposure", "SPEC"),
        ("plan", "RELEASE"),
        ("verify", "RELEASE", "--release", "RELEASE"),
    ],
)
def test_commands_that_are_for_tables_say_so(command: tuple[str, ...], tmp_path: Path, run: Run) -> None:
    spec = Case().write(tmp_path)
    run("release", "--accept-no-protection", spec, "--out", tmp_path / "out")
    before = files(tmp_path)
    places = {"RELEASE": tmp_path / "out", "SPEC": spec, "NEW": tmp_path / "new"}
    one_sentence(run(*(places.get(word, word) for word in command)), "")
    assert files(tmp_path) == before


def test_engines_and_reports_are_for_records(tmp_path: Path, run: Run) -> None:
    Case().write(tmp_path)
    spec = tmp_path / "table.toml"
    spec.write_text('[data]\npath = "data.csv"\ncells = ["county"]\n[privacy]\nepsilon = "1"\n')
    for options in (("--engine", "spark"), ("--utility", "x.json")):
        one_sentence(
            run("release", "--accept-no-protection", spec, "--out", tmp_path / "out", *options),
            "is for records that are swapped",
        )
    assert not (tmp_path / "out").exists()


def test_a_changed_release_is_violated(tmp_path: Path, run: Run) -> None:
    run("release", "--accept-no-protection", Case().write(tmp_path), "--out", tmp_path / "out")
    path = tmp_path / "out/microdata.csv"
    path.write_text(path.read_text().replace("owned", "rented", 1))
    found = run("verify", tmp_path / "out")
    assert found.code == 1
    assert "microdata.csv unchanged" in found.out


@pytest.mark.parametrize(
    "name",
    [
        "[bold red]x[/]",
        "[/]",
        "a\x1b[2Jb\x07",
        "two\nlines",
        "a\u202eb",
        "<script>",
        "q\"'",
        " ",
        "caf\u00e9",
        "=",
    ],
)
def test_hostile_names_of_columns_are_shown_as_they_are(name: str, tmp_path: Path, run: Run) -> None:
    case = Case(households=HOUSEHOLDS.rename({"county": name}))
    mechanism(swap=[name])(case)
    case.more = f"[[invariants]]\nmargin = {json.dumps([name])}"
    spec = case.write(tmp_path)
    done = run("release", "--accept-no-protection", spec, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    checked = run("verify", tmp_path / "out")
    assert checked.code == 0, checked.out
    for words in (done.out, checked.out, run("plan", spec).out):
        assert not set("\x1b\x07\u202e") & set(words)
    if "\n" not in name and name.isprintable() and name.strip():
        assert name in done.out
        assert f"invariant {name}: " in checked.out
    case.mechanism["stratify"] = ["state", f"{name}?"]
    one_sentence(
        run("release", "--accept-no-protection", case.write(tmp_path), "--out", tmp_path / "more"),
        "stratify names",
    )
