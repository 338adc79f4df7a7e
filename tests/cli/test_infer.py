"""`holdfast infer`: a posterior in a new folder, from the folder of a release and a model, or nothing."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run
from tests.cli.test_errors import sentence
from tests.example import changed

from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy

MODEL = """[model]
kind = "proportions"
areas = ["county"]

[prior]
weight = { median = 1, factor = 3 }

[sampler]
draws = 400
warmup = 50
"""


@pytest.fixture
def release(run: Run, example: Path) -> Path:
    out = example.parent / "out"
    assert run("release", example, "--out", out, "--seed", "1").code == 0
    (example.parent / "children.csv").unlink()  # nothing confidential is needed from here on
    example.unlink()
    (example.parent / "model.toml").write_text(MODEL)
    return out


def test_a_forecast_draws_nothing(run: Run, release: Path) -> None:
    model = release.parent / "model.toml"
    told = json.loads(run("infer", release, "--model", model, "--plan", "--draws", "4000", "--json").out)
    assert (told["draws"], told["chains"], told["sweeps"], told["cells"]) == (4000, 4, 1050, 16)
    assert told["seconds"] > 0
    assert told["memory"] == 4000 * 32 * 40
    before = sorted(release.parent.iterdir())
    shown = run("infer", release, "--model", model, "--plan")
    assert shown.out.startswith("400 draws of 16 counts and 16 parameters: about 1 s on this machine")
    assert sorted(release.parent.iterdir()) == before
    model.write_text(MODEL.replace("draws = 400", 'name = "rejection"'))
    assert "cannot be told beforehand" in run("infer", release, "--model", model, "--plan").out
    outcome = run("infer", release, "--model", model)
    assert (outcome.code, outcome.out) == (2, "")
    assert "give --out DIR" in sentence(outcome.err)


def test_a_posterior_is_drawn_and_written(run: Run, release: Path, tmp_path: Path) -> None:
    out = tmp_path / "posterior"
    outcome = run("infer", release, "--model", release.parent / "model.toml", "--out", out, "--seed", "1")
    assert outcome.code == 0
    for words in (
        "naive mean",
        "400 draws in 4 chains: R-hat",
        "cost no budget",
        f"Wrote {out / 'draws.parquet'}",
    ):
        assert words in outcome.out
    draws = pl.read_parquet(out / "draws.parquet")
    county = [name for name in draws.columns if name.startswith("count[Alpha")]
    assert len(county) == 4
    assert (draws.select(pl.sum_horizontal(county)).to_series() == 20).all()  # an invariant, in every draw
    assert not list(tmp_path.glob(".holdfast-*"))


def test_json_repeats_with_a_seed(run: Run, release: Path, tmp_path: Path) -> None:
    model = release.parent / "model.toml"
    asked = ("infer", release, "--model", model, "--seed", "5", "--draws", "80", "--level", "0.5", "--json")
    one, two = (run(*asked, "--out", tmp_path / name) for name in ("one", "two"))
    assert one.code == 0
    assert one.out == two.out
    report = json.loads(one.out)
    assert report == json.loads((tmp_path / "one" / "posterior.json").read_text())
    assert (report["sampler"]["draws"], report["sampler"]["seed"], report["level"]) == (80, 5, 0.5)
    assert "ask for more draws" in one.err
    quiet = run(*asked[:-1], "--out", tmp_path / "three", "--quiet")
    assert (quiet.code, quiet.out) == (0, "")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("proportions", "odds"), "must be one of"),
        (('areas = ["county"]', 'areas = ["conty"]'), "did you mean 'county'"),
        (("weight", "wieght"), "did you mean 'weight'"),
        (("draws = 400", "draws = 402"), "multiple of chains"),
        (("draws = 400", 'draws = 400\nname = "nuts"'), "must be one of"),
        (
            (
                "[sampler]",
                '[[constraints.inequalities]]\nwhere = { county = "Alpha" }\nat_least = 21\n[sampler]',
            ),
            "no table agrees",
        ),
        (("[sampler]", '[prior.earlier]\nfile = "past.csv"\ncolumn = "n"\n[sampler]'), "past.csv"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_writes_nothing(
    run: Run, release: Path, change: tuple[str, str], words: str, tmp_path: Path
) -> None:
    model = release.parent / "model.toml"
    model.write_text(MODEL.replace(*change))
    outcome = run("infer", release, "--model", model, "--out", tmp_path / "posterior")
    assert (outcome.code, outcome.out) == (2, "")
    assert words in sentence(outcome.err)
    assert not (tmp_path / "posterior").exists()


def test_a_prior_without_mass_on_what_is_public_is_refused(run: Run, release: Path, tmp_path: Path) -> None:
    (release.parent / "past.csv").write_text("county,n\nAlpha,0\nBeta,1\nGamma,1\nDelta,1\n")
    model = release.parent / "model.toml"
    earlier = 'weight = 1\nfloor = 0\nearlier = { file = "past.csv", column = "n" }\n'
    model.write_text(MODEL.replace("weight = { median = 1, factor = 3 }\n", earlier))
    outcome = run("infer", release, "--model", model, "--out", tmp_path / "posterior")
    assert outcome.code == 2
    assert "no probability for any table" in sentence(outcome.err)
    assert not (tmp_path / "posterior").exists()


@pytest.mark.parametrize(("level", "words"), [("1", "below 1"), ("0", "positive"), ("much", "--level")])
def test_levels_are_probabilities(run: Run, release: Path, level: str, words: str, tmp_path: Path) -> None:
    model = release.parent / "model.toml"
    outcome = run("infer", release, "--model", model, "--out", tmp_path / "posterior", "--level", level)
    assert outcome.code == 2
    assert words in sentence(outcome.err)


def test_places_that_are_taken_or_missing(run: Run, release: Path, tmp_path: Path) -> None:
    model = release.parent / "model.toml"
    assert "exists already" in sentence(run("infer", release, "--model", model, "--out", release).err)
    assert run("infer", tmp_path / "none", "--model", model, "--out", tmp_path / "posterior").code == 2
    gone = run("infer", release, "--model", tmp_path / "none.toml", "--out", tmp_path / "posterior")
    assert "does not exist" in sentence(gone.err)
    assert not (tmp_path / "posterior").exists()


def test_what_does_not_verify_is_not_used(run: Run, release: Path, tmp_path: Path) -> None:
    table = release / "table.csv"
    table.write_text(table.read_text().replace("Alpha,Low,", "Alpha,Low,1"))
    model = release.parent / "model.toml"
    outcome = run("infer", release, "--model", model, "--out", tmp_path / "posterior")
    assert outcome.code == 1
    assert "VIOLATED table.csv unchanged" in outcome.out
    assert not (tmp_path / "posterior").exists()


def test_a_law_that_is_not_public_is_refused(run: Run, example: Path, tmp_path: Path) -> None:
    asked = changed(
        example,
        constraints={"nonnegative": True},
        privacy={"standard": "approximate", "epsilon": "1", "delta": "1/10"},
        mechanism={
            "name": "conditioned",
            "chain": True,
            "norm": None,
            "queries": None,
            "optimise_for": None,
            "repeatable": None,
        },
    )
    prepare(asked).release(SeededEntropy(1)).write(tmp_path / "out")
    model = example.parent / "model.toml"
    model.write_text(MODEL)
    outcome = run("infer", tmp_path / "out", "--model", model, "--out", tmp_path / "posterior")
    assert outcome.code == 2
    assert "Markov chain" in sentence(outcome.err)
    assert not (tmp_path / "posterior").exists()


def test_a_changed_release_is_told_in_silence(run: Run, release: Path, tmp_path: Path) -> None:
    table = release / "table.csv"
    table.write_text(table.read_text().replace("Alpha", "Alpba", 1))
    asked = ("infer", release, "--model", release.parent / "model.toml", "--out", tmp_path / "new", "--quiet")
    outcome = run(*asked)
    assert (outcome.code, outcome.out) == (1, "")
    assert "is not the certified release" in outcome.err
    assert not (tmp_path / "new").exists()
