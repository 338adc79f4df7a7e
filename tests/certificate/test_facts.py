"""A certificate holds ids, numbers and names, and no sentence: these are made where somebody reads them."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from tests.certificate.places import places
from tests.mechanisms.swapping.small import KINDS, asked, households
from tests.processing.small import DATA, SPEC
from tests.releases.several_tables import frame, several
from tests.small_releases import released

import holdfast
from holdfast.processing.processed import postprocess
from holdfast.releases.prepare import prepare
from holdfast.releases.records import prepare_records

RELEASES = (
    "lattice-laplace",
    "lattice-laplace, l2",
    "lattice-laplace, independent secrets",
    "lattice-laplace, modelled secrets",
    "lattice-gaussian, modelled secrets",
    "k-norm",
    "conditioned",
    "conditioned, by a chain",
    "topdown, regions",
    "wasserstein-exponential, prior and secrets",
    "wasserstein-exponential, by a chain",
    "k-norm-gradient, linear",
    "noisy-count, strata",
    "household",
)
NAMES = (
    "publication.*",  # the curator's own text
    "*.invariants.*",  # names and labels, which are made of those of attributes and levels
    "*.scope.induced.*",
    "parts.*.details.induced.*.name",
    "*.constraints.inequalities.*",
    "*.reference",  # where a theorem stands
    "*evidence.*.parameters.how.*",  # keywords
    "parts.*.mechanism.given",
    "randomness.source",
    "parts.*.bias.reason",
    "secrets.model.content.*",  # the curator's model, and its own names of secrets and of what is public
    "*secrets.framework.public.data.*",
    "*secrets.framework.*.data.*secrets*",
    "*secrets.framework.pairs.data.pairs.*",
    "*secrets.framework.public.said.*.parameters.*",
    "*secrets.*evidence.*.parameters.o*",  # one secret, and the other
)
"""Where text of several words may stand: names, keywords, references, and what the curator wrote."""


def sentences(content: Any) -> Iterator[tuple[str, str]]:
    for place, value in places(content):
        if isinstance(value, str) and " " in value:
            name = ".".join(str(key) for key in place)
            if not any(fnmatchcase(name, allowed) for allowed in NAMES):
                yield name, value


@pytest.mark.parametrize("kind", RELEASES)
def test_no_sentence_stands_in_a_certificate_of_a_table(kind: str) -> None:
    certificate = released(kind).certificate
    assert list(sentences(certificate.to_dict())) == []
    drawn = certificate.table.mechanism.sampling
    assert drawn
    assert all(" " in one.words for one in drawn)


@pytest.mark.parametrize("kind", ["records", "solved"])
def test_no_sentence_stands_in_a_certificate_of_records(kind: str) -> None:
    found = prepare_records(asked(**KINDS[kind]), households()).certify(secure=True)
    assert list(sentences(found.to_dict())) == []


def test_no_sentence_stands_in_a_certificate_of_several_tables() -> None:
    spec = several({"one": ("pq", (("p",),)), "other": ("qr", ())})
    found = prepare(spec, frame("010", "011", "110", "001")).certify(secure=True)
    assert list(sentences(found.to_dict())) == []


def test_no_sentence_stands_in_a_certificate_of_a_processed_table(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text(SPEC)
    (tmp_path / "data.csv").write_text(DATA)
    holdfast.release(tmp_path / "holdfast.toml", tmp_path / "release", seed=3)
    found = postprocess(tmp_path / "release", "rounded-l2", tmp_path / "processed", bias_draws=20).certificate
    assert list(sentences(found.to_dict())) == []


def test_a_sentence_would_be_found() -> None:
    content = released("lattice-laplace").certificate.to_dict()
    content["parts"][0]["mechanism"]["sampling"] = ["one block of 16 cells"]
    assert [place for place, _ in sentences(content)] == ["parts.0.mechanism.sampling.0"]
