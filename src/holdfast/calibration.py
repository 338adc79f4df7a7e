"""From a target to a mechanism: each entry of the catalogue says which targets it can meet, and how.

Only public values enter. The guarantee is worked out by the mechanism itself; a target that it does not
imply is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import cast

from holdfast.errors import GuaranteeError, SpecError
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.premises import Premises
from holdfast.mechanisms.protocol import Mechanism
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Approximate, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.sampling.entropy import SeededEntropy
from holdfast.setting import Setting
from holdfast.spec.closest import closest
from holdfast.spec.model import Privacy, Spec, Standard
from holdfast.tables.invariants import inequality_rows


@dataclass(frozen=True, eq=False)
class Case:
    """A spec with all that was worked out of it, and the intensity it asks for, if any."""

    spec: Spec
    setting: Setting
    premises: Premises
    asked: Intensity | None


@dataclass(frozen=True)
class Entry:
    """A mechanism of the catalogue: the standards it meets, and how it is calibrated."""

    standards: tuple[Standard, ...]
    calibrate: Callable[[Case], Mechanism]
    nonnegative: bool = False
    real: bool = False
    """Real-valued and drawn in floats: for studies, never for a release."""


def intensity_of(privacy: Privacy) -> Intensity | None:
    """Return the intensity that a spec asks for; None where it follows from the mechanism."""
    match privacy:
        case Privacy(standard="pure", epsilon=Fraction() as epsilon):
            return Pure(epsilon)
        case Privacy(standard="approximate", epsilon=Fraction() as epsilon, delta=Fraction() as delta):
            return Approximate(epsilon, delta)
        case Privacy(standard="zcdp", rho=Fraction() as rho):
            return ZeroConcentrated(rho)
        case Privacy(standard="gaussian", mu=Fraction() as mu):
            return GaussianDP(mu)
    return None


def choose_mechanism(spec: Spec, setting: Setting) -> Mechanism:
    """Calibrate the mechanism of a spec, from public values only."""
    require_supported(spec)
    premises = Premises.of(setting.universe, setting.scope, spec.privacy.adjacency)
    asked = intensity_of(spec.privacy)
    mechanism = CATALOGUE[spec.mechanism.name].calibrate(Case(spec, setting, premises, asked))
    if asked is not None and not mechanism.guarantee.meets(Target(spec.privacy.adjacency, asked)):
        given = " and ".join(f"{k} {v}" for k, v in mechanism.guarantee.intensity.parameters().items())
        raise GuaranteeError(
            f"[mechanism] epsilon_per_unit = {spec.mechanism.epsilon_per_unit} gives {given} here, above the"
            f" target {spec.privacy.epsilon} in [privacy]: lower it, or leave one of the two out."
        )
    return mechanism


def require_supported(spec: Spec) -> None:
    """Refuse what no mechanism here can do, before anything is read."""
    name, standard = spec.mechanism.name, spec.privacy.standard
    if name not in CATALOGUE:
        raise SpecError(f"[mechanism] name = {name!r} is not known: {closest(name, list(CATALOGUE))}")
    entry = CATALOGUE[name]
    if standard not in entry.standards:
        able = " or ".join(f'"{s}"' for s in entry.standards)
        other = [n for n, e in CATALOGUE.items() if standard in e.standards]
        raise SpecError(
            f"[privacy] standard = {standard!r} is not met by {name}: set standard = {able}"
            + (f", or name = {other[0]!r} in [mechanism]." if other else ".")
        )
    if spec.constraints.nonnegative and not entry.nonnegative:
        able = " or ".join(repr(n) for n, e in CATALOGUE.items() if e.nonnegative)
        raise SpecError(
            f"[constraints] nonnegative = true asks for a release without negative counts, and {name} may go"
            f" below zero: set it to false" + (f", or name = {able} in [mechanism]." if able else ".")
        )
    if spec.constraints.inequalities and (name != "conditioned" or spec.mechanism.chain):
        raise SpecError(
            "[[constraints.inequalities]] are kept by exact draws of conditioned alone: set name ="
            " 'conditioned' in [mechanism], without a chain, or leave them out."
        )
    own = spec.mechanism
    for key, given in (
        ("base", own.base is not None),
        ("chain", own.chain),
        ("moves", own.moves is not None),
    ):
        if given and name != "conditioned":
            raise SpecError(f"[mechanism] {key} belongs to conditioned: leave it out.")
    if own.moves is not None and not own.chain:
        raise SpecError("[mechanism] moves are those of a chain: add chain = true, or leave them out.")
    if spec.mechanism.epsilon_per_unit is not None and name != LatticeLaplace.name:
        raise SpecError(
            f"[mechanism] epsilon_per_unit belongs to {LatticeLaplace.name}: leave it out and give the target"
            " in [privacy]."
        )


def _lattice_laplace(case: Case) -> Mechanism:
    own = case.spec.mechanism
    if own.epsilon_per_unit is not None:
        return LatticeLaplace(case.premises, own.norm, own.epsilon_per_unit)
    return LatticeLaplace.calibrate(case.premises, norm=own.norm, intensity=_pure(case.asked))


def _lattice_gaussian(case: Case) -> Mechanism:
    if not isinstance(case.asked, ZeroConcentrated | Approximate):
        raise SpecError('[privacy] rho is missing: give a positive budget such as "1/2".')
    return LatticeGaussian.calibrate(case.premises, intensity=case.asked)


def _k_norm(case: Case) -> Mechanism:
    from holdfast.mechanisms.k_norm import KNorm  # noqa: PLC0415 - loaded late

    return KNorm.calibrate(case.premises, intensity=_pure(case.asked))


def _conditioned(case: Case) -> Mechanism:
    from holdfast.mechanisms.conditioned import Conditioned  # noqa: PLC0415 - loaded late
    from holdfast.mechanisms.congeniality import Inequalities  # noqa: PLC0415

    spec, asked = case.spec, case.asked
    if not isinstance(asked, Pure | ZeroConcentrated | Approximate):
        raise SpecError('[privacy] epsilon is missing: give a positive budget such as "1".')
    if spec.mechanism.chain:
        return _by_chain(spec, case.premises, asked)
    rows = inequality_rows(spec, case.setting.schema)
    return Conditioned.calibrate(
        case.premises,
        intensity=asked,
        base=spec.mechanism.base or ("double-geometric" if isinstance(asked, Pure) else "discrete-gaussian"),
        nonnegative=spec.constraints.nonnegative,
        inequalities=None if rows is None else Inequalities(*rows),
    )


def _by_chain(spec: Spec, premises: Premises, asked: Intensity) -> Mechanism:
    """Draw by a Markov chain; its distance to its law is estimated at public tables, and charged to delta."""
    from holdfast.lattice.markov import markov_basis, markov_basis_two_way, read_moves  # noqa: PLC0415
    from holdfast.mechanisms.conditioned import Conditioned  # noqa: PLC0415
    from holdfast.postprocess.stand_in import public_tables  # noqa: PLC0415
    from holdfast.sampling.mcmc.row_pairs import two_way_cells  # noqa: PLC0415

    if not isinstance(asked, Approximate) or not spec.constraints.nonnegative:
        raise SpecError(
            "[mechanism] chain = true draws approximately and keeps counts non-negative: set standard ="
            ' "approximate" in [privacy], with epsilon and delta, and nonnegative = true in [constraints].'
        )
    universe = premises.universe
    if spec.mechanism.moves is not None:
        moves = read_moves(spec.resolve(spec.mechanism.moves), universe.matrix)
    elif (table := two_way_cells(universe.matrix)) is not None:
        moves = markov_basis_two_way(*table.shape)
    else:
        moves = markov_basis(universe.matrix)
    exact = Conditioned.calibrate(
        premises, intensity=Pure(asked.epsilon), base="double-geometric", nonnegative=True
    )
    # a law that is eta off costs eta (1 + e^epsilon) [theory, 6]
    distance = float(asked.delta) / (1 + exp(float(asked.epsilon)))
    return exact.by_chain(moves, public_tables(universe), distance=distance, entropy=SeededEntropy(0))


def _projected_gaussian(case: Case) -> Mechanism:
    from holdfast.mechanisms.projected_gaussian import ProjectedGaussian  # noqa: PLC0415 - loaded late

    if not isinstance(case.asked, ZeroConcentrated | GaussianDP):
        raise SpecError('[privacy] rho is missing: give a positive budget such as "1/2".')
    # its draws are real numbers: what a mechanism is, but for that
    return cast("Mechanism", ProjectedGaussian.calibrate(case.premises, intensity=case.asked))


def _pure(asked: Intensity | None) -> Pure:
    if not isinstance(asked, Pure):
        raise SpecError('[privacy] epsilon is missing: give a positive budget such as "1".')
    return asked


CATALOGUE: Mapping[str, Entry] = {
    "lattice-laplace": Entry(("pure",), _lattice_laplace),
    "lattice-gaussian": Entry(("zcdp", "approximate"), _lattice_gaussian),
    "k-norm": Entry(("pure",), _k_norm),
    "conditioned": Entry(("pure", "zcdp", "approximate"), _conditioned, nonnegative=True),
    "projected-gaussian": Entry(("zcdp", "gaussian"), _projected_gaussian, real=True),
}
