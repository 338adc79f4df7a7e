"""A post-processed release: the table, its certificate and page, and the folder that holds them.

The folder stands alone: it holds a copy of the release's certificate, with the cells and the invariants that
the table must keep, and names it by its digest. The guarantee is that of the release, by reference.

**The bias** of post-processing is measured on a stand-in for the confidential table. The release is
unbiased: z and -z are equally likely, so E y = x. A projection that leaves no negative counts tends to push
small cells up and others down [theory, 5]. How much depends on the table. The confidential one must not
enter, as the measured bias is published; a public stand-in x' that keeps the invariants takes its place.
For seeded draws z_k of the public noise law,

    bias_i = mean over k of P(y_k)_i - y_k,i   with y_k = x' + z_k, and its standard error,

P being the method. Subtracting y_k rather than x' changes nothing in the mean, as E z = 0, and takes away
most of the noise. The bias for the confidential table is of this kind, not this number.

Draws come in batches, and of each draw only sums over cells and means over groups of cells are kept. There
are as many as end in reasonable time: fewer for large tables, where a group has many cells to average over.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from math import sqrt
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import polars as pl

from holdfast.certificate.caveats import processed_from_release
from holdfast.certificate.head import Software
from holdfast.certificate.making import this_software
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
from holdfast.estimation.l2 import FixedPoint, stand_in
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.catalogue import NAMED
from holdfast.mechanisms.errors.accuracy import batches
from holdfast.mechanisms.mechanism import NoiseLaw
from holdfast.processing.methods import Method, method_of
from holdfast.sampling.entropy import IntegerLaw
from holdfast.sampling.lattice.plan import CELLS_PER_SECOND
from holdfast.system.drafts import Draft, drafted, require_new
from holdfast.system.errors import DataError, ReleaseError, SpecError
from holdfast.system.ways import command, option

MOST_DRAWS, FEWEST_DRAWS = 200, 10
SECONDS = 20.0
"""What the draws of one stand-in may take, roughly; ten times that for the fewest."""
CELL_SECONDS, PROGRAM_SECONDS = 1e-6, 8e-5
"""What one cell takes under nested totals, and where a program ties it to others, roughly."""
SIZES = (0, 1, 3, 6, 11, 21, 51, 101, 1001)
"""Where classes of counts begin."""


@dataclass(frozen=True)
class Mean:
    """The mean bias of a group of cells, its standard error, and the mean of their stand-in counts."""

    cells: int
    stand_in: float
    bias: float
    standard_error: float


@dataclass(frozen=True)
class Class:
    """The cells whose stand-in counts are between two numbers; the last class has no end."""

    least: int
    most: int | None
    mean: Mean


@dataclass(frozen=True, eq=False)
class Bias:
    """What a method added to the counts of simulated releases of the stand-in.

    Attributes:
        stand_in: the public table.
        draws: the number of simulated releases.
        mean: the bias of each cell.
        standard_error: its standard error.
        small: the quarter of the cells with the smallest stand-in counts; ties by place.
        large: the quarter of the cells with the largest stand-in counts.
        classes: the cells by the size of their stand-in counts.

    """

    stand_in: IntArray
    draws: int
    mean: FloatArray
    standard_error: FloatArray
    small: Mean
    large: Mean
    classes: tuple[Class, ...]


def possible_draws(noise: NoiseLaw, conforming: Conforming) -> int:
    """Return how many draws end in reasonable time; raises ReleaseError where not even the fewest do."""
    programs = sum(block.cells.size for block, _ in conforming.structure.blocks)
    seconds = noise.work / CELLS_PER_SECOND + CELL_SECONDS * conforming.cells + PROGRAM_SECONDS * programs
    draws = min(int(SECONDS / seconds) if seconds > 0 else MOST_DRAWS, MOST_DRAWS)
    if FEWEST_DRAWS * seconds > 10 * SECONDS:
        raise ReleaseError(
            f"it would take long for a table of this size: ask for it with {option('bias_draws')}."
        )
    return max(draws, FEWEST_DRAWS)


def bias(
    noise: IntegerLaw,
    stand_in: IntArray,
    conforming: Conforming,
    method: Callable[[IntArray, Conforming], FloatArray | IntArray],
    *,
    draws: int,
    seed: int = 0,
) -> Bias:
    """Process simulated releases of a public stand-in; never give it the confidential table."""
    if draws < 2:
        raise DataError(f"{draws} draws give no standard error of a bias: ask for 2 or more.")
    if not conforming.holds(stand_in):
        raise DataError("the stand-in does not keep the invariants and constraints: make one that does.")
    order = np.argsort(stand_in, kind="stable")
    quarter = max(1, stand_in.size // 4)
    small, large = order[:quarter], order[-quarter:]
    of = np.searchsorted(SIZES, stand_in, side="right") - 1
    sizes = np.bincount(of, minlength=len(SIZES))
    total, squares = np.zeros(stand_in.size), np.zeros(stand_in.size)
    groups: list[FloatArray] = []
    for sample in batches(noise, stand_in.size, draws, seed):
        for z in sample:
            released = stand_in + z
            move = method(released, conforming) - released.astype(np.float64)
            total += move
            squares += move * move
            each = np.bincount(of, weights=move, minlength=len(SIZES)) / np.maximum(sizes, 1)
            groups.append(np.array([move[small].mean(), move[large].mean(), *each]))
    mean = total / draws
    spread = np.sqrt(np.maximum(squares / draws - mean**2, 0.0) / (draws - 1))
    by_group = np.array(groups)
    centre, error = by_group.mean(axis=0), by_group.std(axis=0, ddof=1) / sqrt(draws)

    def group(cells: IntArray, place: int) -> Mean:
        return Mean(cells.size, float(stand_in[cells].mean()), float(centre[place]), float(error[place]))

    ends = (*(after - 1 for after in SIZES[1:]), None)
    classes = tuple(
        Class(least, most, group(np.flatnonzero(of == place), place + 2))
        for place, (least, most) in enumerate(zip(SIZES, ends, strict=True))
        if sizes[place]
    )
    return Bias(stand_in, draws, mean, spread, group(small, 0), group(large, 1), classes)


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
        frame = long_frame(schema, pl.Series(count, self.table.texts()))
        told = public.cell_status(estimated=True) if public.status else None
        write_frame(frame if told is None else frame.with_columns(told), TABLE, file)

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
            "software": this_software(),
            "created": created or datetime.now(UTC).isoformat(timespec="seconds"),
            "caveats": (processed_from_release(), *source.caveats),
            "parts": (part,),
        }
    )


def postprocess(
    folder: str | Path, method: str, output: str | Path, *, bias_draws: int | None = None
) -> Processed:
    """Process a verified release into a new folder; the bias is measured with as many draws as end soon.

    >>> tidy = hf.postprocess(folder, "integers-l1", "tidy", bias_draws=10)
    >>> hf.verify("tidy", release=folder).kept
    True
    """
    chosen, target = method_of(method), Path(output)
    if bias_draws == 1:
        raise SpecError(f"{option('bias_draws')} is 1: ask for 2 or more, or for 0 to leave the bias out.")
    require_new(target)
    processed = process(folder, chosen, bias_draws=bias_draws)
    processed.write(target)
    return processed


def process(folder: str | Path, method: Method, *, bias_draws: int | None = None, seed: int = 0) -> Processed:
    """Process a release; the bias is simulated with a seeded source, from public values only."""
    if parse(read_text(Path(folder)), str(Path(folder) / CERTIFICATE)).get("joined") is not None:
        raise ReleaseError(
            f"{folder} holds several tables, which share invariants and a budget, and a processed table"
            " stands by itself: release the one that is meant by a spec of its own."
        )
    published = verified(folder)
    if NAMED[published.certificate.table.mechanism.name].estimated:
        raise ReleaseError(
            f"{folder} has a table that was estimated, with no count below zero as it is: use it, or the"
            f" measurements beside it with `{command('intervals')}`."
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
