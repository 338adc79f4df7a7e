"""`[privacy] laws`: where a guarantee can be told in terms of secrets, and where not."""

from pathlib import Path
from typing import Any

import pytest
from tests.small_releases import KINDS, spec

from holdfast.mechanisms.swapping.options import options_of
from holdfast.releases.prepare import prepare
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.spec.tables import TablesSpec
from holdfast.system.errors import GuaranteeError, SpecError


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"standard": "gaussian", "mu": "1"}, 'goes with the standards "pure" and "zcdp"'),
        ({"epsilon": "1", "records_per_unit": 2}, "single records"),
        ({"epsilon": "1", "adjacency": "unit"}, 'goes with adjacency = "semi"'),
    ],
)
def test_laws_that_go_with_nothing_else_are_refused(asked: dict[str, Any], complaint: str) -> None:
    assert Privacy(**asked).laws is None
    with pytest.raises(SpecError, match=complaint):
        Privacy(**asked, laws="pairs")
    with pytest.raises(SpecError, match="must be one of"):
        Privacy(epsilon="1", laws="pair")


def test_laws_that_the_guarantee_does_not_cover_are_refused_before_a_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "too far", {"privacy": {"epsilon": "1", "laws": "everything"}})
    with pytest.raises(GuaranteeError, match="moves up to 20 records"):
        prepare(spec("too far", tmp_path)).drawing()


def test_several_tables_and_records_have_none() -> None:
    privacy = {"epsilon": "1", "laws": "pairs"}
    tables = [{"name": "one", "cells": ["a"]}, {"name": "two", "cells": ["b"]}]
    with pytest.raises(SpecError, match="speaks of one table"):
        TablesSpec.of({"data": {"path": "a.csv"}, "privacy": privacy, "tables": tables})
    swapped = Spec.of(
        {
            "data": {"path": "a.csv"},
            "privacy": {"epsilon": "9", "adjacency": "unit", "laws": "independent"},
            "mechanism": {"name": "permutation-swapping", "stratify": ["a"], "swap": ["b"]},
        }
    )
    with pytest.raises(SpecError, match="speaks of tables"):
        options_of(swapped)
