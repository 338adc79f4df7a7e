"""Totals of histories: files, standards and adjacencies."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.ledger.releases import Made, charged, digest, records

from holdfast.ledger import Charge, LedgerError
from holdfast.ledger.charge import new_charge
from holdfast.ledger.charged import ChargedTable
from holdfast.privacy.integer_gaussian import mu_of
from holdfast.privacy.intensity import Approximate, GaussianDP, GaussianNoise, Pure, ZeroConcentrated
from holdfast.privacy.profile import NormLoss, PerRecord, SquaredLoss, profile_of
from holdfast.privacy.roots import ceil_root
from holdfast.system.errors import GuaranteeError

FILE = records("000", "010", "011", "101", "110", "111")
SEX = Made(("a", "b"), (("a",),))
AGE = Made(("a", "c"), (("a",),))
BOTH = Made(("b", "c"), (("b",), ("c",)))


def test_tables_of_one_file_with_one_invariant_add_up() -> None:
    assert charged([SEX.charge(FILE), AGE.charge(FILE), SEX.charge(FILE)]) == [4, 8, 12]


def test_other_invariants_take_all_tables_of_the_file_to_a_longer_distance() -> None:
    # a; then b and c: three margins, so 4 records, 8 in l1 for each table, where 2 and 3 records are 4 in l1
    assert charged([AGE.charge(FILE), SEX.charge(FILE), BOTH.charge(FILE)]) == [4, 8, 24]


def test_files_add_whatever_they_hold() -> None:
    years = [SEX.charge(FILE, "2020"), BOTH.charge(FILE, "2021"), Made(("z",)).charge([{"z": "0"}], "2022")]
    assert charged(years) == [4, 8, 10]
    # each file at its own distance: a second table of 2020 does not touch the others
    assert charged([*years, AGE.charge(FILE, "2020")]) == [4, 8, 10, 14]


def test_a_total_never_falls() -> None:
    # one margin: ||u||_2^2 is 8 at 2 records; both: 6 at 3, so that the first release costs less than before
    levels = dict.fromkeys("ab", ("0", "1", "2"))
    file = records("00", "01", "02", "10", "11", "12", "20", "21", "22", names="ab")
    one = Made(("a", "b"), (("a",),), profile=SquaredLoss(Fraction(8)), levels=levels)
    both = Made(("a", "b"), (("a",), ("b",)), profile=SquaredLoss(Fraction(600)), levels=levels)
    before, after = charged([one.charge(file), both.charge(file)], "zcdp")
    assert before == after == Fraction(1, 2) > Fraction(6, 16) + Fraction(6, 1200)


def test_counts_that_contradict_each_other_are_of_different_records() -> None:
    # two columns of counts in one file: other counts by b, or another number of records
    lower = Made(("b", "c"), (("b",),))
    for other in (records("000", "000", "000", "000", "000", "010"), FILE[:4]):
        assert charged([BOTH.charge(FILE), lower.charge(other)]) == [4, 8]
    assert charged([SEX.charge(FILE), BOTH.charge(FILE[:4])]) == [
        4,
        8,
    ]  # as margins they would be 16 together


def test_a_charge_of_an_unknown_kind_is_refused() -> None:
    charge = SEX.charge(FILE)
    with pytest.raises(LedgerError, match=r"this release .* newer"):
        charged([charge, replace(charge, detail={**charge.detail, "kind": "views"})])


def test_the_first_release_sets_the_adjacency() -> None:
    unit = replace(SEX, adjacency="unit")
    assert charged([unit.charge(FILE)] * 2) == [2, 4]  # 2 kappa a record
    assert charged([SEX.charge(FILE), unit.charge(FILE)]) == [4, 8]  # at 2 records it is the same
    assert charged([unit.charge(FILE), SEX.charge(FILE)]) == [2, 4]  # though it costs 4 alone
    root = replace(BOTH, profile=NormLoss(Fraction(1), "l2"))
    _, total = charged([unit.charge(FILE), root.charge(FILE)])
    assert total == 3  # a 2 x 2 table with both margins: ||u||_2 is d


def test_rho_and_mu_grow_with_the_distance_by_their_own_rules() -> None:
    rho = replace(SEX, profile=SquaredLoss(Fraction(2)))
    assert charged([rho.charge(FILE)] * 2, "zcdp") == [2, 4]  # 8 / 4 at 2 records
    unit = replace(rho, adjacency="unit")
    assert charged([unit.charge(FILE), rho.charge(FILE)], "zcdp") == [Fraction(1, 2), 1]
    assert charged([rho.charge(FILE), unit.charge(FILE)], "zcdp") == [2, 4]
    mu = replace(SEX, profile=PerRecord(GaussianDP(Fraction(3))))
    other = replace(BOTH, profile=PerRecord(GaussianDP(Fraction(4))))
    assert charged([mu.charge(FILE, "2020"), other.charge(FILE, "2021")], "gaussian")[0] == 6
    years = charged(
        [mu.charge(FILE, "2020"), replace(other, margins=(("b",),)).charge(FILE, "2021")], "gaussian"
    )
    assert years == [6, 10]  # in squares: 6 and 8


def test_a_release_that_states_one_distance_counts_up_to_it() -> None:
    silent = replace(BOTH, stated=False)
    assert charged([silent.charge(FILE), Made(("c", "a"), (("c",),)).charge(FILE)]) == [4, 10]
    with pytest.raises(GuaranteeError, match=r"row 1 does not say .* beyond 3 records.* takes 4: keep no"):
        charged([silent.charge(FILE), SEX.charge(FILE)])
    with pytest.raises(GuaranteeError, match=r"this release does not say .* takes 4: use lattice-laplace"):
        charged([SEX.charge(FILE), silent.charge(FILE)])
    unit = replace(SEX, adjacency="unit")
    with pytest.raises(GuaranteeError, match=r'this release states .* 3 records alone: set adjacency="unit"'):
        charged([unit.charge(FILE), silent.charge(FILE)])
    assert charged([unit.charge(FILE), replace(unit, stated=False).charge(FILE)]) == [2, 4]


def test_no_refusal_sends_to_another_ledger() -> None:
    rho = replace(SEX, profile=SquaredLoss(Fraction(2)))
    other = replace(SEX, profile=PerRecord(ZeroConcentrated(Fraction(2))))
    for charges, standard in (([rho], "pure"), ([SEX, other], "gaussian")):
        with pytest.raises(GuaranteeError, match='set standard="pure"') as refused:
            charged([made.charge(FILE) for made in charges], standard)  # type: ignore[arg-type]
        assert "open" not in str(refused.value)
    with pytest.raises(GuaranteeError, match="without chain=True") as refused:
        _charge(Approximate(Fraction(1), Fraction(1, 10**6)))
    assert "without a ledger" not in str(refused.value)


def test_an_approximate_target_met_by_rho_is_charged_by_its_rho() -> None:
    charge = _charge(ZeroConcentrated(Fraction(1, 8)))
    assert (charge.standard, charge.intensity) == ("zcdp", Fraction(1, 8))


def test_a_ledger_in_mu_takes_gaussian_noise_of_any_target() -> None:
    one = replace(SEX, profile=SquaredLoss(Fraction(16)))  # ||u||_2^2 is 8 at 2 records: rho 1/4
    stated = replace(SEX, profile=SquaredLoss(Fraction(16), "gaussian"))
    alone = charged([one.charge(FILE)], "gaussian")
    assert alone == charged([stated.charge(FILE)], "gaussian") == [mu_of(Fraction(1, 4))]
    (_, both) = charged([one.charge(FILE), stated.charge(FILE)], "gaussian")
    assert both == ceil_root(2 * mu_of(Fraction(1, 4)) ** 2)
    assert both <= mu_of(Fraction(1, 2))
    (_, rho) = charged([one.charge(FILE), stated.charge(FILE)], "zcdp")
    assert Fraction(1, 2) < rho < Fraction(1, 2) * (1 + Fraction(1, 20))  # a mu counts as mu^2 / 2
    each = PerRecord(GaussianNoise(Fraction(1, 16), Fraction(36, 100)))
    assert profile_of(each.to_dict()) == each
    (levels,) = charged([replace(SEX, profile=each).charge(FILE)], "zcdp")
    assert levels == Fraction(1, 4)


def test_a_charge_says_all_that_is_read_back() -> None:
    levels = {"a": ("1", "0", "2")}
    for profile in (NormLoss(Fraction(1, 7), "l2"), SquaredLoss(Fraction(5)), PerRecord(Pure(Fraction(1)))):
        made = Made(("a", "b"), (("a",),), ({"b": "1"},), profile, levels=levels, zeros=(("2", "1"),))
        guarantee, terms = made.guarantee(FILE), ChargedTable.of(made.charge(FILE), "row 1")
        assert terms.schema == made.schema
        assert (terms.unit, terms.intensity) == (guarantee.unit, guarantee.intensity)
        assert terms.profile == profile
        for held, block, value in zip(terms.held, made.blocks, made.values(FILE), strict=True):
            assert np.array_equal(held.block.matrix.toarray(), block.matrix.toarray())
            assert (held.values == value).all()


def _charge(intensity: Approximate | ZeroConcentrated) -> Charge:
    guarantee = replace(SEX.guarantee(FILE), intensity=intensity)
    return new_charge(
        dataset=digest("file"),
        schema=SEX.schema,
        invariants=SEX.blocks,
        values=SEX.values(FILE),
        guarantee=guarantee,
        stated={},
        certificate=digest("certificate"),
    )
