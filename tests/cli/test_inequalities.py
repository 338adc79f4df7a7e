"""Inequalities are public knowledge: what they leave is what is protected, from the audit to the ledger."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from holdfast.certificate.model import Certificate

ONES = "r,c\na,u\na,v\nb,u\nb,v\n"
BITS = "r,c\n1,1\n1,3\n2,1\n3,2\n4,3\n4,4\n"


def write(folder: Path, data: str, levels: str, margins: str, mechanism: str, privacy: str = "") -> Path:
    (folder / "data.csv").write_text(data)
    kept = "".join(f'[[invariants]]\nmargin = ["{name}"]\n' for name in margins)
    r, c = (json.dumps(list(part)) for part in levels.split())
    path = folder / f"{margins}.toml"
    path.write_text(
        f'[data]\npath = "data.csv"\ncells = ["r", "c"]\n[data.levels]\nr = {r}\nc = {c}\n{kept}'
        "[constraints]\nnonnegative = true\n"
        '[[constraints.inequalities]]\nmargin = ["r", "c"]\nat_most = 1\n'
        f'[privacy]\nepsilon = 1\n{privacy}\n[mechanism]\nname = "{mechanism}"\n'
    )
    return path


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
@pytest.mark.parametrize("mechanism", ["conditioned", "wasserstein-exponential"])
def test_a_single_table_is_not_released(tmp_path: Path, run: Run, mechanism: str, adjacency: str) -> None:
    spec = write(tmp_path, ONES, "ab uv", "rc", mechanism, f'adjacency = "{adjacency}"')
    before = sorted(tmp_path.iterdir())
    said = run("release", spec, "--out", tmp_path / "out")
    assert said.code == 2
    assert "invariants and inequalities leave one possible table" in said.err
    assert sorted(tmp_path.iterdir()) == before


def test_what_inequalities_reveal_is_told(tmp_path: Path, run: Run) -> None:
    spec = write(tmp_path, ONES, "ab uv", "rc", "conditioned")
    told = run("audit", "exposure", spec)
    assert "The invariants and inequalities reveal 4 of 4 cells, with 4 records in them" in told.out
    found = json.loads(run("audit", "universe", spec, "--json").out)
    assert found["semi_adjacency"]["worst_case"] == 0


def test_bits_are_audited_at_what_one_change_takes(tmp_path: Path, run: Run) -> None:
    spec = write(tmp_path, BITS, "1234 1234", "rc", "conditioned")
    found = json.loads(run("audit", "universe", spec, "--json").out)
    assert found["semi_adjacency"]["worst_case"] == 4
    assert found["sensitivity"]["linf"] == 1


def test_a_certificate_is_derived_with_its_inequalities(tmp_path: Path, run: Run) -> None:
    spec = write(tmp_path, "r,c\na,u\na,v\nb,u\n", "ab uvw", "r", "conditioned")
    assert run("release", spec, "--out", tmp_path / "out").code == 0
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    guarantee = Certificate.from_json(json.dumps(certificate)).guarantee
    assert "6 public inequalities hold" in [one.words for one in guarantee.scope.constraints]
    assert any("gamma = 0:" in item.claim.words for item in guarantee.evidence)
    assert run("verify", tmp_path / "out").code == 0


def test_a_ledger_counts_the_inequalities_of_all_releases(tmp_path: Path, run: Run) -> None:
    """Rows 2, 1 leave two tables of bits, and so do columns 2, 1; both together leave one."""
    data, ledger = "r,c\na,u\na,v\nb,u\n", tmp_path / "ledger"
    rows = write(tmp_path, data, "ab uv", "r", "conditioned")
    columns = write(tmp_path, data, "ab uv", "c", "conditioned")
    assert run("ledger", "open", ledger, "--budget", "100").code == 0
    assert run("release", rows, "--out", tmp_path / "one", "--ledger", ledger).code == 0
    said = run("release", columns, "--out", tmp_path / "two", "--ledger", ledger)
    assert said.code == 2
    assert "leave one possible table" in said.err
    assert not (tmp_path / "two").exists()
    assert run("release", rows, "--out", tmp_path / "two", "--ledger", ledger).code == 0
