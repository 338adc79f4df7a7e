"""Any additive noise, projected onto the span of the differences: for studies [semi-dp, Proposition 26].

Let M(x) = x + e be private for the pairs of tables whose differences lie in S, and P project onto the span
of S. Then x + P e is private with the same parameters. *Proof.* x + P e = P M(x) + (x - P x), and x - P x
is the same for both tables of a pair, as their difference is in the span. So it is made from M(x) and from
what both share.

This holds for noise of any law, e independent of x; no density is needed. Where the invariants are a linear
map of the table it is the design of subspace privacy [semi-dp, Remark 27]. The Euclidean length of noise
never grows by it. In other norms it may, though the paper says otherwise: (1, 0, 0) projected onto the
vectors of sum 0 is (2/3, -1/3, -1/3), longer in l1.

The projection is real: it is computed in floats, invariants are kept up to rounding, and it is never for a
release [mironov2012]. Noise drawn on the lattice is whole and keeps them exactly [theory, 4].
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from holdfast.mechanisms.span import FLOATING, Floats, Span
from holdfast.premises import Premises
from holdfast.privacy.evidence import Proved
from holdfast.privacy.guarantee import Guarantee
from holdfast.sampling.entropy import Entropy

Draw = Callable[[Entropy, int], Floats]
"""From a source of randomness and a number to that many draws of noise, one a row."""


@dataclass(frozen=True, eq=False)
class ProjectedNoise:
    """Noise of any law, projected onto a span."""

    span: Span
    draw: Draw

    @classmethod
    def of(cls, premises: Premises, draw: Draw) -> "ProjectedNoise":
        """Project onto the span of the differences that a guarantee has to cover."""
        return cls(Span.of(premises), draw)

    def sample(self, entropy: Entropy, size: int) -> Floats:
        """Return ``size`` independent draws, one a row."""
        return self.span.project(np.asarray(self.draw(entropy, size), dtype=np.float64))

    def keeps(self, guarantee: Guarantee) -> Guarantee:
        """Return the guarantee of the noise before, which the projection keeps [semi-dp, Proposition 26]."""
        claim = (
            f"noise projected onto the {self.span.dimension:,} dimensions in which tables can differ is as"
            " private as before"
        )
        added = (Proved(claim, "semi-dp, Proposition 26"), FLOATING)
        return replace(guarantee, evidence=(*guarantee.evidence, *added))
