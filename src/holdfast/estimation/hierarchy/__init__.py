"""Every node of a hierarchy from measurements and public values: whole counts, and linear estimates.

Whole counts from the top down, as in the census's TopDown:
level.py         what was measured and is known of a level; counts where nothing was measured
propagation.py   what lower levels ask of upper ones
family.py        the children of one parent
subtree.py       several levels at once, or a table alone
rounding.py      the nearest whole counts
descent.py       the road from the root to the leaves
conflict.py      what contradicts where there are no counts
run.py           where tasks are run

Linear estimates without bounds:
linear.py        best linear unbiased estimates of all nodes
variances.py     their exact variances
coefficients.py  what each noise has in an estimate
"""
