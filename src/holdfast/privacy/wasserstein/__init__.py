"""W_infinity: how far mass must travel, at worst, from one law to another.

    W_infinity(p, q) = min over couplings of p and q of the largest distance that has mass.

law.py        laws with finitely many values, in exact rationals
line.py       on the line, by quantiles
transport.py  on any finite metric space, by flows: a coupling from above, a set of values from below
"""

from holdfast.privacy.wasserstein.law import DiscreteLaw
from holdfast.privacy.wasserstein.line import largest_quantile_gap
from holdfast.privacy.wasserstein.transport import Transport, bottleneck

__all__ = ["DiscreteLaw", "Transport", "bottleneck", "largest_quantile_gap"]
