"""Convex quadratic programs over cells with bounds, in one order of operations: the same bits everywhere.

inorder.py    sums and products in one order
equations.py  the linear equations of a step
program.py    a program, and the certificate of a solution
newton.py     the dual, by Newton steps, where every cell has a weight
interior.py   an interior point method, for all others
bounds.py     what rows leave of the bounds of cells
squares.py    least squares under rows and bounds: what others ask for
"""
