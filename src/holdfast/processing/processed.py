"""A post-processed release: the table, its certificate and page, and the folder that holds them.

The folder stands alone: it holds a copy of the release's certificate, with the cells and the invariants that
the table must keep, and names it by its digest. The guarantee is that of the release, by reference.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import polars as pl

from holdfast.certificate.caveats import processed_from_release
from holdfast.certificate.head import Software
from holdfast.certificate.model import Certificate
from holdfast.certificate.page import render
from holdfast.certificate.parts import (
    ProcessedBiasSection,
    ProcessedPart,
    SimulatedBiasSection,
    SourceSection,
)
from holdfast.certificate.public import Published, mechanism_of
from holdfast.certificate.read import certificate_of
from holdfast.certificate.text import CERTIFICATE, parse, read_text
from holdfast.certificate.warnings import warnings_of
from holdfast.certificate.write import PAGE, cannot_write, charged_draft
from holdfast.data.levels import quoted
from holdfast.data.schema import quoted_schema
from holdfast.data.table import long_frame, write_frame
from holdfast.derivation.several import verified
from holdfast.estimation.conforming import Conforming
from holdfast.estimation.integers import integers_l1
from holdfast.estimation.l2 import FixedPoint
from holdfast.estimation.stand_in import stand_in
from holdfast.mechanisms.catalogue import NAMED
from holdfast.processing.bias import Bias, bias, possible_draws
from holdfast.processing.methods import Method, method_of
from holdfast.system.drafts import Draft, drafted, require_new
from holdfast.system.errors import ReleaseError, SpecError
from holdfast.system.ways import option
from holdfast.version import VERSION

TABLE, RELEASE = "table.csv", "release.json"


@dataclass(frozen=True, eq=False)
class Processed:
    """A processed table over all cells, and what was measured of the method."""

    published: Published
    method: Method
    table: FixedPoint
    bias: Bias | None
    """Measured on an even stand-in, fitted to the invariants."""
    rough: Bias | None
    """Measured on a rough one, the whole table nearest to the release."""
    unmeasured: Literal["not asked", "not soon enough"] | None
    """Why there is no bias, if there is none."""
    release: str
    """The text of the release's certificate."""

    @property
    def certificate(self) -> Certificate:
        """The record of the table: what its release guarantees holds of it too, and costs nothing more."""
        source = certificate_of(parse(self.release, RELEASE), RELEASE)
        part = ProcessedPart(
            name="table",
            outputs=("table",),
            release=source_section(source),
            method=self.method.name,
            solver=Software(name="HiGHS", version=version("highspy")),
            places=self.table.places,
            bias=self.bias_section(),
        )
        return processed_from(source, part)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be told of the release, and so of this table: processing protects nobody further."""
        return warnings_of(parse(self.release, RELEASE))

    def to_dict(self) -> dict[str, Any]:
        """Return what was done, how far it is off, what the certificate says, and what is to be told."""
        certificate = self.certificate
        part = certificate.processed.model_dump(mode="json")
        said = {name: part[name] for name in ("release", "method", "solver", "places", "bias")}
        return {**said, "certificate": certificate.to_dict(), "warnings": list(self.warnings)}

    def write(self, folder: Path) -> Path:
        """Write table, page and certificates to a new folder, all or nothing."""
        with drafted(folder, charged_draft) as draft:
            with cannot_write(folder):
                self._fill(draft)
            draft.publish()
        return folder

    def write_table(self, file: IO[bytes]) -> None:
        """Write the table as CSV."""
        public = self.published.public
        schema, count = public.schema, public.count
        if public.quoted_formulas:
            schema, count = quoted_schema(schema), quoted(count)
        write_frame(long_frame(schema, pl.Series(count, self.table.texts())), TABLE, file)

    def bias_section(self) -> ProcessedBiasSection:
        """Return what is said of the bias."""
        if self.bias is None or self.rough is None:
            return ProcessedBiasSection(measured=False, reason=self.unmeasured)
        simulated = (_simulated(self.bias, "fitted"), _simulated(self.rough, "nearest"))
        return ProcessedBiasSection(measured=True, simulated=simulated)

    def _fill(self, draft: Draft) -> None:
        inside, certificate = draft.inside, self.certificate
        with inside.create(TABLE) as file:
            self.write_table(file)
        inside.write(RELEASE, self.release.encode("utf-8"))
        inside.write(PAGE, render(certificate).encode("utf-8"))
        hashes = {name: inside.sha256(name) for name in (TABLE, RELEASE, PAGE)}
        quoted = self.published.public.quoted_formulas
        inside.write(
            CERTIFICATE, certificate.sealed(hashes, quoted_formulas=quoted).to_json().encode("utf-8")
        )
        draft.seal()


def source_section(source: Certificate) -> SourceSection:
    """Return how a release is named, from its certificate."""
    title = None if source.publication is None else source.publication.title
    return SourceSection(certificate_digest=source.digest, title=title, created=source.created)


def processed_from(source: Certificate, part: ProcessedPart, *, created: str | None = None) -> Certificate:
    """Return the certificate of a processed table, with the head of its release [semi-dp, Proposition 23]."""
    return source.unsealed.model_copy(
        update={
            "software": Software(name="holdfast", version=VERSION),
            "created": created or datetime.now(UTC).isoformat(timespec="seconds"),
            "caveats": (processed_from_release(), *source.caveats),
            "parts": (part,),
        }
    )


def postprocess(
    folder: str | Path, method: str, output: str | Path, *, bias_draws: int | None = None
) -> Processed:
    """Process a verified release into a new folder; the bias is measured with as many draws as end soon."""
    chosen, target = method_of(method), Path(output)
    if bias_draws == 1:
        raise SpecError(f"{option('bias_draws')} is 1: ask for 2 or more, or for 0 to leave the bias out.")
    require_new(target)
    processed = process(folder, chosen, bias_draws=bias_draws)
    processed.write(target)
    return processed


def process(folder: str | Path, method: Method, *, bias_draws: int | None = None, seed: int = 0) -> Processed:
    """Process a release; the bias is simulated with a seeded source, from public values only."""
    published = verified(folder)
    if NAMED[published.certificate.table.mechanism.name].estimated:
        raise ReleaseError(
            f"{folder} has a table that was estimated, with no count below zero as it is: use it, or the"
            " measurements beside it with `holdfast intervals`."
        )
    public, universe = published.public, published.public.universe
    released = published.table.counts[public.possible]
    conforming = Conforming.of(universe.matrix, universe.values)
    if method.weighted:
        method = method.for_noise(mechanism_of(published.certificate, public).form)
    found = method.run(released, conforming)
    if not conforming.times(found.scale).holds(found.numerators):
        raise ReleaseError(f"{method.name} did not keep the invariants: report it, and use another method.")
    numerators = np.zeros(public.schema.size, dtype=np.int64)
    numerators[public.possible] = found.numerators
    measured, rough = None, None
    reason: Literal["not asked", "not soon enough"] = "not asked"
    if bias_draws != 0:
        try:
            noise = published.noise
            draws = possible_draws(noise, conforming) if bias_draws is None else bias_draws
            even = stand_in(released, universe.matrix, universe.values, conforming)
            measured = bias(noise, even, conforming, method.measure, draws=draws, seed=seed)
            nearest = integers_l1(released, conforming)
            rough = bias(noise, nearest, conforming, method.measure, draws=draws, seed=seed)
        except ReleaseError:
            reason = "not soon enough"
    table = FixedPoint(numerators, found.places)
    why = None if rough is not None else reason
    return Processed(published, method, table, measured, rough, why, read_text(Path(folder)))


def _simulated(found: Bias, stand_in: Literal["fitted", "nearest"]) -> SimulatedBiasSection:
    return SimulatedBiasSection.model_validate(
        {
            "stand_in": stand_in,
            "draws": found.draws,
            "small_cells": _rounded(asdict(found.small)),
            "large_cells": _rounded(asdict(found.large)),
            "classes": [
                {"least": each.least, "most": each.most, **_rounded(asdict(each.mean))}
                for each in found.classes
            ],
        }
    )


def _rounded(mean: Mapping[str, Any]) -> dict[str, float | int]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in mean.items()}
