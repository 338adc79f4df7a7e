"""Composition: what several releases promise together."""

from math import hypot, prod

import numpy as np

from holdfast.privacy.tradeoff.bound import join
from holdfast.privacy.tradeoff.function import Floats, Tradeoff
from holdfast.privacy.tradeoff.gaussian import PERFECTLY_PRIVATE, Gaussian
from holdfast.privacy.tradeoff.losses import Losses
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear
from holdfast.privacy.tradeoff.profile import POINTS, TAIL, from_profile
from holdfast.privacy.zero import zero

LARGEST = 4_000_000  # points of a product law that are enumerated


def tensor(*fs: Tradeoff, largest: int = LARGEST) -> Tradeoff:
    """Return f_1 x ... x f_n = T(P_1 x ... x P_n, Q_1 x ... x Q_n) [dong2022, Definition 3.1].

    Gaussians: exact, G with the root of the sum of squares [dong2022, Corollary 3.3]. Piecewise linear
    functions: exact, by the product of their finite laws, while a product has at most ``largest`` points.
    The two kinds together: a lower bound, by tangents at exact points of the profile. Products too large
    to enumerate: a lower bound, by privacy loss distributions.
    """
    normal = [f for f in fs if isinstance(f, Gaussian)]
    finite = [f.pieces() for f in fs if not isinstance(f, Gaussian)]
    root = Gaussian(hypot(*(f.mu for f in normal)), join(*(f.certainty for f in normal)))
    if not finite:
        return root if normal else PERFECTLY_PRIVATE
    law = finite[0]
    for f in finite[1:]:
        if prod((len(law.p), len(f.p))) > largest:
            return Losses.of(fs).tradeoff()
        law = product(law, f)
    return law if root.mu == 0 and root.certainty == "exact" else _mixed(law, root)


def product(f: PiecewiseLinear, g: PiecewiseLinear) -> PiecewiseLinear:
    """Return the tradeoff function of the product laws, exactly."""
    return PiecewiseLinear.of_masses(
        np.outer(f.p, g.p).ravel(), np.outer(f.q, g.q).ravel(), join(f.certainty, g.certainty)
    )


def _mixed(law: PiecewiseLinear, root: Gaussian) -> PiecewiseLinear:
    """Bound the tensor of a finite pair and a Gaussian by tangents.

    Given the finite part's outcome a Gaussian pair remains, its epsilon less that outcome's loss:
    delta(epsilon) = sum_i q_i delta_mu(epsilon - log(q_i / p_i)), exactly.
    """

    def profile(side: PiecewiseLinear, epsilon: Floats) -> Floats:
        certain, both = side.q[side.p == 0].sum(), (side.p > 0) & (side.q > 0)
        losses, masses = side.losses, side.q[both]
        return np.array([certain + masses @ root.delta_at(e - losses) for e in epsilon])

    def enough(side: PiecewiseLinear) -> float:
        spent = side.q[side.p == 0].sum() + TAIL
        top = float(np.max(side.losses, initial=0.0)) + root.epsilon_at(TAIL)
        if profile(side, np.array([top]))[0] >= spent or profile(side, np.array([0.0]))[0] <= spent:
            return top
        return zero(lambda e: profile(side, np.array([e]))[0] - spent, 0.0, top, xtol=1e-3, rtol=1e-14)

    back = law.inverse()
    epsilon = np.linspace(0.0, min(700.0, max(enough(law), enough(back))), POINTS)
    certainty = join(law.certainty, root.certainty)
    return from_profile(epsilon, profile(law, epsilon), profile(back, epsilon), certainty=certainty)
