"""A certificate of any kind is put into words by whoever reads it, in a process that made nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mechanisms.swapping.small import KINDS, asked, households
from tests.small_releases import released

import holdfast

SEVERAL = """
[data]
path = "people.csv"
[privacy]
epsilon = "1"
[[tables]]
name = "ages"
cells = ["age", "sex"]
invariants = [{ margin = ["sex"] }]
[[tables]]
name = "places"
cells = ["place", "sex"]
"""
READ = """
import sys
from pathlib import Path
from holdfast.certificate.page import render
from holdfast.certificate.read import read_certificate
for folder in map(Path, sys.argv[1:]):
    certificate = read_certificate(folder)
    assert render(certificate).encode() == (folder / "certificate.html").read_bytes(), folder
"""


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    people = [f"{age},{sex},{place}" for age in "ab" for sex in "fm" for place in "xyz" for _ in range(3)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,place", *people]) + "\n")
    (tmp_path / "several.toml").write_text(SEVERAL)
    made = [
        released(kind).write(tmp_path / str(place))
        for place, kind in enumerate(
            ("lattice-laplace", "lattice-laplace, secrets", "topdown, regions", "household")
        )
    ]
    holdfast.release(tmp_path / "several.toml", tmp_path / "several")
    holdfast.release(
        asked(**KINDS["records"]), tmp_path / "records", data=households(), accept_no_protection=True
    )
    holdfast.postprocess(made[0], "integers-l1", tmp_path / "processed", bias_draws=0)
    return [*made, tmp_path / "several", tmp_path / "records", tmp_path / "processed"]


def test_every_kind_is_read_where_nothing_was_made(folders: list[Path]) -> None:
    subprocess.run([sys.executable, "-c", READ, *map(str, folders)], check=True)
    for folder in folders:
        text = (folder / "certificate.json").read_text(encoding="utf-8")
        assert holdfast.Certificate.from_json(text).to_dict() == json.loads(text)
        assert holdfast.verify(folder).kept, folder
