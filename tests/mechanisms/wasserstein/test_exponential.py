"""Exponential weights on small universes: what they lose, and what they draw, against lists of everything."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.contract.cases import NOT_NEGATIVE
from tests.mechanisms.wasserstein.worlds import exponential, log_weights, spent

from holdfast.lattice.points import lattice_points
from holdfast.mechanisms.truncation.spread import bases_in_words
from holdfast.mechanisms.wasserstein import exponential as exponential_module
from holdfast.mechanisms.wasserstein import laws
from holdfast.mechanisms.wasserstein.cost import LISTED, SAME, TWICE
from holdfast.mechanisms.wasserstein.exponential import WassersteinExponential
from holdfast.privacy.evidence import Proved
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import GuaranteeError, SamplingError, SpecError
from holdfast.testing.contract import Subject
from holdfast.testing.goodness import LEVEL, p_value
from holdfast.testing.worlds import Case
from holdfast.verification.verify import verify

LOSSES: dict[str, Mapping[str, Any]] = {
    "l1": {"loss": "l1"},
    "l2": {"loss": "l2"},
    "linf": {"loss": "linf"},
    "squared": {"loss": "squared"},
    "l1 of queries": {"loss": "l1", "queries": "weights.csv"},
    "l2 of queries": {"loss": "l2", "queries": "weights.csv"},
    "linf of queries": {"loss": "linf", "queries": "weights.csv"},
}
BASES: dict[str, Mapping[str, Any]] = {
    "congenial": {},
    "prior": {"prior": "past.csv", "concentration": "1/2"},
    "prior with zeros": {"prior": "past.csv", "floor": "0"},
}
FLOOR = {**NOT_NEGATIVE, "inequalities": [{"where": {"level": "b"}, "at_least": 1}]}
ORDERED = {**NOT_NEGATIVE, "inequalities": [{"weights": {"file": "weights.csv"}, "at_least": 0}]}
SEMI, EACH = {"epsilon": "2"}, {"epsilon": "2", "adjacency": "unit"}
DRAWS = 8000


@pytest.mark.parametrize("privacy", [SEMI, EACH], ids=["semi", "unit"])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("loss", LOSSES)
def test_no_pair_of_tables_loses_more_than_epsilon(
    loss: str, base: str, privacy: Mapping[str, Any], tmp_path: Path
) -> None:
    """All tables and releases are listed, with a total and without negative counts."""
    options = {**LOSSES[loss], **BASES[base]}
    mechanism, subject = exponential(tmp_path, "one total", privacy, options, NOT_NEGATIVE)
    tables = releases = subject.tables
    logs = np.stack([log_weights(mechanism, table, releases) for table in tables])
    share = spent(mechanism.guarantee, tables, logs)
    assert share <= 1 + 1e-9
    law = mechanism.law(subject.counts)
    own = log_weights(mechanism, subject.counts, releases)
    assert np.array_equal(np.isfinite(own), np.isfinite(law.log_prob(releases)))
    drawn = law.sample(SeededEntropy(1), DRAWS)
    shares = np.exp(own - logsumexp(own)).tolist()
    assert p_value(drawn, dict(zip(map(tuple, releases.tolist()), shares, strict=True))) > LEVEL
    wrong = log_weights(mechanism, subject.counts, releases, by=2.0)
    other = np.exp(wrong - logsumexp(wrong)).tolist()
    if loss != "squared":  # hardly any noise is left to tell its size
        assert p_value(drawn, dict(zip(map(tuple, releases.tolist()), other, strict=True))) < LEVEL / 1000


TIGHT: dict[str, tuple[str, Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]] = {
    "prior": ("one total", SEMI, BASES["prior"], NOT_NEGATIVE),
    "l2 with a prior": ("one total", SEMI, {**LOSSES["l2"], **BASES["prior"]}, NOT_NEGATIVE),
    "a floor": ("one total", SEMI, {**LOSSES["linf"], **BASES["prior"]}, FLOOR),
    "queries": ("one total", SEMI, LOSSES["linf of queries"], NOT_NEGATIVE),
    "crossing margins": ("2 x 3", SEMI, LOSSES["l2"], NOT_NEGATIVE),
    "cases and deaths": (
        "cases and deaths",
        SEMI,
        {**BASES["prior"], "prior_where": {"kind": "c"}},
        ORDERED,
    ),
}


@pytest.mark.parametrize("name", TIGHT)
def test_ten_percent_less_noise_loses_more_than_epsilon(name: str, tmp_path: Path) -> None:
    mechanism, subject = exponential(tmp_path, *TIGHT[name])
    tables = subject.tables
    releases = tables[mechanism.measure.inside(tables)]
    if (floors := subject.public.floors) is not None:
        assert np.array_equal(releases, tables[(tables @ floors[0].T >= floors[1]).all(axis=1)])
    logs, more = (
        np.stack([log_weights(mechanism, table, releases, by=by) for table in tables]) for by in (1.0, 1.1)
    )
    assert 0.99 < spent(mechanism.guarantee, tables, logs) <= 1 + 1e-9
    assert spent(mechanism.guarantee, tables, more) > 1.01


@pytest.mark.parametrize("privacy", [SEMI, EACH], ids=["semi", "unit"])
@pytest.mark.parametrize("base", ["congenial", "counting"])
@pytest.mark.parametrize("loss", ["l1", "l2", "linf", "l1 of queries", "linf of queries"])
def test_where_tables_share_their_noise_its_normaliser_costs_nothing(
    loss: str, base: str, privacy: Mapping[str, Any], tmp_path: Path
) -> None:
    """The loss of a pair x' = x + u is the largest kappa (L(z - u) - L(z)), and epsilon is attained."""
    options = {**LOSSES[loss], "base": base}
    try:
        mechanism, subject = exponential(tmp_path, "one total", privacy, options, {})
    except SamplingError as error:
        assert "queries" in loss  # a mixture needs bounds, and no other draw is known
        assert "no exact draw is known" in str(error)  # noqa: PT017 - one case of many
        return
    said = [claim.claim.words for claim in mechanism.guarantee.evidence if isinstance(claim, Proved)]
    assert f"{bases_in_words(SAME)}: gamma = 0" in said
    rows = subject.public.universe.matrix.toarray() if base == "congenial" else np.zeros((0, 3), dtype=int)
    points = lattice_points(rows, 9)
    tables = subject.tables
    apart = tables - tables[0]
    logs = np.stack([log_weights(mechanism, u, points) for u in apart])
    lost = (logs[0] - logs).max(axis=1)
    distance = np.abs(apart).sum(axis=1) / 2
    epsilon = float(next(iter(mechanism.guarantee.intensity.parameters().values())))
    if mechanism.guarantee.unit.adjacency == "unit":
        assert (lost <= epsilon * distance * (1 + 1e-9)).all()
    else:
        assert (lost[distance <= mechanism.guarantee.unit.distance] <= epsilon * (1 + 1e-9)).all()


def test_the_certificate_says_what_the_normaliser_cost(tmp_path: Path) -> None:
    """Dropped on the lattice, summed where tables can be listed, and twice the loss otherwise."""
    wide = "level," + "n\n" + "".join(f"l{i},{i % 7}\n" for i in range(30))
    kappas = {}
    for name, options, constraints, how in (
        ("lattice", {"loss": "l2"}, {}, SAME),
        ("bounds", {"loss": "l2"}, NOT_NEGATIVE, TWICE),
        ("prior", {"loss": "l1", "prior": "wide.csv"}, NOT_NEGATIVE, TWICE),
    ):
        (tmp_path / "wide.csv").write_text(wide)
        mechanism = _answered(tmp_path, options, constraints)
        assert any(
            claim.claim.words.startswith(bases_in_words(how)) for claim in mechanism.guarantee.evidence
        )
        kappas[name] = mechanism.kappa
    assert float(kappas["lattice"] / kappas["bounds"]) == pytest.approx(2)
    mechanism, _ = exponential(tmp_path, "one total", SEMI, BASES["prior"], NOT_NEGATIVE)
    assert any(claim.claim.words.startswith(bases_in_words(LISTED)) for claim in mechanism.guarantee.evidence)
    assert mechanism.kappa > mechanism.cost.epsilon / (2 * mechanism.cost.base / mechanism.kappa)


def _answered(
    folder: Path, options: Mapping[str, Any], constraints: Mapping[str, Any], **privacy: Any
) -> WassersteinExponential:
    spec = Spec.of(
        {
            "data": {"path": "wide.csv", "cells": ["level"], "count": "n"},
            "invariants": [{"total": True}],
            "constraints": dict(constraints),
            "privacy": privacy or {"epsilon": "1"},
            "mechanism": {"name": "wasserstein-exponential", **options},
        },
        folder=folder,
    )
    mechanism = prepare(spec).mechanism
    assert isinstance(mechanism, WassersteinExponential)
    return mechanism


@pytest.mark.parametrize("loss", ["l1", "l2", "squared"])
def test_totals_and_inequalities_hold_in_every_draw(loss: str, tmp_path: Path) -> None:
    options = {"loss": loss, "prior": "past.csv", "prior_where": {"kind": "c"}, "floor": "1/3"}
    mechanism, subject = exponential(tmp_path, "cases and deaths", {"epsilon": "1/10"}, options, ORDERED)
    drawn = mechanism.law(subject.counts).sample(SeededEntropy(5), 3000).reshape(-1, 2, 2)
    assert (drawn.sum(axis=1) == subject.counts.reshape(2, 2).sum(axis=0)).all()
    assert (drawn[:, :, 0] >= drawn[:, :, 1]).all()
    assert (drawn >= 0).all()
    assert np.unique(drawn.reshape(-1, 4), axis=0).shape[0] > 3


def test_a_release_verifies_and_says_its_prior(tmp_path: Path) -> None:
    subject = Subject.of(Case("one total", SEMI, BASES["prior"], FLOOR), WassersteinExponential, tmp_path)
    release = subject.ready.release(SeededEntropy(1))
    folder = release.write(tmp_path / "out")
    assert verify(folder).kept
    page = (folder / "certificate.html").read_text()
    assert "past counts" in page
    assert "gamma" in page
    (caveat,) = subject.mechanism.caveats(subject.ready.public)
    assert "pulls counts towards public past counts" in caveat.words


REFUSED: dict[str, tuple[str, Mapping[str, Any], Mapping[str, Any], Mapping[str, Any], str]] = {
    "squared without bounds": ("one total", SEMI, {"loss": "squared"}, {}, "has no bound where counts have"),
    "no prior": ("one total", SEMI, {"base": "prior"}, NOT_NEGATIVE, "no prior: name a file"),
    "a prior of negative counts": ("one total", SEMI, {"prior": "past.csv"}, {}, "set nonnegative=True"),
    "keys of a prior": ("one total", SEMI, {"floor": "1"}, NOT_NEGATIVE, 'floor goes with base = "prior"'),
    "a negative floor": (
        "one total",
        SEMI,
        {"prior": "past.csv", "floor": "-1"},
        NOT_NEGATIVE,
        "floor is -1",
    ),
    "counting within bounds": ("one total", SEMI, {"base": "counting"}, NOT_NEGATIVE, "leave out the bounds"),
    "squares of queries": (
        "one total",
        SEMI,
        {"loss": "squared", "queries": "weights.csv"},
        NOT_NEGATIVE,
        "queries go with a norm",
    ),
    "moves without a chain": ("one total", SEMI, {"moves": "m.csv"}, NOT_NEGATIVE, "moves are those of a"),
    "an approximate target": (
        "one total",
        {"standard": "approximate", "epsilon": "1", "delta": "1/10"},
        {},
        NOT_NEGATIVE,
        "met by a chain alone",
    ),
    "a pure chain": ("one total", SEMI, {"chain": True}, NOT_NEGATIVE, "draws approximately"),
    "an unknown loss": ("one total", SEMI, {"loss": "l3"}, {}, "loss"),
    "a missing file": ("one total", SEMI, {"prior": "none.csv"}, NOT_NEGATIVE, "none.csv"),
    "a column that is not there": (
        "one total",
        SEMI,
        {"prior": "past.csv", "prior_count": "people"},
        NOT_NEGATIVE,
        "people",
    ),
    "a prior over an unknown total": (
        "one total",
        SEMI,
        {"prior": "past.csv", "prior_where": {"level": ["a", "b"]}},
        NOT_NEGATIVE,
        "make it an invariant",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    *case, match = REFUSED[name]
    with pytest.raises(SpecError if "file" not in name and "column" not in name else Exception) as caught:
        exponential(tmp_path, *case)  # type: ignore[arg-type]
    assert match in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_prior_without_mass_on_the_public_facts_is_refused(tmp_path: Path) -> None:
    """Cell b has no past counts and no floor, and must be 1 at least."""
    with pytest.raises(GuaranteeError, match="the prior has no mass on what is public"):
        exponential(tmp_path, "one total", SEMI, BASES["prior with zeros"], FLOOR)


def test_queries_that_miss_a_cell_leave_its_count_free(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("level,n\na,1\nb,2\nc,3\n")
    (tmp_path / "w.csv").write_text("invariant,level,weight\none,a,1\none,b,1\n")
    with pytest.raises(SpecError, match="queries do not see the cell"):
        _answered(tmp_path, {"loss": "l1", "queries": "w.csv"}, {})


def test_queries_that_tell_no_cells_apart_are_refused(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("level,n\na,1\nb,2\nc,3\n")
    (tmp_path / "w.csv").write_text("invariant,level,weight\nall,a,2\nall,b,2\nall,c,2\n")
    with pytest.raises(SpecError, match="queries have the same answers whatever one record is"):
        _answered(tmp_path, {"loss": "l1", "queries": "w.csv"}, {})


def test_a_chain_is_charged_for_its_distance(tmp_path: Path) -> None:
    """Its delta is what is left of the target's, and the exact law's epsilon is met."""
    options = {"loss": "l2", "chain": True}
    target = {"standard": "approximate", "epsilon": "2", "delta": "1/10"}
    mechanism, subject = exponential(tmp_path, "2 x 2", target, options, NOT_NEGATIVE)
    assert mechanism.walk is not None
    exact, _ = exponential(tmp_path, "2 x 2", {"epsilon": "2"}, {"loss": "l2"}, NOT_NEGATIVE)
    assert mechanism.kappa == exact.kappa
    parameters = mechanism.guarantee.intensity.parameters()
    assert 0 < parameters["delta"] <= Fraction(1, 10)
    assert parameters["epsilon"] <= 2
    drawn = mechanism.law(subject.counts).sample(SeededEntropy(2), 500)
    assert (drawn >= 0).all()


def test_tables_that_are_too_large_are_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With bounds every cell has a table of its own, and thinning keeps ever less: both have a limit."""
    monkeypatch.setattr(exponential_module, "MOST_CELLS", 2)
    with pytest.raises(SamplingError, match="for at most 2 cells, and there are 3"):
        exponential(tmp_path, "one total", SEMI, {}, NOT_NEGATIVE)
    exponential(tmp_path, "one total", SEMI, {}, {})  # noise that all tables share has no such limit
    monkeypatch.undo()
    monkeypatch.setattr(laws, "THINNED", 5)
    monkeypatch.setattr(laws, "RELEASES", 1)
    with pytest.raises(SamplingError, match="6 cells are too many to thin"):
        exponential(tmp_path, "2 x 3", SEMI, LOSSES["l2"], NOT_NEGATIVE)
