"""Claims are facts: every id that is registered has words, and evidence survives a certificate."""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from fractions import Fraction
from inspect import Parameter, signature
from types import UnionType
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import TypeAdapter

import holdfast
from holdfast.certificate.head import EvidenceSections
from holdfast.privacy.claims import Claim, ClaimError, claim, registered_claims
from holdfast.privacy.evidence import (
    Assumed,
    Estimated,
    Evidence,
    Proved,
    evidence_dict,
    evidence_report,
    stated,
)
from holdfast.spec.privacy import ProtectedUnit


@pytest.fixture(scope="module", autouse=True)
def everything() -> None:
    for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        if "__main__" not in module.name and "spark" not in module.name:
            importlib.import_module(module.name)


def examples(kind: Any) -> Iterator[Any]:
    """Yield parameters of a kind, as JSON has them."""
    if get_origin(kind) is Literal:
        yield from get_args(kind)
    elif get_origin(kind) is UnionType:
        for one in get_args(kind):
            yield from (None,) if one is type(None) else examples(one)
    elif get_origin(kind) is tuple:
        yield [next(examples(get_args(kind)[0]))]
    else:
        yield from {
            int: (1, 3),
            float: (0.25,),
            bool: (True, False),
            str: ("a name of something",),
            Fraction: ("1/3", "2"),
            ProtectedUnit: ({"unit": "household", "records": 1}, {"unit": "person", "records": 3}),
        }[kind]


def test_every_id_is_put_into_words() -> None:
    ours = {
        name: words for name, words in registered_claims().items() if words.__module__.startswith("holdfast.")
    }
    assert len(ours) > 75
    for name, words in ours.items():
        takes = signature(words).parameters
        first = {key: next(examples(one.annotation)) for key, one in takes.items()}
        assert all(one.default is Parameter.empty for one in takes.values()), name
        tried = [{**first, key: value} for key, one in takes.items() for value in examples(one.annotation)]
        for parameters in tried or [{}]:
            made = Claim(name, parameters)
            assert len(made.words) > 15, name
            assert "  " not in made.words + made.basis, name
            assert Claim.from_dict(json.loads(json.dumps(made.to_dict()))) == made
        assert name == name.lower()
        assert ":" not in name, "plain ids are ours"


def test_a_claim_is_made_of_what_its_words_take() -> None:
    made = _bound(Fraction(1, 3), whom=ProtectedUnit("household"), sizes=(1, 2))
    assert made == Claim(
        "tests:bound",
        {"epsilon": "1/3", "whom": {"unit": "household", "records": 1}, "sizes": [1, 2], "exact": True},
    )
    assert (made.words, made.basis) == ("one household loses 1/3, (1, 2), True", "a proof")
    assert str(made) == made.words
    assert hash(made) == hash(Claim.from_dict(made.to_dict()))
    assert made != Claim(made.id, {**made.parameters, "exact": 1})  # 1 is not true


@claim("tests:bound")
def _bound(
    epsilon: Fraction, whom: ProtectedUnit, sizes: tuple[int, ...], *, exact: bool = True
) -> tuple[str, str]:
    return f"one {whom.one} loses {epsilon}, {sizes}, {exact}", "a proof"


def test_an_id_is_registered_once_and_with_its_package() -> None:
    with pytest.raises(ValueError, match="two claims"):
        claim("tests:bound")(lambda: "again")
    with pytest.raises(ValueError, match="'package:plain'"):
        claim("plain")(lambda: "of another package")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Claim("acme:noise", {}), "install the package 'acme'"),
        (Claim("no-such-claim", {}), "use the version that wrote it"),
        (Claim("sensitivity-l1", {}), "others are expected"),
        (Claim("sensitivity-l1", {"size": 1, "exact": True, "more": 1}), "others are expected"),
        (Claim("sensitivity-l1", {"size": "1", "exact": True}), "of another kind"),
        (Claim("sensitivity-l1", {"size": 1, "exact": 0}), "of another kind"),
        (Claim("lattice-laplace", {"kappa": "1e999999999", "norm": "l1"}), "not a number"),
        (Claim("lattice-laplace", {"kappa": "1/0", "norm": "l1"}), "division by zero"),
        (Claim("lattice-laplace", {"kappa": "1", "norm": "l7"}), "of another kind"),
        (Claim("nesting-from-the-data", {"inner": ["tract"], "outer": []}), "shorter"),
        (Claim("record-in-a-count", {"whom": {"unit": "person"}}), "of another kind"),
    ],
)
def test_what_is_not_known_is_said(found: Claim, said: str) -> None:
    with pytest.raises(ClaimError, match=said):
        _ = found.words


CHAIN = {"steps": 9, "stand_ins": 1, "distance": 1e-9, "runs": 3, "lag": 2}
EVIDENCE: tuple[Evidence, ...] = (
    Proved(_bound(Fraction(1, 3), ProtectedUnit(), ()), "theory, 2"),
    Assumed(stated("the parts are independent", "they are of different places")),
    Estimated(Claim("chain-distance", CHAIN), "0.99"),
)


@pytest.mark.parametrize("evidence", EVIDENCE, ids=lambda one: one.kind)
def test_evidence_survives_a_certificate(evidence: Evidence) -> None:
    written = json.loads(json.dumps(evidence_dict(evidence)))
    section = TypeAdapter(EvidenceSections).validate_python([written])[0]
    assert (section.kind, section.claim) == (evidence.kind, evidence.claim)
    assert section.model_dump(mode="json") == written
    assert all(evidence_report(evidence).values())
    with pytest.raises(ValueError, match="more"):
        TypeAdapter(EvidenceSections).validate_python([{**written, "more": 1}])
    with pytest.raises(ValueError, match="kind"):
        TypeAdapter(EvidenceSections).validate_python([{**written, "kind": "believed"}])
    with pytest.raises(ValueError, match="parameters"):
        TypeAdapter(EvidenceSections).validate_python([{**written, "parameters": 3}])


def test_models_of_certificates_read_and_write_claims() -> None:
    adapter = TypeAdapter(tuple[Claim, ...])
    made = (_bound(Fraction(1), ProtectedUnit(), (1,)),)
    assert adapter.validate_json(adapter.dump_json(made)) == made == adapter.validate_python(made)
    for wrong in ([{"id": 3, "parameters": {}}], [{"id": "a"}], [{"id": "a", "parameters": {}, "more": 1}]):
        with pytest.raises(ValueError):  # noqa: PT011 - of pydantic
            adapter.validate_json(json.dumps(wrong))
    assert adapter.json_schema()["items"]["required"] == ["id", "parameters"]
