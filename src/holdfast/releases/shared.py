"""The counts that several tables show: exactly the same where both keep them, and apart where one does not.

A table keeps a margin that lies in one of its kept margins, and shows every margin of its attributes. All
tables are of one file, so kept counts agree; a count with noise differs from table to table.
"""

from collections.abc import Mapping
from itertools import combinations

from holdfast.certificate.model import SharedSection
from holdfast.data.grid import ancestors
from holdfast.ledger.scope import Names
from holdfast.public import Public


def shared_margins(publics: Mapping[str, Public]) -> tuple[SharedSection, ...]:
    """Return the margins that more than one table shows, the widest of those that are alike."""
    kept = {name: _kept(public) for name, public in publics.items()}
    shown = {name: Names(public.schema.names) for name, public in publics.items()}
    wide = {name: {shown[name], *kept[name]} for name in publics}
    meets = {a & b for one, other in combinations(publics, 2) for a in wide[one] for b in wide[other]}
    found: dict[Names, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for margin in meets:
        exact = tuple(name for name in publics if any(margin <= one for one in kept[name]))
        noisy = tuple(name for name in publics if margin <= shown[name] and name not in exact)
        found[margin] = exact, noisy
    order = [name for public in publics.values() for name in public.schema.names]
    return tuple(
        SharedSection(attributes=tuple(sorted(margin, key=order.index)), exact=exact, noisy=noisy)
        for margin, (exact, noisy) in sorted(found.items(), key=lambda item: (len(item[0]), sorted(item[0])))
        if not any(margin < other and found[other] == (exact, noisy) for other in found)
    )


def apart(shared: SharedSection, counted: str) -> str | None:
    """Say that a margin is not the same in all tables that show it; None where it is."""
    if not shared.noisy:
        return None
    what, noisy = what_of(shared, counted), _names(shared.noisy)
    if shared.exact:
        return (
            f"the counts of {what} are exact in {_names(shared.exact)} and with noise in {noisy}, so they"
            " differ: keep them in all."
        )
    return f"the counts of {what} have noise of their own in each of {noisy}, so they differ."


def what_of(shared: SharedSection, counted: str) -> str:
    """Return the words for a margin of what the tables count."""
    return " by ".join(shared.attributes) or f"all {counted}"


def _kept(public: Public) -> set[Names]:
    """Return the attributes of the full margins that a table keeps, with those that they lie in."""
    if public.schema.impossible:
        return set()
    within = public.schema.within
    return {
        Names(held.block.attributes).union(*(ancestors(name, within) for name in held.block.attributes))
        for held in public.invariants
        if held.block.kind != "weights" and not held.block.where
    }


def _names(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
