"""The study of top-down releases: its quick run comes to the expected numbers, and other estimates do not."""

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pytest
from studies.command import STAND_IN
from studies.expected import violations
from studies.integer_subspace.counties import CELLS
from studies.integer_subspace.designs import COUNTIES
from studies.outcome import Number
from studies.topdown import blocks, cook, coverage, illinois, rhode_island, run
from studies.topdown.blocks import ALONE, LATTICE, LINEAR, TOPDOWN, Releases, Shape
from studies.topdown.sizes import Table, by_size, joined

from holdfast import SeededEntropy
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.topdown.best_linear import best_linear
from holdfast.mechanisms.topdown.estimate import estimated
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.system.errors import DataError

T = TypeVar("T")
TINY = Shape(2, 4, 10, 120)
PARTS = ("rhode_island", "illinois", "coverage")


def silent(things: Iterable[T], what: str) -> Iterator[T]:
    yield from things


def off(part: str, numbers: dict[str, Number]) -> set[str]:
    found = violations(run.EXPECTED, part, numbers, "quick")
    return {name for name in numbers if any(f"{part}: {name} is" in line for line in found)}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    folder = tmp_path_factory.mktemp("topdown")
    given = ["--quick", "--part", *PARTS, "--output", str(folder), "--data", str(folder / "nowhere")]
    return run.main(given), folder


def test_without_data_stand_ins_run_and_come_to_the_expected_numbers(quick: tuple[int, Path]) -> None:
    code, folder = quick
    found = json.loads((folder / "numbers.json").read_text())["parts"]
    assert set(found) == {f"{part}_stand_in" for part in PARTS}
    for part, told in found.items():
        numbers = {name: Number(**number) for name, number in told["numbers"].items()}
        assert violations(run.EXPECTED, part, numbers, "quick") == []
    assert code == 0
    assert {path.stem for path in folder.glob("*.png")} == {
        "rhode_island_stand_in",
        "rhode_island_stand_in_levels",
        "illinois_stand_in",
        "coverage_stand_in",
    }


def test_expected_has_every_part_and_its_stand_in() -> None:
    parts = json.loads(run.EXPECTED.read_text())["parts"]
    assert set(parts) == {name + end for name in run.PARTS for end in ("", STAND_IN)}


def test_small_counts_come_out_too_large_and_large_ones_too_small(quick: tuple[int, Path]) -> None:
    parts = json.loads((quick[1] / "numbers.json").read_text())["parts"]
    numbers = {name: Number(**number) for name, number in parts["rhode_island_stand_in"]["numbers"].items()}
    for way in (TOPDOWN, ALONE):
        smallest, largest = (
            numbers[f"{way}: error of totals of blocks, {name}"] for name in ("0", "100-499")
        )
        assert smallest.value > 10 * smallest.error
        assert largest.value < -10 * largest.error
    for way, name in product((LATTICE, LINEAR), ("0", "100-499")):
        number = numbers[f"{way}: error of totals of blocks, {name}"]
        assert abs(number.value) < 4 * number.error
    told = parts["illinois_stand_in"]["numbers"]
    assert told["top-down, with cells: slope by log10 of the population"]["value"] < -1


def test_coverage_is_the_level_with_invariants_and_without(quick: tuple[int, Path]) -> None:
    parts = json.loads((quick[1] / "numbers.json").read_text())["parts"]
    numbers = parts["coverage_stand_in"]["numbers"]
    shares = {name: one["value"] for name, one in numbers.items() if "small tree: coverage" in name}
    points = {name for name in shares if name.endswith("with invariants") and " totals of " in name}
    points -= {name for name in points if "tract" in name or "block" in name}
    assert len(shares) == 16
    assert {shares.pop(name) for name in points} == {1.0}
    assert all(abs(share - 0.9) <= coverage.MAY_BE_OFF for share in shares.values())
    assert numbers["blocks: intervals that are longer with invariants"]["value"] == 0


def test_an_interval_of_another_level_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    place = coverage.small()
    monkeypatch.setattr(coverage, "LEVEL", 0.85)
    shorter = coverage.Found.of(place, 60, silent).numbers()
    monkeypatch.undo()
    assert "small tree: coverage of cells of block, with invariants" in off("coverage_stand_in", shorter)
    assert "small tree: mean length of cells of block, without" in off("coverage_stand_in", shorter)


def test_no_interval_is_longer_with_invariants_and_one_that_is_would_be_told() -> None:
    place = coverage.small()
    lengths = coverage.lengths(place.mechanism, place.measured(0))
    assert all((each.kept <= each.free * (1 + 1e-9)).all() for each in lengths.values())
    assert all((lengths[f"totals of {level}"].kept == 0).all() for level in ("state", "county"))
    assert (lengths["totals of tract"].ratio < 0.9).all()
    turned = {name: coverage.Lengths(each.free, each.kept) for name, each in lengths.items()}
    shares = {name: {kind: np.full(2, 0.9) for kind in coverage.KINDS} for name in lengths}
    told = coverage.Found(place, shares, turned).numbers()
    assert told["small tree: intervals that are longer with invariants"].value > 100


def test_counts_that_do_not_add_up_or_that_are_negative_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    releases = Releases.of(blocks.invented(TINY))
    size = rhode_island.Size(2)
    right = rhode_island.runs(releases, size, silent)
    assert (right.changed, right.adding, right.negative) == (0, 0, 0)

    def wrong(*given: Any) -> tuple[Any, ...]:
        counts = tuple(each.copy() for each in estimated(*given))
        counts[-1][0, 0] -= counts[-1][0, 0] + 1
        counts[1][0, 0] += 1
        return counts

    monkeypatch.setattr(blocks, "estimated", wrong)
    found = rhode_island.runs(releases, size, silent)
    assert found.changed == 4
    assert found.adding > 0
    assert found.negative == 4


def test_counts_rounded_without_their_parents_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Best linear estimates without negative ones: more biased than from the top down."""

    def clipped(design: Any, measurements: Any, values: Any) -> tuple[Any, ...]:
        mechanism = next(each for each in known if len(each.measurements) == len(measurements))
        leaves = np.rint(best_linear(mechanism, values).tables[-1]).clip(0).astype(np.int64)
        return tuple(mechanism.design.regions.sums(leaves))

    source = rhode_island.invented()
    known = [Releases.of(source, (way,)).mechanism(way) for way in (TOPDOWN, ALONE)]
    monkeypatch.setattr(blocks, "estimated", clipped)
    numbers = rhode_island.study(source, rhode_island.Size(2), silent).numbers
    assert {
        "county totals that differ, of all whole counts",
        "top-down: error of cells of blocks, 0",
        "top-down: error of totals of blocks, 100-499",
    } <= off("rhode_island_stand_in", numbers)


def test_both_ways_have_the_same_rho_exactly() -> None:
    releases = Releases.of(blocks.invented(TINY))
    for way in (TOPDOWN, ALONE):
        measurements = releases.mechanism(way).measurements
        assert sum(each.loss for each in measurements) == Fraction(64, 25)
        assert {each.of.level: each.of for each in measurements}.keys() == set(range(5))
    for prepared in releases.prepared.values():
        assert prepared.guarantee.intensity.parameters() == {"rho": Fraction(64, 25)}


def test_invented_blocks_have_their_shape() -> None:
    frame = blocks.invented(TINY).frame
    lengths = (2, 5, 11, 12, 15)
    assert [frame["block"].str.slice(0, k).n_unique() for k in lengths] == [1, *TINY]
    assert frame.height == TINY.blocks * 16
    assert frame["block"].is_sorted()
    assert frame["people"].min() == 0
    small = blocks.invented(blocks.SMALL).frame
    empty = small.group_by("block").agg(pl.col("people").sum())["people"].to_numpy() == 0
    assert 0.25 < empty.mean() < 0.35


def write_blocks(path: Path, minors: int = 2) -> None:
    """Write blocks in another order than that of their codes."""
    head = ["block", *(f"{kind}_{race}" for kind in ("pop", "vap") for race in blocks.RACES)]
    lines = [",".join(head)]
    for k, (county, tract, block) in enumerate(product((3, 1), (2, 1), (1, 0))):
        adults = [(k + 3 * race) % 7 for race in range(8)]
        name = f"44{county:03}{tract:06}{1000 + block:04}"
        lines.append(",".join(map(str, [name, *(count + minors for count in adults), *adults])))
    path.write_text("\n".join(lines) + "\n")


def test_a_file_of_blocks_is_read_and_estimated(tmp_path: Path) -> None:
    path = tmp_path / cook.FILE
    write_blocks(path)
    source = cook.read(tmp_path)
    assert source.frame["block"].is_sorted()
    one = source.frame.filter((pl.col("block") == "440030000021001") & (pl.col("race") == "black"))
    assert one.rows() == [
        ("440030000021001", "black", "minor", 2),
        ("440030000021001", "black", "adult", 3),
    ]
    outcome = cook.study(source, cook.Size(2), silent)
    assert outcome.numbers["people"].value == source.frame["people"].sum()
    assert outcome.numbers["levels that are wrong in a total, a sum or a sign"] == Number(0, truth=0)
    assert set(outcome.speeds) == {"prepare", "measure", "estimate and round", "best linear"}
    write_blocks(path, minors=-1)
    with pytest.raises(DataError, match="voting age"):
        cook.read(tmp_path)


def test_errors_are_told_by_the_class_of_the_true_count() -> None:
    table = Table("totals", "block", True, (0, 1, 10))
    assert table.classes == ("0", "1-9", "10+")
    true = np.array([0] * 12 + [3] * 10 + [40] * 2)
    first = by_size(table, TOPDOWN, true, np.repeat([1.0, -2.0, 5.0], [12, 10, 2]))
    found = joined([first, by_size(table, TOPDOWN, true, np.repeat([3.0, 2.0, 0.0], [12, 10, 2]))])
    assert found.number.tolist() == [12, 10, 2]
    assert found.errors.tolist() == [[1, -2, 5], [3, 2, 0]]
    assert found.sizes.tolist() == [[1, 2, 5], [3, 2, 0]]
    numbers = found.numbers()  # the last class has too few counts
    assert list(numbers) == [
        f"top-down: {what} of totals, {name}" for name in ("0", "1-9") for what in ("error", "|error|")
    ]
    told = numbers["top-down: error of totals, 0"]
    assert told.value == 2
    assert told.error == pytest.approx((1 / 24) ** 0.5)
    whole = Table("cells", "block", False, (0, 5))
    assert whole.of((np.array([[9.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])), ("state", "block")).size == 4


def test_populations_of_counties_have_the_epsilon_of_the_paper_in_every_way() -> None:
    counties = illinois.invented()
    noise = illinois.prepared(counties, illinois.NOISE).mechanism
    assert isinstance(noise, LatticeLaplace)
    assert noise.guarantee.intensity.parameters() == {"epsilon": 2 * COUNTIES.epsilon}
    for way in (illinois.TWO, illinois.WITH_CELLS):
        mechanism = illinois.prepared(counties, way).mechanism
        assert isinstance(mechanism, TopDown)
        totals = [
            each
            for each in mechanism.measurements
            if each.of.level == 1 and not mechanism.design.queries[each.of.query].marginal
        ]
        assert [1 / each.scale for each in totals] == [COUNTIES.epsilon]


def test_counties_keep_their_names_order_and_cells_their_populations(tmp_path: Path) -> None:
    people = 5_000 + 37 * np.arange(CELLS)[::-1]
    rows = [f"17{2 * k + 1:03},17,Illinois,County {k:03},{n},1" for k, n in enumerate(people.tolist())]
    head = "fips,state_fips,state,county,pop2010,pop2020"
    (tmp_path / illinois.FILE).write_text("\n".join([head, *rows[::-1]]) + "\n")
    counties = illinois.read(tmp_path)
    assert counties.people.tolist() == people.tolist()
    cells = illinois.frame(counties, cells=True)
    assert cells.height == CELLS * 252
    assert cells.group_by("county", maintain_order=True).agg(pl.col("people").sum())["people"].to_list() == (
        people.tolist()
    )
    errors = illinois.errors(counties, illinois.TWO, 3, silent)
    assert (errors.sum(axis=1) == 0).all()
    assert errors.any()


def test_two_levels_are_the_noise_less_its_mean_but_for_rounding() -> None:
    """No population is near 0, so nothing binds: an error is less than 1 from what was measured, shifted."""
    counties = illinois.invented()
    ready = illinois.prepared(counties, illinois.TWO)
    assert isinstance(ready.mechanism, TopDown)
    noise = ready.mechanism.law(ready.counts).measure(SeededEntropy(0))[0][:, 0] - counties.people
    error = illinois.errors(counties, illinois.TWO, 1, silent)[0]
    assert (np.abs(error - (noise - noise.mean())) < 1).all()


def test_a_missing_file_is_told_and_other_numbers_are_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cook, "COOK", TINY)
    code = run.main(["--quick", "--part", "cook", "--output", str(tmp_path), "--data", str(tmp_path)])
    printed = capsys.readouterr().out
    assert code == 1
    assert f"There is no {cook.FILE} in {tmp_path}: a stand-in runs instead." in printed
    assert "OFF cook_stand_in: blocks is 120, expected 99042" in printed
    assert (tmp_path / "cook_stand_in.png").is_file()
