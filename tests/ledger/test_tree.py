"""The tree of the checkpoint: read and changed entry by entry, and no entry passes for another."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.ledger import checkpoint as tree

KEYS = st.text("abcdef0123456789", min_size=1, max_size=3)
Nodes = dict[tuple[str, str], str]


def children(nodes: Nodes, node: str) -> dict[str, str]:
    return {name: digest for (parent, name), digest in nodes.items() if parent == node and name}


@given(st.lists(st.tuples(KEYS, st.text(max_size=3)), max_size=30))
def test_changing_entries_one_by_one_grows_the_whole_tree(changes: list[tuple[str, str]]) -> None:
    nodes: Nodes = {("", ""): tree.EMPTY}
    held: dict[str, str] = {}
    for key, value in changes:
        nodes |= tree.changed(partial(children, nodes), key, tree.leaf(value))
        held[key] = tree.leaf(value)
        assert nodes == tree.grown(held)
    for key in (*held, "other"):
        assert tree.proved(partial(children, nodes), nodes["", ""], key) == held.get(key)


def test_an_older_entry_and_a_missing_one_do_not_lead_to_the_root() -> None:
    held = {str(number): tree.leaf(str(number)) for number in range(200)}
    nodes = tree.grown(held)
    root = nodes["", ""]
    older = tree.grown({**held, "7": tree.leaf("older")})
    without = tree.grown({key: value for key, value in held.items() if key != "7"})
    for forged in (older, without):
        assert forged["", ""] != root
        with pytest.raises(ValueError, match="does not hold together"):
            tree.proved(partial(children, forged), root, "7")
    # nor with the nodes above left as they were
    for name in {parent for parent, child in nodes if child == "7"}:
        mixed = {**nodes, (name, "7"): tree.leaf("older")}
        with pytest.raises(ValueError, match="does not hold together"):
            tree.proved(partial(children, mixed), root, "7")
