"""Tradeoff functions of laws that can be enumerated."""

import numpy as np
from scipy.special import logsumexp

from holdfast.privacy.tradeoff.function import Floats
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear


def tradeoff_of(p: Floats, q: Floats) -> PiecewiseLinear:
    """Return T(P, Q) of two laws on the same finite set, exactly.

    >>> tradeoff_of(np.array([0.75, 0.25]), np.array([0.25, 0.75])).delta_at(0.0)
    0.5
    """
    p, q = np.asarray(p, dtype=np.float64).ravel(), np.asarray(q, dtype=np.float64).ravel()
    if p.shape != q.shape:
        raise ValueError(f"two laws on one set have as many masses: {len(p)} and {len(q)} do not match.")
    for masses in (p, q):
        if not (np.all(masses >= 0) and abs(masses.sum() - 1) < 1e-9):
            raise ValueError("masses are not negative and sum to 1.")
    return PiecewiseLinear.of_masses(p / p.sum(), q / q.sum())


def tradeoff_of_lattice(log_p: Floats, log_q: Floats, left_out: float) -> PiecewiseLinear:
    """Return a lower bound on T(P, Q) of two laws known on a window, each with at most left_out outside.

    ``log_p`` and ``log_q`` are log masses on the window, each up to a constant of its own. On the window
    P has at least 1 - left_out times the normalised masses. A test's errors are at least those it makes
    on the window, and they only fall with the masses; so all the rest of P and Q is taken to be told
    apart at no cost. A part in 1e16 for each term summed pays for rounding.
    """
    if not 0 <= left_out < 1:
        raise ValueError(f"left_out lies in [0, 1), not {left_out}.")
    if np.shape(log_p) != np.shape(log_q):
        raise ValueError("two laws on one window have as many masses.")

    def window(log_masses: Floats) -> Floats:
        logs = np.asarray(log_masses, dtype=np.float64).ravel()
        largest = float(np.max(np.abs(logs[np.isfinite(logs)]), initial=0.0))
        rounding = np.finfo(np.float64).eps * (2 * len(logs) + 4 * largest + 8)
        masses = np.exp(logs - logsumexp(logs)) * (1 - left_out) * (1 - rounding)
        return np.asarray(masses, dtype=np.float64)

    p, q = window(log_p), window(log_q)
    return PiecewiseLinear.of_masses(
        np.concatenate([p, [0.0, max(0.0, 1 - p.sum())]]),
        np.concatenate([q, [max(0.0, 1 - q.sum()), 0.0]]),
        "lower",
    )
