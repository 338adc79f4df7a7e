"""Noise shaped by what a table is for: weights of queries, and the quadratic form that they make.

queries.py         weighted queries, given or found
strategy.py        the form of noise that they make, and how to draw it
axes.py            the axes of a table as whole margins read them
spaces.py          the spaces that have weights of their own
tree_variances.py  variances of the sums of a tree, by the weights of its levels
optimum.py         the best weights, as convex programs
optimised.py       the best weights for what a spec asks for, as a form that a certificate makes again
accurate.py        the form that needs the least budget for an accuracy
"""
