"""MODEL.toml: what it may say, and one sentence for everything else."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from holdfast.inference.posterior.model_spec import Believed, ModelSpec, read_model
from holdfast.system.errors import SpecError

RATES: dict[str, Any] = {
    "model": {"kind": "rates", "areas": ["county"], "per": 100_000},
    "exposure": {"file": "population.csv", "column": "population"},
    "prior": {"mean": {"median": 0.002, "factor": 10}, "shape": 2},
}
SHARES: dict[str, Any] = {"model": {"kind": "proportions", "areas": ["county"]}}


def test_a_model_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(
        '[model]\nkind = "rates"\nareas = ["county"]\nper = 100000\n[prior]\n'
        "mean = { median = 0.002, factor = 10 }\nshape = 2\n[sampler]\ndraws = 800\n"
    )
    asked = read_model(path)
    assert asked.prior.mean == Believed(0.002, 10.0)
    assert asked.prior.shape == Believed(2.0)
    assert asked.prior.shape.known
    assert (asked.sampler.name, asked.sampler.draws, asked.sampler.chains) == ("gibbs", 800, 4)
    assert asked.resolve("population.csv") == tmp_path / "population.csv"


def test_defaults() -> None:
    asked = ModelSpec.of(SHARES)
    assert asked.prior.weight == Believed(1.0)
    assert asked.exposure.numbers is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": {"kind": "rate", "areas": ["county"]}}, "must be one of"),
        ({"model": {"areas": ["county"]}}, "[model] kind is missing"),
        ({"model": {"kind": "rates"}}, "areas is missing"),
        ({"model": {"kind": "rates", "areas": "county"}}, "a list in square brackets"),
        ({"model": {"kind": "rates", "areas": ["county", "county"]}}, "twice"),
        ({"model": {"kind": "rates", "areas": ["county"], "by": ["county"]}}, "twice"),
        ({"model": {"kind": "rates", "areas": ["county"], "per": 0}}, "positive number"),
        ({"model": {"kind": "rates", "areass": []}}, "did you mean 'areas'"),
        ({"modle": {}}, "did you mean 'model'"),
        ({"prior": {}}, "[prior] mean is missing"),
        ({"prior": {"mean": -1}}, "positive number"),
        ({"prior": {"mean": "much"}}, "write a number"),
        ({"prior": {"mean": float("nan")}}, "write a number"),
        ({"prior": {"mean": {"median": 1}}}, "has no factor"),
        ({"prior": {"mean": {"median": 1, "factor": 1}}}, "above 1"),
        ({"prior": {"mean": {"median": 1, "factor": 2, "sd": 1}}}, "unknown key 'sd'"),
        ({"prior": {"mean": 1, "weight": 1}}, "goes with proportions and counts"),
        ({"exposure": {"file": "a.csv"}}, "needs a file and its column"),
        ({"exposure": {"file": "a.csv", "column": "n", "each": 1}}, "keep one of them"),
        ({"sampler": {"name": "nuts"}}, "must be one of"),
        ({"sampler": {"draws": 0}}, "from 1 to"),
        ({"sampler": {"draws": 10, "chains": 4}}, "multiple of chains"),
        ({"sampler": {"draws": 4, "chains": 4}}, "at least 4"),
        ({"sampler": {"warmup": -1}}, "from 0 to"),
        ({"sampler": {"proposals": "prior"}}, "rejection or importance"),
        ({"constraints": {"nonnegative": True}}, "leave them out"),
        ({"constraints": {"inequalities": [{"total": True}]}}, "at_least or at_most"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as caught:
        ModelSpec.of({**deepcopy(RATES), **change})
    sentence = str(caught.value)
    assert words in sentence
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": {"kind": "proportions"}}, "areas is missing"),
        ({"model": {"kind": "counts", "areas": ["county"]}}, "leave them out"),
        ({"model": {"kind": "counts", "per": 10}}, "leave them out"),
        ({"prior": {"mean": 1}}, "goes with rates"),
        ({"prior": {"floor": -1}}, "not negative"),
        ({"exposure": {"each": 2}}, '[exposure] goes with kind = "rates"'),
    ],
)
def test_keys_of_another_kind_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words.replace("[", r"\[")):
        ModelSpec.of({**deepcopy(SHARES), **change})


def test_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text('[model]\nkind = "odds"\n')
    with pytest.raises(SpecError, match=r"model\.toml, \[model\] kind"):
        read_model(path)
    path.write_text("[prior]\nmean = 1\n")
    with pytest.raises(SpecError, match=r"\[model\] is missing"):
        read_model(path)
    with pytest.raises(SpecError, match="does not exist"):
        read_model(tmp_path / "none.toml")
