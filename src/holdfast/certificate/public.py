"""What is public, from a certificate: the same values that its release was made with."""

from pathlib import Path

from holdfast.certificate.certified_cells import CertifiedCells, DamagedCertificateError
from holdfast.certificate.model import Certificate
from holdfast.certificate.read import read_certificate
from holdfast.certificate.released_counts import read_counts, read_status
from holdfast.certificate.text import CERTIFICATE
from holdfast.data.schema import Schema
from holdfast.data.table import PublicTable
from holdfast.mechanisms.catalogue import NAMED, AnyMechanism, named
from holdfast.mechanisms.mechanism import NoiseLaw
from holdfast.public import Public, public_from
from holdfast.system.errors import ReleaseError


def public_of(certificate: Certificate) -> Public:
    """Return all that the certificate of a table publishes beside the release."""
    part = certificate.table
    table, constraints = part.table, part.constraints
    return public_from(
        Schema.from_dict(table.cells.model_dump()),
        table.count,
        invariants=tuple(item.model_dump() for item in part.invariants),
        nonnegative=constraints.nonnegative,
        inequalities=tuple(item.model_dump() for item in constraints.inequalities),
        inferred=table.inferred,
        whom=certificate.target.whom,
        geography=table.geography,
        quoted_formulas=certificate.quoted_formulas,
        status=table.status,
        published=tuple(item.model_dump() for item in part.published or ()),
    )


def mechanism_of(certificate: Certificate, public: Public) -> AnyMechanism:
    """Return the mechanism that a certificate records."""
    record = certificate.table.mechanism
    return NAMED[record.name].of(record, public, certificate.guarantee.unit.value)


def noise_of(certificate: Certificate, public: Public) -> NoiseLaw:
    """Return the law of the noise of a release.

    Raises ReleaseError where no table gets noise, or where its law depends on the confidential table.
    """
    mechanism = mechanism_of(certificate, public)
    if mechanism.noise is None:
        why = (
            "releases a statistic and no table"
            if mechanism.traits.additive
            else "has noise that depends on the confidential table, so that its law is not public"
        )
        raise ReleaseError(
            f"{mechanism.name} {why}: for intervals and biases use a release of a table with additive noise."
        )
    return mechanism.noise


class Published:
    """A released table as its readers have it: everything in it is public."""

    def __init__(
        self, folder: str | Path, certificate: Certificate | None = None, public: Public | None = None
    ) -> None:
        """Read a table of a release that was verified before [holdfast, verification/verify.py].

        ``certificate`` is that of the table alone, ``public`` what it publishes, with all that was worked
        out from it; where they are not at hand, they are read.
        """
        folder = Path(folder)
        certificate = read_certificate(folder) if certificate is None else certificate
        public = public_of(certificate) if public is None else public
        self.folder, self.certificate, self.public = folder, certificate, public
        part = certificate.table
        if "table" not in named(part.mechanism.name).published():
            raise ReleaseError(
                f"{folder / CERTIFICATE} names no table: this is for the release of a table, and this one has"
                " another output."
            )
        self.files = {
            output: next(
                (file for file in certificate.files if file in (f"{output}.csv", f"{output}.parquet")), output
            )
            for output in part.outputs
        }
        file, cells = (
            folder / self.files[part.outputs[0]],
            CertifiedCells(public.schema, public.count, public.status),
        )
        if public.quoted_formulas and file.suffix == ".csv":
            cells = cells.quoted
        try:
            counts = read_counts(file, cells)
            self.status = read_status(file, cells) if public.status else None
            """The status of each cell as the file says it, where it does."""
        except DamagedCertificateError as error:
            raise ReleaseError(f"{folder}: {error}, so restore it from the release.") from None
        self.table = PublicTable(public.schema, counts, public.count)

    @property
    def noise(self) -> NoiseLaw:
        """The law of the noise; raises ReleaseError where it is not public."""
        return noise_of(self.certificate, self.public)
