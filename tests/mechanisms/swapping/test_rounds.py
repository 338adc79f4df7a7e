"""Rates by stratum and rounds: what is refused, what a certificate says, and that `verify` derives it."""

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import holdfast as hf
from holdfast.mechanisms.swapping.bounds import epsilon
from holdfast.mechanisms.swapping.details import SwappingDetails
from holdfast.mechanisms.swapping.embedded import Swap, swap_group
from holdfast.mechanisms.swapping.mechanism import PermutationSwapping
from holdfast.system.errors import GuaranteeError, ReleaseError, SpecError

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


def homes(number: int = 80) -> pl.DataFrame:
    chance = np.random.default_rng(4)
    tracts = chance.integers(1, 5, number)
    return pl.DataFrame(
        {
            "county": np.where(tracts < 3, "North", "South"),
            "tract": [f"t{one}" for one in tracts],
            "block": [f"b{one}" for one in chance.integers(1, 4, number)],
            "size": chance.integers(1, 4, number),
            "tenure": chance.choice(["own", "rent"], number),
            "income": chance.integers(0, 1000, number),
        }
    )


def spec(epsilon: str | None = "5", **mechanism: Any) -> hf.Spec:
    asked = {"name": "permutation-swapping", "stratify": ["county", "size"], "swap": ["tract", "block"]}
    return hf.Spec.of(
        {
            "data": {},
            "privacy": {
                "unit": "household",
                "adjacency": "unit",
                **({} if epsilon is None else {"epsilon": epsilon}),
            },
            "mechanism": {**asked, **mechanism},
        }
    )


RULES = [{"where": {"county": "North"}, "at_most": 12, "rate": "1/2"}, {"at_least": 15, "rate": "1/3"}]
ROUNDS = [{"within": ["tract"], "rates": [{"where": {"tract": ["t1"]}, "rate": "2/5"}]}]


def sizes(*names: str) -> Counter[tuple[Any, ...]]:
    return Counter(homes().select(names).iter_rows())


def test_each_stratum_has_the_rate_of_the_first_rule_that_fits() -> None:
    prepared = hf.prepare(spec(rates=RULES, rate="1/10"), homes())
    strata = sizes("county", "size")
    own = {
        key: HALF if key[0] == "North" and n <= 12 else Fraction(1, 3) if n >= 15 else TENTH
        for key, n in strata.items()
    }
    (last,) = prepared.mechanism.details.rounds
    assert Counter({(one.size, one.rate): one.strata for one in last.sizes}) == Counter(
        (n, own[key]) for key, n in strata.items()
    )
    stated = prepared.guarantee.intensity.parameters()["epsilon"]
    assert stated == max(epsilon(n, own[key]) for key, n in strata.items())


@pytest.mark.parametrize("bound", ["slides", "tight"])
def test_a_release_in_rounds_is_verified_and_keeps_what_the_last_round_keeps(
    bound: str, tmp_path: Path
) -> None:
    asked = spec(rates=RULES, rounds=ROUNDS, bound=bound)
    made = hf.release(asked, tmp_path / "out", data=homes(), seed=3, accept_no_protection=True)
    assert hf.verify(tmp_path / "out").kept
    out = pl.read_parquet(tmp_path / "out" / "microdata.parquet")
    for kept in (["county", "size", "tract", "block"], ["county", "size", "tenure", "income"]):
        assert Counter(out.select(kept).iter_rows()) == sizes(*kept)
    assert Counter(out.select("tract", "income").iter_rows()) != sizes("tract", "income")
    details = made.certificate.records.details
    assert isinstance(details, SwappingDetails)
    first, last = details.rounds
    assert (first.stratify, first.swap) == (("county", "size", "tract"), ("block",))
    assert (last.stratify, last.swap) == (("county", "size"), ("tract", "block"))
    assert first.composed == min(first.epsilon, last.epsilon)
    page = (tmp_path / "out" / "certificate.html").read_text()
    assert "Round 1" in page
    assert "swapping-in-rounds" in (tmp_path / "out" / "certificate.json").read_text()


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part["details"]["rounds"][0]["sizes"].pop(),
        lambda part: part["details"]["rounds"][0].update(composed=0.1),
        lambda part: part["mechanism"]["rounds"][0].update(rate="1/100"),
        lambda part: part["mechanism"]["rates"].pop(),
        lambda part: part["mechanism"].pop("rounds"),
    ],
)
def test_another_design_in_a_certificate_is_not_kept(change: Any, tmp_path: Path) -> None:
    asked = spec(rates=RULES, rounds=ROUNDS)
    hf.release(asked, tmp_path / "out", data=homes(), seed=3, accept_no_protection=True)
    path = tmp_path / "out" / "certificate.json"
    content = json.loads(path.read_text())
    change(content["parts"][0])
    path.write_text(json.dumps(content, indent=2) + "\n")
    assert not hf.verify(tmp_path / "out").kept


def test_one_round_before_that_is_within_a_tract_moves_blocks_alone() -> None:
    """With the last round at a rate so low that nothing moves, tracts stay with what is held."""
    table = homes().to_arrow()
    mechanism = hf.prepare(
        spec(None, rate="1/900000000", rounds=[{"within": ["tract"], "rate": "1/2"}]), homes()
    ).mechanism
    swap = Swap(mechanism.public.columns, mechanism.rate, 5, mechanism.every_round)
    out = pl.DataFrame(swap_group(table, swap).records)
    held = ["county", "size", "tract", "income"]
    assert Counter(out.select(held).iter_rows()) == sizes(*held)
    assert Counter(out.select("block", "income").iter_rows()) != sizes("block", "income")


def test_a_seed_is_one_draw_whatever_the_order_of_the_input() -> None:
    mechanism = hf.prepare(spec(rates=RULES, rounds=ROUNDS), homes()).mechanism
    swap = Swap(mechanism.public.columns, mechanism.rate, 5, mechanism.every_round)
    one = swap_group(homes().to_arrow(), swap).records
    assert swap_group(homes().sample(fraction=1, shuffle=True, seed=1).to_arrow(), swap).records.equals(one)


def test_a_simulated_swap_is_the_table_of_that_swap() -> None:
    from holdfast.mechanisms.swapping.outputs import cell_counts
    from holdfast.mechanisms.swapping.tallies import Tally
    from holdfast.releases.records import prepare_records

    asked = spec(rates=RULES, rounds=ROUNDS)
    asked = asked.model_copy(update={"data": hf.Data(cells=("tract", "block", "tenure"))})
    prepared = prepare_records(asked, homes())
    simulated, mechanism = prepared.mechanism.simulate(prepared.file, prepared.schema), prepared.mechanism
    assert isinstance(mechanism, PermutationSwapping)
    swap = Swap(mechanism.public.columns, mechanism.rate, 7, mechanism.every_round)
    slow = swap_group(prepared.file.records.whole(), swap).records
    counts = cell_counts(Tally("", prepared.schema.names).with_rows(slow), prepared.schema)
    assert (simulated.drawn(7) == counts).all()
    assert (counts != simulated.counts).any()


def test_rates_that_are_left_out_are_solved_for() -> None:
    prepared = hf.prepare(spec("5", rounds=ROUNDS), homes())
    first, _ = prepared.mechanism.every_round
    assert prepared.guarantee.intensity.parameters()["epsilon"] <= 5
    most = max(n for (_, _, tract), n in sizes("county", "size", "tract").items() if tract != "t1")
    assert epsilon(most, first.rate or HALF) <= 5
    assert epsilon(most, (first.rate or HALF) * Fraction(9, 10)) > 5
    given = hf.prepare(spec(None, rate="1/10", rounds=ROUNDS), homes()).mechanism.every_round
    assert [one.rate for one in given] == [TENTH, TENTH]


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        ({"rates": {"at_most": 3, "rate": "1/2"}}, r"rates is one table"),
        ({"rates": [{"rate": "1/2"}]}, "is for no strata"),
        ({"rates": [{"at_least": 5, "at_most": 3, "rate": "1/2"}]}, "is for no size"),
        ({"rates": [{"at_most": 3, "rate": "1"}]}, "above 0 and below 1"),
        ({"rates": [{"at_most": 3}]}, "rate is missing"),
        (
            {"rates": [{"where": {"tenure": "own"}, "rate": "1/2"}]},
            "selects 'tenure', which is not of the key",
        ),
        ({"rates": [{"where": {"tract": "t1"}, "rate": "1/2"}]}, "selects 'tract', which is not of the key"),
        ({"rates": [{"at_most": n, "rate": "1/2"} for n in range(1, 40)]}, "32 are the most"),
        (
            {"rates": [{"where": {"county": "Nort"}, "rate": "1/2"}]},
            "'Nort' of 'county', which no record has",
        ),
        ({"rounds": [{"within": []}]}, "names columns of swap"),
        ({"rounds": [{"within": ["county"]}]}, "within 'county', which is not in swap"),
        ({"rounds": [{"within": ["tract", "block"]}]}, "would change nothing"),
        ({"rounds": [{"within": ["tract"]}, {"within": ["block"]}]}, "not within coarser places"),
    ],
)
def test_what_is_no_design_is_refused(mechanism: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said) as refused:
        hf.prepare(spec(**mechanism), homes())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("design", [{"rates": RULES}, {"rounds": ROUNDS}, {"rates": RULES, "rounds": ROUNDS}])
def test_a_rate_that_is_missing_beside_others_is_named(design: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=r"mechanism.rate is missing, for the last round and all strata"):
        hf.prepare(spec(None, **design), homes())


def test_rates_that_lose_more_than_the_target_are_refused() -> None:
    with pytest.raises(GuaranteeError, match=r"mechanism.rates.* give epsilon .* above the target 5"):
        hf.prepare(spec(rates=[{"at_least": 2, "rate": "1/1000"}]), homes())


def test_no_posterior_is_told_of_rounds(tmp_path: Path) -> None:
    hf.release(spec(rounds=ROUNDS), tmp_path / "out", data=homes(), seed=1, accept_no_protection=True)
    model = tmp_path / "model.toml"
    model.write_text('[model]\nkind = "proportions"\nareas = ["tract"]\ncells = ["tract", "tenure"]\n')
    with pytest.raises((ReleaseError, SpecError), match="no formula here"):
        hf.infer(tmp_path / "out", model)
