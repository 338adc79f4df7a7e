"""Cell-key tables in the formats of offices: their laws, and what they give away, by direct sums."""

from fractions import Fraction
from itertools import product
from math import exp, inf, log
from pathlib import Path

import numpy as np
import pytest

import holdfast as hf
from holdfast.audit.cell_keys import share
from holdfast.data.perturbation import read_perturbation
from holdfast.spec.mechanism import MechanismChoice
from holdfast.system.errors import DataError, SpecError

HALF = """i;j;p;v;p_int_lb;p_int_ub;type
0;0;1;0;0;1;all
1;0;0.5;-1;0;0.5;all
1;2;0.5;1;0.5;1;all
2;1;0.25;-1;0;0.25;all
2;2;0.5;0;0.25;0.75;all
2;3;0.25;1;0.75;1;all
"""


def written(folder: Path, text: str, name: str = "ptable.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def lookup(changes: dict[int, list[int]], header: str = "pcv,ckey,pvalue") -> str:
    rows = [f"{n},{key},{v}" for n, values in changes.items() for key, v in enumerate(values)]
    return "\n".join([header, *rows]) + "\n"


LAWS = {1: [-1, -1, 1, 1], 2: [-1, 0, 0, 1], 3: [-2, 0, 0, 2]}


def test_formats_are_told_apart_and_say_the_same(tmp_path: Path) -> None:
    ptable = read_perturbation(written(tmp_path, HALF))
    ons = read_perturbation(written(tmp_path, lookup({1: LAWS[1], 2: LAWS[2]}), "ons.csv"))
    named = lookup({1: LAWS[1], 2: LAWS[2]}, "cell_value,cell_key,perturbation")
    long = read_perturbation(written(tmp_path, named, "long.csv"))
    wide = read_perturbation(written(tmp_path, "count,0,1,2,3\n1,-1,-1,1,1\n2,-1,0,0,1\n", "wide.csv"))
    assert [each.format for each in (ptable, ons, long, wide)] == [
        "ptable",
        "ons",
        "cantabular",
        "cantabular",
    ]
    for other in (ons, long, wide):
        assert other.laws == ptable.laws
    assert ptable.laws[1] == {-1: Fraction(1, 2), 1: Fraction(1, 2)}
    assert ptable.law(7) == ptable.laws[2]


def test_the_ons_table_goes_round_its_last_rows(tmp_path: Path) -> None:
    changes = {n: [0, 1] if n == 501 else [0, 0] for n in range(1, 751)}
    table = read_perturbation(written(tmp_path, lookup(changes)))
    assert table.repeats == 250
    assert table.law(751) == table.law(1001) == table.laws[501] != table.law(752)


def slow_delta(one: list[int], other: list[int], epsilon: float) -> float:
    """Return delta between two counts by their lists of published values, one for each key."""
    values = set(one) | set(other)
    shares = {j: (one.count(j) / len(one), other.count(j) / len(other)) for j in values}
    return max(
        sum(max(0.0, p - exp(epsilon) * q) for p, q in shares.values()),
        sum(max(0.0, q - exp(epsilon) * p) for p, q in shares.values()),
    )


def test_deltas_are_direct_sums(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    for trial in range(20):
        laws = {n: sorted(generator.integers(-min(n, 2), 3, 16).tolist()) for n in range(1, 6)}
        report = hf.audit.cell_key(written(tmp_path, lookup(laws), f"{trial}.csv"))
        published = {0: [0], **{n: [n + v for v in values] for n, values in laws.items()}}
        published[6] = [6 + v for v in laws[5]]
        for loss in report.losses:
            pairs = {
                (n, n + 1): slow_delta(published[n], published[n + 1], float(loss.epsilon)) for n in range(6)
            }
            assert loss.delta == pytest.approx(max(pairs.values()))
            assert pairs[loss.between] == pytest.approx(loss.delta)
        spread = [np.var(values) for values in laws.values()]
        assert report.variance == pytest.approx(max(spread))
        assert report.largest_change == max(abs(v) for values in laws.values() for v in values)
        assert report.certain.delta == pytest.approx(
            max(slow_delta(published[n], published[n + 1], 60.0) for n in range(6))
        )


def test_what_hides_every_count_has_an_epsilon(tmp_path: Path) -> None:
    grid = "count,0,1,2,3\n0,0,0,0,1\n1,-1,-1,0,0\n2,-2,-2,-2,-1\n"
    report = hf.audit.cell_key(written(tmp_path, grid))
    assert report.epsilon == inf  # counts of 3 go on from those of 2
    assert report.losses[0].between in {(0, 1), (2, 3), (1, 2)}
    two = {n: {0: Fraction(3, 4), 1: Fraction(1, 4)} for n in (0, 1)}
    from holdfast.privacy.keyed_counts import most_lost

    assert most_lost(two[0], {0: Fraction(1, 2), 1: Fraction(1, 2)}) == pytest.approx(log(1.5))


def test_a_table_without_chance_is_deterministic(tmp_path: Path) -> None:
    report = hf.audit.cell_key(
        written(tmp_path, lookup({n: [round(n / 5) * 5 - n] * 3 for n in range(1, 20)}))
    )
    assert report.deterministic
    assert {loss.delta for loss in report.losses} == {1.0}
    assert report.unperturbed == (5, 10, 15)
    assert not report.to_dict()["epsilon"]


@pytest.mark.parametrize("levels", [(3,), (2, 3), (2, 3, 2), (1, 4)])
def test_averaging_is_the_best_estimate_from_all_margins(levels: tuple[int, ...]) -> None:
    """By dense least squares: every margin of the table, each count with variance 1."""
    cells = list(product(*(range(d) for d in levels)))
    margins = [
        product(*(range(d) if keep else [None] for d, keep in zip(levels, kept, strict=True)))
        for kept in product([False, True], repeat=len(levels))
    ]
    rows = [
        [all(v is None or v == c for v, c in zip(values, cell, strict=True)) for cell in cells]
        for margin in margins
        for values in margin
    ]
    design = np.array(rows, dtype=float)
    assert share(levels) == pytest.approx(np.linalg.inv(design.T @ design)[0, 0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no rows below its header"),
        ("i,j,p,v\n", "no rows below its header"),
        ("a,b,c\n1,2,3\n", "has the columns"),
        ("i,j,p,v\n1,0,1,-1,4\n", "line 2 has 5 fields"),
        ("i,j,p,v\n1,x,1,-1\n", "line 2 has 'x' where a whole number is"),
        ("i,j,p,v\n1,0,2,-1\n", "line 2 has '2' where a probability is"),
        ("i,j,p,v\n1,0,0.5,-1\n", "add up to 0.5"),
        ("i,j,p,v\n1,-1,1,-2\n", "changes the count 1 by -2, below zero"),
        ("i,j,p,v\n1,3,1,1\n", "j that is not i"),
        ("i,j,p,v\n2,2,1,0\n", "rows of the count 2 and none of 1"),
        ("pcv,ckey,pvalue\n1,0,0\n1,0,1\n", "repeats the key 0"),
        ("pcv,ckey,pvalue\n1,0,0\n1,1,0\n2,0,0\n", "has 1 keys of the count 2 and 2 of others"),
    ],
)
def test_what_is_no_cell_key_table_is_refused_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        hf.audit.cell_key(written(tmp_path, text))


def test_numbers_without_end_are_refused_and_any_epsilon_is_answered(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 2 has .* where a whole number is"):
        hf.audit.cell_key(written(tmp_path, f"i,j,p\n{'9' * 5000},1,1\n"))
    apart = hf.audit.cell_key(written(tmp_path, "i,j,p\n0,0,1\n1,1,1\n"), [Fraction(710), Fraction(10**9)])
    assert [one.delta for one in apart.losses] == [1, 1]


def test_bad_questions_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, HALF)
    with pytest.raises(SpecError, match="negative"):
        hf.audit.cell_key(path, [Fraction(-1)])
    with pytest.raises(SpecError, match="levels of a table"):
        hf.audit.cell_key(path, shapes=[(0, 3)])
    with pytest.raises(SpecError, match=r"not offered as protection.*lattice-laplace with a bound"):
        MechanismChoice("cell-key")


def test_columns_of_one_name_and_folders_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("i,j,p,v,i\n0,0,1,0,0\n1,0,0.5,-1,1\n1,2,0.5,1,1\n")
    with pytest.raises(DataError, match="has two columns 'i': keep one"):
        hf.audit.cell_key(path)
    with pytest.raises(SpecError, match="is a folder: name the cell-key table file in it"):
        hf.audit.cell_key(tmp_path)
