"""Records that are added or removed: releases, certificates that say otherwise, ledgers, several tables."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.certificate.falsify import write
from tests.releases.several_tables import frame, several

import holdfast
from holdfast.ledger.account import Ledger
from holdfast.ledger.verify import verify_ledger
from holdfast.releases.prepare import prepare
from holdfast.spec.model import Spec
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.verification.verify import verify

TABLE = pl.DataFrame({"county": ["A", "A", "B", "B"], "sex": ["f", "m"] * 2, "n": [12, 8, 3, 4]})
WOMEN = {"margin": ["county"], "where": {"sex": "f"}}
GAUSSIAN = {"mechanism": {"name": "lattice-gaussian"}}
RHO = {"standard": "zcdp", "rho": "1/8"}


def spec(*kept: Any, mechanism: Any = None, **privacy: Any) -> Spec:
    asked = {"neighbours": "add-remove", **privacy}
    return Spec.of(
        {
            "data": {"cells": ["county", "sex"], "count": "n"},
            "invariants": list(kept),
            "privacy": asked if "rho" in asked or "mu" in asked else {"epsilon": "1", **asked},
            "mechanism": {"name": "lattice-laplace"} if mechanism is None else mechanism,
        }
    )


def test_a_histogram_has_the_noise_that_it_has_elsewhere() -> None:
    """Discrete Laplace noise of scale 1 / epsilon, discrete Gaussian noise of variance 1 / (2 rho)."""
    laplace = prepare(spec(), data=TABLE).table.mechanism
    assert laplace.parameters["kappa"] == 1
    gaussian = prepare(spec(**GAUSSIAN, **RHO), data=TABLE).table.mechanism
    assert gaussian.parameters["sigma_squared"] == 4
    anchored = prepare(spec(mechanism={"name": "anchored-laplace"}), data=TABLE).table.mechanism
    assert anchored.parameters["kappa"] == 1
    replaced = prepare(spec(neighbours="replace"), data=TABLE).table.mechanism
    assert replaced.parameters["kappa"] == Fraction(1, 2)
    assert laplace.guarantee.unit.neighbours == "add-remove"
    assert "the number of records" not in " ".join(one.words for one in laplace.guarantee.scope.constraints)


@pytest.mark.parametrize(
    ("kept", "kappa"),
    [((WOMEN,), 1), (({"total": True},), "1/2"), (({"margin": ["county"]}, {"margin": ["sex"]}), "1/4")],
)
def test_what_is_kept_decides_how_many_come_and_go(kept: Any, kappa: Any) -> None:
    """Men come alone; with a total one comes as another goes; both margins take four."""
    assert prepare(spec(*kept), data=TABLE).table.mechanism.parameters["kappa"] == Fraction(kappa)


@pytest.mark.parametrize("mechanism", ["lattice-laplace", "topdown"])
def test_a_certificate_says_which_and_is_found_where_it_says_the_other(
    mechanism: str, tmp_path: Path
) -> None:
    made = holdfast.release(spec(mechanism={"name": mechanism}), tmp_path / "out", data=TABLE)
    content = made.certificate.to_dict()
    assert content["target"]["neighbours"] == content["guarantee"]["unit"]["neighbours"] == "add-remove"
    page = (tmp_path / "out" / "certificate.html").read_text()
    assert "had not been there, or had come as well" in page
    assert "at most 1 record added or removed apart" in page
    assert "without one person&#39;s data, or with one more" in page or mechanism == "topdown"
    assert verify(tmp_path / "out").kept
    for places in ((0,), (1,), (0, 1)):
        said = json.loads(json.dumps(content))
        for place in places:
            (said["target"], said["guarantee"]["unit"])[place].pop("neighbours")
        write(tmp_path / "out", said, page=True)
        assert not verify(tmp_path / "out").kept


def test_a_ledger_keeps_to_one_kind_of_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "account.ledger"
    ledger = Ledger.create(path, standard="pure", budget=Fraction(10))
    first = holdfast.release(spec(), tmp_path / "one", data=TABLE, ledger=ledger)
    assert first.row is not None
    assert first.row.total == 1
    with pytest.raises(GuaranteeError, match="for records that are added or removed, and this release is"):
        holdfast.release(spec(neighbours="replace"), tmp_path / "two", data=TABLE, ledger=ledger)
    assert ledger.spent() == 1
    assert not (tmp_path / "two").exists()
    # with the women kept a record still comes alone; with a total, one comes as another goes
    women = holdfast.release(spec(WOMEN), tmp_path / "three", data=TABLE, ledger=ledger)
    assert women.row is not None
    assert women.row.total == 2
    total = holdfast.release(spec({"total": True}), tmp_path / "four", data=TABLE, ledger=ledger)
    assert total.row is not None
    assert (
        total.row.total == 3 + 2
    )  # each of the other two now loses kappa for two, and this one 1 / 2 for two
    assert verify_ledger(path, releases=[tmp_path / name for name in ("one", "three", "four")]).kept
    other = Ledger.create(tmp_path / "other.ledger", standard="pure", budget=Fraction(10))
    holdfast.release(spec(neighbours="replace"), tmp_path / "five", data=TABLE, ledger=other)
    with pytest.raises(GuaranteeError, match=r"that are replaced, .*set neighbours='replace'"):
        holdfast.release(spec(), tmp_path / "six", data=TABLE, ledger=other)
    assert other.spent() == 1


def test_for_each_record_a_ledger_adds_up(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "account.ledger", standard="zcdp", budget=Fraction(10))
    for place, kept in enumerate(((), (WOMEN,))):
        asked = spec(*kept, **GAUSSIAN, **RHO, adjacency="unit")
        holdfast.release(asked, tmp_path / str(place), data=TABLE, ledger=ledger)
    assert ledger.spent() == Fraction(1, 4)
    far = spec(
        {"total": True}, **GAUSSIAN, **RHO
    )  # semi: rho at two records added or removed, of which 1/4 each
    holdfast.release(far, tmp_path / "far", data=TABLE, ledger=ledger)
    assert ledger.spent() <= Fraction(1, 4) + Fraction(1, 8)


def test_tables_of_one_file(tmp_path: Path) -> None:
    people = frame("000", "011", "101", "110", "111", "010")
    both = several({"one": ("pq", ()), "two": ("qr", (("r",),))}, neighbours="add-remove")
    prepared = prepare(both, data=people)
    assert prepared.guarantee.unit.distance == 2  # where r is kept, one comes as another goes
    out = tmp_path / "out"
    holdfast.release(both, out, data=people)
    assert verify(out).kept
    alone = several({"one": ("pq", ()), "two": ("qr", ())}, neighbours="add-remove")
    assert prepare(alone, data=people).guarantee.unit.distance == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"neighbours": "both"}, r"neighbours must be one of 'replace' or 'add-remove', not 'both'"),
        ({"laws": "everything"}, "speaks of the values of records, and not of who is there"),
        (
            {"mechanism": {"name": "noisy-count"}},
            "not worked out for noisy-count",
        ),
        (
            {"mechanism": {"name": "permutation-swapping", "stratify": ["sex"], "swap": ["county"]}},
            "not worked out for permutation-swapping",
        ),
    ],
)
def test_what_is_not_worked_out_is_refused_in_one_sentence(asked: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=said):
        holdfast.release(spec(**{"adjacency": "unit", **asked}), tmp_path / "out", data=TABLE)
    assert not (tmp_path / "out").exists()


def test_too_small_a_distance_and_one_table_are_refused() -> None:
    with pytest.raises(GuaranteeError, match="one person's presence takes 2 people added or removed"):
        prepare(spec({"total": True}, unit="person", distance=1), data=TABLE)
    whole = {"margin": ["county", "sex"]}
    for adjacency in ("semi", "unit"):
        with pytest.raises(GuaranteeError, match="leave one possible table, so nothing is left"):
            prepare(spec(whole, adjacency=adjacency), data=TABLE)


def test_guarantees_of_both_kinds_are_compared_by_their_pairs() -> None:
    """A record that is replaced is one removed and one added."""

    def guarantee(**privacy: Any) -> Any:
        return prepare(spec(**privacy), data=TABLE).table.mechanism.guarantee

    each, far = guarantee(adjacency="unit"), guarantee(distance=2)
    replaced = guarantee(neighbours="replace", epsilon="2")
    assert each.implies(replaced)  # epsilon 1 for each of two
    assert far.implies(replaced)
    assert not guarantee(epsilon="3", distance=2).implies(replaced)
    with pytest.raises(GuaranteeError, match="not comparable"):
        guarantee().implies(guarantee(neighbours="replace"))
