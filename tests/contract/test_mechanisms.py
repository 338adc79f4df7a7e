"""Every mechanism of tables, on every case of its entry, through every check of the contract."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from tests.contract.cases import CASES, uncovered

from holdfast.mechanisms.catalogue import mechanisms, of_tables
from holdfast.sampling.entropy import SeededEntropy
from holdfast.testing.contract import CHECKS, Subject
from holdfast.universe.metrics import METRICS

EVERY = {f"{kind.name}: {case}": (kind, case) for kind in of_tables() for case in CASES.get(kind, ())}
EACH_RECORD = [
    name
    for name, (kind, case) in EVERY.items()
    if case.privacy.get("adjacency") == "unit" and not kind.estimated  # which states both readings
]
FIRST = {f"{kind.name}: {next(iter(CASES[kind]))}" for kind in of_tables() if CASES.get(kind)}
"""One case of each mechanism, for `make quick`."""
Subjects = Callable[[str], Subject]


@pytest.fixture(scope="session")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Subjects:
    """Prepare each case once."""
    made: dict[str, Subject] = {}

    def subject(name: str) -> Subject:
        if name not in made:
            kind, case = EVERY[name]
            made[name] = Subject.of(case, kind, tmp_path_factory.mktemp("case"))
        return made[name]

    return subject


def test_no_mechanism_slips_by() -> None:
    assert uncovered(mechanisms()) == [], "give each an entry in tests/contract/cases.py"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.quick] if name in FIRST else []) for name in EVERY]
)
def test_contract(check: Callable[[Subject], None], name: str, subjects: Subjects) -> None:
    check(subjects(name))


@pytest.mark.parametrize("name", EACH_RECORD)
def test_a_loss_for_each_record_needs_no_semi_adjacency(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are integer programs, and adjacency "unit" shall not wait for them."""

    def asked(*_: object) -> NoReturn:
        raise AssertionError("it was worked out")

    monkeypatch.setitem(METRICS, "replace", replace(METRICS["replace"], semi_adjacency=asked))
    monkeypatch.setitem(METRICS, "replace", replace(METRICS["replace"], sensitivity=asked))
    kind, case = EVERY[name]
    subject = Subject.of(case, kind, tmp_path)
    certificate = subject.ready.certify(secure=False)
    assert certificate.table.universe.semi_adjacency is None
    assert certificate.table.universe.sensitivity is None
    assert subject.ready.sample(SeededEntropy(1), 3).shape[0] == 3
