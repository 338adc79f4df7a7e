"""What is public, from a certificate: the same values that its release was made with."""

from pathlib import Path

from holdfast.certificate.model import Certificate
from holdfast.certificate.read import read_certificate
from holdfast.certificate.text import CERTIFICATE
from holdfast.data.read import read_release
from holdfast.data.schema import Schema
from holdfast.errors import ReleaseError
from holdfast.mechanisms.catalogue import NAMED, AnyMechanism
from holdfast.mechanisms.mechanism import NoiseLaw
from holdfast.privacy.guarantee import Unit
from holdfast.public import Public, public_from
from holdfast.spec.whom import Whom


def public_of(certificate: Certificate) -> Public:
    """Return all that a certificate publishes beside the release."""
    table, constraints = certificate.table, certificate.constraints
    return public_from(
        Schema.from_dict(table.cells.model_dump()),
        table.count,
        invariants=tuple(item.model_dump() for item in certificate.invariants),
        nonnegative=constraints.nonnegative,
        inequalities=tuple(item.model_dump() for item in constraints.inequalities),
        inferred=table.inferred,
        whom=Whom(certificate.target.unit, certificate.target.records_per_unit),
        geography=table.geography,
        quoted_formulas=certificate.quoted_formulas,
    )


def mechanism_of(certificate: Certificate, public: Public) -> AnyMechanism:
    """Return the mechanism that a certificate records."""
    unit = certificate.guarantee.unit
    record = certificate.mechanism
    whole = Unit(unit.name, unit.adjacency, unit.distance, unit.records_per_unit)
    return NAMED[record.name].of(record, public, whole)


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
    """A release of a table as its readers have it: everything in it is public."""

    def __init__(self, folder: str | Path, public: Public | None = None) -> None:
        """Read a release that was verified before [holdfast, certificate/verify.py].

        What is ``public`` may be known by then, with all that was worked out from it.
        """
        folder = Path(folder)
        self.certificate = read_certificate(folder)
        self.public = public_of(self.certificate) if public is None else public
        name = next((name for name in self.certificate.files if name.startswith("table.")), None)
        if name is None:
            raise ReleaseError(
                f"{folder / CERTIFICATE} names no table: this is for the release of a table, and this one has"
                " another output."
            )
        self.table = read_release(
            folder / name,
            self.public.schema,
            self.public.count,
            quoted_formulas=self.public.quoted_formulas,
        )

    @property
    def noise(self) -> NoiseLaw:
        """The law of the noise; raises ReleaseError where it is not public."""
        return noise_of(self.certificate, self.public)
