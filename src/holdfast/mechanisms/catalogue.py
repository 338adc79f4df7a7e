"""All mechanisms, and from a spec to the one that answers it.

Only public values enter. The guarantee is worked out by the mechanism itself; a target that it does not
imply is refused. A mechanism is loaded when its name is asked for.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from holdfast import registry
from holdfast.mechanisms.mechanism import Mechanism, TableMechanism, missing
from holdfast.mechanisms.records import RecordsMechanism
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Approximate, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.public import Public
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.model import Spec
from holdfast.spec.privacy import NEEDS, Neighbours, Privacy
from holdfast.system.errors import GuaranteeError, MissingMechanismError, SpecError
from holdfast.system.ways import about, assigned, setting
from holdfast.version import is_version

AnyMechanism = TableMechanism[Any, Any]


if TYPE_CHECKING:
    MECHANISMS: tuple[type[Mechanism[Any, Any]], ...]
    OF_TABLES: tuple[type[AnyMechanism], ...]


def __getattr__(name: str) -> Any:
    """Give `MECHANISMS` and `OF_TABLES` to who asks for all: they are loaded then."""
    if name in ("MECHANISMS", "OF_TABLES"):
        return mechanisms() if name == "MECHANISMS" else of_tables()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def mechanisms() -> tuple[type[Mechanism[Any, Any]], ...]:
    """Return all mechanisms, those of other packages last; equals are preferred in this order."""
    return tuple(map(registry.find, registry.names()))


def of_tables() -> tuple[type[AnyMechanism], ...]:
    """Return the mechanisms that release tables of counts, or statistics of them."""
    return tuple(kind for kind in mechanisms() if issubclass(kind, TableMechanism))


class _TableMechanisms(Mapping[str, type[AnyMechanism]]):
    """The mechanisms of tables by their names, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> type[AnyMechanism]:
        try:
            kind = registry.find(name)
        except MissingMechanismError:
            raise KeyError(name) from None
        if not issubclass(kind, TableMechanism):
            raise KeyError(name)
        return kind

    def __iter__(self) -> Iterator[str]:
        return (kind.name for kind in of_tables())

    def __len__(self) -> int:
        return len(of_tables())


NAMED: Mapping[str, type[AnyMechanism]] = _TableMechanisms()


def named(name: str) -> type[Mechanism[Any, Any]]:
    """Return the mechanism of a name; raises ValueError where there is none."""
    try:
        return registry.find(name)
    except MissingMechanismError:
        raise ValueError(f"{name!r} is no mechanism") from None


def of_records(name: str) -> type[RecordsMechanism[Any, Any]]:
    """Return the mechanism of records of a name; raises ValueError where there is none."""
    kind = named(name)
    if not issubclass(kind, RecordsMechanism):
        raise ValueError(f"{name!r} is no mechanism of records")  # noqa: TRY004
    return kind


def record_of(content: Any) -> Any:
    """Return the record that a certificate has of a mechanism, as the mechanism of its name reads it.

    Raises MissingMechanismError where it names a package that is not here.
    """
    if not isinstance(content, Mapping) or not isinstance(name := content.get("name"), str):
        return content
    package, version = content.get("package"), content.get("version")
    if isinstance(package, str) and is_version(version) and name not in registry.names():
        raise MissingMechanismError(name, package, version)
    return named(name).Record.model_validate(content)


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


ChosenMechanism = tuple[type[AnyMechanism], MechanismOptions]


def named_by(spec: Spec) -> ChosenMechanism:
    """Return the mechanism that a spec names, and its options, whether or not it can answer the spec."""
    return _placed(spec, _named_by)


def mechanism_of(spec: Spec) -> ChosenMechanism:
    """Return the mechanism that answers a spec, and its options; raises SpecError before anything is read."""
    return _placed(spec, _mechanism_of)


def _placed(spec: Spec, find: Callable[[Spec], ChosenMechanism]) -> ChosenMechanism:
    with about(spec.file):
        return find(spec)


def _named_by(spec: Spec) -> ChosenMechanism:
    options = spec.mechanism.placed(spec.resolve)
    if options.of_records:
        raise SpecError(
            f"{setting('mechanism', 'name')} = {options.name!r} releases records, and this is for tables of"
            ' counts: name another mechanism, such as "lattice-laplace".'
        )
    return NAMED[options.name], options


def _mechanism_of(spec: Spec) -> ChosenMechanism:
    kind, options = _named_by(spec)
    name, standard = kind.name, spec.privacy.standard
    if standard not in (standards := kind.standards_with(options)):
        able = " or ".join(f'"{one}" with {" and ".join(NEEDS[one])}' for one in standards)
        given = " and ".join(NEEDS[standard])
        other = [m.name for m in of_tables() if standard in m.standards and _could_answer(m, spec)]
        also = f", or {assigned('name', words=repr(other[0]))} in {setting('mechanism')}" if other else ""
        if standard in kind.standards:
            also = f", or leave out {setting('mechanism', 'bound')}"
        raise SpecError(
            f"{setting('privacy', 'standard')} = {standard!r} is not met by {name}: set"
            f" {assigned('standard', words=able)}, in"
            " place of"
            f" {given}"
            f"{also}."
        )
    if (asked := spec.constraints.bounds) is not None and not kind.bounded:
        able = " or ".join(repr(m.name) for m in of_tables() if m.bounded and m.contends)
        raise SpecError(
            f"{setting('constraints', asked)} the release, and {name} may go below any bound: leave it out,"
            f" or set {assigned('name', words=able)} in {setting('mechanism')}."
        )
    require_neighbours(kind, spec.privacy.neighbours)
    if spec.accuracy and options.sets_intensity is not None:
        raise SpecError(
            f"{setting('mechanism', options.sets_intensity)} settles the noise, and so does"
            f" {setting('accuracy')}: leave out one of the two."
        )
    if for_accuracy(spec) is not None and not spec.accuracy:
        raise SpecError(
            f'{setting("mechanism.optimise_for")} = "accuracy" is best for what {setting("accuracy")} asks'
            f" for, and there is none: add targets, in place of the budget in {setting('privacy')}, or name"
            " margins."
        )
    if _intensity(spec.privacy) is None and options.sets_intensity is None and not spec.accuracy:
        raise missing("epsilon")
    return kind, options


def for_accuracy(spec: Spec) -> MechanismOptions | None:
    """Return the options of a mechanism without the wish for weights by accuracy; None without the wish."""
    options = spec.mechanism
    if not getattr(options, "for_accuracy", False):
        return None
    return options.model_copy(update={"optimise_for": ()})


def require_neighbours(kind: type[Mechanism[Any, Any]], neighbours: Neighbours) -> None:
    """Raise where a mechanism's theorem does not compare such neighbours."""
    if neighbours not in kind.neighbours:
        raise SpecError(
            f"{setting('privacy', 'neighbours')} = {neighbours!r} is not worked out for {kind.name}: leave"
            f' it out, or take a table with {assigned("name", "lattice-laplace")}, or "lattice-gaussian"'
            f" with a rho, in {setting('mechanism')}."
        )


def _could_answer(kind: type[AnyMechanism], spec: Spec) -> bool:
    """Whether a mechanism may be proposed for a spec: one that releases such tables, within its bounds."""
    suits = not spec.data.regions and kind.output == "table"
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
                f"{setting('mechanism', options.sets_intensity)} gives {_words(given)} here, above the"
                f" target {_words(asked)} in {setting('privacy')}: lower it, or leave one of the two out."
            )
        raise GuaranteeError(
            f"{kind.name} reaches {_words(given)} here, which does not meet the target {_words(asked)} in"
            f" {setting('privacy')}: ask for that much, or choose another mechanism."
        )
    return mechanism


def at_target(mechanism: AnyMechanism, public: Public, target: Target) -> AnyMechanism | None:
    """Return the mechanism for another target, with all else as it is; None where no target settles it."""
    changed = mechanism.calibration(public, target)
    made: Any = mechanism
    return None if changed is None else replace(made, **changed)


def _words(intensity: Intensity | None) -> str:
    values = {} if intensity is None else intensity.parameters()
    return " and ".join(f"{name} {value}" for name, value in values.items())
