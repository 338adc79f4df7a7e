"""One step down a hierarchy: from a parent's counts to those of its children, as in the census's TopDown.

Only measurements and public values enter. ``step`` is the road: ``children`` for a detailed and a total
query, ``general`` for any, then ``rounding``; what no counts can keep is told by ``conflict``.
"""
