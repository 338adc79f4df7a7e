"""What can go wrong, in one sentence.

Every message names the place and the way out. The command line prints it alone and exits with 2:
nothing has been written, lost or charged by then.
"""

import re
from typing import ClassVar

from holdfast.system.text import brief

_KEY = r"\[+[^]]+]+(?: \d+)?(?: \w+)?"
_PLACE = re.compile(rf"({_KEY}|\S*[\w-]\.\w{{1,7}}(?:, (?:line|row) [\d,]*\d|, {_KEY})?)(?=[ :,])")
"""A file, perhaps with a line or a key, or a section with its key, at the beginning of a sentence."""


class HoldfastError(Exception):
    """Something the user can mend; very long values in its sentence are shown without their middle."""

    code: ClassVar[str] = "error"
    """What kind of error it is, for programs: it stays the same where the sentence gets better."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(brief(sentence))


class SpecError(HoldfastError):
    """The spec asks for something unknown or contradictory."""

    code = "spec"


class DataError(HoldfastError):
    """A file does not hold what the spec says it holds."""

    code = "data"


class InvariantError(HoldfastError):
    """The invariants contradict each other, or no table keeps them."""

    code = "invariant"


class GuaranteeError(HoldfastError):
    """No guarantee can be given, or not the one that was asked for."""

    code = "guarantee"


class SamplingError(HoldfastError):
    """No exact draw is within reach."""

    code = "sampling"


class ReleaseError(HoldfastError):
    """A release cannot be written or read."""

    code = "release"


class LedgerError(HoldfastError):
    """A ledger cannot be made, read or charged."""

    code = "ledger"


class BudgetError(LedgerError):
    """A release asks for more than is left."""

    code = "budget"


class DamagedLedgerError(LedgerError):
    """The file is a ledger, but not as Holdfast left it."""

    code = "ledger-damaged"


class FormatError(LedgerError):
    """The file is a ledger of a format that this version does not know."""

    code = "ledger-format"


class MechanismError(HoldfastError):
    """A mechanism of another package cannot be used."""

    code = "mechanism"


class MissingMechanismError(MechanismError):
    """There is no mechanism of a name here; a certificate may say which package has it."""

    code = "mechanism-missing"

    def __init__(self, name: str, package: str | None = None, version: str | None = None) -> None:
        where = f"install {package} {version}, which has it" if package else "install the package that has it"
        super().__init__(f"the mechanism {name!r} is not known here: {where}.")
        self.name, self.package, self.version = name, package, version


def error_to_dict(code: str, sentence: str) -> dict[str, str | None]:
    """Return an error for programs: its kind, its sentence, and the place and the way out that stand in that.

    >>> found = error_to_dict("data", "a.csv, line 7 has no count: write one.")
    >>> found["code"], found["where"], found["hint"]
    ('data', 'a.csv, line 7', 'write one.')
    """
    place = _PLACE.match(sentence)
    _, colon, hint = sentence.rpartition(": ")
    return {
        "code": code,
        "message": sentence,
        "where": place[1] if place else None,
        "hint": hint if colon else None,
    }
