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

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from holdfast.mechanisms.drawing import DifferencesError, accepted, rounded
from holdfast.mechanisms.mechanism import Calibrated, MechanismRecord, drawn_exactly
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Adjacency, Guarantee, Target
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.public import Public
from holdfast.sampling.lattice.k_norm import KNormLaw
from holdfast.sampling.lattice.laplace import CrossingsError, require_few_crossings
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.privacy import ProtectedUnit
from holdfast.spec.values import PositiveRational
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import assigned, command, setting
from holdfast.universe.hull.moves import (
    FurtherSumError,
    UnlistedError,
    require_listable,
    sensitivity_moves,
    span_matrix,
)
from holdfast.universe.hull.norm import HullNorm
from holdfast.universe.universe import Universe

WORK = 800_000
"""What a search for the semi-adjacency may take before it is clear that K can be listed, as it counts itself:
up to a second, and mostly less."""


class KNormOptions(MechanismOptions):
    """No keys but the name: the strength follows from the target.

    >>> hf.KNorm().name
    'k-norm'
    """

    name: Literal["k-norm"] = "k-norm"


class KNormRecord(MechanismRecord):
    """Epsilon, and what K is the hull of."""

    name: Literal["k-norm"]
    epsilon: PositiveRational
    norm: Claim


@dataclass(frozen=True, eq=False)
class KNorm(Calibrated[KNormOptions, KNormRecord]):
    """The optimal K-norm mechanism on one universe, in integers."""

    epsilon: Fraction

    name = "k-norm"
    Options = KNormOptions
    Record = KNormRecord
    standards = ("pure",)
    neighbours = ("replace", "add-remove")
    intensities = (Pure,)
    most_dimensions = 100

    @classmethod
    def answer(cls, public: Public, target: Target, options: KNormOptions) -> "KNorm":
        """Take the parameters that meet the target; what is too large is refused before any long search."""
        _refuse_unit(target.adjacency)
        with _naming_another(public.universe):
            if not public.whom.presence:
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
        with _naming_another(premises.universe):
            _ = mechanism.noise  # what cannot be drawn is refused now
        return mechanism

    @cached_property
    def norm(self) -> HullNorm:
        """The norm whose unit ball is the hull of S_a."""
        unit = self.premises.unit
        return HullNorm(sensitivity_moves(self.premises.universe, unit.distance, unit.neighbours))

    @property
    def guarantee(self) -> Guarantee:
        """The loss is epsilon times the largest ||u||_K in S_a, which is 1 [semi-dp, Proposition 30]."""
        return self.premises.guarantee(Pure(self.epsilon), self._evidence())

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the epsilon of a target: the norm depends on the universe alone."""
        del public
        return None if target.intensity is None else target.intensity.parameters()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Epsilon and K."""
        moves = self.norm.moves
        return {"epsilon": self.epsilon, "norm": _hull(2 * len(moves), moves.adjacency, self.premises.whom)}

    @property
    def methods(self) -> tuple[Claim, ...]:
        """How the noise is drawn: in l1, and thinned where K is not its ball."""
        thinned = () if self.norm.additive else (_thinned(rounded(self.noise.acceptance)),)
        return (*super().methods, *thinned)

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
        matrix = span_matrix(self.premises.universe, self.norm.moves)
        l1 = f"{assigned('name', 'lattice-laplace')} in {setting('mechanism')}"
        l2 = f"set {l1} with {assigned('norm', 'l2')}"
        return KNormLaw(matrix, self.epsilon, self.norm, otherwise=l2)

    def _evidence(self) -> list[Evidence]:
        moves = self.norm.moves
        found: list[Evidence] = [
            Proved(
                _loses(self.epsilon, 2 * len(moves), moves.adjacency, self.premises.whom),
                "semi-dp, Theorem 31; theory, 4",
            ),
            *self.premises.evidence(),
        ]
        if moves.searched and not any(isinstance(item, Assumed) for item in found):
            found.append(Assumed(_complete()))
        return [*found, *drawn_exactly(floats=self.noise.floats)]


@claim("k-norm")
def _loses(epsilon: Fraction, differences: int, distance: int, whom: ProtectedUnit) -> str:
    return (
        f"noise with probability proportional to exp(-{epsilon} ||z||_K) on the lattice of"
        f" {_listed(differences, distance, whom)}, K their convex hull, loses at most {epsilon} between"
        " two such tables"
    )


@claim("hull-of-differences")
def _hull(differences: int, distance: int, whom: ProtectedUnit) -> str:
    return f"the hull of {_listed(differences, distance, whom)}"


@claim("thinned-to-k")
def _thinned(acceptance: float) -> str:
    return f"thinned to the K-norm{accepted(acceptance)}"


def _listed(number: int, distance: int, whom: ProtectedUnit) -> str:
    return f"the {number:,} differences of tables at most {whom.apart(distance)} apart"


@claim("differences-complete")
def _complete() -> tuple[str, str]:
    return (
        "no difference of two such tables is missing from the list",
        (
            "a solver in floating point says which records a table can spare; tables it finds are checked in"
            " integers, its finding that there is none is not"
        ),
    )


def _another(universe: Universe) -> str:
    """Return what to take in place of this noise: l1 noise, and where that is refused as well, other."""
    try:
        if universe.margins is not None:
            require_few_crossings(universe.margins)
    except CrossingsError:
        second = f"{assigned('name', 'lattice-laplace')} and {assigned('norm', 'l2')}"
        return f"set {assigned('name', 'anchored-laplace')}, or {second}, in {setting('mechanism')}"
    return f"set {assigned('name', 'lattice-laplace')} in {setting('mechanism')}"


@contextmanager
def _naming_another(universe: Universe) -> Iterator[None]:
    """Let what the hull of differences refuses say which mechanism does without it."""
    try:
        yield
    except UnlistedError as error:
        raise DifferencesError(
            f"{error.fact}, and k-norm noise needs them: {_another(universe)}, whose errors"
            f" {command('compare')} tells, or use coarser attributes."
        ) from error
    except FurtherSumError as error:
        raise GuaranteeError(
            "k-norm noise would publish more than the invariants here, since tables that few records apart"
            " always agree in some other sum, such as the number of records: make that sum an invariant, or"
            f" {_another(universe)}."
        ) from error


def _refuse_unit(adjacency: Adjacency) -> None:
    if adjacency == "unit":
        raise GuaranteeError(
            "k-norm is made for the differences at one distance, and a loss for each record of distance has"
            f" no such set: set {assigned('adjacency', 'semi')} in {setting('privacy')}, or"
            f" {assigned('name', 'lattice-laplace')} in {setting('mechanism')}, which is the K-norm"
            " mechanism for it."
        )


def _require_near(premises: Premises) -> None:
    """Raise where the differences cannot be listed as far as one person's change is known to reach.

    A short search for the semi-adjacency gives it, or a bound. Where only a long one could show that few
    enough records change, or no more than the distance that is given, the noise is refused.
    """
    if premises.whom.presence:
        return  # no search is long, and the list says itself where it is too long
    universe, records, distance = premises.universe, premises.whom.records, premises.distance
    if distance is not None:
        require_listable(universe, distance * records)
    try:
        found = premises.semi_adjacency_within(WORK)
    except GuaranteeError as error:
        raise _not_soon(universe, "how many records one person's change takes") from error
    if distance is not None and found.worst_case > distance:
        if not found.exact:
            raise _not_soon(
                universe, f"that one person's change takes no more than {premises.whom.amount(distance)}"
            )
        premises.checked()  # says that the distance is too small
    farthest = found.worst_case if distance is None else distance
    try:
        _require_listed(universe, farthest * records)
    except UnlistedError:
        if found.exact or distance is not None:
            raise
        raise _not_soon(
            universe,
            f"that one person's change takes fewer than {farthest:,} records, and the differences of tables"
            f" that far apart cannot all be listed for {universe.cells:,} cells",
        ) from None


def _not_soon(universe: Universe, what: str) -> GuaranteeError:
    return GuaranteeError(
        f"no short search shows {what}, as k-norm noise needs: {_another(universe)}, use coarser attributes,"
        " or keep fewer invariants."
    )


def _require_listed(universe: Universe, adjacency: int) -> None:
    """Raise UnlistedError where a sensitivity space cannot be listed; where it is {0}, that is said later."""
    require_listable(universe, adjacency)
    try:
        sensitivity_moves(universe, adjacency)
    except UnlistedError:
        raise
    except GuaranteeError:
        return
