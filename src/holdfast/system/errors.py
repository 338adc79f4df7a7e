"""What can go wrong, in one sentence.

Every message names the place and the way out. The command line prints it alone and exits with 2:
nothing has been written, lost or charged by then.
"""

from holdfast.system.text import brief


class HoldfastError(Exception):
    """Something the user can mend; very long values in its sentence are shown without their middle."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(brief(sentence))


class SpecError(HoldfastError):
    """The spec asks for something unknown or contradictory."""


class DataError(HoldfastError):
    """A file does not hold what the spec says it holds."""


class InvariantError(HoldfastError):
    """The invariants contradict each other, or no table keeps them."""


class GuaranteeError(HoldfastError):
    """No guarantee can be given, or not the one that was asked for."""


class SamplingError(HoldfastError):
    """No exact draw is within reach."""


class ReleaseError(HoldfastError):
    """A release cannot be written or read."""


class LedgerError(HoldfastError):
    """A ledger cannot be made, read or charged."""


class BudgetError(LedgerError):
    """A release asks for more than is left."""


class DamagedLedgerError(LedgerError):
    """The file is a ledger, but not as Holdfast left it."""


class FormatError(LedgerError):
    """The file is a ledger of a format that this version does not know."""


class MechanismError(HoldfastError):
    """A mechanism of another package cannot be used."""


class MissingMechanismError(MechanismError):
    """There is no mechanism of a name here; a certificate may say which package has it."""

    def __init__(self, name: str, package: str | None = None, version: str | None = None) -> None:
        where = f"install {package} {version}, which has it" if package else "install the package that has it"
        super().__init__(f"the mechanism {name!r} is not known here: {where}.")
        self.name, self.package, self.version = name, package, version
