"""The checkpoint composes as the whole history does, and does not grow with releases of one design."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.releases import Made, digest, records

from holdfast.ledger import Charge, ChargeStandard, Row
from holdfast.ledger.charged import ChargedTable, amount
from holdfast.ledger.checkpoint import Replay
from holdfast.ledger.composition import ReleaseDesign, spend
from holdfast.ledger.losses import at_distance, per_record
from holdfast.ledger.scope import JointScope
from holdfast.privacy.intensity import GaussianDP, Intensity, Pure, total
from holdfast.privacy.order import convert
from holdfast.privacy.profile import NormLoss, PerRecord, Profile, SquaredLoss
from holdfast.system.errors import HoldfastError

FILE = records("000", "010", "011", "101", "110", "111")
OTHER = records("000", "001", "010", "101", "110", "011")  # other counts by b
SEX = Made(("a", "b"), (("a",),))
DESIGNS = [
    SEX,
    Made(("a", "c"), (("a",),)),
    Made(("b", "c"), (("b",), ("c",))),
    Made(("b", "c"), (("b",),), ({"c": "1"},)),
    replace(SEX, adjacency="unit"),
]
FIFTH = Fraction(1, 5)
PROFILES: dict[ChargeStandard, list[Profile]] = {
    "pure": [NormLoss(Fraction(1, n), "l1") for n in (1, 2, 7)],
    "zcdp": [NormLoss(Fraction(1, 2), "l1"), NormLoss(Fraction(1), "l2"), SquaredLoss(Fraction(3))],
    "gaussian": [PerRecord(each) for each in (GaussianDP(FIFTH), GaussianDP(4 * FIFTH), Pure(FIFTH))],
}


Known = dict[tuple[int, ...], list[Intensity]]


def from_all_rows(charges: Sequence[Charge], standard: ChargeStandard, known: Known) -> Fraction:
    """Compose a whole history at once, release by release [theory, 10].

    What the releases of a scope lose together is kept by their places, for longer histories.
    """
    terms = [ChargedTable.of(charge, str(place)) for place, charge in enumerate(charges)]
    losses = per_record if terms[0].unit.adjacency == "unit" else at_distance
    parts = []
    for file in dict.fromkeys(charge.dataset for charge in charges):
        scopes: list[list[int]] = []
        for place in (place for place, one in enumerate(terms) if one.file == file):
            home = next((s for s in scopes if not any(terms[place].contradicts(terms[i]) for i in s)), None)
            home.append(place) if home is not None else scopes.append([place])
        for scope in map(tuple, scopes):
            if scope not in known:
                known[scope] = list(losses(JointScope(tuple(terms[place] for place in scope))))
            parts += [convert(part, standard) for part in known[scope]]  # type: ignore[arg-type]
    return amount(total(parts))


@st.composite
def histories(draw: st.DrawFn) -> tuple[ChargeStandard, list[Charge]]:
    standard: ChargeStandard = draw(st.sampled_from(["pure", "zcdp", "gaussian"]))
    made = st.builds(
        lambda design, profile: replace(design, profile=profile),
        st.sampled_from(DESIGNS),
        st.sampled_from(PROFILES[standard]),
    )
    what = st.tuples(made, st.sampled_from([FILE, FILE, OTHER]), st.sampled_from(["2020", "2020", "2021"]))
    chosen = draw(st.lists(what, min_size=1, max_size=7))
    charges = [release.charge(file, name) for release, file, name in chosen]
    return standard, charges


@settings(deadline=None, max_examples=25)
@given(histories())
def test_the_checkpoint_comes_to_what_all_rows_come_to(history: tuple[ChargeStandard, list[Charge]]) -> None:
    standard, charges = history
    past = Replay(standard)
    highest, known = Fraction(0), Known()
    for index, charge in enumerate(charges, start=1):
        try:
            truth = from_all_rows(charges[:index], standard, known)
        except HoldfastError as refused:
            with pytest.raises(type(refused)):
                spend(past, charge)
            return
        spent = spend(past, charge)
        own = convert(ChargedTable.of(charge, "").intensity, standard)  # type: ignore[arg-type]
        same = charge.unit["adjacency"] == charges[0].unit["adjacency"]
        highest = max(highest, truth, amount(own) if same else Fraction(0))
        assert spent.total == highest
        past.add(Row(index, "", charge, spent.total, ""), spent)


def test_a_hundred_releases_of_one_design_are_one_member() -> None:
    past = Replay("pure")
    for index in range(1, 101):
        charge = replace(SEX, profile=NormLoss(Fraction(1, index % 3 + 1), "l1")).charge(FILE)
        spent = spend(past, charge)
        past.add(Row(index, "", charge, spent.total, ""), spent)
    (entry,) = past.entries.values()
    assert len(entry["scopes"]) == len(entry["scopes"][0]) == 1
    assert past.total == 4 * (33 * 1 + 34 * Fraction(1, 2) + 33 * Fraction(1, 3))


@pytest.mark.parametrize(
    ("profile", "standard", "power"),
    [
        (NormLoss(Fraction(1, 2), "l1"), "pure", 1),
        (NormLoss(Fraction(1, 2), "l1"), "zcdp", 2),
        (SquaredLoss(Fraction(2)), "zcdp", 1),
        (PerRecord(GaussianDP(Fraction(1, 2))), "gaussian", 2),
        (PerRecord(GaussianDP(Fraction(1, 2))), "zcdp", 2),
    ],
)
def test_a_design_leaves_the_strength_out(profile: Profile, standard: ChargeStandard, power: int) -> None:
    match profile:
        case NormLoss(kappa, norm):
            double: Profile = NormLoss(2 * kappa, norm)
        case SquaredLoss(square):
            double = SquaredLoss(square / 2)
        case PerRecord():
            double = PerRecord(GaussianDP(Fraction(1)))
    one, other = (
        ReleaseDesign.of(replace(SEX, profile=each).charge(FILE), standard) for each in (profile, double)
    )
    assert one.digest == other.digest
    assert other.weight(one.scale) == 2**power


def test_what_is_rounded_is_of_one_design_only_where_it_is_equal() -> None:
    for standard, profiles in (
        ("pure", [NormLoss(Fraction(1), "l2"), NormLoss(Fraction(2), "l2")]),
        ("gaussian", [PerRecord(Pure(Fraction(1))), PerRecord(Pure(Fraction(2)))]),
    ):
        designs = [ReleaseDesign.of(replace(SEX, profile=each).charge(FILE), standard) for each in profiles]  # type: ignore[arg-type]
        assert designs[0].digest != designs[1].digest
        assert [one.weight(one.scale) for one in designs] == [1, 1]


def test_whatever_decides_how_a_release_composes_is_in_its_design() -> None:
    charge = SEX.charge(FILE)
    others = [
        SEX.charge(FILE, "another file"),
        Made(("a", "c"), (("a",),)).charge(FILE),
        replace(SEX, margins=(("b",),)).charge(FILE),
        SEX.charge(OTHER),
        replace(SEX, adjacency="unit").charge(FILE),
        replace(SEX, stated=False).charge(FILE),
        replace(charge, detail={**charge.detail, "header": ["a", "b", "c"]}),
        replace(charge, detail={**charge.detail, "marks": {"a": digest("a")}}),
        replace(charge, detail={**charge.detail, "kind": "records"}),
        replace(charge, detail={**charge.detail, "inequalities": [{"at_least": 1}]}),
        replace(charge, intensity=charge.intensity + 1),  # it states more than its loss
    ]
    digests = {ReleaseDesign.of(each, "pure").digest for each in (charge, *others)}
    assert len(digests) == 1 + len(others)
    assert ReleaseDesign.of(replace(charge, certificate=digest("?")), "pure") == ReleaseDesign.of(
        charge, "pure"
    )
