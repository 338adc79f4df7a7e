"""What is public, from a certificate: the values and the law that its release was made with."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.small_releases import KINDS, prepared, released

from holdfast.certificate.certify import guarantee_section
from holdfast.certificate.model import Certificate
from holdfast.certificate.public import Published, mechanism_of, noise_of, public_of
from holdfast.certificate.read import read_certificate
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import HoldfastError, ReleaseError

ADDITIVE = [
    kind
    for kind in KINDS
    if kind == "wasserstein-exponential"
    or (
        kind.startswith(("lattice", "anchored", "k-norm", "household"))
        and not kind.startswith("k-norm-gradient")
    )
]


def read(kind: str) -> Certificate:
    """Return the certificate of a release as its readers have it."""
    return Certificate.from_json(released(kind).certificate.to_json())


def published(folder: Path) -> Published:
    certificate = read_certificate(folder)
    return Published(folder, certificate, public_of(certificate))


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return released("lattice-laplace, zeros and weights").write(tmp_path / "out")


@pytest.mark.parametrize("kind", KINDS)
def test_both_builders_give_equal_values(kind: str) -> None:
    own, other = prepared(kind).public, public_of(read(kind))
    assert other == own
    assert other.to_dict() == own.to_dict()
    one, two = own.universe, other.universe
    np.testing.assert_array_equal(one.matrix.toarray(), two.matrix.toarray())
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(own.possible, other.possible)
    assert own.scope == other.scope
    assert own.cliques == other.cliques
    if own.floors is None or other.floors is None:
        assert own.floors is other.floors is None
    else:
        for mine, theirs in zip(own.floors, other.floors, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mechanism_of_a_certificate_says_what_the_certificate_says(kind: str) -> None:
    certificate = read(kind)
    mechanism = mechanism_of(certificate, public_of(certificate))
    assert type(mechanism) is type(prepared(kind).mechanism)
    assert mechanism.record() == certificate.table.mechanism
    assert guarantee_section(mechanism.guarantee) == certificate.guarantee


@pytest.mark.parametrize("kind", KINDS)
def test_the_law_of_a_certificate_is_the_law_of_the_release(kind: str) -> None:
    ready, certificate = prepared(kind), read(kind)
    public = public_of(certificate)
    counts = ready.table.reading.table.counts[public.possible]
    own, other = (m.law(counts) for m in (ready.mechanism, mechanism_of(certificate, public)))
    np.testing.assert_array_equal(own.sample(SeededEntropy(5), 3), other.sample(SeededEntropy(5), 3))


@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_public_where_every_table_shares_it(kind: str) -> None:
    certificate = read(kind)
    public = public_of(certificate)
    own = prepared(kind).mechanism.noise
    assert (own is not None) == (kind in ADDITIVE)
    if own is None:
        why = "no table" if kind.startswith("noisy-count") else "its law is not public"
        with pytest.raises(ReleaseError, match=f"{certificate.table.mechanism.name}.*{why}"):
            noise_of(certificate, public)
    else:
        noise = noise_of(certificate, public)
        np.testing.assert_array_equal(own.sample(SeededEntropy(5), 50), noise.sample(SeededEntropy(5), 50))


def test_a_release_is_read_with_what_is_public(release: Path) -> None:
    found, made = published(release), released("lattice-laplace, zeros and weights")
    own = prepared("lattice-laplace, zeros and weights")
    assert found.public == own.public
    assert found.table == made.table
    universe = found.public.universe
    assert (universe.matrix @ found.table.counts[found.public.possible] == universe.values).all()
    assert own.mechanism.noise is not None
    draws = found.noise.sample(SeededEntropy(5), 20)
    np.testing.assert_array_equal(draws, own.mechanism.noise.sample(SeededEntropy(5), 20))


def test_without_invariants_there_is_a_universe_too() -> None:
    universe = public_of(read("lattice-laplace, nothing kept")).universe
    assert (universe.rank, universe.cells) == (0, 6)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "nothing"},
        {"name": 5},
        {"name": None},
        {"name": "lattice-gaussian"},
        {"epsilon_per_unit": "x"},
        {"epsilon_per_unit": "1/0"},
        {"epsilon_per_unit": "-1"},
        {"epsilon_per_unit": None},
        {"norm": "l7"},
        {"base": "discrete-gaussian"},
    ],
)
def test_what_gives_no_law_is_refused(release: Path, change: dict[str, Any]) -> None:
    path = release / "certificate.json"
    content = json.loads(path.read_text())
    (part,) = content["parts"]
    changed = {**part, "mechanism": {**part["mechanism"], **change}}
    path.write_text(json.dumps({**content, "parts": [changed]}))
    with pytest.raises(ReleaseError, match=r"certificate\.json is damaged.*restore it"):
        read_certificate(release)


def test_what_is_no_whole_release_is_refused(release: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="is not a folder"):
        read_certificate(tmp_path / "none")
    path = release / "certificate.json"
    content = json.loads(path.read_text())
    (part,) = content["parts"]
    damages: list[dict[str, Any]] = [{"table": {}}, {"mechanism": None}, {"invariants": [{"values": [1]}]}]
    for damage in damages:
        path.write_text(json.dumps({**content, "parts": [{**part, **damage}]}))
        with pytest.raises(ReleaseError, match="damaged"):
            read_certificate(release)
    path.write_text(json.dumps(content))
    (release / "table.csv").unlink()
    with pytest.raises(HoldfastError, match=r"table\.csv"):
        published(release)


def test_a_statistic_is_no_table(tmp_path: Path) -> None:
    folder = released("noisy-count").write(tmp_path / "out")
    with pytest.raises(ReleaseError, match="names no table"):
        published(folder)
