"""`k-norm`: integer noise in the norm of the sensitivity space itself [semi-dp, Algorithm 2].

Notation: S_a is the sensitivity space at the semi-adjacency a, K its convex hull, ||z||_K the least c with
z in c K; q(z) is proportional to exp(-epsilon ||z||_K) on the integer points of the span of S_a.

The noise does not depend on the table. For tables x, x' at most a records apart u = x - x' is in S_a, so it
is in the lattice and ||u||_K <= 1. Hence the log ratio of the two laws at any output is
epsilon (||z + u||_K - ||z||_K) <= epsilon ||u||_K <= epsilon: [semi-dp, Theorem 31] with the normaliser a
sum over the lattice instead of an integral [theory, 4]. Some u in S_a is a vertex of K, where ||u||_K = 1,
and z = 0 attains the loss.

Per record of distance, K would be the hull of the vectors 2 u / ||u||_1. On a lattice whose circuits are
differences of tables that is the l1 ball, so lattice-laplace in l1 is that mechanism.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from holdfast.errors import GuaranteeError
from holdfast.mechanisms.mechanism import Calibrated, MechanismOptions, MechanismRecord, drawn_exactly
from holdfast.premises import Premises
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Adjacency, Guarantee, Target
from holdfast.privacy.intensity import Pure
from holdfast.public import Public
from holdfast.sampling.lattice.k_norm import KNormLaw
from holdfast.spec.rational import PositiveRational
from holdfast.universe.hull.lattice import span_matrix
from holdfast.universe.hull.moves import require_listable, sensitivity_moves
from holdfast.universe.hull.norm import HullNorm

WORK = 500_000
"""What a search for the semi-adjacency may take before it is clear that K can be listed, as it counts itself:
a second or two."""


class KNormRecord(MechanismRecord):
    """Epsilon, and what K is the hull of, in words."""

    name: Literal["k-norm"]
    epsilon: PositiveRational
    norm: str


@dataclass(frozen=True, eq=False)
class KNorm(Calibrated[MechanismOptions, KNormRecord]):
    """The optimal K-norm mechanism on one universe, in integers."""

    epsilon: Fraction

    name = "k-norm"
    Record = KNormRecord
    standards = ("pure",)
    intensities = (Pure,)
    most_dimensions = 100

    @classmethod
    def answer(cls, public: Public, target: Target, options: MechanismOptions) -> "KNorm":
        """Take the parameters that meet the target; what is too large is refused before any long search."""
        _refuse_unit(target.adjacency)
        require_listable(public.universe)
        _require_near(public.premises(target.adjacency, target.distance))
        return super().answer(public, target, options)

    @classmethod
    def calibrate(cls, premises: Premises, *, intensity: Pure) -> "KNorm":
        """Return the mechanism whose guarantee is the intensity.

        Raises GuaranteeError where the sensitivity space cannot be listed, or does not span what the
        invariants leave open, or where the guarantee shall be per record of distance.
        """
        _refuse_unit(premises.adjacency)
        mechanism = cls(premises, intensity.epsilon)
        _ = mechanism.noise  # what cannot be drawn is refused now
        return mechanism

    @cached_property
    def norm(self) -> HullNorm:
        """The norm whose unit ball is the hull of S_a."""
        return HullNorm(sensitivity_moves(self.premises.universe, self.premises.unit.distance))

    @property
    def guarantee(self) -> Guarantee:
        """The loss is epsilon times the largest ||u||_K in S_a, which is 1 [semi-dp, Proposition 30]."""
        premises = self.premises
        return Guarantee(premises.scope, premises.unit, Pure(self.epsilon), tuple(self._evidence()))

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the epsilon of a target: the norm depends on the universe alone."""
        del public
        return None if target.intensity is None else target.intensity.parameters()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Epsilon and K."""
        return {"epsilon": self.epsilon, "norm": f"the hull of {self._differences}"}

    @property
    def remark(self) -> str:
        """How the noise compares with that of lattice-laplace."""
        if self.norm.additive:
            return "same law as lattice-laplace in l1: K is the l1 ball here"
        return (
            f"from the volume of K, its L2 should be about {self.predicted_ratio:.2f} times that of"
            " lattice-laplace in l1"
        )

    @property
    def predicted_ratio(self) -> float:
        """What theory predicts for the L2 of k-norm over that of lattice-laplace in l1.

        For wide noise the lattice is as good as its span, of dimension s. Noise with density proportional to
        exp(-epsilon ||z||_K) is R V with R ~ Gamma(s + 1) of rate epsilon and V uniform in K
        [semi-dp, Algorithm 3], so

            E ||z||_2^2 = (s + 1) (s + 2) / epsilon^2  x  the mean of ||V||_2^2 over K,

        and the same for l1 with its ball B of radius max ||u||_1 over S_a in place of K. The ratio of the
        two is that of the second moments of K and B. K lies in B and has, for tables, about its shape;
        scaling a body by c multiplies its volume by c^s and its second moment by c^2. Hence

            L2(K) / L2(B)  is about  (vol K / vol B)^(1/s),

        within a few percent, and the ratio of volumes is the share of l1 draws that thinning to K keeps,
        since both laws have the normaliser s! vol / epsilon^s.
        """
        return float(self.noise.acceptance ** (1 / self.norm.dimension))

    @cached_property
    def noise(self) -> KNormLaw:
        """The law of the noise, which every table shares."""
        return KNormLaw(span_matrix(self.premises.universe, self.norm.moves), self.epsilon, self.norm)

    @property
    def _differences(self) -> str:
        moves = self.norm.moves
        apart = self.premises.whom.amount(moves.adjacency)
        return f"the {2 * len(moves):,} differences of tables at most {apart} apart"

    def _evidence(self) -> list[Evidence]:
        found: list[Evidence] = [
            Proved(
                f"noise with probability proportional to exp(-{self.epsilon} ||z||_K) on the lattice of"
                f" {self._differences}, K their convex hull, loses at most {self.epsilon} between two such"
                " tables",
                "semi-dp, Theorem 31; theory, 4",
            ),
            *self.premises.evidence(),
        ]
        if self.norm.moves.searched and not any(isinstance(item, Assumed) for item in found):
            found.append(
                Assumed(
                    "no difference of two such tables is missing from the list",
                    "a solver in floating point says which records a table can spare; tables it finds are"
                    " checked in integers, its finding that there is none is not",
                )
            )
        return [*found, *drawn_exactly(floats=self.noise.floats)]


def _refuse_unit(adjacency: Adjacency) -> None:
    if adjacency == "unit":
        raise GuaranteeError(
            "k-norm is made for the differences at one distance, and a loss for each record of distance"
            ' has no such set: set adjacency = "semi" in [privacy], or name = "lattice-laplace" in'
            " [mechanism], which is the K-norm mechanism for it."
        )


def _require_near(premises: Premises) -> None:
    """Raise where the differences cannot be listed as far as one person's change is known to reach.

    A short search for the semi-adjacency gives it, or a bound. Where only a long one could show that few
    enough records change, the noise is refused; a distance that is given needs none.
    """
    universe, records = premises.universe, premises.whom.records
    if premises.distance is not None:
        require_listable(universe, premises.distance * records)
        return
    try:
        found = premises.semi_adjacency_within(WORK)
    except GuaranteeError:
        return  # the whole search says what is missing
    try:
        require_listable(universe, found.worst_case * records)
    except GuaranteeError as error:
        if found.exact:
            raise
        raise GuaranteeError(
            f"no short search shows that one person's change takes fewer than {found.worst_case:,} records"
            f" here, and the differences of tables so far apart cannot all be listed for {universe.cells:,}"
            ' cells, as k-norm noise needs: set name = "lattice-laplace" in [mechanism], use coarser'
            " attributes, or set distance in [privacy] to what holdfast audit universe finds."
        ) from error
