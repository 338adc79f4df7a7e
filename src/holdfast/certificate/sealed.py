"""What all certificates share: the text they are written as, and the seal that is put on when they are."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, field_validator

from holdfast.certificate.text import canonical, digest
from holdfast.plain import plain_name

if TYPE_CHECKING:
    from holdfast.certificate.model import LedgerSection

SEAL = ("measured", "ledger", "files", "quoted_formulas", "digest")
"""What is added when a release is written: the rest is settled before anything is drawn."""


class Section(BaseModel):
    """The base of every section: frozen, no unknown keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_name=True,
        validate_by_alias=True,
        json_schema_serialization_defaults_required=True,
    )


class Sealed(Section):
    """A certificate; its fields end with those of the seal."""

    @field_validator("files", check_fields=False)
    @classmethod
    def _names_inside(cls, files: dict[str, str]) -> dict[str, str]:
        for name in files:
            if not plain_name(name):
                raise ValueError(f"{name!r} is not the name of a file inside of the folder")
        return files

    def to_dict(self) -> dict[str, Any]:
        """Return what `certificate.json` says."""
        return self.model_dump(mode="json", by_alias=True)

    def to_json(self) -> str:
        """Return the text of `certificate.json`."""
        return canonical(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; raises ValueError where it is something else."""
        return cls.model_validate_json(text)

    @property
    def settled(self) -> str:
        """The digest of all that was settled before the draw, by which a ledger names the release."""
        return digest({name: value for name, value in self.to_dict().items() if name not in SEAL})

    @property
    def unsealed(self) -> Self:
        """The certificate as it was before it was written."""
        fields = type(self).model_fields
        return self.model_copy(
            update={
                name: fields[name].get_default(call_default_factory=True) for name in SEAL if name in fields
            }
        )

    def sealed(
        self,
        files: Mapping[str, str],
        ledger: "LedgerSection | None" = None,
        *,
        quoted_formulas: bool = False,
        measured: str | None = None,
    ) -> Self:
        """Return the certificate with hashes of the files, the ledger's row, and a digest of the whole.

        ``measured`` is that of what was measured, where a table was estimated from it.
        """
        written = {"files": dict(files), "ledger": ledger, "quoted_formulas": quoted_formulas}
        said = {} if measured is None else {"measured": measured}
        body = self.model_copy(update={**written, **said})
        content = {name: value for name, value in body.to_dict().items() if name != "digest"}
        return body.model_copy(update={"digest": digest(content)})
