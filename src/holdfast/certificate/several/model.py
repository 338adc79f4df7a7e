"""The certificate of several tables as values: what holds of all together, and a chapter for each.

A chapter is the certificate that its table would have alone, without a seal of its own.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StrictStr, field_validator

from holdfast.certificate.model import (
    SEAL,
    Certificate,
    GuaranteeSection,
    LedgerSection,
    RandomnessSection,
    Section,
    Software,
    TargetSection,
    VerdictSection,
)
from holdfast.certificate.text import canonical, digest
from holdfast.plain import plain_name
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


class TablesCertificate(Section):
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

    @field_validator("files")
    @classmethod
    def _names_inside(cls, files: dict[str, str]) -> dict[str, str]:
        for name in files:
            if not plain_name(name):
                raise ValueError(f"{name!r} is not the name of a file inside of the folder")
        return files

    def chapter(self, name: str) -> Certificate | None:
        """Return what is said of a table; None where there is none of the name."""
        return next((one.certificate for one in self.tables if one.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """Return what `certificate.json` says."""
        return self.model_dump(mode="json", by_alias=True)

    def to_json(self) -> str:
        """Return the text of `certificate.json`."""
        return canonical(self.to_dict())

    @property
    def settled(self) -> str:
        """The digest of all that was settled before the draw, by which a ledger names the release."""
        return digest({name: value for name, value in self.to_dict().items() if name not in SEAL})

    def sealed(
        self,
        files: Mapping[str, str],
        ledger: LedgerSection | None = None,
        *,
        quoted_formulas: bool = False,
    ) -> Self:
        """Return the certificate with hashes of the files, the ledger's row, and a digest of the whole."""
        written = {"files": dict(files), "ledger": ledger, "quoted_formulas": quoted_formulas}
        body = self.model_copy(update=written)
        content = {name: value for name, value in body.to_dict().items() if name != "digest"}
        return body.model_copy(update={"digest": digest(content)})
