"""From the folder of a release to a posterior: models, facts, swapped records, files, and refusals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from tests.mechanisms.swapping.small import asked as swapping_asked
from tests.mechanisms.swapping.small import households

import holdfast
from holdfast.inference.posterior.infer import infer
from holdfast.inference.posterior.results import Posterior
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError, HoldfastError, ReleaseError, SamplingError, SpecError

COUNTS = {"a": (9, 30), "b": (0, 12), "c": (4, 51), "d": (21, 60)}
PRIOR = {"mean": {"median": 0.2, "factor": 3}, "shape": {"median": 2, "factor": 3}}
RATES: dict[str, Any] = {
    "model": {"kind": "rates", "areas": ["area"], "by": ["case"], "per": 100},
    "exposure": {"each": 50},
    "prior": PRIOR,
    "sampler": {"draws": 400, "warmup": 50},
}


def released(folder: Path, **sections: Any) -> Path:
    rows = [f"{area},yes,{yes}\n{area},no,{no}\n" for area, (yes, no) in COUNTS.items()]
    (folder / "data.csv").write_text("area,case,n\n" + "".join(rows))
    spec: dict[str, Any] = {
        "data": {"path": "data.csv", "cells": ["area", "case"], "count": "n"},
        "invariants": [{"margin": ["area"]}],
        "privacy": {"epsilon": "1"},
        **sections,
    }
    holdfast.release(Spec.of(spec, folder=folder), folder / "out", seed=3)
    (folder / "data.csv").unlink()  # nothing confidential is needed from here on
    return folder / "out"


def found(folder: Path, model: dict[str, Any], **sections: Any) -> Posterior:
    return infer(released(folder, **sections), model, seed=1)


def sums(posterior: Posterior, areas: int) -> np.ndarray[Any, Any]:
    tables = posterior.draws.tables
    return np.asarray(tables.reshape(-1, areas, tables.shape[2] // areas).sum(axis=2))


def test_rates_by_area(tmp_path: Path) -> None:
    posterior = found(tmp_path, RATES)
    assert [one.name for one in posterior.quantities] == ["rate", "count", "shape", "mean"]
    rate, count, shape, _ = posterior.quantities
    assert rate.named.attributes == ("area", "case")
    assert rate.named.levels[0] == ("a", "yes")
    assert shape.named.levels == (("yes",), ("no",))  # shared by areas, one for each level of case
    assert (sums(posterior, 4) == [39, 12, 55, 81]).all()
    assert (posterior.draws.tables >= 0).all()
    assert count.values.shape == (4, 100, 8)
    # rates are told per 100 units of exposure
    scaled = 100 * posterior.draws.parameters
    assert np.allclose(rate.values, scaled)


def test_proportions_and_their_shrinkage(tmp_path: Path) -> None:
    model = {
        "model": {"kind": "proportions", "areas": ["area"]},
        "prior": {"weight": {"median": 1, "factor": 4}},
        "sampler": {"draws": 2000},
    }
    posterior = found(tmp_path, model)
    shares = posterior.quantities[0]
    assert shares.name == "proportion"
    assert np.allclose(shares.values.reshape(-1, 4, 2).sum(axis=2), 1)
    assert (sums(posterior, 4) == [39, 12, 55, 81]).all()
    told = [one.name for one in posterior.quantities]
    assert told == ["proportion", "count", "weight"]
    # with a common prior that says the areas are alike, the extremes move towards the others
    alike = infer(tmp_path / "out", {**model, "prior": {"weight": 1000.0}}, seed=1).quantities[0]
    spread = [np.ptp(one.values.mean(axis=(0, 1))[1::2]) for one in (shares, alike)]
    assert spread[1] < 0.2 * spread[0]


def test_counts_with_an_earlier_table(tmp_path: Path) -> None:
    pairs = [(area, case, both[at]) for area, both in COUNTS.items() for at, case in enumerate(("yes", "no"))]
    rows = "".join(f"{area},{case},{n}\n" for area, case, n in pairs)
    (tmp_path / "past.csv").write_text("area,case,past\n" + rows)
    model = tmp_path / "model.toml"
    model.write_text(
        '[model]\nkind = "counts"\n[prior]\nweight = { median = 1, factor = 3 }\nfloor = 0.5\n'
        '[prior.earlier]\nfile = "past.csv"\ncolumn = "past"\n[sampler]\ndraws = 400\n'
    )
    posterior = infer(released(tmp_path, invariants=[{"total": True}]), model, seed=1)
    assert (posterior.draws.tables.sum(axis=2) == 187).all()
    assert posterior.quantities[2].named.levels == ((),)


def test_inequalities_hold_in_every_draw(tmp_path: Path) -> None:
    """No more cases than others in any area, known beforehand."""
    (tmp_path / "weights.csv").write_text(
        "invariant,area,case,weight\n"
        + "".join(f"{area},{area},no,1\n{area},{area},yes,-1\n" for area in COUNTS)
    )
    model = tmp_path / "model.toml"
    model.write_text(
        '[model]\nkind = "rates"\nareas = ["area"]\n[prior]\nmean = 20\n[sampler]\ndraws = 400\n'
        '[[constraints.inequalities]]\nweights = { file = "weights.csv" }\nat_least = 0\n'
        '[[constraints.inequalities]]\nwhere = { area = "a", case = "yes" }\nat_least = 1\n'
        '[[constraints.inequalities]]\nwhere = { area = ["a", "b"], case = "yes" }\nat_least = 2\n'
    )
    folder = released(tmp_path, invariants=[{"total": True}], privacy={"epsilon": "1/4"})
    with pytest.raises(SamplingError, match="no moves are known"):
        infer(folder, model, seed=1)
    model.write_text(model.read_text().rpartition("[[")[0])
    posterior = infer(folder, model, seed=1)
    tables = posterior.draws.tables.reshape(-1, 4, 2)
    assert (tables[..., 1] >= tables[..., 0]).all()
    assert (tables[:, 0, 0] >= 1).all()
    assert (tables.sum(axis=(1, 2)) == 187).all()
    free = infer(folder, {**RATES, "prior": {"mean": 20.0}, "exposure": {}}, seed=1)
    others = free.draws.tables.reshape(-1, 4, 2)
    assert (others[..., 1] < others[..., 0]).any()  # it is the inequality that does it


@pytest.mark.parametrize("name", ["rejection", "importance"])
def test_other_samplers_agree(name: str, tmp_path: Path) -> None:
    sections = {"invariants": [{"margin": ["area"]}], "privacy": {"epsilon": "2"}}
    model = {"model": {"kind": "proportions", "areas": ["area"]}, "sampler": {"draws": 4000}}
    folder = released(tmp_path, **sections)
    by_gibbs = infer(folder, model, seed=1)
    other = infer(folder, {**model, "sampler": {"name": name, "draws": 4000}}, seed=2)
    one, two = (each.summaries["proportion"] for each in (by_gibbs, other))
    assert np.abs(one["mean"] - two["mean"]).max() < 0.02
    assert np.abs(one["low"] - two["low"]).max() < 0.04
    assert set(other.draws.statistics) >= {"proposed"}


def test_swapped_records(tmp_path: Path) -> None:
    table = households(300)
    pq.write_table(table, tmp_path / "households.parquet")
    holdfast.release(
        swapping_asked(tmp_path, "households.parquet"), tmp_path / "out", seed=1, accept_no_protection=True
    )
    model: dict[str, Any] = {
        "model": {"kind": "proportions", "areas": ["county"], "cells": ["county", "tenure"]},
        "sampler": {"draws": 400},
    }
    posterior = infer(tmp_path / "out", model, seed=1)
    counties = len({levels[0] for levels in posterior.quantities[0].named.levels})
    truth = pl.from_arrow(table)
    assert isinstance(truth, pl.DataFrame)
    by_county = truth.group_by("county").len().sort("county")["len"].to_list()
    assert (sums(posterior, counties) == by_county).all()
    by_tenure = truth.group_by("tenure").len().sort("tenure")["len"].to_list()
    assert (posterior.draws.tables.reshape(400, counties, 2).sum(axis=1) == by_tenure).all()
    assert posterior.release["mechanism"] == "permutation-swapping"
    for change, words in (
        ({"model": {**model["model"], "cells": []}}, "cells is missing"),
        ({"model": {**model["model"], "cells": ["county", "size9"]}}, "no column"),
        ({"model": {**model["model"], "cells": ["tenure"]}}, "add it there"),
        ({"sampler": {"name": "rejection", "draws": 10}}, "sum over permutations"),
    ):
        with pytest.raises(SpecError, match=words):
            infer(tmp_path / "out", {**model, **change}, seed=1)


def test_swapped_records_without_a_key_are_one_stratum(tmp_path: Path) -> None:
    table = households(60)
    pq.write_table(table, tmp_path / "households.parquet")
    spec = swapping_asked(tmp_path, "households.parquet", mechanism={"stratify": []})
    holdfast.release(spec, tmp_path / "out", seed=1, accept_no_protection=True)
    model: dict[str, Any] = {
        "model": {"kind": "proportions", "areas": ["county"], "cells": ["county", "tenure"]},
        "sampler": {"draws": 40, "warmup": 10},
    }
    posterior = infer(tmp_path / "out", model, seed=1)
    truth = pl.DataFrame(table.to_pydict())
    for axis, name in ((2, "county"), (1, "tenure")):
        kept = truth.group_by(name).len().sort(name)["len"].to_list()
        assert (posterior.draws.tables.reshape(40, -1, 2).sum(axis=axis) == kept).all()
    assert len(np.unique(posterior.draws.tables, axis=0)) > 1


def test_a_folder_holds_draws_summaries_and_a_picture(tmp_path: Path) -> None:
    folder = released(tmp_path)
    out = tmp_path / "posterior"
    posterior = holdfast.infer(folder, RATES, out, seed=1)
    names = sorted(path.name for path in out.iterdir())
    assert set(names) - {"posterior.nc"} == {
        "draws.parquet",
        "posterior.json",
        "posterior.png",
        "summary.csv",
    }
    draws = pl.read_parquet(out / "draws.parquet")
    assert draws.shape == (400, 2 + 8 + 8 + 2 + 2)
    assert draws["count[a, no]"].dtype == pl.Int64
    assert (draws["count[a, no]"] + draws["count[a, yes]"] == 39).all()
    report = json.loads((out / "posterior.json").read_text())
    assert report["format"] == "holdfast-posterior/1"
    assert (
        report["release"]["certificate_digest"]
        == json.loads((folder / "certificate.json").read_text())["digest"]
    )
    assert report["sampler"]["draws"] == 400
    first = report["quantities"]["rate"][0]
    assert first["of"] == {"area": "a", "case": "yes"}
    assert first["low"] < first["mean"] < first["high"]
    assert first["naive_low"] < first["naive_mean"] < first["naive_high"]
    summary = pl.read_csv(out / "summary.csv")
    assert summary.height == 8 + 8 + 2 + 2
    assert summary["mean"][0] == pytest.approx(first["mean"])
    assert summary.filter(pl.col("quantity") == "count")["naive_mean"].null_count() == 8
    assert (out / "posterior.png").read_bytes().startswith(b"\x89PNG")
    assert posterior.to_dict()["quantities"] == report["quantities"]
    with pytest.raises(ReleaseError, match="exists already"):
        infer(folder, RATES, out, seed=1)


def test_inference_data_is_what_arviz_reads(tmp_path: Path) -> None:
    arviz = pytest.importorskip("arviz")
    out = tmp_path / "posterior"
    posterior = infer(released(tmp_path), RATES, out, seed=1)
    read = arviz.from_netcdf(str(out / "posterior.nc"))
    assert np.allclose(read.posterior["rate"].to_numpy(), posterior.quantities[0].values)
    assert read.posterior["count"].sel(count_of="a, no").shape == (4, 100)
    assert np.allclose(arviz.rhat(read)["rate"].to_numpy(), posterior.summaries["rate"]["r_hat"])


def test_the_naive_analysis_is_too_sure(tmp_path: Path) -> None:
    """Wide noise on small counts: intervals that know of it are wider."""
    posterior = found(tmp_path, RATES, privacy={"epsilon": "1/10"})
    summary = posterior.summaries["rate"]
    wide, narrow = summary["high"] - summary["low"], summary["naive_high"] - summary["naive_low"]
    assert (wide > 1.2 * narrow).all()


def test_few_draws_are_warned_of(tmp_path: Path) -> None:
    posterior = found(tmp_path, {**RATES, "sampler": {"draws": 40, "warmup": 0}})
    assert any("ask for more" in sentence for sentence in posterior.warnings)
    weights = infer(tmp_path / "out", {**RATES, "sampler": {"name": "importance", "draws": 200}}, seed=1)
    assert weights.warnings


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"model": {"kind": "rates", "areas": ["conty"]}}, SpecError, "no attribute of the released table"),
        ({"model": {"kind": "rates", "areas": ["area"], "cells": ["area"]}}, SpecError, "swapped records"),
        (
            {"model": {"kind": "proportions", "areas": ["case"]}, "prior": {}, "exposure": {}},
            SpecError,
            "no invariant",
        ),
        (
            {"model": {"kind": "proportions", "areas": ["area", "case"]}, "prior": {}, "exposure": {}},
            SpecError,
            "nothing is left",
        ),
        ({"exposure": {"file": "none.csv", "column": "n"}}, DataError, "none.csv"),
        (
            {"constraints": {"inequalities": [{"where": {"area": "a"}, "at_least": 40}]}},
            DataError,
            "no table agrees",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    change: dict[str, Any], error: type[HoldfastError], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        found(tmp_path, {**RATES, **change})


def test_a_prior_without_mass_on_the_facts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("area,n\na,5\nb,0\nc,5\nd,5\n")
    model = tmp_path / "model.toml"
    model.write_text(
        '[model]\nkind = "rates"\nareas = ["area"]\n[exposure]\nfile = "people.csv"\ncolumn = "n"\n'
        "[prior]\nmean = 1\n[sampler]\ndraws = 400\n"
    )
    with pytest.raises(SpecError, match="no probability for any table"):
        infer(released(tmp_path), model, seed=1)
    # without the total of that area, its cells can be empty, and stay so
    other = tmp_path / "other"
    other.mkdir()
    posterior = infer(released(other, invariants=[{"total": True}]), model, seed=1)
    assert {levels[0] for levels in posterior.quantities[1].named.levels} == {"a", "c", "d"}


def test_a_processed_table_is_sent_back(tmp_path: Path) -> None:
    folder = released(tmp_path)
    holdfast.postprocess(folder, "integers-l1", tmp_path / "tidy", bias_draws=0)
    with pytest.raises(ReleaseError, match="processed table"):
        infer(tmp_path / "tidy", RATES)


def test_one_of_several_tables(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("area,sex\n" + "a,f\na,m\nb,m\nb,f\nb,f\n" * 6)
    spec = {
        "data": {"path": "people.csv"},
        "tables": [
            {"name": "areas", "cells": ["area"], "invariants": [{"total": True}]},
            {"name": "sexes", "cells": ["sex"], "invariants": [{"total": True}]},
        ],
        "privacy": {"epsilon": "2"},
    }
    path = tmp_path / "tables.toml"
    path.write_text(
        '[data]\npath = "people.csv"\n[privacy]\nepsilon = "2"\n'
        '[[tables]]\nname = "areas"\ncells = ["area"]\n[[tables.invariants]]\ntotal = true\n'
        '[[tables]]\nname = "sexes"\ncells = ["sex"]\n[[tables.invariants]]\ntotal = true\n'
    )
    assert spec["tables"]
    holdfast.release(path, tmp_path / "out", seed=1)
    model = {"model": {"kind": "rates", "areas": ["sex"]}, "prior": {"mean": 10.0}, "sampler": {"draws": 400}}
    posterior = infer(tmp_path / "out", model, table="sexes", seed=1)
    assert (posterior.draws.tables.sum(axis=2) == 30).all()
    with pytest.raises(ReleaseError, match="name one with the argument table"):
        infer(tmp_path / "out", model, seed=1)


def test_a_table_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.inference.posterior.problem.MOST_CELLS", 7)
    with pytest.raises(ReleaseError, match="has 8 cells, and a posterior is offered for 7 at most"):
        found(tmp_path, RATES)
