"""What is told of a release that protects hardly anyone, and what has to be said before it is made."""

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.releases.several_tables import SPEC as TABLES
from tests.releases.several_tables import write_people

import holdfast
from holdfast.ledger.account import Ledger
from holdfast.privacy.claims import Claim
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import GuaranteeError

ACCEPT = "--accept-no-protection"
NOTHING, HARDLY = "The guarantee promises next to nothing", "The noise hardly changes anything"
COUNTS = "sex,age,n\nf,18,3\nf,30,4\nm,18,2\nm,30,5\n"
SPEC = """
[data]
path = "data.csv"
cells = ["sex", "age"]
count = "n"

[data.levels]
sex = ["f", "m"]
age = ["18", "30"]

[[invariants]]
total = true

[privacy]
epsilon = "100"
"""
SWAP = """
[data]
path = "data.csv"

[privacy]
adjacency = "unit"
epsilon = "9"

[mechanism]
name = "permutation-swapping"
stratify = ["sex"]
swap = ["age"]
rate = "1/50"
"""
GEOGRAPHY = "state,county,sex,n\nS,A,f,3\nS,A,m,4\nS,B,f,2\nS,B,m,5\n"
TOPDOWN = """
[data]
path = "data.csv"
cells = ["sex"]
count = "n"

[data.geography]
columns = ["state", "county"]

[[invariants]]
total = true
level = "state"

[privacy]
adjacency = "unit"
epsilon = "100"

[mechanism]
name = "topdown"
"""


def words(claim: dict[str, Any]) -> str:
    """Put a claim of a certificate into words."""
    return Claim.from_dict(claim).words


def written(folder: Path, spec: str, data: str = COUNTS) -> Path:
    (folder / "data.csv").write_text(data, encoding="utf-8")
    path = folder / "spec.toml"
    path.write_text(spec, encoding="utf-8")
    return path


def opened(path: Path) -> Ledger:
    return Ledger.create(path, standard="pure", budget=Fraction(10**6))


def weak_tables(folder: Path) -> Path:
    assert 'epsilon = "1"' in TABLES
    return write_people(folder, TABLES.replace('epsilon = "1"', 'epsilon = "100"', 1))


KINDS: dict[str, Callable[[Path], Path]] = {
    "table": lambda folder: written(folder, SPEC),
    "tables": weak_tables,
    "records": lambda folder: written(folder, SWAP),
    "topdown": lambda folder: written(folder, TOPDOWN, GEOGRAPHY),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_protection_is_refused_before_anything_is_charged_or_written(
    run: Run, tmp_path: Path, kind: str
) -> None:
    spec, ledger = KINDS[kind](tmp_path), opened(tmp_path / "account.db")
    before = sorted(tmp_path.iterdir())
    done = run("release", spec, "--out", tmp_path / "out", "--ledger", ledger.path, "--quiet")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith("error: the guarantee is no protection to speak of")
    assert ACCEPT in done.err
    assert ledger.left() == 10**6
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("rate", ['rate = "1/50"', ""])
def test_a_swap_without_hope_is_refused_before_its_file_is_read(run: Run, tmp_path: Path, rate: str) -> None:
    spec = written(tmp_path, SWAP.replace('rate = "1/50"', rate))
    (tmp_path / "data.csv").write_text("no such columns\n")
    assert run("release", spec, "--out", tmp_path / "out").err.startswith(
        "error: the guarantee is no protection"
    )
    done = run("release", spec, "--out", tmp_path / "out", ACCEPT)
    assert done.code == 2
    assert "no column of" in done.err


@pytest.mark.parametrize("kind", KINDS)
def test_where_it_is_accepted_quiet_does_not_silence_what_is_told(
    run: Run, tmp_path: Path, kind: str
) -> None:
    spec = KINDS[kind](tmp_path)
    done = run("release", spec, "--out", tmp_path / "out", "--quiet", ACCEPT)
    assert (done.code, done.out) == (0, "")
    assert f"warning: {NOTHING}" in done.err
    told = json.loads(run("release", spec, "--out", tmp_path / "more", "--json", ACCEPT).out)["warnings"]
    assert any(one.startswith(NOTHING) for one in told)
    checked = run("verify", tmp_path / "out", "--quiet")
    assert (checked.code, checked.out) == (0, "")
    assert f"warning: {NOTHING}" in checked.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_foretells_it(run: Run, tmp_path: Path, kind: str) -> None:
    spec = KINDS[kind](tmp_path)
    done = run("plan", spec, "--quiet")
    assert (done.code, done.out) == (0, "")
    assert f"warning: {NOTHING}" in done.err
    assert ACCEPT in done.err
    told = json.loads(run("plan", spec, "--json").out)
    assert any(NOTHING in one for one in told["warnings"])
    assert told["verdict"]["level"] == "none"


def test_a_table_that_stays_as_it_is_is_told_wherever_it_is_used(run: Run, tmp_path: Path) -> None:
    spec = written(tmp_path, SPEC)
    done = run("release", spec, "--out", tmp_path / "out", "--quiet", ACCEPT)
    assert f"warning: {HARDLY}" in done.err
    options = ("--method", "nonnegative-l2", "--bias-draws", "0")
    made = run("postprocess", tmp_path / "out", *options, "--out", tmp_path / "processed", "--json")
    assert f"warning: {HARDLY}" in made.err
    assert any(one.startswith(HARDLY) for one in json.loads(made.out)["warnings"])


CROSSING = SPEC.replace("total = true", 'margin = ["sex"]\n[[invariants]]\nmargin = ["age"]')


@pytest.mark.parametrize("spec", [SPEC, CROSSING], ids=["law", "simulated"])
def test_a_plan_tells_that_noise_hardly_changes_anything_as_the_release_does(
    run: Run, tmp_path: Path, spec: str
) -> None:
    path = written(tmp_path, spec)
    planned = run("plan", path, "--json")
    told = json.loads(planned.out)
    made = json.loads(run("release", path, "--out", tmp_path / "out", "--json", ACCEPT).out)
    assert [one for one in told["warnings"] if one.startswith(HARDLY)]
    assert set(made["warnings"]) < set(told["warnings"])
    assert told["verdict"]["warnings"][0]["id"] == "hardly-changed"
    heard = [line.removeprefix("warning: ") for line in planned.err.splitlines() if "warning: " in line]
    assert heard == told["warnings"]


def test_a_seed_is_told_of_on_standard_error(run: Run, tmp_path: Path) -> None:
    spec = written(tmp_path, SPEC.replace("100", "1"))
    done = run("release", spec, "--out", tmp_path / "out", "--seed", "3", "--quiet")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("warning: THIS RELEASE PROTECTS NOBODY")


def test_ordinary_releases_are_told_nothing_of(run: Run, tmp_path: Path) -> None:
    done = run("release", written(tmp_path, SPEC.replace("100", "1")), "--out", tmp_path / "out", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_from_python_it_is_an_argument(tmp_path: Path) -> None:
    spec = written(tmp_path, SPEC)
    with pytest.raises(GuaranteeError, match="accept_no_protection=True"):
        prepare(spec).release(SeededEntropy(1))
    with pytest.raises(GuaranteeError, match="accept_no_protection=True"):
        holdfast.release(spec, tmp_path / "out")
    assert prepare(spec).release(SeededEntropy(1), accept_no_protection=True).outputs
    assert any(
        NOTHING in one for one in holdfast.release(spec, tmp_path / "out", accept_no_protection=True).warnings
    )


@pytest.mark.parametrize("strength", ['epsilon = "8"', 'standard = "zcdp"\nrho = "20"'])
@pytest.mark.parametrize("adjacency", ["semi", "unit"])
def test_nothing_is_said_to_be_certain(run: Run, tmp_path: Path, strength: str, adjacency: str) -> None:
    """A share below all of it is not rounded to 100 %, and no exception is made of what is no bound."""
    name = "lattice-gaussian" if "rho" in strength else "lattice-laplace"
    text = SPEC.replace('epsilon = "100"', f'{strength}\nadjacency = "{adjacency}"')
    spec = written(tmp_path, f'{text}[mechanism]\nname = "{name}"\n')
    done = run("release", spec, "--out", tmp_path / "out")
    assert "may be right with a probability of more than 99 %" in done.err
    made = run("release", spec, "--out", tmp_path / "out", ACCEPT)
    verdict = json.loads((tmp_path / "out" / "certificate.json").read_text())["verdict"]
    said = " ".join((done.err, made.out, made.err, *map(words, (verdict["meaning"], *verdict["warnings"]))))
    assert "100 %" not in said
    assert "all but certain, but for" not in said
    assert "all but certain" in words(verdict["meaning"])


def test_the_epsilon_that_a_rate_gives_can_be_asked_for(run: Run, tmp_path: Path) -> None:
    rows = "sex,age\n" + "f,18\nf,30\nm,18\nm,30\nf,30\n" * 12
    asked = SWAP.replace('stratify = ["sex"]', "stratify = []").replace("1/50", "1/2")
    said = run("plan", written(tmp_path, asked.replace('"9"', '"3"'), rows)).err
    (given,) = re.findall(r"gives epsilon (\S+) here", said)
    assert "above the target 3 in [privacy]" in said
    assert run("plan", written(tmp_path, asked.replace('"9"', f'"{given}"'), rows)).code == 0


@pytest.mark.parametrize("strength", ['epsilon = "10000"', 'standard = "zcdp"\nrho = "10000"'])
def test_measurements_without_noise_are_refused(run: Run, tmp_path: Path, strength: str) -> None:
    spec = written(tmp_path, TOPDOWN.replace('epsilon = "100"', strength), GEOGRAPHY)
    done = run("release", spec, "--out", tmp_path / "out", ACCEPT)
    assert (done.code, done.out) == (2, "")
    assert "ask for a smaller budget" in done.err


def test_a_test_takes_the_same_word(run: Run) -> None:
    asked = ("test", "odds-ratio", "3", "4", "5", "6", "--epsilon", "50")
    assert run(*asked).code == 2
    done = run(*asked, "--json", ACCEPT)
    assert done.code == 0
    assert any(NOTHING in one for one in json.loads(done.out)["warnings"])
