"""What a view offers to copy says what the view says: each command and each line of Python is run."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.example import written
from tests.sources import ROOT
from tests.studio.test_published import BOTH, KEYS, TABLE, VILLAGES
from tests.studio.visitor import Visitor, words
from typer.testing import CliRunner

import holdfast as hf
from holdfast.cli.app import app

ASKED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "exact": ("/exact/counts", {}),
    "accuracy": ("/accuracy/look", {}),
    "release": ("/release/another", {}),
    "account": ("/account/choose", {"account": "a.ledger"}),
    "check": ("/check/release", {"release": "out"}),
    "a count": ("/use/ask", {"pick": "yes", "down_level": "Alpha", "across_level": "Low", "level": "0.95"}),
    "a ratio": (
        "/use/ask",
        {"kind": "ratio", "first": '{"county": ["Alpha"]}', "second": '{"education": ["Low", "High"]}'},
    ),
    "each county": ("/use/ask", {"pick": "yes", "across_level": "Low", "by": "county"}),
    "the census": ("/audits/census", {"delta": "1e-10"}),
    "a guarantee": ("/audits/guarantee", {"measure": "rho", "value": "1/2", "delta": "1e-6", "apart": "3"}),
    "pure": ("/audits/guarantee", {"measure": "epsilon", "value": "1", "apart": "3"}),
    "swap rates": ("/audits/swapping", {"size": "1000", "rate": "1/20", "target": "8"}),
    "published": ("/audits/published", {**BOTH, "use": ["table.csv"]}),
    "cell keys": ("/audits/keys", {"file": "keys.csv"}),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    for name, text in (("table.csv", TABLE), ("villages.csv", VILLAGES), ("keys.csv", KEYS)):
        (folder / name).write_text(text)
    spec = written(folder)
    ledger = hf.Ledger.create(folder / "a.ledger", standard="pure", budget=Fraction(3))
    hf.release(spec, folder / "out", ledger=ledger.path)
    return folder


def copied(page: str) -> list[str]:
    """Return what a page offers to copy."""
    return [unescape(part.partition("</pre>")[0]) for part in page.split('<pre id="copy-')[1:]]


def offered(name: str, place: Path) -> list[str]:
    """Return what a view offers to copy, once it is settled."""
    visitor, (path, data) = Visitor.at(place / "holdfast.toml"), ASKED[name]
    visitor.desk.release = "out"
    for _ in range(2):  # what takes long is there the second time
        answer = visitor.post(path, data)
        assert answer.status_code == 200, words(answer)
        for job in list(visitor.desk.jobs.values()):
            job.wait()
    return [text.partition(">")[2] for text in copied(answer.text)]


@pytest.mark.parametrize("name", ASKED)
def test_what_is_copied_runs(name: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = offered(name, place)
    monkeypatch.chdir(place)
    command, python = (text.replace('"release"', f'"{name} 2"') for text in texts[:2])
    if name == "release":
        command = command.replace("--out release", "--out other")
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    exec(python, {})  # noqa: S102 - this is what the test is for


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed: Debian has r-base-core")
def test_what_is_copied_runs_in_r(place: Path) -> None:
    library = place / "library"
    library.mkdir()
    source = shutil.copytree(ROOT / "r", place / "source")
    given = {**os.environ, "R_LIBS_USER": str(library), "COMMAND": f"{sys.executable}|-m|holdfast"}
    install = ["R", "CMD", "INSTALL", "--no-test-load", f"--library={library}", str(source)]
    subprocess.run(install, check=True, capture_output=True, env=given)
    own = {name: text for name in ASKED for text in offered(name, place) if text.startswith("library(")}
    assert set(own) == {"release", "check", "a count", "a ratio", "each county"}
    script = [
        '.libPaths(c(Sys.getenv("R_LIBS_USER"), .libPaths()))',
        'options(holdfast.command = strsplit(Sys.getenv("COMMAND"), "|", fixed = TRUE)[[1]])',
        *(text.replace('"release"', '"of R"') for text in own.values()),
        'cat("all of it ran\\n")',
    ]
    (place / "script.R").write_text("\n".join(script))
    run = ["Rscript", "--vanilla", "script.R"]
    found = subprocess.run(run, check=False, capture_output=True, text=True, env=given, cwd=place)
    assert found.stdout.endswith("all of it ran\n"), found.stdout + found.stderr
    assert hf.verify(place / "of R").kept
