"""Of certificates with one falsified field, and every hash right, only those pass that claim nothing.

The page is rendered anew from the falsified certificate where it can be read, which is harder to find than a
page that was left as it was.
"""

import json
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.certificate.falsify import Forgery, forgeries, write
from tests.certificate.places import at, places
from tests.certificate.unclaimed import CLAIMS_NOTHING
from tests.small_releases import released

from holdfast.certificate.model import Certificate
from holdfast.certificate.public import public_of
from holdfast.certificate.quick import PAGE
from holdfast.derivation import derive
from holdfast.derivation.several import verified
from holdfast.public import Public
from holdfast.system.errors import HoldfastError
from holdfast.verification.verify import verify

ORDER = os.environ.get("HOLDFAST_TEST_ORDER", "")
CHANGES = 50 if ORDER else 16
"""For each kind of release: 240 in all, and 750 others with each order of the tests."""
RELEASES = (
    "lattice-laplace",
    "lattice-laplace, by distance",
    "lattice-laplace, secrets",
    "lattice-gaussian, modelled secrets",
    "lattice-laplace, zeros and weights",
    "lattice-laplace, nested",
    "lattice-gaussian, added",
    "lattice-gaussian",
    "lattice-gaussian, weighted",
    "topdown, regions",
    "topdown, bounds, regions",
    "k-norm",
    "conditioned",
    "conditioned, inequalities",
    "noisy-count, strata",
    "household",
)
CHOSEN = ("k-norm-gradient, linear", "wasserstein-exponential, prior and secrets")
"""Releases with choices of the curator that claim nothing."""


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work out once what the same public values lead to."""

    @cache
    def kept(text: str) -> Public:
        return public_of(Certificate.from_json(text))

    def public(certificate: Certificate) -> Public:
        body = certificate.to_dict()
        (part,) = body["parts"]
        like = written_of(part["mechanism"]["name"])
        same = {name: part[name] for name in ("table", "invariants", "constraints")}
        return kept(json.dumps({**like, "parts": [{**like["parts"][0], **same}], "target": body["target"]}))

    def written_of(name: str) -> dict[str, Any]:
        return next(
            c for c in map(content, (*RELEASES, *CHOSEN)) if c["parts"][0]["mechanism"]["name"] == name
        )

    monkeypatch.setattr(derive, "public_of", public)


@cache
def content(kind: str) -> dict[str, Any]:
    return released(kind).certificate.to_dict()


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return released(request.param).write(tmp_path / "release")


def written(folder: Path) -> dict[str, Any]:
    read = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


def excused(forgery: Forgery, before: dict[str, Any]) -> bool:
    """Whether the field is listed as one that claims nothing."""
    mechanism = before["parts"][0]["mechanism"]
    of = {
        "": True,
        "weights": "labels" in forgery.name and at(before, forgery.place[:-2]).get("kind") == "weights",
        "statistic": mechanism["name"] == "noisy-count",
        "given": mechanism.get("given") is not None,
        "chain": mechanism.get("chain") is not None,
        "estimated": "measurements" in before["parts"][0]["outputs"],
    }
    return any(fnmatchcase(forgery.name, item.place) and of[item.only] for item in CLAIMS_NOTHING)


def test_a_falsified_field_is_found_unless_it_claims_nothing(
    release: Path, request: pytest.FixtureRequest
) -> None:
    before, page = written(release), (release / PAGE).read_bytes()
    assert verify(release).kept
    for forgery in forgeries(before, Random(f"{request.node.name}{ORDER}"), CHANGES):
        (release / PAGE).write_bytes(page)
        write(release, forgery.content, page=True)
        verification = verify(release)
        assert not verification.kept or excused(forgery, before), forgery[:2]
        for check in verification.checks:
            assert check.holds or (check.detail and "\n" not in check.detail), forgery[:2]


def test_a_page_that_was_left_as_it_was_is_found(release: Path, request: pytest.FixtureRequest) -> None:
    before = written(release)
    for forgery in forgeries(before, Random(f"{request.node.name}{ORDER}"), CHANGES // 3):
        write(release, forgery.content, page=False)
        kept = verify(release).kept
        assert not kept or excused(forgery, before), forgery[:2]


def test_fields_that_claim_nothing_are_there_and_may_be_changed(tmp_path: Path) -> None:
    """Each of the list passes in some release, so that nothing is listed that is found anyway."""
    for item, kind, value in (
        ("created", "lattice-laplace", "2020-01-01T00:00:00+00:00"),
        ("publication", "household", {"title": "Another", "licence": "none"}),
        ("publication.title", "household", "Another <b>"),
        ("publication.publisher", "household", "Another"),
        ("publication.contact", "household", "Another"),
        ("publication.period", "household", "Another"),
        ("publication.url", "household", "https://example.org/another"),
        ("publication.licence", "household", "Another"),
        ("software.version", "lattice-laplace", "0.0.1"),
        ("ledger", "lattice-laplace", {"row": 7, "hash": "0" * 64}),
        ("parts.*.mechanism.given", "lattice-laplace", "by the spec"),
        ("parts.*.mechanism.level", "k-norm-gradient, quantile", "1/2"),
        ("parts.*.mechanism.low.*", "k-norm-gradient, linear", "1"),
        ("parts.*.mechanism.high.*", "k-norm-gradient, quantile", "4"),
        ("parts.*.mechanism.pseudo.*", "wasserstein-exponential, prior and secrets", "16"),
        ("parts.*.constraints.nonnegative", "topdown, regions", True),
        ("parts.*.constraints.inequalities.*.name", "conditioned, inequalities", "another"),
        ("parts.*.invariants.*.labels.*", "lattice-laplace, zeros and weights", "another"),
        ("parts.*.constraints.inequalities.*.labels.*", "conditioned, inequalities", "another"),
        ("parts.*.table.count", "noisy-count", "another"),
        ("parts.*.mechanism.chain.moves_given", "conditioned, by a chain", True),
        ("target.epsilon", "lattice-laplace, per unit", "2"),
        ("target.delta", "conditioned, by a chain", "1/5"),
    ):
        folder = released(kind).write(tmp_path / item)
        before = written(folder)
        found = [place for place, _ in places(before) if Forgery(place, "", {}).name == item]
        given = ("parts", 0, "mechanism", "given")
        *outer, last = found[0 if item == "parts.*.mechanism.low.*" else -1] if found else given
        place = at(before, tuple(outer))
        place[last] = value
        write(folder, before, page=True)
        assert [check for check in verify(folder).checks if not check.holds] == [], item
    elsewhere = {"ledger.row", "ledger.hash", "parts.*.alone.target.delta"}
    listed = {item.place for item in CLAIMS_NOTHING} - elsewhere
    assert listed == {path.name for path in tmp_path.iterdir()}
    assert all(item.reason for item in CLAIMS_NOTHING)


def halved(before: dict[str, Any], *names: str) -> Iterator[str]:
    """Halve the epsilon of some sections; yield their names."""
    for name in names:
        section = before[name]["intensity"] if name == "guarantee" else before[name]
        section["epsilon"] = "1/2"
        yield name


@pytest.mark.parametrize("sections", [("guarantee",), ("guarantee", "target")])
@pytest.mark.parametrize("kind", ["lattice-laplace", "k-norm", "noisy-count", "household"])
def test_half_of_epsilon_is_named(kind: str, sections: tuple[str, ...], tmp_path: Path) -> None:
    folder = released(kind).write(tmp_path / "release")
    before = written(folder)
    assert list(halved(before, *sections)) == list(sections)
    write(folder, before, page=True)
    (wrong,) = (check for check in verify(folder).checks if not check.holds)
    assert wrong.name == "guarantee"
    assert wrong.detail == (
        "the certificate claims intensity epsilon 0.5 (1/2), and what follows is epsilon 1"
    )
    with pytest.raises(HoldfastError, match="not the certified release"):
        verified(folder)


ABSURD: list[tuple[str, dict[str, Any]]] = [
    ("mechanism", {"epsilon_per_unit": "1e-299"}),
    ("mechanism", {"epsilon_per_unit": "1e299"}),
    ("mechanism", {"epsilon_per_unit": str(10**400)}),
    ("target", {"epsilon": "1e-30"}),
    ("target", {"distance": 10**18}),
    ("universe", {"cells": 10**18, "dimension": 10**30}),
]


@pytest.mark.parametrize("kind", ["lattice-laplace", "conditioned", "conditioned, inequalities"])
@pytest.mark.parametrize(("section", "change"), ABSURD)
def test_absurd_numbers_are_violations(
    kind: str, section: str, change: dict[str, Any], tmp_path: Path
) -> None:
    folder = released(kind).write(tmp_path / "release")
    before = written(folder)
    (before["parts"][0] if section in before["parts"][0] else before)[section] |= change
    write(folder, before, page=True)
    assert not verify(folder).kept


def test_far_distances_everywhere_are_answered(tmp_path: Path) -> None:
    folder = released("lattice-laplace, farther").write(tmp_path / "release")
    before = written(folder)
    before["target"]["distance"] = before["guarantee"]["unit"]["distance"] = 10**15
    write(folder, before, page=True)
    assert not verify(folder).kept


def test_many_levels_are_not_counted_before_the_file_is_read(tmp_path: Path) -> None:
    folder = released("lattice-laplace").write(tmp_path / "release")
    before = written(folder)
    for attribute in before["parts"][0]["table"]["schema"]["attributes"]:
        attribute["levels"] += [str(number) for number in range(9000)]
    write(folder, before, page=False)
    assert [check.name for check in verify(folder).checks if not check.holds] == ["schema"]
