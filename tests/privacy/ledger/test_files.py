"""Which charges are of one file."""

from dataclasses import replace
from hashlib import sha256

from tests.privacy.ledger.accounts import charge

from holdfast.privacy.ledger import Charge, files


def named(file: str, table: str | None = None, *, old: bool = False) -> Charge:
    """Return a charge; an old one names a table alone."""
    prints = {name: sha256(name.encode()).hexdigest() for name in (file, table) if name is not None}
    detail = {} if old else {"version": 2, "table": None if table is None else prints[table]}
    return replace(charge(), dataset=prints[file], detail=detail)


def test_charges_of_one_file_have_its_fingerprint() -> None:
    assert files([named("2020"), named("2021"), named("2020"), named("2022")]) == [[0, 2], [1], [3]]
    assert files([]) == []


def test_an_old_charge_is_of_the_file_whose_table_it_names() -> None:
    old = named("county by sex", old=True)
    assert files([old, named("2020", "county by sex")]) == [[0, 1]]
    assert files([old, named("2020", "county by age")]) == [[0], [1]]


def test_a_later_charge_can_join_what_was_apart() -> None:
    old, age, sex = named("county by sex", old=True), named("2020", "age"), named("2020", "county by sex")
    assert files([old, age]) == [[0], [1]]
    assert files([old, age, named("2021"), sex]) == [[0, 1, 3], [2]]


def test_the_same_table_in_two_new_files_joins_nothing() -> None:
    assert files([named("2020", "sex"), named("2021", "sex")]) == [[0], [1]]
