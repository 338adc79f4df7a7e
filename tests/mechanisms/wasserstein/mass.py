"""The mass of a Dirichlet-multinomial prior [theory, 7]: the slow truth of weights that use it."""

from math import lgamma

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.wasserstein.measure import Pseudo


def log_mass(counts: IntArray, pseudo: Pseudo) -> float:
    """Return the log of the mass of one vector of counts; all pseudo-counts are positive."""
    n, a = int(counts.sum()), float(sum(pseudo))
    logs = [
        lgamma(int(k) + float(p)) - lgamma(float(p)) - lgamma(int(k) + 1)
        for k, p in zip(counts, pseudo, strict=True)
    ]
    return lgamma(a) + lgamma(n + 1) - lgamma(n + a) + sum(logs)
