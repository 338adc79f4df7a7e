from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data.geography import Spine
from holdfast.data.schema import Attributes
from holdfast.system.errors import SpecError

LENGTHS = {"nation": 0, "state": 2, "county": 5}
COUNTIES = ["17031", "01001", "17019", "17031", "55025"]


def spine_of(codes: list[str], lengths: dict[str, int]) -> Spine:
    """Return the geography of codes whose first so many characters name their node on each level."""
    nodes = {name: sorted({code[:length] for code in codes}) for name, length in lengths.items()}
    parents = [
        np.array([nodes[above].index(code[: lengths[above]]) for code in nodes[name]])
        for above, name in pairwise(lengths)
    ]
    return Spine(Attributes.of(nodes), tuple(parents))


def test_nodes_are_told_by_level() -> None:
    spine = spine_of(COUNTIES, LENGTHS)
    assert spine.codes("state") == ("01", "17", "55")
    assert spine.codes("county") == ("01001", "17019", "17031", "55025")
    assert [parent.tolist() for parent in spine.parent] == [[0, 0, 0], [0, 1, 1, 2]]
    assert repr(spine) == "<geography: nation (1), state (3), county (4)>"


@settings(deadline=None)
@given(data=st.data())
def test_ancestors_are_those_of_a_plain_walk(data: st.DataObject) -> None:
    code = st.text("01", min_size=4, max_size=4)
    spine = spine_of(data.draw(st.lists(code, min_size=1, max_size=20)), {"root": 0, "a": 1, "b": 3, "c": 4})
    for level, length in (("a", 1), ("b", 3), ("c", 4)):
        found = [spine.codes(level)[node] for node in spine.ancestors(level)]
        assert found == [leaf[:length] for leaf in spine.codes("c")]
    assert not spine.ancestors("root").any()


def test_names_what_is_wrong() -> None:
    with pytest.raises(SpecError, match="'state', has 2 nodes: begin with a level of one node"):
        spine_of(["17a", "18b"], {"state": 2, "county": 3})
    with pytest.raises(SpecError, match="did you mean 'county'"):
        spine_of(COUNTIES, LENGTHS).ancestors("conty")


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
