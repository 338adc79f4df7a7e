"""`holdfast audit publication` and `holdfast coarsen`, with what they write, and `holdfast verify` of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

TABLE = (
    "village,age,people\nAlder,young,40\nAlder,old,*\nBirch,young,*\nBirch,old,25\nCedar,young,33\n"
    "Cedar,old,18\n"
)
VILLAGES = "village,people\nAlder,44\nBirch,31\nCedar,51\n"
SPEC = """[[published]]
path = "table.csv"
rule = "suppressed"
below = 10
[[published]]
path = "villages.csv"
[population]
group = { facts = "age", largest = 9 }
"""
FIRMS = (
    "region,branch,firms\nNorth,food,12\nNorth,metal,2\nNorth,wood,9\nSouth,food,31\nSouth,metal,14\n"
    "South,wood,1\nWest,food,8\nWest,metal,5\nWest,wood,6\n"
)
COARSE = """[[published]]
path = "firms.csv"
rule = "suppressed"
below = 3
[coarsen]
totals = true
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("table.csv", TABLE),
        ("villages.csv", VILLAGES),
        ("out.toml", SPEC),
        ("firms.csv", FIRMS),
        ("firms.toml", COARSE),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_facts_are_verified_from_the_published_files_alone(run: Run, here: Path) -> None:
    (here / "facts").mkdir()
    found = run("audit", "publication", "out.toml", "--out", "facts/facts.json", "--json")
    assert found.code == 0
    report = json.loads(found.out)
    assert [one["least"] for one in report["determined"] if not one["printed"]] == [4, 6]
    assert run("verify", "facts/facts.json").out.endswith("these facts follow from the published files.\n")
    told = json.loads((here / "facts" / "facts.json").read_text())
    assert [one["path"] for one in told["published"]] == ["../table.csv", "../villages.csv"]
    changes: tuple[Any, ...] = (
        lambda one: one["cells"][0].update(least=39),
        lambda one: one["determined"].pop(),
        lambda one: one["tables_left"].update(least=2),
        lambda one: one["remedies"][0].update(least=9),
        lambda one: one["population"].update(cells=7),
        lambda one: one["published"][0].update(below=9),
        lambda one: one["published"][0].update(sha256="0"),
        lambda one: one["contradictions"].append(
            {"numbers": [told["remedies"][-1]["drop"]], "smallest": True}
        ),
        lambda one: one.pop("groups"),
        lambda one: one.pop("published"),
        lambda one: one.update(verdict="safe"),
        lambda one: one["cells"][0].update(least=float(one["cells"][0]["least"])),
        lambda one: one["remedies"][0].update(cell=[]),
        lambda one: one["remedies"][0].update(cell={"county": "nowhere"}),
        lambda one: one["remedies"][0].update(drop={"path": 1}),
        lambda one: one["remedies"][0].update(drop={"path": "nowhere.csv"}),
        lambda one: one["remedies"][0].update(round=0),
        lambda one: one["remedies"][0].update(round=10**30),
        lambda one: one["remedies"][0].update(more=1),
        lambda one: one.update(remedies={}),
        lambda one: one["population"].update(attributes=[]),
        lambda one: one["published"][0].update(path="a\0b"),
        lambda one: one["published"][0].update(path="\ud800.csv"),
        lambda one: one.update(
            contradictions=[{"numbers": [{"path": "", "row": 1, "levels": [], "value": 1}], "smallest": True}]
        ),
    )
    for change in changes:
        other = json.loads(json.dumps(told))
        change(other)
        (here / "facts" / "other.json").write_text(json.dumps(other))
        answer = run("verify", "facts/other.json")
        assert (answer.code, "VIOLATED" in answer.out) == (1, True), other
    (here / "villages.csv").write_text(VILLAGES.replace("44", "45"))
    assert "not the file that was audited" in run("verify", "facts/facts.json").out
    (here / "villages.csv").unlink()
    assert run("verify", "facts/facts.json").code == 1
    for text in ("{}", "[]", "x", '{"format": "other"}'):
        (here / "facts" / "other.json").write_text(text)
        assert run("verify", "facts/other.json").code == 2


def test_contradictions_are_told_drawn_and_verified(run: Run, here: Path) -> None:
    (here / "villages.csv").write_text(VILLAGES.replace("44", "30"))
    found = run("audit", "publication", "out.toml", "--out", "f.json", "--picture", "p.svg")
    assert "contradict each other" in found.out
    assert "DOCTYPE svg" in (here / "p.svg").read_text()
    assert run("verify", "f.json").code == 0
    told = json.loads((here / "f.json").read_text())
    told["contradictions"] = []
    (here / "g.json").write_text(json.dumps(told))
    assert run("verify", "g.json").code == 1
    assert run("audit", "publication", "out.toml", "--out", "p.html").code == 0
    assert "No population has all these numbers" in (here / "p.html").read_text()


def test_the_page_says_what_follows_and_never_that_all_is_safe(run: Run, here: Path) -> None:
    (here / "villages.csv").write_text(VILLAGES.replace("Alder", "<script>x</script>"))
    (here / "table.csv").write_text(TABLE.replace("Alder", "<script>x</script>"))
    assert run("audit", "publication", "out.toml", "--out", "p.html", "--picture", "p.png").code == 0
    page = (here / "p.html").read_text()
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
    assert "safe" not in page.replace("unsafe-inline", "")
    assert "2 of which no table lists" in page
    assert "holdfast verify" in page
    refused = run("audit", "publication", "out.toml", "--out", "p.html")
    assert (refused.code, "exists already" in refused.err) == (2, True)
    assert run("audit", "publication", "out.toml", "--out", "p.csv").code == 2


def test_coarser_tables_are_written_with_their_audit(run: Run, here: Path) -> None:
    found = run("coarsen", "firms.toml", "--out", "coarser", "--json")
    assert found.code == 0
    ways = {one["method"]: one for one in json.loads(found.out)["ways"]}
    assert {name: one["optimal"] for name, one in ways.items()} == {
        "suppression": True,
        "recoding": True,
        "rounding": True,
    }
    assert ways["suppression"]["lost"]["with_them"] == 2
    assert ways["recoding"]["lost"]["levels"]["branch"] == {"before": 3, "after": 2}
    for name in ways:
        assert run("verify", here / "coarser" / name).code == 0
        audit = json.loads(run("audit", "publication", f"coarser/{name}/published.toml", "--json").out)
        small = [("North", "metal"), ("South", "wood")]
        cells = {tuple(one["levels"].values()): one for one in audit["cells"]}
        for cell in small:
            assert cells[cell]["largest"] is None or cells[cell]["largest"] - cells[cell]["least"] >= 3
    text = (here / "coarser" / "suppression" / "firms.csv").read_text()
    assert text.count("*") == 4
    assert "North,metal,*" in text
    again = run("coarsen", "firms.toml", "--out", "coarser")
    assert (again.code, "exists already" in again.err) == (2, True)
    one = run("coarsen", "firms.toml", "--method", "suppression", "--out", "one")
    assert "nothing less is enough" in one.out
    assert sorted(path.name for path in (here / "one").iterdir()) == [
        "audit.html",
        "audit.json",
        "firms.csv",
        "published.toml",
    ]


def test_what_cannot_be_reached_is_said(run: Run, here: Path) -> None:
    (here / "firms.toml").write_text(COARSE + 'method = "suppression"\nnarrow = 1000\nkeep = []\n')
    assert run("coarsen", "firms.toml").code == 0  # what is hidden has no end
    (here / "all.csv").write_text("region,firms\nTotal,88\n")
    spec = (
        '[[published]]\npath = "all.csv"\n'
        + COARSE
        + 'method = "suppression"\nnarrow = 1000\nkeep = ["all.csv"]\n'
    )
    (here / "firms.toml").write_text(spec)
    found = run("coarsen", "firms.toml", "--out", "coarser")
    assert (found.code, "not reached" in found.out) == (1, True)
    assert not (here / "coarser").exists()


def test_bad_input_is_one_sentence_without_confidential_numbers(run: Run, here: Path) -> None:
    for text, error in (
        (COARSE.replace("totals = true", 'method = "hiding"'), "must be one of"),
        (COARSE.replace("totals = true", 'keep = ["other.csv"]'), "no published table is 'other.csv'"),
        (COARSE.replace("totals = true", 'keep = ["firms.csv"]'), "no table may be made coarser"),
        (COARSE.replace("totals = true", "records = true"), "name the attributes"),
        (
            COARSE.replace("totals = true", 'attributes = ["brnch"]\nmethod = "recoding"'),
            "did you mean 'branch'",
        ),
        (COARSE.replace("totals", "total"), "unknown key 'total'"),
    ):
        (here / "firms.toml").write_text(text)
        answer = run("coarsen", "firms.toml", "--out", "coarser")
        assert (answer.code, error in answer.err) == (2, True), answer.err
        assert not (here / "coarser").exists()
    (here / "firms.toml").write_text(COARSE)
    (here / "firms.csv").write_text(FIRMS.replace("North,food,12", "North,food,1234.5"))
    for spec in (COARSE, COARSE.replace("totals = true", "narrow = 3")):
        (here / "firms.toml").write_text(spec)
        answer = run("coarsen", "firms.toml")
        assert (answer.code, "firms.csv, row 2" in answer.err, "1234" in answer.err) == (2, True, False), (
            answer.err
        )
    (here / "firms.csv").write_text(FIRMS)
    (here / "regions.csv").write_text("region,firms\nNorth,7777\nSouth,46\nWest,19\n")
    (here / "firms.toml").write_text(
        COARSE.replace("[coarsen]\ntotals = true", '[[published]]\npath = "regions.csv"')
    )
    answer = run("coarsen", "firms.toml")
    assert (answer.code, "contradict each other" in answer.err, "7777" in answer.err) == (2, True, False)


def test_records_and_hierarchies_are_tabulated_with_their_totals(run: Run, here: Path) -> None:
    rows = [line for line in FIRMS.splitlines()[1:] for _ in range(int(line.rpartition(",")[2]))]
    records = "\n".join(["region,branch,name", *(f"{row.rpartition(',')[0]},x" for row in rows)]) + "\n"
    (here / "records.csv").write_text(records)
    (here / "branches.hrc").write_text("goods\n@metal\n@wood\nfood\n")
    spec = COARSE.replace('"firms.csv"', '"records.csv"\nattributes = ["region", "branch"]')
    spec += 'records = true\n[population]\nhierarchies = { branch = "branches.hrc" }\n'
    (here / "records.toml").write_text(spec)
    found = json.loads(run("coarsen", "records.toml", "--json", "--out", "coarser").out)
    assert all(way["optimal"] for way in found["ways"])
    recoding = found["ways"][1]
    assert recoding["lost"]["levels"]["branch"] == {"before": 3, "after": 2}
    table = (here / "coarser" / "recoding" / "records.csv").read_text()
    assert "North,goods,11" in table
    assert "Total,goods,37" in table
    hidden = (here / "coarser" / "suppression" / "records.csv").read_text()
    assert "Total,goods,37" in hidden
    assert (here / "coarser" / "suppression" / "branches.hrc").exists()
    for way in found["ways"]:
        assert run("verify", here / "coarser" / way["method"]).code == 0


PLAIN = '[[published]]\npath = "firms.csv"\n'
POPULATION = PLAIN + "[population]\n"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            POPULATION + 'within = { branch = "regoin" }',
            "[population] within branch names 'regoin', which no table has: did you mean 'region'?",
        ),
        (POPULATION + 'within = { brunch = "region" }', "[population] within names 'brunch'"),
        (POPULATION + 'hierarchies = { brunch = "b.hrc" }', "[population] hierarchies names 'brunch'"),
        (
            POPULATION + 'within = { branch = "region", region = "branch" }',
            "'region' and 'branch' lie within each other: keep the one that is true",
        ),
        (
            POPULATION.replace("[pop", '[[published]]\npath = "villages.csv"\n[pop')
            + 'within = { village = "region" }',
            "[population] within village is 'region', and no table has both",
        ),
        (
            PLAIN + '[coarsen]\nattributes = ["brnch"]',
            "[coarsen] attributes names 'brnch', which no table has: did you mean 'branch'?",
        ),
        (
            PLAIN + 'merged = { brnch = { other = ["food", "wood"] } }',
            "[[published]] 1 merged names 'brnch', which no table has: did you mean 'branch'?",
        ),
        (
            PLAIN + 'rule = "suppressed"\nbelow = 3\nsymbol = "5"',
            "[[published]] 1 symbol is '5', which reads as a count",
        ),
        (
            PLAIN + 'rule = "suppressed"\nbelow = 3\nsecondary = "0"',
            "[[published]] 1 secondary is '0', which reads as a count",
        ),
        (PLAIN + 'rule = "rounded"\nbase = 0', "1 base must be greater than or equal to 1, not 0."),
        (PLAIN + "attributes = []", "[[published]] 1 attributes must not be empty, not []."),
        ("totals = true\n" + PLAIN, "'totals': choose from 'published', 'population', 'coarsen'."),
        ("poplation = {}\n" + PLAIN, "'poplation': did you mean 'population'?"),
    ],
)
def test_what_a_spec_names_and_no_table_has_is_refused(run: Run, here: Path, spec: str, said: str) -> None:
    (here / "firms.toml").write_text(spec + "\n")
    for command in (("audit", "publication"), ("coarsen",)):
        answer = run(*command, "firms.toml")
        assert (answer.code, answer.out) == (2, "")
        assert said in answer.err
        assert answer.err.startswith("error: firms.toml, ")
        assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rule", "rounded:3:random:up"), "the rule 'rounded:3:random:up' is not known"),
        (("--rule", "rounded:3:5"), "the rule 'rounded:3:5' is not known"),
        (("--rule", "drb:up"), "the rule 'drb:up' is not known"),
        (("--rule", "suppressed:3:shown:hidden"), "the rule 'suppressed:3:shown:hidden' is not known"),
        (("--rule", "suppressed:3", "--symbol", "7"), "--symbol is '7', which reads as a count"),
        (("--rule", "suppressed:3", "--secondary", " 3.0"), "--secondary is ' 3.0', which reads as a count"),
    ],
)
def test_rules_that_say_two_things_and_signs_that_are_numbers_are_refused(
    run: Run, options: tuple[str, ...], said: str
) -> None:
    answer = run("audit", "publication", "firms.csv", *options)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert said in answer.err


def test_a_publication_speaks_of_no_section_of_releases(run: Run, here: Path) -> None:
    (here / "latin.csv").write_bytes("village,people\nHünfeld,5\n".encode("latin-1"))
    answer = run("audit", "publication", "latin.csv")
    assert answer.err == "error: latin.csv, row 2 is not UTF-8 text: save the file as UTF-8.\n"
    (here / "semicolons.csv").write_text("village;people\nAlder;5\n")
    answer = run("audit", "publication", "semicolons.csv")
    assert answer.err.endswith("seems to be separated by another sign: write it with commas.\n")


def test_counts_that_contradict_each_other_are_named_by_what_the_files_have(run: Run, here: Path) -> None:
    """Sums have no row of their own, and the counts themselves are confidential."""
    (here / "regions.csv").write_text("region,firms\nNorth,7777\nSouth,46\nWest,19\n")
    (here / "firms.toml").write_text(
        COARSE.replace("[coarsen]", '[[published]]\npath = "regions.csv"\n[coarsen]')
    )
    answer = run("coarsen", "firms.toml")
    assert answer.code == 2
    assert "row" not in answer.err
    assert "firms.csv, the sum for region 'Total', branch 'Total' and regions.csv, the sum for" in answer.err
    assert "7777" not in answer.err


def test_cells_that_stay_determined_are_said_to_be_printed(run: Run, here: Path) -> None:
    (here / "firms.toml").write_text(COARSE.replace("totals = true", 'method = "recoding"'))
    told = run("coarsen", "firms.toml").out
    assert "still determined, which need not be hidden: " in told
    assert "printed as they are" in told


def test_remedies_that_are_left_out_are_told_to_be_no_claim(run: Run, here: Path) -> None:
    run("audit", "publication", "out.toml", "--out", "facts.json")
    told = json.loads((here / "facts.json").read_text())
    told["remedies"].pop()
    (here / "facts.json").write_text(json.dumps(told))
    answer = run("verify", "facts.json")
    assert answer.code == 0
    assert "each undoes what it names; that there are no others is not claimed" in answer.out
