"""A release as its readers have it: verified, with the law that it was drawn from."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.certificate.parts import ProcessedPart, RecordsPart
from holdfast.certificate.public import mechanism_of, public_of
from holdfast.certificate.read import read_certificate
from holdfast.derivation.several import verified
from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.mechanisms.catalogue import NAMED
from holdfast.mechanisms.normalised import Observed
from holdfast.system.checks import ViolatedError
from holdfast.system.errors import ReleaseError
from holdfast.verification.verify import verify


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """What a release says of a table, and all else that is public of it.

    Attributes:
        observed: its cells, and the likelihood of the release.
        constraints: what is known of them for certain.
        count: the name of the column of counts.
        mechanism: the name of the mechanism.
        digest: that of the certificate.
        seeded: whether it was drawn from a seed.

    """

    observed: Observed
    constraints: TableConstraints
    count: str
    mechanism: str
    digest: str
    seeded: bool


def is_records(folder: Path) -> bool:
    """Whether a folder holds records; a processed table is sent back to its release."""
    part = read_certificate(folder).parts[0]
    if isinstance(part, ProcessedPart):
        raise ReleaseError(
            f"{folder} holds a processed table, whose law has no formula: name the folder of the release"
            " that it was made of."
        )
    return isinstance(part, RecordsPart)


def released_table(
    folder: str | Path, table: str | None = None, *, level: str | None = None
) -> ReleasedTable:
    """Return a release that was verified; of several tables, the one that is named.

    ``level`` is that of a top-down release whose counts are meant. Raises ViolatedError where it is not as
    certified, and ReleaseError where its law is not public.
    """
    folder = Path(folder)
    certificate = read_certificate(folder)
    digest, counts = certificate.digest, None
    kind = NAMED.get(certificate.table.mechanism.name) if certificate.joined is None else None
    if kind is None or "table" in (kind.output, *kind.estimated):
        found = verified(folder, table)
        public, certificate, counts = found.public, found.certificate, found.table.counts
    else:
        verification = verify(folder)
        if not verification.kept:
            raise ViolatedError(verification)
        public = public_of(certificate)
    observed = mechanism_of(certificate, public).observed(folder, public, counts, level)
    constraints = (
        TableConstraints.of_release(public)
        if observed.known is None
        else TableConstraints.of(*observed.known)
    )
    return ReleasedTable(
        observed,
        constraints,
        public.count,
        certificate.table.mechanism.name,
        digest,
        not certificate.randomness.secure,
    )
