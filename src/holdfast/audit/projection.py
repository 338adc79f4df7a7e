"""What a test loses when it sees a projected release: noise of an epsilon, in either design."""

from collections.abc import Sequence
from fractions import Fraction
from typing import get_args

from holdfast.errors import SpecError
from holdfast.inference.projected_power import Design, PowerReport, projected_power
from holdfast.spec.closest import closest

CHANGED = {"bounds": 1, "total": 2}
"""How many counts one person's answer changes."""


def audit_projection(
    n: int,
    epsilon: Fraction,
    null: float,
    alternatives: Sequence[float],
    *,
    design: str = "bounds",
    delta_z: Fraction = Fraction(1),
    level: float = 0.05,
    draws: int = 0,
    seed: int = 0,
) -> PowerReport:
    """Return the powers of the best tests from a release and from its projection.

    The noise is double geometric. A secret moves one count by delta_z, or two in opposite directions, and the
    loss is the rate times the sum of both.
    """
    known: tuple[Design, ...] = get_args(Design)
    for name in known:
        if name == design:
            rate = epsilon / (CHANGED[name] * delta_z)
            return projected_power(
                n, float(rate), null, alternatives, level=level, design=name, draws=draws, seed=seed
            )
    raise SpecError(f"--design is {design!r}, which is not known: {closest(design, known)}")
