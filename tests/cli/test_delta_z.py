"""`holdfast audit delta-z`: every family from its file, and one sentence for what is wrong in one."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

COUNTS = """
[model]
family = "counts"

[[laws]]
given_0 = ["1/2", "1/2", "0"]
given_1 = ["0", "1/2", "1/2"]
"""
DEPENDENT = '[model]\nfamily = "dependent-counts"\nn = 50\nz0 = "1/10"\nz1 = "9/10"\n'
JOINT = """
[model]
family = "joint"
observed = "one of them is ill"

[[outcomes]]
records = ["ill", "well"]
public = "one of them is ill"
probability = "1/3"

[[outcomes]]
records = ["well", "ill"]
public = "one of them is ill"
probability = "1/3"

[[outcomes]]
records = ["well", "well"]
public = "nobody is ill"
probability = "1/3"
"""
LAWS = """
[model]
family = "laws"
metric = "l1"
statistic = "means"

[points]
a = [0, 0]
b = ["1/2", 1]

[[laws]]
secrets = ["Ann is ill", "Ann is well"]
one = { a = "1/2", b = "1/2" }
other = { b = "1" }
"""
NORMAL = '[model]\nfamily = "normal"\nn = 20\nwidth = "10"\ncorrelation = "1"\n'
COVARIANCES = """
[model]
family = "normal"
n = 2
width = "3"
person = ["1", "1"]
mean = ["1/2", "0"]
covariance = [["4"]]
"""
DISCLOSURE = '[model]\nfamily = "disclosure"\nn = 100\nk = 5\nt = "1/10"\nshare = "1/4"\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "model.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        (COUNTS, "1", "listed"),
        (DEPENDENT, "41", "family"),
        (DEPENDENT + 'dependence = "any"\n', "50", "family"),
        (JOINT, "2", "listed"),
        (LAWS, "3/2", "listed"),
        (NORMAL, "infinite", "family"),
        (COVARIANCES, "2", "listed"),
        (DISCLOSURE, "1", "independent"),
        (DISCLOSURE + 'laws = "everything"\n', "20", "everything"),
    ],
)
def test_every_family_has_its_distance(run: Run, tmp_path: Path, text: str, value: str, kind: str) -> None:
    path = write(tmp_path, text)
    report = json.loads(run("audit", "delta-z", path, "--json").out)
    assert (report["delta_z"], report["framework"]["laws"]["kind"]) == (value, kind)
    assert [one["kind"] for one in report["evidence"]] == ["proved", "assumed"]
    words = run("audit", "delta-z", path)
    assert words.code == 0
    assert f"Delta_z      {'1.5' if value == '3/2' else value}" in words.out


def test_an_epsilon_says_how_far_beliefs_move(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, DEPENDENT)
    report = json.loads(run("audit", "delta-z", path, "--epsilon", "1", "--json").out)
    assert report["statement"].endswith(
        "no release is more than exp(1) = 2.72 times as likely under one secret as under the other."
    )
    assert report["semantics"]["prior"][4] == 0.5
    assert report["semantics"]["high"][4] == pytest.approx(0.7310586)
    assert "0.7311" in run("audit", "delta-z", path, "--epsilon", "1").out


def test_lists_of_parameters_make_a_table(run: Run, tmp_path: Path) -> None:
    """As in Figure 4; combinations with z0 > z1 are left out."""
    text = '[model]\nfamily = "dependent-counts"\nn = [10, 100]\nz0 = ["1/10", "1/2"]\nz1 = ["1/4", "9/10"]\n'
    path = write(tmp_path, text)
    rows = json.loads(run("audit", "delta-z", path, "--json").out)["rows"]
    assert [(row["n"], row["z0"], row["z1"], row["delta_z"]) for row in rows] == [
        ("10", "1/10", "1/4", "4"),
        ("10", "1/10", "9/10", "9"),
        ("10", "1/2", "9/10", "6"),
        ("100", "1/10", "1/4", "25"),
        ("100", "1/10", "9/10", "81"),
        ("100", "1/2", "9/10", "49"),
    ]
    assert "Delta_z" in run("audit", "delta-z", path).out
    outcome = run("audit", "delta-z", path, "--epsilon", "1")
    assert (outcome.code, "lists several classes" in outcome.err) == (2, True)


def test_two_secrets_differ(run: Run, tmp_path: Path) -> None:
    outcome = run("audit", "delta-z", write(tmp_path, LAWS.replace("is well", "is ill")))
    assert (outcome.code, "both 'Ann is ill'" in outcome.err) == (2, True)


def test_pictures_show_beliefs_and_lists(run: Run, tmp_path: Path) -> None:
    one = write(tmp_path, DEPENDENT)
    beliefs, lists = tmp_path / "beliefs.svg", tmp_path / "lists.svg"
    refused = run("audit", "delta-z", one, "--picture", beliefs)
    assert (refused.code, "give --epsilon" in refused.err, beliefs.exists()) == (2, True, False)
    assert run("audit", "delta-z", one, "--epsilon", "1", "--picture", beliefs).code == 0
    assert "before the release" in beliefs.read_text()
    several = '[model]\nfamily = "dependent-counts"\nn = [10, 100]\nz0 = "1/10"\nz1 = ["1/4", "9/10"]\n'
    outcome = run("audit", "delta-z", write(tmp_path, several), "--picture", lists)
    assert (outcome.code, f"Wrote {lists}" in outcome.out) == (0, True)
    assert "1/10 to 9/10" in lists.read_text()


def test_public_facts_are_told_in_the_words_of_the_curator(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, DEPENDENT + 'public = "siblings go to one school"\n')
    assert "siblings go to one school" in run("audit", "delta-z", path).out


def test_a_report_is_written_once(run: Run, tmp_path: Path) -> None:
    path, out = write(tmp_path, COUNTS), tmp_path / "report.json"
    assert run("audit", "delta-z", path, "--out", out).code == 0
    assert json.loads(out.read_text())["delta_z"] == "1"
    assert run("audit", "delta-z", path, "--out", out).code == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "names no family"),
        ('[model]\nfamily = "count"\n', "did you mean 'counts'?"),
        ('[model]\nfamily = "counts"\n', "no law of the count is listed"),
        (COUNTS.replace('"0", "1/2", "1/2"', '"0", "1/2", "1/3"'), "sum to 5/6, not to 1"),
        (COUNTS.replace('"0", "1/2", "1/2"', '"0", "3/2", "-1/2"'), "negative probability -1/2"),
        (COUNTS.replace("given_1", "given_2"), "[[laws]] 1 has an unknown key 'given_2'"),
        (DEPENDENT.replace("9/10", "1/20"), "z0 <= z1"),
        (DEPENDENT.replace('"1/10"', "0.1"), "is the rounded number 0.1"),
        (
            DEPENDENT.replace('"1/10"', '["3/4", "4/5"]').replace("9/10", "1/2"),
            "no combination with z0 <= z1",
        ),
        (DEPENDENT.replace("50", f"[{'1, ' * 10_001}]"), "10,001 combinations"),
        (DEPENDENT + "k = 3\n", "unknown key 'k'"),
        (JOINT.replace('observed = "one', 'observed = "two'), "no chance"),
        (JOINT.replace("1/3", "1/4"), "sum to 3/4"),
        (JOINT.replace('observed = "one of them is ill"', 'observed = "nobody is ill"'), "leaves no secret"),
        (LAWS.replace("b = [", "c = ["), "speaks of the point 'b', which [points] does not have"),
        (LAWS.replace('{ b = "1" }', '{ a = "2", b = "-1" }'), "the probability -1"),
        (LAWS.replace("[0, 0]", "[0]"), "different numbers of coordinates"),
        (LAWS.replace("[0, 0]", "[0.5, 0]"), "is the rounded number 0.5"),
        (LAWS.replace('"l1"', '"l3"'), "[model] metric must be one of"),
        (NORMAL.replace('correlation = "1"', ""), "in one of two ways"),
        (NORMAL.replace('correlation = "1"', 'correlation = "3/2"'), "from 0 to 1"),
        (
            COVARIANCES.replace('[["4"]]', '[["1"]]').replace('"0"', '"1/2"'),
            "determines the value of a person",
        ),
        (COVARIANCES.replace('[["4"]]', '[["1/2"]]'), "negative variance"),
        (DISCLOSURE.replace("k = 5", "k = 60"), "no count of 100 answers satisfies"),
        ("model = 3\n", "names no family"),
        ("[model\n", "is not TOML"),
    ],
)
def test_bad_models_get_one_sentence(run: Run, tmp_path: Path, text: str, complaint: str) -> None:
    outcome = run("audit", "delta-z", write(tmp_path, text))
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert complaint in outcome.err
    assert "model.toml" in outcome.err


def test_no_noise_is_enough_for_an_infinite_distance(run: Run, tmp_path: Path) -> None:
    outcome = run("audit", "delta-z", write(tmp_path, NORMAL), "--epsilon", "1")
    assert (outcome.code, "Delta_z is infinite" in outcome.err) == (2, True)


def test_a_file_that_is_not_there(run: Run, tmp_path: Path) -> None:
    outcome = run("audit", "delta-z", tmp_path / "none.toml")
    assert (outcome.code, "does not exist" in outcome.err) == (2, True)


PRESENCE = """
[model]
family = "presence"

[totals]
ill = 1

[[people]]
number = 3
inclusion = "1/2"
values = { ill = "1/5", well = "4/5" }

[[people]]
inclusion = "1/3"
values = { ill = "1" }
"""


def test_presence_is_a_secret(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "model.toml"
    file.write_text(PRESENCE)
    told = json.loads(run("audit", "delta-z", str(file), "--json").out)
    assert (told["delta_z"], told["exact"]) == ("2", True)
    assert told["details"]["worst"][1].endswith("is not in the data")
    file.write_text(PRESENCE.replace("number = 3", "number = 0"))
    refused = run("audit", "delta-z", str(file))
    assert refused.code == 2
    assert "[[people]] 1 number is 0" in refused.err
