"""Published Markov chains for noise under invariants, for comparison with exact draws.

The kernels of [integer-subspace-dp] and [congenial-dp] follow the package's protocol (`Kernel`), so its lag
couplings measure how far they are from their targets. No release is drawn by them.
"""
