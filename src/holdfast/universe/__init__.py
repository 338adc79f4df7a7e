"""The tables that agree with the invariants, and the distances between them.

[theory, 1] fixes the notation: cells d, invariants t = A x, universe D_t, differences u = x - x'.
"""
