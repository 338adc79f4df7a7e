"""What can go wrong, in one sentence.

Every message names the place and the way out. The command line prints it alone and exits with 2:
nothing has been written, lost or charged by then.
"""

import re
from typing import ClassVar

from holdfast.system.text import brief

_SAID = (
    "adds|and|are|asks|at|beside|bind|cannot|do|does|ends|give|gives|goes|had|has|have|hold|holds|if|in|is"
    "|lists|makes|may|must|names|needs|of|one|or|puts|say|says|set|sets|settles|speaks|stands|take|takes|than"
    "|the|to|was|were|with|would|writes"
)
"""Words that follow a section and are no key of it."""
_KEY = rf"\[+[^]]+]+(?: \d+)?(?: (?!(?:{_SAID})\b)\w+)?"
_FILE = rf"\S*[\w-]\.\w{{1,7}}(?:, (?:line|row) [\d,]*\d|, {_KEY})?"
_PLACE = re.compile(rf"({_KEY}|--[a-z][a-z-]*|[a-z]+://[^\s,]+|{_FILE})(?=[ :,])")
"""What a sentence begins with: a section with its key, an option, an address, a file, perhaps with a line."""


class HoldfastError(Exception):
    """Something the user can mend; very long values in its sentence are shown without their middle.

    >>> hf.HoldfastError.code, hf.BudgetError.code
    ('error', 'budget')
    """

    code: ClassVar[str] = "error"
    """What kind of error it is, for programs: it stays the same where the sentence gets better."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(brief(sentence))


class SpecError(HoldfastError):
    """The spec asks for something unknown or contradictory.

    >>> hf.Privacy(epsilon="0")
    Traceback (most recent call last):
    holdfast.system.errors.SpecError: privacy.epsilon is 0: ...
    """

    code = "spec"


class DataError(HoldfastError):
    """A file does not hold what the spec says it holds.

    >>> hf.prepare(spec, people.drop("sex"))
    Traceback (most recent call last):
    holdfast.system.errors.DataError: ...
    """

    code = "data"


class InvariantError(HoldfastError):
    """The invariants contradict each other, or no table keeps them.

    >>> hf.InvariantError.code
    'invariant'
    """

    code = "invariant"


class GuaranteeError(HoldfastError):
    """No guarantee can be given, or not the one that was asked for.

    >>> both = spec.model_copy(update={"invariants": (hf.Invariant(margin=["county", "sex"]),)})
    >>> hf.prepare(both, people)
    Traceback (most recent call last):
    holdfast.system.errors.GuaranteeError: ...
    """

    code = "guarantee"


class SamplingError(HoldfastError):
    """No exact draw is within reach.

    >>> hf.SamplingError.code
    'sampling'
    """

    code = "sampling"


class ReleaseError(HoldfastError):
    """A release cannot be written or read.

    >>> hf.ReleaseError.code
    'release'
    """

    code = "release"


class LedgerError(HoldfastError):
    """A ledger cannot be made, read or charged.

    >>> hf.LedgerError.code
    'ledger'
    """

    code = "ledger"


class BudgetError(LedgerError):
    """A release asks for more than is left.

    >>> ledger = hf.Ledger.create("small.ledger", standard="pure", budget=1)
    >>> _ = hf.prepare(spec, people).release(ledger=ledger)
    >>> hf.prepare(spec, people).release(ledger=ledger)
    Traceback (most recent call last):
    holdfast.system.errors.BudgetError: ...
    """

    code = "budget"


class DamagedLedgerError(LedgerError):
    """The file is a ledger, but not as Holdfast left it.

    >>> hf.DamagedLedgerError.code
    'ledger-damaged'
    """

    code = "ledger-damaged"


class FormatError(LedgerError):
    """The file is a ledger of a format that this version does not know.

    >>> hf.FormatError.code
    'ledger-format'
    """

    code = "ledger-format"


class MechanismError(HoldfastError):
    """A mechanism of another package cannot be used.

    >>> hf.MechanismError.code
    'mechanism'
    """

    code = "mechanism"


class MissingMechanismError(MechanismError):
    """There is no mechanism of a name here; a certificate may say which package has it.

    >>> hf.MissingMechanismError.code
    'mechanism-missing'
    """

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
