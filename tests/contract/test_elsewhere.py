"""Mechanisms of another package: found by entry points, held to the contract, named in certificates."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.contract.files import COLUMNS, File, FileCase
from tests.contract.neighbours import Neighbours

import holdfast as hf
from holdfast import registry
from holdfast.data.table import PublicTable
from holdfast.mechanisms.catalogue import record_of
from holdfast.mechanisms.details import ReleasedFiles
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.checks import Check
from holdfast.system.errors import MechanismError, MissingMechanismError
from holdfast.testing import contract
from holdfast.testing.contract import Subject
from holdfast.testing.goodness import LEVEL, p_value
from holdfast.testing.worlds import Case, World

KINDS = {
    "neighbours": "neighbours:Neighbours",
    "shared-out": "shared_out:SharedOut",
    "whole-file": "whole_file:WholeFile",
}
"""One that adds noise to a table, one that measures and estimates, and one of records."""
DRAWS = 100
"""Releases of a file; each takes a while."""
OF_TABLES = ("neighbours", "shared-out")
CASE = Case("one total", {"epsilon": "8"})
EACH = Case("one total", {"epsilon": "8", "adjacency": "unit"})
OWN = World({"score": "uvw"}, (3, 0, 2), ({"total": True},))
CASES = (CASE, EACH, Case(OWN, {"epsilon": "8"}))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a package of mechanisms, as a folder on the path."""
    folder = tmp_path / "site"
    (folder / "elsewhere").mkdir(parents=True)
    (folder / "elsewhere/__init__.py").touch()
    for file in (kind.split(":")[0] for kind in KINDS.values()):
        text = Path(__file__).with_name(f"{file}.py").read_text(encoding="utf-8")
        text = text.replace('"tests:', f'"{tmp_path.name}:')  # an id is of one claim
        (folder / f"elsewhere/{file}.py").write_text(text, encoding="utf-8")
    info = folder / "elsewhere-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.2\n")
    announce(folder, "\n".join(f"{name} = elsewhere.{place}" for name, place in KINDS.items()))
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == "elsewhere"]:
        del sys.modules[name]


def announce(folder: Path, lines: str) -> None:
    (folder / "elsewhere-1.2.dist-info/entry_points.txt").write_text(f"[{registry.GROUP}]\n{lines}\n")
    importlib.invalidate_caches()


@pytest.mark.parametrize("name", OF_TABLES)
def test_it_passes_the_contract(package: Path, name: str) -> None:
    assert name in registry.names()
    assert not any(module.startswith("elsewhere.") for module in sys.modules)  # until it is asked for
    contract.check(registry.find(name), CASES)


@pytest.mark.parametrize("file", ["shared_out.py", "whole_file.py"])
def test_public_rooms_have_what_it_is_made_of(file: str) -> None:
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    rooms = set(re.findall(r"^from (holdfast[\w.]*) import", text, flags=re.MULTILINE))
    assert "holdfast.workshop" in rooms
    assert rooms <= {"holdfast", "holdfast.calculus", "holdfast.workshop"}


def test_it_is_the_first_thing_that_a_process_loads(package: Path) -> None:
    """It imports the public rooms while it is looked for: nothing there asks for all mechanisms meanwhile."""
    ran = subprocess.run(
        [sys.executable, "-c", "import holdfast as hf; print([kind.name for kind in hf.MECHANISMS][-3:])"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(package), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "['neighbours', 'shared-out', 'whole-file']\n"


def test_what_is_not_installed_is_said(package: Path) -> None:
    with pytest.raises(AssertionError, match=r"leads to <class 'elsewhere\.neighbours\.Neighbours'>"):
        contract.check(Neighbours, [CASE])  # of another module


def test_what_it_estimates_is_estimated_again(package: Path, tmp_path: Path) -> None:
    subject = Subject.of(CASE, registry.find("shared-out"), tmp_path)
    release = subject.ready.release(SeededEntropy(4), accept_no_protection=True)
    assert list(release.outputs) == ["measured", "table"]
    folder = release.write(tmp_path / "release")
    assert Check("estimates", holds=True) in hf.verify(folder).checks
    table = PublicTable(release.table.schema, release.table.counts[::-1], release.table.count)
    files = ReleasedFiles(folder, {"measured": "measured.csv"}, table, None, quoted_formulas=False)
    (said,) = subject.mechanism.check(subject.public, files, whole=True)
    assert (said.name, said.holds) == ("estimates", False)


def test_it_is_named_with_its_package_and_version(package: Path, tmp_path: Path) -> None:
    subject = Subject.of(CASE, registry.find("neighbours"), tmp_path)
    record = subject.mechanism.record().model_dump(mode="json", by_alias=True)
    assert (record["package"], record["version"]) == ("elsewhere", "1.2")
    assert record_of(record) == subject.mechanism.record()
    shutil.rmtree(package)
    importlib.invalidate_caches()
    with pytest.raises(MissingMechanismError, match=r"install elsewhere 1\.2") as missing:
        record_of(record)
    assert (missing.value.name, missing.value.package) == ("neighbours", "elsewhere")


FILE = FileCase("sax sby scz", Fraction(1, 2), attained=True)


def records() -> hf.Prepared:
    """Prepare the records of a small file, all of one stratum."""
    asked = {
        "data": {},
        "privacy": {"adjacency": "unit"},
        "mechanism": {"name": "whole-file", "swap": ["swapped"], "rate": str(FILE.rate), "bound": "tight"},
    }
    columns = {name: [record[at] for record in FILE.file] for at, name in enumerate(COLUMNS) if at}
    return hf.prepare(hf.Spec.of(asked), pa.table(columns))


def test_one_of_records_passes_what_those_of_records_pass(package: Path, tmp_path: Path) -> None:
    """Its loss is listed; its release is charged, named and verified."""
    ledger = hf.Ledger.create(tmp_path / "account.ledger", standard="pure", budget=Fraction(1000))
    release = records().release(SeededEntropy(0), ledger=ledger, accept_no_protection=True)
    assert ledger.spent() == release.certificate.guarantee.intensity["epsilon"]
    stated = float(ledger.spent())
    assert stated * (1 - 1e-9) <= max(FILE.losses()) <= stated * (1 + 1e-12)
    assert type(release.certificate.records.mechanism) is registry.find("whole-file").Record
    record = release.certificate.to_dict()["parts"][0]["mechanism"]
    assert (record["name"], record["package"], record["version"]) == ("whole-file", "elsewhere", "1.2")
    assert hf.Certificate.from_json(release.certificate.to_json()) == release.certificate
    folder = release.write(tmp_path / "release")
    assert hf.verify(folder).kept
    shutil.rmtree(package)
    with pytest.raises(
        MissingMechanismError, match=r"'whole-file' is not known here: install elsewhere 1\.2"
    ):
        failed(folder)


def test_draws_of_records_follow_the_law(package: Path) -> None:
    numbers: dict[File, int] = {}

    def shares(rate: Fraction) -> dict[tuple[int], float]:
        law = FILE.law(FILE.file, rate).items()
        return {(numbers.setdefault(file, len(numbers)),): float(chance) for file, chance in law}

    law, other = shares(FILE.rate), shares(Fraction(1, 5))
    seen, ready = [], records()
    for seed in range(DRAWS):
        drawn = ready.release(SeededEntropy(seed), accept_no_protection=True)
        rows = drawn.microdata.select("swapped", "held").rows()
        seen.append([numbers[tuple(sorted(("s", one, two) for one, two in rows))]])
    assert p_value(np.array(seen), law) > LEVEL
    assert p_value(np.array(seen), other) < LEVEL / 1000


def test_verify_says_what_it_lacks(package: Path, tmp_path: Path) -> None:
    subject = Subject.of(CASE, registry.find("neighbours"), tmp_path)
    folder = subject.ready.release(SeededEntropy(4), accept_no_protection=True).write(tmp_path / "release")
    info = package / "elsewhere-1.2.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.3\n")
    info.rename(package / "elsewhere-1.3.dist-info")
    assert failed(folder) == ["the certificate claims version 1.2, and what follows is 1.3"]
    shutil.rmtree(package)
    said = "the mechanism 'neighbours' is not known here: install elsewhere 1.2, which has it"
    with pytest.raises(MissingMechanismError, match=said):
        failed(folder)  # that is no violation
    assert hf.verify(folder, quick=True).kept
    (folder / "table.csv").write_text("other")
    assert failed(folder)[-1] == said


def failed(folder: Path) -> list[str]:
    importlib.invalidate_caches()
    return [check.detail for check in hf.verify(folder).checks if not check.holds]


def test_its_options_are_checked_like_all(package: Path) -> None:
    assert hf.MechanismChoice(name="neighbours").name == "neighbours"
    with pytest.raises(hf.HoldfastError, match="did you mean 'neighbours'"):
        hf.MechanismChoice(name="neighbors")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("other = elsewhere.neighbours:Neighbours", "calls itself 'neighbours'"),
        ("other = elsewhere.neighbours:Fraction", "is no class that derives from"),
        ("other = elsewhere.neighbours:Absent", "cannot be loaded"),
        ("other = elsewhere.absent:Absent", "cannot be loaded"),
    ],
)
def test_what_does_not_declare_what_it_needs_is_refused(package: Path, line: str, said: str) -> None:
    announce(package, line)
    with pytest.raises(MechanismError, match=said):
        registry.find("other")


def test_no_package_takes_a_name_of_holdfast(package: Path) -> None:
    announce(package, "lattice-laplace = elsewhere.neighbours:Neighbours")
    assert registry.find("lattice-laplace").__module__ == "holdfast.mechanisms.lattice_laplace"
    assert registry.provider("lattice-laplace") is None
