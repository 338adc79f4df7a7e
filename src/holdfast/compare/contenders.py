"""The mechanisms that are compared, each calibrated to the target of a spec."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from holdfast.compare.terms import terms_for
from holdfast.errors import GuaranteeError, SpecError
from holdfast.mechanisms.accuracy import FEWEST_DRAWS
from holdfast.mechanisms.catalogue import OF_TABLES, AnyMechanism
from holdfast.mechanisms.mechanism import MechanismOptions
from holdfast.privacy.guarantee import Target
from holdfast.public import Public
from holdfast.spec.closest import closest

CONTENDERS = {mechanism.name: mechanism for mechanism in OF_TABLES if mechanism.output == "table"}
"""Those that release tables, in the order in which equals are preferred."""


def usual(own: str) -> tuple[str, ...]:
    """Return those that are compared without being asked for, and the one that a spec names."""
    return tuple(name for name, mechanism in CONTENDERS.items() if mechanism.contends or name == own)


@dataclass(frozen=True, eq=False)
class Contender:
    """A calibrated mechanism.

    ``converted`` says how the target was turned into its standard, None where it has the target's own.
    """

    mechanism: AnyMechanism
    converted: str | None = None

    def meets(self, target: Target) -> bool:
        """Whether what is proved of it implies the target; not where no theorem says so."""
        try:
            return self.mechanism.guarantee.meets(target)
        except GuaranteeError:
            return False


def require_known(names: Sequence[str], draws: int, known: Collection[str]) -> None:
    """Raise SpecError where what is to be compared is not known, or is too little."""
    if not names:
        raise SpecError("--mechanisms names none: name one or more, separated by commas.")
    for name in names:
        if name not in known:
            raise SpecError(f"--mechanisms names {name!r}, which is not known: {closest(name, known)}")
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise SpecError(f"--mechanisms names {repeated[0]!r} twice: keep one.")
    if draws < FEWEST_DRAWS:
        raise SpecError(f"--draws is {draws}: ask for {FEWEST_DRAWS} or more.")


def contend(name: str, own: MechanismOptions, public: Public, target: Target) -> Contender:
    """Calibrate a mechanism to a target; ``own`` are the options of the spec, for the one that it names."""
    kind = CONTENDERS[name]
    if target.intensity is None:
        raise SpecError("a comparison needs a target: give one in [privacy].")
    if kind.most_dimensions is not None and public.universe.dimension > kind.most_dimensions:
        raise GuaranteeError(
            f"the differences of tables are too many to list in {public.universe.dimension:,} dimensions:"
            f" {kind.most_dimensions} are the most."
        )
    bounded = public.nonnegative or bool(public.inequalities)
    terms = terms_for(kind.standards, target.intensity, bounded=bounded)
    options = own if isinstance(own, kind.Options) and own.name == name else kind.Options(name=name)
    return Contender(
        kind.answer(public, replace(target, intensity=terms.intensity), options), terms.converted
    )
