"""What a mechanism's own facts exclude is refused before any data are read, in a sentence with a way out."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.mechanisms.catalogue import AnyMechanism, mechanism_of, mechanisms, of_tables
from holdfast.spec.model import Spec
from holdfast.system.errors import SpecError
from holdfast.system.text import closest

TARGETS: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": "1"},
    "approximate": {"standard": "approximate", "epsilon": "1", "delta": "1/100"},
    "zcdp": {"standard": "zcdp", "rho": "1"},
    "gaussian": {"standard": "gaussian", "mu": "1"},
}


def spec(name: str, standard: str, *, constraints: Any = None, **options: Any) -> Spec:
    return Spec.of(
        {
            "data": {"path": "nowhere.csv", "cells": ["row", "column"], "count": "n"},
            "constraints": constraints or {},
            "privacy": TARGETS.get(standard, {}),
            "mechanism": {"name": name, **options},
        },
        folder=Path("nowhere"),
    )


each = pytest.mark.parametrize("kind", of_tables(), ids=lambda kind: kind.name)


@each
def test_a_standard_is_met_or_refused(kind: type[AnyMechanism]) -> None:
    assert kind.standards
    for standard in TARGETS:
        if standard in kind.standards:
            assert mechanism_of(spec(kind.name, standard)) == (kind, kind.Options(name=kind.name))
            continue
        with pytest.raises(SpecError) as refused:
            mechanism_of(spec(kind.name, standard))
        message = str(refused.value)
        assert f"standard = {standard!r} is not met by {kind.name}: set standard=" in message
        assert f'"{kind.standards[0]}"' in message
        assert "\n" not in message


@each
@pytest.mark.parametrize(
    ("constraints", "said"),
    [
        ({"nonnegative": True}, "nonnegative = true"),
        ({"inequalities": [{"total": True, "at_least": 1}]}, "inequalities"),
    ],
)
def test_bounds_are_kept_or_refused(kind: type[AnyMechanism], constraints: Any, said: str) -> None:
    asked = spec(kind.name, kind.standards[0], constraints=constraints)
    if kind.bounded:
        assert mechanism_of(asked)[0] is kind
        return
    able = next(other for other in of_tables() if other.bounded)
    with pytest.raises(SpecError, match=rf"constraints\.{said} bounds? the release.*{able.name!r}"):
        mechanism_of(asked)


@each
def test_the_key_of_another_mechanism_is_an_unknown_key(kind: type[AnyMechanism]) -> None:
    own = set(kind.Options.model_fields)
    others = {key for other in mechanisms() for key in other.Options.model_fields} - own
    assert others  # else there is nothing to confuse
    for key in sorted(others):
        with pytest.raises(SpecError) as refused:
            mechanism_of(spec(kind.name, kind.standards[0], **{key: "1"}))
        advice = closest(key, kind.Options.model_fields)
        assert str(refused.value) == f"[mechanism] has an unknown key {key!r}: {advice}"


@each
def test_a_misspelt_key_is_told_the_closest(kind: type[AnyMechanism]) -> None:
    for key in kind.Options.model_fields:
        with pytest.raises(SpecError, match=rf"\[mechanism\] has an unknown key .*: did you mean '{key}'"):
            mechanism_of(spec(kind.name, kind.standards[0], **{f"{key}_": "1"}))


@pytest.mark.parametrize("name", [kind.name for kind in of_tables() if "pure" in kind.standards])
def test_a_missing_strength_is_missed(name: str) -> None:
    with pytest.raises(SpecError, match=r"privacy\.epsilon is missing"):
        mechanism_of(spec(name, "nothing"))


def test_a_misspelt_name_is_told_the_closest() -> None:
    with pytest.raises(SpecError, match="name = 'k-nrom' is not known: did you mean 'k-norm'"):
        mechanism_of(spec("k-nrom", "pure"))


def test_names_are_distinct() -> None:
    assert len({kind.name for kind in mechanisms()}) == len(mechanisms())
    assert all(kind.Record.model_fields["name"].annotation is not str for kind in mechanisms())
