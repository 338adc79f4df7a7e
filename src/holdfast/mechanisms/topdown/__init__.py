"""`topdown`: noisy measurements at every level of a geography, and estimates that keep all that is known.

options.py     its keys of [mechanism]: which queries, and how the budget is shared
kept.py        invariants and bounds by level, as rows over the cells of a node
design.py      what is measured of each level, and by how much one record can move it
allocation.py  shares of the budget by level and query
law.py         the law of the measurements
mechanism.py   the mechanism: one guarantee, one law, one record
"""
