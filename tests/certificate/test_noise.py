"""The law made from a certificate is the law that the release was drawn from."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.certificate.noise import noise_of
from holdfast.certificate.published import read_published, universe_of
from holdfast.errors import ReleaseError
from holdfast.release import Prepared, prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice_laplace import LatticeLaplaceLaw

SPEC = """\
[data]
path = "data.csv"
cells = ["sex", "age"]
count = "n"
[[invariants]]
margin = ["sex"]
[[invariants]]
margin = ["age"]
[constraints]
structural_zeros = [{ sex = "m", age = "old" }]
[privacy]
epsilon = "1"
"""
DATA = "sex,age,n\nf,young,3\nf,middle,4\nf,old,5\nm,young,6\nm,middle,2\n"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("spec")
    (folder / "holdfast.toml").write_text(SPEC)
    (folder / "data.csv").write_text(DATA)
    return prepare(folder / "holdfast.toml")


@pytest.fixture
def release(prepared: Prepared, tmp_path: Path) -> Path:
    return prepared.release(SeededEntropy(1)).write(tmp_path / "out")


def test_the_law_is_made_again(prepared: Prepared, release: Path) -> None:
    published = read_published(release)
    noise = noise_of(published.content)
    assert isinstance(noise, LatticeLaplaceLaw)
    own = prepared.mechanism.noise
    assert own is not None
    draws = noise.sample(SeededEntropy(5), 50)
    assert draws.tolist() == own.sample(SeededEntropy(5), 50).tolist()
    assert noise.epsilon == Fraction(str(published.content["mechanism"]["epsilon_per_unit"]))


def test_a_release_is_read_with_its_universe(prepared: Prepared, release: Path) -> None:
    published = read_published(release)
    universe = prepared.setting.universe
    assert published.schema == prepared.setting.schema
    assert published.count == "n"
    assert published.universe.matrix.toarray().tolist() == universe.matrix.toarray().tolist()
    assert published.universe.values.tolist() == universe.values.tolist()
    possible = np.flatnonzero(published.schema.possible)
    assert (universe.matrix @ published.table.counts[possible] == universe.values).all()


def test_without_invariants_there_is_a_universe_too(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("sex,n\nf,3\nm,4\n")
    (tmp_path / "holdfast.toml").write_text(
        '[data]\npath = "data.csv"\ncells = ["sex"]\ncount = "n"\n[privacy]\nepsilon = "1"\n'
    )
    content = prepare(tmp_path / "holdfast.toml").certify(secure=False).content
    _, universe = universe_of(json.loads(json.dumps(content)))
    assert (universe.rank, universe.cells) == (0, 2)
    assert noise_of(content).sample(SeededEntropy(0), 3).shape == (3, 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "nothing"}, "'nothing' of the certificate is not known"),
        ({"name": 5}, "names no mechanism"),
        ({"additive": False}, "depends on the confidential table"),
        ({"epsilon_per_unit": "x"}, "damaged"),
        ({"epsilon_per_unit": "1/0"}, "damaged"),
        ({"epsilon_per_unit": "-1"}, "damaged"),
        ({"epsilon_per_unit": None}, "damaged"),
        ({"norm": "l7"}, "damaged"),
    ],
)
def test_what_gives_no_law_is_refused(release: Path, change: dict[str, Any], words: str) -> None:
    content = dict(read_published(release).content)
    content["mechanism"] = {**content["mechanism"], **change}
    with pytest.raises(ReleaseError, match=words):
        noise_of(content)
    for damaged in ({**content, "mechanism": None}, {}):
        with pytest.raises(ReleaseError, match="names no mechanism"):
            noise_of(damaged)


def test_what_is_no_whole_release_is_refused(release: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="holdfast verify"):
        read_published(tmp_path / "none")
    content = json.loads((release / "certificate.json").read_text())
    damages: list[dict[str, Any]] = [{"files": {}}, {"table": {}}, {"invariants": [{"values": [1]}]}]
    for damage in damages:
        (release / "certificate.json").write_text(json.dumps({**content, **damage}))
        with pytest.raises(Exception, match=r"damaged|not a whole release"):
            read_published(release)
    (release / "certificate.json").write_text(json.dumps(content))
    (release / "table.csv").unlink()
    with pytest.raises(Exception, match=r"table.csv"):
        read_published(release)
