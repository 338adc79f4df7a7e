"""From a spec to a release: read, publish the invariants, calibrate, check, draw.

spec -> universe -> calibrate(target) -> mechanism -> guarantee -> release -> certificate
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.account import charge_release
from holdfast.calibration import CATALOGUE, choose_mechanism, require_supported
from holdfast.certificate.record import Certificate, certify
from holdfast.certificate.write import write_release
from holdfast.errors import GuaranteeError
from holdfast.mechanisms.accuracy import Accuracy, accuracy
from holdfast.mechanisms.protocol import Mechanism
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import Row
from holdfast.sampling.entropy import Entropy, SystemEntropy
from holdfast.setting import Setting, publish
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec
from holdfast.tables.read import read_table
from holdfast.tables.table import Table


@dataclass(frozen=True, eq=False)
class Prepared:
    """A confidential table, and everything that is settled before its release is drawn."""

    spec: Spec
    table: Table
    setting: Setting
    mechanism: Mechanism

    @cached_property
    def accuracy(self) -> Accuracy | None:
        """How large the noise is expected to be; None where only the confidential table could tell."""
        if self.mechanism.noise is None:
            return None
        return accuracy(self.mechanism.noise, self.setting.schema, self.setting.universe)

    def certify(self, *, secure: bool) -> Certificate:
        """Record a release of this table; nothing in the record depends on the draw."""
        return certify(self.spec, self.setting, self.mechanism, self.accuracy, secure=secure)

    def release(self, entropy: Entropy | None = None, *, ledger: Ledger | None = None) -> "Release":
        """Draw one release; without an entropy source, from the operating system's.

        With a ledger the cost is committed before anything is drawn, and a release over budget is refused.
        """
        if CATALOGUE[self.spec.mechanism.name].real:
            raise GuaranteeError(
                f"{self.spec.mechanism.name} draws real numbers in floating point, which is not safe for a"
                ' release: use name = "lattice-gaussian" in [mechanism]; this one is for studies.'
            )
        source = entropy or SystemEntropy()
        certificate = row = None
        if ledger is not None:
            certificate = self.certify(secure=source.secure)
            row = charge_release(ledger, self, certificate)
        table = Table(self.table.schema, self.sample(1, source)[0])
        return Release(self, table, source.secure, certificate, row)

    def sample(self, size: int, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Draw the counts of ``size`` independent releases, one a row: each would cost its own budget."""
        possible = np.flatnonzero(self.table.schema.possible)
        law = self.mechanism.law(self.table.counts[possible])
        drawn = law.sample(entropy or SystemEntropy(), size)
        counts = np.zeros((size, self.table.schema.size), dtype=drawn.dtype)
        counts[:, possible] = drawn
        return counts


@dataclass(frozen=True, eq=False)
class Release:
    """A table that may be published, with what its certificate says."""

    prepared: Prepared
    table: Table
    secure: bool
    charged: Certificate | None = None
    row: Row | None = None

    @cached_property
    def certificate(self) -> Certificate:
        """The record of this release: the one that was charged, if it was."""
        return self.charged or self.prepared.certify(secure=self.secure)

    def write(self, folder: str | Path, *, parquet: bool = False) -> Path:
        """Write the table and its certificate to a new folder, all or nothing."""
        return write_release(self.table, self.certificate, Path(folder), parquet=parquet, row=self.row)


def prepare(spec: Spec | str | Path) -> Prepared:
    """Read a spec and its table, and settle the mechanism and its guarantee."""
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    require_supported(spec)
    reading = read_table(spec)
    setting = publish(spec, reading.table, reading.inferred)
    mechanism = choose_mechanism(spec, setting)
    return Prepared(spec, reading.table, setting, mechanism)
