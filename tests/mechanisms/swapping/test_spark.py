"""Spark swaps as the embedded engine does: the same draws by seed, the same law and invariants without."""

import datetime
import os
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.mechanisms.swapping.small import few_bits, households

import holdfast
from holdfast.data.microdata import Microdata, MicrodataWriter, open_microdata
from holdfast.engines.spark_session import require_installed, spark_context
from holdfast.ledger.account import Ledger
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping import embedded, spark
from holdfast.mechanisms.swapping.embedded import Swap, Swapped, plain
from holdfast.mechanisms.swapping.public import Survey, survey
from holdfast.mechanisms.swapping.spark import Failure, require_spark, spark_groups
from holdfast.system.errors import DataError, ReleaseError
from holdfast.system.private import Private
from holdfast.verification.verify import verify

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # PySpark 4.0 leaves them
HALF = Fraction(1, 2)
Groups = Callable[[Microdata, Survey, Swap], Iterator[Swapped]]


@pytest.fixture(scope="module")
def _spark() -> Iterator[None]:
    """One Spark for all tests here, by settings of its user."""
    try:
        require_installed()
    except ReleaseError as error:
        pytest.skip(str(error))
    context = spark_context()
    assert context.master == "local[2]"  # by tests/conftest.py
    yield
    context.stop()


@pytest.fixture
def on_spark(_spark: None, tmp_path: Path) -> Iterator[Groups]:
    """The groups of Spark, which leaves nothing behind."""
    with Private.made(tmp_path / "draft") as folder:
        yield lambda records, survey, swap: spark_groups(records, survey, swap, folder)
        assert folder.names == []


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make groups and tasks of a few records."""
    monkeypatch.setattr(spark, "GROUP", 100)
    monkeypatch.setattr(spark, "BATCH", 100)


def columns(records: Microdata) -> ColumnRoles:
    return ColumnRoles.of(["stratum"], ["swapped"], records.columns, "records")


def looked_at(records: Microdata) -> Survey:
    return survey(records, columns(records), nulls=True)


def run(groups: Groups, records: Microdata, seed: int | None = None) -> pa.Table:
    """Return all records after a swap; where columns have dictionaries, with values in their place."""
    swap = Swap(columns(records), HALF, seed)
    found = [group.records for group in groups(records, looked_at(records), swap)]
    return pa.concat_tables(table.cast(plain(records.schema)) for table in found)


def odd_types(rows: int = 400) -> pa.Table:
    """Columns of names and types that Spark's own frames cannot hold, or would change."""
    some = [None if row % 7 == 0 else row for row in range(rows)]
    days = [None if row is None else datetime.timedelta(days=row) for row in some]
    moments = [None if day is None else datetime.datetime(2020, 1, 1) + day for day in days]
    return pa.table(
        {
            "swapped": pa.array([f"c{row % 11}" for row in range(rows)]),
            "a.b `c` \N{SNOWMAN}": pa.array(
                [None if row is None else 2**64 - 1 - row for row in some], pa.uint64()
            ),
            "": pa.array(days, pa.duration("ns")),
            "stratum": pa.array(
                [f"s{row % 9}" if row % 5 else None for row in range(rows)]
            ).dictionary_encode(),
            "time": pa.array(moments, pa.timestamp("ns", "Asia/Kathmandu")),
            "money": pa.array(
                [None if row is None else Decimal(row) / 8 for row in some], pa.decimal256(50, 3)
            ),
            "nested": pa.array([None if row is None else [{"x": row}, None] for row in some]),
            "Swapped": pa.array(some, pa.float32()),
            "bytes": pa.array([None if row is None else bytes([row % 256]) for row in some], pa.binary(1)),
            "nothing": pa.nulls(rows),
        }
    )


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", ["parquet", "csv", "frame"])
def test_a_seeded_draw_is_that_of_the_embedded_engine(on_spark: Groups, tmp_path: Path, kind: str) -> None:
    table = odd_types()
    if kind == "parquet":
        pa.parquet.write_table(table, tmp_path / "records.parquet", row_group_size=60)
        records = open_microdata(tmp_path / "records.parquet")
    elif kind == "csv":
        lines = [f'"s{row % 9}",c{row % 11},"a ""{row}"",\n b"' for row in range(400)]
        (tmp_path / "records.csv").write_text("\n".join(["stratum,swapped,own words", *lines, ""]))
        records = open_microdata(tmp_path / "records.csv")
    else:
        records = open_microdata(table)
    drawn, here = run(on_spark, records, seed=3), run(embedded.swapped_groups, records, seed=3)
    assert drawn.equals(here)
    assert not drawn.equals(run(on_spark, records, seed=4))


@pytest.mark.usefixtures("small")
def test_without_a_seed_invariants_are_kept_and_draws_differ(on_spark: Groups, tmp_path: Path) -> None:
    pa.parquet.write_table(odd_types(), tmp_path / "records.parquet", row_group_size=60)
    records = open_microdata(tmp_path / "records.parquet")
    with MicrodataWriter((tmp_path / "out.parquet").open("wb"), records) as writer:
        writer.write(first := run(on_spark, records))
    released = open_microdata(tmp_path / "out.parquet")
    before, after = looked_at(records), looked_at(released)
    assert released.schema == records.schema
    assert before.by_swap == after.by_swap
    assert before.by_held == after.by_held
    assert np.array_equal(before.sizes, after.sizes)
    assert not first.equals(run(on_spark, records))


def test_the_law_is_that_of_selections_and_derangements(on_spark: Groups) -> None:
    """Of three records at 1/2, given that not exactly one is selected: none, a pair, or all in two ways."""
    strata = 4000
    three = np.tile(np.arange(3), strata)
    table = pa.table({"stratum": np.repeat(np.arange(strata), 3), "swapped": three, "own": three})
    swapped = run(on_spark, open_microdata(table)).sort_by([("stratum", "ascending"), ("own", "ascending")])
    outcomes = Counter(map(tuple, swapped["swapped"].to_numpy().reshape(-1, 3).tolist()))
    law = {(0, 1, 2): 2, (1, 0, 2): 2, (2, 1, 0): 2, (0, 2, 1): 2, (1, 2, 0): 1, (2, 0, 1): 1}
    assert outcomes.keys() == law.keys()
    expected = np.array([strata * law[one] / 10 for one in law])
    statistic = ((np.array([outcomes[one] for one in law]) - expected) ** 2 / expected).sum()
    assert statistic < 48  # exceeded once in 250 million draws


@pytest.mark.usefixtures("small")
def test_sizes_and_moved_records_of_strata_come_back(on_spark: Groups) -> None:
    records = open_microdata(odd_types())
    found = looked_at(records)
    swap = Swap(columns(records), HALF, 5)
    groups = list(on_spark(records, found, swap))
    here = list(embedded.swapped_groups(records, found, swap))
    assert len(groups) > 2
    assert np.array_equal(np.concatenate([group.sizes for group in groups]), found.sizes)
    drawn, expected = (np.concatenate([group.moved for group in each]) for each in (groups, here))
    assert np.array_equal(drawn, expected)


@pytest.mark.usefixtures("small")
def test_a_run_can_be_left_and_another_begun(on_spark: Groups) -> None:
    records = open_microdata(odd_types())
    groups = on_spark(records, looked_at(records), Swap(columns(records), HALF))
    next(groups)
    groups.close()  # type: ignore[attr-defined]
    assert run(on_spark, records).num_rows == 400


def test_what_a_worker_cannot_read_is_one_sentence(on_spark: Groups, tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    pa.parquet.write_table(odd_types(), path)
    records = open_microdata(path)
    found = looked_at(records)
    written = path.read_bytes()
    path.write_bytes(written[:4] + bytes(200) + written[204:])
    with pytest.raises(DataError, match=r"^on a Spark worker, [^\n]*records\.parquet is not [^\n]*$"):
        list(on_spark(records, found, Swap(columns(records), HALF)))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DataError("the file is odd: mend it."), Failure("the file is odd: mend it.")),
        (FileNotFoundError(2, "No such file", "/shared/x"), "let every worker reach"),
        (MemoryError(), "too large for the memory"),
        (ValueError("Jane Doe"), "ValueError"),
    ],
)
def test_failures_of_workers_tell_no_value(error: Exception, said: str | Failure) -> None:
    def work() -> Iterator[int]:
        yield 1
        raise error

    first, failure = spark._with_failures(work())
    assert first == 1
    assert isinstance(failure, Failure)
    assert failure == said or said in failure.sentence  # type: ignore[operator]
    assert failure.fault == isinstance(error, ValueError)
    assert "Jane" not in failure.sentence


SPEC = """
[data]
path = "records.csv"
cells = ["stratum"]
[privacy]
unit = "record"
standard = "pure"
adjacency = "unit"
epsilon = "14"
[mechanism]
name = "permutation-swapping"
stratify = ["stratum"]
swap = ["swapped"]
rate = "1/2"
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    lines = [f"s{row % 9},c{row % 11},{row}" for row in range(400)]
    (tmp_path / "records.csv").write_text("\n".join(["stratum,swapped,own", *lines, ""]))
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path / "spec.toml"


@pytest.mark.usefixtures("_spark", "small")
def test_releases_have_the_same_files_on_both_engines(spec: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    holdfast.release(spec, first, engine="spark", seed=1, accept_no_protection=True)
    holdfast.release(spec, second, engine="embedded", seed=1, accept_no_protection=True)
    for name in ("microdata.csv", "table.csv"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert sorted(path.name for path in first.iterdir()) == sorted(path.name for path in second.iterdir())
    holdfast.release(spec, tmp_path / "third", engine="spark", accept_no_protection=True)
    assert verify(tmp_path / "third").kept
    assert (tmp_path / "third" / "microdata.csv").read_bytes() != (first / "microdata.csv").read_bytes()


def test_without_spark_nothing_is_written_or_charged(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "ledger.db", standard="pure", budget=Fraction(20))
    before = sorted(tmp_path.iterdir())
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ReleaseError, match="needs PySpark"):
        holdfast.release(spec, tmp_path / "release", engine="spark", ledger=ledger, accept_no_protection=True)
    assert sorted(tmp_path.iterdir()) == before
    assert ledger.rows() == ()


def stub(master: str, **settings: str) -> Any:
    conf = {name.replace("_", "."): value for name, value in settings.items()}
    return SimpleNamespace(master=master, getConf=lambda: conf)


def test_a_stratum_larger_than_a_worker_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    records = open_microdata(
        pa.table({"stratum": [1] * 9000 + [2], "swapped": [0] * 9001, "own": [0] * 9001})
    )
    tight = stub("spark://far", spark_executor_pyspark_memory="2048k", spark_executor_cores="2")
    monkeypatch.setattr(spark, "spark_context", lambda: tight)
    with pytest.raises(DataError, match=r"9,000 records.*spark\.executor\.pyspark\.memory"):
        require_spark(records, looked_at(records))


@pytest.mark.usefixtures("_spark")
def test_workers_are_tried_before_anything_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "records.parquet"
    pa.parquet.write_table(odd_types(), path)
    records = open_microdata(path)
    found = looked_at(records)
    require_spark(records, found)
    path.unlink()
    with pytest.raises(
        DataError, match=r"^on a Spark worker, \S*records\.parquet cannot be used \(No such file"
    ):
        require_spark(records, found)
    monkeypatch.setattr(spark, "VERSION", "0.0.1")
    with pytest.raises(DataError, match=r"and here it is 0\.0\.1"):
        require_spark(records, found)


def test_the_memory_of_a_worker_is_what_spark_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "free_memory", lambda: 5)
    assert spark.worker_memory(stub("local[*]", spark_executor_memory="4g"))[0] == 5
    assert spark.worker_memory(stub("yarn", spark_executor_memory="4096"))[0] == 4 * 1024**3
    assert spark.worker_memory(stub("yarn"))[0] == 1024**3


def test_spark_that_is_not_installed_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ReleaseError, match="install pyspark"):
        require_installed()


def fake_java(folder: Path, says: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.parametrize(
    ("says", "refused"),
    [
        (None, "there is none in JAVA_HOME"),
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11: install Java 17"),
        ('java version "1.8.0_20"', "is Java 8: install Java 17"),
        ('openjdk version "21" 2023-09-19', None),
    ],
)
def test_java_is_seventeen_or_newer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str | None, refused: str | None
) -> None:
    context = pytest.importorskip("pyspark").SparkContext
    monkeypatch.setattr(context, "_active_spark_context", None)
    home = fake_java(tmp_path / "java", says) if says else tmp_path
    monkeypatch.setenv("JAVA_HOME", str(home))
    if refused is None:
        require_installed()
    else:
        with pytest.raises(ReleaseError, match=refused):
            require_installed()


def test_spark_connect_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("SPARK_REMOTE", "sc://far")
    with pytest.raises(ReleaseError, match="Spark Connect"):
        require_installed()


def test_a_spark_that_does_not_start_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    try:
        require_installed()
    except ReleaseError as error:
        pytest.skip(str(error))
    script = (
        "from holdfast.system.errors import ReleaseError\n"
        "from holdfast.engines.spark_session import spark_context\n"
        "try:\n    spark_context()\nexcept ReleaseError as error:\n    print(error)\n"
    )
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "PYSPARK_SUBMIT_ARGS": "--master nonsense pyspark-shell",
    }
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    assert ended.stdout.startswith("Spark does not start (")
    assert ended.stdout.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_worker_refuses_strata_that_share_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "row_digests", few_bits)
    sink = pa.BufferOutputStream()
    spark._write(sink, households())
    swap = Swap(ColumnRoles(("state", "size"), ("county",), ("tenure", "income")), HALF)
    (failure,) = spark._swapped(tmp_path, swap, 0, [(0, sink.getvalue().to_pybytes())])
    assert failure.sentence.startswith("the file has two strata whose digests begin with the same 64 bits")
    assert not failure.fault
    assert not list(tmp_path.iterdir())
