"""Areas off the spine: kept with ==, measured as told, estimated as by another solver, few nodes away."""

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from tests.estimation.hierarchy.test_descent import best
from tests.mechanisms.topdown.small import PREFIXES, asked, rows

import holdfast
import holdfast_verify
from holdfast.estimation.hierarchy.descent import descend
from holdfast.estimation.hierarchy.propagation import propagated
from holdfast.inference.released_intervals import intervals
from holdfast.mechanisms.topdown.areas import area_tables
from holdfast.mechanisms.topdown.estimate import estimated, level_of
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.mechanisms.topdown.nodes import Nodes
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.files import FilesSpec
from holdfast.spec.model import Spec
from holdfast.system.errors import HoldfastError
from holdfast.verification.verify import verify

CELLS = {"marginal": ["age", "sex"]}
SHARES = {
    "state": "1/10",
    "county": "2/10",
    "tract": "2/10",
    "block": "3/10",
    "place": "1/10",
    "district": "1/10",
}
BY_AGE = {"marginal": ["age"], "weight": {"place": "1", "county": "1"}}
KEPT = [
    {"total": True, "level": "county"},
    {"total": True, "level": "place"},
    {"margin": ["age"], "level": "district", "where": {"district": ["A", "B"]}},
]


def areas(folder: Path, seed: int) -> None:
    """Write files of places and districts: most blocks at random."""
    chance = Random(seed)
    blocks = [line.split(",")[0] for line in rows().splitlines()[1::4]]
    for kind, names in (("place", ("North", "South", "West")), ("district", "AB")):
        inside = [block for block in blocks if chance.random() < 0.8]
        lines = [f"block,{kind}", *(f"{block},{chance.choice(names)}" for block in inside)]
        (folder / f"{kind}.csv").write_text("\n".join(lines) + "\n")


def spec(folder: Path, seed: int = 0, **more: Any) -> Spec:
    (folder / "blocks.csv").write_text(rows())
    areas(folder, seed)
    geography = {
        "column": "block",
        "prefixes": PREFIXES,
        "areas": {"place": "place.csv", "district": "district.csv"},
        **more.pop("geography", {}),
    }
    usual = {"name": "topdown", "allocation": SHARES, "queries": [CELLS, BY_AGE]}
    plain = asked(
        **{"invariants": KEPT, **more, "mechanism": {**usual, **more.get("mechanism", {})}},
    )
    plain["data"] = {**plain["data"], "geography": geography}
    return Spec.of(plain, folder=folder)


def topdown(asked_: Spec) -> TopDown:
    mechanism = prepare(asked_).mechanism
    assert isinstance(mechanism, TopDown)
    return mechanism


def sums(frame: pl.DataFrame, *keys: str) -> dict[tuple[str, ...], int]:
    frame = frame.with_columns(pl.col("people").cast(pl.Int64))
    return {row[:-1]: row[-1] for row in frame.group_by(*keys).agg(pl.col("people").sum()).iter_rows()}


@pytest.mark.parametrize("seed", range(4))
def test_areas_are_kept_with_equality(tmp_path: Path, seed: int) -> None:
    passes = {"passes": [["age"], ["detailed"]]} if seed % 2 else {}
    made = spec(tmp_path, seed, mechanism=passes)
    holdfast.release(made, tmp_path / "out", seed=seed)
    assert verify(tmp_path / "out").kept
    assert verify(tmp_path / "out", quick=True).kept
    assert holdfast_verify.verify(tmp_path / "out").exit_code == 0
    found = pl.read_csv(tmp_path / "out" / "table.csv", infer_schema_length=0)
    truth = pl.read_csv(tmp_path / "blocks.csv", infer_schema_length=0)
    for kind in ("place", "district"):
        told = pl.read_csv(tmp_path / f"{kind}.csv", infer_schema_length=0)
        truth = truth.join(told, on="block", how="left").with_columns(pl.col(kind).fill_null("none"))
    assert (
        sums(found, "block", "place", "district").keys() == sums(truth, "block", "place", "district").keys()
    )
    assert sums(found, "place") == sums(truth, "place")
    for one in "AB":
        some = pl.col("district") == one
        assert sums(found.filter(some), "age") == sums(truth.filter(some), "age")
    assert sums(found, "block") != sums(truth, "block")
    assert (found["people"].cast(pl.Int64) >= 0).all()


def test_every_step_with_areas_is_the_best_by_another_solver(tmp_path: Path) -> None:
    """Families that areas cut, and families in one area, whose sums by area are no variables."""
    compared, cut = 0, 0
    for seed in range(30):
        prepared = prepare(spec(tmp_path, seed, geography={"regroup": ["tract"]} if seed % 2 else {}))
        made = prepared.mechanism
        assert isinstance(made, TopDown)
        values = made.law(prepared.counts).measure(SeededEntropy(seed))
        places = range(len(made.design.regions.sizes))
        levels = [level_of(made.design, place, made.measurements, values) for place in places]
        parents = made.design.regions.spine.parent
        found = descend(parents, levels, reals=True)
        if len(found.fits) > len(levels):
            continue  # levels that were estimated at once are compared elsewhere
        assert found.reals is not None
        asked_ = [each.level for each in propagated(parents, levels).levels]
        for place, parent in enumerate(parents, start=1):
            for node, counts in enumerate(found.counts[place - 1]):
                begin, end = np.searchsorted(parent, [node, node + 1]).tolist()
                family = asked_[place].part(begin, end)
                reals = found.reals[place][begin:end]
                assert family.kept(found.counts[place][begin:end]).all()
                if all(each.whole for each in family.by_area):
                    own, family = family.own, family.without_areas()
                    optimum, reals = best(family, counts[own]), reals[:, own]
                else:
                    optimum = best(family, counts)
                    cut += 1
                assert family.objective(reals) == pytest.approx(optimum, rel=1e-6, abs=1e-6)
                compared += 1
    assert compared > 60
    assert cut > 10


def test_one_record_moves_no_sum_of_areas_farther_than_told(tmp_path: Path) -> None:
    made = topdown(spec(tmp_path, invariants=[]))
    places = tuple(made.design.regions.places)
    assert places == ("state", "county", "tract", "block", "place", "district")
    counts = prepare(spec(tmp_path)).counts
    truth = made.law(counts).answers
    most = np.zeros(len(truth), dtype=int)
    for leaves in np.flatnonzero(counts > 0)[::7]:
        for enters in range(0, counts.size, 5):
            other = counts.copy()
            other[leaves] -= 1
            other[enters] += 1
            for at, (one, two) in enumerate(zip(truth, made.law(other).answers, strict=True)):
                assert np.abs(one - two).sum() == ((one - two) ** 2).sum()
                most[at] = max(most[at], int(np.abs(one - two).sum()))
    for each, moved in zip(made.measurements, most.tolist(), strict=True):
        assert moved <= each.of.sensitivity == 2
        assert moved == 2
    assert sum(each.loss for each in made.measurements) == made.per_record == 1


def test_measurements_name_areas(tmp_path: Path) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=1)
    told = pl.read_parquet(tmp_path / "out" / "measurements.parquet")
    some = told.filter((pl.col("level") == "place") & (pl.col("query") == "age"))
    assert set(some["geocode"]) == {"North", "South", "West", "none"}
    assert some.height == 8


def test_what_invariants_say_of_areas_is_not_measured(tmp_path: Path) -> None:
    kept = [{"margin": ["age"], "level": "place"}]
    made = topdown(spec(tmp_path, invariants=kept))
    names = [(each.level, made.design.queries[each.query].name) for each in made.design.measured]
    assert (4, "age") not in names
    assert (4, "age by sex") in names
    assert (5, "age by sex") in names


def dense(made: TopDown, area: int, query: NDArray[np.int64]) -> float:
    """Return the variance of the best estimate of a place by what was measured of it and of all nodes."""
    regions = made.design.regions
    sums, variances = [], []
    for each in made.measurements:
        own = made.design.queries[each.of.query].rows.toarray()
        spine = each.of.level < len(regions.sizes)
        of = regions.spine.ancestors(regions.levels[each.of.level]) if spine else regions.areas[0].of
        for node in range(of.max() + 1) if spine else [area]:
            sums += [np.kron(of == node, row) for row in own]
            variances += [each.variance] * len(own)
    matrix, weights = np.array(sums, dtype=float), 1 / np.array(variances)
    covariance = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    asked_ = np.kron(regions.areas[0].of == area, query).astype(float)
    return float(asked_ @ covariance @ asked_)


def test_intervals_of_areas_have_the_variance_of_all_that_tells_of_them(tmp_path: Path) -> None:
    levels = ("state", "county", "tract", "block")
    cells = {**CELLS, "weight": dict.fromkeys(levels, "1")}
    by_age = {"marginal": ["age"], "weight": {"place": "1"}}
    shares = {**SHARES, "place": "2/10", "district": "0"}
    queries = {"allocation": shares, "queries": [cells, by_age]}
    made = spec(tmp_path, 2, invariants=[], mechanism=queries)
    holdfast.release(made, tmp_path / "out", seed=5)
    found = intervals(tmp_path / "out", place="place", margin=["age"]).to_frame()
    rows_ = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    variances = [dense(topdown(made), area, row) for area in range(4) for row in rows_]
    assert (found["standard_error"] ** 2).to_list() == pytest.approx(variances, rel=1e-6)
    assert ((found["high"] - found["low"]) / 2 > found["standard_error"]).all()


def test_intervals_of_areas_cover(tmp_path: Path) -> None:
    met = total = 0
    made = spec(tmp_path, 2, invariants=[])
    truth = np.array(pl.read_csv(tmp_path / "blocks.csv")["people"]).reshape(24, 4)
    regions = topdown(made).design.regions
    expected = [int(each.sum()) for each in regions.areas[0].sums(truth)]
    for seed in range(12):
        folder = tmp_path / str(seed)
        holdfast.release(made, folder, seed=seed)
        found = intervals(folder, place="place", margin=[], level=0.8).to_frame()
        met += sum(
            low <= count <= high
            for low, count, high in zip(found["low"], expected, found["high"], strict=True)
        )
        total += len(expected)
    assert met >= 0.6 * total  # 48 at a level of 0.8: fewer than 29 once in a thousand or less


def test_intervals_of_areas_that_invariants_fix_are_points(tmp_path: Path) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=5)
    found = intervals(tmp_path / "out", place="place", margin=[]).to_frame()
    assert found["kept_exactly"].all()
    truth = prepare(spec(tmp_path)).public.invariants[1].values
    assert found["estimate"].to_list() == truth.tolist()


def test_regrouped_levels_bring_areas_near(tmp_path: Path) -> None:
    usual = topdown(spec(tmp_path, 1)).design.regions
    near = topdown(spec(tmp_path, 1, geography={"regroup": ["tract"]})).design.regions
    assert usual.sizes[-1] == near.sizes[-1] == 24
    for kind in range(2):
        assert near.nodes_away(kind).mean() < usual.nodes_away(kind).mean()
    # every part of a county is whole: no area cuts a tract
    assert (near.in_one_area("tract", 0) >= 0).all()
    assert set(near.places["county"]) == {"91", "92"}
    made = spec(tmp_path, 1, geography={"regroup": ["tract"]})
    holdfast.release(made, tmp_path / "out", seed=1)
    assert verify(tmp_path / "out").kept


def test_how_many_nodes_make_an_area_is_the_least_number(tmp_path: Path) -> None:
    """By trying all sets of nodes, added or taken away, of a small tree."""
    lines = [f"{code},{n}" for n, code in enumerate(("111", "112", "113", "121", "122", "131"))]
    (tmp_path / "blocks.csv").write_text("\n".join(["block,people", *lines]) + "\n")
    inside = {"111": "a", "112": "a", "121": "a", "122": "a", "113": "b", "131": "b"}
    told = [f"{block},{area}" for block, area in inside.items()]
    (tmp_path / "place.csv").write_text("\n".join(["block,place", *told]) + "\n")
    geography = {
        "column": "block",
        "prefixes": {"state": 1, "tract": 2, "block": 3},
        "areas": {"place": "place.csv"},
    }
    plain = asked(mechanism={"name": "topdown"}, invariants=[])
    plain["data"] = {"path": "blocks.csv", "count": "people", "geography": geography}
    prepared = prepare(Spec.of(plain, folder=tmp_path))
    made = prepared.mechanism
    assert isinstance(made, TopDown)
    regions = made.design.regions
    nodes = [
        of == node for of in map(regions.spine.ancestors, regions.levels) for node in range(of.max() + 1)
    ]
    for area, found in enumerate(regions.nodes_away(0).tolist()):
        wanted = (regions.areas[0].of == area).astype(int)
        fewest = min(
            sum(map(abs, signs))
            for signs in product((-1, 0, 1), repeat=len(nodes))
            if (sum(sign * node for sign, node in zip(signs, nodes, strict=True)) == wanted).all()
        )
        assert found == fewest
    (told_,) = made.plan_details["areas"]
    assert told_ == {"areas": "place", "number": 2, "nodes": {"mean": 2.5, "most": 3}}


def test_regrouped_levels_split_those_below(tmp_path: Path) -> None:
    (tmp_path / "place.csv").write_text("block,place\n9111,North\n9112,North\n9211,North\n")
    geography = {"areas": {"place": "place.csv"}, "regroup": ["county"]}
    plain = asked(mechanism={"name": "topdown"}, invariants=[])
    (tmp_path / "blocks.csv").write_text(rows())
    plain["data"]["geography"] = {"column": "block", "prefixes": PREFIXES, **geography}
    regions = topdown(Spec.of(plain, folder=tmp_path)).design.regions
    assert regions.places["county"] == ("9 in North", "9 in none")
    # tracts 911 and 921 lie in both parts
    assert "911 in North" in regions.places["tract"]
    assert "911 in none" in regions.places["tract"]
    assert "912" in regions.places["tract"]


def test_only_what_sums_of_areas_tell_apart_is_estimated(tmp_path: Path) -> None:
    by_age = {"marginal": ["age"], "weight": {"place": "1"}}
    cells = {**CELLS, "weight": {"block": "1", "county": "1"}}
    shares = {**dict.fromkeys(SHARES, "0"), "county": "1/4", "block": "1/2", "place": "1/4"}
    made = topdown(spec(tmp_path, 3, mechanism={"allocation": shares, "queries": [cells, by_age]}))
    (one, two) = area_tables(made.design)
    assert sorted(one.classes.toarray().tolist()) == [[0, 0, 1, 1], [1, 1, 0, 0]]  # by age, and no further
    assert one.width == 4 * 2
    assert two.width == 3 * 2  # of districts invariants by age
    counts = prepare(spec(tmp_path, 3)).counts
    values = made.law(counts).measure(SeededEntropy(0))
    leaves = estimated(made.design, made.measurements, values)[-1]
    assert leaves.shape == made.design.regions.possible.shape


def test_codes_of_a_file_of_areas_that_the_data_do_not_have_are_a_warning(tmp_path: Path) -> None:
    made = spec(tmp_path)
    told = [said for said in prepare(made).warnings if "place.csv" in said]
    assert told == []
    (tmp_path / "place.csv").write_text("block,place\n9111,North\n8888,Old\n9112,\n7777,North\n")
    (said,) = [said for said in prepare(made).warnings if "place.csv" in said]
    assert "place.csv, row 3, column 'block' is '8888', which " in said
    assert said.endswith(
        "blocks.csv does not have, as 1 more of its rows do: nothing of it is in an area, unless a code is"
        " misspelt."
    )


def test_columns_that_a_message_offers_are_those_of_the_file(tmp_path: Path) -> None:
    made = spec(tmp_path)
    (tmp_path / "blocks.csv").write_text(rows().replace("people", "inhabitants", 1))
    with pytest.raises(HoldfastError) as told:
        prepare(made)
    assert str(told.value).endswith(
        "has no column 'people': choose from 'block', 'age', 'sex', 'inhabitants'."
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("block,place\n9111,North\n9111,South\n", "in the areas 'North' and 'South'"),
        ("block,place\n7777,North\n", "has no block of the data"),
        ("block,town\n9111,North\n", "has no column 'place'"),
        ("code,place\n9111,North\n", "no column with the codes of a level"),
        (
            "block,place\n9111,North\n911,South\n",
            "is '911', and codes of a block have 4 ",
        ),
        ("block,place\n9111,North\n9112,North\n9111,North\n", "place.csv, row 4 repeats row 2: "),
    ],
)
def test_a_bad_file_of_areas_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    made = spec(tmp_path)
    (tmp_path / "place.csv").write_text(text)
    with pytest.raises(HoldfastError, match=said) as caught:
        prepare(made)
    assert str(caught.value).count(". ") == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"geography": {"areas": {"tract": "place.csv"}}}, "which is a level"),
        ({"geography": {"regroup": ["block"]}}, "between the root and the leaves"),
        ({"geography": {"areas": {}, "regroup": ["tract"]}}, "regroup is for areas"),
        ({"invariants": [{"margin": ["place", "county"]}]}, "of place by county"),
        ({"invariants": [{"total": True, "level": "town"}]}, "no level"),
        ({"invariants": [{"where": {"place": "North"}}]}, "add 'place' to its margin"),
        ({"mechanism": {"allocation": {**SHARES, "town": "0"}}}, "no level of the geography"),
    ],
)
def test_what_cannot_be_asked_of_areas_is_one_sentence(
    tmp_path: Path, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(HoldfastError, match=said):
        prepare(spec(tmp_path, **more))


def test_noise_on_the_lattice_keeps_areas_too(tmp_path: Path) -> None:
    spec(tmp_path, 1)
    other = asked(invariants=KEPT[1:2], mechanism={"name": "lattice-gaussian"})
    other["data"]["geography"] = {"column": "block", "prefixes": PREFIXES, "areas": {"place": "place.csv"}}
    holdfast.release(Spec.of(other, folder=tmp_path), tmp_path / "out", seed=1)
    assert verify(tmp_path / "out").kept
    assert holdfast_verify.verify(tmp_path / "out").exit_code == 0


def test_nodes_above_the_leaves_have_no_areas(tmp_path: Path) -> None:
    made = topdown(spec(tmp_path))
    public = prepare(spec(tmp_path)).public
    counts = public.spread(prepare(spec(tmp_path)).counts[None])[0]
    county = Nodes(public, made, 1)
    assert county.schema.names == ("state", "county", "age", "sex")
    assert county.sums(counts).sum() == counts.sum()
    assert Nodes(public, made, 3).schema.names[4:6] == ("place", "district")


@pytest.mark.parametrize("regroup", [[], ["tract"]])
def test_tables_of_several_files_keep_areas_together(tmp_path: Path, regroup: list[str]) -> None:
    """Also where one of them has no row for some blocks; with what is known across them."""
    spec(tmp_path, 4)
    lines = [line.split(",") for line in rows().splitlines()[1:]]
    homes = {block: 0 for block, *_ in lines}
    for block, _, _, people in lines:
        homes[block] += int(people) // 2
    told = ["block,homes", *(f"{block},{n}" for block, n in homes.items() if n or regroup)]
    (tmp_path / "homes.csv").write_text("\n".join(told) + "\n")
    shares = {**dict.fromkeys(PREFIXES, "1/5"), "place": "1/5"}
    asked_ = FilesSpec.of(
        {
            "data": {
                "geography": {
                    "column": "block",
                    "prefixes": PREFIXES,
                    "areas": {"place": "place.csv"},
                    "regroup": regroup,
                }
            },
            "privacy": {"standard": "zcdp", "adjacency": "unit"},
            "mechanism": {"name": "topdown"},
            "tables": [
                {
                    "name": "people",
                    "cells": ["age", "sex"],
                    "data": {"path": "blocks.csv", "count": "people"},
                    "privacy": {"unit": "person", "rho": "1"},
                    "invariants": [{"total": True, "level": "place"}],
                    "mechanism": {"name": "topdown", "allocation": shares, "queries": [CELLS]},
                },
                {
                    "name": "homes",
                    "data": {"path": "homes.csv", "count": "homes"},
                    "privacy": {"unit": "home", "rho": "1/2"},
                    "invariants": [{"total": True, "level": "place"}],
                },
            ],
            "constraints": {
                "across": [{"left": {"table": "homes"}, "sense": "<=", "right": {"table": "people"}}]
            },
        },
        folder=tmp_path,
    )
    holdfast.release(asked_, tmp_path / "out", seed=1)
    assert verify(tmp_path / "out").kept
    assert holdfast_verify.verify(tmp_path / "out").exit_code == 0
    place = pl.read_csv(tmp_path / "place.csv", infer_schema_length=0)
    for name, truth in (("people", "blocks"), ("homes", "homes")):
        found = pl.read_csv(tmp_path / "out" / f"{name}.csv", infer_schema_length=0)
        true = pl.read_csv(tmp_path / f"{truth}.csv", infer_schema_length=0)
        true = true.join(place, on="block", how="left").with_columns(pl.col("place").fill_null("none"))
        counted = [each.rename({name: "people"}, strict=False) for each in (found, true)]
        assert sums(counted[0], "place") == sums(counted[1], "place")
    both = [pl.read_csv(tmp_path / "out" / f"{name}.csv") for name in ("people", "homes")]
    living = dict(both[0].group_by("block").agg(pl.col("people").sum()).iter_rows())
    assert all(n <= living[block] for block, n in both[1].select("block", "homes").iter_rows())


def test_areas_without_a_share_are_not_measured(tmp_path: Path) -> None:
    equal = topdown(spec(tmp_path, mechanism={"allocation": "equal", "queries": [CELLS]}))
    assert {each.of.level for each in equal.measurements} == {0, 1, 2, 3}
    with pytest.raises(HoldfastError, match="names 'place', which has no share of the budget"):
        topdown(spec(tmp_path, mechanism={"allocation": "equal", "queries": [CELLS, BY_AGE]}))
