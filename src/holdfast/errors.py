"""What can go wrong, in one sentence.

Every message names the place and the way out. The command line prints it alone and exits with 2:
nothing has been written, lost or charged by then.
"""

from holdfast.visible import brief


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
