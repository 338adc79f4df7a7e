"""Several releases of the same confidential data, as one guarantee.

Releases that keep different invariants compose on the intersection of their scopes, the tables that agree
with all of them. There the semi-adjacency must be worked out again for the stacked invariants: those of the
parts do not bound it [theory, 10]. Each release then answers, through its profile, for the new distance
(semi-DP first), and the intensities add up [semi-dp, Proposition 21].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import block_diag, csr_array, vstack

from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Scope, Unit
from holdfast.privacy.intensity import GaussianDP, GaussianNoise, Intensity, Pure, ZeroConcentrated, total
from holdfast.privacy.order import tradeoff
from holdfast.privacy.premises import semi_evidence
from holdfast.privacy.profile import FormLoss, NormLoss, PerRecord, Profile, SquaredLoss
from holdfast.privacy.tradeoff import Tradeoff, group, tensor
from holdfast.spec.privacy import Neighbours, ProtectedUnit
from holdfast.system.errors import GuaranteeError
from holdfast.universe.limits import Limits, together
from holdfast.universe.metrics import METRICS, Metric
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.universe import Universe


def compose(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Return what holds of all the releases together.

    Raises GuaranteeError where the units differ, or where scopes differ and a release cannot answer for
    the new distance.
    """
    if len(guarantees) == 1:
        return guarantees[0]
    adjacencies = {g.unit.adjacency for g in guarantees}
    if len(adjacencies) > 1:
        raise GuaranteeError(
            "releases with adjacency 'semi' and with 'unit' do not compose: use one adjacency for all."
        )
    _one_kind(guarantees)
    scope = _intersection([g.scope for g in guarantees])
    evidence = _gathered(guarantees)
    if adjacencies == {"unit"} and len({g.unit.distance for g in guarantees}) > 1:
        raise GuaranteeError(
            "releases for units of different numbers of records do not compose for each of them: use one"
            " records_per_unit for all."
        )
    if adjacencies == {"unit"}:
        return Guarantee(scope, guarantees[0].unit, total([g.intensity for g in guarantees]), evidence)
    if all(g.scope.digest == scope.digest and g.unit == guarantees[0].unit for g in guarantees):
        return Guarantee(scope, guarantees[0].unit, total([g.intensity for g in guarantees]), evidence)
    metric = METRICS[guarantees[0].unit.neighbours]
    adjacency = _joint_semi_adjacency(scope.universe, metric)
    unit = _joint_unit(guarantees, adjacency)
    parts = _at_distance(guarantees, metric, scope.universe, unit.distance)
    recomputed = _recomputed(adjacency, scope.universe, guarantees)
    return Guarantee(scope, unit, total(parts), (*evidence, *recomputed))


def _one_kind(guarantees: Sequence[Guarantee]) -> Neighbours:
    """Return the neighbours that all guarantees speak of; raises GuaranteeError where these differ."""
    found = {g.unit.neighbours for g in guarantees}
    if len(found) > 1:
        raise GuaranteeError(
            "releases for records that are replaced and for records that are added or removed do not compose:"
            " use one kind of neighbours for all."
        )
    return found.pop()


def _joint_unit(guarantees: Sequence[Guarantee], adjacency: SemiAdjacency) -> Unit:
    """Return a unit that covers those of all guarantees, by the one noun that they share if they do."""
    names, records = {g.unit.name for g in guarantees}, max(g.unit.records for g in guarantees)
    name = names.pop() if len(names) == 1 else "record"
    neighbours = guarantees[0].unit.neighbours
    return Unit(name, "semi", records * adjacency.worst_case, records, neighbours)


def _joint_semi_adjacency(universe: Universe, metric: Metric) -> SemiAdjacency:
    """Return the semi-adjacency of stacked invariants; raises GuaranteeError where they leave one table."""
    adjacency = metric.semi_adjacency(universe, None)
    if adjacency.worst_case == 0:
        raise _nothing_left()
    return adjacency


def _at_distance(
    guarantees: Sequence[Guarantee], metric: Metric, universe: Universe, distance: int
) -> list[Intensity]:
    """Return what each release guarantees for tables of a universe at most ``distance`` records apart."""
    space = metric.sensitivity(universe, distance)
    if space.l1 == 0:
        raise _nothing_left()
    parts: list[Intensity] = []
    for guarantee in guarantees:
        if guarantee.profile is None:
            raise GuaranteeError(
                "a release does not say how its loss grows with distance, so it does not compose with"
                " releases that keep other invariants: keep the same invariants in all of them."
            )
        parts.append(guarantee.profile.at(distance, space))
    return parts


@dataclass(frozen=True)
class Orders:
    """Several releases under invariants, analysed in both orders [semi-dp, Proposition 21].

    ``semi_first`` weakens each release to a records, then composes; ``composition_first`` composes, then
    weakens. The first is never worse.
    """

    semi_first: Tradeoff
    composition_first: Tradeoff

    def epsilons(self, delta: float) -> tuple[float, float]:
        """Return epsilon at a delta, semi-DP first and composition first."""
        return self.semi_first.epsilon_at(delta), self.composition_first.epsilon_at(delta)


def both_orders(intensities: Sequence[Intensity], semi_adjacency: int) -> Orders:
    """Compose releases that are guaranteed per record, under invariants of a semi-adjacency."""
    parts = [tradeoff(intensity) for intensity in intensities]
    return Orders(
        tensor(*(group(part, semi_adjacency) for part in parts)),
        group(tensor(*parts), semi_adjacency),
    )


def post_processed(guarantee: Guarantee, step: str) -> Guarantee:
    """Return the guarantee after a step that sees only release and invariants [semi-dp, Proposition 23]."""
    kept = Proved(_processed(step), "semi-dp, Proposition 23")
    return replace(guarantee, evidence=(*guarantee.evidence, kept))


@claim("post-processing")
def _processed(step: str) -> str:
    return f"{step} uses the release and the invariants only"


def parallel(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Return what holds of releases of disjoint strata whose invariants are separate.

    The joint universe is the product of the strata's, each with a fixed number of records. Joint tables d
    records apart are d_s apart in stratum s with sum d_s = d. So losses linear in the distance add up to at
    most the worst of them at d, and so do rho d_s^2 and, in squares, mu d_s: the strata cost as much as the
    weakest of them, not the sum. The semi-adjacency is that of the joint universe: a person may also take a
    value in another stratum.
    """
    universes = [g.scope.universe for g in guarantees]
    if any(universe.total is None for universe in universes):
        raise GuaranteeError(
            "strata compose in parallel only if each has a fixed number of records: add its total to the"
            " invariants."
        )
    joint = Universe.of(
        csr_array(block_diag([universe.matrix for universe in universes], format="csr")),
        np.concatenate([universe.values for universe in universes]),
        limits=_side_by_side(universes),
    )
    scope = Scope.of(
        joint,
        invariants=tuple(
            f"{n} in stratum {i}" for i, g in enumerate(guarantees, 1) for n in g.scope.invariants
        ),
        constraints=guarantees[0].scope.constraints,
    )
    profile = _weakest([g.profile for g in guarantees])
    metric = METRICS[_one_kind(guarantees)]
    adjacency = _joint_semi_adjacency(joint, metric)
    unit = _joint_unit(guarantees, adjacency)
    intensity = profile.at(unit.distance, metric.sensitivity(joint, unit.distance))
    evidence = (*_gathered(guarantees), *_recomputed(adjacency, joint, guarantees))
    return Guarantee(scope, unit, intensity, evidence, profile)


def _side_by_side(universes: Sequence[Universe]) -> Limits | None:
    """Return the bounds of all strata over the cells of all."""
    cells = np.cumsum([0, *(universe.cells for universe in universes)])
    return together(
        None
        if one.limits is None
        else Limits(_shifted(one.limits.rows, int(first), int(cells[-1])), one.limits.least)
        for one, first in zip(universes, cells, strict=False)
    )


def _shifted(rows: csr_array, first: int, cells: int) -> csr_array:
    return csr_array((rows.data, rows.indices + first, rows.indptr), shape=(rows.shape[0], cells))


def _weakest(profiles: Sequence[Profile | None]) -> Profile:
    norms = [p for p in profiles if isinstance(p, NormLoss) and p.norm == "l1"]
    if len(norms) == len(profiles):
        return NormLoss(max(p.kappa for p in norms), "l1")
    squares = [p for p in profiles if isinstance(p, SquaredLoss)]
    if len(squares) == len(profiles) and len({p.standard for p in squares}) == 1:
        return min(squares, key=lambda p: p.sigma_squared)  # ||u||_2^2 adds up over the strata
    forms = [p for p in profiles if isinstance(p, FormLoss)]
    stated = {p.standard for p in forms}
    if len(forms) == len(profiles) and len(stated) == 1 and "pure" not in stated:  # u'Fu adds up, too
        return FormLoss(stated.pop(), max(p.record for p in forms), max(p.largest for p in forms))
    records = [p.intensity for p in profiles if isinstance(p, PerRecord)]
    noise = [i for i in records if isinstance(i, GaussianNoise)]
    if len(noise) == len(profiles):
        return PerRecord(GaussianNoise(max(i.rho for i in noise), max(i.mu for i in noise)))
    for kind in (Pure, ZeroConcentrated, GaussianDP):
        same = [i for i in records if isinstance(i, kind)]
        if len(same) == len(profiles):
            largest = max(same, key=lambda i: next(iter(i.parameters().values())))
            return PerRecord(kind(**largest.parameters()))
    raise GuaranteeError(
        "these strata do not compose in parallel: their losses must be of one kind, and in l1 for lattice"
        " noise."
    )


def _intersection(scopes: Sequence[Scope]) -> Scope:
    """Return the tables that agree with the invariants of every scope."""
    first = scopes[0]
    if all(scope.digest == first.digest for scope in scopes):
        return first
    if len({scope.universe.cells for scope in scopes}) > 1:
        raise GuaranteeError(
            "releases over different cells do not compose here: bring them to the same attributes and levels."
        )
    universe = Universe.of(
        csr_array(vstack([scope.universe.matrix for scope in scopes], format="csr")),
        np.concatenate([scope.universe.values for scope in scopes]),
        _joint_cliques([scope.universe for scope in scopes]),
        limits=together(scope.universe.limits for scope in scopes),
    )
    return Scope.of(
        universe,
        invariants=tuple(dict.fromkeys(name for scope in scopes for name in scope.invariants)),
        constraints=tuple(dict.fromkeys(known for scope in scopes for known in scope.constraints)),
    )


def _joint_cliques(universes: Sequence[Universe]) -> tuple[frozenset[str], ...] | None:
    cliques: list[frozenset[str]] = []
    for universe in universes:
        if universe.cliques is None:
            return None
        cliques.extend(universe.cliques)
    return tuple(dict.fromkeys(cliques))


def _recomputed(
    adjacency: SemiAdjacency, universe: Universe, guarantees: Sequence[Guarantee]
) -> tuple[Evidence, ...]:
    """Return the evidence for the joint distance, and for the norms that the releases use."""
    profiles = [g.profile for g in guarantees]
    norms = {p.norm for p in profiles if isinstance(p, NormLoss)}
    norms |= {"l2" for p in profiles if isinstance(p, SquaredLoss | FormLoss)}
    whom = ProtectedUnit(neighbours=guarantees[0].unit.neighbours)
    space = METRICS[whom.neighbours].sensitivity(universe, adjacency.worst_case)
    return semi_evidence(adjacency, space, frozenset(norms), whom=whom)


def _gathered(guarantees: Sequence[Guarantee]) -> tuple[Evidence, ...]:
    return tuple(dict.fromkeys(item for g in guarantees for item in g.evidence))


def _nothing_left() -> GuaranteeError:
    return GuaranteeError(
        "the invariants of all releases together leave one possible table, so no guarantee is left: keep"
        " fewer or coarser invariants in one of them."
    )
