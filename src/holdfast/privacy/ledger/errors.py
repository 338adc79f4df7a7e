"""What can go wrong with a ledger, in one sentence. Nothing may be drawn after any of these."""

from holdfast.errors import HoldfastError


class LedgerError(HoldfastError):
    """A ledger cannot be made, read or charged."""


class BudgetError(LedgerError):
    """A release asks for more than is left."""


class DamagedError(LedgerError):
    """The file is a ledger, but not as Holdfast left it."""


class FormatError(LedgerError):
    """The file is a ledger of a format that this version does not know."""
