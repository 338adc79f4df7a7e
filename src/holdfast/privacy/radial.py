"""The loss of noise whose density depends on its norm alone [congenial-dp, Theorem A.1].

Let f > 0 on a normed space be (i) decreasing in |x|, and let (ii) f(x) exp(alpha |x|) increase in |x|. Then

    f(x - a) / f(x - b) <= exp(alpha |a - b|)    for all x, a, b.

*Proof.* If |x - a| > |x - b| the ratio is at most 1 by (i). Else (ii) bounds it by exp(alpha (|x - b| - |x
- a|)), and the triangle inequality does the rest.

With f(x) = h(|x|), (i) and (ii) say that -log h rises, and nowhere faster than alpha: the least alpha is
its largest slope. It is needed, too, as a = 0 and x, b on one line show. So it is the loss for each unit of
distance, and post-processed noise can be looked at by its own density: an L1 projection of two Laplace
counts to their known sum, with the weight beta on the first, loses epsilon / (2 max(beta, 1 - beta)), where
its proof as post-processing gives epsilon.
"""

import numpy as np
from numpy.typing import ArrayLike

from holdfast.errors import GuaranteeError


def radial_loss(radii: ArrayLike, log_density: ArrayLike) -> float:
    """Return the least alpha of the theorem over listed radii: the largest fall of log f for each unit.

    Where the radii are all that there are, as 0, 1, 2, ... for the l1 norm of whole numbers, this is the
    theorem; between radii of real noise, and beyond the last one, nothing is said. Raises GuaranteeError
    where f rises somewhere.

    >>> radial_loss([0, 1, 2, 3], [0.0, -0.5, -1.0, -1.5])
    0.5
    """
    r, values = np.asarray(radii, dtype=np.float64), np.asarray(log_density, dtype=np.float64)
    if r.shape != values.shape or r.ndim != 1 or r.size < 2 or not (np.diff(r) > 0).all() or r[0] < 0:
        raise GuaranteeError(
            "radii are two at least, rising from 0, each with its log density: correct them."
        )
    if not np.isfinite(values).all():
        raise GuaranteeError("the density must be positive at every radius: give those where it is.")
    slopes = -np.diff(values) / np.diff(r)
    if (slopes < 0).any():
        place = float(r[1:][slopes < 0][0])
        raise GuaranteeError(
            f"the density rises up to the radius {place:g}: the theorem is for falling ones."
        )
    return float(slopes.max())
