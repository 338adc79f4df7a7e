"""Making a top-down release: measurements, then counts, and after a crash only the counts again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from holdfast.certificate.model import Certificate
from holdfast.drafts import draft_path, require_new
from holdfast.handover import Written, asked_of, make
from holdfast.mechanisms.topdown.file import Values
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.outputs import Output
from holdfast.privacy.ledger.account import Ledger
from holdfast.release import Prepared, SingleDrawing, prepare
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.spec.model import Spec
from holdfast.topdown.checkpoint import Checkpoint, sweep
from holdfast.topdown.microdata import MicrodataOutput
from holdfast.topdown.run import workers

PER_MEASUREMENT, PER_RECORD = 40, 80
"""Bytes of a file for each, about."""


@dataclass(frozen=True, eq=False)
class PreparedTopDown(Prepared):
    """A top-down release before its draw, with a place for what is measured and a way to solve parents."""

    out: Path = field(default=Path(), repr=False)
    engine: str = "embedded"

    @property
    def topdown(self) -> TopDown:
        """The mechanism."""
        assert isinstance(self.mechanism, TopDown)  # noqa: S101 - prepared with it
        return self.mechanism

    def drawing(self, entropy: Entropy | None = None) -> "TopDownDrawing":
        """Settle everything but the noise."""
        settled = super().drawing(entropy)
        return TopDownDrawing(self, settled.law, settled.certificate, settled.source)

    def checkpoint(self, seed: int | None) -> Checkpoint:
        """Return where measurements of this release are kept until it is whole."""
        content = asked_of(self.certify(secure=seed is None))
        told = json.dumps([content, seed], sort_keys=True, default=str)
        return Checkpoint.of(self.out, told, self.reading.identity)


@dataclass(frozen=True, eq=False)
class TopDownDrawing(SingleDrawing):
    """A top-down release of which only the noise is missing, or nothing if it was measured before."""

    @property
    def size(self) -> int:
        """About as many bytes as the files of the release take beside the page."""
        prepared = self._prepared
        design = prepared.topdown.design
        measured = sum(
            design.regions.sizes[each.of.level] * int(design.queries[each.of.query].rows.shape[0])
            for each in prepared.topdown.measurements
        )
        records = int(prepared.reading.table.counts.sum()) if prepared.microdata else 0
        return super().size + PER_MEASUREMENT * measured + PER_RECORD * records

    def draw(self) -> Mapping[str, Output]:
        """Measure, unless that was done before a crash, and estimate the counts."""
        prepared = self._prepared
        seed = self.source.seed if isinstance(self.source, SeededEntropy) else None
        checkpoint = prepared.checkpoint(seed)
        values = checkpoint.found(prepared.topdown) or self._measured(checkpoint)
        with workers(prepared.engine) as run:
            found = dict(prepared.topdown.outputs_of(prepared.public, values, run))
        if prepared.microdata:
            table = found["table"]
            found["microdata"] = MicrodataOutput(table.table)  # type: ignore[attr-defined]
        return found

    @property
    def _prepared(self) -> PreparedTopDown:
        assert isinstance(self.prepared, PreparedTopDown)  # noqa: S101 - made by it
        return self.prepared

    def _measured(self, checkpoint: Checkpoint) -> Values:
        mechanism = self._prepared.topdown
        values = mechanism.law(self.prepared.counts).measure(self.source)
        checkpoint.keep(mechanism.measured(values))
        return values


def make_topdown_release(
    spec: Spec,
    out: str | Path,
    *,
    data: Any = None,
    engine: str = "embedded",
    microdata: bool = False,
    seed: int | None = None,
    ledger: str | Path | Ledger | None = None,
    resume: int | None = None,
    **options: Any,
) -> Written[Certificate]:
    """Prepare, charge, measure, estimate and write a top-down release to a new folder.

    Where a run for the same folder, spec and data was ended after its charge, this one is not charged again;
    where it had measured, this one goes on from there. The other options are those of a release of one table.
    """
    workers(engine)  # what is not there is told before anything is read
    sweep(Path(out).absolute().parent)
    folder = require_new(out)
    plain = prepare(spec, data)
    own = {each.name: getattr(plain, each.name) for each in fields(plain)}
    ready = PreparedTopDown(**{**own, "microdata": microdata}, out=folder, engine=engine)
    account = Ledger.open(ledger) if isinstance(ledger, str | Path) else ledger
    checkpoint = ready.checkpoint(seed)
    before = checkpoint.found(ready.topdown) is not None
    if account is not None and resume is None and seed is None:
        resume = account.open_row(ready.drawing().charge(account), draft_path(folder))
    written = make(lambda: ready, out, seed=seed, ledger=account, resume=resume, **options)
    checkpoint.remove()
    return replace(written, continued=before)
