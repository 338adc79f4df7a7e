"""From a spec to a release: read, publish the invariants, calibrate, check, draw.

spec -> public -> mechanism -> guarantee -> release -> certificate
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from holdfast.account import charge_of, spend
from holdfast.certificate.certify import bias_sections, certify
from holdfast.certificate.model import BiasSection, Certificate
from holdfast.certificate.page import render
from holdfast.certificate.sign import SigningKey, signing_key
from holdfast.certificate.told import require_protection
from holdfast.certificate.write import write_release
from holdfast.data.public_table import PublicTable
from holdfast.data.read import Reading, read_table
from holdfast.drafts import Draft
from holdfast.errors import GuaranteeError, ReleaseError
from holdfast.handover import Written, hand_over, make, section_of
from holdfast.lattice.arrays import IntArray
from holdfast.laws import calibrated, model_asked, secrets_of
from holdfast.machine import require_room
from holdfast.mechanisms.accuracy import Accuracy, accuracy
from holdfast.mechanisms.catalogue import AnyMechanism, answer, mechanism_of
from holdfast.mechanisms.mechanism import Draws, Law
from holdfast.mechanisms.topdown.file import MeasurementsOutput
from holdfast.outputs import EstimateOutput, Output, StatisticOutput, TableOutput
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import Charge, Row
from holdfast.privacy.pufferfish import TPGuarantee
from holdfast.privacy.pufferfish.of_model import StatedModel
from holdfast.public import Public, publish
from holdfast.resume import charged
from holdfast.sampling.entropy import Entropy, SeededEntropy, SystemEntropy
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec
from holdfast.spec.part import spoken_of
from holdfast.words import counted

LONGEST_COUNT = 22
"""Bytes of a count with its sign and the end of its line."""
SPARE = 1 << 16


@dataclass(frozen=True, eq=False)
class Prepared:
    """Confidential data, and everything that is settled before their release is drawn."""

    spec: Spec
    reading: Reading = field(repr=False)
    public: Public = field(repr=False)
    mechanism: AnyMechanism = field(repr=False)
    microdata: bool = False
    """Whether estimated counts are to be written out as records, too."""
    model: StatedModel | None = field(default=None, repr=False)
    """The laws of the data, where the spec names a file of them."""

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of every release."""
        return self.mechanism.guarantee

    @cached_property
    def secrets(self) -> TPGuarantee | None:
        """The same in terms of secrets, where the spec says which laws the data may follow [theory, 7]."""
        return secrets_of(self.guarantee, self.public, self.spec.privacy, self.model)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a curator should look at in the data."""
        return self.reading.warnings

    @cached_property
    def accuracy(self) -> Accuracy | None:
        """How large the noise is expected to be; None where only the confidential table could tell."""
        if self.mechanism.noise is None:
            return None
        return accuracy(self.mechanism.noise, self.public.schema, self.public.universe)

    @cached_property
    def biases(self) -> tuple[BiasSection, ...]:
        """How far estimated counts are off on a public stand-in; none where no counts are estimated."""
        return bias_sections(self.mechanism, self.public)

    def certify(self, *, secure: bool) -> Certificate:
        """Record a release; nothing in the record depends on the draw."""
        return certify(
            self.spec.privacy,
            self.public,
            self.mechanism,
            self.accuracy,
            secure=secure,
            publication=self.spec.publication,
            biases=self.biases,
            microdata=self.microdata,
            model=self.model,
        )

    def release(
        self,
        entropy: Entropy | None = None,
        *,
        ledger: Ledger | None = None,
        accept_no_protection: bool = False,
    ) -> "Release":
        """Draw one release; without an entropy source, from the operating system's.

        With a ledger the cost is committed before anything is drawn, and a release over budget is refused; so
        is one whose guarantee is no protection to speak of, unless that is accepted.
        """
        drawing = self.drawing(entropy)
        require_protection(drawing.certificate, accepted=accept_no_protection)
        if ledger is None:
            return Release(drawing.certificate, drawing.draw())
        row = ledger.charge(drawing.charge(ledger), spend)
        with charged(ledger, row):
            outputs = drawing.draw()
            # whoever calls this sees what was drawn, so the row is complete
            ledger.complete(row.index, certificate=drawing.certificate.settled, release=None)
        return Release(drawing.certificate, outputs, row)

    def publish(
        self,
        draft: Draft,
        entropy: Entropy | None = None,
        *,
        parquet: bool = False,
        ledger: Ledger | None = None,
        resume: int | None = None,
        key: SigningKey | None = None,
        quote_formulas: bool = False,
        accept_no_protection: bool = False,
    ) -> "Release":
        """Draw one release into a draft, and give that its name [holdfast, handover.py]."""
        done = hand_over(
            self.drawing(entropy),
            draft,
            parquet=parquet,
            ledger=ledger,
            resume=resume,
            key=key,
            quote_formulas=quote_formulas,
            accept_no_protection=accept_no_protection,
        )
        return Release(done.certificate, done.outputs, done.row)

    @property
    def counts(self) -> IntArray:
        """The confidential counts of the possible cells."""
        return np.asarray(self.reading.table.counts[self.public.possible])

    def sample(self, entropy: Entropy | None = None, size: int = 1) -> Draws:
        """Draw the counts of ``size`` independent releases, one a row: each would cost its own budget.

        Of a mechanism that measures first, it is the measurements that are drawn.
        """
        law = self.mechanism.law(self.counts)
        drawn = law.sample(entropy or SystemEntropy(), size)
        if self.mechanism.output != "table":
            return drawn
        return self.public.spread(drawn)

    def drawing(self, entropy: Entropy | None = None) -> "SingleDrawing":
        """Settle everything but the noise; what no source of noise could draw is refused here."""
        self._require_releasable()
        source = entropy or SystemEntropy()
        law = self.mechanism.law(self.counts)
        certificate = self.certify(secure=source.secure)
        if self.accuracy is None and self.mechanism.noise is not None:
            self.mechanism.noise.sample(SeededEntropy(0), 1)  # a rehearsal, where none was simulated
        return SingleDrawing(self, law, certificate, source)

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
class SingleDrawing:
    """A release of which only the noise is missing."""

    prepared: Prepared = field(repr=False)
    law: Law = field(repr=False)
    certificate: Certificate
    source: Entropy = field(repr=False)

    def draw(self) -> Mapping[str, Output]:
        """Draw what is published, by name."""
        return self.prepared.mechanism.outputs(self.law, self.prepared.public, self.source)

    def page(self, *, parquet: bool) -> str:
        """Return the page of the certificate."""
        return render(self.certificate, parquet=parquet)

    @property
    def size(self) -> int:
        """No fewer bytes than the files of the release take beside the page."""
        schema = self.prepared.public.schema
        row = sum(max(map(_longest, one.levels)) for one in schema.attributes) + LONGEST_COUNT
        return row * (schema.size + 1) + 2 * len(self.certificate.to_json().encode()) + SPARE

    def charge(self, ledger: Ledger) -> Charge:
        """Return what a ledger is told of the release."""
        prepared = self.prepared
        return charge_of(
            ledger,
            prepared.reading,
            prepared.public,
            prepared.guarantee,
            self.certificate,
            prepared.secrets,
        )


@dataclass(frozen=True, eq=False)
class Release:
    """What may be published: outputs with their certificate. Nothing leads from here to confidential data."""

    certificate: Certificate
    outputs: Mapping[str, Output]
    row: Row | None = None

    def __repr__(self) -> str:
        cells = counted(self.certificate.universe.cells, "cell")
        return f"<release: {', '.join(self.outputs)} of {cells}, by {self.certificate.mechanism.name}>"

    @property
    def table(self) -> PublicTable:
        """The released table."""
        output = self.outputs.get("table")
        if not isinstance(output, TableOutput):
            raise ReleaseError(f"this release has no table: it has {', '.join(self.outputs)}.")
        return output.table

    @property
    def measurements(self) -> pl.DataFrame:
        """The released measurements, a row for each."""
        output = self.outputs.get("measurements")
        if not isinstance(output, MeasurementsOutput):
            raise ReleaseError(f"this release has no measurements: it has {', '.join(self.outputs)}.")
        return output.to_frame()

    @property
    def statistics(self) -> tuple[float, ...]:
        """The released statistics."""
        output = self.outputs.get("statistic")
        if not isinstance(output, StatisticOutput):
            raise ReleaseError(f"this release has no statistics: it has {', '.join(self.outputs)}.")
        return output.values

    @property
    def estimates(self) -> dict[str, float]:
        """The released estimates, by name."""
        output = self.outputs.get("estimate")
        if not isinstance(output, EstimateOutput):
            raise ReleaseError(f"this release has no estimates: it has {', '.join(self.outputs)}.")
        return dict(zip(output.names, output.values, strict=True))

    def write(
        self,
        folder: str | Path,
        *,
        parquet: bool = False,
        key: SigningKey | str | Path | None = None,
        quote_formulas: bool = False,
    ) -> Path:
        """Write the outputs and their certificate to a new folder, all or nothing.

        In CSV, names that a spreadsheet would run as formulas can be quoted; the certificate says so.
        """
        return write_release(
            self.outputs,
            self.certificate,
            Path(folder),
            parquet=parquet,
            ledger=section_of(self.row),
            key=signing_key(key),
            quote_formulas=quote_formulas,
        )


def prepare(spec: Spec | str | Path, data: Any = None) -> Prepared:
    """Read a spec and its data, and settle the mechanism and its guarantee.

    ``data`` takes the place of the file that the spec names: another path, or a frame in memory.
    """
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    with spoken_of(spec.file):
        mechanism_of(spec)  # what cannot be answered is refused before anything is read
        model = model_asked(spec)
        return _prepared(spec, read_table(spec, data), model)


def make_release(
    spec: Spec | str | Path,
    out: str | Path,
    *,
    data: Any = None,
    parquet: bool = False,
    seed: int | None = None,
    ledger: str | Path | Ledger | None = None,
    resume: int | None = None,
    key: SigningKey | str | Path | None = None,
    quote_formulas: bool = False,
    accept_no_protection: bool = False,
) -> Written[Certificate]:
    """Prepare, charge, draw and write a release to a new folder [holdfast, handover.py]."""
    return make(
        lambda: prepare(spec, data),
        out,
        parquet=parquet,
        seed=seed,
        ledger=ledger,
        resume=resume,
        key=key,
        quote_formulas=quote_formulas,
        accept_no_protection=accept_no_protection,
    )


def published(spec: Spec | str | Path, data: Any = None) -> Public:
    """Return what a spec makes public of its data."""
    return published_with_warnings(spec, data)[0]


def published_with_warnings(spec: Spec | str | Path, data: Any = None) -> tuple[Public, tuple[str, ...]]:
    """Return what a spec makes public of its data, and what a curator should look at in them."""
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    reading = read_table(spec, data)
    return publish(spec, reading.table, reading.inferred), reading.warnings


def _prepared(spec: Spec, reading: Reading, model: StatedModel | None) -> Prepared:
    require_room(reading.table.schema.size)
    public = publish(spec, reading.table, reading.inferred)
    spec = spec.model_copy(update={"privacy": calibrated(spec.privacy, model, public)})
    found = Prepared(spec, reading, public, answer(spec, public), model=model)
    found.secrets  # noqa: B018 - laws that a guarantee says nothing of are refused here
    return found


def _longest(level: str) -> int:
    """Return how many bytes a level takes in a file at most, with quotation marks and a separator."""
    return 2 * len(level.encode(errors="surrogatepass")) + 3
