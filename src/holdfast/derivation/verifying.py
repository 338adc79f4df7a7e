"""One verification of a folder: nothing was changed, everything is kept, every claim follows.

The certificate is read once, and all is said of that text. What is kept and what follows is known by the kind
of its parts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from holdfast.certificate.quick import PAGE, kept_checks, seal_checks
from holdfast.certificate.text import CERTIFICATE, parse, read_text
from holdfast.certificate.unlisted import unlisted_files
from holdfast.certificate.warnings import warnings_of
from holdfast.system.checks import Check, Verification
from holdfast.system.errors import HoldfastError, MissingMechanismError
from holdfast.system.machine import require_memory
from holdfast.version import VERSION

if TYPE_CHECKING:
    from holdfast.certificate.model import Certificate
    from holdfast.derivation.derive import Derivation


@dataclass
class Verifying:
    """A folder with the text of its certificate, and what has been found of it so far."""

    folder: Path
    text: str
    content: dict[str, Any]
    derivations: "dict[str, Derivation]" = field(default_factory=dict)
    """What follows of each table."""
    derived: list[str] = field(default_factory=list)
    """The sections that were derived."""
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path) -> "Verifying":
        """Read the certificate of a folder; raises ReleaseError where there is none."""
        text = read_text(folder)
        return cls(folder, text, parse(text, str(folder / CERTIFICATE)))

    @property
    def kind(self) -> str:
        """The kind of the first part, which is that of all; "" where it has none."""
        parts = self.content.get("parts")
        first = parts[0] if isinstance(parts, list) and parts else None
        return str(first.get("kind", "")) if isinstance(first, dict) else ""

    def run(
        self, kinds: "Mapping[str, PartVerifier]", *, quick: bool = False, whole: bool = True
    ) -> Verification:
        """Return what is found; what fails early keeps absurd numbers from what takes long.

        The ``whole`` of it also simulates the expected error and draws the page.
        """
        page = whole or (self.folder / PAGE).exists()
        checks = [*seal_checks(self.folder, self.text, self.content, page=page)]
        if quick and self.kind == "table":  # plain JSON is all that it takes
            checks += kept_checks(self.folder, self.content)
        else:
            checks += self._read(kinds, quick=quick, whole=whole, sealed=all(check.holds for check in checks))
        told = (*warnings_of(self.content), *self.warnings, *unlisted_files(self.folder, self.content))
        return Verification(
            self.folder, tuple(checks), told, quick=quick, derived=tuple(self.derived), kind=self.kind
        )

    def _read(
        self, kinds: "Mapping[str, PartVerifier]", *, quick: bool, whole: bool, sealed: bool
    ) -> list[Check]:
        """Read every field of the certificate, and check what is kept and what follows."""
        from holdfast.certificate.read import certificate_of  # noqa: PLC0415 - loaded late

        try:
            claimed = certificate_of(self.content, CERTIFICATE)
        except HoldfastError as error:
            if sealed and isinstance(error, MissingMechanismError):
                raise  # nothing that was seen is violated: what it takes to see the rest is not here
            require_memory(error)
            return [Check("certificate", holds=False, detail=str(error).rstrip("."))]
        checks = []
        if claimed.to_json() != self.text:
            checks.append(
                Check(
                    "certificate text", holds=False, detail="a field is not written as certificates write it"
                )
            )
        kind = kinds[claimed.parts[0].kind]
        checks += kind.kept(self, claimed)
        if quick or not sealed or not all(check.holds for check in checks):
            return checks
        checks += kind.follows(self, claimed, whole=whole)
        if whole and all(check.holds for check in checks):  # absurd numbers have no picture
            checks.append(self._page(claimed))
        return checks

    def _page(self, claimed: "Certificate") -> Check:
        """Check that the page says what the certificate says; its hash was compared before."""
        from jinja2 import TemplateError  # noqa: PLC0415 - loaded late

        from holdfast.certificate.page import render  # noqa: PLC0415

        self.derived.append("page")
        try:
            same = render(claimed).encode("utf-8") == (self.folder / PAGE).read_bytes()
        except (
            HoldfastError,
            TemplateError,
            OSError,
            ValueError,
            ArithmeticError,
            LookupError,
            TypeError,
        ) as error:
            require_memory(error)
            same = False
        other = claimed.software.version
        by = "" if other == VERSION else f", as version {VERSION} would write it: version {other} did"
        return Check.that("page", same, f"the page is not the page of this certificate{by}")


class PartVerifier(Protocol):
    """How parts of one kind are verified."""

    def kept(self, verifying: Verifying, claimed: "Certificate") -> Iterator[Check]:
        """Check released files against every exact claim."""
        ...

    def follows(self, verifying: Verifying, claimed: "Certificate", *, whole: bool) -> Iterator[Check]:
        """Derive every section again, and compare."""
        ...
