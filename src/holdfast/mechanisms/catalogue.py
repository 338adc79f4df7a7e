"""All mechanisms, and from a spec to the one that answers it.

Only public values enter. The guarantee is worked out by the mechanism itself; a target that it does not
imply is refused.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from holdfast.errors import GuaranteeError, SpecError
from holdfast.mechanisms.conditioned import Conditioned
from holdfast.mechanisms.k_norm import KNorm
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.mechanism import Mechanism, MechanismOptions, TableMechanism, missing
from holdfast.mechanisms.naive import NaiveGaussian, NaiveLaplace
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.mechanisms.permutation_swapping import PermutationSwapping
from holdfast.mechanisms.projected_gaussian import ProjectedGaussian
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.mechanisms.wasserstein.exponential import WassersteinExponential
from holdfast.mechanisms.wasserstein.gradient import KNormGradient
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Approximate, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.public import Public
from holdfast.spec.closest import closest
from holdfast.spec.model import NEEDS, Privacy, Spec

AnyMechanism = TableMechanism[Any, Any]

MECHANISMS: tuple[type[Mechanism[Any, Any]], ...] = (
    LatticeLaplace,
    LatticeGaussian,
    KNorm,
    Conditioned,
    ProjectedGaussian,
    NaiveLaplace,
    NaiveGaussian,
    NoisyCount,
    PermutationSwapping,
    TopDown,
    WassersteinExponential,
    KNormGradient,
)
"""The only list; equals are preferred in this order."""

OF_TABLES: tuple[type[AnyMechanism], ...] = tuple(
    kind for kind in MECHANISMS if issubclass(kind, TableMechanism)
)
"""Those that release tables of counts, or statistics of them."""
NAMED: Mapping[str, type[AnyMechanism]] = {kind.name: kind for kind in OF_TABLES}


def target_of(privacy: Privacy) -> Target:
    """Return what a spec asks for; its intensity is None where it follows from the mechanism."""
    return Target(privacy.adjacency, _intensity(privacy), privacy.distance)


def _intensity(privacy: Privacy) -> Intensity | None:
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


Choice = tuple[type[AnyMechanism], MechanismOptions]


def named_by(spec: Spec) -> Choice:
    """Return the mechanism that a spec names, and its options, whether or not it can answer the spec."""
    return _placed(spec, _named_by)


def mechanism_of(spec: Spec, *, among_others: bool = False) -> Choice:
    """Return the mechanism that answers a spec, and its options; raises SpecError before anything is read.

    Where its table is ``among_others`` of one release only mechanisms that can be are proposed.
    """
    return _placed(spec, partial(_mechanism_of, among_others=among_others))


def _placed(spec: Spec, find: Callable[[Spec], Choice]) -> Choice:
    try:
        return find(spec)
    except SpecError as error:
        raise SpecError(f"{spec.file}, {error}" if spec.file else str(error)) from None


def _named_by(spec: Spec, *, among_others: bool = False) -> Choice:
    name = spec.mechanism.name
    known = {kind.name: kind for kind in MECHANISMS}
    if name not in known:
        offered = _offered(spec, among_others=among_others)
        raise SpecError(f"[mechanism] name = {name!r} is not known: {closest(name, offered)}")
    if name not in NAMED:
        raise SpecError(
            f"[mechanism] name = {name!r} releases records, and this is for tables of counts: name another"
            ' mechanism, such as "lattice-laplace".'
        )
    kind = NAMED[name]
    keys = {
        key: str(spec.resolve(value)) if key in kind.Options.files and isinstance(value, str) else value
        for key, value in spec.mechanism.keys.items()
    }
    return kind, kind.Options(**keys)


def _offered(spec: Spec, *, among_others: bool) -> list[str]:
    """Return the mechanisms that may be meant: of the spec's standard and bounds, if there are any."""
    bounds, standard = spec.constraints.bounds is not None, spec.privacy.standard
    tables = [
        kind
        for kind in OF_TABLES
        if kind.released and not (among_others and (kind.estimated or kind.output != "table"))
    ]
    able = [
        kind.name
        for kind in tables
        if standard in kind.standards and (kind.bounded if bounds else not kind.needs_bounds)
    ]
    records = not among_others and spec.data.count is None and not bounds
    swaps = [PermutationSwapping.name] if records and standard in PermutationSwapping.standards else []
    return [*able, *swaps] or [kind.name for kind in tables]


def _mechanism_of(spec: Spec, *, among_others: bool = False) -> Choice:
    kind, options = _named_by(spec, among_others=among_others)
    name, standard = kind.name, spec.privacy.standard
    if standard not in kind.standards:
        able = " or ".join(f'"{one}" with {" and ".join(NEEDS[one])}' for one in kind.standards)
        given = " and ".join(NEEDS[standard])
        other = [m.name for m in OF_TABLES if standard in m.standards and _could_answer(m, spec)]
        raise SpecError(
            f"[privacy] standard = {standard!r} is not met by {name}: set standard = {able}, in place of"
            f" {given}" + (f", or name = {other[0]!r} in [mechanism]." if other else ".")
        )
    if (asked := spec.constraints.bounds) is not None and not kind.bounded:
        able = " or ".join(repr(m.name) for m in OF_TABLES if m.bounded and m.contends)
        raise SpecError(
            f"[constraints] {asked} the release, and {name} may go below any bound: leave it out, or"
            f" set name = {able} in [mechanism]."
        )
    if _intensity(spec.privacy) is None and options.sets_intensity is None:
        raise missing("epsilon")
    return kind, options


def _could_answer(kind: type[AnyMechanism], spec: Spec) -> bool:
    """Whether a mechanism may be proposed for a spec: one that releases such tables, within its bounds."""
    suits = (kind is TopDown) == bool(spec.data.regions) and kind.output == "table"
    bounded = kind.bounded if spec.constraints.bounds is not None else not kind.needs_bounds
    return kind.released and kind.contends and suits and bounded


def answer(spec: Spec, public: Public) -> AnyMechanism:
    """Calibrate the mechanism of a spec, from public values only."""
    kind, options = mechanism_of(spec)
    target = target_of(spec.privacy)
    mechanism = kind.answer(public, target, options)
    if not mechanism.guarantee.meets(target):
        given, asked = mechanism.guarantee.intensity, target.intensity
        if options.sets_intensity is not None:
            raise GuaranteeError(
                f"[mechanism] {options.sets_intensity} gives {_words(given)} here, above the target"
                f" {_words(asked)} in [privacy]: lower it, or leave one of the two out."
            )
        raise GuaranteeError(
            f"{kind.name} reaches {_words(given)} here, which does not meet the target {_words(asked)} in"
            " [privacy]: ask for that much, or choose another mechanism."
        )
    return mechanism


def _words(intensity: Intensity | None) -> str:
    values = {} if intensity is None else intensity.parameters()
    return " and ".join(f"{name} {value}" for name, value in values.items())
