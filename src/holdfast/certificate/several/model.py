"""The certificate of several tables as values: what holds of all together, and a chapter for each.

A chapter is the certificate that its table would have alone, without a seal of its own.
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictStr

from holdfast.certificate.model import (
    Certificate,
    GuaranteeSection,
    LedgerSection,
    RandomnessSection,
    Software,
    TargetSection,
    VerdictSection,
)
from holdfast.certificate.sealed import Sealed, Section
from holdfast.spec.rational import Rational


class ShareSection(Section):
    """What a table weighs in the division of the budget, and the fraction that it gets."""

    table: StrictStr
    weight: Rational
    fraction: Rational


class BudgetSection(Section):
    """How the budget is divided among the tables."""

    division: Literal["equal", "weights", "least-error"]
    shares: tuple[ShareSection, ...]


class SharedSection(Section):
    """A margin that several tables show: exactly the same in some, with noise of their own in others."""

    attributes: tuple[StrictStr, ...]
    exact: tuple[StrictStr, ...]
    noisy: tuple[StrictStr, ...]


class Chapter(Section):
    """One of the tables."""

    name: StrictStr
    certificate: Certificate


class TablesCertificate(Sealed):
    """The record of a release of several tables."""

    format: Literal["holdfast-joint-certificate/1"] = "holdfast-joint-certificate/1"
    software: Software
    created: StrictStr
    target: TargetSection
    budget: BudgetSection
    guarantee: GuaranteeSection
    shared: tuple[SharedSection, ...]
    randomness: RandomnessSection
    verdict: VerdictSection
    caveats: tuple[StrictStr, ...]
    tables: tuple[Chapter, ...]
    ledger: LedgerSection | None = None
    files: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    quoted_formulas: Annotated[StrictBool, Field(exclude_if=lambda quoted: not quoted)] = False
    digest: StrictStr = ""

    def chapter(self, name: str) -> Certificate | None:
        """Return what is said of a table; None where there is none of the name."""
        return next((one.certificate for one in self.tables if one.name == name), None)
