"""Databases are read as the file of the same rows is; sessions only read; what goes wrong is one sentence."""

import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.postgres import PASSWORD, USER, Server, running

import holdfast as hf
from holdfast.data.connections import connection, quoted
from holdfast.data.databases import Relation, records_of
from holdfast.data.microdata import open_microdata
from holdfast.data.read import ReadTable, read_table
from holdfast.releases.first_spec import Wishes, propose
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError, HoldfastError, SpecError

duckdb = pytest.importorskip("duckdb")

ROWS = [
    (i, ("Alpha", "Beta", "it's; --")[i % 3], i * 7 % 4, "fm"[i // 5 % 2], None if i % 9 else i)
    for i in range(1, 121)
]
NAMES = ("id", 'the "county"', "age", "sex", "income")
KINDS = ("int", "text", "int", "text", "int")
CELLS = NAMES[1:4]
TABLE = 'people; drop "x"'
ENGINES = ("PostgreSQL", "DuckDB", "SQLite")


def literal(value: object) -> str:
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def create() -> Iterator[str]:
    columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in zip(NAMES, KINDS, strict=True))
    yield f"CREATE TABLE {quoted(TABLE)} ({columns})"
    for row in ROWS:
        values = ", ".join(literal(value) for value in row)
        yield f"INSERT INTO {quoted(TABLE)} VALUES ({values})"
    cells = ", ".join(map(quoted, CELLS))
    yield f"CREATE VIEW counts AS SELECT {cells}, count(*) AS n FROM {quoted(TABLE)} GROUP BY {cells}"
    yield "CREATE TABLE odd (county text, n int, x double precision)"
    yield "INSERT INTO odd VALUES ('Alpha', 3, 1.5), ('Alpha', -1, 1.5), ('Beta', NULL, 1.5)"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as found:
        with found.cursor() as cursor:
            for said in create():
                cursor.execute(said)
        yield found


@pytest.fixture(params=ENGINES)
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same tables in a database of each kind."""
    if request.param == "PostgreSQL":
        for key, value in request.getfixturevalue("server").environment.items():
            monkeypatch.setenv(key, value)
        return "postgresql:///postgres"
    path = tmp_path / "people.db"
    with (duckdb.connect if request.param == "DuckDB" else sqlite3.connect)(path) as connected:
        for said in create():
            connected.execute(said)
    connected.close()
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    pl.DataFrame(ROWS, schema=NAMES, orient="row").write_parquet(path)
    return path


def spec_of(**data: Any) -> hf.Spec:
    return hf.Spec(data=hf.Data(**data), privacy=hf.Privacy(epsilon="1"))


def read(**data: Any) -> ReadTable:
    return read_table(spec_of(**data))


def test_records_are_grouped_as_a_file_of_them_is(database: str, file: Path) -> None:
    truth = read(path=str(file), cells=CELLS)
    query = f"SELECT * FROM {quoted(TABLE)} -- all"
    for source in ({"table": TABLE}, {"query": query}):
        found = read(database=database, cells=CELLS, **source)
        assert found.table.schema == truth.table.schema
        assert (found.table.counts == truth.table.counts).all()
        assert found.warnings == truth.warnings
        assert (found.identity, found.header, found.marks) == (truth.identity, truth.header, truth.marks)


def test_counts_are_summed_as_those_of_a_file_are(database: str, file: Path) -> None:
    levels = {NAMES[1]: ("Beta", "it's; --", "Alpha"), "age": ("0", "1", "2", "3")}
    asked: dict[str, Any] = {"cells": CELLS[:2], "count": "n", "levels": levels}
    counts = pl.read_parquet(file).group_by(CELLS).len("n")
    truth = read_table(spec_of(**asked, aggregate=True), counts)
    found = read(database=database, table="counts", **asked, aggregate=True)
    assert (found.table.counts == truth.table.counts).all()
    assert (found.identity, found.marks) == (truth.identity, truth.marks)
    with pytest.raises(DataError, match=r"repeats the cell .* set aggregate=True"):
        read(database=database, table="counts", **asked)
    assert read(database=database, table="counts", cells=CELLS, count="n").table.counts.sum() == len(ROWS)


def test_a_geography_of_codes_is_that_of_a_file(database: str, file: Path) -> None:
    """Its levels are read one after the other, and the database groups its rows by all of them at once."""
    places = "SELECT CASE age WHEN 1 THEN '11' WHEN 2 THEN '12' ELSE '23' END AS code, sex FROM "
    frame = pl.read_parquet(file)
    code = pl.col("age").cast(pl.String).replace_strict({"1": "11", "2": "12"}, default="23").alias("code")
    asked: dict[str, Any] = {
        "cells": ("sex",),
        "geography": {"column": "code", "prefixes": {"all": 0, "county": 1, "tract": 2}},
    }
    truth = read_table(spec_of(**asked), frame.select(code, "sex"))
    found = read(database=database, query=places + quoted(TABLE), **asked)
    assert found.table.schema == truth.table.schema
    assert (found.table.counts == truth.table.counts).all()
    assert found.table.counts.sum() == len(ROWS)


def test_rows_that_are_sums_of_others_are_left_out_as_those_of_a_file_are(database: str, file: Path) -> None:
    asked: dict[str, Any] = {"cells": ("sex",), "omit": {NAMES[1]: ("it's; --", "Beta"), "income": ("9",)}}
    truth, found = read(path=str(file), **asked), read(database=database, table=TABLE, **asked)
    assert (found.table.counts == truth.table.counts).all()
    assert found.identity == truth.identity
    with pytest.raises(DataError, match="has no column 'sx': did you mean 'sex'"):
        read(database=database, table=TABLE, cells=("sex",), omit={"sx": ("f",)})


def test_records_come_in_batches_as_they_are(database: str, file: Path) -> None:
    found = records_of(spec_of(database=database, table=TABLE, cells=CELLS))
    assert (found.rows, found.columns, TABLE in repr(found)) == (len(ROWS), NAMES, False)
    names = ["id", *CELLS]
    truth = pl.DataFrame(open_microdata(file).whole(names)).cast(pl.String).sort("id")
    for batches in [found.batches(names), found.batches(names)]:  # side by side
        assert pl.DataFrame(next(batches)).cast(pl.String).sort("id").equals(truth)


def test_no_session_can_write(database: str) -> None:
    with pytest.raises(DataError), connection(database, Path()).session() as session:
        list(session.read("CREATE TABLE nix (a int)", None))
    with pytest.raises(DataError), connection(database, Path()).session() as session:
        session.columns(f"(DELETE FROM {quoted(TABLE)}) AS gone")
    assert read(database=database, table=TABLE, cells=CELLS).table.counts.sum() == len(ROWS)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"table": "peple"}, r"has no table 'peple': "),
        ({"table": "od"}, r"has no table 'od': did you mean 'odd'\?"),
        ({"cells": ("conty",)}, r"has no column 'conty': did you mean 'county'\?"),
        ({"cells": ("x",)}, r"column 'x' holds Float64 values: store its levels as text"),
        ({"count": "x"}, r"column 'x' holds values of the type double: cast it in a query"),
        ({"count": "n", "aggregate": True}, r"column 'n' (is below zero|has no number) in some row of"),
        ({"table": None, "query": "SELECT nix FROM odd"}, r"refuses the query \(.*nix.*\): correct data"),
        ({"table": None, "query": "SELECT county FROM odd WHERE n > 5"}, r"has no rows"),
        ({"table": None, "query": "SELECT NULL AS county FROM odd"}, r"'county' of some row has no level"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_there_or_no_level_is_told(database: str, data: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(**{"database": database, "table": "odd", "cells": ("county",), **data})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"database": "postgresql://me:geheim@host/x"}, "password: leave it out, and set PGPASSWORD"),
        ({"database": "postgresql://host/x?sslmode=prefer&password=geheim"}, "database has a password"),
        ({"database": "host=x password = geheim"}, "database has a password"),
        ({"database": ["postgresql://me:geheim@host/x"]}, "database must be text in quotes"),
        ({"database": "mysql://me@host/geheim"}, "database is of a server that is not known"),
        ({"query": "DELETE FROM people"}, "query is no SELECT"),
        ({"query": "SELECT 1; DROP TABLE people"}, "query has a semicolon"),
        ({"query": "WITH a AS (DELETE FROM b RETURNING *) SELECT * FROM a"}, "query does more than read"),
        ({"query": "SELECT 1) AS a, (SELECT 2"}, "query has a quotation mark, a comment or a parenthesis"),
        ({"query": "SELECT 1 /* a"}, "query has a quotation mark, a comment or a parenthesis"),
        ({"query": "SELECT 1", "table": "a"}, "needs a table or a query, and both are set"),
        ({"table": None}, "needs a table or a query, and neither is set"),
        ({"path": "a.csv"}, "path and database are two sources of one table: take one out"),
        ({"database": None}, "table is of a database, and none is named"),
    ],
    ids=str,
)  # fmt: skip
def test_a_spec_says_one_source_and_no_secret(data: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said) as caught:
        hf.Data(
            **{"database": "a.db", "cells": ("a",), **({} if "query" in data else {"table": "a"}), **data}
        )
    assert "geheim" not in f"{caught.value!r}{caught.value.__context__!r}"


def test_credentials_are_refused_and_never_shown(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for key, value in server.environment.items():
        monkeypatch.setenv(key, value)
    own: dict[str, Any] = {"table": TABLE, "cells": CELLS}
    for change, said in (
        ({"PGPASSWORD": "wrong-" + PASSWORD}, "does not let this user in: set PGUSER and PGPASSWORD"),
        ({"PGUSER": "nobody"}, "does not let this user in"),
        ({"PGHOST": str(tmp_path)}, "cannot be reached: check the host"),
        ({"PGDATABASE": "nix"}, "does not exist: check the name"),
    ):
        address = "postgresql://" if "PGDATABASE" in change else "postgresql:///postgres"
        with monkeypatch.context() as patch:
            for key, value in change.items():
                patch.setenv(key, value)
            with pytest.raises(DataError, match=said) as caught:
                read(database=address, **own)
        assert PASSWORD not in str(caught.value)
    # a service file, and a file of passwords
    (tmp_path / "services").write_text(f"[agency]\nhost={server.folder}\ndbname=postgres\nuser={USER}\n")
    (tmp_path / "pass").write_text(f"*:*:*:{USER}:{PASSWORD}\n")
    (tmp_path / "pass").chmod(0o600)
    for key in server.environment:
        monkeypatch.delenv(key)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    spec = hf.Spec(
        data=hf.Data(database="postgresql://?service=agency", **own), privacy=hf.Privacy(epsilon="1")
    )
    prepared = hf.prepare(spec)
    prepared.release().write(tmp_path / "out")
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert [word for word in (PASSWORD, USER, "agency", str(server.folder)) if word.encode() in written] == []
    assert [word for word in (PASSWORD, USER) if word in repr(spec) + repr(prepared)] == []


def test_a_connection_that_is_lost_in_mid_read_is_told(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in server.environment.items():
        monkeypatch.setenv(key, value)
    query = "SELECT generate_series(1, 1000000000) AS age"  # is sent as long as somebody reads
    data = hf.Data(database="postgresql:///postgres", query=query, cells=("age",))
    rows = Relation.of(data, Path()).rows()
    assert next(rows).num_rows > 0
    with server.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                       " AND backend_type = 'client backend'")  # fmt: skip
        assert cursor.fetchall() == [(True,)]
    with pytest.raises(DataError, match=r"connection to postgresql:///postgres was lost while it was read"):
        list(rows)


def test_rows_that_change_while_they_are_read_are_told(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with sqlite3.connect(path) as connected:
        connected.execute("CREATE TABLE people AS SELECT 1 AS age")
        connected.commit()
        found = read(database=str(path), table="people", cells=("age",))
        connected.execute("INSERT INTO people VALUES (2)")
    connected.close()
    with pytest.raises(DataError, match="the data changed while they were read: run the command again"):
        found.identity  # noqa: B018


@pytest.mark.parametrize(
    "content", [b"", b"age,n\n1,2\n", b"SQLite format 3\0" + b"x" * 99, b"x" * 8 + b"DUCK" * 9]
)
def test_what_is_no_database_is_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    path.write_bytes(content)
    with pytest.raises(
        HoldfastError, match=r"people\.db (is a file neither|cannot be opened|stopped the query)"
    ):
        read(database=str(path), table="people", cells=("age",))


def test_nesting_is_looked_for_in_all_rows_that_a_group_stands_for(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with sqlite3.connect(path) as connected:
        connected.execute("CREATE TABLE people (tract int, county int)")
        rows = [(i % 12, i % 12 // 3) for i in range(600)]
        connected.executemany("INSERT INTO people VALUES (?, ?)", rows)
    connected.close()
    (said,) = read(database=str(path), table="people", cells=("tract", "county")).warnings
    assert "each tract in one county" in said


def test_a_first_spec_for_a_table_releases_as_it_is(database: str, tmp_path: Path) -> None:
    for source in ({"table": TABLE}, {"query": f"SELECT * FROM {quoted(TABLE)}"}):
        found = propose(database, Wishes(keep=("sex", "total")), folder=tmp_path, **source)
        assert (found.cells, found.count) == ((*CELLS, "income"), None)
        assert set(found.left_out) == {"id"}
        prepared = hf.prepare(Spec.of(tomllib.loads(found.text), folder=tmp_path))
        assert prepared.counts.sum() == len(ROWS)


def test_a_first_spec_for_counts_and_for_what_is_not_there(database: str, tmp_path: Path) -> None:
    found = propose(database, table="counts", folder=tmp_path)
    assert (found.cells, found.count) == (CELLS, "n")
    hf.prepare(Spec.of(tomllib.loads(found.text), folder=tmp_path))
    with pytest.raises(DataError, match="name one, or write a query"):
        propose(database, folder=tmp_path)
    with pytest.raises(DataError, match="has no table 'cunts': did you mean 'counts'"):
        propose(database, table="cunts", folder=tmp_path)
    with pytest.raises(DataError, match="no column 'sx'"):
        propose(database, Wishes(keep=("sx",)), table="counts", folder=tmp_path)
    with pytest.raises(SpecError, match="has a password"):
        propose("postgresql://me:secret@host/db", table="people")
