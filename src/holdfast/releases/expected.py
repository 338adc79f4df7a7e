"""How far the counts of a release are expected to be off, before anything is drawn.

All of it follows from public values: the law of the noise, or the design of measurements, and never from
confidential counts. Errors are of the total, of margins of up to two attributes, levels of a geography among
them, and of cells; of a top-down release they are those of its best linear estimates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from holdfast.mechanisms.catalogue import AnyMechanism, at_target, target_of
from holdfast.mechanisms.errors.counts import Counts, usual
from holdfast.mechanisms.errors.laws import CountErrors
from holdfast.mechanisms.errors.least_budget import Spending
from holdfast.mechanisms.errors.simulated import count_errors
from holdfast.public import Public
from holdfast.spec.privacy import Privacy
from holdfast.spec.values import parse_rational
from holdfast.system.errors import SpecError
from holdfast.system.ways import option, setting

LEVEL = Fraction(95, 100)
MOST_BUDGETS = 12

WhatIf = Mapping[str, Sequence[Fraction | int | str]]
"""The name of a budget, and the budgets to look at: {"epsilon": ["1/2", 1, 2]}."""


@dataclass(frozen=True)
class ExpectedError:
    """How far some counts are off: both sizes are over all of them, and ``within_95`` holds for each."""

    of: Counts
    standard_deviation: float
    mean_absolute: float
    within_95: float
    exact: bool
    """Whether the invariants determine all of them."""
    draws: int | None
    """How many draws it was simulated in, None where formulas tell it."""

    @classmethod
    def told(cls, of: Counts, errors: CountErrors) -> "ExpectedError":
        """Return what laws come to."""
        sizes = errors.deviation, errors.mean_absolute, errors.within(LEVEL)
        return cls(of, *sizes, exact=errors.is_exact, draws=errors.draws)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; None where nothing measures the counts."""
        return {
            **self.of.to_dict(),
            "standard_deviation": plain(self.standard_deviation),
            "mean_absolute": plain(self.mean_absolute),
            "within_95": plain(self.within_95),
            "exact": self.exact,
            "draws": self.draws,
        }


Expected = tuple[ExpectedError, ...]


def plain(value: float) -> float | None:
    """Return a number for machines, in six digits; None for one without an end."""
    return float(f"{value:.6g}") if isfinite(value) else None


def expected_errors(mechanism: AnyMechanism, public: Public, also: Sequence[Counts] = ()) -> Expected | None:
    """Return the expected error of the usual counts and of others; None where none can be told."""
    return _errors_of(mechanism, public, list(dict.fromkeys((*usual(public), *also))))


def _errors_of(mechanism: AnyMechanism, public: Public, asked: Sequence[Counts]) -> Expected | None:
    found = count_errors(mechanism, public, asked)
    if found is None:
        return None
    return tuple(ExpectedError.told(*pair) for pair in zip(asked, found, strict=True))


@dataclass(frozen=True)
class BudgetErrors:
    """What would be expected at another budget."""

    name: str
    budget: Fraction
    expected: Expected

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        rows = [each.to_dict() for each in self.expected]
        return {self.name: str(self.budget), "expected_error": rows}


@dataclass(frozen=True)
class WhatIfBudgets:
    """Budgets to look at: of all tables, where several share one."""

    name: str
    values: tuple[Fraction, ...]


def checked(what_if: WhatIf, privacy: Privacy) -> WhatIfBudgets:
    """Return the budgets that are asked for; raises SpecError where the spec has no budget of the name."""
    name = privacy.budget
    if list(what_if) != [name]:
        given = " and ".join(map(repr, what_if)) or "nothing"
        raise SpecError(
            f"{option('what_if')} is of {given}, and the budget of the standard {privacy.standard!r} is"
            f" {name}: write {name}=1/2,1,2."
        )
    values = what_if[name]
    if not 0 < len(values) <= MOST_BUDGETS:
        raise SpecError(f"{option('what_if')} has {len(values)} budgets: name 1 to {MOST_BUDGETS}.")
    found = []
    for value in values:
        try:
            found.append(parse_rational(value))
        except ValueError as error:
            raise SpecError(f"{option('what_if')}: {name} {error}.") from None
        privacy.spending(found[-1])  # a budget out of reach is refused
    return WhatIfBudgets(name, tuple(dict.fromkeys(found)))


def at_budgets(
    mechanism: AnyMechanism,
    public: Public,
    at: Spending,
    asked: WhatIfBudgets,
    of: Sequence[Counts] | None = None,
) -> tuple[BudgetErrors, ...]:
    """Return what is expected of a table at other budgets: of the usual counts, or of some."""
    of = list(usual(public)) if of is None else of
    found = []
    for value in asked.values:
        target = target_of(at(value))
        own = at_target(mechanism, public, target)
        if own is None:
            raise SpecError(
                f"the noise follows from what {setting('mechanism')} says and not from a budget, so there is"
                f" nothing to compare: leave out {option('what_if')}."
            )
        expected = _errors_of(own, public, of)
        if expected is None:
            raise SpecError(
                f"how far counts of {mechanism.name} are off is not told here, at any budget: leave out"
                f" {option('what_if')}."
            )
        found.append(BudgetErrors(asked.name, value, expected))
    return tuple(found)
