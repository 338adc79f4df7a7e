"""Linear, integer and quadratic programs.

solver.py     HiGHS: the one file that knows it; a vertex of a linear program; integer programs, whose
              points are checked in integers
decompose.py  a point as a combination of moves with the least weight
quadratic/    convex quadratic programs, the same bits on every machine

What comes back of the others was found in floats: suggestions that their callers check.
"""
