from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.certificate.read import certificate_of
from holdfast.derivation.derive import Derivation
from holdfast.inference.intervals import intervals
from holdfast.lattice.anchors import anchors
from holdfast.lattice.points import lattice_points
from holdfast.mechanisms.anchored_laplace import AnchoredLaplace, AnchoredLaplaceRecord, expected, share
from holdfast.mechanisms.likelihood import AddedNoise
from holdfast.privacy.profile import NormLoss
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.anchored import AnchoredLaw
from holdfast.sampling.lattice.linear_law import MixedSumLaw, SumLaw
from holdfast.system.errors import SamplingError, SpecError
from holdfast.testing.contract import Subject
from holdfast.testing.goodness import LEVEL, p_value, two_way
from holdfast.testing.worlds import WORLDS, Case, World

PURE = {"epsilon": "2"}
BOTH = ({"margin": ["row"]}, {"margin": ["column"]})


def subject(world: str | World, folder: Path, privacy: Any = PURE, **options: Any) -> Subject:
    return Subject.of(Case(world, privacy, options), AnchoredLaplace, folder)


def mechanism(world: str | World, folder: Path, privacy: Any = PURE, **options: Any) -> AnchoredLaplace:
    found = subject(world, folder, privacy, **options).mechanism
    assert isinstance(found, AnchoredLaplace)
    return found


def wide(shape: tuple[int, int]) -> World:
    """A table with both margins, whose last row and column are the largest."""
    rows, columns = shape
    counts = np.outer(np.arange(1, rows + 1), np.arange(1, columns + 1))
    letters = [chr(ord("a") + code) for code in range(max(shape))]
    levels = {"row": "".join(letters[:rows]), "column": "".join(letters[:columns])}
    return World(levels, tuple(counts.ravel().tolist()), BOTH)


def law(kappa: Fraction, shape: tuple[int, int] = (2, 3)) -> tuple[AnchoredLaw, csr_array]:
    matrix = csr_array(two_way(*shape))
    return AnchoredLaw(anchors(matrix, np.arange(float(shape[0] * shape[1]))), kappa), matrix


def test_anchors_are_the_largest_row_and_column(tmp_path: Path) -> None:
    found = mechanism(wide((4, 5)), tmp_path)
    cells = set(map(int, found.drawn_by.cells))
    assert cells == {cell for cell in range(20) if cell // 5 == 3 or cell % 5 == 4}
    assert expected(found.public).argmax() == 19
    assert any("row = d; column = e" in one.words for one in found.methods)
    assert found.plan_details["anchor_error"] > found.plan_details["free_error"]


def test_a_spec_names_the_levels_of_anchors(tmp_path: Path) -> None:
    found = mechanism(wide((4, 5)), tmp_path, anchors={"row": "a", "column": "b"})
    assert {cell for cell in range(20) if cell // 5 == 0 or cell % 5 == 1} == set(
        found.drawn_by.cells.tolist()
    )
    record = AnchoredLaplaceRecord.model_validate(found.record().model_dump())
    assert record == found.record()
    again = AnchoredLaplace.of(record, found.public, found.guarantee.unit)
    assert again.record() == record


def test_an_unknown_level_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"anchors row names the level 'z'"):
        mechanism("2 x 3", tmp_path, anchors={"row": "z"})
    with pytest.raises(SpecError, match=r"anchors names 'rows', which is no attribute"):
        mechanism("2 x 3", tmp_path, anchors={"rows": "a"})


def test_bounds_are_refused(tmp_path: Path) -> None:
    for constraints in (
        {"nonnegative": True},
        {"inequalities": [{"where": {"row": "a", "column": "x"}, "at_most": 9}]},
    ):
        with pytest.raises(SpecError, match="conditioned"):
            Subject.of(Case("2 x 3", PURE, {}, constraints), AnchoredLaplace, tmp_path)


def test_invariants_that_no_cells_close_in_whole_numbers_are_refused(tmp_path: Path) -> None:
    world = World(
        {"level": "abc"},
        (9, 9, 9),
        ({"total": True}, {"weights": {"file": "weights.csv"}}),
        weights="invariant,level,weight\npoints,b,2\npoints,c,5\n",
    )
    with pytest.raises(SamplingError, match=r"in whole numbers.*lattice-laplace"):
        mechanism(world, tmp_path)


def test_anchors_see_the_invariants_alone(tmp_path: Path) -> None:
    """Every table with the same invariants has the same anchors, kappa and guarantee."""
    usual = subject("2 x 3", tmp_path)
    records = set()
    for number, table in enumerate(usual.tables.tolist()):
        world = World(WORLDS["2 x 3"].levels, tuple(table), BOTH)
        (folder := tmp_path / str(number)).mkdir()
        found = mechanism(world, folder)
        records.add((found.record(), found.guarantee.intensity))
    assert len(usual.tables) > 3
    assert len(records) == 1


def test_the_stretch_is_the_largest_move_of_free_cells(tmp_path: Path) -> None:
    """Of all pairs of tables; in larger tables every record that changes moves free cells twice."""
    for world in ("2 x 2", "2 x 3", "3 x 3", "nested", "three margins", "a structural zero"):
        (folder := tmp_path / world).mkdir()
        one = subject(world, folder)
        found: Any = one.mechanism
        apart = one.tables[:, None, :] - one.tables[None]
        near = np.abs(apart).sum(axis=2) <= 2 * found.guarantee.unit.distance
        moved = np.abs(apart[:, :, found.drawn_by.free]).sum(axis=2)
        assert found.kappa == Fraction(2, int(moved[near].max()))
    (folder := tmp_path / "large").mkdir()
    assert mechanism(wide((13, 12)), folder).kappa == Fraction(2, 6)
    (folder := tmp_path / "narrow").mkdir()
    assert mechanism(wide((3, 26)), folder).kappa >= Fraction(2, 4)  # no cycle of six avoids the anchors' row


def test_a_small_program_bounds_a_large_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By few levels beside the anchors': as large as the program over all tables finds it."""
    for shape, most in (((3, 5), 4), ((4, 5), 6)):
        (folder := tmp_path / str(shape)).mkdir()
        with monkeypatch.context() as patched:
            exact = mechanism(wide(shape), folder).stretch
            patched.setattr("holdfast.universe.sensitivity.LIMITED", 0)
            assert mechanism(wide(shape), folder).stretch == exact == most


def test_a_ledger_may_ask_for_other_distances(tmp_path: Path) -> None:
    found = mechanism("2 x 3", tmp_path)
    assert share(found.drawn_by) == Fraction(1, 2)
    assert found.guarantee.profile == NormLoss(found.kappa / 2, "l1")


def test_other_anchors_than_follow_are_found_out(tmp_path: Path) -> None:
    one = subject("2 x 3", tmp_path)
    claimed = one.ready.table.certify(secure=True)
    assert all(check.holds for check in Derivation(claimed).checks(simulate=False))
    content = claimed.to_dict()
    other = mechanism("2 x 3", tmp_path, anchors={"row": "b", "column": "z"}).record()
    assert isinstance(other.model_dump()["anchors"], tuple)
    content["parts"][0]["mechanism"]["anchors"] = list(other.model_dump()["anchors"])
    wrong = [
        check.name
        for check in Derivation(certificate_of(content, "certificate.json")).checks(simulate=False)
        if not check.holds
    ]
    assert wrong == ["mechanism"]
    content["parts"][0]["mechanism"]["anchors"] = [0, 1, 2, 2]
    with pytest.raises(SamplingError, match="do not close the invariants"):
        _ = Derivation(certificate_of(content, "certificate.json")).mechanism


@pytest.mark.parametrize("kappa", [Fraction(1, 2), Fraction(3)])
def test_draws_follow_the_listed_law_and_no_other(kappa: Fraction) -> None:
    noise, matrix = law(kappa)
    draws = noise.sample(SeededEntropy(3), 20_000)
    points = lattice_points(matrix.toarray(), 24)
    assert not (matrix @ draws.T).any()
    for other, right in ((kappa, True), (kappa * Fraction(6, 5), False)):
        weights = np.exp(law(other)[0].log_prob(points))
        shares = dict(zip(map(tuple, points.tolist()), (weights / weights.sum()).tolist(), strict=True))
        assert (p_value(draws, shares) > (LEVEL if right else LEVEL / 1000)) is right


def test_wide_noise_keeps_every_sum() -> None:
    noise, matrix = law(Fraction(1, 2**40), (60, 50))
    assert not (matrix @ noise.sample(SeededEntropy(0), 3).T).any()


def test_errors_of_anchors_are_those_of_their_law() -> None:
    """Against the listed law of one number, and against the mean of many draws of all anchors."""
    noise, _ = law(Fraction(1, 3), (4, 5))
    assert noise.mean_absolute(((1, 1),)) == pytest.approx(noise.error, rel=1e-9)
    draws = noise.sample(SeededEntropy(0), 20_000)[:, noise.anchors.cells]
    errors = np.abs(draws).mean(axis=0)
    assert np.abs(errors / noise.anchor_errors - 1).max() < 6 / np.sqrt(20_000)
    assert noise.mean_absolute(((1, 2), (3, 1))) == pytest.approx(listed_mean(noise), rel=1e-9)


def listed(noise: AnchoredLaw) -> tuple[np.ndarray, np.ndarray]:
    """The law of z_1 + z_2 + 3 z_3, by convolution."""
    a = np.exp(-float(noise.kappa))
    one = a ** np.abs(np.arange(-150, 151)) * (1 - a) / (1 + a)
    thrice = np.zeros(901)
    thrice[::3] = one
    law = np.convolve(np.convolve(one, one), thrice)
    return np.arange(law.size) - law.size // 2, law


def listed_mean(noise: AnchoredLaw) -> float:
    values, chances = listed(noise)
    return float(np.abs(values) @ chances)


def test_intervals_come_from_the_law_of_any_count() -> None:
    noise, matrix = law(Fraction(1, 3), (4, 5))
    values, chances = listed(noise)
    for level in (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)):
        least = next(c for c in range(400) if chances[np.abs(values) <= c].sum() >= level)
        assert MixedSumLaw(noise.kappa, ((1, 2), (3, 1))).half_width(level) == least
        same = MixedSumLaw(noise.kappa, ((1, 7),)).half_width(level)
        assert same == SumLaw(noise.kappa, 7, None).half_width(level)
    queries = csr_array(np.vstack([np.eye(20, dtype=np.int64), two_way(4, 5), np.arange(20)[None] ** 2]))
    found = intervals(np.zeros(20, dtype=np.int64), noise, matrix, queries, Fraction(9, 10))
    assert found.draws == 0
    assert (found.determined == [*[False] * 20, *[True] * 8, False]).all()
    draws = queries @ noise.sample(SeededEntropy(1), 20_000).T
    for width, inside in ((found.half_width, 0.9), (found.half_width - 1, 0.0)):
        covered = (np.abs(draws) <= width[:, None]).mean(axis=1)[~found.determined]
        assert (covered > inside - 0.015).all()
    assert (covered < 0.9 + 0.015).all()


def test_a_posterior_counts_the_noise_of_free_cells_alone() -> None:
    noise, _ = law(Fraction(1, 3))
    released = noise.sample(SeededEntropy(4), 1)[0] + 5
    likelihood = AddedNoise(noise, released, np.arange(6))
    assert likelihood.form is not None
    table = np.full(6, 5)
    size = likelihood.weights @ np.abs(released - table)
    assert likelihood.log_prob(table[None])[0] == pytest.approx(-likelihood.form.rate * size)
    without = likelihood.without(np.isin(np.arange(6), [0, int(noise.anchors.cells[0])]))
    assert without.rest.size == (1 if 0 in noise.anchors.free else 0)
