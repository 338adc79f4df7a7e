from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data.attributes import Attributes
from holdfast.data.spine import Spine
from holdfast.errors import DataError, SpecError

LENGTHS = {"nation": 0, "state": 2, "county": 5}
COUNTIES = ["17031", "01001", "17019", "17031", "55025"]


def test_prefixes_of_one_code() -> None:
    spine = Spine.from_prefixes(COUNTIES, LENGTHS)
    assert spine.levels.names == ("nation", "state", "county")
    assert spine.codes("nation") == ("nation",)
    assert spine.codes("state") == ("01", "17", "55")
    assert spine.codes("county") == ("01001", "17019", "17031", "55025")
    assert [parent.tolist() for parent in spine.parent] == [[0, 0, 0], [0, 1, 1, 2]]
    assert repr(spine) == "<geography: nation (1), state (3), county (4)>"


def test_children_stand_together_whatever_their_codes() -> None:
    columns = {"root": ["all"] * 4, "region": ["b", "a", "b", "a"], "place": ["1", "2", "3", "4"]}
    spine = Spine.from_columns(columns)
    assert spine.codes("place") == ("2", "4", "1", "3")
    assert spine.parent[1].tolist() == [0, 0, 1, 1]


@settings(deadline=None)
@given(data=st.data())
def test_ancestors_are_those_of_a_plain_walk(data: st.DataObject) -> None:
    code = st.text("01", min_size=4, max_size=4)
    codes = data.draw(st.lists(code, min_size=1, max_size=20))
    spine = Spine.from_prefixes(codes, {"root": 0, "a": 1, "b": 3, "c": 4})
    assert spine.codes("c") == tuple(sorted(set(codes)))
    for level, length in (("a", 1), ("b", 3), ("c", 4)):
        found = [spine.codes(level)[node] for node in spine.ancestors(level)]
        assert found == [leaf[:length] for leaf in spine.codes("c")]
    assert not spine.ancestors("root").any()


@settings(deadline=None)
@given(data=st.data())
def test_the_order_of_rows_does_not_show(data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(COUNTIES))
    one, other = Spine.from_prefixes(COUNTIES, LENGTHS), Spine.from_prefixes(shuffled, LENGTHS)
    assert one.levels == other.levels
    assert all(np.array_equal(a, b) for a, b in zip(one.parent, other.parent, strict=True))


def test_a_child_has_one_parent() -> None:
    columns = {"nation": ["x"] * 3, "state": ["17", "18", "17"], "county": ["031", "031", "019"]}
    with pytest.raises(DataError) as caught:
        Spine.from_columns(columns)
    assert str(caught.value) == (
        "county '031' lies in state '17' and in state '18': correct one of them, or put the code of the state"
        " in front of it."
    )


def test_a_parent_has_one_parent_too() -> None:
    columns = {"root": ["x", "x"], "a": ["1", "2"], "b": ["p", "p"], "c": ["u", "v"]}
    with pytest.raises(DataError, match=r"^b 'p' lies in a '1' and in a '2'"):
        Spine.from_columns(columns)


def test_names_what_is_wrong() -> None:
    gap: Any = ["17", None]
    with pytest.raises(SpecError, match="'state', has 2 nodes: begin with a level of one node"):
        Spine.from_columns({"state": ["17", "18"], "county": ["a", "b"]})
    with pytest.raises(SpecError, match="do not rise: list the root first"):
        Spine.from_prefixes(COUNTIES, {"county": 5, "state": 2})
    with pytest.raises(DataError, match="the code '1001' does not have 5 characters"):
        Spine.from_prefixes(["17031", "1001"], LENGTHS)
    with pytest.raises(DataError, match=r"row 1 \(from 0\) has no state"):
        Spine.from_columns({"nation": ["x", "x"], "state": gap})
    with pytest.raises(SpecError, match="did you mean 'county'"):
        Spine.from_prefixes(COUNTIES, LENGTHS).ancestors("conty")


LEVELS = Attributes.of({"root": ["x"], "a": ["1", "2"], "b": ["p", "q", "r"]})


@pytest.mark.parametrize(
    "parent",
    [
        ([0, 0],),
        ([0, 0], [0, 1]),
        ([0, 0], [0, 1, 0]),
        ([0, 0], [0, 0, 0]),
        ([0, 0], [1, 1, 1]),
        ([0, 0], [0, 1, 2]),
        ([0, 1], [0, 1, 1]),
    ],
)
def test_parents_stand_in_order(parent: tuple[list[int], ...]) -> None:
    with pytest.raises(ValueError, match="parent"):
        Spine(LEVELS, tuple(np.array(each) for each in parent))


def test_parents_are_copied_and_read_only() -> None:
    given = np.array([0, 1, 1])
    spine = Spine(LEVELS, (np.array([0, 0]), given))
    given[0] = 1
    assert spine.parent[1].tolist() == [0, 1, 1]
    assert not spine.parent[1].flags.writeable
