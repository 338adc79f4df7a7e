"""A release as its readers have it: verified, with the law that it was drawn from."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from holdfast.certificate.checks import ViolatedError
from holdfast.certificate.model import Certificate
from holdfast.certificate.public import mechanism_of, public_of
from holdfast.certificate.read import read_certificate
from holdfast.certificate.text import CERTIFICATE, RECORDS, parse, read_text
from holdfast.data.schema import Schema
from holdfast.errors import ReleaseError, SpecError
from holdfast.inference.posterior.facts import Facts
from holdfast.inference.posterior.likelihood import AnyLikelihood
from holdfast.inference.posterior.nodes import Nodes
from holdfast.inference.posterior.of_mechanism import likelihood_of
from holdfast.joint.verify import verified, verify
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.catalogue import NAMED
from holdfast.mechanisms.topdown.file import FILE, read_measurements
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.outputs import StatisticOutput
from holdfast.postprocess.form import is_processed
from holdfast.public import Public
from holdfast.spec.closest import closest


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """What is public of a table, and the likelihood of its release.

    Attributes:
        schema: its cells.
        possible: those that can occur, which all else is over.
        facts: what is known of them for certain.
        likelihood: what the release says of them.
        counts: what was released of them; of measurements, what was estimated. None of a statistic.
        count: the name of the column of counts.
        levels: the attributes that are levels of a geography.
        mechanism: the name of the mechanism.
        digest: that of the certificate.
        seeded: whether it was drawn from a seed.

    """

    schema: Schema
    possible: IntArray
    facts: Facts
    likelihood: AnyLikelihood
    counts: IntArray
    count: str
    levels: tuple[str, ...]
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


def released_table(
    folder: str | Path, table: str | None = None, *, level: str | None = None
) -> ReleasedTable:
    """Return a release that was verified; of several tables, the one that is named.

    ``level`` is that of a top-down release whose counts are meant. Raises ViolatedError where it is not as
    certified, and ReleaseError where its law is not public.
    """
    folder = Path(folder)
    content = parse(read_text(folder), str(folder / CERTIFICATE), several=True)
    section = content.get("mechanism")
    name = str(section.get("name")) if isinstance(section, dict) else ""
    output = NAMED[name].output if name in NAMED else "table"
    if name == TopDown.name:
        return _measured(folder, table, level)
    if level is not None:
        raise SpecError(
            f"[model] level is for top-down releases, and {folder} has no measurements: leave it out."
        )
    if output == "statistic" and table is None:
        return _statistic(folder)
    if output != "table":
        raise ReleaseError(
            f"{folder} holds the {output} of {name}, and no table: a posterior of counts needs a release of"
            " counts."
        )
    found = verified(folder, table)
    mechanism = mechanism_of(found.certificate, found.public)
    counts = found.table.counts[found.public.possible]
    likelihood = likelihood_of(mechanism, counts)
    return _of_public(found.public, likelihood, counts, found.certificate, str(content["digest"]))


def _statistic(folder: Path) -> ReleasedTable:
    verification = verify(folder)
    if not verification.kept:
        raise ViolatedError(verification)
    certificate = read_certificate(folder)
    public = public_of(certificate)
    values = np.array(StatisticOutput.read(folder / "statistic.csv").values)
    likelihood = likelihood_of(mechanism_of(certificate, public), values)
    nothing = np.zeros(0, dtype=np.int64)
    return _of_public(public, likelihood, nothing, certificate, certificate.digest)


def _of_public(
    public: Public, likelihood: AnyLikelihood, counts: IntArray, certificate: Certificate, digest: str
) -> ReleasedTable:
    return ReleasedTable(
        public.schema,
        public.possible,
        Facts.of_release(public),
        likelihood,
        counts,
        public.count,
        public.geography,
        certificate.mechanism.name,
        digest,
        not certificate.randomness.secure,
    )


def _measured(folder: Path, table: str | None, level: str | None) -> ReleasedTable:
    """Return the counts of a level, by default of the leaves, with their measurements."""
    found = verified(folder, table)
    public, certificate = found.public, found.certificate
    mechanism = mechanism_of(certificate, public)
    assert isinstance(mechanism, TopDown)  # noqa: S101 - by its name
    known = mechanism.design.regions.levels
    if level is not None and level not in known:
        raise SpecError(f"[model] level is {level!r}, which is no level: {closest(level, known)}")
    nodes = Nodes(public, mechanism, len(known) - 1 if level is None else known.index(level))
    likelihood = nodes.likelihood(read_measurements(folder / FILE, mechanism.design, mechanism.measurements))
    counts = nodes.sums(found.table.counts)[nodes.possible]
    if nodes.place == len(known) - 1:
        return _of_public(public, likelihood, counts, certificate, certificate.digest)
    return ReleasedTable(
        nodes.schema,
        nodes.possible,
        nodes.facts,
        likelihood,
        counts,
        public.count,
        nodes.levels,
        mechanism.name,
        certificate.digest,
        not certificate.randomness.secure,
    )
