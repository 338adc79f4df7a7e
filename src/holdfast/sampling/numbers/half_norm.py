"""How the l1 norm of integers with a given sum is distributed, as enclosures.

Let x - y be n integers with sum s >= 0, x and y geometric vectors (a = exp(-epsilon)), y summing to m and x
to m + s. Then

    P(m)  prop. to  w(m) = C(n + m - 1, m) C(n + m + s - 1, m + s) a^(2 m + s),

and sum_m w(m) is G_s = sum_z a^||z||_1 over all z with sum s, but for the factor (1 - a^2)^-n that does not
depend on s. The ratio

    w(m + 1) / w(m) = (n + m)/(m + 1) (n + m + s)/(m + s + 1) a^2

falls with m: the law is log-concave.
"""

from fractions import Fraction
from math import exp, sqrt

import flint

from holdfast.sampling.decisions.enclosure import GUARD_BITS, exp_of_minus
from holdfast.sampling.numbers.log_concave import LogConcave


def half_norm(cells: int, epsilon: Fraction, offset: int = 0) -> LogConcave:
    """Return the law of m for n cells with sum s = ``offset``."""

    def ratio(m: int) -> tuple[int, int]:
        return (cells + m) * (cells + m + offset), (m + 1) * (m + offset + 1)

    return LogConcave.by_ratio(_mode(cells, exp(-float(epsilon)), offset), ratio, 2 * epsilon)


def weight(law: LogConcave, cells: int, epsilon: Fraction, offset: int, bits: int) -> flint.arb:
    """Return a ball around G_s (1 - a^2)^n, good to about ``bits`` bits; ``law`` is that of m."""
    low, high = law.total(bits)
    with flint.ctx.workprec(bits + GUARD_BITS):
        n, m, s = cells, law.centre, offset
        power = exp_of_minus(epsilon * (2 * m + s))
        at_centre = flint.arb.bin_uiui(n + m - 1, m) * flint.arb.bin_uiui(n + m + s - 1, m + s) * power
        return at_centre * flint.arb(low).union(flint.arb(high)) / flint.arb(2) ** bits


def _mode(cells: int, a: float, offset: int) -> int:
    """Solve (n + m)(n + m + s) a^2 = (m + 1)(m + s + 1) for m, roughly: any start is valid."""
    leading = 1 - a * a
    linear = 2 + offset - a * a * (2 * cells + offset)
    constant = (offset + 1) - a * a * cells * (cells + offset)
    inside = linear * linear - 4 * leading * constant
    return max(0, int((-linear + sqrt(max(inside, 0.0))) / (2 * leading)))
