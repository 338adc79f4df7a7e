"""The study of swapping: its quick run comes to the expected numbers, and another swap does not."""

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from studies.expected import violations
from studies.outcome import Number
from studies.swapping import conversion, cps, massachusetts, rhode_island, run, sizes
from studies.swapping.experiment import Size
from studies.swapping.microdata import Microdata, TwoWay, broken, cross, mape, move_probability
from studies.swapping.regions import REGION_OF, REGIONS

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.swapping.permute import Permuted, permute
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.system.errors import DataError

T = TypeVar("T")
FEW = Size(2)


def silent(things: Iterable[T], what: str) -> Iterator[T]:
    yield from things


def small() -> Microdata:
    """Strata of 4, 3, 2 and 1 records."""
    strata = np.array([0, 0, 0, 0, 2, 2, 2, 5, 5, 7])
    swap, held = np.array([0, 0, 1, 2, 1, 1, 2, 0, 2, 1]), np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1])
    return Microdata.of(strata, swap, {"x": held})


def test_without_data_the_quick_run_has_a_stand_in_and_comes_to_the_expected_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run.main(["--quick", "--output", str(tmp_path), "--data", str(tmp_path / "nowhere")])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert "OFF" not in printed
    for part in (massachusetts, cps, rhode_island):
        assert f"Skipped: {part.TITLE}. There is no {part.FILE}" in printed
    assert {p.stem for p in tmp_path.glob("*.png")} == {"conversion", "what_if", "stand_in", "stand_in_table"}
    parts = json.loads((tmp_path / "numbers.json").read_text())["parts"]
    assert set(parts) == {"conversion", "what_if", "stand_in"}


def off(part: str, numbers: dict[str, Number]) -> set[str]:
    found = violations(run.EXPECTED, part, numbers, "quick")
    return {name for name in numbers if any(f"{part}: {name} is" in line for line in found)}


def test_a_swap_that_moves_more_or_that_leaves_records_in_place_is_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def more(sizes: IntArray, rate: Fraction, entropy: Entropy) -> Permuted:
        return permute(sizes, rate * Fraction(6, 5), entropy)

    def fewer(sizes: IntArray, rate: Fraction, entropy: Entropy) -> Permuted:
        drawn = permute(sizes, rate, entropy)
        every = np.arange(drawn.source.size)
        return Permuted(np.where(every % 8, drawn.source, every), drawn.order, drawn.moved)

    for wrong, name in ((more, "share moved at 50%"), (fewer, "invariants that a run broke")):
        monkeypatch.setattr("studies.swapping.microdata.permute", wrong)
        counties = massachusetts.invented()
        numbers = massachusetts.study(counties, FEW, silent, name="stand_in").numbers
        assert {name, "cell of county x tenure that changes most, at 50%"} <= off("stand_in", numbers)


def test_an_epsilon_that_is_not_the_printed_one_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "LARGEST", 260_000)
    assert "epsilon at 50%, as printed" in off(
        "conversion", conversion.study(conversion.QUICK, silent).numbers
    )


def every_swap(records: Microdata, rate: Fraction) -> Iterator[tuple[float, IntArray]]:
    """Yield the probability of each outcome in one stratum, and who takes whose value."""
    n, p = records.swap.size, float(rate)
    allowed = [s for s in product((0, 1), repeat=n) if sum(s) != 1 or n < 2]
    weights = [p ** sum(s) * (1 - p) ** (n - sum(s)) if n > 1 else float(not sum(s)) for s in allowed]
    for selected, weight in zip(allowed, weights, strict=True):
        who = np.flatnonzero(selected)
        deranged = [d for d in permutations(who) if all(a != b for a, b in zip(d, who, strict=True))]
        for taken in deranged:
            source = np.arange(n)
            source[who] = taken
            yield weight / sum(weights) / len(deranged), source


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_the_mean_of_a_table_is_the_enumerated_one(rate: Fraction) -> None:
    records, areas = small(), np.array([0, 1, 0])
    table = TwoWay("x", areas)
    total, starts = np.zeros((2, 2)), np.concatenate([[0], np.cumsum(records.sizes)])
    moves = []
    for start, end in pairwise(starts):
        one = Microdata(np.array([end - start]), records.swap[start:end], {"x": records.held["x"][start:end]})
        outcomes = list(every_swap(one, rate))
        moves.append(sum(w * (s != np.arange(s.size)).mean() for w, s in outcomes))
        for weight, source in outcomes:
            np.add.at(total, (areas[one.swap[source]], one.held["x"]), weight)
    assert table.expected(records, rate) == pytest.approx(total)
    assert move_probability(records.sizes, rate) == pytest.approx(moves)
    assert np.abs(total - table.counts(records)).max() > 0.01


def test_a_swap_keeps_its_invariants_and_what_breaks_them_is_told() -> None:
    before, entropy = small(), SeededEntropy(3)
    assert (before.sizes.tolist(), before.largest, before.alone) == ([4, 3, 2, 1], 4, 1)
    tables = set()
    for _ in range(40):
        after = before.swapped(Fraction(1, 2), entropy).records
        assert broken(before, after) == []
        tables.add(cross(after.swap, after.held["x"]).tobytes())
    assert len(tables) > 3
    moved = Microdata(before.sizes, before.swap[::-1], before.held)
    assert broken(before, moved) == ["stratum x swapped"]
    held = Microdata(before.sizes, before.swap, {"x": 1 - before.held["x"]})
    assert broken(before, held) == ["stratum x x"]


def test_the_error_is_over_cells_that_are_not_empty() -> None:
    assert mape(np.array([[10, 0], [4, 5]]), np.array([[11, 3], [3, 5]])) == pytest.approx((10 + 25 + 0) / 3)


@pytest.mark.parametrize("mean", [3.337, 4.063])
def test_household_sizes_have_the_mean_of_their_county(mean: float) -> None:
    law = sizes.probabilities(mean)
    persons = np.arange(law.size)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert law @ persons == pytest.approx(mean, abs=1e-7)
    drawn = sizes.draw([mean, 3.0], np.array([40_000, 10]), SeededEntropy(1))
    spread = np.sqrt(law @ (persons - mean) ** 2 / 40_000)
    assert drawn.size == 40_010
    assert drawn.min() >= 1
    assert abs(drawn[:40_000].mean() - mean) < 4 * spread


def test_two_person_households_are_as_frequent_as_in_the_slides() -> None:
    law = sizes.probabilities(3.85)
    assert law.argmax() == 2
    assert law[2] == pytest.approx(conversion.LARGEST / 1_120_694, rel=0.01)


def test_every_state_is_in_one_region() -> None:
    assert len(REGION_OF) == sum(map(len, REGIONS.values())) == 51
    assert set(REGION_OF) == set(range(1, 57)) - {3, 7, 14, 43, 52}


def test_counties_of_massachusetts_are_read_and_swapped(tmp_path: Path) -> None:
    lines = ["COUNTY,owner,tenant,persons_per_occupied"]
    lines += [f"C{k},{20 + k},{60 - 3 * k},{3.4 + k / 20}" for k in range(massachusetts.COUNTIES)]
    (tmp_path / massachusetts.FILE).write_text("\n".join(lines) + "\n")
    counties = massachusetts.read(tmp_path)
    before = massachusetts.households(counties)
    assert cross(before.swap, before.held["tenure"]).tolist() == counties.dwellings.tolist()
    outcome = massachusetts.study(counties, FEW, silent)
    assert outcome.numbers["invariants that a run broke"] == Number(0, truth=0)
    assert outcome.numbers["records"].value == counties.dwellings.sum()
    assert set(outcome.pictures) == {"massachusetts", "massachusetts_table"}
    wrong = massachusetts.invariants(before, Microdata(before.sizes, before.swap[::-1], before.held))
    assert wrong == {
        "county x size": False,
        "tenure x size": True,
        "county totals": True,
        "tenure totals": True,
    }
    (tmp_path / massachusetts.FILE).write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(DataError, match="13 rows"):
        massachusetts.read(tmp_path)


def test_households_swap_states_within_their_region(tmp_path: Path) -> None:
    rows = [f"{(23, 25, 6, 41)[k % 4]},{k % 3 + 1},{k % 5},{20 + 7 * k % 60}" for k in range(120)]
    file = tmp_path / cps.FILE
    file.write_text("\n".join(["state_fips,persons,children,age_head", *rows]) + "\n")
    before = cps.read(tmp_path)
    assert before.sizes.tolist() == [20] * 6
    region = before.strata // 3  # states 6, 23, 25, 41 are numbered from 0
    assert set(before.swap[region == 0].tolist()) == {1, 2}
    assert set(before.swap[region == 1].tolist()) == {0, 3}
    numbers = cps.study(tmp_path, FEW, silent).numbers
    assert numbers["invariants that a run broke"].value == 0
    assert numbers["MAPE of state x age of head at 50%"].value > 0
    file.write_text("\n".join(["state_fips,persons,children,age_head", *rows, "72,1,0,40"]) + "\n")
    with pytest.raises(DataError, match="state 72"):
        cps.read(tmp_path)


def blocks(folder: Path, minors: int = 2) -> None:
    """Write two counties of two tracts with two blocks each."""
    head = ["block", *(f"{kind}_{race}" for kind in ("pop", "vap") for race in rhode_island.RACES)]
    lines = [",".join(head)]
    for k, (county, tract, block) in enumerate(product((1, 3), (1, 2), (0, 1))):
        adults = [(k + 3 * race) % 7 for race in range(8)]
        people = [count + minors for count in adults]
        name = f"44{county:03}{tract:06}{1000 + block:04}"
        lines.append(",".join(map(str, [name, *people, *adults])))
    (folder / rhode_island.FILE).write_text("\n".join(lines) + "\n")


def test_persons_swap_blocks_within_their_county(tmp_path: Path) -> None:
    blocks(tmp_path)
    persons = rhode_island.read(tmp_path)
    assert persons.areas(rhode_island.COUNTY).tolist() == [0] * 4 + [1] * 4
    assert persons.areas(rhode_island.TRACT).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    adults = cross(persons.block, persons.race * 2 + persons.adult)[:, 1::2]
    assert adults[1].tolist() == [(1 + 3 * race) % 7 for race in range(8)]
    assert np.count_nonzero(persons.adult == 0) == 2 * 8 * 8
    numbers = rhode_island.study(tmp_path, FEW, silent).numbers
    for held in (rhode_island.RACE, rhode_island.AGE):
        assert numbers[f"{held} held: invariants that a run broke"].value == 0
        assert numbers[f"{held} held: MAPE of block x {held} at 50%"].value > 0
        assert numbers[f"MAPE of county x {held}"] == Number(0, truth=0)
    blocks(tmp_path, minors=-1)
    with pytest.raises(DataError, match="voting age"):
        rhode_island.read(tmp_path)


def test_with_race_and_voting_age_in_the_key_nothing_changes(tmp_path: Path) -> None:
    blocks(tmp_path)
    persons = rhode_island.read(tmp_path)
    both = persons.race * 2 + persons.adult
    county = persons.areas(rhode_island.COUNTY)[persons.block]
    before = Microdata.of(county * 16 + both, persons.block, {"both": both})
    after = before.swapped(Fraction(1, 2), SeededEntropy(1))
    assert after.moved > 0
    assert (cross(after.records.swap, after.records.held["both"]) == cross(persons.block, both)).all()


def test_race_by_location_keeps_the_totals_of_tracts(tmp_path: Path) -> None:
    """True counts and means at each rate have one total a tract; other cells change with the rate."""
    blocks(tmp_path)
    persons = rhode_island.read(tmp_path)
    _, head, *rows = rhode_island.by_location(persons, persons.strata(rhode_island.RACE))
    assert head.split() == [*rhode_island.LOCATIONS, "all"]
    each = 1 + len(rhode_island.SHOWN)
    assert len(rows) % each == 0
    for place in range(0, len(rows), each):
        cells = [row.split()[-len(head.split()) :] for row in rows[place : place + each]]
        assert len({row[-1] for row in cells}) == 1
        assert cells[0] != cells[-1]
    assert set(rows) <= set(rhode_island.study(tmp_path, FEW, silent).lines)
