"""What an error advises can be done: names that would be taken, and ways out that lead somewhere."""

import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run

COUNTS = "sex,age,n\nf,18,3\nf,30,4\nf,70,1\nm,18,2\nm,30,5\nm,70,0\n"
SPEC = """
[data]
path = "data.csv"
cells = ["sex", "age"]
count = "n"

[[invariants]]
margin = ["sex"]

[privacy]
epsilon = "1"

[mechanism]
name = "lattice-laplace"
"""


def refused(run: Run, folder: Path, spec: str, data: str = COUNTS) -> str:
    (folder / "data.csv").write_text(data, encoding="utf-8")
    (folder / "spec.toml").write_text(spec, encoding="utf-8")
    done = run("plan", folder / "spec.toml")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    return done.err


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("laplace", "lattice-laplace' or 'anchored-laplace"),
        ("lattice-laplce", "lattice-laplace"),
        ("Topdown", "topdown"),
    ],
)
def test_a_mechanism_that_is_proposed_is_one_that_releases(
    run: Run, tmp_path: Path, name: str, meant: str
) -> None:
    said = refused(run, tmp_path, SPEC.replace("lattice-laplace", name))
    assert f"did you mean '{meant}'?" in said
    assert "naive" not in said


def test_a_mechanism_for_2_x_2_tables_is_not_proposed_for_others(run: Run, tmp_path: Path) -> None:
    spec = SPEC.replace('epsilon = "1"', 'standard = "gaussian"\nmu = "1"')
    said = refused(run, tmp_path, spec)
    assert "noisy-count" not in said
    assert "set standard = \"pure\" with epsilon, in place of mu, or name = 'lattice-gaussian' in" in said
    (tmp_path / "spec.toml").write_text(spec.replace("lattice-laplace", "lattice-gaussian"))
    assert run("plan", tmp_path / "spec.toml").code == 0


BUDGETS = {
    "pure": 'epsilon = "1"',
    "zcdp": 'standard = "zcdp"\nrho = "1"',
    "approximate": 'standard = "approximate"\nepsilon = "1"\ndelta = "1e-9"',
    "gaussian": 'standard = "gaussian"\nmu = "1"',
}
WAY = re.compile(r'"(\w+)" with ([a-z ]+?)(?= or "|, )')


@pytest.mark.parametrize(
    ("name", "standard"),
    [
        *(("lattice-laplace", standard) for standard in ("zcdp", "approximate", "gaussian")),
        ("lattice-gaussian", "pure"),
    ],
)
def test_each_standard_that_is_proposed_is_met(run: Run, tmp_path: Path, name: str, standard: str) -> None:
    spec = SPEC.replace("lattice-laplace", name)
    path = tmp_path / "spec.toml"
    said = refused(run, tmp_path, spec.replace(BUDGETS["pure"], BUDGETS[standard]))
    ways = WAY.findall(said)
    assert ways
    for other, keys in ways:
        assert all(f"{key} =" in BUDGETS[other] for key in keys.split(" and "))
        path.write_text(spec.replace(BUDGETS["pure"], BUDGETS[other]), encoding="utf-8")
        assert run("plan", path).code == 0
    if found := re.search(r"or name = '([a-z-]+)'", said):
        path.write_text(
            SPEC.replace("lattice-laplace", found[1]).replace(BUDGETS["pure"], BUDGETS[standard]),
            encoding="utf-8",
        )
        assert run("plan", path).code == 0


@pytest.mark.parametrize("name", ["lattice-laplace", "lattice-gaussian"])
def test_a_budget_of_another_standard_says_whose_it_is(run: Run, tmp_path: Path, name: str) -> None:
    spec = SPEC.replace("lattice-laplace", name)
    said = refused(run, tmp_path, spec.replace("epsilon =", 'standard = "gaussian"\nepsilon ='))
    assert 'which takes mu, but to "pure" or "approximate": change the standard, or give mu' in said
    said = refused(run, tmp_path, spec.replace(BUDGETS["pure"], 'epsilon = "1"\ndelta = "1e-9"'))
    assert 'but to "approximate": change the standard, or leave it out.' in said


def test_a_mechanism_of_another_standard_is_not_proposed(run: Run, tmp_path: Path) -> None:
    said = refused(run, tmp_path, SPEC.replace("lattice-laplace", "gaussian"))
    assert "did you mean" not in said
    assert "'lattice-gaussian'" not in said
    spec = SPEC.replace("lattice-laplace", "gaussian").replace(BUDGETS["pure"], BUDGETS["zcdp"])
    assert "did you mean 'lattice-gaussian'?" in refused(run, tmp_path, spec)


def test_records_are_proposed_for_rows_alone(run: Run, tmp_path: Path) -> None:
    spec = SPEC.replace("lattice-laplace", "swapping")
    assert "permutation-swapping" not in refused(run, tmp_path, spec)
    assert "did you mean 'permutation-swapping'?" in refused(run, tmp_path, spec.replace('count = "n"', ""))
    swap = '[data]\npath = "data.csv"\n[privacy]\nepsilon = "1"\n[mechanism]\nname = "permutation-swaping"\n'
    assert "did you mean 'permutation-swapping'?" in refused(run, tmp_path, swap)


@pytest.mark.parametrize("name", ["topdwn", "swapping", "noisy-cuont", "k-nrom"])
def test_among_several_tables_only_what_can_be_there_is_proposed(run: Run, tmp_path: Path, name: str) -> None:
    tables = '[[tables]]\nname = "a"\ncells = ["sex"]\n[[tables]]\nname = "b"\ncells = ["age"]\n'
    spec = f'[data]\npath = "data.csv"\n{tables}[privacy]\nepsilon = "1"\n[mechanism]\nname = "{name}"\n'
    said = refused(run, tmp_path, spec)
    if name == "k-nrom":
        assert "did you mean 'k-norm'?" in said
    else:
        assert (
            "choose from 'lattice-laplace', 'k-norm', 'wasserstein-exponential', 'anchored-laplace'." in said
        )


def test_another_mechanism_is_proposed_within_the_bounds_of_the_spec(run: Run, tmp_path: Path) -> None:
    spec = SPEC.replace("lattice-laplace", "conditioned") + "[constraints]\nnonnegative = true\n"
    said = refused(run, tmp_path, spec.replace('epsilon = "1"', 'standard = "zcdp"\nrho = "1"'))
    assert "is not met by conditioned" in said
    assert "lattice-gaussian" not in said


def test_another_word_is_no_slip_of_the_pen(run: Run, tmp_path: Path) -> None:
    data = COUNTS.replace("age", "tract")
    said = refused(run, tmp_path, SPEC.replace("age", "tract").replace('["sex"]', '["race"]'), data)
    assert "did you mean" not in said
    assert "choose from 'sex', 'tract'" in said


@pytest.mark.parametrize("hidden", ["*", "<5", "**", "x", "(suppressed)"])
def test_a_suppressed_count_says_which_table_to_take(run: Run, tmp_path: Path, hidden: str) -> None:
    said = refused(run, tmp_path, SPEC, COUNTS.replace("f,30,4", f"f,30,{hidden}"))
    assert "row 3" in said
    assert "take the counts as they were before any was suppressed" in said


@pytest.mark.parametrize(("written", "digits"), [('"1,012"', "1012"), ("1 012 345", "1012345")])
def test_a_count_in_groups_of_digits_says_how_to_write_it(
    run: Run, tmp_path: Path, written: str, digits: str
) -> None:
    said = refused(run, tmp_path, SPEC, COUNTS.replace("f,30,4", f"f,30,{written}"))
    assert f"write it without separators, as {digits}, or set thousands" in said


def test_noise_that_is_too_narrow_to_be_drawn_says_how_wide_it_can_be(run: Run, tmp_path: Path) -> None:
    rows = [f"a{i},b{j},{(7 * i + j) % 23}" for i in range(16) for j in range(8)]
    spec = (
        SPEC.replace("lattice-laplace", "lattice-gaussian")
        .replace('epsilon = "1"', 'standard = "zcdp"\nrho = "8"\nadjacency = "unit"')
        .replace("[privacy]", '[[invariants]]\nmargin = ["age"]\n[privacy]')
    )
    said = refused(run, tmp_path, spec, "sex,age,n\n" + "\n".join(rows) + "\n")
    assert "as the noise is narrow: ask for a rho 2 times smaller" in said
    pure = spec.replace('standard = "zcdp"\nrho = "8"', 'epsilon = "4"')
    other = pure.replace('"lattice-gaussian"', '"lattice-laplace"\nnorm = "l2"')
    assert 'set standard = "pure" with epsilon 4 in [privacy], which implies the target' in said
    assert 'name = "lattice-laplace" and norm = "l2" (a cell is off by' in said
    for way in (spec.replace('rho = "8"', 'rho = "4"'), other):
        (tmp_path / "way.toml").write_text(way, encoding="utf-8")
        assert run("plan", tmp_path / "way.toml").code == 0


def test_a_recoded_empty_value_is_had_by_rows_without_one(run: Run, tmp_path: Path) -> None:
    spec = (
        SPEC.replace('count = "n"', 'count = "n"\nmissing = [""]')
        + '[data.recode]\nsex = { unknown = [""], f = ["f"], m = ["m"] }\n'
    )
    (tmp_path / "data.csv").write_text(COUNTS + ",18,2\n", encoding="utf-8")
    path = tmp_path / "spec.toml"
    path.write_text(spec, encoding="utf-8")
    done = run("plan", path)
    assert "which no row has" not in done.err
    path.write_text(spec.replace('["m"]', '["m", "z"]'), encoding="utf-8")
    assert "lists 'z', which no row has" in run("plan", path).err
