"""From a spec to a release: read, publish the invariants, calibrate, check, draw.

spec -> public -> mechanism -> guarantee -> release -> certificate
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast.account import charge_release
from holdfast.certificate.certify import certify
from holdfast.certificate.model import Certificate, LedgerSection
from holdfast.certificate.write import refuse_to_overwrite, write_release
from holdfast.data.public_table import PublicTable
from holdfast.data.read import Reading, read_table
from holdfast.errors import GuaranteeError, ReleaseError
from holdfast.mechanisms.accuracy import Accuracy, accuracy
from holdfast.mechanisms.catalogue import AnyMechanism, answer, mechanism_of
from holdfast.mechanisms.mechanism import Draws
from holdfast.outputs import Output, StatisticOutput, TableOutput
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import Row
from holdfast.public import Public, publish
from holdfast.sampling.entropy import Entropy, SeededEntropy, SystemEntropy
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec


@dataclass(frozen=True, eq=False)
class Prepared:
    """Confidential data, and everything that is settled before their release is drawn."""

    spec: Spec
    reading: Reading = field(repr=False)
    public: Public = field(repr=False)
    mechanism: AnyMechanism = field(repr=False)

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of every release."""
        return self.mechanism.guarantee

    @cached_property
    def accuracy(self) -> Accuracy | None:
        """How large the noise is expected to be; None where only the confidential table could tell."""
        if self.mechanism.noise is None:
            return None
        return accuracy(self.mechanism.noise, self.public.schema, self.public.universe)

    def certify(self, *, secure: bool) -> Certificate:
        """Record a release; nothing in the record depends on the draw."""
        return certify(self.spec.privacy, self.public, self.mechanism, self.accuracy, secure=secure)

    def release(self, entropy: Entropy | None = None, *, ledger: Ledger | None = None) -> "Release":
        """Draw one release; without an entropy source, from the operating system's.

        With a ledger the cost is committed before anything is drawn, and a release over budget is refused.
        """
        self._require_releasable()
        source = entropy or SystemEntropy()
        certificate = self.certify(secure=source.secure)
        row = (
            None
            if ledger is None
            else charge_release(ledger, self.reading, self.public, self.guarantee, certificate)
        )
        outputs = self.mechanism.outputs(self.reading.table, self.public, source)
        return Release(certificate, outputs, row)

    def sample(self, size: int, entropy: Entropy | None = None) -> Draws:
        """Draw the counts of ``size`` independent releases, one a row: each would cost its own budget."""
        law = self.mechanism.law(self.reading.table.counts[self.public.possible])
        drawn = law.sample(entropy or SystemEntropy(), size)
        if self.mechanism.output != "table":
            return drawn
        return self.public.spread(drawn)

    def _require_releasable(self) -> None:
        traits, name = self.mechanism.traits, self.mechanism.name
        if traits.kind == "floating":
            raise GuaranteeError(
                f"{name} draws real numbers in floating point, which is not safe for a"
                ' release: use name = "lattice-gaussian" in [mechanism]; this one is for studies.'
            )
        if not traits.keeps_invariants:
            raise GuaranteeError(
                f'{name} keeps no invariant and is there to compare with: use name = "lattice-laplace" or'
                ' "lattice-gaussian" in [mechanism].'
            )


@dataclass(frozen=True, eq=False)
class Release:
    """What may be published: outputs with their certificate. Nothing leads from here to confidential data."""

    certificate: Certificate
    outputs: Mapping[str, Output]
    row: Row | None = None

    @property
    def table(self) -> PublicTable:
        """The released table."""
        output = self.outputs.get("table")
        if not isinstance(output, TableOutput):
            raise ReleaseError(f"this release has no table: it has {', '.join(self.outputs)}.")
        return output.table

    @property
    def statistics(self) -> tuple[float, ...]:
        """The released statistics."""
        output = self.outputs.get("statistic")
        if not isinstance(output, StatisticOutput):
            raise ReleaseError(f"this release has no statistics: it has {', '.join(self.outputs)}.")
        return output.values

    def write(self, folder: str | Path, *, parquet: bool = False) -> Path:
        """Write the outputs and their certificate to a new folder, all or nothing."""
        ledger = None if self.row is None else LedgerSection(row=self.row.index, hash=self.row.hash)
        return write_release(self.outputs, self.certificate, Path(folder), parquet=parquet, ledger=ledger)


def prepare(spec: Spec | str | Path, data: Any = None) -> Prepared:
    """Read a spec and its data, and settle the mechanism and its guarantee.

    ``data`` takes the place of the file that the spec names: another path, or a frame in memory.
    """
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    mechanism_of(spec)  # what cannot be answered is refused before anything is read
    return _prepared(spec, read_table(spec, data))


@dataclass(frozen=True, eq=False)
class Written:
    """A release that was drawn and written; ``left`` is the budget of its ledger, if it was charged."""

    release: Release
    folder: Path
    left: Fraction | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        row = self.release.row
        return {
            "folder": str(self.folder),
            "files": sorted(path.name for path in self.folder.iterdir()),
            "charged": None if row is None else {"row": row.index, "total": str(row.total)},
            "left": None if self.left is None else str(self.left),
            "certificate": self.release.certificate.to_dict(),
        }


def make_release(
    spec: Spec | str | Path,
    out: str | Path,
    *,
    data: Any = None,
    parquet: bool = False,
    seed: int | None = None,
    ledger: str | Path | Ledger | None = None,
) -> Written:
    """Prepare, charge, draw and write a release to a new folder; a seed is for tests and studies only."""
    refuse_to_overwrite(Path(out))
    account = Ledger.open(ledger) if isinstance(ledger, str | Path) else ledger
    drawn = prepare(spec, data).release(None if seed is None else SeededEntropy(seed), ledger=account)
    folder = drawn.write(out, parquet=parquet)
    return Written(
        drawn, folder, None if account is None or drawn.row is None else account.budget - drawn.row.total
    )


def published(spec: Spec | str | Path, data: Any = None) -> Public:
    """Return what a spec makes public of its data."""
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    reading = read_table(spec, data)
    return publish(spec, reading.table, reading.inferred)


def _prepared(spec: Spec, reading: Reading) -> Prepared:
    public = publish(spec, reading.table, reading.inferred)
    return Prepared(spec, reading, public, answer(spec, public))
