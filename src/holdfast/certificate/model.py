"""The certificate: what is said of all of a release, a part for each thing that it holds, and a seal.

One form serves every kind of release. The head says who made it and when, what was asked for, what is
guaranteed and what that comes to; a part says what was kept of one table or file of records, and how it was
drawn; where there are several parts, the head speaks of all together, and each part also for itself. It holds
nothing that depends on the confidential data beyond the invariants: what is released stands in files of its
own, which the seal names by their hashes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, StrictBool, StrictInt, StrictStr, TypeAdapter, field_validator, model_validator
from pydantic.json_schema import GenerateJsonSchema

from holdfast.certificate import caveats as _caveats  # noqa: F401 - registers their words
from holdfast.certificate.head import (
    GuaranteeSection,
    LedgerSection,
    PublicationSection,
    RandomnessSection,
    SecretsSection,
    Software,
    TargetSection,
    VerdictSection,
)
from holdfast.certificate.parts import AnyPart, PartSection, ProcessedPart, RecordsPart, TablePart
from holdfast.certificate.text import FORMAT, canonical, digest, in_parts
from holdfast.data.across import AcrossTables, SideSum
from holdfast.data.sections import IF_SAID, Section
from holdfast.mechanisms.catalogue import mechanisms
from holdfast.privacy.claims import Claim
from holdfast.privacy.intensity import Standard
from holdfast.spec.values import Rational
from holdfast.system.errors import ReleaseError
from holdfast.system.files import plain_name

SEAL = ("measured", "ledger", "files", "exports", "quoted_formulas", "digest")
"""What is added when a release is written: the rest is settled before anything is drawn."""
PartT = TypeVar("PartT", bound=PartSection)


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


class UnitLossSection(Section):
    """What one unit loses by the tables of its own files: losses of different units are never added."""

    unit: StrictStr
    tables: tuple[StrictStr, ...]
    distance: StrictInt
    standard: Standard
    intensity: dict[StrictStr, Rational]


class SideSection(Section):
    """A side of a constraint across tables: the counts of a selection, times a whole number."""

    table: StrictStr
    margin: tuple[StrictStr, ...]
    where: dict[StrictStr, tuple[StrictStr, ...]]
    times: StrictInt


class AcrossSection(Section):
    """What the public knows of two tables together, which the counts keep at every node of a level."""

    name: StrictStr
    level: StrictStr
    sense: Literal[">=", "==", "<="]
    zero: StrictBool
    left: SideSection
    right: SideSection

    @property
    def value(self) -> AcrossTables:
        """The constraint."""
        sides = (
            SideSum(one.table, one.margin, dict(one.where), one.times) for one in (self.left, self.right)
        )
        return AcrossTables(self.name, self.level, self.sense, self.zero, *sides)


class JoinedSection(Section):
    """What joins several tables: of one file their shares of one budget, and the counts that several show.

    Tables of several files have units of their own, and constraints across them.
    """

    budget: Annotated[BudgetSection | None, IF_SAID] = None
    shared: tuple[SharedSection, ...]
    units: Annotated[tuple[UnitLossSection, ...] | None, IF_SAID] = None
    across: Annotated[tuple[AcrossSection, ...] | None, IF_SAID] = None

    @model_validator(mode="after")
    def _of_one_file_or_several(self) -> Self:
        if (self.budget is None) == (self.units is None) or (self.units is None) != (self.across is None):
            raise ValueError("has one budget, or units with what is known across them")
        return self


class Certificate(Section):
    """The record of a release.

    >>> certificate = hf.prepare(spec, people).release().certificate
    >>> hf.Certificate.from_json(certificate.to_json()) == certificate
    True
    """

    format: Literal["holdfast-certificate/4"] = FORMAT
    software: Software
    created: StrictStr
    measured: Annotated[StrictStr | None, IF_SAID] = None
    """The SHA-256 of all values of measurements.parquet, of a release that has such.

    Of several tables it is that of their digests, one a line.
    """
    publication: Annotated[PublicationSection | None, IF_SAID] = None
    target: TargetSection
    guarantee: GuaranteeSection
    secrets: Annotated[SecretsSection | None, IF_SAID] = None
    """Where laws were asked for."""
    randomness: RandomnessSection
    verdict: VerdictSection
    caveats: tuple[Claim, ...]
    parts: Annotated[tuple[AnyPart, ...], Field(min_length=1)]
    joined: Annotated[JoinedSection | None, IF_SAID] = None
    ledger: LedgerSection | None = None
    files: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    exports: Annotated[tuple[StrictStr, ...], Field(exclude_if=lambda names: not names)] = ()
    """Those of the files that have the release in other formats: nothing follows from them."""
    quoted_formulas: Annotated[StrictBool, Field(exclude_if=lambda quoted: not quoted)] = False
    """Whether names that a spreadsheet would run have an apostrophe before them in tables in CSV."""
    digest: StrictStr = ""

    @field_validator("files")
    @classmethod
    def _names_inside(cls, files: dict[str, str]) -> dict[str, str]:
        for name in files:
            if not plain_name(name):
                raise ValueError(f"{name!r} is not the name of a file inside of the folder")
        return files

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        several = self.joined is not None
        if not several and len(self.parts) > 1:
            raise ValueError("has several parts, and says nothing of what joins them")
        if any((part.alone is not None) != several for part in self.parts):
            raise ValueError("has parts that speak for themselves where they are several, and only there")
        if several and not all(isinstance(part, TablePart) for part in self.parts):
            raise ValueError("has several parts that are not all tables")
        if len({part.name for part in self.parts}) < len(self.parts):
            raise ValueError("has two parts of one name")
        return self

    def part(self, name: str | None = None) -> AnyPart:
        """Return a part by its name, or the only one; raises ReleaseError where there is no such."""
        if name is None and len(self.parts) == 1:
            return self.parts[0]
        found = next((part for part in self.parts if part.name == name), None)
        if found is None:
            raise ReleaseError(f"the release has the parts {', '.join(part.name for part in self.parts)}.")
        return found

    @property
    def table(self) -> TablePart:
        """The only part, which is a table."""
        return self._only(TablePart, "a table with noise")

    @property
    def records(self) -> RecordsPart:
        """The only part, which is a file of records."""
        return self._only(RecordsPart, "a file of records")

    @property
    def processed(self) -> ProcessedPart:
        """The only part, which is a processed table."""
        return self._only(ProcessedPart, "a processed table")

    def _only(self, kind: type[PartT], words: str) -> PartT:
        if len(self.parts) > 1 or not isinstance(self.parts[0], kind):
            kinds = ", ".join(f"{part.name} ({part.kind})" for part in self.parts)
            raise ReleaseError(f"this is for {words}, and the release has {kinds}.")
        return self.parts[0]

    def alone(self, name: str) -> "Certificate":
        """Return the certificate that one of several parts would have by itself, with the seal of all."""
        part = self.part(name)
        if part.alone is None:
            return self
        said = {field: getattr(part.alone, field) for field in type(part.alone).model_fields}
        single = part.model_copy(update={"alone": None})
        return self.model_copy(update={**said, "parts": (single,), "joined": None})

    def to_dict(self) -> dict[str, Any]:
        """Return what `certificate.json` says."""
        return self.model_dump(mode="json", by_alias=True)

    def to_json(self) -> str:
        """Return the text of `certificate.json`."""
        return canonical(self.to_dict())

    def in_parts(self) -> Iterator[bytes]:
        """Yield the bytes of `certificate.json`, some of them at a time."""
        return (part.encode("utf-8") for part in in_parts(self.to_dict()))

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
            update={name: fields[name].get_default(call_default_factory=True) for name in SEAL}
        )

    def sealed(
        self,
        files: Mapping[str, str],
        ledger: LedgerSection | None = None,
        *,
        quoted_formulas: bool = False,
        measured: str | None = None,
        exports: Sequence[str] = (),
    ) -> Self:
        """Return the certificate with hashes of the files, the ledger's row, and a digest of the whole.

        ``measured`` is that of what was measured, where a table was estimated from it.
        """
        written = {
            "files": dict(files),
            "ledger": ledger,
            "exports": tuple(exports),
            "quoted_formulas": quoted_formulas,
        }
        said = {} if measured is None else {"measured": measured}
        body = self.model_copy(update={**written, **said})
        content = {name: value for name, value in body.to_dict().items() if name != "digest"}
        return body.model_copy(update={"digest": digest(content)})


class _Untitled(GenerateJsonSchema):
    """A JSON schema whose fields are not named twice."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """Leave titles to the classes."""
        del schema
        return False


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of `certificate.json`, which is shipped as `schema.json`.

    What mechanisms say of themselves is that of any mechanism of this package.
    """
    schema = Certificate.model_json_schema(mode="serialization", schema_generator=_Untitled)
    known: dict[str, Any] = {}
    for field, kinds in (
        ("mechanism", [kind.Record for kind in mechanisms()]),
        ("details", [kind.Details for kind in mechanisms() if kind.Details is not None]),
    ):
        models = [
            TypeAdapter(kind).json_schema(
                mode="serialization", schema_generator=_Untitled, ref_template="#/$defs/{model}"
            )
            for kind in kinds
        ]
        for one in models:
            known |= one.pop("$defs", {})
        for part in ("TablePart", "RecordsPart"):
            schema["$defs"][part]["properties"][field] = {"anyOf": models}
    schema["$defs"] = dict(sorted({**schema["$defs"], **known}.items()))
    schema["description"] = schema["description"].partition("\n\n>>>")[0]  # an example is for Python
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT, **schema}
