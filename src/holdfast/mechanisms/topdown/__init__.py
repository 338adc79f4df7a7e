"""`topdown`: noisy measurements at every level of a geography, and estimates that keep all that is known.

options.py       its keys of [mechanism]: which queries, and how the budget is shared
queries.py       queries of the table of a node, and the passes they are estimated in
design.py        what is known and what is measured of each level, and by how much one record can move it
allocation.py    shares of the budget by level and query
measurements.py  the law of the measurements, and their file
estimate.py      whole counts from measurements, and their bias on invented counts
engine.py        where parents are solved: on this machine, or on Spark
microdata.py     estimated counts as records, one a person
best_linear.py   linear estimates of all nodes, for intervals
nodes.py         likelihoods of the measurements, for inference
details.py       what a certificate says of it beside its record, and how it is checked
mechanism.py     the mechanism: one guarantee, one law, one record
"""
