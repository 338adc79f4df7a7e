from collections.abc import Callable
from typing import Any

import pytest

from holdfast.data.read import read_table
from holdfast.spec.model import Spec
from holdfast.system.errors import SpecError

SpecFor = Callable[..., Spec]


def warnings(spec: Spec) -> tuple[str, ...]:
    return read_table(spec).warnings


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (["Alpha", "alpha", "Beta"], "'Alpha', 'alpha', which differ in case, spaces or zeros"),
        (["Alpha", "Alpha ", "Beta"], "'Alpha', 'Alpha '"),
        (["01", "1", "2"], "'01', '1'"),
        (["NA", "a"], "the level 'NA', which may be a missing value"),
        (["N/A", "na", "a"], "the levels 'N/A', 'na', which may be a missing value"),
        (["  ", "a"], "the level '  '"),
    ],
)
def test_levels_that_look_alike_are_told(spec_for: SpecFor, levels: list[str], words: str) -> None:
    content = "x,n\n" + "".join(f"{level},1\n" for level in levels)
    assert any(words in said for said in warnings(spec_for(content, {"cells": ["x"], "count": "n"})))


def test_what_is_fine_is_not_talked_about(spec_for: SpecFor) -> None:
    content = "x,y,n\n" + "".join(f"{x},{y},1\n" for x in "abcd" for y in ("u", "None", "0-4"))
    assert warnings(spec_for(content, {"cells": ["x", "y"], "count": "n"})) == ()
    coded = spec_for("x,n\na,1\nNA,2\n", {"cells": ["x"], "count": "n", "missing": ["NA"]})
    assert warnings(coded) == ()


def chain(size: int, width: int = 2) -> str:
    rows = [f"c{i // 12},t{i // 3},b{i},{k}" for i in range(size) for k in range(width)]
    return "county,tract,block,k,n\n" + "".join(f"{row},1\n" for row in rows)


def test_nested_attributes_are_seen_with_what_they_cost(spec_for: SpecFor) -> None:
    data: dict[str, Any] = {"cells": ["county", "tract", "block", "k"], "count": "n"}
    (said,) = warnings(spec_for(chain(36), data))
    assert "each tract in one county and each block in one tract" in said
    assert f"{3 * 12 * 36 * 2:,} cells are made where {36 * 2:,} are real" in said
    assert 'set within={"tract": "county", "block": "tract"} in data' in said
    said, _ = warnings(spec_for(chain(36), {**data, "within": {"block": "tract"}}))
    assert 'within={"tract": "county"}' in said
    assert warnings(spec_for(chain(36), {**data, "within": {"block": "tract", "tract": "county"}})) == ()


def test_records_are_nested_by_more_than_chance(spec_for: SpecFor) -> None:
    rows = [f"c{i % 3},t{i % 3}{i % 2}" for i in range(60)]
    nested = spec_for("county,tract\n" + "\n".join(rows), {"cells": ["county", "tract"]})
    assert "each tract in one county" in warnings(nested)[0]
    few = spec_for("sex,age\nf,1\nm,2\nf,3\nm,4\n", {"cells": ["sex", "age"]})
    assert warnings(few) == ()


def test_names_of_one_thing_are_nested_once(spec_for: SpecFor) -> None:
    rows = "".join(f"0{i},name{i},{k},1\n" for i in range(5) for k in "fm")
    (said,) = warnings(spec_for("fips,name,k,n\n" + rows, {"cells": ["fips", "name", "k"], "count": "n"}))
    assert 'within={"name": "fips"}' in said


def test_a_table_too_large_because_of_nesting_says_so(spec_for: SpecFor) -> None:
    content = "a,b,n\n" + "".join(f"x{i // 2},y{i},1\n" for i in range(30_000))
    with pytest.raises(SpecError, match=r"450,000,000 cells are made where 30,000 are real.*within="):
        read_table(spec_for(content, {"cells": ["a", "b"], "count": "n"}))
