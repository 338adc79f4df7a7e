"""A release as its readers have it: verified, with the law that it was drawn from."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from holdfast.certificate.checks import ViolatedError
from holdfast.certificate.public import mechanism_of, public_of
from holdfast.certificate.read import read_certificate
from holdfast.certificate.text import CERTIFICATE, RECORDS, parse, read_text
from holdfast.errors import ReleaseError
from holdfast.inference.posterior.likelihood import AnyLikelihood, likelihood_of
from holdfast.joint.verify import verified, verify
from holdfast.mechanisms.catalogue import NAMED
from holdfast.outputs import StatisticOutput
from holdfast.postprocess.form import is_processed
from holdfast.public import Public


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """What is public of a table, and the likelihood of its release."""

    public: Public
    likelihood: AnyLikelihood
    mechanism: str
    digest: str
    seeded: bool


def form_of(folder: Path) -> str:
    """Return the form of the certificate in a folder; a processed table is sent back to its release."""
    if is_processed(folder):
        raise ReleaseError(
            f"{folder} holds a processed table, whose law has no formula: name the folder of the release"
            " that it was made of."
        )
    return str(parse(read_text(folder), str(folder / CERTIFICATE), several=True)["format"])


def is_records(folder: Path) -> bool:
    """Whether a folder holds swapped records."""
    return form_of(folder) == RECORDS


def released_table(folder: str | Path, table: str | None = None) -> ReleasedTable:
    """Return a release that was verified; of several tables, the one that is named.

    Raises ViolatedError where it is not as certified, and ReleaseError where its law is not public.
    """
    folder = Path(folder)
    content = parse(read_text(folder), str(folder / CERTIFICATE), several=True)
    section = content.get("mechanism")
    name = str(section.get("name")) if isinstance(section, dict) else ""
    output = NAMED[name].output if name in NAMED else "table"
    if output == "statistic" and table is None:
        return _statistic(folder)
    if output != "table":
        raise ReleaseError(
            f"{folder} holds the {output} of {name}, and no table: a posterior of counts needs a release of"
            " counts."
        )
    found = verified(folder, table)
    counts = found.table.counts[found.public.possible]
    mechanism = mechanism_of(found.certificate, found.public)
    digest = str(content["digest"])
    return ReleasedTable(
        found.public,
        likelihood_of(mechanism, counts),
        mechanism.name,
        digest,
        not found.certificate.randomness.secure,
    )


def _statistic(folder: Path) -> ReleasedTable:
    verification = verify(folder)
    if not verification.kept:
        raise ViolatedError(verification)
    certificate = read_certificate(folder)
    public = public_of(certificate)
    mechanism = mechanism_of(certificate, public)
    values = np.array(StatisticOutput.read(folder / "statistic.csv").values)
    likelihood = likelihood_of(mechanism, values)
    secure = certificate.randomness.secure
    return ReleasedTable(public, likelihood, mechanism.name, certificate.digest, not secure)
