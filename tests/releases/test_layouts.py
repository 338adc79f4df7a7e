"""What `init --from` makes of wide files, dates and signs between thousands: it releases as it is written."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import holdfast as hf
from holdfast.releases.first_spec import ProposedSpec, Wishes, propose
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import DataError

RACES = ("white", "black", "asian")


def written(folder: Path, header: Sequence[str], rows: Sequence[Sequence[object]], sign: str = ",") -> Path:
    lines = [sign.join(header), *(sign.join(str(one) for one in row) for row in rows)]
    (folder / "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "data.csv"


def counts(found: ProposedSpec, folder: Path) -> dict[tuple[str, ...], int]:
    """The confidential counts that the proposed spec comes to, by labels; it draws as it is."""
    (folder / "s.toml").write_text(found.text, encoding="utf-8")
    prepared = hf.prepare(folder / "s.toml")
    prepared.sample(SeededEntropy(1))
    schema = prepared.public.schema
    return {schema.cell(cell): count for cell, count in enumerate(prepared.counts.tolist())}


def wide(measures: tuple[str, ...], *, total: bool) -> tuple[list[str], list[list[object]]]:
    rng = np.random.default_rng(3)
    names = [f"{m}_{r}" for m in measures for r in (*RACES, *(("total",) if total else ()))]
    rows: list[list[object]] = []
    for block in range(30):
        people = rng.integers(5, 50, 3)
        voters = people - rng.integers(0, 5, 3)
        by = {"pop": people, "vap": voters}
        counts = [[*by[m], *((by[m].sum(),) if total else ())] for m in measures]
        rows.append([f"block {block}", *(int(n) for each in counts for n in each)])
    return ["block", *names], rows


@pytest.mark.parametrize("total", [False, True])
def test_wide_columns_of_one_measure(tmp_path: Path, total: bool) -> None:
    header, rows = wide(("pop",), total=total)
    found = propose(written(tmp_path, header, rows))
    assert (found.cells, found.count) == (("block", "race"), "count")
    assert ("pop_total" in found.left_out) is total
    assert any("must not share anybody" in doubt for doubt in found.doubts)
    assert counts(found, tmp_path) == {
        (str(row[0]), race): row[1 + at] for row in rows for at, race in enumerate(RACES)
    }


@pytest.mark.parametrize("total", [False, True])
def test_who_is_counted_in_two_columns_is_counted_once(tmp_path: Path, total: bool) -> None:
    header, rows = wide(("pop", "vap"), total=total)
    found = propose(written(tmp_path, header, rows), Wishes(keep=("race", "total")))
    assert found.cells == ("block", "measure", "race")
    assert set(found.left_out) == ({"pop_total", "vap_total"} if total else set())
    width = 3 + total
    expected: dict[tuple[str, ...], int] = {}
    for row in rows:
        for at, race in enumerate(RACES):
            people, voters = int(str(row[1 + at])), int(str(row[1 + width + at]))
            expected[str(row[0]), "pop without vap", race] = people - voters
            expected[str(row[0]), "vap", race] = voters
    assert counts(found, tmp_path) == expected


def test_a_total_of_columns_that_hold_others_is_their_sum(tmp_path: Path) -> None:
    header, rows = wide(("pop", "vap"), total=False)
    for row in rows:
        row += [sum(int(str(n)) for n in row[1:4]), sum(int(str(n)) for n in row[4:7])]
    found = propose(written(tmp_path, [*header, "persons", "voters"], rows))
    assert found.cells == ("block", "measure", "race")
    assert found.left_out["persons"] == "is the sum of the columns of groups"


@pytest.mark.parametrize(
    ("header", "attribute", "levels"),
    [
        (["county", "2019", "2020", "2021"], "year", ("2019", "2020", "2021")),
        (["county", "male", "female"], "sex", ("male", "female")),
        (["county", "age_0_17", "age_18_64", "age_65_plus"], "age", ("0_17", "18_64", "65_plus")),
        (["county", "two_or_more_pop", "white_pop", "black_pop"], "race", ("two_or_more", "white", "black")),
        (["county", "visits.a", "visits.b", "visits.c"], "group", ("a", "b", "c")),
    ],
)
def test_groups_by_name(tmp_path: Path, header: list[str], attribute: str, levels: tuple[str, ...]) -> None:
    rows: list[list[object]] = [[f"c{i}", *(i * 7 + at for at in range(1, len(header)))] for i in range(12)]
    found = propose(written(tmp_path, header, rows))
    assert found.cells == ("county", attribute)
    assert found.data.levels[attribute] == levels
    assert sum(counts(found, tmp_path).values()) == sum(int(str(n)) for row in rows for n in row[1:])


def test_tables_of_a_census_tell_sums_before_their_parts(tmp_path: Path) -> None:
    header = ["GEOID", *(f"P12_{i:03d}" for i in range(1, 8))]
    rng = np.random.default_rng(0)
    rows: list[list[object]] = []
    for block in range(20):
        men, women = rng.integers(1, 9, 2).tolist(), rng.integers(1, 9, 2).tolist()
        rows.append([f"1700{block}", sum(men + women), sum(men), *men, sum(women), *women])
    found = propose(written(tmp_path, header, rows))
    assert set(found.left_out) == {"P12_001", "P12_002", "P12_005"}
    assert sum(counts(found, tmp_path).values()) == sum(int(str(row[1])) for row in rows)


@pytest.mark.parametrize(
    "header",
    [
        ["sex", "fever_2019", "fever_2020", "fever_2021"],  # 0 or 1: what a record says, not a count
        ["person_id", "visits_2019", "visits_2020", "visits_2021"],
    ],
)
def test_records_are_not_wide(tmp_path: Path, header: list[str]) -> None:
    most = 2 if header[0] == "sex" else 5
    rows: list[list[object]] = [
        ["fm"[i % 2] if most == 2 else i, *((i // at) % most for at in (1, 2, 3))] for i in range(200)
    ]
    found = propose(written(tmp_path, header, rows))
    assert (found.count, found.data.wide) == (None, None)


@pytest.mark.parametrize(
    ("write", "order"),
    [
        ("{y}-{m:02}-{d:02}", None),
        ("{y}-{m:02}-{d:02}T10:30:00", None),
        ("{d}.{m}.{y}", "day-month-year"),
        ("{m}/{d}/{y}", "month-day-year"),
        ("{y}/{m}/{d}", "year-month-day"),
    ],
)
def test_a_date_becomes_its_month(tmp_path: Path, write: str, order: str | None) -> None:
    days = [(2024 + i % 2, 1 + i % 12, 1 + i % 28) for i in range(400)]
    rows: list[list[object]] = [
        [write.format(y=y, m=m, d=d), "fm"[i // 12 % 2]] for i, (y, m, d) in enumerate(days)
    ]
    found = propose(written(tmp_path, ["date", "sex"], rows))
    assert found.cells == ("sex", "month")
    assert found.data.derive["month"].order == order
    assert found.left_out["date"] == "is a date, and month is made of it"
    assert not found.doubts
    months = [f"{y}-{m:02}" for y, m, _ in days]
    assert counts(found, tmp_path) == {
        (sex, month): sum((row[1], own) == (sex, month) for row, own in zip(rows, months, strict=True))
        for sex in "fm"
        for month in sorted(set(months))
    }


def test_a_date_that_may_be_written_in_two_orders_is_doubted(tmp_path: Path) -> None:
    rows: list[list[object]] = [[f"{1 + i % 9}/{1 + i % 7}/2024", "fm"[i % 2]] for i in range(100)]
    found = propose(written(tmp_path, ["born", "sex"], rows))
    assert [doubt.partition(",")[0] for doubt in found.doubts] == ["born is taken as day-month-year"]


def test_daily_counts_are_summed_by_month(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        [f"2024-{m:02}-{d:02}", county, m * d] for m in range(1, 7) for d in range(1, 29) for county in "AB"
    ]
    found = propose(written(tmp_path, ["date", "county", "cases"], rows))
    assert (found.count, found.data.aggregate) == ("cases", True)
    assert counts(found, tmp_path)["A", "2024-02"] == 2 * sum(range(1, 29))


@pytest.mark.parametrize("sign", [",", ".", " ", "'"])
def test_signs_between_thousands(tmp_path: Path, sign: str) -> None:
    rows: list[list[object]] = [["A", f"1{sign}234"], ["B", f"12{sign}345"], ["C", "17"]]
    found = propose(written(tmp_path, ["county", "people"], rows, sign=";"))
    assert counts(found, tmp_path) == {("A",): 1234, ("B",): 12345, ("C",): 17}


@pytest.mark.parametrize("hidden", ["*", "<5", "suppressed"])
def test_withheld_counts_are_refused(tmp_path: Path, hidden: str) -> None:
    rows: list[list[object]] = [["A", 34], ["B", 345], ["C", hidden]]
    with pytest.raises(DataError, match="withholds a count"):
        propose(written(tmp_path, ["county", "people"], rows))


def test_ids_on_several_rows_are_doubted(tmp_path: Path) -> None:
    rows: list[list[object]] = [[i // 2, "fm"[i % 3 % 2]] for i in range(200)]
    found = propose(written(tmp_path, ["patient_id", "sex"], rows))
    assert any("stands on several rows" in doubt for doubt in found.doubts)
