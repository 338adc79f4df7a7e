"""What a database cannot give is told in one sentence, and nothing is written or charged."""

import sqlite3
from pathlib import Path

import pytest
from tests.cli.conftest import Run


@pytest.fixture
def database(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "people.db") as connected:
        connected.execute("CREATE TABLE people (age int, sex text)")
        connected.executemany("INSERT INTO people VALUES (?, ?)", [(i % 3, "fm"[i % 2]) for i in range(60)])
    connected.close()
    return tmp_path / "people.db"


def spec(database: Path, source: str) -> Path:
    path = database.with_name("holdfast.toml")
    head = f'[data]\ndatabase = "{database.name}"\n{source}\ncells = ["age", "sex"]\n'
    path.write_text(head + '[[invariants]]\ntotal = true\n[privacy]\nepsilon = "1"\n')
    return path


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('table = "peple"', "people.db has no table 'peple': did you mean 'people'?"),
        ('query = "SELECT age, sx FROM people"', "people.db refuses the query (no such column: sx)"),
        ('query = "DROP TABLE people"', "holdfast.toml, [data] query is no SELECT"),
        ('path = "a.csv"\ntable = "people"', "[data] path and database are two sources of one table"),
        ("", "[data] database needs a table or a query, and neither is set"),
    ],
)
def test_what_is_wrong_costs_nothing(source: str, said: str, database: Path, run: Run) -> None:
    ledger, out = database.with_name("ledger"), database.with_name("out")
    run("ledger", "open", ledger, "--budget", "2")
    before = ledger.read_bytes()
    found = run("release", spec(database, source), "--out", out, "--ledger", ledger)
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert said in found.err
    assert (ledger.read_bytes(), out.exists()) == (before, False)


def test_releases_of_one_database_are_of_one_file(database: Path, run: Run) -> None:
    ledger = database.with_name("ledger")
    run("ledger", "open", ledger, "--budget", "2")
    for number, source in enumerate(('table = "people"', 'query = "SELECT * FROM people"')):
        out = database.with_name(f"out{number}")
        assert run("release", spec(database, source), "--out", out, "--ledger", ledger).code == 0
        assert run("verify", out).code == 0
        assert b"people.db" not in (out / "certificate.json").read_bytes()
    out = database.with_name("out")
    found = run("release", spec(database, 'table = "people"'), "--out", out, "--ledger", ledger)
    assert (found.code, out.exists(), "left" in found.err) == (2, False, True)
