"""The release of a test: x_11 of 2 x 2 tables with both margins published, plus canonical noise.

Tables with the same margins differ by k (1, -1, -1, 1), which changes 2 |k| records. With several tables
(strata with separate margins) they differ by such multiples k_s, and 2 sum |k_s| records change. Hence at
distance a

    sum over s of |k_s| <= floor(a / 2),

which is 1 at a = 2 and at a = 3 [theory, 9], and a <= 3 for both margins of each stratum
[semi-dp, Theorem 16; theory, 2]: one count moves, by one. So canonical noise for f on each count gives
f-semi-DP for all of them together [semi-dp, Theorem 37]. For larger distances (groups of persons) the noise
is widened by floor(a / 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import block_diag, csr_array

from holdfast.errors import GuaranteeError
from holdfast.inference.canonical import CanonicalNoise, Normal, Tulap, canonical
from holdfast.inference.canonical.noise import Floats
from holdfast.inference.two_by_two import CountLaw, Margins, TwoByTwo
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Scope, Unit
from holdfast.privacy.intensity import Approximate, Functional, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.profile import NormLoss, PerRecord, Profile, SquaredLoss
from holdfast.privacy.roots import floor_root
from holdfast.privacy.semi import semi_evidence
from holdfast.sampling.entropy import Entropy
from holdfast.universe.semi_adjacency import SemiAdjacency, semi_adjacency
from holdfast.universe.sensitivity import Sensitivity
from holdfast.universe.separate import trivial
from holdfast.universe.universe import Universe

MARGINS = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """The mechanism that releases x_11 of each table with noise; make one with `calibrate`."""

    law: CountLaw
    noise: CanonicalNoise
    intensity: Intensity
    universe: Universe
    adjacency: SemiAdjacency
    distance: int

    @classmethod
    def calibrate(
        cls, margins: Sequence[Margins], intensity: Intensity, *, records: int | None = None
    ) -> "NoisyCounts":
        """Return the mechanism with the least noise for an intensity.

        It holds for tables at most ``records`` apart, by default the semi-adjacency of the margins.
        """
        universe = _universe(margins)
        adjacency = semi_adjacency(universe)
        if adjacency.worst_case == 0:
            raise GuaranteeError(
                "the margins leave one possible table, so there is nothing to test and nothing to protect:"
                " give a table with no empty row or column."
            )
        distance = adjacency.worst_case if records is None else records
        if distance < adjacency.worst_case:
            raise GuaranteeError(
                f"with these margins one person's change takes {adjacency.worst_case} records, not"
                f" {distance}: protect at least that many."
            )
        noise, reached = _noise(intensity, distance // 2)
        return cls(CountLaw(tuple(margins)), noise, reached, universe, adjacency, distance)

    def release(self, tables: Sequence[TwoByTwo], entropy: Entropy) -> Floats:
        """Return x_11 + N for each table, with independent noise."""
        return self.noise.add_to(np.array([table.x11 for table in tables], dtype=np.int64), entropy)

    @property
    def steps(self) -> int:
        """How far the counts can move together, floor(a / 2)."""
        return self.distance // 2

    @cached_property
    def guarantee(self) -> Guarantee:
        """What holds of the released counts, and of all that is computed from them."""
        scope = Scope.of(self.universe, invariants=_names(len(self.law.margins)), constraints=())
        unit = Unit("record", "semi", self.distance)
        return Guarantee(scope, unit, self.intensity, self._evidence(), self._profile())

    def _evidence(self) -> tuple[Evidence, ...]:
        what = "x_11" if len(self.law.margins) == 1 else "the x_11 of all strata together"
        wider = Sensitivity(*trivial(self.adjacency.worst_case), exact=False)  # not used beyond it
        evidence: list[Evidence] = [
            *self.noise.evidence,
            *semi_evidence(self.adjacency, wider, frozenset()),
            Proved(
                f"tables with the same margins that differ in at most {self.distance} records differ by at"
                f" most {self.steps} in {what}",
                "theory, 9",
            ),
            Proved("test and interval use the release and the margins only", "semi-dp, Proposition 23"),
        ]
        if isinstance(self.intensity, ZeroConcentrated):
            evidence.append(
                Proved("normal noise of mu has a rho of mu^2 / 2 in zCDP", "bun2016, Proposition 1.6")
            )
        return tuple(evidence)

    def _profile(self) -> Profile | None:
        """Return how the loss grows with u, or with the distance d of two tables.

        ||u||_1 = 4 sum |k_s|, ||u||_2^2 = 4 sum k_s^2, and sum |k_s| <= d / 2.
        """
        match self.intensity, self.noise:
            case Pure(), Tulap(epsilon):
                return NormLoss(epsilon / 4, "l1")
            case ZeroConcentrated(), Normal(mu):
                return SquaredLoss(4 / mu**2)
            case GaussianDP(), Normal(mu):
                return PerRecord(GaussianDP(mu / 2))
        return None


def _noise(intensity: Intensity, steps: int) -> tuple[CanonicalNoise, Intensity]:
    """Return the noise for a count that moves by at most ``steps``, and the intensity that it reaches."""
    match intensity:
        case Pure(epsilon):
            return Tulap(epsilon / steps), intensity
        case GaussianDP(mu):
            return Normal(mu / steps), intensity
        case ZeroConcentrated(rho):
            # mu-GDP has rho = mu^2 / 2 [bun2016, Proposition 1.6]
            mu = floor_root(2 * rho)
            return Normal(mu / steps), ZeroConcentrated(mu**2 / 2)
        case Approximate(epsilon, delta) if steps == 1:
            return Tulap(epsilon, delta), intensity
        case Functional(f) if steps == 1:
            return canonical(f), intensity
    raise GuaranteeError(
        "counts that move by more than 1 need epsilon without delta, mu or rho: give one of these."
    )


def _universe(margins: Sequence[Margins]) -> Universe:
    """Return the tables with these margins: those of one table, or of each stratum."""
    each = {"stratum"} if len(margins) > 1 else set()
    matrix = csr_array(block_diag([MARGINS] * len(margins), format="csr"))
    values = np.array([(*m.rows, *m.columns) for m in margins], dtype=np.int64).ravel()
    return Universe.of(matrix, values, (frozenset({"row", *each}), frozenset({"column", *each})))


def _names(strata: int) -> tuple[str, ...]:
    if strata == 1:
        return ("row totals", "column totals")
    return tuple(f"{name} in stratum {i + 1}" for i in range(strata) for name in _names(1))
