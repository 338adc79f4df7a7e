"""Where mechanisms are found: a name leads to a class, which is loaded when it is asked for.

Holdfast's own stand in a list. A package adds one by an entry point of the group `holdfast.mechanisms`,
whose name is that of the mechanism; nothing of a package is loaded before its name is asked for, and what
does not declare what is asked of a mechanism is refused then. No package can take a name of the list.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from typing import Any, NamedTuple, get_args

from holdfast.system.errors import MechanismError, MissingMechanismError
from holdfast.version import is_version

GROUP = "holdfast.mechanisms"

OWN: Mapping[str, str] = {
    "lattice-laplace": "lattice_laplace:LatticeLaplace",
    "lattice-gaussian": "lattice_gaussian:LatticeGaussian",
    "k-norm": "k_norm:KNorm",
    "conditioned": "conditioned:Conditioned",
    "projected-gaussian": "projected_gaussian:ProjectedGaussian",
    "naive-laplace": "naive:NaiveLaplace",
    "naive-gaussian": "naive:NaiveGaussian",
    "noisy-count": "noisy_count:NoisyCount",
    "permutation-swapping": "swapping.mechanism:PermutationSwapping",
    "topdown": "topdown.mechanism:TopDown",
    "wasserstein-exponential": "wasserstein.exponential:WassersteinExponential",
    "wasserstein-k-norm-gradient": "wasserstein.gradient:KNormGradient",
    "anchored-laplace": "anchored_laplace:AnchoredLaplace",
}
"""The places of Holdfast's own; equals are preferred in this order."""


class Provider(NamedTuple):
    """The package that a mechanism comes from, as a certificate names it."""

    package: str
    version: str


def names() -> tuple[str, ...]:
    """Return the names of all mechanisms: Holdfast's own first, then those of other packages."""
    return (*OWN, *sorted({point.name for point in _announced()} - set(OWN)))


def find(name: str) -> type[Any]:
    """Return the mechanism of a name; raises MissingMechanismError where there is none."""
    if name in OWN:
        return _own(name)
    point = _point(name)
    if point is None:
        raise MissingMechanismError(name)
    try:
        kind = point.load()
    except (ImportError, AttributeError) as error:
        raise MechanismError(
            f"the mechanism {name!r} of {_of(point)} cannot be loaded ({error}): mend or remove the package."
        ) from error
    for flaw in _flaws(kind, name):
        raise MechanismError(f"the mechanism {name!r} of {_of(point)} {flaw}: mend or remove the package.")
    found: type[Any] = kind
    return found


def provider(name: str) -> Provider | None:
    """Return the package that a mechanism comes from; None for Holdfast's own, and where there is none."""
    point = None if name in OWN else _point(name)
    return None if point is None else _provider(point)


def _own(name: str) -> type[Any]:
    module, _, kind = OWN[name].partition(":")
    found: type[Any] = getattr(import_module(f"holdfast.mechanisms.{module}"), kind)
    return found


def _announced() -> Iterable[EntryPoint]:
    return entry_points(group=GROUP)


def _point(name: str) -> EntryPoint | None:
    """Return the entry point of a name; raises MechanismError where several packages have one."""
    found = {point.value: point for point in _announced() if point.name == name}
    if len(found) > 1:
        packages = " and ".join(sorted(_of(point) for point in found.values()))
        raise MechanismError(f"{packages} both have a mechanism {name!r}: remove one of them.")
    return next(iter(found.values()), None)


def _provider(point: EntryPoint) -> Provider:
    if point.dist is None or not is_version(point.dist.version):
        raise MechanismError(
            f"the package of the mechanism {point.name!r} has no version that a certificate could name:"
            " install it anew."
        )
    return Provider(point.dist.name, point.dist.version)


def _of(point: EntryPoint) -> str:
    return "an unknown package" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def _flaws(kind: Any, name: str) -> Iterable[str]:
    """Yield what keeps something from being a mechanism: the first is said."""
    base = import_module("holdfast.mechanisms.mechanism")
    if not _derives(kind, base.Mechanism):
        yield "is no class that derives from holdfast.workshop.Mechanism"
        return
    if isabstract(kind):
        yield f"does not say {', '.join(sorted(kind.__abstractmethods__))}"
    if getattr(kind, "name", None) != name:
        yield f"calls itself {getattr(kind, 'name', None)!r}"
    if not getattr(kind, "standards", ()):
        yield "has no standards that it meets"
    record: Any = getattr(kind, "Record", None)
    if not _derives(record, base.MechanismRecord):
        yield "has no Record for certificates"
    elif get_args(record.model_fields["name"].annotation) != (name,):
        yield f"has a Record whose name is not Literal[{name!r}]"
    if not _derives(kind.Options, import_module("holdfast.spec.mechanism").MechanismOptions):
        yield "has Options that do not derive from MechanismOptions"


def _derives(kind: Any, base: type[Any]) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)
