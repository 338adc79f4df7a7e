"""The mechanisms that are compared, each calibrated to the target of a spec."""

from dataclasses import dataclass, replace

from holdfast.compare.terms import terms_for
from holdfast.errors import GuaranteeError, SpecError
from holdfast.mechanisms.catalogue import MECHANISMS, AnyMechanism
from holdfast.mechanisms.mechanism import MechanismOptions
from holdfast.privacy.guarantee import Target
from holdfast.public import Public

CONTENDERS = {mechanism.name: mechanism for mechanism in MECHANISMS if mechanism.output == "table"}
"""Those that release tables, in the order in which equals are preferred."""


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
