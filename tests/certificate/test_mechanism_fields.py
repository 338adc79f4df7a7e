"""Each leaf of what a certificate says of its mechanism is derived again, or listed as claiming nothing."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.certificate.falsify import Forgery, write
from tests.certificate.places import changed, content_of, places
from tests.certificate.test_falsified import excused
from tests.small_releases import KINDS, released

from holdfast import verify
from holdfast.certificate.quick import PAGE

SAME = 1
"""Leaves of one name that are tried: the first of a list stands for all."""


def other(value: Any) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if value is None:
        return "1"
    try:
        return str(Fraction(value) + 1)
    except ValueError:
        return value + "x"


@pytest.mark.parametrize("kind", KINDS)
def test_each_leaf_is_derived_or_claims_nothing(kind: str, tmp_path: Path) -> None:
    folder = released(kind).write(tmp_path / "release")
    before, page = content_of(folder), (folder / PAGE).read_bytes()
    tried: dict[str, int] = {}
    for place, value in places(before["parts"][0]["mechanism"], ("parts", 0, "mechanism")):
        forgery = Forgery(place, "changed", {})
        tried[forgery.name] = tried.get(forgery.name, 0) + 1
        if isinstance(value, dict | list) or tried[forgery.name] > SAME:
            continue
        (folder / PAGE).write_bytes(page)
        write(folder, changed(before, place, other(value)), page=True)
        assert not verify(folder).kept or excused(forgery, before), forgery.name
