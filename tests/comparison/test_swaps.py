"""Swapping beside noise on one tabulation: errors as they must be, and guarantees that compare or do not."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from holdfast.comparison import swaps as module
from holdfast.comparison.comparable import Reach, Side, related
from holdfast.comparison.compare import compare
from holdfast.comparison.swap_report import SwapComparison, SwapRow
from holdfast.mechanisms.swapping.embedded import Swap, swap_group
from holdfast.mechanisms.swapping.outputs import cell_counts
from holdfast.mechanisms.swapping.tallies import Tally
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import Intensity, Pure, ZeroConcentrated
from holdfast.releases.records import prepare_records
from holdfast.spec.model import Spec
from holdfast.system.errors import SpecError

NAMES = SWAP, LAPLACE, GAUSSIAN, MEASUREMENTS = (
    "permutation-swapping",
    "lattice-laplace",
    "lattice-gaussian",
    "naive-gaussian",
)


def compared(*given: Any, **options: Any) -> SwapComparison:
    found = compare(*given, **options)
    assert isinstance(found, SwapComparison)
    return found


def asked(rate: str = "1/2", cells: tuple[str, ...] = ("county", "tenure"), **options: Any) -> Spec:
    """Return what is asked of the households."""
    return Spec.of(
        {
            "data": {"cells": list(cells)},
            "privacy": {"standard": "pure", "adjacency": "unit"},
            "mechanism": {"name": SWAP, "stratify": ["size"], "swap": ["county"], "rate": rate, **options},
        }
    )


def households(number: int = 400) -> pl.DataFrame:
    places = np.arange(number)
    return pl.DataFrame(
        {
            "size": places % 3 + 1,
            "county": [f"c{k}" for k in (places * places) % 5],
            "tenure": np.where(places % 7 < 3, "own", "rent"),
            "income": places,
        }
    )


@pytest.fixture(scope="module")
def found() -> SwapComparison:
    return compared(asked(), data=households(), draws=200)


def by_name(comparison: SwapComparison) -> dict[str, SwapRow]:
    return {row.name: row for row in comparison.rows}


# errors


@pytest.mark.parametrize("rate", ["1/20", "1/2", "9/10"])
def test_a_simulated_swap_is_the_table_of_that_swap(rate: str) -> None:
    prepared = prepare_records(asked(rate, ("size", "county", "tenure")), households())
    schema = prepared.schema
    records, columns = prepared.mechanism.simulate(prepared.file, schema), prepared.file.public.columns
    whole = prepared.file.records.whole()
    for seed in (0, 1, 2**64 - 1):
        swapped = swap_group(whole, Swap(columns, Fraction(rate), seed)).records
        slow = cell_counts(Tally("", schema.names).with_rows(swapped), schema)
        assert (records.drawn(seed) == slow).all()
        assert (slow != records.counts).any()


def test_missing_values_have_a_level_of_their_own() -> None:
    frame = households(60).with_columns(
        county=pl.when(pl.col("income") % 4 == 0).then(None).otherwise(pl.col("county"))
    )
    comparison = compared(asked(nulls="level"), [SWAP], data=frame, draws=20)
    assert comparison.cells == 2 * frame["county"].n_unique()
    assert comparison.records == 60


def test_errors_of_two_records_are_those_of_a_coin() -> None:
    """Of two records none or both are selected, as often at a rate of 1/2: then all four cells are off."""
    frame = pl.DataFrame({"county": ["a", "b"], "tenure": ["own", "rent"]})
    errors = compared(asked(stratify=[]), [SWAP], data=frame, draws=1000).rows[0].errors
    assert errors is not None
    for size, value in ((errors.cell, 0.5), (errors.percentage, 50.0)):
        assert abs(size.value - value) < 4 * size.standard_error
        assert abs(size.value - 1.2 * value) > 4 * size.standard_error


def test_errors_vanish_with_the_rate_and_grow_with_it() -> None:
    def error(rate: str) -> float:
        errors = compared(asked(rate), [SWAP], data=households(), draws=50).rows[0].errors
        assert errors is not None
        return errors.percentage.value

    assert error("1/1000000") == 0
    assert 0 < error("1/100") < error("1/10") < error("1/2")


def test_noise_of_the_measurements_is_that_of_its_rho(found: SwapComparison) -> None:
    row = by_name(found)[MEASUREMENTS]
    assert row.promise is not None
    assert row.errors is not None
    assert isinstance(row.promise.intensity, ZeroConcentrated)
    steps = np.arange(-60, 61)
    law = np.exp(-(steps**2) * float(row.promise.intensity.rho) / 2)  # sigma^2 = 1 / rho for each record
    expected = float((np.abs(steps) * law).sum() / law.sum())
    assert abs(row.errors.cell.value - expected) < 4 * row.errors.cell.standard_error


def test_margins_that_the_swap_keeps_are_kept_on_the_lattice_alone(found: SwapComparison) -> None:
    rows = by_name(found)
    assert found.kept == ("county", "tenure")
    assert {name: row.errors is not None and row.errors.kept for name, row in rows.items()} == {
        SWAP: True,
        LAPLACE: True,
        GAUSSIAN: True,
        MEASUREMENTS: False,
    }
    assert rows[SWAP].nonnegative
    assert not rows[LAPLACE].nonnegative
    assert "published, too" in rows[MEASUREMENTS].note


def test_margins_share_what_is_of_the_key() -> None:
    spec = asked(cells=("tenure", "size", "county"))
    comparison = compared(spec, data=households(), draws=20)
    assert comparison.kept == ("size by county", "tenure by size")
    kept = [row.errors.kept for row in comparison.rows if row.errors is not None]
    assert kept == [True, True, True, False]


def test_a_wide_tabulation_takes_the_l2_norm() -> None:
    frame = households().with_columns(county=pl.col("income") % 20, tenure=(pl.col("income") * 7) % 19)
    comparison = compared(asked(), [LAPLACE], data=frame, draws=20)
    assert comparison.rows[0].errors is not None
    assert comparison.rows[0].errors.kept
    assert comparison.rows[0].label == "lattice-laplace in the l2 norm"


def test_swaps_of_many_records_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORK", 30 * 410)
    row = compared(asked(), [SWAP], data=households(), draws=1000).rows[0]
    assert row.errors is not None
    assert row.errors.draws == 30
    assert row.note == "30 draws only, as each takes long"


def test_what_cannot_be_used_is_listed_with_the_reason() -> None:
    frame = households().with_columns(tenure=pl.lit("own"))  # the margin of counties is the tabulation
    comparison = compared(asked(), data=frame, draws=20)
    rows = by_name(comparison)
    assert rows[LAPLACE].note.startswith("cannot be used: ")
    assert rows[LAPLACE].to_dict()["mean_absolute_error"] is None
    assert rows[SWAP].errors is not None
    assert rows[SWAP].note == "no draw changed the tabulation"
    assert [pair.other for pair in comparison.pairs] == [MEASUREMENTS]


def test_the_same_seed_gives_the_same_figures() -> None:
    one, two, other = (
        compared(asked(), data=households(), draws=20, seed=seed).to_dict() for seed in (1, 1, 2)
    )
    assert one == two != other


def test_nothing_shows_a_count(found: SwapComparison) -> None:
    errors = by_name(found)[SWAP].errors
    assert errors is not None
    assert str(errors.cell.value) not in repr(found)
    prepared = prepare_records(asked(), households())
    shown = repr(prepared.mechanism.simulate(prepared.file, prepared.schema))
    assert "array" not in shown


# guarantees


def test_every_row_has_the_five_building_blocks(found: SwapComparison) -> None:
    rows = {row["mechanism"]: row for row in found.to_dict()["rows"]}
    blocks = {name: row["building_blocks"] for name, row in rows.items()}
    for one in blocks.values():
        assert {"domain", "scope", "unit", "standard", "intensity"} <= set(one)
    assert rows[MEASUREMENTS]["label"] == "top-down measurements (naive-gaussian)"
    assert blocks[SWAP]["domain"].startswith("files of records")
    assert blocks[LAPLACE]["domain"].startswith("tables of counts")
    assert blocks[SWAP]["invariants"] == ["size by county", "size by all that is held"]
    assert blocks[LAPLACE]["invariants"] == ["county", "tenure"]
    assert blocks[MEASUREMENTS]["invariants"] == []
    assert "one record or more" in blocks[MEASUREMENTS]["unit"]
    assert "two records or more" in blocks[SWAP]["unit"]
    assert [blocks[name]["standard"] for name in NAMES] == ["pure", "pure", "zcdp", "zcdp"]
    assert blocks[LAPLACE]["parameters"] == blocks[SWAP]["parameters"]
    assert "weaker than pure epsilon" in rows[GAUSSIAN]["note"]


def test_each_two_are_related_as_their_pairs_and_standards_are(found: SwapComparison) -> None:
    related_as = {(pair.one, pair.other): (pair.comparable, pair.stronger) for pair in found.pairs}
    assert related_as == {
        (SWAP, LAPLACE): (True, LAPLACE),
        (SWAP, GAUSSIAN): (False, None),
        (SWAP, MEASUREMENTS): (False, None),
        (LAPLACE, GAUSSIAN): (False, None),
        (LAPLACE, MEASUREMENTS): (False, None),
        (GAUSSIAN, MEASUREMENTS): (True, MEASUREMENTS),
    }
    why = {(pair.one, pair.other): pair.why for pair in found.pairs}
    assert (
        "says nothing of files that differ in the counts of size by county or of size by"
        in why[SWAP, LAPLACE]
    )
    assert "no farther apart than its files" in why[SWAP, LAPLACE]
    assert "no rho implies a pure epsilon" in why[SWAP, MEASUREMENTS]
    assert "one record that changes alone" in why[SWAP, MEASUREMENTS]


def test_tables_are_related_as_the_calculus_says(found: SwapComparison) -> None:
    rows = [row for row in found.rows if row.promise is not None and row.promise.scope.data == "table"]
    assert len(rows) == 3
    for one, other in combinations(rows, 2):
        assert isinstance(one.promise, Guarantee)
        assert isinstance(other.promise, Guarantee)
        assert one.side is not None
        assert other.side is not None
        if one.promise.intensity.standard == other.promise.intensity.standard:
            assert one.side.implies(other.side) == one.promise.implies(other.promise)
            assert other.side.implies(one.side) == other.promise.implies(one.promise)


def test_where_the_tabulation_has_every_column_swapping_and_noise_promise_the_same() -> None:
    spec = asked(cells=("size", "county", "tenure"))
    comparison = compared(spec, [SWAP, LAPLACE], data=households().drop("income"), draws=20)
    (pair,) = comparison.pairs
    assert (pair.comparable, pair.stronger) == (True, None)
    assert "so that a table is a file" in pair.why


Record = tuple[int, int, int, int]
"""Stratum, swapped, held and in the tabulation, held and not in it."""


def files(number: int) -> Iterator[tuple[Record, ...]]:
    yield from product(product(range(2), repeat=4), repeat=number)


def apart(one: list[Any], other: list[Any]) -> int:
    return (Counter(one) - Counter(other)).total()


def tabulated(file: tuple[Record, ...]) -> list[tuple[int, int]]:
    return [(swapped, held) for _, swapped, held, _ in file]


def test_files_that_swapping_compares_are_tables_that_lattice_noise_compares() -> None:
    """Enumerated: the same kept margins, no farther apart, and never one record apart."""
    seen = 0
    for file in list(files(3))[::7]:
        for order in permutations(range(3)):
            if any(file[at][0] != file[to][0] for at, to in enumerate(order)):
                continue
            other = tuple((s, file[to][1], h, k) for (s, _, h, k), to in zip(file, order, strict=True))
            one, two = tabulated(file), tabulated(other)
            for column in (0, 1):
                assert Counter(cell[column] for cell in one) == Counter(cell[column] for cell in two)
            distance = apart(list(file), list(other))
            assert apart(one, two) <= distance != 1
            seen += distance > 1
    assert seen > 100


def test_tables_that_lattice_noise_compares_may_be_of_files_that_swapping_tells_apart() -> None:
    one = ((0, 0, 0, 0), (0, 1, 1, 0))
    other = ((0, 0, 1, 0), (1, 1, 0, 0))  # the same margins of the tabulation, other strata
    for column in (0, 1):
        assert sorted(cell[column] for cell in tabulated(one)) == sorted(
            cell[column] for cell in tabulated(other)
        )
    assert Counter(record[0] for record in one) != Counter(record[0] for record in other)


@pytest.mark.parametrize(
    ("one", "other", "stronger"),
    [
        ((Reach.FILES, Pure(Fraction(1))), (Reach.MARGINS, Pure(Fraction(1))), "other"),
        ((Reach.FILES, Pure(Fraction(1))), (Reach.MARGINS, Pure(Fraction(2))), None),
        ((Reach.MARGINS, Pure(Fraction(1))), (Reach.MARGINS, Pure(Fraction(2))), "one"),
        ((Reach.MARGINS, Pure(Fraction(1))), (Reach.FILES, ZeroConcentrated(Fraction(1, 2))), "one"),
        ((Reach.FILES, Pure(Fraction(1))), (Reach.MARGINS, ZeroConcentrated(Fraction(1, 2))), None),
        ((Reach.TABLES, ZeroConcentrated(Fraction(1))), (Reach.MARGINS, Pure(Fraction(9))), None),
    ],
)
def test_the_wider_and_stronger_implies_the_other(
    one: tuple[Reach, Intensity], other: tuple[Reach, Intensity], stronger: str | None
) -> None:
    sides = (Side("one", one[0], ("a",), one[1]), Side("other", other[0], ("b",), other[1]))
    for pair in (related(*sides), related(*reversed(sides))):
        assert (pair.comparable, pair.stronger) == (stronger is not None, stronger)


# households, and bad input


def test_households_with_persons_are_counted_as_households(tmp_path: Path) -> None:
    units = households(60).with_columns(id=pl.int_range(60))
    units.write_parquet(tmp_path / "households.parquet")
    pl.DataFrame({"id": [k // 2 for k in range(120)], "age": range(120)}).write_parquet(
        tmp_path / "persons.parquet"
    )
    spec = Spec.of(
        {
            "data": {
                "path": "households.parquet",
                "id": "id",
                "persons": "persons.parquet",
                "cells": ["county", "tenure"],
            },
            "privacy": {"unit": "household", "standard": "pure", "adjacency": "unit"},
            "mechanism": {"name": SWAP, "stratify": ["size"], "swap": ["county"], "rate": "1/2"},
        },
        folder=tmp_path,
    )
    comparison = compared(spec, draws=20)
    assert comparison.records == 60
    assert comparison.rows[0].blocks["domain"] == "files of households, in no order"
    assert comparison.rows[3].blocks["unit"].startswith("each household of distance")


@pytest.mark.parametrize(
    ("cells", "names", "draws", "words"),
    [
        ((), NAMES, 100, r"cells is missing: name the columns of the tabulation"),
        (("size", "tenure"), NAMES, 100, "no column that is swapped"),
        (("size", "county"), NAMES, 100, "no column that is held"),
        (("county", "tenur"), NAMES, 100, "did you mean 'tenure'"),
        (("county", "tenure"), ["k-norm"], 100, "is not known"),
        (("county", "tenure"), [], 100, "names none"),
        (("county", "tenure"), [SWAP], 19, "20 or more"),
    ],
)
def test_bad_input_is_refused(cells: tuple[str, ...], names: list[str], draws: int, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        compared(asked(cells=cells), names, data=households(), draws=draws)
