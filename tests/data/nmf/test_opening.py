"""Files of noisy measurements: layouts that are read alike, and what is wrong with others in one sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.inference.opened import other

from holdfast.data.nmf.opened import OpenedMeasurements, read_opened
from holdfast.data.nmf.opening import open_measurements, read_measurements
from holdfast.system.errors import DataError, HoldfastError, ReleaseError

Rows = list[dict[str, Any]]


def same(one: OpenedMeasurements, two: OpenedMeasurements) -> bool:
    assert [each.levels for each in one.spine.levels] == [each.levels for each in two.spine.levels]
    assert one.histogram.sizes == two.histogram.sizes
    named = [
        {(each.level, opened.queries[each.query].name): each.values for each in opened.measured}
        for opened in (one, two)
    ]
    assert named[0].keys() == named[1].keys()
    return all(np.array_equal(values, named[1][key]) for key, values in named[0].items())


@pytest.fixture
def usual(tmp_path: Path) -> OpenedMeasurements:
    return read_measurements(other.layout(tmp_path / "usual", other.measured(), other.constraints()))


def test_the_layout_of_2020(usual: OpenedMeasurements, tmp_path: Path) -> None:
    assert usual.spine.levels.names == tuple(other.CODES)
    assert usual.histogram.levels == {"colour": ("0", "1", "2"), "size": ("0", "1")}
    assert [query.name for query in usual.queries] == list(other.SHAPES)
    assert {each.sign for each in usual.known} == {"=", "<="}
    assert len(usual.source) == 14
    usual.write(tmp_path / "out")
    again = read_opened(tmp_path / "out")
    assert same(usual, again)
    assert [each.query for each in again.known] == [each.query for each in usual.known]
    assert all(
        (each.variances == other.VARIANCES[usual.queries[each.query].name]).all() for each in again.measured
    )
    assert repr(again) == (
        "<measurements of US (1), State (1), County (2), Tract (4), Block (8), by colour (3), size (2)>"
    )


@pytest.mark.parametrize(
    "form",
    ["one file", "a file each", "folders", "other names", "no columns", "scalars", "texts", "named alike"],
)
def test_other_layouts(form: str, usual: OpenedMeasurements, tmp_path: Path) -> None:
    rows, folder = other.measured(), tmp_path / "in"
    apart = {level: [row for row in rows if row["level"] == level] for level in other.CODES}
    match form:
        case "one file":
            other.write(folder / "all.parquet", rows, without=("plb",))
        case "a file each":
            for level, some in apart.items():
                other.write(folder / f"{level}.parquet", some)
        case "folders":
            for level, some in apart.items():
                other.write(folder / level / "DPQuery" / "part.parquet", some)
        case "other names":
            names = {
                "level": "GEOLEVEL",
                "geocode": "geoid",
                "query_name": "query",
                "query_shape": "shape",
                "value": "values",
            }
            other.write(
                folder / "x.parquet",
                [{names.get(key, key): value for key, value in row.items()} for row in rows],
                (),
            )
        case "no columns":
            other.write(folder / "x.parquet", rows, without=("colour", "size", "plb"))
        case "texts":
            told = [
                {**row, "query_shape": str(tuple(row["query_shape"])), "value": str(row["value"])}
                for row in rows
            ]
            columns = {key: [row[key] for row in told] for key in told[0]}
            folder.mkdir()
            pq.write_table(pa.table(columns), folder / "x.parquet")
        case "named alike":
            for level, some in apart.items():
                by = {"colour * size": "colour by size"}
                named = [{**row, "query_name": by.get(row["query_name"], row["query_name"])} for row in some]
                other.write(
                    folder / level / "measurements.parquet", named, ("level", "colour", "size", "plb")
                )
        case "scalars":
            total = [{**row, "value": row["value"][0]} for row in rows if row["query_name"] == "total_dpq"]
            other.write(folder / "1.parquet", [row for row in rows if row["query_name"] != "total_dpq"], ())
            columns = {key: [row[key] for row in total] for key in total[0]}
            pq.write_table(pa.table(columns), folder / "2.parquet")
    assert same(usual, read_measurements(folder))


def test_dictionaries_make_no_difference(tmp_path: Path) -> None:
    """Two axes of one size, whose names stand in columns alone: entries are listed once, or written out."""
    rows = [
        {"geocode": code, "query_name": name, "sex": sex, "colour": colour, "value": value, "variance": 2.0}
        | {"query_shape": [2, 1] if colour == "*" else [2, 3]}
        for code, name, sex, colour, value in (
            ("1", "sq_dpq", "sex", "*", [5, 6]),
            *((code, "d_dpq", "detailed", "detailed", [1, 2, 3, 4, 5, 6]) for code in ("1", "11", "12")),
        )
    ]
    plain = pa.Table.from_pylist(rows)
    names = ("geocode", "query_name", "sex", "colour", "variance")
    listed = plain
    for name in names:
        listed = listed.set_column(plain.schema.get_field_index(name), name, plain[name].dictionary_encode())
    lists = plain["value"].combine_chunks()
    values = pa.ListArray.from_arrays(lists.offsets, lists.values.dictionary_encode())
    nested = listed.set_column(plain.schema.get_field_index("value"), "value", values)
    opened = []
    for name, table in (("plain", plain), ("listed", listed), ("nested", nested)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
        opened.append(read_measurements(tmp_path / f"{name}.parquet"))
    assert opened[0].histogram.names == ("sex", "colour")
    for each in opened[1:]:
        assert each.histogram == opened[0].histogram
        assert each.queries == opened[0].queries
        assert same(opened[0], each)


def test_a_file_without_levels_has_them_by_length(tmp_path: Path) -> None:
    rows = [row for row in other.measured() if row["level"] != "US"]
    other.write(tmp_path / "measurements.parquet", rows)
    found = read_measurements(tmp_path / "measurements.parquet")
    assert found.spine.levels.names == ("level 3", "level 6", "level 8", "level 9")


def test_a_part_of_the_geography(tmp_path: Path) -> None:
    folder = other.layout(tmp_path / "in", other.measured())
    found = read_measurements(folder, within=["044003"])
    assert found.spine.levels.names == ("County", "Tract", "Block")
    assert found.sizes == (1, 2, 4)
    both = read_measurements(folder, within=["04400101", "04400300"])
    assert both.spine.levels.names == ("all", "Tract", "Block")
    with pytest.raises(DataError, match="the argument within names '044005', which is no node"):
        read_measurements(folder, within=["044005"])
    with pytest.raises(DataError, match="names '04400101', which is no node of the level County as"):
        read_measurements(folder, within=["044003", "04400101"])


def test_nodes_that_nothing_measured_are_those_of_their_codes(tmp_path: Path) -> None:
    rows = [row for row in other.measured() if row["geocode"] != "04400101"]
    found = read_measurements(other.layout(tmp_path / "in", rows))
    assert found.spine.codes("Tract") == tuple(other.CODES["Tract"])


def test_published_totals(tmp_path: Path) -> None:
    folder = other.layout(tmp_path / "in", other.measured())
    (tmp_path / "totals.csv").write_text("geocode,value,level\n044001,700,County\n044003,720,County\n")
    (known,) = read_measurements(folder, invariants=tmp_path / "totals.csv").known
    assert (known.level, known.values.ravel().tolist()) == (2, [700, 720])
    for text, said in (
        ("geocode,value\n044001,700\n", "has 1 of the 2 nodes of the level County"),
        ("geocode,value\n044009,700\n", "is '044009', which is no node of the measurements"),
        ("geocode,value\n044001,many\n", "is no whole number"),
        ("geocode,people\n044001,1\n", "has no column 'value'"),
        ("geocode,value\n044001,1\n044001,2\n", "is another number of '044001' than before"),
        ("geocode,value\n044001,-1\n044003,9\n", "County '044001' is -1, and counts are never below 0"),
        (f"geocode,value\n044001,{2**60}\n044003,9\n", r"is 1152921504606846976: sums of more than 2\^53"),
        (
            "geocode,value,level\n044001,7,County\n044003,7,County\n044,15,State\n",
            "total of State '044' is 15, and total of the level County adds up to 14 there",
        ),
    ):
        (tmp_path / "wrong.csv").write_text(text)
        with pytest.raises(DataError, match=said):
            read_measurements(folder, invariants=tmp_path / "wrong.csv")


def known(level: str, query: str, sign: str, *values: int, shape: tuple[int, int] = (1, 1)) -> Rows:
    """Return a constraint at all nodes of a level."""
    row = {**other.constraints()[0], "level": level, "query_name": f"{query}_con", "sign": sign}
    axes = {name: other.axis(name, query, size) for name, size in zip(("colour", "size"), shape, strict=True)}
    each = np.reshape(values, (len(other.CODES[level]), -1)).tolist()
    return [
        {**row, **axes, "geocode": code, "query_shape": list(shape), "value": some}
        for code, some in zip(other.CODES[level], each, strict=True)
    ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (known("State", "total", "=", -5), "total of State '044' is -5, and counts are never below 0"),
        (known("State", "total", "<=", -5), "total of State '044' is <= -5, and counts are never below 0"),
        (
            known("County", "total", "=", 3, 4) + known("State", "total", "=", 8),
            "total of State '044' is 8, and total of the level County adds up to 7 there",
        ),
        (
            known("County", "total", "<=", 3, 4) + known("US", "total", "=", 8),
            "total of US '0' is 8, and total of the level County adds up to 7 there",
        ),
        (
            known("County", "total", ">=", 3, 6) + known("State", "total", "=", 8),
            "total of State '044' is 8, and total of the level County adds up to 9 there",
        ),
        (
            known("County", "size", "=", 3, 4, 5, 6, shape=(1, 2)) + known("County", "total", "=", 7, 12),
            "total of County '044003' is 12, and size of the level County adds up to 11 there",
        ),
        (
            known("County", "total", "=", 3, 4) + known("State", "colour", ">=", 1, 8, 0, shape=(3, 1)),
            "colour 1 of State '044' is >= 8, and total of the level County adds up to 7 there",
        ),
    ],
)
def test_what_is_known_holds_of_some_counts(rows: Rows, said: str, tmp_path: Path) -> None:
    folder = other.layout(tmp_path / "in", other.measured(), rows)
    with pytest.raises(DataError, match=f"{said}: correct the constraint, or"):
        read_measurements(folder)


def test_bounds_that_counts_can_keep_are_no_contradiction(tmp_path: Path) -> None:
    rows = (
        known("State", "total", "=", 7)
        + known("County", "total", "<=", 7, 4)
        + known("County", "colour", ">=", 1, 0, 0, 2, 0, -3, shape=(3, 1))
        + known("Tract", "size", "<=", 9, 0, 0, 9, 0, 9, 0, 9, shape=(1, 2))
    )
    assert len(read_measurements(other.layout(tmp_path / "in", other.measured(), rows)).known) == 4


def test_a_constraint_has_a_sign(tmp_path: Path) -> None:
    rows = [{**row, "sign": None} for row in other.constraints()]
    with pytest.raises(
        DataError, match=r"Constraint.*row 1, sign is missing: write =, <= or >= in every row"
    ):
        read_measurements(other.layout(tmp_path / "in", other.measured(), rows))
    folder = other.layout(tmp_path / "without", other.measured(), other.constraints())
    for path in folder.rglob("Constraint/**/*.parquet"):
        table = pq.read_table(path).drop_columns("variance")
        none = pa.array([None] * table.num_rows, pa.string())
        pq.write_table(table.set_column(table.schema.get_field_index("sign"), "sign", none), path)
    with pytest.raises(DataError, match="sign is missing"):
        read_measurements(folder)


def test_what_lacks_is_said(tmp_path: Path) -> None:
    def warnings(name: str, rows: Rows, some: Rows | None = None) -> tuple[str, ...]:
        return read_measurements(other.layout(tmp_path / name, rows, some or [])).warnings

    rows = other.measured()
    assert warnings("whole", rows) == ()
    for level in ("State", "Tract", "Block"):
        (said,) = warnings(level, [row for row in rows if row["level"] != level])
        assert said.startswith(f"no file is of the level {level}: estimates go without what was measured")
    lacking = [row for row in rows if (row["geocode"], row["query_name"]) != ("044001001", "size_dpq")]
    (said,) = warnings("row", lacking)
    assert said.startswith("size was not measured of '044001001' of the level Block")
    (said,) = warnings("tract", [row for row in rows if row["geocode"] != "04400101"])
    assert said.startswith("no file names '04400101' of the level Tract, which codes below begin with")
    without = [row for row in rows if row["level"] not in ("US", "State")]
    said = " ".join(warnings("known", without, other.constraints()))
    assert "no file is of the level State" in said
    assert "what is known exactly of the level State was left out" in said
    block = [row for row in rows if row["geocode"] != "044001001"]
    with pytest.raises(DataError, match="nothing was measured of '044001001' of the level Block"):
        warnings("block", block, known("Block", "total", "=", *range(8)))


def test_one_query_is_said_alike_in_all_files(tmp_path: Path) -> None:
    rows = other.measured()
    first, second = (
        [row for row in rows if row["level"] != "Block"],
        [row for row in rows if row["level"] == "Block"],
    )
    halves = second[: len(second) // 2], second[len(second) // 2 :]
    spelled = [
        {**row, "size": "size" if row["query_name"] == "detailed_dpq" else row["size"]} for row in halves[1]
    ]
    for name, odd, without, said in (
        ("spelled", spelled, (), "detailed_dpq with size 'size', and .* with size 'detailed'"),
        ("without", halves[1], ("size",), "without one text for size, and .* with size"),
    ):
        other.write(tmp_path / name / "1.parquet", first + halves[0], ())
        other.write(tmp_path / name / "2.parquet", odd, without)
        with pytest.raises(DataError, match=f"{said}.*: say the same of a query at all nodes"):
            read_measurements(tmp_path / name)


def changed(at: int, **values: Any) -> Callable[[Rows], Rows]:
    return lambda rows: [{**row, **values} if place == at else row for place, row in enumerate(rows)]


def every(query: str, **values: Any) -> Callable[[Rows], Rows]:
    return lambda rows: [{**row, **values} if row["query_name"] == query else row for row in rows]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            changed(0, variance=-1.0),
            "row 1, variance is -1: it is above 0, and what is exact is a constraint",
        ),
        (changed(0, variance=0.0), "variance is 0: it is above 0"),
        (changed(1, value=[1, 2]), "value has 2 entries, and the shape of colour_dpq asks for 3"),
        (
            changed(5, query_shape=[3, 2], value=[1] * 6),
            "colour_dpq with 2 entries of size, which has 2 levels",
        ),
        (
            changed(37, query_shape=[2, 1], value=[1] * 2),
            "row 38 has another shape of colour_dpq: a query has one",
        ),
        (changed(0, query_shape=[1], value=[1]), r"axes|another shape"),
        (changed(0, query_shape=[0, 1], value=[1]), "sizes above 0"),
        (changed(8, geocode="044003"), "'044003' twice: keep one row"),
        (
            changed(59, geocode="7777777"),
            "'7777777' of the level Block|begins with no code of the level Tract",
        ),
        (
            lambda rows: [*rows, {**rows[-1], "geocode": "999999999"}],
            "'999999999' of the level Block lies in no County and no Tract that a file names",
        ),
        (changed(0, query_name=""), "row 1, query_name is '': write a text in every row"),
        (
            every("colour_dpq", colour="tint", query_shape=[2, 1], value=[4, 5]),
            r"2 entries of colour, which has 3 levels.*recodes.tint",
        ),
        (every("size_dpq", size="big", query_shape=[1, 1], value=[4]), "1 entries of size"),
        (
            lambda rows: [row for row in rows if row["level"] != "Block" or row["geocode"] < "044002"],
            "'04400300' of the level Tract has nothing in it at the level Block",
        ),
        (
            lambda rows: [{k: v for k, v in row.items() if k != "query_shape"} for row in rows],
            "has no column 'query_shape'",
        ),
        (
            lambda rows: [{k: v for k, v in row.items() if k != "variance"} for row in rows],
            "has no column 'variance'",
        ),
        (
            lambda rows: [{**row, "variance": float("inf")} for row in rows],
            "has no measurement with a variance",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    change: Callable[[Rows], Rows], said: str, tmp_path: Path
) -> None:
    other.write(tmp_path / "in" / "all.parquet", change(other.measured()), without=())
    with pytest.raises(HoldfastError, match=said):
        open_measurements(tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_values_are_whole(tmp_path: Path) -> None:
    rows = [{**row, "value": [each + 0.5 for each in row["value"]]} for row in other.measured()]
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    with pytest.raises(DataError, match="an entry that is not whole"):
        read_measurements(tmp_path / "in.parquet")


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.uint64()])
def test_values_can_be_added_exactly(kind: pa.DataType, tmp_path: Path) -> None:
    rows = other.measured()
    rows[1] = {**rows[1], "value": [1, 2**62, 3]}
    table = pa.Table.from_pylist([{**row, "value": [abs(each) for each in row["value"]]} for row in rows])
    values = table["value"].cast(pa.list_(kind), safe=False)
    table = table.set_column(table.schema.get_field_index("value"), "value", values)
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(
        DataError, match=r"row 2, value of colour_dpq has 4.*: values that add up to more than"
    ):
        read_measurements(tmp_path / "in.parquet")


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is neither a folder nor a file"):
        read_measurements(tmp_path / "nowhere")
    with pytest.raises(DataError, match="has no Parquet file"):
        read_measurements(tmp_path)
    for name in ("US_Person", "US_Unit"):
        other.layout(tmp_path / "both" / name, other.measured())
    with pytest.raises(DataError, match="several sets of measurements, 'US_Person' and 'US_Unit'"):
        read_measurements(tmp_path / "both")
    (tmp_path / "text.parquet").write_text("no")
    with pytest.raises(DataError):
        read_measurements(tmp_path / "text.parquet")
    folder = other.layout(tmp_path / "in", other.measured())
    open_measurements(folder, tmp_path / "out")
    with pytest.raises(ReleaseError, match="exists already"):
        open_measurements(folder, tmp_path / "out")


def test_constraints_that_nothing_explains_are_left_out_and_said(tmp_path: Path) -> None:
    odd = {**other.constraints()[0], "query_name": "nurses_con", "colour": "nurses"}
    found = read_measurements(other.layout(tmp_path / "in", other.measured(), [odd]))
    assert not found.known
    (warning,) = found.warnings
    assert warning == (
        "the constraint nurses_con of the level State was left out, as nothing says what it counts (colour"
        " nurses): a codebook may."
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[levels", "is not TOML"),
        ("[levels]\ncolour = ['a', 'a', 'b']\n", "colour is no list of different levels"),
        ("[recodes.warm]\nof = 'colour'\n", "needs of"),
        ("[recodes.warm]\nof = 'tint'\ngroups = { a = ['1'] }\n", "of 'tint', whose levels are not told"),
        (
            "[levels]\ncolour = ['a']\n[recodes.warm]\nof = 'colour'\ngroups = { x = ['b'] }\n",
            "names 'b': name levels",
        ),
        ("[names]\na = 1\n", r"has \[names\], which is not known"),
    ],
)
def test_codebooks(text: str, said: str, tmp_path: Path) -> None:
    folder = other.layout(tmp_path / "in", other.measured())
    (tmp_path / "book.toml").write_text(text)
    with pytest.raises(DataError, match=said):
        read_measurements(folder, codebook=tmp_path / "book.toml")


def test_products_of_2020_are_known_by_name(tmp_path: Path) -> None:
    """Persons of the redistricting data: eight places to live in three classes, two ages."""
    rows = []
    for level, code in (("US", "0"), ("State", "001"), ("State", "002")):
        for query, places, ages, shape in (
            ("total", "*", "*", [1, 1]),
            ("hhinstlevels", "hhinstlevels", "*", [3, 1]),
            ("hhgq * votingage", "hhgq", "votingage", [8, 2]),
        ):
            value = list(range(int(np.prod(shape))))
            rows.append(
                {
                    "level": level,
                    "geocode": code,
                    "query_name": f"{query}_dpq",
                    "hhgq": places,
                    "votingage": ages,
                }
                | {"query_shape": shape, "value": value, "variance": 2.5}
            )
    other.write(tmp_path / "in.parquet", rows, without=())
    found = read_measurements(tmp_path / "in.parquet")
    assert found.histogram.levels["votingage"] == ("0-17", "18+")
    recode = found.queries[1].groups[0]
    assert recode is not None
    assert {name: len(levels) for name, levels in recode.items()} == {
        "household": 1,
        "institutional": 4,
        "other": 3,
    }
